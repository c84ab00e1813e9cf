"""The graph of the tables as arrays, with the vectors that follow from what else is kept."""

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qafd.arrays import ByteRows, to_bytes
from qafd.assemble.entities import Occurrences, align
from qafd.graph import Graph, kind_bit
from qafd.records import Floats, Nodes, node_id
from qafd.storage.packing import (
    EDGE_KINDS,
    MENTION,
    SENTENCE,
    Packed,
    hash_number,
    texts,
)
from qafd.storage.relational.base import Connection, meta

AT_ONCE = 10_000  # nodes whose vectors are read at a time
_BITS = np.array([kind_bit(kind) for kind in EDGE_KINDS], np.uint8)


@dataclass(frozen=True)
class _Numbering:
    """The numbers of all nodes, ascending, which is the order of their ids and of the rows."""

    numbers: Nodes

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
class _Summed:
    """Occurrences of the names whose sums are not stored, shape (k,), and their vectors, (r,).

    `at` is the place of an occurrence's vector among those of all; `close` marks those of sentences.
    `passage`, ascending, is the row of the passage that has each vector, as its `place`-th.
    """

    owner: Nodes
    close: NDArray[np.bool_]
    at: Nodes
    passage: Nodes
    place: Nodes

    @classmethod
    def of(cls, entity: Nodes, passage: Nodes, sentences: list[bytes]) -> "_Summed":
        """Of mentions: rows of entity and passage, shape (m,), and the packed sentences."""
        counts = np.array([len(some) for some in sentences], np.int64) // SENTENCE.itemsize
        places = np.frombuffer(b"".join(sentences), SENTENCE).astype(np.int64)
        place = np.concatenate([np.zeros(len(passage), np.int64), 1 + places])
        owner = np.concatenate([entity, np.repeat(entity, counts)])
        order = np.argsort(owner, kind="stable")
        width = int(place.max(initial=0)) + 1
        used, at = np.unique((np.concatenate([passage, np.repeat(passage, counts)]) * width + place)[order],
                             return_inverse=True)
        return cls(owner[order], order >= len(passage), at, used // width, used % width)


@dataclass(frozen=True)
class _LoadedEdges:
    """The edges by the rows of their ends, shape (k,)."""

    heads: Nodes
    tails: Nodes
    similarity: Floats
    kinds: NDArray[np.uint8]


@dataclass(frozen=True)
class _LoadedNodes:
    """The nodes, row by row: what is used their table, and their own vectors, packed, (n, d).

    `told` has the vectors of what models say, by row.
    """

    ids: list[str]
    names: list[str]
    kinds: list[str]
    tokens: Nodes
    scales: Floats
    vectors: Packed
    told: Mapping[int, bytes]


def load_graph(connection: Connection) -> Graph:
    """The knowledge graph, stamped with its revision; rows are sorted by id."""
    edges, nodes, vectors = _read(connection)
    factors = np.where(edges.kinds == MENTION, nodes.scales[edges.heads], 1.0)
    return Graph.build(
        nodes.ids, nodes.names, nodes.kinds, edges.heads, edges.tails, edges.similarity * factors,
        _BITS[edges.kinds], vectors=ByteRows.of(vectors), name_vectors=ByteRows.of(nodes.vectors),
        tokens=nodes.tokens, revision=int(meta(connection, "graph_revision", "0")))


def _read(connection: Connection) -> tuple[_LoadedEdges, _LoadedNodes, Packed]:
    """Edges, nodes, and what a question is compared with, packed, (n, d)."""
    dimension = max(int(meta(connection, "dimension", "0")), 1)
    numbering = _Numbering(np.fromiter(
        (row[0] for row in connection.execute("SELECT number FROM nodes ORDER BY number")), np.int64))
    hubs = {}
    for key, sums in connection.execute("SELECT key, sums FROM hubs"):
        row = int(numbering.rows_of(np.array([hash_number(node_id("entity", key))]))[0])
        hubs[row] = np.frombuffer(sums, "<i8").reshape(2, -1)
    edges, summed = _read_edges(connection, numbering, hubs)
    nodes, rows = _read_nodes(connection, len(numbering.numbers), dimension, summed)
    return edges, nodes, _align(nodes, summed, rows, hubs)


def _read_edges(connection: Connection, numbering: _Numbering, hubs: Mapping[int, Any]
                ) -> tuple[_LoadedEdges, _Summed]:
    """The edges, and what is summed of the mentions of names that are no hubs."""
    sources, targets, similarity = array("q"), array("q"), array("d")
    kinds, sentences, summed = bytearray(), [], []
    kept = set(numbering.numbers[list(hubs)].tolist())
    for source, target, strength, kind, evidence in connection.execute(
            "SELECT source, target, similarity, kind, evidence FROM edges"):
        if kind == MENTION and source not in kept:
            summed.append(len(sources))
            sentences.append(evidence)
        sources.append(source)
        targets.append(target)
        similarity.append(strength)
        kinds.append(kind)
    heads, tails = numbering.rows_of(np.asarray(sources)), numbering.rows_of(np.asarray(targets))
    return (_LoadedEdges(heads, tails, np.asarray(similarity), np.frombuffer(kinds, np.uint8)),
            _Summed.of(heads[summed], tails[summed], sentences))


def _read_nodes(connection: Connection, count: int, dimension: int, summed: _Summed
                ) -> tuple[_LoadedNodes, Packed]:
    """The nodes, and those of their vectors and their sentences' that are summed, (r, d).

    Raises
    ------
    ValueError
        A node has vectors of another length.
    LookupError
        A mention rests on a sentence that has no vector.
    """
    told: dict[int, bytes] = {}
    found = _LoadedNodes([], [], [], np.empty(count, np.int64), np.empty(count),
                         np.empty((count, dimension), np.int8), told)
    picked = np.empty((len(summed.passage), dimension), np.int8)
    rows = iter(connection.execute(
        "SELECT nodes.id, name, kind, tokens, scale, own.vectors, told.vectors FROM nodes "
        "LEFT JOIN embeddings AS own ON own.id = nodes.vectors "
        "LEFT JOIN embeddings AS told ON told.id = nodes.said ORDER BY number"))
    for start in range(0, count, AT_ONCE):
        ids, names, kinds, tokens, scales, vectors, said = zip(*islice(rows, AT_ONCE), strict=True)
        texts((*ids, *names, *kinds))
        found.ids.extend(ids)
        found.names.extend(names)
        found.kinds.extend(map(sys.intern, kinds))
        part = slice(start, start + len(ids))
        found.tokens[part], found.scales[part] = tokens, scales
        told |= {start + at: one for at, one in enumerate(said) if one is not None}
        sizes = np.array([len(one) for one in vectors], np.int64)
        if (sizes % dimension).any() or (sizes < dimension).any():
            raise ValueError(f"a node has vectors of other lengths than {dimension}")
        packed = np.frombuffer(b"".join(vectors), np.int8).reshape(-1, dimension)
        first = (np.cumsum(sizes) - sizes) // dimension
        found.vectors[part] = packed[first]
        inside = slice(*np.searchsorted(summed.passage, (part.start, part.stop)))
        passage, place = summed.passage[inside] - start, summed.place[inside]
        if (place >= sizes[passage] // dimension).any():
            raise LookupError("a mention rests on a sentence that has no vector")
        picked[inside] = packed[first[passage] + place]
    return found, picked


def _align(nodes: _LoadedNodes, summed: _Summed, picked: Packed, hubs: Mapping[int, Any]) -> Packed:
    """Compute the vectors compared with a question, packed, (n, d): passages their own, names those that
    `align` has."""
    found = nodes.vectors.copy()
    entities = np.flatnonzero(np.array(nodes.kinds, np.str_) != "passage")
    occurrences = Occurrences(entities, summed.owner, summed.at, summed.close)
    for rows, wide, close in occurrences.sums(lambda at: ByteRows.of(picked[at])[:]):
        for place, row in enumerate(rows.tolist()):
            if row in hubs:
                wide[place], close[place] = hubs[row]
        block = align(wide, close)
        for place, row in enumerate(rows.tolist()):
            if row in nodes.told:
                told = ByteRows.of(np.frombuffer(nodes.told[row], np.int8)[None, :])[0]
                block[place] = align(wide[place], close[place], told)
        found[rows] = to_bytes(block)
    return found
