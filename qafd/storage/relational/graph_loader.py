"""The graph of the tables as arrays, with the vectors that follow from the other tables."""

import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qafd.arrays import ByteRows, lay_out, to_bytes
from qafd.assemble.entities import TERM_FACTOR, Occurrences, align
from qafd.graph import Graph, kind_bit
from qafd.records import Floats, Nodes, node_id
from qafd.storage.relational.base import NUMBERS, Connection, meta
from qafd.storage.rows import (
    EDGE_KINDS,
    MENTION,
    SENTENCE,
    Packed,
    hash_number,
    texts,
)

AT_ONCE = 10_000  # nodes whose vectors are read at a time
_NO_EDGES = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.uint8)
_BITS = np.array([kind_bit(kind) if kind else 0 for kind in EDGE_KINDS], np.uint8)


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
    """The edges by the numbers of their ends, shape (k,).

    `summed` are the places of mentions of names that are no hubs, and `sentences` is their evidence.
    """

    heads: Nodes
    tails: Nodes
    similarity: Floats
    kinds: NDArray[np.uint8]
    summed: Nodes
    sentences: list[bytes]

    def factors(self, numbering: _Numbering, scales: Floats) -> Floats:
        """The similarity of each, of a mention times the scale of its name, shape (k,)."""
        mention = self.kinds == MENTION
        factors = np.ones(len(self.heads))
        factors[mention] = scales[numbering.rows_of(self.heads[mention])]
        return self.similarity * factors

    def bits(self, numbering: _Numbering, scales: Floats) -> NDArray[np.uint8]:
        """The kinds of each as bits; a mention of a term that one passage has alone is marked, shape (k,)."""
        bits: NDArray[np.uint8] = _BITS[self.kinds]
        mention = np.flatnonzero(self.kinds == MENTION)
        alone = scales[numbering.rows_of(self.heads[mention])] == TERM_FACTOR
        bits[mention[alone]] |= kind_bit("term")
        return bits


@dataclass(frozen=True)
class _LoadedNodes:
    """The nodes, row by row: columns of their table, and their own vectors, packed, (n, d).

    `told` has the vectors of what models say, by row.
    """

    ids: list[str]
    names: list[str]
    kinds: list[str]
    tokens: Nodes
    scales: Floats
    vectors: Packed
    told: Mapping[int, bytes]

    def graph(self, connection: Connection, compared: Packed, rows: Nodes, *edges: Any) -> Graph:
        """Return the graph of some rows and of edges; questions are compared with vectors `compared`.

        Of passages, the vectors of names are the same.
        """
        places = rows.tolist()
        kinds = [self.kinds[at] for at in places]
        vectors, named = lay_out(ByteRows.of(compared[rows]), ByteRows.of(self.vectors[rows]),
                                 np.array(kinds, np.str_) == "passage")
        return Graph.build(
            [self.ids[at] for at in places], *edges, names=[self.names[at] for at in places], kinds=kinds,
            vectors=vectors, name_vectors=named, tokens=self.tokens[rows],
            revision=int(meta(connection, "graph_revision", "0")))


@dataclass(frozen=True)
class GraphPart:
    """Some nodes of the graph without edges, and all their edges.

    `ends`, shape (2, k), are the numbers of both ends of each edge, `similarity` and `kinds` its factor
    and the bits of its kind, shape (k,).
    """

    nodes: Graph
    ends: Nodes
    similarity: Floats
    kinds: NDArray[np.uint8]


def load_graph(connection: Connection) -> Graph:
    """The knowledge graph, stamped with its revision; rows are sorted by id."""
    hubs = _read_hubs(connection, None)
    edges, numbering = _read_edges(connection, hubs), _number_nodes(connection)
    nodes, compared = _read_nodes(connection, numbering, edges, hubs)
    return nodes.graph(
        connection, compared, np.arange(len(compared)), numbering.rows_of(edges.heads),
        numbering.rows_of(edges.tails), edges.factors(numbering, nodes.scales),
        edges.bits(numbering, nodes.scales))


def load_part(connection: Connection, wanted: Nodes) -> GraphPart:
    """Read some nodes, by number, shape (k,), as in the whole graph; deleted ones are left out."""
    inside = set(wanted.tolist())
    hubs = _read_hubs(connection, inside)
    edges = _read_edges(connection, hubs, wanted)
    # The scale of a name weighs its mentions, and the passages of a name that is no hub are summed.
    names, summed = edges.heads[edges.kinds == MENTION], edges.tails[edges.summed]
    needed = inside.union(names.tolist(), summed.tolist())
    numbering = _number_nodes(connection, needed)
    nodes, compared = _read_nodes(connection, numbering, edges, hubs, needed)
    rows = np.flatnonzero(np.isin(numbering.numbers, wanted))
    return GraphPart(nodes.graph(connection, compared, rows), np.stack([edges.heads, edges.tails]),
                     edges.factors(numbering, nodes.scales), edges.bits(numbering, nodes.scales))


