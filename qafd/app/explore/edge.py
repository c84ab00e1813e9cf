"""The selected edge: what runs along it, the sentences behind it, and why it is that wide."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.escaping import plain, safe
from qafd.app.explore.explained import explanation_of
from qafd.app.explore.node import by_hand, quoted, read_table
from qafd.app.explore.remarks import remarks_on
from qafd.app.result import View
from qafd.explain import Along, Strand
from qafd.view.panel import number
from qafd.wording.explanations import say_along, say_unquoted


def edge_detail(view: View, ends: Sequence[str], contracted: bool) -> None:
    """The edge between two nodes, given by id."""
    along = explanation_of(view).along(ends[0], ends[1], contracted)
    st.html(f"<h4 style='margin:0'>{safe(along.source)} {'→' if along.flow > 0 else '–'} "
            f"{safe(along.target)}</h4><small>{safe(along.label)}</small>"
            f"<p>{safe(say_along(along), 600)}</p>")
    if along.question:
        st.caption(plain(f"Most of it for the subquery “{along.question}”:"))
    for strand in along.strands:
        _strand(strand)
    remarks_on(view.knowledge, ends[0], ends[1])
    if along.rest > 0:
        st.caption(f"{number(along.rest)} more through other passages.")
    _widths(along)


def _strand(strand: Strand) -> None:
    if strand.passage:
        st.html(f"<p style='margin:0 0 .3em'><b>{number(strand.flow)}</b> through "
                f"<b>{safe(strand.passage)}</b></p>")
    if strand.added:
        st.html(by_hand(strand.added))
    st.html("".join(quoted(sentence) for sentence in strand.sentences))
    if not strand.sentences and not strand.added:
        st.caption(say_unquoted(strand.kind))


def _widths(along: Along) -> None:
    gates = [gate for strand in along.strands for gate in strand.gates]
    with st.expander("Why it is that wide"):
        st.html(read_table(("edge", "strength", "start", "end", "weight"), [
            (f"{gate.source_name} – {gate.target_name}", number(gate.structure),
             number(gate.alignment_source), number(gate.alignment_target), number(gate.weight))
            for gate in gates]))
        st.caption("The weight of an edge is made of its strength in the graph and of how like "
                   "its start and its end are to the question.")
