"""The graph of a workspace: read from it, or if large opened as columns in a file next to it.

The file is computed from the workspace, so it may be missing, old or broken: then the graph is
read. The file also has the columns of passages and names that the first question needs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from qafd.arrays import Array, Arrays, map_columns, write_columns
from qafd.graph import Graph, LayerKey
from qafd.plan.name_columns import NameColumns, columns_of
from qafd.reading.text import passage_names
from qafd.records import Vectors, node_id
from qafd.retrieve.qafd import LAYERS
from qafd.retrieve.seeds import PassageColumns, Passages, passages_of
from qafd.storage import Workspace, open_workspace
from qafd.time_left import ignore_progress

BUILDER = 6  # changes when columns are made or kept differently
LARGE = 10_000  # nodes from which a graph is kept as columns
AT_ONCE = 10_000  # passages whose texts are read at a time

_LAYERS: dict[str, LayerKey] = {f"layer-{name}": (kinds, None) for name, kinds in LAYERS.items()}

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
        if place is None or store.listing.size()[0] < large or map_columns(place, _label(store)):
            return False
        begun()
        graph = name_passages(store.graph.read(), store)
        if graph.name_vectors is None:
            return False
        label, arrays = _label(store), pack(graph, passage_columns(graph, store))
    try:
        write_columns(place, label, arrays)
    except OSError:
        return False
    return True


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
