"""The graph of a workspace: kept while unchanged, read from it, or if large opened as columns in a file.

The file is computed from the workspace, so it may be missing, old or broken: then the graph is
read. The file also has the columns of passages and names that the first question needs.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from threading import Lock

import numpy as np

from qafd.arrays import Array, Arrays, map_columns, open_columns, write_columns
from qafd.graph import Graph, LayerKey
from qafd.graph_merge import merge_columns
from qafd.plan.name_columns import NameColumns, columns_of
from qafd.reading.text import passage_names
from qafd.records import Vectors, node_id
from qafd.retrieve import layers, qafd
from qafd.retrieve.base import Corpus, Retrieval, RetrievedPassage, column
from qafd.retrieve.seeds import PassageColumns, Passages, passages_of
from qafd.storage import Workspace, open_workspace
from qafd.time_left import ignore_progress

KEPT = 4  # graphs that are kept
AT_ONCE = 10_000  # passages whose texts are read at a time
LARGE = 10_000  # nodes from which a graph is kept as columns
BUILDER = 7  # changes when columns are made or kept differently


class GraphCache:
    """The graphs read last, by workspace and version of its graph."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], Graph] = {}
        self._reading = Lock()  # questions that come at once wait for the first one's graph

    def get(self, store: Workspace) -> Graph:
        """Return the graph of an open store, read when it is not here yet."""
        with store.snapshot():
            key = (store.place.id, store.graph.version)
            graph = self._read.get(key)
            if graph is not None:
                return graph
            with self._reading:
                graph = self._read.get(key) or read_graph(store)
                latest = [*self._read.items()][1 - KEPT:]
                self._read = {**dict(latest), key: graph}
        if len(graph) > LARGE and isinstance(graph.ids, tuple):
            gc.collect()
            gc.freeze()  # or each full collection would look through all of it
        return graph

    def version(self, graph: Graph) -> str:
        """Return the version under which a graph was read, "" when it is no longer kept."""
        return next((key[1] for key, kept in self._read.items() if kept is graph), "")


def corpus_of(graph: Graph, store: Workspace, needs: Sequence[str] = tuple(layers.LAYERS)) -> Corpus:
    """Build the corpus for methods: the graph, the words of its passages, and built layers."""
    return Corpus(graph, passages_of(graph, partial(read_passages, graph, store)),
                  layers.layers_of(graph, store, needs))


def read_passages(graph: Graph, store: Workspace) -> Passages:
    """Return the passages of a graph."""
    return Passages(graph, passage_columns(graph, store), partial(sentences_at, store.place.url))


def add_texts(retrieval: Retrieval, graph: Graph, store: Workspace) -> Retrieval:
    """Return the retrieval with the texts of its passages and the labels of its relations."""
    chunks = store.passages.of_nodes(p.id for p in retrieval.ranking)
    passages = []
    for ranked in retrieval.ranking:
        if ranked.id in chunks:
            chunk = chunks[ranked.id]
            passages.append(RetrievedPassage(
                ranked.id, chunk.id, chunk.document, chunk.title, chunk.text, ranked.score, chunk.start,
                chunk.end, chunk.page, chunk.heading, ranked.parts, graph.names[graph.row[ranked.id]]))
    edges = retrieval.edges
    if "relation" in column(edges, "kind"):
        ends = [(edge.source, edge.target) for edge in edges if edge.kind == "relation"]
        labels = store.graph.labels(set(chain.from_iterable(ends)))
        edges = tuple(
            replace(edge, label=label) if edge.kind == "relation" and (
                label := labels.get(frozenset((edge.source, edge.target)))) else edge for edge in edges)
    return replace(retrieval, edges=edges, passages=tuple(passages))


_LAYERS: dict[str, LayerKey] = {f"layer-{name}": (kinds, None) for name, kinds in qafd.LAYERS.items()}

Sentences = Callable[[Sequence[str]], Sequence[Vectors]]


def read_graph(store: Workspace) -> Graph:
    """Return the graph of an open store, from its columns where they are of this graph."""
    if store.place.columns is not None:
        arrays = map_columns(store.place.columns, _label(store))
        if arrays is not None:
            return unpack(arrays, store.graph.revision, partial(sentences_at, store.place.url))
    return name_passages(store.graph.read(), store)


