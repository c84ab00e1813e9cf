"""The exact mass at which a node enters, in the units of the method's own control."""

from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.elimination import eliminate
from qafd.flow.homotopy import Path, entry_alphas
from qafd.flow.solver import Diffusion, solve
from qafd.flow.sources import FILL
from qafd.graph import sum_at
from qafd.records import Floats, Nodes
from qafd.retrieve.qafd import Problem

HIGHEST = 1e4
"""Mass beyond which no entry is looked for."""
WALKED = 1000
"""Retrieved nodes up to which all entries are computed; the walk takes their number cubed."""

SHARP = 1e-12  # tolerance of the solve that the entry is read from
BOTTOMLESS = 10**12  # tokens of a node that never fills


@dataclass(frozen=True)
class Entry:
    """The mass at which one node enters.

    `mass` is None when it does not enter up to `searched`; `full` is True if by then all
    that it is connected to was full.
    """

    mass: float | None
    searched: float
    full: bool = False

    def times(self, runs: int) -> "Entry":
        """Scale to the mass of a control that several equal diffusions divide."""
        return replace(self, mass=None if self.mass is None else runs * self.mass,
                       searched=runs * self.searched)


def entries(problem: Problem, up_to: float | None = None) -> Path:
    """Find every node that enters up to a mass, by default the method's, and the next one.

    `Path.alphas` are masses in the units of the method's control. Section 7 of docs/method.md.

    Raises
    ------
    ParameterError
        When more than `WALKED` nodes are retrieved, or none could be.
    """
    mass = problem.method.mass if up_to is None else up_to
    support = len(problem.at(mass).support)
    if support > WALKED:
        raise ParameterError(f"{support:,} nodes are retrieved, and entries are computed for "
                             f"up to {WALKED:,}; lower the mass")
    return entry_alphas(problem.layer, problem.gates, problem.seeds.rows, problem.per_unit(),
                        problem.method.capacity, mass)


def entry_of(problem: Problem, row: int, diffusion: Diffusion, most: float = HIGHEST,
             nodes: int = 4000) -> Entry:
    """Find the mass at which a node that is not retrieved would be.

    While a node is kept out, its mass is convex and piecewise linear in the source scale. So from
    a mass at which it would hold too much, Newton's steps, each to where the tangent has it just
    full, only fall, and the one on the piece of the entry is exact.

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
    unit, rows = problem.per_unit(), problem.seeds.rows
    rate = float(unit[layer.component[rows] == layer.component[row]].sum())
    if not rate > 0 or not layer.degree_of(np.array([row]))[0]:
        return Entry(None, np.inf)
    room = layer.capacity(capacity)
    full_at = FILL * float(layer.component_capacity(capacity)[layer.component[row]]) / rate
    # As tokens, since the capacity of one node can be set by these.
    tokens = room.astype(np.int64)
    tokens[row] = BOTTOMLESS
    out = replace(layer, tokens=tokens)

    def kept_out(mass: float, rtol: float = 1e-9) -> Diffusion:
        return solve(out, problem.gates, rows, mass * unit, "tokens", rtol)

    def tangent(below: Diffusion, mass: float) -> float:
        return mass + _missing(problem, below, row, unit, float(room[row]))

    end = min(most, full_at)
    low, found = problem.method.mass, diffusion
    while low < end and len(found.support) <= nodes:
        just_full = tangent(found, low)
        high = min(just_full, max(2 * low, low + 1), end)
        above = kept_out(high)
        i = above.find(row)
        # By convexity it holds too much at the end of a tangent, whatever a solve is off by.
        if high == just_full or i is not None and above.mass[i] >= room[row]:
            while True:
                exact = tangent(above, high)
                again = kept_out(exact, SHARP)
                settled = set(again.support.tolist()) == set(above.support.tolist())
                if settled or exact >= high * (1 - SHARP):
                    entry = tangent(again, exact)
                    return Entry(entry, entry)
                high, above = exact, again
        low, found = high, above
    return Entry(None, low, low >= full_at)


def _missing(problem: Problem, diffusion: Diffusion, row: int, unit: Floats,
             room: float) -> float:
    """Return the mass after which the node is just full if no other enters; below 0 if it is.

    Infinite when no mass reaches it.
    """
    i = diffusion.find(row)
    if i is None:
        return np.inf
    drive = np.zeros(len(diffusion.rows))
    for seed, amount in zip(problem.seeds.rows.tolist(), unit.tolist(), strict=True):
        at = diffusion.find(seed)
        if at is not None:
            drive[at] += amount
    slope = response(diffusion, drive)
    near = np.concatenate([diffusion.u[diffusion.v == i], diffusion.v[diffusion.u == i]])
    weight = np.concatenate([diffusion.weight[diffusion.v == i],
                             diffusion.weight[diffusion.u == i]])
    rate = float(drive[i] + weight @ slope[near])
    return (room - float(diffusion.mass[i])) / rate if rate > 0 else np.inf


def response(diffusion: Diffusion, load: Floats) -> Floats:
    """Compute L_SS^-1 load on the support, 0 elsewhere, shape (t,): the response of x to source.

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
