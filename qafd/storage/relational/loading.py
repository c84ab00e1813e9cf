"""The graph of the tables as arrays, with the vectors that follow from what else is kept."""

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qafd.assemble.gathered import Occurrences, align
from qafd.columns import ByteRows, to_bytes
from qafd.graph import Graph, kind_bit
from qafd.records import Floats, Nodes, Vectors, node_id
from qafd.storage.packing import (
    EDGE_KINDS,
    MENTION,
    SENTENCE,
    Packed,
    hash_number,
    texts,
    unit_rows,
)
from qafd.storage.relational.part import Connection, meta

_BITS = np.array([kind_bit(kind) for kind in EDGE_KINDS], np.uint8)


@dataclass(frozen=True)
class _LoadedNodes:
    """The nodes by number, which is the order of their ids.

    `vectors` are packed, one of a name, those of a passage and its sentences, one node's after the
    other's, and `sizes` how many bytes each has; `told` are those of what models say, by row.
    """

    numbers: Nodes
    ids: tuple[str, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    tokens: Nodes
    scales: Floats
    vectors: bytearray
    sizes: Nodes
    told: Mapping[int, bytes]

    @cached_property
    def passages(self) -> NDArray[np.bool_]:
        """Which of them are passages."""
        return np.array([kind == "passage" for kind in self.kinds], np.bool_)

    def rows_of(self, wanted: Nodes) -> Nodes:
        """The rows of nodes by number.

        Raises
        ------
        LookupError
            There is no such node.
        """
        rows = np.minimum(np.searchsorted(self.numbers, wanted), max(len(self.numbers) - 1, 0))
        if len(wanted) and not np.array_equal(self.numbers[rows], wanted):
            raise LookupError("an edge ends in no node")
        return rows


@dataclass(frozen=True)
class _LoadedMentions:
    """The mentions of a graph: rows of entity and passage, shape (k,), the packed sentences of all, and
    how many bytes each has of these."""

    entity: Nodes
    passage: Nodes
    sentences: bytearray
    sizes: Nodes


@dataclass(frozen=True)
class _KeptVectors:
    """All vectors that nodes refer to, those of row i from `numbers[first[i]]` on; shape (r, d)."""

    numbers: Packed
    first: Nodes

    def pick(self, rows: Nodes) -> Vectors:
        """Unit rows."""
        return unit_rows(self.numbers[rows])


def load_graph(connection: Connection) -> Graph:
    """The knowledge graph, stamped with its revision; rows are sorted by id."""
    dimension = int(meta(connection, "dimension", "0"))
    nodes = _read_nodes(connection)
    kept = _keep(nodes, dimension)
    sources, targets, similarity = array("q"), array("q"), array("d")
    kinds, sentences, sizes = bytearray(), bytearray(), array("q")
    for source, target, strength, kind, evidence in connection.execute(
            "SELECT source, target, similarity, kind, evidence FROM edges"):
        sources.append(source)
        targets.append(target)
        similarity.append(strength)
        kinds.append(kind)
        if kind == MENTION:
            sentences += evidence
            sizes.append(len(evidence))
    heads, tails = nodes.rows_of(np.asarray(sources)), nodes.rows_of(np.asarray(targets))
    edge_kinds = np.frombuffer(kinds, np.uint8)
    mention = edge_kinds == MENTION
    factors = np.where(mention, nodes.scales[heads], 1.0)
    names = kept.numbers[kept.first]
    vectors = _align(connection, nodes, kept, _LoadedMentions(
        heads[mention], tails[mention], sentences, np.asarray(sizes)))
    vectors[nodes.passages] = names[nodes.passages]
    return Graph.build(
        nodes.ids, nodes.names, nodes.kinds, heads, tails, np.asarray(similarity) * factors,
        _BITS[edge_kinds], vectors=ByteRows.of(vectors), name_vectors=ByteRows.of(names),
        tokens=nodes.tokens, revision=int(meta(connection, "graph_revision", "0")))


def _read_nodes(connection: Connection) -> _LoadedNodes:
    heads: list[tuple[Any, ...]] = []
    sizes, vectors, told = array("q"), bytearray(), {}
    for *head, own, said in connection.execute(
            "SELECT number, nodes.id, name, kind, tokens, scale, own.vectors, told.vectors FROM nodes "
            "LEFT JOIN embeddings AS own ON own.id = nodes.vectors "
            "LEFT JOIN embeddings AS told ON told.id = nodes.said ORDER BY number"):
        if said is not None:
            told[len(heads)] = said
        heads.append(tuple(head))
        sizes.append(len(own))
        vectors += own
    numbers, ids, names, kinds, tokens, scales = zip(*heads, strict=True) if heads else [()] * 6
    texts((*ids, *names, *kinds))
    return _LoadedNodes(
        np.array(numbers, np.int64), ids, names, tuple(map(sys.intern, kinds)), np.array(tokens, np.int64),
        np.array(scales, np.float64), vectors, np.asarray(sizes), told)


def _keep(nodes: _LoadedNodes, dimension: int) -> _KeptVectors:
    """The vectors of the nodes.

    Raises
    ------
    ValueError
        One of them has another length.
    """
    sizes = nodes.sizes
    if (sizes % max(dimension, 1)).any() or (sizes < dimension).any():
        raise ValueError(f"a node has vectors of other lengths than {dimension}")
    numbers = np.frombuffer(nodes.vectors, np.int8).reshape(-1, max(dimension, 1))
    return _KeptVectors(numbers, (np.cumsum(sizes) - sizes) // max(dimension, 1))


def _align(connection: Connection, nodes: _LoadedNodes, kept: _KeptVectors, mentions: _LoadedMentions
           ) -> Packed:
    """What a question is compared with, packed, (n, d), as `align` has it; zeros for passages."""
    hubs = {}
    for key, sums in connection.execute("SELECT key, sums FROM hubs"):
        row = int(nodes.rows_of(np.array([hash_number(node_id("entity", key))]))[0])
        hubs[row] = np.frombuffer(sums, "<i8").reshape(2, -1)
    found = np.zeros((len(nodes.ids), kept.numbers.shape[1]), np.int8)
    for rows, wide, close in _occurrences(nodes, kept, mentions, hubs).sums(kept.pick):
        for place, row in enumerate(rows.tolist()):
            if row in hubs:
                wide[place], close[place] = hubs[row]
        block = align(wide, close)
        for place, row in enumerate(rows.tolist()):
            if row in nodes.told:
                told = unit_rows(np.frombuffer(nodes.told[row], np.int8)[None, :])[0]
                block[place] = align(wide[place], close[place], told)
        found[rows] = to_bytes(block)
    return found


def _occurrences(nodes: _LoadedNodes, kept: _KeptVectors, mentions: _LoadedMentions, hubs: dict[int, Any]
                 ) -> Occurrences:
    """Where the names are found whose sums are not kept.

    Raises
    ------
    LookupError
        A mention rests on a sentence that has no vector.
    """
    counts = mentions.sizes // SENTENCE.itemsize
    places = np.frombuffer(mentions.sentences, SENTENCE).astype(np.int64)
    passages = kept.first[mentions.passage]
    ends = np.append(kept.first[1:], len(kept.numbers))[mentions.passage]
    rows = np.repeat(passages, counts) + 1 + places
    if (rows >= np.repeat(ends, counts)).any():
        raise LookupError("a mention rests on a sentence that has no vector")
    owner = np.concatenate([mentions.entity, np.repeat(mentions.entity, counts)])
    close = np.arange(len(owner)) >= len(passages)
    order = np.argsort(owner, kind="stable")
    order = order[~np.isin(owner[order], list(hubs))]
    return Occurrences(np.flatnonzero(~nodes.passages), owner[order],
                       np.concatenate([passages, rows])[order], close[order])
