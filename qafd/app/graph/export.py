"""The part of the Graph page that writes the whole graph as a file."""

import io
from functools import partial
from shlex import quote

import streamlit as st

from qafd.app.tables import download
from qafd.export.formats import OF_GRAPH, ZIP, name_graph, write_graph
from qafd.export.whole import DRAWN, whole
from qafd.knowledge import KnowledgeGraph
from qafd.wording import count

PACKED = 20_000  # edges from which files are packed


def exports(knowledge: KnowledgeGraph) -> None:
    """Draw a button for each format; a file is made when its button is pressed."""
    with knowledge.store() as store, whole(store) as graph:
        nodes, edges, stale = graph.node_count, graph.edge_count, graph.stale
    packed = edges > PACKED
    st.write(f"The whole graph: {count(nodes, 'node')}, {count(edges, 'edge')}. What one "
              "question retrieves is exported on Explore, in the tab Table.")
    with st.container(horizontal=True):
        for name, form in OF_GRAPH.items():
            large = name == "html" and nodes > DRAWN
            download(
                form.label, partial(_file, knowledge, name, packed), name_graph(name, packed),
                ZIP if packed else form.mime, disabled=large, key=f"whole {name}",
                help=f"For graphs of up to {DRAWN} nodes." if large
                else form.meaning)
    st.caption(
        ("The file is made when you press a button. Nodes: entities and passages with their "
         "texts. Edges: mentions, relations, names alike, with weight, label, number of "
         "sentences, and where those stand; what was added by hand says so. All but the "
         f"picture, which is of graphs of up to {DRAWN} nodes, are read again by Documents, "
         "Graph file.") + (" " + "It is packed." if packed else ""))
    if stale:
        st.caption(":material/info: Documents or edits are still being taken in; a file holds "
                    "what the graph has now.")
    with st.expander("From the command line and Python"):
        st.code(f"qafd export --graph --db {quote(knowledge.place.written)} --format graphml "
                "--out graph.graphml", language="bash", wrap_lines=True)
        st.code("from qafd import KnowledgeGraph\n"
                f"graph = KnowledgeGraph.open({knowledge.place.written!r}).to_networkx()",
                language="python", wrap_lines=True)


def _file(knowledge: KnowledgeGraph, name: str, packed: bool) -> bytes:
    file = io.BytesIO()
    with knowledge.store() as store, whole(store) as graph:
        write_graph(graph, name, file, packed)
    return file.getvalue()
