"""The tab Paths: where all the mass went, path by path, as a list and as a Sankey diagram."""

from itertools import pairwise
from typing import Any

import streamlit as st

from qafd.app.escaping import plain
from qafd.app.explore.explained import explanation_of
from qafd.app.figures import label
from qafd.app.result import View
from qafd.app.session import keep, value_of
from qafd.explain import Explanation, Paths, ReasoningPath, links, shown
from qafd.export import table_csv
from qafd.wording.explanations import say_path

MOST = 50
LISTED = 12
LABEL = 28


def chosen_path(view: View) -> tuple[str, ...]:
    """Node ids of the path that is chosen in the list, which the picture highlights."""
    # The list comes after the picture, so a link's first run must read the address itself.
    if value_of("tab", "") != "Paths":
        return ()
    chosen = value_of("path", None)
    if chosen is None:
        return ()
    listed = _paths(explanation_of(view)).paths[:LISTED]
    return next((path.nodes for k, path in enumerate(listed)
                 if chosen in (str(k), _said(path))), ())


def paths_tab(view: View) -> None:
    """Paths from seeds to where mass is held; together they are all the mass."""
    explanation = explanation_of(view)
    found = _paths(explanation)
    if not found.paths:
        st.write("No mass was poured, so no path was taken.")
        return
    listed = found.paths[:LISTED]
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("Where the mass went, largest first. Choose a path to see it in the picture.")
        st.radio("Paths", [str(k) for k in range(len(listed))], index=None, key=keep("path"),
                 bind="query-params", label_visibility="collapsed",
                 format_func=lambda k: _said(listed[int(k)]),
                 captions=[f"{p.mass:.3g} of mass, {p.share:.1%}" for p in listed])
        more = found.paths[LISTED:]
        st.caption(f"{sum(p.mass for p in more):.3g} more on {len(more)} further paths of the "
                   f"table, {found.rest:.3g} on all others: {found.total:.3g} of mass in all.")
    with right:
        st.plotly_chart(sankey(explanation, listed), theme="streamlit", key="sankey",
                        config={"displayModeBar": False}, alt=_alt(found, listed))
        st.caption(f"The {len(listed)} largest paths; width is mass."
                   + " Each subquery has a part of the diagram of its own." * bool(
                       view.retrieval.parts))
    with st.expander("All paths as a table"):
        st.dataframe({"mass": [p.mass for p in found.paths] + [found.rest],
                      "share": [p.share for p in found.paths] + [found.rest / found.total],
                      "path": [say_path(p) for p in found.paths] + ["all other paths"]}
                     | ({"subquery": [str(p.part) for p in found.paths] + [""]}
                        if view.retrieval.parts else {}),
                     hide_index=True, column_config={
                         "share": st.column_config.NumberColumn(format="percent")})
        st.caption("Which unit of mass took which way is a convention: what passes a node, whoever "
                   "sent it, stays and leaves in the same proportions.")
    with st.container(horizontal=True):
        st.download_button("Paths CSV", lambda: table_csv(
            ("mass", "share", "path", "nodes", "subquery"),
            [(p.mass, p.share, say_path(p), " ".join(p.nodes), p.part or "") for p in found.paths]
            + [(found.rest, found.rest / found.total, "all other paths", "", "")]),
            "paths.csv", "text/csv", on_click="ignore")
        st.download_button("Diagram CSV", lambda: table_csv(
            ("from", "to", "mass"),
            [(_name(explanation, u), _name(explanation, v), m) for u, v, m in links(listed)]),
            "sankey.csv", "text/csv", on_click="ignore")


def _paths(explanation: Explanation) -> Paths:
    return explanation.paths(MOST)


def _said(path: ReasoningPath) -> str:
    return plain(say_path(path)) + (f" (subquery {path.part})" if path.part else "")


def _name(explanation: Explanation, node: str) -> str:
    return shown(explanation.graph, explanation.graph.row[node])


def sankey(explanation: Explanation, paths: tuple[ReasoningPath, ...]) -> dict[str, Any]:
    """Paths as a Sankey diagram; links are as wide as the mass that these paths send over them.

    A link over several columns gets a bend, without a name, in each, so that it runs behind no
    node. Subqueries stand below one another: two may send mass over one edge both ways.
    """
    sent = [((part, u), (part, v), mass) for part in dict.fromkeys(path.part for path in paths)
            for u, v, mass in links(path for path in paths if path.part == part)]
    column = {node: 0 for u, v, _ in sent for node in (u, v)}
    for _ in column:  # the longest way to each; mass never runs in circles
        for u, v, _ in sent:
            column[v] = max(column[v], column[u] + 1)
    names = [_name(explanation, node) for _, node in column]
    place = {node: i for i, node in enumerate(column)}
    bends = 0
    bands: list[tuple[int, int, float, str]] = []
    for u, v, mass in sent:
        said = f"{label(_name(explanation, u[1]), 80)} → {label(_name(explanation, v[1]), 80)}"
        stops = [place[u]]
        for _ in range(column[u] + 1, column[v]):
            stops.append(len(column) + bends)
            bends += 1
        bands += [(a, b, mass, said) for a, b in pairwise([*stops, place[v]])]
    green, pale = "#2f9e44", "rgba(95, 178, 74, 0.4)"
    return {
        "data": [{
            "type": "sankey",
            "node": {"label": [label(name, LABEL) for name in names] + [""] * bends,
                     "customdata": [label(name, 300) for name in names] + ["on the way"] * bends,
                     "pad": 12, "thickness": 12, "line": {"width": 0}, "align": "left",
                     "color": [green] * len(names) + [pale] * bends,
                     "hovertemplate": "%{customdata}: %{value:.3g} of mass<extra></extra>"},
            "textfont": {"size": 12, "shadow": "none", "color": (
                "#f0efea" if st.context.theme.type == "dark" else "#23231f")},
            "link": {"source": [a for a, _, _, _ in bands],
                     "target": [b for _, b, _, _ in bands],
                     "value": [mass for _, _, mass, _ in bands], "color": pale,
                     "customdata": [said for _, _, _, said in bands],
                     "hovertemplate": "%{customdata}: %{value:.3g} of mass<extra></extra>"}}],
        "layout": {"height": max(320, 26 * (len(names) + bends)),
                   "margin": {"l": 4, "r": 4, "t": 8, "b": 8}}}


def _alt(found: Paths, listed: tuple[ReasoningPath, ...]) -> str:
    first = listed[0]
    return (f"Sankey diagram of the {len(listed)} largest paths of {found.total:.3g} units of "
            f"mass; the largest carries {first.mass:.3g}: {say_path(first)}.")
