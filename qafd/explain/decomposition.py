"""The flow of a diffusion, split by seed and by path.

Flow runs downhill in x, so it has no cycles, and all mass came from a seed along a path. Which
unit took which way is a convention. Ours is proportional: mass from any sender stays at a node
and leaves it in the same proportions. So the mass of the path s = v0, ..., vk is

    Delta_s  prod_i f(v_i, v_i+1) / t(v_i)  m(v_k) / t(v_k),    t(v) = Delta_v + inflow of v,

and the paths together are all the mass.
"""

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np

from qafd.flow.solver import Diffusion
from qafd.graph import sum_at
from qafd.records import Floats, Nodes


@dataclass(frozen=True)
class PathFlow:
    """Mass that entered at the first row and is held at the last; graph rows."""

    rows: tuple[int, ...]
    mass: float


@dataclass(frozen=True, eq=False)
class Streams:
    """The flow of one diffusion, ready to be followed up or down; indices as in `Diffusion`.

    Parameters
    ----------
    diffusion : Diffusion
    through : ndarray, shape (t,)
        Source plus inflow of each touched node, in units of mass.
    order : ndarray of int, shape (t,)
        Touched nodes, each after all that send to it.
    arriving, leaving : tuple of ndarray of int
        For each node the numbers of its edges with flow, toward it and away from it.
    """

    diffusion: Diffusion
    through: Floats = field(repr=False)
    order: Nodes = field(repr=False)
    arriving: tuple[Nodes, ...] = field(repr=False)
    leaving: tuple[Nodes, ...] = field(repr=False)

    @classmethod
    def of(cls, diffusion: Diffusion) -> "Streams":
        """Prepare the streams of a diffusion."""
        t = len(diffusion.rows)
        wet = np.flatnonzero(diffusion.flow > 0)
        u, v = diffusion.u[wet], diffusion.v[wet]
        sorter: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(t), ()))
        for start, end in zip(u.tolist(), v.tolist(), strict=True):
            sorter.add(end, start)
        return cls(diffusion, diffusion.source + sum_at(v, diffusion.flow[wet], t),
                   np.array(tuple(sorter.static_order()), np.int64),
                   _group(v, wet, t), _group(u, wet, t))

    @cached_property
    def shares(self) -> tuple[Nodes, Floats]:
        """The seeds with mass, as indices, and each node's share from each, shape (t, k).

        Rows sum to 1 where a node has mass, and to 0 elsewhere.
        """
        d = self.diffusion
        seeds = np.flatnonzero(d.source > 0)
        share = np.zeros((len(d.rows), len(seeds)))
        share[seeds, np.arange(len(seeds))] = d.source[seeds]
        for i in self.order.tolist():
            near = self.arriving[i]
            share[i] += (d.flow[near, None] * share[d.u[near]]).sum(axis=0)
            if self.through[i] > 0:
                share[i] /= self.through[i]
        return seeds, share

    def carriers(self, u: int, v: int, visible: Collection[int]) -> list[tuple[int | None, float]]:
        """Return the flow from row u to row v by passage and, as None, over their own edge; largest first.

        Passages are the rows that are not `visible`. Without flow their own edge is listed all the same.
        """
        d, i, j = self.diffusion, self.diffusion.find(u), self.diffusion.find(v)
        if i is None or j is None:
            return []
        onto = dict(zip(d.u[self.arriving[j]].tolist(), d.flow[self.arriving[j]].tolist(), strict=True))
        found: list[tuple[int | None, float]] = []
        for node, flow in zip(d.v[self.leaving[i]].tolist(), d.flow[self.leaving[i]].tolist(), strict=True):
            row = int(d.rows[node])
            if node == j:
                found.append((None, flow))
            elif node in onto and row not in visible:
                found.append((row, flow * onto[node] / float(self.through[node])))
        if not any(passage is None for passage, _ in found) and np.any(
                (d.u == j) & (d.v == i) | (d.u == i) & (d.v == j)):
            found.append((None, 0.0))
        return sorted(found, key=lambda part: -part[1])

    def paths(self, most: int = 50, to: int | None = None) -> tuple[PathFlow, ...]:
        """Return the `most` paths with most mass, largest first; equal ones by their rows.

        Parameters
        ----------
        to : int, optional
            Index of a touched node: only paths that end there, which sum to its mass.
        """
        d, rows, flow = self.diffusion, self.diffusion.rows.tolist(), self.diffusion.flow
        if to is None:
            near, other, begin, end = self.leaving, d.v, d.source, d.mass
            starts = np.flatnonzero(begin > 0).tolist()
        else:
            near, other, begin, end, starts = self.arriving, d.u, d.mass, d.source, [to]
        # Beginnings of paths, best first: none has less mass than its continuations.
        heap: list[tuple[float, tuple[int, ...], int]] = [
            (-float(begin[i]), (rows[i],), i) for i in starts if begin[i] > 0]
        heapq.heapify(heap)
        found: list[PathFlow] = []
        while heap and len(found) < most:
            mass, path, i = heapq.heappop(heap)
            if i < 0:
                found.append(PathFlow(path if to is None else path[::-1], -mass))
                continue
            if end[i] > 0:
                heapq.heappush(heap, (mass * float(end[i] / self.through[i]), path, -1))
            parts = (flow[near[i]] / self.through[i]).tolist()
            for part, j in zip(parts, other[near[i]].tolist(), strict=True):
                heapq.heappush(heap, (mass * part, (*path, rows[j]), j))
        return tuple(found)


def _group(index: Nodes, values: Nodes, n: int) -> tuple[Nodes, ...]:
    """Group the values of each index 0..n-1, in order."""
    order = np.argsort(index, kind="stable")
    return tuple(np.split(values[order], np.cumsum(np.bincount(index, minlength=n))[:-1]))
