"""Solve again without an edge, node, seed or document, or with another seed.

Seeds keep their mass; the mass of a removed seed is not poured. Vectors and the rarity of words
stay the same: this covers up a part of the library and makes no new index.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from qafd.explain.edges import edge_place
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
    poured : tuple of (row, mass)
        Mass poured in addition, which makes the node a seed.
    """

    nodes: frozenset[int] = frozenset()
    edges: frozenset[Pair] = frozenset()
    seeds: frozenset[int] = frozenset()
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
        """Compare two retrievals: nodes, and passages among the first `PASSAGES`, that only one has."""
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
        When a removed edge is not in the layer the mass runs over.
    """
    layer = problem.layer
    for u, v in change.edges:
        edge_place(layer, u, v)
    if change.nodes or change.edges:
        layer = without_edges(layer, change.edges, change.nodes)
    seeds, mass = _pour(problem, change)
    return replace(problem, layer=layer, seeds=seeds, gone=problem.gone | change.nodes, mass=mass)


def _pour(problem: Problem, change: Change) -> tuple[Seeds, np.ndarray]:
    """Return seeds and their mass, without removed ones and with added mass."""
    rows = problem.seeds.rows
    covered = np.isin(rows, list(change.seeds | change.nodes))
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


def without_edges(graph: Graph, pairs: Iterable[Pair], nodes: Iterable[int] = ()) -> Graph:
    """Return the graph without the edges of some pairs of rows, in either order, and without those
    of some nodes.

    Rows stay, so removed nodes are isolated.
    """
    low, high, size = graph.starts, graph.neighbors.astype(np.int64), len(graph)
    taken = [min(pair) * size + max(pair) for pair in pairs]
    gone = np.isin(np.arange(size), list(nodes))
    keep = (low < high) & ~(np.isin(low * size + high, taken) | gone[low] | gone[high])
    return Graph.build(graph.ids, low[keep], high[keep], graph.similarity[keep], graph.edge_kinds[keep],
                       names=graph.names, kinds=graph.kinds, vectors=graph.vectors,
                       name_vectors=graph.name_vectors, tokens=graph.tokens, revision=graph.revision)
