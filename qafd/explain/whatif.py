"""Solve again without an edge, node, seed or document, or with another weight.

Seeds keep their mass; the mass of a removed seed is not poured. Vectors and the rarity of words
stay the same: this covers up a part of the library and makes no new index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.edges import edge_place, gate_of
from qafd.graph import EDGE_KINDS, Graph, kind_bit
from qafd.reasons import ReasonKind, reason
from qafd.records import Nodes
from qafd.retrieve.base import RankedPassage, Retrieval, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.retrieve.seeds import Seeds

PASSAGES = 10  # of the ranking that are compared

Pair = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """A change of a problem; nodes are rows of the graph, edges pairs of rows in either order.

    Parameters
    ----------
    nodes, edges, seeds : frozenset
        Removed ones; a removed seed stays a node.
    similarities : tuple of ((u, v), similarity)
        Edges that are added, or get another query-independent factor H(u, v) > 0.
    scales : tuple of ((u, v), factor)
        Edges whose weight for this question is multiplied.
    poured : tuple of (row, mass)
        Mass poured in addition, which makes the node a seed.
    """

    nodes: frozenset[int] = frozenset()
    edges: frozenset[Pair] = frozenset()
    seeds: frozenset[int] = frozenset()
    similarities: tuple[tuple[Pair, float], ...] = ()
    scales: tuple[tuple[Pair, float], ...] = ()
    poured: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Effect:
    """Two retrievals with the second one's losses and gains, most important first."""

    before: Retrieval
    after: Retrieval
    lost: tuple[RetrievedNode, ...]
    gained: tuple[RetrievedNode, ...]
    lost_passages: tuple[RankedPassage, ...]
    gained_passages: tuple[RankedPassage, ...]

    @classmethod
    def of(cls, before: Retrieval, after: Retrieval, passages: int = PASSAGES) -> "Effect":
        """Compare nodes retrieved by one alone, and passages among the first `passages` of one alone."""
        return cls(before, after, _nodes_beyond(before, after), _nodes_beyond(after, before),
                   _passages_beyond(before, after, passages),
                   _passages_beyond(after, before, passages))


def _nodes_beyond(one: Retrieval, other: Retrieval) -> tuple[RetrievedNode, ...]:
    present = {node.id for node in other.retrieved}
    return tuple(n for n in one.retrieved if n.id not in present)


def _passages_beyond(one: Retrieval, other: Retrieval, most: int) -> tuple[RankedPassage, ...]:
    present = {passage.id for passage in other.ranking[:most]}
    return tuple(passage for passage in one.ranking[:most] if passage.id not in present)


def apply_change(problem: Problem, change: Change) -> Problem:
    """Apply a change to a problem.

    Raises
    ------
    ParameterError
        When a removed or scaled edge is not in the layer the mass runs over,
        or its weight cannot be made that small, or a similarity is not positive.
    """
    similarity = {_pair(*ends): value for ends, value in change.similarities}
    for (u, v), value in similarity.items():
        if u == v or not 0 < value < np.inf:
            raise ParameterError("an edge joins two different nodes, and its similarity is a "
                                 f"positive number, not {value:g}")
    for (u, v), factor in change.scales:
        similarity[_pair(u, v)] = _scaled_similarity(problem, u, v, factor)
    layer = problem.layer
    for u, v in change.edges:
        edge_place(layer, u, v)
    if change.nodes or change.edges or any(layer.entry(*ends) is None for ends in similarity):
        layer = _rebuild(layer, change, similarity)
    elif similarity:
        layer = reweight(layer, similarity)
    seeds, mass = _pour(problem, change)
    return replace(problem, layer=layer, seeds=seeds, gone=problem.gone | change.nodes, mass=mass)


