"""The tab Paths: all paths of mass; a chosen one is marked in the picture."""

from collections.abc import Sequence

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.explore.explanation import explanation_of
from qafd.app.result import View
from qafd.app.session import bound, value_of
from qafd.app.tables import columns_of, download_csv, table
from qafd.explain import Explanation
from qafd.explain.paths import Paths, ReasoningPath
from qafd.view.drawing import share_of
from qafd.view.panel import clean
from qafd.wording.explanations import say_chain, say_hop, say_path

MOST = 50
LISTED = 12
CHAINS = 5


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
    _list(found, listed)
    with st.expander("All paths as a table"):
        _table(found, bool(view.retrieval.parts))
    download_csv("Paths CSV", ("mass", "share", "path", "nodes", "diffusion"),
                 lambda: _rows(found), "paths.csv")


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
    """Return mass, share, way, ids and diffusion of every path, and of all others together."""
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
