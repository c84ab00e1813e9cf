"""The map of a workspace: which names its graph has, and which go together, before any question."""


import streamlit as st

from qafd.app.escaping import plain
from qafd.app.explore.node import said_of
from qafd.app.markup import read_table
from qafd.app.pages import page
from qafd.app.picture import ASPECT, pick
from qafd.app.session import QUESTION, put
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import about
from qafd.retrieve.base import Retrieval
from qafd.view.layout import Positions
from qafd.view.overview import DRAWN, overview
from qafd.view.panel import Caption, Drawing, clean, number, panel_data
from qafd.view.placement import freeze
from qafd.wording import say, say_list
from qafd.wording.counts import count

LISTED = 10


def overview_map(knowledge: KnowledgeGraph, asking: bool = False) -> None:
    """The picture of the names in the most passages, and the card of the chosen one.

    `asking` says that this page has the question box.
    """
    graph = knowledge.graph
    drawn, positions = _overview(knowledge.id, knowledge.version(graph), graph)
    if not drawn.nodes:
        st.caption(say("No name was found in these documents."))
        return
    entities = int((graph.kinds == "entity").sum())
    key = f"map-{knowledge.name}"
    shown = say("{shown} of {names}", shown=f"{len(drawn.nodes):,}", names=count(entities, "name"))
    edges = count(len(drawn.edges), "edge")
    foremost = say_list([clean(node.name, 40) for node in drawn.nodes[:LISTED]])
    caption = Caption(say("Map"), say("names that share passages"), f"{shown} · {edges}",
                      say("{shown}, those in the most passages: {names}.", shown=shown,
                          names=foremost))
    drawing = Drawing(thickness="weight", limit=DRAWN, aspect=ASPECT,
                      measures=(say("passages"), say("shared passages")))
    left, right = st.columns([5, 2], gap="medium")
    with left:
        chosen = pick(lambda selected: panel_data([drawn], drawing, positions=positions,
                                                  selected=selected, captions=[caption]), key)
    with right:
        _card(knowledge, drawn, chosen, asking)


@st.cache_resource(max_entries=8, show_spinner=False)
def _overview(workspace: str, version: str,  # noqa: ARG001
              _graph: Graph) -> tuple[Retrieval, Positions]:
    drawn = overview(_graph)
    return drawn, freeze([drawn], {n.id for n in drawn.nodes}, DRAWN, ASPECT)[0]


def _card(knowledge: KnowledgeGraph, drawn: Retrieval, chosen: str | None,
          asking: bool) -> None:
    node = next((n for n in drawn.nodes if n.id == chosen), None)
    if node is None:
        st.caption(say("Click a name, or press Tab, arrow keys and Enter, to read what is said of "
                       "it."))
        st.html(read_table((say("name"), say("passages")), [
            (clean(n.name, 80), number(n.importance)) for n in drawn.nodes[:LISTED]]))
        return
    st.write(f"**{plain(node.name)}**")
    st.caption(count(int(node.importance), "passage"))
    question = {QUESTION: about(node.name)}
    if asking:  # a link to the page itself would not reach its box
        st.button(say("Ask about it"), icon=":material/hub:", type="tertiary",
                  on_click=put, args=(QUESTION, question[QUESTION]))
    else:
        st.page_link(page("explore"), label=say("Ask about it"), icon=":material/hub:",
                     query_params={"ws": knowledge.name, **question})
    said_of(knowledge, node.id)
