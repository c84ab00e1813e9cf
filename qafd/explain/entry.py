"""The exact mass at which a node enters, in the units of the method's own control."""

from dataclasses import dataclass, replace

import numpy as np

from qafd.diffusion import Diffusion
from qafd.elimination import eliminate
from qafd.errors import ParameterError
from qafd.graph import sum_at
from qafd.homotopy import Path, entry_alphas
from qafd.records import Floats, Nodes
from qafd.retrieve.qafd import Problem
from qafd.sources import FILL

HIGHEST = 1e4
"""Mass beyond which no entry is looked for."""
WALKED = 1000
"""Retrieved nodes up to which all entries are computed; the walk takes their number cubed."""

SHARP = 1e-12  # tolerance of the solve that the entry is read from
FEW = 4  # nodes that may enter within a bracket before its tangent is worth a linear solve


@dataclass(frozen=True)
class Entry:
    """When one node enters.

    `mass` is None when it does not enter up to `searched`; `full` says that by then all
    that it is connected to was full.
    """

    mass: float | None
    searched: float
    full: bool = False

    def times(self, runs: int) -> "Entry":
        """The same in the mass of a control that several equal diffusions divide."""
        return replace(self, mass=None if self.mass is None else runs * self.mass,
                       searched=runs * self.searched)


def entries(problem: Problem, up_to: float | None = None) -> Path:
    """Every node that enters up to a mass, by default the method's, and the one that enters next.

    `Path.alphas` are masses in the units of the method's control. Section 7 of docs/method.md.

    Raises
    ------
    ParameterError
        When more than `WALKED` nodes are retrieved, or none could be.
    """
    mass = problem.method.mass if up_to is None else up_to
    support = len(problem.at(mass).support)
    if support > WALKED:
        raise ParameterError(f"{support:,} nodes are retrieved, and entries are computed for up "
                             f"to {WALKED:,}; lower the mass")
    return entry_alphas(problem.layer, problem.gates, problem.seeds.rows, problem.per_unit(),
                        problem.method.capacity, mass)


def entry_of(problem: Problem, row: int, diffusion: Diffusion, most: float = HIGHEST,
             nodes: int = 4000) -> Entry:
    """The mass at which a node that is not retrieved would be.

    While a node is out, its mass is convex and piecewise linear in the source scale. So the
    tangent at a mass below its entry never predicts it too early, and is exact when nobody
    else enters in between; until then the bracket is halved.

    Parameters
    ----------
    diffusion : Diffusion
        The solution at the method's mass, in which x of the node is 0.
    most : float
        Where the search ends.
    nodes : int
        It also ends when this many are retrieved.
    """
    layer, capacity = problem.layer, problem.method.capacity
    part = layer.component == layer.component[row]
    inside = part[problem.seeds.rows]
    rate = float(problem.per_unit()[inside].sum())
    if not rate > 0 or not layer.degree_of(np.array([row]))[0]:
        return Entry(None, np.inf)
    full_at = FILL * float(layer.component_capacity(capacity)[layer.component[row]]) / rate
    end = min(most, full_at)
    low, below = problem.method.mass, diffusion
    high = np.inf  # by which the node is in
    between = 0  # who else enters before that
    while low < end and len(below.support) <= nodes:
        tangent = _tangent(problem, below, row, low) if between <= FEW else np.inf
        step = min(tangent, max(2 * low, low + 1), end, high)
        if step < high:
            above = problem.at(step)
            others = set(above.support.tolist()) - {row} - set(below.support.tolist())
            if step == tangent and not others:
                exact = _tangent(problem, problem.at(low, SHARP), row, low)
                return Entry(exact, exact)
            if step < tangent and not above.retrieved(row):
                low, below = step, above
                continue
            high, between = step, len(others)
        middle = (low + high) / 2
        if high - low <= 1e-12 * high:
            return Entry(high, high)
        half = problem.at(middle)
        gained = set(half.support.tolist()) - {row} - set(below.support.tolist())
        if half.retrieved(row):
            high, between = middle, len(gained)
        else:
            low, below, between = middle, half, between - len(gained)
    return Entry(None, low, low >= full_at)


def _tangent(problem: Problem, diffusion: Diffusion, row: int, mass: float) -> float:
    """Where the node would enter if nobody else did; infinite when no mass reaches it."""
    i = diffusion.find(row)
    if i is None:
        return np.inf
    drive = np.zeros(len(diffusion.rows))
    for seed, amount in zip(problem.seeds.rows.tolist(), problem.per_unit().tolist(), strict=True):
        at = diffusion.find(seed)
        if at is not None:
            drive[at] += amount
    slope = response(diffusion, drive)
    near = np.concatenate([diffusion.u[diffusion.v == i], diffusion.v[diffusion.u == i]])
    weight = np.concatenate([diffusion.weight[diffusion.v == i],
                             diffusion.weight[diffusion.u == i]])
    rate = float(drive[i] + weight @ slope[near])
    return mass + float(diffusion.capacity[i] - diffusion.mass[i]) / rate if rate > 0 else np.inf


def response(diffusion: Diffusion, load: Floats) -> Floats:
    """L_SS^-1 load on the support and 0 elsewhere, shape (t,): how x answers more source.

    `load` is read on the support only. L_SS is symmetric, so this is its own adjoint.
    """
    u, v, leak, inside = _system(diffusion)
    both = (u >= 0) & (v >= 0)
    answer = np.zeros(len(diffusion.rows))
    answer[inside] = eliminate(len(inside), u[both], v[both], diffusion.weight[both], leak,
                               load[inside].copy())
    return answer


def _system(diffusion: Diffusion) -> tuple[Nodes, Nodes, Floats, Nodes]:
    inside = np.flatnonzero(diffusion.x > 0)
    place = np.full(len(diffusion.rows), -1)
    place[inside] = np.arange(len(inside))
    u, v = place[diffusion.u], place[diffusion.v]
    out = (u < 0) | (v < 0)
    leak = sum_at(np.maximum(u, v)[out], diffusion.weight[out], len(inside))
    return u, v, leak, inside
