"""All exact assignments of graph nodes to the nodes of a query graph."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from qafd.records import Nodes, QueryCondition

Around = Callable[[int], Nodes]
"""The rows related to a row, ascending."""


def match_exactly(size: int, conditions: Sequence[QueryCondition], known: Mapping[int, int],
                  around: Around, everything: Nodes, apart: Around | None = None
                  ) -> Iterator[tuple[int, ...]]:
    """Yield every assignment of different rows to the nodes of a query graph that meets all conditions.

    A backtracking join: next comes the node with the most conditions on nodes with a row,
    and its candidates are the intersection of those rows' neighbors, smallest first. It needs no
    index and misses nothing; the dominance filter of SG-RAG would only look at fewer candidates.

    Parameters
    ----------
    size : int
        Nodes of the query graph.
    known : mapping of int to int
        The rows of the nodes that are known.
    around : callable
        See `Around`; its result must be symmetric in the two rows.
    everything : ndarray of int
        Candidate rows of nodes that no condition reaches, ascending.

    apart : callable, optional
        The rows so surely related to a row that they break a negated condition; by default `around`.

    Yields
    ------
    rows : tuple of int, length size
    """
    if len(set(known.values())) == len(known):
        yield from _Join(size, conditions, known, around, everything, apart or around).extend({})


class _Join:
    """The conditions of a query graph by node, and the rows that each node may still have."""

    def __init__(self, size: int, conditions: Sequence[QueryCondition], known: Mapping[int, int],
                 around: Around, everything: Nodes, apart: Around) -> None:
        self._size, self._known, self._everything = size, known, everything
        self._around, self._apart = around, apart
        self._taken = set(known.values())
        self._wanted: list[set[int]] = [set() for _ in range(size)]
        self._refused: list[set[int]] = [set() for _ in range(size)]
        for condition in conditions:
            sides = self._refused if condition.negated else self._wanted
            sides[condition.source].add(condition.target)
            sides[condition.target].add(condition.source)

    def extend(self, rows: dict[int, int]) -> Iterator[tuple[int, ...]]:
        """Yield every assignment that has these rows."""
        if len(rows) == self._size:
            yield tuple(rows[node] for node in range(self._size))
            return
        node = self._next(rows)
        for row in self._candidates(node, rows).tolist():
            if row not in rows.values() and (node in self._known or row not in self._taken):
                yield from self.extend({**rows, node: row})

    def _next(self, rows: Mapping[int, int]) -> int:
        """Return the node to go on with: a known one, else the one with the most conditions on rows."""
        left = [node for node in range(self._size) if node not in rows]
        return min(left, key=lambda node: (
            node not in self._known, -sum(other in rows for other in self._wanted[node]), node))

    def _candidates(self, node: int, rows: Mapping[int, int]) -> Nodes:
        """Return the rows that meet all conditions of a node on nodes with a row, ascending."""
        near = sorted((self._around(rows[other]) for other in self._wanted[node] if other in rows), key=len)
        if node in self._known:
            only = np.array([self._known[node]], np.int64)
            found = reduce(share, near, only)
        else:
            found = reduce(share, near) if near else self._everything
        for other in self._refused[node]:
            if other in rows:
                found = np.setdiff1d(found, self._apart(rows[other]), assume_unique=True)
        return found


def share(one: Nodes, other: Nodes) -> Nodes:
    """Intersect two ascending arrays in O(short log long)."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if not len(short):
        return short
    places = np.minimum(np.searchsorted(long, short), len(long) - 1)
    both: Nodes = short[long[places] == short]
    return both
