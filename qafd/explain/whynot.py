"""Why a node was not retrieved: what it lacks, the gate that starves it, and what would change it.

The remedies are exact and each is verified by solving again: more mass in all, one wider edge, or
the node as a seed. The shortest is the one with the smallest relative increase, of all the mass or
of the one weight; making the node a seed asks another question and counts as doubling.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from qafd.explain.entry import Entry, entry_of, response
from qafd.explain.paths import shown
from qafd.explain.whatif import Change, changed, factors
from qafd.flow.solver import Diffusion
from qafd.flow.sources import FILL
from qafd.graph import Graph
from qafd.retrieve.qafd import Problem

SEED_COUNTS = 2.0
MARGIN = 1e-6  # by which a remedy is exceeded when it is verified
STEPS = 6  # edges from the retrieved part that a way is looked for
WIDER = 1e6


@dataclass(frozen=True)
class Gate:
    """An edge and what makes its weight: H(u, v), and the alignment of both ends."""

    source: str
    target: str
    source_name: str
    target_name: str
    weight: float
    structure: float
    alignment_source: float
    alignment_target: float


@dataclass(frozen=True)
class Remedy:
    """A change that brings the node in.

    `size` is the factor of the mass or the weight, or the mass to pour on the node; `verified` says
    that a new solve with a millionth more retrieves the node.
    """

    kind: str
    size: float
    sentence: str
    verified: bool

    @property
    def length(self) -> float:
        """What the shortest remedy is chosen by."""
        return SEED_COUNTS if self.kind == "seed" else self.size


@dataclass(frozen=True)
class WhyNot:
    """Why a node is not retrieved.

    `gate` is the edge it starves behind (None when no way leads there), `beside` the one over which
    the same neighbor sends most; `steps` counts edges from the retrieved part. `remedies` are
    sorted, the shortest first. Masses of `entry` and remedies are those of the control. Where a
    question has subqueries, this is the nearest of `parts`, which has one for each.
    """

    id: str
    name: str
    held: float
    capacity: float
    gate: Gate | None
    beside: Gate | None
    steps: int | None
    entry: Entry
    remedies: tuple[Remedy, ...]
    sentences: tuple[str, ...]
    parts: tuple["WhyNot", ...] = ()

    @property
    def shortfall(self) -> float:
        """Mass missing to full."""
        return self.capacity - self.held


def why_not(problem: Problem, diffusion: Diffusion, row: int, nodes: int = 4000,
            runs: int = 1) -> WhyNot:
    """Why the node of a graph row, which is not retrieved, is not.

    The search for the mass at which it enters ends when more than `nodes` are retrieved. `runs`
    is how many equal diffusions the mass of the control is divided among, of which this is one.
    """
    layer = problem.layer
    i = diffusion.find(row)
    held = 0.0 if i is None else float(diffusion.mass[i])
    capacity = float(layer.capacity(problem.method.capacity)[row])
    way = _nearest(layer, {int(v) for v in diffusion.support}, row)
    gate = beside = None
    if way is not None:
        u, v = _starving(problem, diffusion, row) if len(way) == 2 else (way[0], way[1])
        gate = gate_of(problem, u, v)
        other = _most(diffusion, u, v)
        beside = None if other is None else gate_of(problem, u, other)
    entry = entry_of(problem, row, diffusion, nodes=nodes)
    remedies = sorted(_remedies(problem, diffusion, row, capacity - held, entry, gate, way, runs),
                      key=lambda r: r.length)
    name = shown(layer, row)
    return WhyNot(layer.ids[row], name, held, capacity, gate, beside,
                  None if way is None else len(way) - 1, entry.times(runs), tuple(remedies),
                  tuple(_sentences(problem, layer, row, held, capacity, gate, beside, way,
                                   entry.times(runs), runs)))


def _nearest(layer: Graph, support: set[int], row: int) -> tuple[int, ...] | None:
    """A shortest way from the retrieved nodes to a row, within `STEPS`."""
    came, line = {row: -1}, deque([(row, 0)])
    while line:
        v, far = line.popleft()
        if v in support:
            way = [v]
            while came[way[-1]] >= 0:
                way.append(came[way[-1]])
            return tuple(way)
        if far < STEPS:
            for u in layer.around(v).tolist():
                if u not in came:
                    came[u] = v
                    line.append((u, far + 1))
    return None


def _starving(problem: Problem, diffusion: Diffusion, row: int) -> tuple[int, int]:
    """The retrieved neighbor with the largest x, which could send most, and the row."""
    near = problem.layer.around(row).tolist()
    places = [(float(diffusion.x[at]), -u) for u in near if (at := diffusion.find(u)) is not None]
    return -max(places)[1], row


def _most(diffusion: Diffusion, u: int, but: int) -> int | None:
    """The node to which u sends most, `but` one."""
    i = diffusion.find(u)
    out = [(float(diffusion.flow[e]), int(diffusion.rows[diffusion.v[e]]))
           for e in np.flatnonzero(diffusion.u == i).tolist()]
    out = [pair for pair in out if pair[1] != but and pair[0] > 0]
    return max(out)[1] if out else None


def gate_of(problem: Problem, u: int, v: int) -> Gate:
    """The edge between two rows, and what makes its weight."""
    layer, f = problem.layer, factors(problem, u, v)
    return Gate(layer.ids[u], layer.ids[v], shown(layer, u), shown(layer, v), f["weight"],
                f["structure"], f["alignment_u"], f["alignment_v"])


def _remedies(problem: Problem, diffusion: Diffusion, row: int, shortfall: float, entry: Entry,
              gate: Gate | None, way: tuple[int, ...] | None, runs: int) -> list[Remedy]:
    name, found = shown(problem.layer, row), []
    mass = problem.method.mass
    if entry.mass is not None and mass > 0:
        found.append(Remedy(
            "mass", entry.mass / mass,
            f"Raise the mass from {runs * mass:.4g} to {enough(runs * entry.mass)}.",
            problem.at(entry.mass * (1 + MARGIN)).retrieved(row)))
    if problem.layer.degree_of(np.array([row]))[0]:
        poured = changed(problem, Change(poured=((row, shortfall * (1 + MARGIN)),))).solve()
        found.append(Remedy(
            "seed", shortfall, f"Make {name} a seed with {enough(shortfall)} of mass.",
            poured.retrieved(row)))
    if gate is not None and way is not None and len(way) == 2:
        u = problem.layer.row[gate.source]
        factor = _wider(problem, diffusion, u, row, gate.weight, shortfall)
        if factor is not None:
            found.append(Remedy(
                "edge", factor, f"Make the edge from {gate.source_name} {enough(factor)} times as "
                "wide.", _scaled(problem, u, row, factor * (1 + MARGIN)).retrieved(row)))
    return [remedy for remedy in found if remedy.verified]


def enough(amount: float) -> str:
    """Four digits of a positive amount, rounded up: less would not do."""
    step = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return f"{math.ceil(round(amount / step, 6)) * step:.4g}"


def _scaled(problem: Problem, u: int, v: int, factor: float) -> Diffusion:
    return changed(problem, Change(scales=(((u, v), factor),))).solve()


def _wider(problem: Problem, diffusion: Diffusion, u: int, v: int, weight: float,
           shortfall: float) -> float | None:
    """Factor of the weight from u at which v is full, None when none below `WIDER` is.

    With g = L_SS^-1 e_u and h the inflow of v under x = g, a weight greater by d raises the
    mass of v by d x_u (1 - h) / (1 + d g_u) while the support stays (Sherman and Morrison). When
    someone leaves it, the factor is found by halving.
    """
    i, j = diffusion.find(u), diffusion.find(v)
    if i is None or j is None:
        return None
    one = np.zeros(len(diffusion.rows))
    one[i] = 1.0
    g = response(diffusion, one)
    h = float((diffusion.weight * g[diffusion.u])[diffusion.v == j].sum()
              + (diffusion.weight * g[diffusion.v])[diffusion.u == j].sum())
    gain = float(diffusion.x[i]) * (1 - h) - shortfall * float(g[i])
    if gain > 0:
        factor = 1 + shortfall / gain / weight
        above, below = factor * (1 + MARGIN), factor * (1 - MARGIN)
        if factor < WIDER and _scaled(problem, u, v, above).retrieved(v) and not (
                _scaled(problem, u, v, below).retrieved(v)):
            return factor
    low, high = 1.0, 2.0
    while not _scaled(problem, u, v, high).retrieved(v):
        low, high = high, 8 * high
        if low > WIDER:
            return None
    while high - low > 1e-3 * high:
        middle = (low * high) ** 0.5
        if _scaled(problem, u, v, middle).retrieved(v):
            high = middle
        else:
            low = middle
    return high


def _sentences(problem: Problem, layer: Graph, row: int, held: float, capacity: float,
               gate: Gate | None, beside: Gate | None, way: tuple[int, ...] | None,
               entry: Entry, runs: int) -> list[str]:
    name = shown(layer, row)
    said = [f"{name} holds {held:.3g} of {capacity:.3g}, so {capacity - held:.3g} are missing."
            if held > 0 else f"No mass reached {name}."]
    if way is None:
        reachable = np.isin(layer.component[row], layer.component[problem.seeds.rows])
        said.append(f"It is more than {STEPS} steps from everything retrieved." if reachable else
                    "No edges lead there from any seed.")
    elif len(way) > 2:
        said.append(f"It is {len(way) - 1} steps from the nearest retrieved node, "
                    f"{shown(layer, way[0])}; {shown(layer, way[1])} on the way there is not "
                    "full, so it sends nothing on.")
    if gate is not None and beside is not None:
        said.append(_compared(gate, beside))
    if entry.mass is not None:
        said.append(f"It would be full at mass {enough(entry.mass)}; now it is "
                    f"{runs * problem.method.mass:.4g}.")
    elif entry.full:
        said.append("More mass would not fill it: what is connected to the seeds is filled to "
                    f"{FILL:.1%} at most, and it is among the last.")
    elif np.isfinite(entry.searched):
        said.append(f"It is not full at mass {entry.searched:,.5g}; more was not tried.")
    return said


def _compared(gate: Gate, beside: Gate) -> str:
    """Which of the three factors makes one gate narrower than another from the same node."""
    ratio = beside.weight / gate.weight
    if ratio <= 1:
        return (f"The edge from {gate.source_name} to {gate.target_name} is no narrower (weight "
                f"{gate.weight:.3g}) than the one to {beside.target_name} ({beside.weight:.3g}): "
                "what comes through is shared with others.")
    parts = {f"{gate.target_name} is less like the question ({gate.alignment_target:.2g} against "
             f"{beside.alignment_target:.2g})": beside.alignment_target / gate.alignment_target,
             f"what joins it to {gate.source_name} is weaker ({gate.structure:.2g} against "
             f"{beside.structure:.2g})": beside.structure / gate.structure}
    reason = max(parts, key=lambda words: parts[words])
    return (f"The edge from {gate.source_name} to {gate.target_name} is {ratio:.3g} times narrower "
            f"than the one to {beside.target_name}, mostly because {reason}.")