def keep_columns(store: Workspace, large: int = LARGE, begun: Callable[[], object] = ignore_progress) -> bool:
    """Write the columns of a large graph if they are missing; return True if it did.

    `begun` is called before the long part. A full disk is not an error: the graph can be read
    without the columns.
    """
    place = store.place.columns
    with store.snapshot():
        if place is None or store.listing.size()[0] < large:
            return False
        label, arrays = open_columns(place) or ("", {})
        if label == _label(store):
            return False
        begun()
        graph, passages = follow_columns(store, label, arrays) or read_all(store)
        if graph.name_vectors is None:
            return False
        label, arrays = _label(store), pack(graph, passages)
    try:
        write_columns(place, label, arrays)
    except OSError:
        return False
    store.assembly.follow(graph.revision, len(graph) // 10)
    return True


def read_all(store: Workspace) -> tuple[Graph, PassageColumns]:
    """Read the graph of an open store and the columns of its passages from the tables."""
    graph = name_passages(store.graph.read(), store)
    return graph, passage_columns(graph, store)


def follow_columns(store: Workspace, label: str, arrays: Arrays) -> tuple[Graph, PassageColumns] | None:
    """Return the graph and its passages from older columns, None where the changes since are not known."""
    since, moved = store.assembly.moved()
    start, _, revision = label.rpartition("-")
    if since < 0 or start != _label(store).rpartition("-")[0] or int(revision) < since:
        return None
    old = Graph.from_arrays(arrays, int(revision), {})
    return merge_columns(store, old, PassageColumns.unflatten(arrays), moved, partial(texts_of, store))


def _label(store: Workspace) -> str:
    return f"{BUILDER} {store.graph.version}"


def pack(graph: Graph, passages: PassageColumns) -> dict[str, Array]:
    """Return a graph with sorted ids, and the columns that questions need, as arrays."""
    names = NameColumns.build(graph)
    return graph.columns(_LAYERS) | passages.flatten() | names.flatten()


def unpack(arrays: Arrays, revision: int, sentences: Sentences | None = None) -> Graph:
    """Return the graph that `pack` made arrays of, which answers questions as the one packed does.

    Parameters
    ----------
    sentences : callable, optional
        See `Passages`.
    """
    graph = Graph.from_arrays(arrays, revision, _LAYERS)
    columns_of(graph, NameColumns.unflatten(arrays))
    passages = Passages(graph, PassageColumns.unflatten(arrays), sentences)
    passages_of(graph, lambda: passages)
    return graph


def name_passages(graph: Graph, store: Workspace) -> Graph:
    """Return the graph with names for people: passages of one document differ by their place."""
    names = {node_id("passage", chunk): name
             for chunk, name in passage_names(store.passages.parts()).items()}
    return replace(graph, names=tuple(
        names.get(node, name) for node, name in zip(graph.ids, graph.names, strict=True)))


def passage_columns(graph: Graph, store: Workspace) -> PassageColumns:
    """Build the columns of the passages of a graph from their texts."""
    return PassageColumns.build(graph, partial(texts_of, store), titled=True)


def texts_of(store: Workspace, ids: Sequence[str]) -> Iterator[str]:
    """Return the title and text of passages, for the search of words."""
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first:first + AT_ONCE]
        nodes = store.graph.nodes(some)
        for one in some:
            # A passage that was deleted since the graph was read has no text any more.
            yield f"{nodes[one].name}\n{nodes[one].text}" if one in nodes else ""


def sentences_at(url: str, ids: Sequence[str]) -> list[Vectors]:
    """Return the vectors of the sentences of passages of a workspace, shape (s, d) each.

    It is opened for them, since the store that the graph was read from may be closed by now.
    """
    with open_workspace(url) as store:
        return sentences_of(store, ids)


def sentences_of(store: Workspace, ids: Sequence[str]) -> list[Vectors]:
    """Return the vectors of the sentences of passages, shape (s, d) each."""
    nodes = store.graph.nodes(ids)
    found = store.passages.sentences(node.key for node in nodes.values())
    none = np.zeros((0, 0), np.float32)
    vectors = []
    for one in ids:
        some = found.get(nodes[one].key, ()) if one in nodes else ()
        vectors.append(np.stack([vector for _, _, vector in some]) if some else none)
    return vectors
