"""The selected edge: what runs along it, the sentences behind it, and why it is that wide."""

from collections.abc import Sequence

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.explore.explained import explanation_of
from qafd.app.explore.node import by_hand, quoted
from qafd.app.explore.remarks import remarks_on
from qafd.app.result import View
from qafd.explain import Along, Strand
from qafd.view.panel import number
from qafd.wording import say
from qafd.wording.entities import say_by_hand
from qafd.wording.explanations import say_along, say_unquoted


def edge_detail(view: View, ends: Sequence[str], contracted: bool) -> None:
    """The edge between two nodes, given by id."""
    along = explanation_of(view).along(ends[0], ends[1], contracted)
    arrow = "→" if along.flow > 0 else "–"
    st.html(markup.heading(f"{along.source} {arrow} {along.target}", along.label)
            + markup.paragraph(safe(say_along(along), 600)))
    if along.question:
        st.caption(plain(say("Most of it for the subquery “{question}”:", question=along.question)))
    for strand in along.strands:
        _strand(strand)
    remarks_on(view.knowledge, ends[0], ends[1])
    if along.rest > 0:
        st.caption(say("{mass} more through other passages.", mass=number(along.rest)))
    _widths(along)


def _strand(strand: Strand) -> None:
    if strand.passage:
        st.write(say("**{mass}** through **{passage}**", mass=number(strand.flow),
                     passage=plain(strand.passage)))
    if strand.added:
        st.html(by_hand(say_by_hand(strand.added)))
    if strand.sentences:
        st.html("".join(map(quoted, strand.sentences)))
    elif not strand.added:
        st.caption(say_unquoted(strand.kind))


def _widths(along: Along) -> None:
    rows = []
    for strand in along.strands:
        for gate in strand.gates:
            factors = (gate.structure, gate.alignment_source, gate.alignment_target, gate.weight)
            rows.append((f"{gate.source_name} – {gate.target_name}", *map(number, factors)))
    head = ("edge", "strength", "start", "end", "weight")
    with st.expander(say("Why it is that wide")):
        st.html(markup.read_table([say(name) for name in head], rows))
        st.caption(say("The weight of an edge is made of its strength in the graph and of how like "
                       "its start and its end are to the question."))
