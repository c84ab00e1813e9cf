"""The exact source scale at which each node enters the support.

Let Delta = base + alpha d with d >= 0. As alpha grows, x is nondecreasing and piecewise linear and
the support only gains nodes, so one walk over the breakpoints finds them all. On a piece with
support S, dx_S/dalpha = L_SS^-1 d_S = G d_S, the mass of a node outside grows at the rate of its
inflow, and the next node to enter is the first whose mass reaches T. G then grows by one row
(bordering). G is a matrix of positive numbers, and its update adds positive numbers only: the pivot
is summed from leaks, as in `qafd.flow.elimination`.
"""

from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.solver import solve
from qafd.flow.sources import FILL
from qafd.flow.weights import Gates
from qafd.graph import Graph, sum_at
from qafd.records import Floats, Nodes


@dataclass(frozen=True, eq=False)
class Path:
    """The alpha at which every node enters.

    Parameters
    ----------
    rows : ndarray of int, shape (k,)
        Graph rows, in the order of entering.
    alphas : ndarray, shape (k,)
        Where each enters, ascending; 0 for the support of the base.
    up_to : float
        The path is known between 0 and here.
    next_row, next_alpha : int or None, float or None
        The node that enters next beyond `up_to`, when there is one.
    """

    rows: Nodes
    alphas: Floats
    up_to: float
    next_row: int | None
    next_alpha: float | None


def entry_alphas(graph: Graph, gates: Gates, source_rows: Nodes, direction: Floats,
                 capacity: str = "unit", up_to: float = 1.0) -> Path:
    """Return the path of solutions for Delta = alpha direction, alpha from 0 to `up_to`.

    Parameters
    ----------
    source_rows : ndarray of int, shape (s,)
        Distinct seeds.
    direction : ndarray, shape (s,)
        Mass per unit of alpha, at least 0.
    up_to : float
        Largest alpha of interest.

    Returns
    -------
    Path
        Nodes that enter together get equal alphas. Costs one solve at `up_to` and O(k^2) per
        entering node.
    """
    limit = _full_at(graph, source_rows, direction, capacity, up_to)
    local = local_problem(graph, gates, source_rows, direction, None, capacity, up_to)
    walk = _Walk(local)
    entered: list[float] = []
    while True:
        wait, i = walk.next()
        if i is None or walk.alpha + wait > up_to:
            break
        walk.advance(wait)
        walk.enter(i)
        entered.append(walk.alpha)
    walk.advance(up_to - walk.alpha)
    row, wait = walk.next_outside(graph, limit, up_to)
    return Path(walk.rows[walk.order], np.array(entered), up_to, row,
                None if row is None else up_to + wait)


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """Problem (5) on the nodes that mass can fill up to some alpha, and the neighbors to show.

    It is all that a path of solutions needs, so that another program can walk it.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        Graph rows. The first `size` are the support at the end of the path.
    sink, drive, end : ndarray, shape (n,)
        Sink capacity; source mass per unit of alpha; the alpha at which that source stops.
    leak : ndarray, shape (size,)
        Weight of the edges of each node of the support to nodes that are not listed.
    u, v, weight : ndarray, shape (m,)
        Edges with an end in the support, each once, by place in `rows`.
    """

    rows: Nodes
    size: int
    sink: Floats
    drive: Floats
    end: Floats
    leak: Floats
    u: Nodes
    v: Nodes
    weight: Floats


def local_problem(graph: Graph, gates: Gates, source_rows: Nodes, direction: Floats,
                  shown: Nodes | None = None, capacity: str = "unit", up_to: float = 1.0) -> LocalProblem:
    """Return the problem of a path: the support at its end, and neighbors of it.

    Parameters
    ----------
    shown : ndarray of int, optional
        Graph rows of the neighbors to list, by default all; seeds are listed anyway.
    """
    seeds = np.asarray(source_rows, np.int64)
    direction = np.asarray(direction, np.float64)
    limit = _full_at(graph, seeds, direction, capacity, up_to)
    ends = np.array([min(limit[part], up_to) for part in graph.component[seeds].tolist()])
    last = solve(graph, gates, seeds, ends * direction, capacity)
    full = last.x > 0
    beyond = ~full
    if shown is not None:
        beyond &= np.isin(last.rows, np.concatenate([shown, seeds]))
    order = np.concatenate([np.flatnonzero(full), np.flatnonzero(beyond)])
    alone = np.setdiff1d(seeds, last.rows)
    size, rows = int(full.sum()), np.concatenate([last.rows[order], alone])
    place = np.full(len(last.rows), -1)
    place[order] = np.arange(len(order))
    u, v = place[last.u], place[last.v]
    listed = (u >= 0) & (v >= 0)
    inner = np.where(full[last.u], u, v)[~listed]
    drive, end = np.zeros(len(rows)), np.full(len(rows), np.inf)
    where = {row: i for i, row in enumerate(rows.tolist())}
    for row, rate, stop in zip(seeds.tolist(), direction.tolist(), ends.tolist(), strict=True):
        if graph.degree_of(np.array([row]))[0]:
            drive[where[row]], end[where[row]] = rate, stop
    return LocalProblem(rows, size, graph.capacity(capacity)[rows], drive, np.minimum(end, up_to),
                        sum_at(inner, last.weight[~listed], size),
                        u[listed], v[listed], last.weight[listed])


