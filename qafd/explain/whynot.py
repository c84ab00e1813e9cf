"""Reasons why a node was not retrieved: its shortfall, the gate before it, and the remedies.

The remedies are exact and each is verified by solving again: more mass in all, or the node as a seed.
The shortest is the one with the smallest relative increase of the mass; making the node a seed asks
another question and counts as doubling.
"""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from qafd.explain.edges import Gate, gate_of
from qafd.explain.entry import Entry, entry_of
from qafd.explain.paths import row_name
from qafd.explain.whatif import Change, apply_change
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.retrieve.qafd import Problem

SEED_COUNTS = 2.0
MARGIN = 1e-6  # by which a remedy is exceeded when it is verified
STEPS = 6  # edges from the retrieved part that a way is looked for


class RemedyKind(StrEnum):
    """The kinds of remedy."""

    MASS = "mass"
    SEED = "seed"


@dataclass(frozen=True)
class Remedy:
    """A change that retrieves the node; a new solve with a millionth more proves it.

    `size` is the factor of the mass, or the mass to pour on the node.
    """

    kind: RemedyKind
    size: float

    @property
    def length(self) -> float:
        """The key by which the shortest remedy is chosen."""
        return SEED_COUNTS if self.kind is RemedyKind.SEED else self.size


@dataclass(frozen=True)
class WhyNot:
    """Reasons why a node is not retrieved.

    `mass` is that of the control. `way` has the names on a shortest way from the retrieved part to
    the node, both ends included; it is empty when none of at most 6 edges leads there, and
    `connected` is True if one leads there from the seeds at all. `gate` is the edge the node
    starves behind, `widest` the one over which the same neighbor sends most. `remedies` are sorted,
    the shortest first. Masses of `entry` and remedies are those of the control. Where a question
    has several diffusions, this is about the nearest, number `part`, from 1, of `question`.
    """

    id: str
    name: str
    held: float
    capacity: float
    mass: float
    way: tuple[str, ...]
    connected: bool
    gate: Gate | None
    widest: Gate | None
    entry: Entry
    remedies: tuple[Remedy, ...]
    part: int = 0
    question: str = ""

    @property
    def shortfall(self) -> float:
        """Mass missing to full."""
        return self.capacity - self.held

    @property
    def steps(self) -> int | None:
        """Number of edges from the retrieved part, None when no way leads there."""
        return len(self.way) - 1 if self.way else None


def why_not(problem: Problem, diffusion: Diffusion, row: int, nodes: int = 4000) -> WhyNot:
    """Explain why the node of a graph row is not retrieved.

    The search for the mass at which it enters ends when more than `nodes` are retrieved.
    """
    layer = problem.layer
    i = diffusion.find(row)
    held = 0.0 if i is None else float(diffusion.mass[i])
    capacity = float(layer.capacity(problem.method.capacity)[row])
    way = _nearest(layer, {int(v) for v in diffusion.support}, row)
    gate = widest = None
    if way:
        u, v = _starving(problem, diffusion, row) if len(way) == 2 else (way[0], way[1])
        gate = gate_of(problem, u, v)
        other = _most(diffusion, u, v)
        widest = None if other is None else gate_of(problem, u, other)
    entry = entry_of(problem, row, diffusion, nodes=nodes)
    remedies = _remedies(problem, row, capacity - held, entry)
    connected = np.isin(layer.component[row], layer.component[problem.seeds.rows])
    return WhyNot(layer.ids[row], row_name(layer, row), held, capacity, problem.method.mass,
                  tuple(row_name(layer, at) for at in way), bool(connected), gate, widest,
                  entry, tuple(sorted(remedies, key=lambda remedy: remedy.length)))


def _nearest(layer: Graph, support: set[int], row: int) -> tuple[int, ...]:
    """Find a shortest way from the retrieved nodes to a row within `STEPS`; empty without one."""
    previous, line = {row: -1}, deque([(row, 0)])
    while line:
        v, far = line.popleft()
        if v in support:
            way = [v]
            while previous[way[-1]] >= 0:
                way.append(previous[way[-1]])
            return tuple(way)
        if far < STEPS:
            for u in layer.around(v).tolist():
                if u not in previous:
                    previous[u] = v
                    line.append((u, far + 1))
    return ()


def _starving(problem: Problem, diffusion: Diffusion, row: int) -> tuple[int, int]:
    """Return the retrieved neighbor with the largest x, which could send most, and the row."""
    near = [u for u in problem.layer.around(row).tolist() if diffusion.find(u) is not None]
    return max(near, key=lambda u: (float(diffusion.x[diffusion.find(u)]), -u)), row


def _most(diffusion: Diffusion, u: int, but: int) -> int | None:
    """Return the node to which u sends most, except `but`."""
    i = diffusion.find(u)
    found = []
    for e in np.flatnonzero((diffusion.u == i) & (diffusion.flow > 0)).tolist():
        row = int(diffusion.rows[diffusion.v[e]])
        if row != but:
            found.append((float(diffusion.flow[e]), row))
    return max(found)[1] if found else None


def _remedies(problem: Problem, row: int, shortfall: float, entry: Entry) -> list[Remedy]:
    """Return the remedies that retrieve a row: more mass, or the row as a seed."""
    found, mass = [], problem.method.mass
    if entry.mass is not None and mass > 0 and (
            problem.at(entry.mass * (1 + MARGIN)).retrieves(row)):
        found.append(Remedy(RemedyKind.MASS, entry.mass / mass))
    if problem.layer.degree_of(np.array([row]))[0]:
        poured = Change(poured=((row, shortfall * (1 + MARGIN)),))
        if apply_change(problem, poured).solve().retrieves(row):
            found.append(Remedy(RemedyKind.SEED, shortfall))
    return found
