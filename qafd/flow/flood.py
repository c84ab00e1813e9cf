"""Growing the support of a long thin graph far in one round.

A push hands half of its mass to the nodes behind it, which are already full, so a round of pushes
gets only a few nodes down a chain. Here a node is eliminated when it overflows: whatever the nodes
behind it would hand back returns at once. On a chain one round then goes to the end. So that the
cost stays linear, an elimination joins only the STRONGEST neighbors of a node to each other; mass
that would pass between others counts as lost. Loads are therefore at most the exact ones, and no node is
added by mistake.
"""

from collections import deque

import numpy as np

from qafd.flow.region import Region
from qafd.records import Floats, Nodes

STRONGEST = 12
# Late nodes whose exchange through the active set is computed, a solve for each.
COUPLED = 16


def flood(region: Region, late: Nodes, over: Floats, least: float, most: int) -> None:
    """Activate the late nodes and all nodes that their elimination makes late, and read them.

    Parameters
    ----------
    late : ndarray of int
        Inactive nodes, with `over` above `least` T.
    over : ndarray, shape (t,)
        m - T of every touched node, under the x that solves the active set.
    most : int
        Read no further node once more than this many are touched.
    """
    run = _Flood(region, over)
    foremost = late[np.argsort(-over[late], kind="stable")]
    run.couple(foremost[:COUPLED])
    run.spread(foremost, least, most)
    region.add(run.rows, run.alignment[run.old:], run.read, run.gone)


class _Flood:
    """Loads, leaks and weights between outside nodes, as the eliminations so far have left them."""

    def __init__(self, region: Region, over: Floats) -> None:
        self.region = region
        self.old = len(over)
        self.load = over.tolist()
        self.sink, self.alignment = region.sink.tolist(), region.alignment.tolist()
        self.behind = region.active.tolist()  # whether full before this round
        self.rows: list[int] = []  # graph rows touched in this round
        self.read: dict[int, tuple[list[int], Floats]] = {}  # in this round: ends and weights
        self.near: dict[int, dict[int, float]] = {}
        self.leak: dict[int, float] = {}
        self.coupled: set[int] = set()
        self.gone: set[int] = set()

    def edges(self, k: int) -> tuple[list[int], Floats]:
        """Return ends and weights of the edges of a node, read from the graph once."""
        region = self.region
        if k < self.old and region.read[k]:
            return region.edges_of(k)
        if k in self.read:
            return self.read[k]
        row = int(region.rows[k]) if k < self.old else self.rows[k - self.old]
        frontier = region.graph.expand(np.array([row]))
        ends, new = region.number(frontier.neighbors, len(self.load))
        if len(new):
            self.rows += new.tolist()
            self.alignment += region.gates.align(region.graph, new).tolist()
            sink = region.sink_of[new].tolist()
            self.sink += sink
            self.load += [-t for t in sink]
            self.behind += [False] * len(sink)
        there = [self.alignment[j] for j in ends]
        weight = region.gates.weights(frontier.similarity, np.full(len(ends), self.alignment[k]),
                                      np.array(there))
        self.read[k] = ends, weight
        return self.read[k]

    def couple(self, front: Nodes) -> None:
        """Find the weights between these nodes through the nodes behind them, by one solve for each."""
        region = self.region
        if region.solver is None:
            return
        inside, solve = region.solver
        place = np.full(len(region.rows), -1)
        place[inside] = np.arange(len(inside))
        joint = np.zeros((len(inside), len(front)))
        ahead = np.zeros(len(region.rows), np.bool_)
        ahead[front] = True
        for column, k in enumerate(front.tolist()):
            for j, w in zip(*self.edges(k), strict=True):
                if self.behind[j]:
                    joint[place[j], column] = w
        height = solve(joint)
        through = joint.T @ height
        lost = region.leaks(~ahead)[inside] @ height
        for column, k in enumerate(front.tolist()):
            self.coupled.add(k)
            self.leak[k] = float(lost[column])
            self.near[k] = {j: float(through[column, other])
                            for other, j in enumerate(front.tolist())
                            if other != column and through[column, other] > 0}

    def spread(self, late: Nodes, least: float, most: int) -> None:
        """Eliminate the late nodes, oldest first, and the nodes that this makes late."""
        line = deque(late.tolist())
        waiting = set(line)
        while line and self.old + len(self.rows) <= most:
            k = line.popleft()
            for j in self.eliminate(k):
                if j not in waiting and self.load[j] > least * self.sink[j]:
                    waiting.add(j)
                    line.append(j)

    def eliminate(self, k: int) -> list[int]:
        """Send the load of a node on, and join its neighbors; returns those still outside."""
        row, leak = self.near.pop(k, {}), self.leak.pop(k, 0.0)
        ends, weights = self.edges(k)
        for j, w in zip(ends, weights.tolist(), strict=True):
            if self.behind[j]:
                leak += 0.0 if k in self.coupled else w
            elif j not in self.gone:
                row[j] = row.get(j, 0.0) + w
        self.gone.add(k)
        whole = sum(row.values())
        pivot = leak + whole
        if not pivot > 0:
            return []
        joined = sorted(row, key=row.__getitem__)[-STRONGEST:] if len(row) > STRONGEST else row
        kept = sum(row[j] for j in joined)
        load = self.load[k]
        for i, w in row.items():
            share = w / pivot
            self.load[i] += share * load
            lost = leak + (max(whole - kept, 0.0) if i in joined else max(whole - w, 0.0))
            if lost:
                self.leak[i] = self.leak.get(i, 0.0) + share * lost
            near = self.near.setdefault(i, {})
            near.pop(k, None)
            if i in joined:
                for j in joined:
                    if j != i:
                        near[j] = near.get(j, 0.0) + share * row[j]
        return list(row)