def _number_nodes(connection: Connection, wanted: Collection[int] | None = None) -> _Numbering:
    where, asked = _scope(wanted)
    return _Numbering(np.fromiter((row[0] for row in connection.execute(
        f"SELECT number FROM nodes {where} ORDER BY number", asked)), np.int64))


def _scope(wanted: Collection[int] | None) -> tuple[str, tuple[str, ...]]:
    """Return the condition that a node is wanted, and its parameters; none if all are."""
    return ("", ()) if wanted is None else (f"WHERE number IN {NUMBERS}", (json.dumps([*wanted]),))


def _read_hubs(connection: Connection, inside: Collection[int] | None) -> dict[int, Any]:
    """The sums of hubs, all or those among some nodes, by number."""
    keys = {hash_number(node_id("entity", key)): key for key, in connection.execute("SELECT key FROM hubs")}
    some = json.dumps([key for number, key in keys.items() if inside is None or number in inside])
    return {hash_number(node_id("entity", key)): np.frombuffer(sums, "<i8").reshape(2, -1)
            for key, sums in connection.execute(
                "SELECT key, sums FROM hubs WHERE key IN (SELECT value FROM json_each(?))", (some,))}


def _read_edges(connection: Connection, hubs: Collection[int], wanted: Nodes | None = None) -> _LoadedEdges:
    """The edges, all or those with a wanted node at an end."""
    where, asked = "", tuple[str, ...]()
    if wanted is not None:
        where = f"WHERE source IN {NUMBERS} OR target IN {NUMBERS}"
        asked = (json.dumps(wanted.tolist()),) * 2
    rows = iter(connection.execute(
        f"SELECT source, target, similarity, kind, evidence FROM edges {where}", asked))
    parts, summed, sentences, count = [_NO_EDGES], list[Nodes](), list[bytes](), 0
    while some := [*islice(rows, AT_ONCE)]:
        sources, targets, similarity, kinds, evidence = zip(*some, strict=True)
        part = np.array(sources), np.array(targets), np.array(similarity), np.array(kinds, np.uint8)
        own = (part[3] == MENTION) & ~np.isin(part[0], [*hubs])
        if wanted is not None:
            own &= np.isin(part[0], wanted)
        places = np.flatnonzero(own)
        parts.append(part)
        summed.append(count + places)
        sentences += [evidence[at] for at in places.tolist()]
        count += len(some)
    heads, tails, strengths, bits = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _LoadedEdges(heads, tails, strengths, bits, np.concatenate([_NO_EDGES[0], *summed]), sentences)


def _read_nodes(connection: Connection, numbering: _Numbering, edges: _LoadedEdges, hubs: Mapping[int, Any],
                wanted: Collection[int] | None = None) -> tuple[_LoadedNodes, Packed]:
    """The numbered nodes, and what a question is compared with, packed, (n, d).

    Raises
    ------
    ValueError
        A node has vectors of another length.
    LookupError
        A mention rests on a sentence that has no vector.
    """
    count, dimension = len(numbering.numbers), max(int(meta(connection, "dimension", "0")), 1)
    summed = _Summed.of(numbering.rows_of(edges.heads[edges.summed]),
                        numbering.rows_of(edges.tails[edges.summed]), edges.sentences)
    told: dict[int, bytes] = {}
    found = _LoadedNodes([], [], [], np.empty(count, np.int64), np.empty(count),
                         np.empty((count, dimension), np.int8), told)
    picked = np.empty((len(summed.passage), dimension), np.int8)
    where, asked = _scope(wanted)
    rows = iter(connection.execute(
        "SELECT nodes.id, name, kind, tokens, scale, own.vectors, told.vectors FROM nodes "
        "LEFT JOIN embeddings AS own ON own.id = nodes.vectors "
        f"LEFT JOIN embeddings AS told ON told.id = nodes.said {where} ORDER BY number", asked))
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
    rows_of_hubs = {int(numbering.rows_of(np.array([number]))[0]): sums for number, sums in hubs.items()}
    return found, _align(found, summed, picked, rows_of_hubs)


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
