"""The map of a workspace before any question: the names of its graph, joined where they co-occur."""

import streamlit as st

from qafd.app.escaping import plain
from qafd.app.explore.card import draw_sentences
from qafd.app.markup import read_table
from qafd.app.pages import way
from qafd.app.picture import pick
from qafd.app.session import QUESTION, compute_shared, put
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.plan.suggest import about
from qafd.view.overview import Overview, map_data, overview
from qafd.view.panel import clean
from qafd.wording import count, join_words

LISTED = 10


def overview_map(knowledge: KnowledgeGraph, asking: bool = False) -> None:
    """Draw the names in the most passages, and the card of the chosen one.

    `asking` is True on the page with the question box.
    """
    graph = knowledge.graph
    at = knowledge.id, version_of(graph)
    drawn = compute_shared("map", at, lambda: overview(graph), at)
    if not len(drawn):
        st.caption("No name was found in these documents.")
        return
    names, edges = count(graph.count("entity"), "name"), count(len(drawn.u), "edge")
    shown = f"{len(drawn):,} of {names}, joined by {edges}"
    foremost = join_words([clean(name, 40) for name in drawn.names[:LISTED]])
    caption = f"Map of {shown}; those in the most passages: {foremost}."
    left, right = st.columns([5, 2], gap="medium")
    with left:
        st.caption(f"Map: {shown}. Names that share passages are near each other.")
        chosen = pick(lambda selected: map_data(drawn, caption, selected), f"map-{knowledge.name}",
                      name="map")
    with right:
        _card(knowledge, drawn, chosen, asking)


def _card(knowledge: KnowledgeGraph, drawn: Overview, chosen: str | None, asking: bool) -> None:
    if chosen is None or chosen not in drawn.ids:
        st.caption("Click a name, or find it in the box, to read about it.")
        st.html(read_table(("name", "passages"), [
            (clean(name, 80), f"{passages:,}")
            for name, passages in zip(drawn.names[:LISTED], drawn.passages.tolist(), strict=False)]))
        return
    place = list(drawn.ids).index(chosen)
    st.write(f"**{plain(drawn.names[place])}**")
    st.caption(count(int(drawn.passages[place]), "passage"))
    question = about(drawn.names[place])
    if asking:  # a link to the page itself would not reach its box
        st.button("Ask about it", icon=":material/hub:", type="tertiary",
                  on_click=put, args=(QUESTION, question))
    else:
        way("explore", "Ask about it", q=question)
    draw_sentences(knowledge, chosen)
