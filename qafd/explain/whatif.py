"""What if an edge, node, seed or document were not there, or a weight another: solved anew.

Seeds keep their mass; what was poured on something that is taken out is not poured. Vectors,
and how rare words are, stay as they were: this is the same library with a part of it covered
up, not an index made without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import EDGE_KINDS, Graph, kind_bit
from qafd.records import Nodes
from qafd.retrieve.base import SATURATED, RankedPassage, Retrieval, RetrievedNode
from qafd.retrieve.qafd import Problem

PASSAGES = 10  # of the ranking that are compared

Pair = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """What is different; rows of the graph, edges as pairs of rows in either order.

    Parameters
    ----------
    nodes, edges, seeds : frozenset
        What is taken out; a seed that is taken out stays a node.
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
    """Two retrievals side by side: what the second lost and gained; most important first."""

    before: Retrieval
    after: Retrieval
    lost: tuple[RetrievedNode, ...]
    gained: tuple[RetrievedNode, ...]
    lost_passages: tuple[RankedPassage, ...]
    gained_passages: tuple[RankedPassage, ...]

    @classmethod
    def of(cls, before: Retrieval, after: Retrieval, passages: int = PASSAGES) -> "Effect":
        """Nodes retrieved by one alone, and passages among the first `passages` of one alone."""
        full = [{n.id for n in r.nodes if n.state == SATURATED} for r in (before, after)]
        first = [{p.id for p in r.ranking[:passages]} for r in (before, after)]
        return cls(
            before, after,
            tuple(n for n in before.nodes if n.id in full[0] - full[1]),
            tuple(n for n in after.nodes if n.id in full[1] - full[0]),
            tuple(p for p in before.ranking[:passages] if p.id not in first[1]),
            tuple(p for p in after.ranking[:passages] if p.id not in first[0]))


def changed(problem: Problem, change: Change) -> Problem:
    """The problem with a change made to it.

    Raises
    ------
    ParameterError
        When an edge that is to be taken out or scaled is not in the layer the mass runs over,
        or its weight cannot be made that small, or a similarity is not positive.
    """
    similarity = {_pair(*ends): value for ends, value in change.similarities}
    for (u, v), value in similarity.items():
        if u == v or not 0 < value < np.inf:
            raise ParameterError("an edge joins two different nodes, and its similarity is a "
                                 f"positive number, not {value:g}")
    for (u, v), factor in change.scales:
        similarity[_pair(u, v)] = _scaled(problem, u, v, factor)
    layer = problem.layer
    for u, v in change.edges:
        _place(layer, u, v)
    if change.nodes or change.edges or any(layer.entry(*e) is None for e in similarity):
        layer = _rebuilt(layer, change, similarity)
    elif similarity:
        layer = reweighted(layer, similarity)
    rows = problem.seeds.rows
    covered = np.isin(rows, sorted(change.seeds | change.nodes))
    mass = np.where(covered, 0.0, problem.mass)
    seeds = problem.seeds
    fresh = [(row, amount) for row, amount in change.poured if row not in rows.tolist()]
    for row, amount in change.poured:
        mass = mass + np.where(rows == row, amount, 0.0)
    keep = ~covered
    seeds = replace(
        seeds, rows=np.concatenate([rows[keep], np.array([r for r, _ in fresh], np.int64)]),
        shares=np.concatenate([seeds.shares[keep], np.zeros(len(fresh))]),
        reasons=(*(r for r, k in zip(seeds.reasons, keep.tolist(), strict=True) if k),
                 *("it was made one" for _ in fresh)),
        causes=(*(c for c, k in zip(seeds.causes, keep.tolist(), strict=True) if k),
                *("is a seed by choice" for _ in fresh)))
    return replace(problem, layer=layer, seeds=seeds, gone=problem.gone | change.nodes,
                   mass=np.concatenate([mass[keep], np.array([m for _, m in fresh])]))


def reweighted(graph: Graph, similarity: Mapping[Pair, float]) -> Graph:
    """The graph with other factors H(u, v) on edges it has."""
    values = graph.similarity.copy()
    for (u, v), value in similarity.items():
        values[_place(graph, u, v)] = values[_place(graph, v, u)] = value
    return replace(graph, similarity=values)


def _pair(u: int, v: int) -> Pair:
    return (min(u, v), max(u, v))


def _place(graph: Graph, u: int, v: int) -> int:
    """Where the edge from u to v stands in the arrays of the graph."""
    place = graph.entry(u, v)
    if place is None:
        raise ParameterError(f"there is no edge between {graph.names[u]!r} and "
                             f"{graph.names[v]!r} that mass could run over")
    return place


def _scaled(problem: Problem, u: int, v: int, factor: float) -> float:
    """The H(u, v) at which the weight is `factor` times what it is, from Eq. (1)."""
    layer, weights = problem.layer, problem.gates.weights
    now = float(layer.similarity[_place(layer, u, v)])
    if not factor > 0:
        raise ParameterError(f"a weight must stay positive, so it cannot be multiplied by {factor}")
    s = problem.gates.align(layer, np.array([u, v]))
    if weights.outer == "times":
        return factor * now
    weight = weights.factors(now, float(s[0]), float(s[1]))["weight"]
    gate = weight - weights.c * now
    wanted = (factor * weight - gate) / weights.c
    if not wanted > 0:
        raise ParameterError(
            f"this weight is a sum, and {gate / weight:.3g} of it comes from the two similarities "
            f"with the question; it can be multiplied by more than that, not by {factor:g}")
    return wanted


def _rebuilt(graph: Graph, change: Change, similarity: Mapping[Pair, float]) -> Graph:
    """The graph with fewer or more edges; rows stay, so nodes that are taken out stand alone."""
    start = graph.starts
    once = start < graph.neighbors
    low, high = start[once], graph.neighbors[once].astype(np.int64)
    strength, bits = graph.similarity[once].copy(), graph.edge_kinds[once]
    key = low * len(graph) + high
    out = np.isin(key, [u * len(graph) + v for u, v in (_pair(*e) for e in change.edges)])
    nodes: Nodes = np.array(sorted(change.nodes), np.int64)
    out |= np.isin(low, nodes) | np.isin(high, nodes)
    fresh = []
    for (u, v), value in similarity.items():
        at = np.flatnonzero(key == u * len(graph) + v)
        strength[at] = value
        if not len(at):
            fresh.append((u, v, value))
    keep = ~out
    added = np.array(fresh).reshape(-1, 3)
    return Graph.build(
        graph.ids, graph.names, graph.kinds,
        np.concatenate([low[keep], added[:, 0].astype(np.int64)]),
        np.concatenate([high[keep], added[:, 1].astype(np.int64)]),
        np.concatenate([strength[keep], added[:, 2]]),
        np.concatenate([bits[keep], np.full(len(added), kind_bit(EDGE_KINDS[1]), np.uint8)]),
        graph.vectors, graph.name_vectors, graph.tokens, graph.revision)


def factors(problem: Problem, u: int, v: int) -> dict[str, float]:
    """The three similarities behind the weight of an edge, and the weight (`Weights.factors`)."""
    s = problem.gates.align(problem.layer, np.array([u, v]))
    structure = float(problem.layer.similarity[_place(problem.layer, u, v)])
    return problem.gates.weights.factors(structure, float(s[0]), float(s[1]))
