"""The graph of a workspace: kept while unchanged, read from it, or if large opened as columns in a file.

The file is computed from the workspace. If it is old, what changed since is read and the rest taken
over; if it is missing or broken, the graph is read. The file also has the columns of passages and
names that the first question needs.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from threading import Lock
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from qafd.arrays import (
    Array,
    Arrays,
    ByteRows,
    MappedColumns,
    MergedLists,
    TextBlock,
    append_rows,
    lay_out,
    merge_rows,
    open_columns,
    take_rows,
    write_columns,
)
from qafd.graph import Graph, label_rows, merge_edges
from qafd.plan.name_columns import NameColumns, columns_of
from qafd.reading.text import canonical, passage_names
from qafd.reading.text.bm25 import Bm25
from qafd.records import Nodes, Vectors, node_id
from qafd.retrieve import layers
from qafd.retrieve.base import Corpus, Retrieval, RetrievedPassage, column
from qafd.retrieve.seeds import PassageColumns, Passages, TextsOf, passages_of
from qafd.storage import Workspace, open_workspace
from qafd.storage.relational.graph_loader import GraphPart
from qafd.storage.rows import hash_number, hash_numbers
from qafd.time_left import ignore_progress

KEPT = 4  # graphs that are kept
AT_ONCE = 10_000  # passages whose texts are read at a time
LARGE = 10_000  # nodes from which a graph is kept as columns
SPARE = 0.1  # vectors by nodes that are not where they would be in new columns
BUILDER = 9  # changes when columns are made or kept differently


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


Sentences = Callable[[Sequence[str]], Sequence[Vectors]]


def read_graph(store: Workspace) -> Graph:
    """Return the graph of an open store, from its columns and what has changed since where that is known."""
    known = open_columns(store.place.columns) if store.place.columns else None
    if known is not None:
        arrays: Arrays = known.arrays
        if known.label != _label(store):
            followed = follow_columns(store, known)
            arrays = pack(*followed) if followed else {}
        if arrays:
            return unpack(arrays, store.graph.revision, partial(sentences_at, store.place.url))
    return name_passages(store.graph.read(), store)


def keep_columns(store: Workspace, large: int = LARGE, begun: Callable[[], object] = ignore_progress) -> bool:
    """Write the columns of a large graph if they are missing; return True if it did.

    `begun` is called before the long part. A full disk is not an error: the graph can be read
    without the columns.
    """
    place = store.place.columns
    with store.snapshot():
        if place is None or not store.listing.has_nodes(large):
            return False
        known = open_columns(place)
        if known and known.label == _label(store):
            return False
        begun()
        made = (known and follow_columns(store, known)) or read_all(store)
        if made.graph.name_vectors is None:
            return False
        label, revision, many = _label(store), made.graph.revision, len(made.graph) // 10
        arrays = pack(*made)
        del made  # what it holds besides is needed no more
    try:
        write_columns(place, label, arrays, known)
    except OSError:
        return False
    store.assembly.follow(revision, many)
    return True


class Columns(NamedTuple):
    """A graph and the columns that questions need besides."""

    graph: Graph
    passages: PassageColumns
    names: NameColumns


def read_all(store: Workspace) -> Columns:
    """Read the graph of an open store and its columns from the tables."""
    graph = name_passages(store.graph.read(), store)
    return Columns(graph, passage_columns(graph, store), NameColumns.build(graph))


def follow_columns(store: Workspace, known: MappedColumns) -> Columns | None:
    """Return the columns from older ones, None where the changes since are not known."""
    since, moved = store.assembly.read_moved()
    start, _, revision = known.label.rpartition("-")
    if since < 0 or start != _label(store).rpartition("-")[0] or int(revision) < since:
        return None
    old = Graph.from_arrays(known.arrays, int(revision))
    graph, merge = merge_graphs(store, old, moved)
    known.release()
    passages = _merge_passages(PassageColumns.unflatten(known.arrays), graph, merge, partial(texts_of, store))
    known.release()
    names = NameColumns.build(graph, NameColumns.unflatten(known.arrays).names_in(old))
    known.release()
    return Columns(graph, passages, names)


def _label(store: Workspace) -> str:
    return f"{BUILDER} {store.graph.version}"


def pack(graph: Graph, passages: PassageColumns, names: NameColumns) -> dict[str, Array]:
    """Return a graph with sorted ids, and the columns that questions need, as arrays."""
    return graph.columns() | passages.flatten() | names.flatten()


def unpack(arrays: Arrays, revision: int, sentences: Sentences | None = None) -> Graph:
    """Return the graph that `pack` made arrays of, which answers questions as the one packed does.

    Parameters
    ----------
    sentences : callable, optional
        See `Passages`.
    """
    graph = Graph.from_arrays(arrays, revision)
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


@dataclass(frozen=True, eq=False)
class Merge:
    """The origin of each row of a merged graph.

    Parameters
    ----------
    numbers : ndarray, shape (n,)
        The number of each node, ascending, which is the order of ids.
    places : ndarray, shape (n,)
        Its row in the old graph, or its row in the part that was read, after all of the old.
    old_numbers : ndarray
        The numbers of the nodes of the old graph.
    """

    numbers: Nodes
    places: Nodes
    old_numbers: Nodes

    @classmethod
    def of(cls, old: Graph, fresh: Graph, moved: Nodes) -> Self:
        """Return the merge of an old graph and its changed nodes; deleted ones are given by number."""
        numbers = [hash_numbers(graph.ids) for graph in (old, fresh)]
        kept = np.flatnonzero(~np.isin(numbers[0], moved))
        merged = np.concatenate([numbers[0][kept], numbers[1]])
        order = np.argsort(merged, kind="stable")
        places = np.concatenate([kept, len(old) + np.arange(len(fresh))])
        return cls(merged[order], places[order], numbers[0])

    @property
    def kept(self) -> Nodes:
        """The new row of each old row, -1 for a node that has changed or is gone."""
        rows = np.full(len(self.old_numbers), -1)
        here = np.flatnonzero(self.places < len(rows))
        rows[self.places[here]] = here
        return rows

    def rows_of(self, numbers: Nodes) -> Nodes:
        """Return the rows of nodes by number, -1 for those that are not there."""
        rows = np.minimum(np.searchsorted(self.numbers, numbers), max(len(self.numbers) - 1, 0))
        found: Nodes = np.where(self.numbers[rows] == numbers, rows, -1) if len(self.numbers) else rows - 1
        return found


def merge_graphs(store: Workspace, old: Graph, moved: Nodes) -> tuple[Graph, Merge]:
    """Return the graph of a workspace from an older one, and the origin of its rows.

    Parameters
    ----------
    old : Graph
        Of an earlier version, with sorted ids as text columns.
    moved : ndarray
        The numbers of all nodes that have changed since, see `SqlAssembly.read_moved`.
    """
    part = store.graph.read_part(moved)
    fresh = part.nodes
    merge = Merge.of(old, fresh, moved)
    chunks = store.passages.of_nodes(fresh.ids[row] for row in np.flatnonzero(fresh.kinds == "passage"))
    called = passage_names(store.passages.parts({chunk.document for chunk in chunks.values()}))
    names = {node_id("passage", chunk): name for chunk, name in called.items()}
    fresh = replace(fresh, names=tuple(
        names.get(node, name) for node, name in zip(fresh.ids, fresh.names, strict=True)))
    return _merge_graph(old, replace(part, nodes=fresh), merge), merge


def _merge_graph(old: Graph, part: GraphPart, merge: Merge) -> Graph:
    n, kept, fresh = len(merge.numbers), merge.kept, part.nodes
    low, high, similarity, kinds = merge_edges(
        n, merge.rows_of(part.ends[0]), merge.rows_of(part.ends[1]), part.similarity, part.kinds)
    starts, ends = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((ends, starts))
    edges = MergedLists.merge(old.indptr, old.neighbors, (kept, kept.astype(np.int32)), n,
                              (starts[order], ends[order].astype(np.int32)))
    order %= max(len(low), 1)  # each edge has two entries

    def merge_texts(some: Sequence[str], others: Sequence[str]) -> TextBlock:
        block = some if isinstance(some, TextBlock) else TextBlock.of(some)
        return block.merge(TextBlock.of(others), merge.places)

    merged = merge_rows(old.kinds, fresh.kinds, merge.places)
    vectors, named = _append_vectors(old, fresh, merge, merged == "passage")
    return Graph(
        merge_texts(old.ids, fresh.ids), merge_texts(old.names, fresh.names),
        merged, edges.starts, edges.entries, edges.insert(old.similarity, similarity[order]),
        edges.insert(old.edge_kinds, kinds[order]),
        vectors, named, merge_rows(old.tokens, fresh.tokens, merge.places),
        label_rows(edges.starts, edges.entries), fresh.revision)


def _append_vectors(old: Graph, fresh: Graph, merge: Merge, passage: NDArray[np.bool_]
                    ) -> tuple[ByteRows, ByteRows]:
    """Return the vectors of a merged graph, rearranged when more than `SPARE` are out of place."""
    vectors, named = append_rows(_columns_of(old), _columns_of(fresh), merge.places)
    count = int(passage.sum())
    unused = len(vectors.lengths) - 2 * len(passage) + count
    late = int((vectors.places[passage] >= count).sum())
    return lay_out(vectors, named, passage) if unused + late > SPARE * len(passage) else (vectors, named)


def _columns_of(graph: Graph) -> list[ByteRows]:
    return [rows for rows in (graph.vectors, graph.name_vectors) if isinstance(rows, ByteRows)]


def _merge_passages(old: PassageColumns, graph: Graph, merge: Merge, texts: TextsOf) -> PassageColumns:
    rows: Nodes = np.flatnonzero(graph.kinds == "passage")
    before = len(merge.old_numbers)
    place = np.full(before, -1)
    place[old.rows] = np.arange(len(old.rows))
    origin = merge.places[rows]
    taken = origin < before
    places = np.full(len(rows), 0)
    places[taken] = place[origin[taken]]
    places[~taken] = len(old.rows) + np.arange(int((~taken).sum()))
    titles: list[str] = []

    def read() -> Iterator[str]:
        for text in texts(graph.ids_of(rows[~taken].tolist())):
            titles.append(text.partition("\n")[0])
            yield text

    words = Bm25.build(read())
    title = np.full(len(rows), -1)
    known = np.flatnonzero(taken)
    known = known[old.title[places[known]] >= 0]
    title[known] = merge.rows_of(merge.old_numbers[old.title[places[known]]])
    merged = old.titles.merge(TextBlock.of(titles), places)
    unknown = np.flatnonzero(title < 0)
    entities = [hash_number(node_id("entity", canonical(one))) for one in merged.pick(unknown)]
    title[unknown] = merge.rows_of(np.array(entities, np.int64))
    return PassageColumns(rows, take_rows(graph.vectors, rows), merged, title, old.bm25.merge(words, places))