def _pour(problem: Problem, change: Change) -> tuple[Seeds, np.ndarray]:
    """Return seeds and their mass, without removed ones and with added mass."""
    rows = problem.seeds.rows
    covered = np.isin(rows, sorted(change.seeds | change.nodes))
    mass = np.where(covered, 0.0, problem.mass)
    fresh: dict[int, float] = {}
    for row, amount in change.poured:
        if row in rows:
            mass = mass + np.where(rows == row, amount, 0.0)
        else:
            fresh[row] = amount
    keep = ~covered
    remaining = np.flatnonzero(keep).tolist()
    seeds = replace(
        problem.seeds, rows=np.concatenate([rows[keep], np.array(list(fresh), np.int64)]),
        shares=np.concatenate([problem.seeds.shares[keep], np.zeros(len(fresh))]),
        reasons=(*(problem.seeds.reasons[i] for i in remaining), *(reason(ReasonKind.CHOSEN) for _ in fresh)))
    return seeds, np.concatenate([mass[keep], np.array(list(fresh.values()))])


def reweight(graph: Graph, similarity: Mapping[Pair, float]) -> Graph:
    """Return the graph with other factors H(u, v) on edges it has."""
    values = graph.similarity.copy()
    for (u, v), value in similarity.items():
        values[edge_place(graph, u, v)] = values[edge_place(graph, v, u)] = value
    return replace(graph, similarity=values)


def without_edges(graph: Graph, pairs: Iterable[Pair]) -> Graph:
    """Return the graph without the edges between some pairs of rows, in either order."""
    return _rebuild(graph, Change(edges=frozenset(pairs)), {})


def _pair(u: int, v: int) -> Pair:
    return (min(u, v), max(u, v))


def _scaled_similarity(problem: Problem, u: int, v: int, factor: float) -> float:
    """Return the H(u, v) at which the weight is `factor` times the present one, from Eq. (1)."""
    weights, gate = problem.gates.weights, gate_of(problem, u, v)
    if not factor > 0:
        raise ParameterError("a weight must stay positive, so it cannot be multiplied by "
                             f"{factor}")
    if weights.outer == "times":
        return factor * gate.structure
    aligned = gate.weight - weights.c * gate.structure
    wanted = (factor * gate.weight - aligned) / weights.c
    if not wanted > 0:
        raise ParameterError(f"this weight is a sum, and {aligned / gate.weight:.3g} of it "
                             "comes from the two similarities with the question; it can be "
                             f"multiplied by more than that, not by {factor:g}")
    return wanted


def _rebuild(graph: Graph, change: Change, similarity: Mapping[Pair, float]) -> Graph:
    """Rebuild the graph with fewer or more edges; rows stay, so removed nodes are isolated."""
    start = graph.starts
    once = start < graph.neighbors
    low, high = start[once], graph.neighbors[once].astype(np.int64)
    strength, bits = graph.similarity[once].copy(), graph.edge_kinds[once]
    key = low * len(graph) + high
    taken = []
    for ends in change.edges:
        u, v = _pair(*ends)
        taken.append(u * len(graph) + v)
    nodes: Nodes = np.array(sorted(change.nodes), np.int64)
    keep = ~(np.isin(key, taken) | np.isin(low, nodes) | np.isin(high, nodes))
    fresh = []
    for (u, v), value in similarity.items():
        at = np.flatnonzero(key == u * len(graph) + v)
        strength[at] = value
        if not len(at):
            fresh.append((u, v, value))
    new = np.array(fresh).reshape(-1, 3)
    return Graph.build(
        graph.ids, graph.names, graph.kinds,
        np.concatenate([low[keep], new[:, 0].astype(np.int64)]),
        np.concatenate([high[keep], new[:, 1].astype(np.int64)]),
        np.concatenate([strength[keep], new[:, 2]]),
        np.concatenate([bits[keep], np.full(len(new), kind_bit(EDGE_KINDS[1]), np.uint8)]),
        vectors=graph.vectors, name_vectors=graph.name_vectors, tokens=graph.tokens,
        revision=graph.revision)
