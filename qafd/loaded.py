"""What a workspace file holds, in memory: its graph while it is the same, texts on demand."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock

from qafd.assemble import node_id
from qafd.graph import Graph
from qafd.reading.text import passage_names
from qafd.retrieve.base import Corpus, Retrieval, RetrievedPassage
from qafd.retrieve.layers import LAYERS, layers_of
from qafd.retrieve.seeds import passages_of
from qafd.storage import Workspace


class Graphs:
    """The graphs read last, by file and version of the file's graph."""

    def __init__(self, keep: int = 4) -> None:
        self._keep = keep
        self._read: OrderedDict[tuple[Path, str], Graph] = OrderedDict()
        self._lock = Lock()

    def get(self, path: Path, store: Workspace) -> Graph:
        """The graph of an open store, read when it is not here yet."""
        with store.snapshot():
            key = (path.resolve(), store.graph.version)
            with self._lock:
                if key in self._read:
                    self._read.move_to_end(key)
                    return self._read[key]
            graph = told_apart(store.graph.read(), store)
        with self._lock:
            self._read[key] = graph
            while len(self._read) > self._keep:
                self._read.popitem(last=False)
        return graph

    def version(self, graph: Graph) -> str:
        """The version under which a graph was read, "" when it is no longer kept."""
        with self._lock:
            return next((key[1] for key, kept in self._read.items() if kept is graph), "")


def told_apart(graph: Graph, store: Workspace) -> Graph:
    """The graph with names for people: passages of one document are told apart by their place."""
    names = {node_id("passage", chunk): name
             for chunk, name in passage_names(store.passages.parts()).items()}
    return replace(graph, names=tuple(
        names.get(node, name) for node, name in zip(graph.ids, graph.names, strict=True)))


def corpus_of(graph: Graph, store: Workspace, needs: Sequence[str] = tuple(LAYERS)) -> Corpus:
    """What methods retrieve from: the graph, the words of its passages, and built layers."""
    return Corpus(graph, passages_of(graph, partial(texts_of, store), titled=True),
                  layers_of(graph, store, needs))


def texts_of(store: Workspace, ids: Sequence[str]) -> list[str]:
    """Title and text of passages, for the words that are searched."""
    # A passage that was deleted since the graph was read has no text any more.
    nodes = store.graph.nodes(ids)
    return [f"{nodes[i].name}\n{nodes[i].text}" if i in nodes else "" for i in ids]


def with_texts(retrieval: Retrieval, store: Workspace) -> Retrieval:
    """The retrieval with the texts of its passages and what its relations say."""
    nodes = store.graph.nodes(p.id for p in retrieval.ranking)
    chunks = store.passages.get(node.key for node in nodes.values())
    found = [(ranked, chunks[nodes[ranked.id].key]) for ranked in retrieval.ranking
             if ranked.id in nodes and nodes[ranked.id].key in chunks]
    edges = retrieval.edges
    related = {end for e in edges if e.kind == "relation" for end in (e.source, e.target)}
    if related and (said := store.graph.labels(related)):
        edges = tuple(replace(e, label=said[ends]) if (ends := frozenset((e.source, e.target)))
                      in said else e for e in edges)
    return replace(retrieval, edges=edges, passages=tuple(
        RetrievedPassage(ranked.id, chunk.id, chunk.document, chunk.title, chunk.text,
                         ranked.score, chunk.start, chunk.end, chunk.page, chunk.heading,
                         ranked.parts)
        for ranked, chunk in found))
