"""The map of a workspace before any question: the names of its graph, joined where they co-occur."""


import streamlit as st

from qafd.app.escaping import plain
from qafd.app.explore.card import draw_sentences
from qafd.app.markup import read_table
from qafd.app.pages import way
from qafd.app.picture import pick
from qafd.app.session import QUESTION, compute_shared, put
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.plan.suggest import about
from qafd.retrieve.base import Retrieval
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.layout import Positions
from qafd.view.overview import DRAWN, overview
from qafd.view.panel import clean, panel_data
from qafd.view.placement import ASPECT, freeze
from qafd.wording import count, join_words
from qafd.wording.panels import say_number

LISTED = 10


def overview_map(knowledge: KnowledgeGraph, asking: bool = False) -> None:
    """Draw the names in the most passages, and the card of the chosen one.

    `asking` is True on the page with the question box.
    """
    graph = knowledge.graph
    drawn, positions = compute_shared("map", (knowledge.id, version_of(graph)),
                                      lambda: _overview(graph))
    if not drawn.nodes:
        st.caption("No name was found in these documents.")
        return
    entities = graph.count("entity")
    key = f"map-{knowledge.name}"
    shown = f"{len(drawn.nodes):,} of {count(entities, 'name')}"
    edges = count(len(drawn.edges), "edge")
    foremost = join_words([clean(node.name, 40) for node in drawn.nodes[:LISTED]])
    caption = Caption("Map", "names that share passages", f"{shown} · {edges}",
                      f"{shown}, those in the most passages: {foremost}.")
    drawing = Drawing(thickness="weight", limit=DRAWN, aspect=ASPECT,
                      measures=("passages", "shared passages"))
    left, right = st.columns([5, 2], gap="medium")
    with left:
        chosen = pick(lambda selected: panel_data(
            [drawn], drawing, positions=positions, look=Look([caption], selected=selected)), key)
    with right:
        _card(knowledge, drawn, chosen, asking)


def _overview(graph: Graph) -> tuple[Retrieval, Positions]:
    drawn = overview(graph)
    return drawn, freeze([drawn], {n.id for n in drawn.nodes})[0]


def _card(knowledge: KnowledgeGraph, drawn: Retrieval, chosen: str | None,
          asking: bool) -> None:
    node = drawn.node(chosen)
    if node is None:
        st.caption("Click a name, or press Tab, arrow keys and Enter, to read about it.")
        st.html(read_table(("name", "passages"), [
            (clean(n.name, 80), say_number(n.importance)) for n in drawn.nodes[:LISTED]]))
        return
    st.write(f"**{plain(node.name)}**")
    st.caption(count(int(node.importance), "passage"))
    question = about(node.name)
    if asking:  # a link to the page itself would not reach its box
        st.button("Ask about it", icon=":material/hub:", type="tertiary",
                  on_click=put, args=(QUESTION, question))
    else:
        way("explore", "Ask about it", q=question)
    draw_sentences(knowledge, node.id)
