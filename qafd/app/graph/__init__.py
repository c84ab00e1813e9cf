"""The Graph page: names, their map, possible duplicates, edits, and the graph as a file."""

import io
from functools import partial

import streamlit as st

from qafd.app.asking import empty_workspace
from qafd.app.documents.work import jobs_panel
from qafd.app.explore.overview import overview_map
from qafd.app.graph.edits import duplicates, history
from qafd.app.graph.entities import entity_table
from qafd.app.pages import heading
from qafd.app.session import choose_option
from qafd.app.tables import download
from qafd.app.workspaces import workspace
from qafd.export.formats import OF_GRAPH, write_graph
from qafd.export.whole import DRAWN, whole
from qafd.knowledge import KnowledgeGraph
from qafd.wording import count


def exports(knowledge: KnowledgeGraph) -> None:
    """Draw a button for each format; a file is made when its button is pressed."""
    with knowledge.store() as store, whole(store) as graph:
        nodes, edges, stale = graph.node_count, graph.edge_count, graph.stale
    st.write(f"The whole graph: {count(nodes, 'node')}, {count(edges, 'edge')}. What one "
              "question retrieves is exported on Explore, in the tab Table.")
    with st.container(horizontal=True):
        for name, form in OF_GRAPH.items():
            large = name == "html" and nodes > DRAWN
            download(
                form.label, partial(_file, knowledge, name), form.file_named("graph"), form.mime,
                disabled=large, key=f"whole {name}",
                help=f"For graphs of up to {DRAWN} nodes." if large
                else form.meaning)
    st.caption(
        "The file is made when you press a button. Nodes: entities and passages with their texts. Edges: "
        "mentions, relations, names alike, with weight, label, number of sentences and their places. Edges "
        "added by hand are marked. Documents, Graph file reads these files again, except the picture, "
        f"which holds at most {DRAWN} nodes.")
    if stale:
        st.caption(":material/info: Documents or edits are still being taken in; a file holds "
                    "what the graph has now.")


def _file(knowledge: KnowledgeGraph, name: str) -> bytes:
    file = io.BytesIO()
    with knowledge.store() as store, whole(store) as graph:
        write_graph(graph, name, file)
    return file.getvalue()


VIEWS = {"Entities": entity_table, "Map": overview_map, "Possible duplicates": duplicates, "Edits": history,
         "Export": exports}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Graph", "The names in your documents and their connections; correct what is wrong.")
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    shown = choose_option("View", list(VIEWS), "part", label_visibility="collapsed")
    jobs_panel(knowledge)
    VIEWS[shown](knowledge)
