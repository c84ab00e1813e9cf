"""Algorithm 2 as printed: push one overfull node at a time, and record every push.

This is for teaching, for the movie and as an oracle. It converges, but may need hundreds of
thousands of pushes once a community is full, because each push moves its excess by one edge;
`qafd.flow.solver` finds the same x without them.
"""

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.sources import fit
from qafd.flow.weights import Gates
from qafd.graph import Graph
from qafd.records import Floats, Nodes

ORDERS = ("random", "fifo", "largest")


@dataclass(frozen=True, eq=False)
class Trace:
    """Every push of a run, in order, and the state it ended in.

    Parameters
    ----------
    node : ndarray of int32, shape (p,)
        Graph row pushed.
    amount : ndarray, shape (p,)
        Excess that left it, in units of mass; x rose by amount / w_v.
    objective : ndarray, shape (p,)
        F(x) after the push, Eq. (5).
    excess : ndarray, shape (p,)
        Sum of max(0, m_v - T_v) after the push: the quantity of line 4.
    rows, x, mass : ndarray, shape (t,)
        Touched nodes and their final state.
    source : float
        |Delta|_1.
    converged : bool
        True if the excess fell to epsilon.
    """

    node: Nodes = field(repr=False)
    amount: Floats = field(repr=False)
    objective: Floats = field(repr=False)
    excess: Floats = field(repr=False)
    rows: Nodes = field(repr=False)
    x: Floats = field(repr=False)
    mass: Floats = field(repr=False)
    source: float
    converged: bool


@dataclass(frozen=True)
class Pushing:
    """Rule for the overfull node that is pushed next, and for the end of pushing.

    Parameters
    ----------
    order : {"random", "fifo", "largest"}
        Any with equal chance (line 5), first in first out, or the one with most excess.
    epsilon : float
        Total excess at which pushing ends, in units of mass, above 0.
    most_pushes : int
        After which it ends in any case.
    seed : int
        Of the random order.
    """

    order: str = "random"
    epsilon: float = 1e-6
    most_pushes: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ParameterError(f"{self.order!r} is not a push order; choose {', '.join(ORDERS)}")
        if not self.epsilon > 0:
            raise ParameterError(f"epsilon must be positive, not {self.epsilon}")


RANDOM = Pushing()
RELEASED = Pushing(most_pushes=500)  # what the authors' code does: it stops, whatever is left


def push(graph: Graph, gates: Gates, source_rows: Nodes, source_mass: Floats,
         capacity: str = "unit", pushing: Pushing = RANDOM) -> Trace:
    """Run Algorithm 2 until the total excess is small enough.

    `RELEASED` gives the released behavior. Departs from the printed algorithm in two ways: the mass is
    capped so that it can be absorbed, and the excess of line 4 is kept as a running total.
    """
    sources = fit(graph, source_rows, source_mass, capacity)
    run = _Run(graph, gates, graph.capacity(capacity), pushing)
    return run.run(sources.rows, sources.mass)


def push_freely(graph: Graph, gates: Gates, rows: Nodes, mass: Floats, sink: Floats,
                pushing: Pushing) -> Trace:
    """Run Algorithm 2 with other capacities than the graph's, also for more mass than they hold.

    Parameters
    ----------
    sink : ndarray, shape (n,)
        Capacity of every row of the graph.
    """
    return _Run(graph, gates, sink, pushing).run(rows, mass)


class _Run:
    """The state of Algorithm 2: m, x and T of touched nodes, and the overfull ones in order."""

    def __init__(self, graph: Graph, gates: Gates, sink: Floats, pushing: Pushing) -> None:
        self.graph, self.gates, self.sink_of, self.pushing = graph, gates, sink, pushing
        self.order, self.rng = pushing.order, np.random.default_rng(pushing.seed)
        self.x: dict[int, float] = {}
        self.mass: dict[int, float] = {}
        self.sink: dict[int, float] = {}
        self.alignment: dict[int, float] = {}
        self.near: dict[int, tuple[list[int], list[float], float]] = {}
        self.waiting: list[int] = []
        self.line: deque[int] = deque()
        self.heap: list[tuple[float, int]] = []

    def run(self, rows: Nodes, delta: Floats) -> Trace:
        self._touch(rows)
        for row, amount in zip(rows.tolist(), delta.tolist(), strict=True):
            self._add(row, amount)
        excess = sum(max(0.0, self.mass[row] - self.sink[row]) for row in rows.tolist())
        objective = 0.0
        log: list[tuple[int, float, float, float]] = []
        while excess > self.pushing.epsilon and len(log) < self.pushing.most_pushes:
            v = self._take()
            if v is None:
                break
            amount = self.mass[v] - self.sink[v]
            ends, weights, total = self._neighbors(v)
            self.x[v] += amount / total
            self.mass[v] = self.sink[v]
            excess -= amount
            for u, w in zip(ends, weights, strict=True):
                before = max(0.0, self.mass[u] - self.sink[u])
                self._add(u, amount * w / total)
                excess += max(0.0, self.mass[u] - self.sink[u]) - before
            objective -= 0.5 * amount * amount / total
            log.append((v, amount, objective, max(excess, 0.0)))
        node, pushed, f, left = (zip(*log, strict=True) if log else ((), (), (), ()))
        touched = list(self.mass)
        return Trace(np.array(node, np.int64), np.array(pushed, np.float64),
                     np.array(f, np.float64), np.array(left, np.float64),
                     np.array(touched, np.int64), np.array([self.x[v] for v in touched]),
                     np.array([self.mass[v] for v in touched]), float(delta.sum()),
                     excess <= self.pushing.epsilon)

    def _touch(self, rows: Nodes) -> None:
        for row, s, sink in zip(rows.tolist(), self.gates.align(self.graph, rows).tolist(),
                                self.sink_of[rows].tolist(), strict=True):
            self.x[row] = self.mass[row] = 0.0
            self.alignment[row], self.sink[row] = s, sink

    def _neighbors(self, v: int) -> tuple[list[int], list[float], float]:
        """Return neighbors of v, their weights and the sum, read when v is first pushed."""
        if v not in self.near:
            frontier = self.graph.expand(np.array([v]))
            ends = frontier.neighbors.astype(np.int64)
            self._touch(np.array([u for u in ends.tolist() if u not in self.mass], np.int64))
            s = np.array([self.alignment[u] for u in ends.tolist()])
            weights = self.gates.weights(frontier.similarity, np.full(len(s), self.alignment[v]), s)
            self.near[v] = ends.tolist(), weights.tolist(), float(weights.sum())
        return self.near[v]

    def _add(self, u: int, amount: float) -> None:
        """Add mass to u, and queue u if it is now overfull."""
        was_over = self.mass[u] > self.sink[u]
        self.mass[u] += amount
        over = self.mass[u] - self.sink[u]
        if over <= 0:
            return
        if self.order == "largest":
            heapq.heappush(self.heap, (-over, u))
        elif not was_over:
            if self.order == "fifo":
                self.line.append(u)
            else:
                self.waiting.append(u)

    def _take(self) -> int | None:
        """Take the next overfull node out of line; None when rounding has left none."""
        if self.order == "fifo":
            return self.line.popleft() if self.line else None
        if self.order == "largest":
            while self.heap:
                over, u = heapq.heappop(self.heap)
                if -over == self.mass[u] - self.sink[u] and over < 0:
                    return u
            return None
        if not self.waiting:
            return None
        i = int(self.rng.integers(len(self.waiting)))
        v, last = self.waiting[i], self.waiting.pop()
        if last != v:
            self.waiting[i] = last
        return v
