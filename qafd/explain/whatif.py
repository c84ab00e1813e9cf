"""Solve again without an edge, node, seed or document, or with another weight.

Seeds keep their mass; the mass of a removed seed is not poured. Vectors and the rarity of words
stay the same: this covers up a part of the library and makes no new index.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.edges import edge_place, gate_of
from qafd.graph import Graph
from qafd.reasons import ReasonKind, reason
from qafd.retrieve.base import RankedPassage, Retrieval, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.retrieve.seeds import Seeds

PASSAGES = 10  # of the ranking that are compared

Pair = tuple[int, int]
Found = TypeVar("Found", RetrievedNode, RankedPassage)


@dataclass(frozen=True)
class Change:
    """A change of a problem; nodes are rows of the graph, edges pairs of rows in either order.

    Parameters
    ----------
    nodes, edges, seeds : frozenset
        Removed ones; a removed seed stays a node.
    scales : tuple of ((u, v), factor)
        Edges whose weight for this question is multiplied.
    poured : tuple of (row, mass)
        Mass poured in addition, which makes the node a seed.
    """

    nodes: frozenset[int] = frozenset()
    edges: frozenset[Pair] = frozenset()
    seeds: frozenset[int] = frozenset()
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
    def of(cls, before: Retrieval, after: Retrieval) -> "Effect":
        """Compare nodes retrieved by one alone, and passages among the first `PASSAGES` of one alone."""
        nodes = before.retrieved, after.retrieved
        passages = before.ranking[:PASSAGES], after.ranking[:PASSAGES]
        return cls(before, after, _beyond(*nodes), _beyond(*nodes[::-1]),
                   _beyond(*passages), _beyond(*passages[::-1]))


def _beyond(found: Sequence[Found], others: Sequence[Found]) -> tuple[Found, ...]:
    present = {other.id for other in others}
    return tuple(one for one in found if one.id not in present)


def apply_change(problem: Problem, change: Change) -> Problem:
    """Apply a change to a problem.

    Raises
    ------
    ParameterError
        When a removed or scaled edge is not in the layer the mass runs over,
        or its weight cannot be made that small.
    """
    layer = problem.layer
    if change.scales:
        values = layer.similarity.copy()
        for (u, v), factor in change.scales:
            value = _scaled_similarity(problem, u, v, factor)
            values[edge_place(layer, u, v)] = values[edge_place(layer, v, u)] = value
        layer = replace(layer, similarity=values)
    for u, v in change.edges:
        edge_place(layer, u, v)
    if change.nodes or change.edges:
        layer = without_edges(layer, change.edges, change.nodes)
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


def without_edges(graph: Graph, pairs: Iterable[Pair], nodes: Iterable[int] = ()) -> Graph:
    """Return the graph without the edges between some pairs of rows, in either order, and at some nodes.

    Rows stay, so removed nodes are isolated.
    """
    low, high, size = graph.starts, graph.neighbors.astype(np.int64), len(graph)
    taken = [min(pair) * size + max(pair) for pair in pairs]
    gone = np.isin(np.arange(size), sorted(nodes))
    keep = (low < high) & ~(np.isin(low * size + high, taken) | gone[low] | gone[high])
    return Graph.build(
        graph.ids, graph.names, graph.kinds, low[keep], high[keep], graph.similarity[keep],
        graph.edge_kinds[keep], vectors=graph.vectors, name_vectors=graph.name_vectors,
        tokens=graph.tokens, revision=graph.revision)
