"""Cache of a workspace: its graph while unchanged, texts on demand."""

import gc
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

from qafd.graph import Graph
from qafd.graph_file import LARGE, passage_columns, read_graph, sentences_at
from qafd.retrieve.base import Corpus, Retrieval, RetrievedEdge, RetrievedPassage
from qafd.retrieve.deferred import column
from qafd.retrieve.layers import LAYERS, layers_of
from qafd.retrieve.seeds import Passages, passages_of
from qafd.storage import Workspace

KEPT = 4  # graphs that are kept


class GraphCache:
    """The graphs read last, by workspace and version of its graph."""

    def __init__(self) -> None:
        self._read: OrderedDict[tuple[str, str], Graph] = OrderedDict()
        self._reading: dict[tuple[str, str], Lock] = {}
        self._lock = Lock()

    def get(self, store: Workspace) -> Graph:
        """Return the graph of an open store, read when it is not here yet."""
        with store.snapshot():
            key = (store.place.id, store.graph.version)
            with self._lock:
                reading = self._reading.setdefault(key, Lock())
            with reading:  # questions that come at once wait for the first one's graph
                if (kept := self._find(key)) is not None:
                    return kept
                graph = read_graph(store)
                with self._lock:
                    self._read[key] = graph
                    self._reading.pop(key, None)
                    while len(self._read) > KEPT:
                        self._read.popitem(last=False)
        if len(graph) > LARGE and isinstance(graph.ids, tuple):
            gc.collect()
            gc.freeze()  # or each full collection would look through all of it
        return graph

    def _find(self, key: tuple[str, str]) -> Graph | None:
        with self._lock:
            if key in self._read:
                self._read.move_to_end(key)
            return self._read.get(key)

    def version(self, graph: Graph) -> str:
        """Return the version under which a graph was read, "" when it is no longer kept."""
        with self._lock:
            return next((key[1] for key, kept in self._read.items() if kept is graph), "")


def corpus_of(graph: Graph, store: Workspace, needs: Sequence[str] = tuple(LAYERS)) -> Corpus:
    """Build the corpus for methods: the graph, the words of its passages, and built layers."""
    return Corpus(graph, passages_of(graph, partial(read_passages, graph, store)),
                  layers_of(graph, store, needs))


def read_passages(graph: Graph, store: Workspace, compared: bool = True) -> Passages:
    """Return the passages of a graph; unless `compared`, their sentences are not."""
    return Passages(graph, passage_columns(graph, store),
                    partial(sentences_at, store.place.url) if compared else None)


def add_texts(retrieval: Retrieval, graph: Graph, store: Workspace) -> Retrieval:
    """Return the retrieval with the texts of its passages and the labels of its relations."""
    chunks = store.passages.of_nodes(p.id for p in retrieval.ranking)
    found = [(ranked, chunks[ranked.id]) for ranked in retrieval.ranking if ranked.id in chunks]
    edges = retrieval.edges
    if "relation" in column(edges, "kind"):
        edges = _add_labels(edges, store)
    return replace(retrieval, edges=edges, passages=tuple(
        RetrievedPassage(ranked.id, chunk.id, chunk.document, chunk.title, chunk.text,
                         ranked.score, chunk.start, chunk.end, chunk.page, chunk.heading,
                         ranked.parts, graph.names[graph.row[ranked.id]])
        for ranked, chunk in found))


def _add_labels(edges: Sequence[RetrievedEdge], store: Workspace) -> tuple[RetrievedEdge, ...]:
    """Return the edges with the labels of their relations."""
    said = store.graph.labels({end for edge in edges if edge.kind == "relation"
                               for end in (edge.source, edge.target)})
    return tuple(replace(edge, label=said.get(frozenset((edge.source, edge.target)), edge.label))
                 for edge in edges)
