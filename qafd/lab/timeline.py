"""The entry timeline: at which mass each node fills, in the lane of the seed that brings it."""

from dataclasses import dataclass

from qafd.diffusion import Diffusion, solve
from qafd.explain.paths import shown
from qafd.homotopy import entry_alphas
from qafd.retrieve.qafd import Problem


@dataclass(frozen=True)
class Entry:
    """A node fills when the method's mass reaches `mass`.

    `lane` is the name of the first seed met when going upstream along the strongest inflows, at
    the end of the timeline; flow runs downhill, so this walk ends.
    """

    id: str
    name: str
    kind: str
    mass: float
    lane: str
    seed: bool


@dataclass(frozen=True)
class Timeline:
    """Entries in order, up to a mass; `full_at` is where some component is full."""

    entries: tuple[Entry, ...]
    up_to: float
    full_at: float
    next_name: str = ""
    next_mass: float | None = None


def timeline(problem: Problem, up_to: float) -> Timeline:
    """Every node that fills up to a mass, in the units of the method's control."""
    graph, unit = problem.layer, problem.per_unit()
    joined = graph.degree_of(problem.seeds.rows) > 0
    rows, unit = problem.seeds.rows[joined], unit[joined]
    if not len(rows):
        return Timeline((), up_to, float("inf"))
    path = entry_alphas(graph, problem.gates, rows, unit, problem.method.capacity, up_to)
    last = solve(graph, problem.gates, rows, up_to * unit, problem.method.capacity)
    above = upstream(last)
    seeds = set(rows.tolist())
    entries = tuple(
        Entry(graph.ids[row], shown(graph, row), str(graph.kinds[row]), mass,
              shown(graph, above[row]), row in seeds)
        for row, mass in zip(path.rows.tolist(), path.alphas.tolist(), strict=True))
    name = "" if path.next_row is None else shown(graph, path.next_row)
    return Timeline(entries, up_to, path.full_at, name, path.next_alpha)


def upstream(diffusion: Diffusion) -> dict[int, int]:
    """For every touched row the first seed upstream along the strongest inflows."""
    inflow: dict[int, tuple[float, int]] = {}
    for u, v, flow in zip(diffusion.u.tolist(), diffusion.v.tolist(), diffusion.flow.tolist(),
                          strict=True):
        if flow > inflow.get(v, (0.0, -1))[0]:
            inflow[v] = (flow, u)
    source = diffusion.source.tolist()
    above = {}
    for i, row in enumerate(diffusion.rows.tolist()):
        at = i
        while not source[at] and at in inflow:
            at = inflow[at][1]
        above[row] = int(diffusion.rows[at])
    return above


def reach(problem: Problem, highest: float, most: int = 400) -> float:
    """A mass up to which a timeline is quick: `highest`, halved until `most` nodes fill at most."""
    graph, unit = problem.layer, problem.per_unit()
    while len(solve(graph, problem.gates, problem.seeds.rows, highest * unit,
                    problem.method.capacity).support) > most:
        highest /= 2
    return highest
