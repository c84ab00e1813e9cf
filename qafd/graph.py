"""The undirected graph that every algorithm reads, in compressed sparse row form.

Rows are node numbers 0..n-1. Every edge is stored twice, once from each end, so a
node's neighbors are one slice. Self-loops are dropped (they carry no flow). Parallel edges
are merged: the similarity is a function of the two ends, so the largest stated
value is kept, and the merged edge is of all their kinds. In `Graph.from_networkx` the
numbers are strengths instead, and strengths of parallel edges add up.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from qafd.arrays import (
    Array,
    Arrays,
    ByteRows,
    PlaceOf,
    TextBlock,
    TextColumn,
    VectorColumn,
    expand_slices,
    flatten,
    unflatten,
)
from qafd.errors import ParameterError
from qafd.records import Floats, Nodes

if TYPE_CHECKING:
    import networkx

Rows = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint8]
Names = npt.NDArray[np.str_]

LayerKey = tuple[frozenset[str] | None, frozenset[str] | None]
"""The kinds of edges in a layer, None for all, and those that it is without; see `Graph.layer`."""

EDGE_KINDS = ("mention", "relation", "synonym", "part_of", "foreign_key", "by_hand", "term")
CAPACITIES = ("degree", "unit", "tokens")
LEAST = 1e-60  # factor of a weight: three of them multiply to a number with a normal reciprocal


def kind_bit(kind: str) -> int:
    """Return the bit of an edge kind in `Graph.edge_kinds`."""
    if kind not in EDGE_KINDS:
        raise ParameterError(f"{kind!r} is not an edge kind; the kinds are "
                             f"{', '.join(EDGE_KINDS)}")
    return 1 << EDGE_KINDS.index(kind)


@dataclass(frozen=True)
class Frontier:
    """The edges around some nodes, which one round of a local algorithm reads.

    The edges of `nodes[i]` are the next `counts[i]` entries of `neighbors`, `similarity`
    and `edge_kinds`.
    """

    nodes: Nodes
    counts: Nodes
    neighbors: Rows
    similarity: Floats
    edge_kinds: Bits


class Scratch:
    """Scratch memory of one running query: which rows it has touched, never cleared.

    `mark[row] >= token` when this query touched the row, and the low 31 bits are then its
    index among the touched nodes. The other arrays are buffers of the compiled solver.
    """

    def __init__(self, n: int) -> None:
        self.mark = np.zeros(n, np.int64)
        self.token = 0
        self.reals = np.empty((16, 4096))
        self.whole = np.empty((8, 4096), np.int64)
        self.ends = np.empty((4, 16384), np.int32)
        self.weights = np.empty((2, 16384))


class NodeColumns(TypedDict, total=False):
    """The columns of a graph's nodes besides their ids.

    Parameters
    ----------
    names, kinds : sequence, length n, or None
        The ids and "entity" by default.
    vectors, name_vectors : ndarray or ByteRows, shape (n, d), or None
        See `Graph`.
    tokens : array_like, length n, or None
        0 by default.
    revision : int
        The revision of the workspace that it was read from.
    """

    names: Sequence[str] | None
    kinds: Sequence[str] | Names | None
    vectors: VectorColumn | None
    name_vectors: VectorColumn | None
    tokens: npt.ArrayLike | None
    revision: int


@dataclass(frozen=True, eq=False)
class Graph:
    """A knowledge graph; built once by `build`, or mapped from a file, then never changed.

    Parameters
    ----------
    ids, names : tuple of str or TextBlock, length n
        Node ids (unique), sorted where they are `TextBlock`, and the names to show.
    kinds : ndarray of str, shape (n,)
        "entity", "passage", ...
    indptr : ndarray, shape (n + 1,)
        The edges of row v are entries indptr[v] to indptr[v + 1], neighbors ascending.
    neighbors, similarity, edge_kinds : ndarray, shape (2 |E|,)
        Other end, query-independent factor H(h(u), h(v)) > 0 of Eq. (1), and kinds as bits
        (see `kind_bit`).
    vectors : ndarray of float32 or ByteRows, shape (n, d), or None
        Unit rows that query similarity is computed from; may be memory mapped.
    name_vectors : ndarray of float32 or ByteRows, shape (n, d), or None
        Unit rows that Algorithm 1 compares keywords with.
    tokens : ndarray, shape (n,)
        Tokens of each node's text.
    revision : int
        Of the workspace this was read from.
    component : ndarray, shape (n,)
        Connected component of each row.
    """

    ids: TextColumn = field(repr=False)
    names: TextColumn = field(repr=False)
    kinds: Names = field(repr=False)
    indptr: Nodes = field(repr=False)
    neighbors: Rows = field(repr=False)
    similarity: Floats = field(repr=False)
    edge_kinds: Bits = field(repr=False)
    vectors: VectorColumn | None = field(repr=False)
    name_vectors: VectorColumn | None = field(repr=False)
    tokens: Nodes = field(repr=False)
    component: Rows = field(repr=False)
    revision: int = 0
    # Not taken over by `replace`: what is replaced may be what they were computed from.
    _layers: dict[LayerKey, "Graph"] = field(default_factory=dict, init=False, repr=False)
    _workspaces: deque[Scratch] = field(default_factory=deque, init=False, repr=False)

    @classmethod
    def build(cls, ids: Sequence[str], source_rows: npt.ArrayLike = (), target_rows: npt.ArrayLike = (),
              similarity: npt.ArrayLike | None = None,
              edge_kinds: str | Sequence[str] | Bits = "relation",
              **nodes: Unpack[NodeColumns]) -> "Graph":
        """Return the graph of a list of edges, in any order and direction.

        Parameters
        ----------
        ids : sequence of str, length n
        source_rows, target_rows : array_like of int, shape (k,)
            Ends of each edge as row numbers.
        similarity : array_like, shape (k,), optional
            Positive and finite; 1 by default.
        edge_kinds : str, sequence of str or ndarray of uint8, shape (k,)
            One kind for all edges, one per edge, or bits per edge.
        nodes
            See `NodeColumns`.

        Raises
        ------
        ParameterError
            On lengths that differ, duplicate ids, rows outside 0..n-1, or a similarity that
            is not positive (a negative weight would make problem (5) non-convex).
        """
        n, names, kinds, tokens = len(ids), nodes.get("names"), nodes.get("kinds"), nodes.get("tokens")
        names = tuple(ids if names is None else names)
        kinds = np.full(n, "entity") if kinds is None else np.asarray(kinds, np.str_)
        tokens = np.zeros(n, np.int64) if tokens is None else np.asarray(tokens, np.int64)
        if repeated := n - len(set(ids)):
            raise ParameterError(f"{repeated} of {n} node ids occur twice")
        for column, length in (("names", len(names)), ("kinds", len(kinds)), ("tokens", len(tokens))):
            if length != n:
                raise ParameterError(f"{length} {column} were given for {n} nodes")
        source = np.asarray(source_rows, np.int64).ravel()
        target = np.asarray(target_rows, np.int64).ravel()
        strength = (np.ones(len(source)) if similarity is None
                    else np.asarray(similarity, np.float64).ravel())
        bits = _bits(edge_kinds, len(source))
        _check_edges(n, source, target, strength)
        low, high, strength, bits = merge_edges(n, source, target, strength, bits)
        start = np.concatenate([low, high], dtype=np.int32, casting="same_kind")
        end = np.concatenate([high, low], dtype=np.int32, casting="same_kind")
        order = np.lexsort((end, start))
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(start, minlength=n), out=indptr[1:])
        neighbors = end[order]
        order %= max(len(low), 1)  # each edge has two entries
        return cls(
            tuple(ids), names, kinds, indptr, neighbors, strength[order], bits[order],
            _unit_rows("vectors", nodes.get("vectors"), n),
            _unit_rows("name_vectors", nodes.get("name_vectors"), n),
            tokens, label_rows(indptr, neighbors), nodes.get("revision", 0)).prepare()

    @classmethod
    def from_networkx(cls, G: "networkx.Graph", weight: str | None = "weight") -> "Graph":
        """Return the graph of a networkx graph of any type; rows follow `list(G)`.

        Directions are dropped; strengths of parallel and opposite edges add up. Ids are
        str(node), or repr(node) where two nodes print alike.

        Parameters
        ----------
        weight : str or None
            Edge attribute with a positive strength, 1 where it is missing; None is 1 for all.
        """
        nodes = list(G)
        row = {node: i for i, node in enumerate(nodes)}
        names = [str(node) for node in nodes]
        ids = names if len(set(names)) == len(names) else [repr(node) for node in nodes]
        added: dict[tuple[int, int], float] = {}
        for u, v, attributes in G.edges(data=True):
            strength = 1.0 if weight is None else attributes.get(weight, 1.0)
            try:
                strength = float(strength)
            except (TypeError, ValueError, OverflowError):
                raise ParameterError(f"the edge {u!r} - {v!r} has {weight} {str(strength)[:40]}, which "
                                     "cannot be used as a number") from None
            if not strength > 0:
                raise ParameterError(f"the edge {u!r} - {v!r} has {weight} {strength}; flow "
                                     "diffusion needs positive edge weights")
            ends = (min(row[u], row[v]), max(row[u], row[v]))
            added[ends] = added.get(ends, 0.0) + strength
        ends_of = np.array(list(added), np.int64).reshape(-1, 2)
        return cls.build(ids, ends_of[:, 0], ends_of[:, 1], np.array(list(added.values())), names=names)

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, kind: str) -> int:
        """Count the nodes of a kind."""
        return int((self.kinds == kind).sum())

    @property
    def edge_count(self) -> int:
        """Number of undirected edges."""
        return len(self.neighbors) // 2

    @classmethod
    def from_arrays(cls, arrays: Arrays, revision: int) -> "Graph":
        """Return the graph that `columns` made arrays of."""
        nodes = unflatten("graph", arrays)
        return cls(**{"vectors": None, "name_vectors": None} | nodes, revision=revision).prepare()

    def columns(self) -> dict[str, Array]:
        """Return the graph as arrays; ids must be sorted."""
        columns = {spec.name: getattr(self, spec.name) for spec in fields(self)
                   if spec.init and spec.name != "revision"}
        texts = {name: TextBlock.of(columns[name]) for name in ("ids", "names")
                 if not isinstance(columns[name], TextBlock)}
        return flatten("graph", columns | texts)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Row of each id."""
        if isinstance(self.ids, TextBlock):
            return PlaceOf(self.ids)
        return {node: i for i, node in enumerate(self.ids)}

    def ids_of(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the ids of some rows."""
        return tuple(map(self.ids.__getitem__, rows))

    @cached_property
    def degree(self) -> Nodes:
        """Number of distinct neighbors of each row, shape (n,)."""
        degree: Nodes = np.diff(self.indptr)
        return degree

    def degree_of(self, rows: Nodes) -> Nodes:
        """Return the degrees of some rows, without computing all."""
        return self.indptr[rows + 1] - self.indptr[rows]

    @cached_property
    def _capacities(self) -> dict[str, Floats]:
        return {"degree": self.degree.astype(np.float64), "unit": np.ones(len(self)),
                "tokens": np.maximum(self.tokens, 1).astype(np.float64)}

    @cached_property
    def _component_capacities(self) -> dict[str, Floats]:
        return {choice: sum_at(self.component, each, 0) for choice, each in self._capacities.items()}

    @cached_property
    def _total_capacities(self) -> dict[str, float]:
        return {choice: float(each.sum()) for choice, each in self._capacities.items()}

    def capacity(self, choice: str) -> Floats:
        """Return the sink capacities T of all rows, shape (n,); computed once, read-only.

        "degree" is the paper's, "unit" is 1 everywhere, "tokens" is max(1, tokens): a token
        budget then bounds the tokens retrieved, by conservation of mass.
        """
        if choice not in CAPACITIES:
            raise ParameterError(f"{choice!r} is not a sink capacity; choose {', '.join(CAPACITIES)}")
        return self._capacities[choice]

    def component_capacity(self, choice: str) -> Floats:
        """Return the sum of T over each connected component, indexed by `component[row]`."""
        return self._component_capacities[choice]

    def total_capacity(self, choice: str) -> float:
        """Return the sum of T over all rows; computed once."""
        return self._total_capacities[choice]

    def prepare(self) -> "Graph":
        """Compute everything of size n that the first query would otherwise pay for."""
        self.component_capacity("unit")
        self.total_capacity("unit")
        self.release(self.acquire())
        return self

    @property
    def starts(self) -> Nodes:
        """The row that each entry of `neighbors` is seen from, shape (2 |E|,)."""
        return np.repeat(np.arange(len(self.ids)), self.degree)

    def around(self, row: int) -> Nodes:
        """Return the neighbors of one row, ascending."""
        return self.neighbors[self.indptr[row]:self.indptr[row + 1]].astype(np.int64)

    def entry(self, u: int, v: int) -> int | None:
        """Return the index of the edge from u to v in `neighbors`, None without such an edge."""
        near = self.around(u)
        place = bisect_left(near, v)
        return int(self.indptr[u]) + place if place < len(near) and near[place] == v else None

    def expand(self, nodes: Nodes) -> Frontier:
        """Return the edges around `nodes`; the only way a local algorithm reads the graph."""
        start = self.indptr[nodes]
        counts = self.indptr[nodes + 1] - start
        entries = expand_slices(start, counts)
        return Frontier(nodes, counts, self.neighbors[entries], self.similarity[entries],
                        self.edge_kinds[entries])

    def layer(self, edge_kinds: Iterable[str] | None = None,
              without: Iterable[str] | None = None) -> "Graph":
        """Return the same rows with only the edges of these kinds.

        An edge of several kinds stays when one of them is asked for and none is in `without`. Layers
        are cached.
        """
        key: LayerKey = (None if edge_kinds is None else frozenset(edge_kinds),
                         None if without is None else frozenset(without))
        if key not in self._layers:
            keep = np.ones(len(self.neighbors), np.bool_)
            if key[0] is not None:
                keep &= (self.edge_kinds & sum(kind_bit(kind) for kind in key[0])) > 0
            if key[1] is not None:
                keep &= (self.edge_kinds & sum(kind_bit(kind) for kind in key[1])) == 0
            before = np.zeros(len(keep) + 1, np.int64)  # entries kept before each
            np.cumsum(keep, out=before[1:])
            indptr, neighbors = before[self.indptr], self.neighbors[keep]
            self._layers[key] = replace(
                self, indptr=indptr, neighbors=neighbors, similarity=self.similarity[keep],
                edge_kinds=self.edge_kinds[keep], component=label_rows(indptr, neighbors)).prepare()
        return self._layers[key]

    def acquire(self) -> Scratch:
        """Return a workspace no other running query holds; give it back with `release`."""
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = Scratch(len(self.ids))
        workspace.token += 1 << 31
        return workspace

    def release(self, workspace: Scratch) -> None:
        """Keep a workspace for the next query."""
        self._workspaces.append(workspace)


def sum_at(index: Nodes | Rows, values: Floats, n: int) -> Floats:
    """Sum the values that share an index, shape (max(n, largest index + 1),)."""
    return np.bincount(index, values, minlength=n).astype(np.float64, copy=False)


def components(n: int, low: Nodes, high: Nodes) -> Rows:
    """Return the connected component of each of n nodes, from 0, given the ends of each edge."""
    ones = np.ones(len(low), np.int8)
    adjacency = csr_matrix((ones, (low, high)), shape=(n, n))  # type: ignore[no-untyped-call]
    return _label(adjacency, "weak")


def _label(adjacency: csr_matrix, connection: str) -> Rows:
    from scipy.sparse.csgraph import connected_components  # loads much that few need

    label: Rows = connected_components(adjacency, connection=connection)[1]
    return label


def label_rows(indptr: Nodes, neighbors: Rows) -> Rows:
    """Return the connected component of each node of a graph in compressed sparse rows."""
    n, ones = len(indptr) - 1, np.ones(len(neighbors), np.int8)
    adjacency = csr_matrix((ones, neighbors, indptr), shape=(n, n))  # type: ignore[no-untyped-call]
    return _label(adjacency, "strong")  # the same where each edge has both directions, and faster


@cache
def kind_names(bits: int) -> tuple[str, ...]:
    """Return the edge kinds in a value of `Graph.edge_kinds`."""
    return tuple(kind for i, kind in enumerate(EDGE_KINDS) if bits >> i & 1)


def _unit_rows(column: str, rows: VectorColumn | None, n: int) -> VectorColumn | None:
    if rows is None:
        return None
    if len(rows.shape) != 2 or len(rows) != n:
        raise ParameterError(f"{column} of shape {rows.shape} were given for {n} nodes")
    return rows if isinstance(rows, ByteRows) else np.ascontiguousarray(rows, np.float32)


def _check_edges(n: int, source: Nodes, target: Nodes, strength: Floats) -> None:
    if not len(source) == len(target) == len(strength):
        raise ParameterError(f"{len(source)} sources, {len(target)} targets and "
                             f"{len(strength)} similarities do not make a list of edges")
    ends = np.concatenate([source, target])
    if np.any((ends < 0) | (ends >= n)):
        raise ParameterError(f"an edge ends outside the {n} nodes")
    if not np.all((strength >= LEAST) & (strength <= 1 / LEAST)):
        raise ParameterError(f"every edge similarity must be positive, from {LEAST:g} to "
                             f"{1 / LEAST:g} so that floats can hold the product of three; "
                             f"these are {strength.min():g} to {strength.max():g}")


def _bits(edge_kinds: str | Sequence[str] | Bits, k: int) -> Bits:
    if isinstance(edge_kinds, str):
        return np.full(k, kind_bit(edge_kinds), np.uint8)
    if isinstance(edge_kinds, np.ndarray) and edge_kinds.dtype == np.uint8:
        bits: Bits = edge_kinds
    else:
        known = {str(kind): kind_bit(str(kind)) for kind in set(edge_kinds)}
        bits = np.array([known[str(kind)] for kind in edge_kinds], np.uint8)
    if len(bits) != k:
        raise ParameterError(f"{len(bits)} edge kinds were given for {k} edges")
    return bits


def merge_edges(n: int, source: Nodes, target: Nodes, strength: Floats,
                bits: Bits) -> tuple[Nodes, Nodes, Floats, Bits]:
    """Merge parallel edges, drop self-loops; return low end, high end, largest strength, kinds."""
    keep = source != target
    key = (np.minimum(source, target) * n + np.maximum(source, target))[keep]
    order = np.argsort(key, kind="stable")
    key, strength, bits = key[order], strength[keep][order], bits[keep][order]
    if not len(key):
        return key, key, strength, bits
    first = np.flatnonzero(np.diff(key, prepend=-1))
    key = key[first]
    return (key // n, key % n, np.maximum.reduceat(strength, first),
            np.bitwise_or.reduceat(bits, first))
