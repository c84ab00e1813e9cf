"""All ways in which the nodes of a query graph stand for nodes of a graph, exactly."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from qafd.records import Nodes, QueryCondition

Around = Callable[[int], Nodes]
"""The rows related to a row, ascending."""


def match_exactly(size: int, conditions: Sequence[QueryCondition], known: Mapping[int, int],
                  around: Around, everything: Nodes, apart: Around | None = None
                  ) -> Iterator[tuple[int, ...]]:
    """Every assignment of different rows to the nodes of a query graph that meets all conditions.

    A backtracking join: next comes the node with the most conditions on what has a row already,
    and its candidates are the intersection of those rows' neighbors, smallest first. It needs no
    index and misses nothing; the dominance filter of SG-RAG would only look at fewer candidates.

    Parameters
    ----------
    size : int
        Nodes of the query graph.
    known : mapping of int to int
        The rows of the nodes that are known.
    around : callable
        See `Around`; what it says of two rows must not depend on their order.
    everything : ndarray of int
        Rows that a node may stand for to which no condition leads, ascending.

    apart : callable, optional
        What is so surely related to a row that it breaks a negated condition; by default `around`.

    Yields
    ------
    rows : tuple of int, length size
    """
    if len(set(known.values())) < len(known):
        return
    wanted: list[set[int]] = [set() for _ in range(size)]
    refused: list[set[int]] = [set() for _ in range(size)]
    for condition in conditions:
        sides = refused if condition.negated else wanted
        sides[condition.source].add(condition.target)
        sides[condition.target].add(condition.source)
    rows: dict[int, int] = {}
    refusing = apart or around

    def candidates(node: int) -> Nodes:
        near = sorted((around(rows[other]) for other in wanted[node] if other in rows), key=len)
        found = reduce(share, near) if near else everything
        for other in refused[node]:
            if other in rows:
                found = np.setdiff1d(found, refusing(rows[other]), assume_unique=True)
        if node in known:
            found = found[found == known[node]] if near else np.array([known[node]])
        return found

    def extend() -> Iterator[tuple[int, ...]]:
        if len(rows) == size:
            yield tuple(rows[node] for node in range(size))
            return
        left = [node for node in range(size) if node not in rows]
        node = min(left, key=lambda one: (
            one not in known, -sum(other in rows for other in wanted[one]), one))
        for row in candidates(node).tolist():
            if row in rows.values() or node not in known and row in known.values():
                continue
            rows[node] = row
            yield from extend()
            del rows[node]

    yield from extend()


def share(one: Nodes, other: Nodes) -> Nodes:
    """What two ascending arrays have in common, in O(short log long)."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if not len(short):
        return short
    places = np.minimum(np.searchsorted(long, short), len(long) - 1)
    both: Nodes = short[long[places] == short]
    return both
