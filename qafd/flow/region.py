"""The part of a graph that one diffusion has touched, in numpy arrays that grow.

Nodes are numbered in the order they were touched. A node is *read* when its edges are known,
and *active* when the solver holds it at capacity.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from qafd.flow.certificate import ROUNDING
from qafd.flow.elimination import Elimination
from qafd.flow.sources import Sources
from qafd.flow.weights import Gates
from qafd.graph import Graph, sum_at
from qafd.records import Floats, Nodes

Flags = npt.NDArray[np.bool_]

# Most refinements of a direct solve, and steps of each; it needs few unless weights span more than
# 20 orders, and stops where a residual is rounding of its terms and this share of the capacity.
REFINEMENTS = 12
STEPS = 4
REFINED = 1e-11


class Region:
    """Touched nodes, the edges read so far, and the linear algebra on the active ones."""

    def __init__(self, graph: Graph, gates: Gates, sources: Sources, sink: Floats) -> None:
        self.graph, self.gates, self.sink_of = graph, gates, sink
        self._workspace = graph.acquire()
        self.rows = np.empty(0, np.int64)
        self.x = self.source = self.sink = self.alignment = self.total = np.empty(0)
        self.rest = self.dust = np.empty(0)  # after a direct solve x is the sum of three floats
        self.fine = False
        self.active = self.read = np.empty(0, np.bool_)
        self.start = self.end = self.order = np.empty(0, np.int64)  # order: rows read, oldest first
        self.first = np.empty(0, np.int64)  # of the edges of each of these
        self.weight = np.empty(0)
        self.expansions = 0
        self.narrowest, self.widest = np.inf, 0.0
        self._touch(sources.rows)
        self.source = sources.mass.copy()

    def close(self) -> None:
        """Give the workspace back."""
        self.graph.release(self._workspace)

    @property
    def width(self) -> float:
        """Largest weight read over the smallest."""
        return self.widest / self.narrowest if self.widest else 1.0

    def _touch(self, rows: Nodes) -> None:
        space = self._workspace
        space.mark[rows] = space.token + np.arange(len(self.rows), len(self.rows) + len(rows))
        self._append(rows, self.gates.align(self.graph, rows))

    def _append(self, rows: Nodes, alignment: Floats) -> None:
        zeros = np.zeros(len(rows))
        self.rows = np.concatenate([self.rows, rows])
        self.x = np.concatenate([self.x, zeros])
        self.rest = np.concatenate([self.rest, zeros])
        self.dust = np.concatenate([self.dust, zeros])
        self.source = np.concatenate([self.source, zeros])
        self.total = np.concatenate([self.total, zeros])
        self.sink = np.concatenate([self.sink, self.sink_of[rows]])
        self.alignment = np.concatenate([self.alignment, alignment])
        self.active = np.concatenate([self.active, zeros > 0])
        self.read = np.concatenate([self.read, zeros > 0])

    def grow(self, late: Nodes, over: Floats, least: float) -> None:
        """Activate late nodes; read and push those that are not read yet, once, and go on with the
        nodes that this makes late.

        It ends when no late node is unread; those that were read before wait for the next solve.
        `over` is m - T of every touched node. A node is late above `least` T.
        """
        while len(late):
            self.active[late] = True
            unread = late[~self.read[late]]
            if not len(unread):
                return
            tail = len(self.start)
            self._expand(unread)
            over = np.concatenate([over, -self.sink[len(over):]])
            step = np.zeros(len(over))
            step[unread] = over[unread] / self.total[unread]
            self.x += step
            over[unread] = 0.0
            over += sum_at(self.end[tail:], self.weight[tail:] * step[self.start[tail:]], len(over))
            late = np.flatnonzero(~self.active & (over > least * self.sink))

    def _expand(self, nodes: Nodes) -> None:
        """Read the edges of these nodes, touching their neighbors."""
        frontier = self.graph.expand(self.rows[nodes])
        space, ends = self._workspace, frontier.neighbors
        self._touch(np.unique(ends[space.mark[ends] < space.token]).astype(np.int64))
        start = np.repeat(nodes, frontier.counts)
        end = space.mark[ends] - space.token
        weight = self.gates.weights(frontier.similarity, self.alignment[start],
                                    self.alignment[end])
        self._connect(nodes, start, end, weight)

    def _connect(self, nodes: Nodes, start: Nodes, end: Nodes, weight: Floats) -> None:
        self.expansions += len(nodes)
        self.read[nodes] = True
        self.order = np.concatenate([self.order, nodes])
        begins = np.flatnonzero(np.diff(start, prepend=-1))
        self.first = np.concatenate([self.first, len(self.start) + begins])
        self.narrowest = min(self.narrowest, float(weight.min()))
        self.widest = max(self.widest, float(weight.max()))
        self.total += sum_at(start, weight, len(self.rows))
        self.start = np.concatenate([self.start, start])
        self.end = np.concatenate([self.end, end])
        self.weight = np.concatenate([self.weight, weight])

    def drop(self, nodes: Flags) -> None:
        """Take nodes out of the active set."""
        self.active[nodes] = False
        self.x[nodes] = self.rest[nodes] = self.dust[nodes] = 0.0

    def excess(self) -> tuple[Floats, Floats]:
        """Return m - T of every touched node, and the sum of the terms it was computed from."""
        t = len(self.rows)
        flow = self._flow(self.start, self.end, self.weight)
        one_way = ~self.read[self.end]
        over = self.source - self.sink
        over[self.order] -= np.add.reduceat(flow, self.first)  # pairwise, which bincount is not
        over += sum_at(self.end[one_way], flow[one_way], t)
        through = self.total * self.x + sum_at(self.start, self.weight * self.x[self.end], t)
        through += sum_at(self.end[one_way], (self.weight * self.x[self.start])[one_way], t)
        return over, through

    def _flow(self, u: Nodes, v: Nodes, weight: Floats) -> Floats:
        if not self.fine:
            return weight * (self.x[u] - self.x[v])
        first, lost = _two_sum(self.x[u], -self.x[v])
        second, lost_too = _two_sum(self.rest[u], -self.rest[v])
        return weight * ((first + second) + ((lost + lost_too) + (self.dust[u] - self.dust[v])))

    def system(self) -> tuple[Nodes, Nodes, Floats, Floats, Nodes]:
        """Return edges inside the active set (ends numbered within it), leaks, and the active nodes."""
        inside = np.flatnonzero(self.active)
        place = np.full(len(self.rows), -1)
        place[inside] = np.arange(len(inside))
        u, v = place[self.start], place[self.end]
        leaving = (u >= 0) & (v < 0)
        leak = sum_at(u[leaving], self.weight[leaving], len(inside))
        once = (u >= 0) & (u < v)
        return u[once], v[once], self.weight[once], leak, inside

    def eliminate(self, refinements: int) -> None:
        """Solve L_SS x_S = (Delta - T)_S directly; refined, x has three times a float's digits.

        Behind a weak gate x is large, and the flow on a strong edge is a difference of x that
        plain floats cannot hold. The corrections from the residual go into `rest` and `dust`.
        """
        u, v, weight, leak, inside = self.system()
        self._refine(inside, Elimination(len(inside), u, v, weight, leak).solve, refinements)

    def _refine(self, inside: Nodes, solve: Callable[[Floats], Floats], refinements: int) -> None:
        self.fine = True
        parts = np.zeros((3, len(inside)))
        best, least = parts, np.inf
        for refinement in range(2 + refinements):
            self.x[inside], self.rest[inside], self.dust[inside] = parts
            over, through = self.excess()
            allowed = np.minimum(ROUNDING * through, REFINED * self.sink)[inside]
            worst = float(np.max(np.abs(over[inside]) / self.sink[inside], initial=0.0))
            if refinement and worst < least:
                best, least = parts, worst
            if refinement > refinements or (refinement
                                            and (np.abs(over[inside]) <= allowed).all()):
                break
            left = over[inside]
            # The rounding of m makes large steps, almost equal; what they round needs further ones.
            for _ in range(STEPS if refinement else 1):
                step = solve(left)
                parts = _add(parts, step)
                left = left - self._apply_laplacian(inside, step)
                if (np.abs(left) <= allowed).all():
                    break
        self.x[inside], self.rest[inside], self.dust[inside] = best

    def _apply_laplacian(self, inside: Nodes, x: Floats) -> Floats:
        """Return L_SS x for the nodes in S, by differences of x."""
        full = np.zeros(len(self.rows))
        full[inside] = x
        flow = self.weight * (full[self.start] - full[self.end])
        return sum_at(self.start, flow, len(full))[inside]

    def conjugate_gradients(self, inner: float) -> bool:
        """Solve L_SS x_S = (Delta - T)_S from the present x, to `inner` T_v at node v.

        Preconditioned by the weighted degree; False when rounding or the number of iterations
        ended it earlier.
        """
        inside = self.order[self.active[self.order]]  # their edges stand in this order
        k = len(inside)
        place = np.full(len(self.rows), -1)
        place[inside] = np.arange(k)
        u, v = place[self.start], place[self.end]
        both = (u >= 0) & (v >= 0)
        until = np.concatenate([[0], np.cumsum(np.bincount(u[both], minlength=k))])
        w = csr_matrix(  # type: ignore[no-untyped-call]
            (self.weight[both], v[both], until), shape=(k, k))
        total, b, x = self.total[inside], (self.source - self.sink)[inside], self.x[inside]
        for _ in range(4):
            pulled = w @ x
            residual = b - total * x + pulled
            allowed = 0.5 * (inner * self.sink[inside] + ROUNDING * (total * np.abs(x) + pulled))
            if (np.abs(residual) <= allowed).all():
                self.x[inside] = x
                return True
            z = residual / total
            p, rho, half = z.copy(), float(residual @ z), 0.5 * allowed
            for _ in range(50 + k):
                q = total * p - w @ p
                step = rho / float(p @ q)
                x += step * p
                residual -= step * q
                if (np.abs(residual) <= half).all():
                    break
                z = residual / total
                rho, before = float(residual @ z), rho
                p *= rho / before
                p += z
        self.x[inside] = x
        return False

    def edges(self) -> tuple[Nodes, Nodes, Floats, Floats]:
        """Return every edge with an active end, once: ends downhill in x, weight and flow."""
        keep = self.active[self.start] & (~self.active[self.end] | (self.start < self.end))
        u, v, weight = self.start[keep], self.end[keep], self.weight[keep]
        flow = self._flow(u, v, weight)
        return np.where(flow < 0, v, u), np.where(flow < 0, u, v), weight, np.abs(flow)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b as a float and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _add(parts: Floats, step: Floats) -> Floats:
    """Add a float to a sum of three, as three floats again, shape (3, k)."""
    x, lost = _two_sum(parts[0], step)
    rest, lost = _two_sum(parts[1], lost)
    rest, dust = _two_sum(rest, parts[2] + lost)
    x, rest = _two_sum(x, rest)
    return np.array([x, *_two_sum(rest, dust)])
