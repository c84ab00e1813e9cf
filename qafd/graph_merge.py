"""The columns of a graph of which some nodes have changed: these are read, and the others taken over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from qafd.arrays import ByteRows, TextBlock, VectorColumn, merge_rows, take_rows
from qafd.graph import Graph, label_rows, merge_edges
from qafd.reading.text import canonical, passage_names
from qafd.reading.text.bm25 import Bm25
from qafd.records import Nodes, node_id
from qafd.retrieve.seeds import PassageColumns, TextsOf
from qafd.storage import Workspace
from qafd.storage.packing import hash_number
from qafd.storage.relational.graph_loader import GraphPart


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
        """Return the merge of an old graph and the nodes that have changed, those that are gone by number."""
        numbers = [np.fromiter(map(hash_number, graph.ids), np.int64, len(graph)) for graph in (old, fresh)]
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


def merge_columns(store: Workspace, old: Graph, passages: PassageColumns, moved: Nodes, texts: TextsOf
                  ) -> tuple[Graph, PassageColumns]:
    """Return the graph of a workspace and the columns of its passages, from older ones.

    Parameters
    ----------
    old, passages : Graph, PassageColumns
        Of an earlier version, with sorted ids as text columns.
    moved : ndarray
        The numbers of all nodes that have changed since, see `SqlAssembly.moved`.
    texts : callable
        See `PassageColumns.build`.
    """
    part = store.graph.read_part(moved)
    fresh = part.nodes
    merge = Merge.of(old, fresh, moved)
    chunks = store.passages.of_nodes(fresh.ids[row] for row in np.flatnonzero(fresh.kinds == "passage"))
    called = passage_names(store.passages.parts({chunk.document for chunk in chunks.values()}))
    names = {node_id("passage", chunk): name for chunk, name in called.items()}
    fresh = replace(fresh, names=tuple(
        names.get(node, name) for node, name in zip(fresh.ids, fresh.names, strict=True)))
    graph = _merge_graph(old, replace(part, nodes=fresh), merge)
    return graph, _merge_passages(passages, graph, merge, texts)


def _merge_graph(old: Graph, part: GraphPart, merge: Merge) -> Graph:
    n, kept, fresh = len(merge.numbers), merge.kept, part.nodes
    ends = np.stack([kept[old.starts], kept[old.neighbors]])
    stay = (ends >= 0).all(axis=0)
    keys = ends[0][stay] * n + ends[1][stay]
    low, high, similarity, kinds = merge_edges(
        n, merge.rows_of(part.ends[0]), merge.rows_of(part.ends[1]), part.similarity, part.kinds)
    added = np.concatenate([low * n + high, high * n + low])
    order = np.argsort(added)
    at = np.searchsorted(keys, added[order])
    order %= max(len(low), 1)  # each edge has two entries
    keys = np.insert(keys, at, np.sort(added))
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys // max(n, 1), minlength=n), out=indptr[1:])
    neighbors = (keys % max(n, 1)).astype(np.int32)

    def merge_texts(some: Sequence[str], others: Sequence[str]) -> TextBlock:
        block = some if isinstance(some, TextBlock) else TextBlock.of(some)
        return block.merge(TextBlock.of(others), merge.places)

    def merge_vectors(some: VectorColumn | None, others: VectorColumn | None) -> ByteRows:
        assert isinstance(some, ByteRows)
        assert isinstance(others, ByteRows)
        return some.merge(others, merge.places)

    return Graph(
        merge_texts(old.ids, fresh.ids), merge_texts(old.names, fresh.names),
        merge_rows(old.kinds, fresh.kinds, merge.places), indptr, neighbors,
        np.insert(old.similarity[stay], at, similarity[order]),
        np.insert(old.edge_kinds[stay], at, kinds[order]),
        merge_vectors(old.vectors, fresh.vectors), merge_vectors(old.name_vectors, fresh.name_vectors),
        merge_rows(old.tokens, fresh.tokens, merge.places), label_rows(indptr, neighbors), fresh.revision)


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

