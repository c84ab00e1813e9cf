"""The tab Paths: all paths of mass, as a list and as a Sankey diagram."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.explore.explanation import explanation_of
from qafd.app.figures import BARE, ink, label
from qafd.app.result import View
from qafd.app.session import bound, value_of
from qafd.app.tables import columns_of, download_csv, table
from qafd.explain import Explanation, Paths, ReasoningPath, links, row_name
from qafd.view.drawing import share_of
from qafd.view.panel import clean
from qafd.wording.explanations import say_chain, say_hop, say_path

MOST = 50
LISTED = 12
LABEL = 28
CHAINS = 5

Place = tuple[int, str]  # subquery and node
Sent = tuple[Place, Place, float]


def chosen_path(view: View) -> tuple[str, ...]:
    """Return the node ids of the path chosen in the list, which the picture highlights."""
    # The list follows the picture, so a link's first run must read the address itself.
    if value_of("tab", "") != "Paths":
        return ()
    chosen = value_of("path", None)
    if chosen is None:
        return ()
    listed = _paths(explanation_of(view)).paths[:LISTED]
    return next((path.nodes for k, path in enumerate(listed)
                 if chosen in (str(k), _word_path(path))), ())


def paths_tab(view: View) -> None:
    """Draw the paths of mass from seeds to the nodes that hold it; together they are all the mass."""
    explanation = explanation_of(view)
    found = _paths(explanation)
    if not found.paths:
        st.write("No mass was poured, so no path was taken.")
        return
    _chains(explanation)
    listed = found.paths[:LISTED]
    left, right = st.columns(2, gap="medium")
    with left:
        _list(found, listed)
    with right:
        st.plotly_chart(sankey(explanation, listed), theme="streamlit", key="sankey",
                        config={"displayModeBar": False}, alt=_describe(found, listed))
        st.caption(f"The {len(listed)} largest paths; width is mass.")
        if view.retrieval.parts:
            st.caption("Each diffusion has a part of the diagram of its own.")
    with st.expander("All paths as a table"):
        _table(found, bool(view.retrieval.parts))
    with st.container(horizontal=True):
        download_csv("Paths CSV", ("mass", "share", "path", "nodes", "diffusion"),
                     lambda: _rows(found), "paths.csv")
        download_csv("Diagram CSV", ("from", "to", "mass"),
                     lambda: [(_name(explanation, u), _name(explanation, v), m)
                              for u, v, m in links(listed)], "sankey.csv")


def _chains(explanation: Explanation) -> None:
    """Draw the ways to the answer name by name; the sentence of each hop is quoted once."""
    found = explanation.chains(CHAINS)
    if not found:
        return
    st.caption("From a seed to what the question asks for, with the sentence of each step.")
    parts = []
    quoted: set[str] = set()
    for chain in found:
        hops = [say_hop(hop) for hop in chain.hops]
        new = [safe(clean(hop, 400)) for hop in hops if hop not in quoted]
        quoted.update(hops)
        parts.append(markup.paragraph("<br>".join([markup.embolden(safe(say_chain(chain))), *new])))
    st.html("".join(parts))


def _list(found: Paths, listed: Sequence[ReasoningPath]) -> None:
    st.caption("Where the mass went, largest first. Choose a path to see it in the picture.")
    st.radio("Paths", [str(k) for k in range(len(listed))], index=None, **bound("path"),
             label_visibility="collapsed",
             format_func=lambda k: _word_path(listed[int(k)]),
             captions=[f"{p.mass:.3g} of mass, {p.share:.1%}"
                       for p in listed])
    more = found.paths[LISTED:]
    st.caption(("{mass} more on {number} further paths of the table, {rest} on all others: "
                "{total} of mass in all.").format(
                   mass=f"{sum(p.mass for p in more):.3g}",
                   number=len(more),
                   rest=f"{found.rest:.3g}",
                   total=f"{found.total:.3g}"))


def _rows(found: Paths) -> list[tuple[object, ...]]:
    """Return mass, share, way, ids and subquery of every path, and of all others together."""
    rows: list[tuple[object, ...]] = []
    for path in found.paths:
        rows.append((path.mass, path.share, say_path(path), " ".join(path.nodes),
                     str(path.part or "")))
    return [*rows, (found.rest, share_of(found.rest, found.total), "all other paths", "", "")]


def _table(found: Paths, parts: bool) -> None:
    columns = columns_of(("mass", "share", "path", "nodes", "diffusion"), _rows(found))
    del columns["nodes"]
    if not parts:
        del columns["diffusion"]
    table(columns, formats={"share": "percent"})
    st.caption("The way of each unit of mass is a convention: mass from every sender stays at a node "
               "and leaves it in the same proportions.")


def _paths(explanation: Explanation) -> Paths:
    return explanation.paths(MOST)


def _word_path(path: ReasoningPath) -> str:
    if not path.part:
        return plain(say_path(path))
    return f"{plain(say_path(path))} (diffusion {path.part})"


def _name(explanation: Explanation, node: str) -> str:
    return row_name(explanation.graph, explanation.graph.row[node])


def sankey(explanation: Explanation, paths: tuple[ReasoningPath, ...]) -> dict[str, Any]:
    """Build a Sankey diagram of paths; links are as wide as the mass these paths send over them.

    A link over several columns gets a bend, without a name, in each, so that it runs behind no
    node. Subqueries are below one another: two may send mass over one edge both ways.
    """
    sent = _sum_links(paths)
    column = _columns(sent)
    names = [_name(explanation, node) for _, node in column]
    place = {node: i for i, node in enumerate(column)}
    bends = 0
    bands: list[tuple[int, int, float, str]] = []
    for u, v, mass in sent:
        caption = f"{label(_name(explanation, u[1]), 80)} → {label(_name(explanation, v[1]), 80)}"
        stops = [place[u]]
        for _ in range(column[u] + 1, column[v]):
            stops.append(len(column) + bends)
            bends += 1
        bands += [(a, b, mass, caption) for a, b in pairwise([*stops, place[v]])]
    green, pale = "#2f9e44", "rgba(95, 178, 74, 0.4)"
    return {
        "data": [{
            "type": "sankey",
            "node": {"label": [label(name, LABEL) for name in names] + [""] * bends,
                     "customdata": [label(name, 300) for name in names] + ["on the way"] * bends,
                     "pad": 12, "thickness": 12, "line": {"width": 0}, "align": "left",
                     "color": [green] * len(names) + [pale] * bends,
                     "hovertemplate": f"%{{customdata}}: %{{value:.3g}}{BARE}"},
            "textfont": {"size": 12, "shadow": "none", "color": ink()},
            "link": {"source": [a for a, _, _, _ in bands],
                     "target": [b for _, b, _, _ in bands],
                     "value": [mass for _, _, mass, _ in bands], "color": pale,
                     "customdata": [caption for _, _, _, caption in bands],
                     "hovertemplate": f"%{{customdata}}: %{{value:.3g}}{BARE}"}}],
        "layout": {"height": max(320, 26 * (len(names) + bends)),
                   "margin": {"l": 4, "r": 4, "t": 8, "b": 8}}}


def _sum_links(paths: Sequence[ReasoningPath]) -> list[Sent]:
    """Return the mass that these paths send over each link of each subquery."""
    sent = []
    for part in dict.fromkeys(path.part for path in paths):
        for start, end, mass in links(path for path in paths if path.part == part):
            sent.append(((part, start), (part, end), mass))
    return sent


def _columns(sent: Sequence[Sent]) -> dict[Place, int]:
    """Return the column of each place: the longest way to it. Mass never runs in circles."""
    column = dict.fromkeys([start for start, _, _ in sent] + [end for _, end, _ in sent], 0)
    for _ in column:
        for start, end, _ in sent:
            column[end] = max(column[end], column[start] + 1)
    return column


def _describe(found: Paths, listed: Sequence[ReasoningPath]) -> str:
    first = listed[0]
    return (f"Sankey diagram of the {len(listed)} largest paths of {found.total:.3g} units of "
            f"mass; the largest carries {first.mass:.3g}: {say_path(first)}.")