def _full_at(graph: Graph, rows: Nodes, direction: Floats, capacity: str, up_to: float,
             ) -> dict[int, float]:
    """Return the alpha at which each component with seeds is full, by its number."""
    if not 0 < up_to < np.inf:
        raise ParameterError(f"the path needs 0 < up_to < infinity, not {up_to}")
    rows, direction = np.asarray(rows, np.int64), np.asarray(direction, np.float64)
    limit = {}
    for part in np.unique(graph.component[rows]).tolist():
        inside = graph.component[rows] == part
        room = FILL * float(graph.component_capacity(capacity)[part])
        rate = float(direction[inside].sum())
        limit[part] = room / rate if rate > 0 else np.inf
    return limit


class _Walk:
    """The support at the end of the path as dense matrices, and the walk's present state."""

    def __init__(self, local: LocalProblem) -> None:
        k = local.size
        inside = (local.u < k) & (local.v < k)
        u, v, w = local.u[inside], local.v[inside], local.weight[inside]
        self.weight = np.zeros((k, k))
        self.weight[u, v] = self.weight[v, u] = w
        self.local, self.rows, self.sink = local, local.rows[:k], local.sink[:k]
        self.inner = np.minimum(local.u, local.v)[~inside]
        self.outer = np.maximum(local.u, local.v)[~inside]
        self.leaving = local.weight[~inside]
        self.leak = local.leak + sum_at(self.inner, self.leaving, k)
        self.drive, self.mass = local.drive[:k], np.zeros(k)
        self.x, self.slope, self.rate = np.zeros(k), np.zeros(k), self.drive.copy()
        self.entered = np.zeros(k, np.bool_)
        self.order: list[int] = []
        self.inverse = np.empty((k, k))
        self.alpha = 0.0

    def next(self) -> tuple[float, int | None]:
        """Return alpha until the next node enters, and that node; None when none will."""
        waiting = np.flatnonzero(~self.entered & (self.rate > 0))
        if not len(waiting):
            return np.inf, None
        wait = np.maximum(self.sink - self.mass, 0.0)[waiting] / self.rate[waiting]
        best = int(np.argmin(wait))
        return float(wait[best]), int(waiting[best])

    def next_outside(self, graph: Graph, limit: dict[int, float], up_to: float,
                     ) -> tuple[int | None, float]:
        """Return the node that would enter beyond the end of the path, and after how much alpha."""
        local, n = self.local, len(self.local.rows)
        rate = local.drive + sum_at(self.outer, self.leaving * self.slope[self.inner], n)
        mass = local.drive * local.end + sum_at(self.outer, self.leaving * self.x[self.inner], n)
        part = graph.component[local.rows].tolist()
        rate[[up_to >= limit[c] for c in part]] = 0.0
        rate[:local.size] = 0.0
        waiting = np.flatnonzero(rate > 0)
        if not len(waiting):
            return None, np.inf
        wait = np.maximum(local.sink - mass, 0.0)[waiting] / rate[waiting]
        for best in np.argsort(wait, kind="stable").tolist():
            if up_to + wait[best] <= limit[part[waiting[best]]]:
                return int(local.rows[waiting[best]]), float(wait[best])
        return None, np.inf

    def advance(self, step: float) -> None:
        """Raise alpha by `step`, during which no node enters."""
        self.alpha += step
        self.x += step * self.slope
        self.mass[~self.entered] += step * self.rate[~self.entered]

    def enter(self, i: int) -> None:
        """Add a node to the support: one more row of the inverse."""
        s, k = self.order, len(self.order)
        w, g = self.weight[i, s], self.inverse[:k, :k]
        self.entered[i] = True
        beyond = self.leak + self.weight @ ~self.entered
        through = g @ w
        pivot = beyond[i] + float(w @ (g @ beyond[s]))
        g += np.outer(through, through / pivot)
        self.inverse[k, :k] = self.inverse[:k, k] = through / pivot
        self.inverse[k, k] = 1.0 / pivot
        s.append(i)
        self._settle()

    def _settle(self) -> None:
        """Recompute the rates of change for the present support."""
        k = len(self.order)
        self.slope[self.order] = self.inverse[:k, :k] @ self.drive[self.order]
        self.rate = self.drive + self.weight @ self.slope
