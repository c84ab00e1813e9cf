"""The entry timeline: at which mass each node fills, in the lane of the seed that brings it."""

from dataclasses import dataclass

from qafd.explain.paths import shown
from qafd.flow.homotopy import entry_alphas
from qafd.flow.solver import Diffusion, solve
from qafd.retrieve.qafd import Problem

QUICK = 400  # full nodes up to which a timeline is


@dataclass(frozen=True)
class TimelineEntry:
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
    """Entries in order, up to a mass, and the one that follows."""

    entries: tuple[TimelineEntry, ...]
    up_to: float
    next_name: str = ""
    next_mass: float | None = None


def timeline(problem: Problem, up_to: float) -> Timeline:
    """Every node that fills up to a mass, in the units of the method's control."""
    graph, unit = problem.layer, problem.per_unit()
    joined = graph.degree_of(problem.seeds.rows) > 0
    rows, unit = problem.seeds.rows[joined], unit[joined]
    if not len(rows):
        return Timeline((), up_to)
    path = entry_alphas(graph, problem.gates, rows, unit, problem.method.capacity, up_to)
    last = solve(graph, problem.gates, rows, up_to * unit, problem.method.capacity)
    above = upstream(last)
    seeds = set(rows.tolist())
    entries = tuple(
        TimelineEntry(graph.ids[row], shown(graph, row), str(graph.kinds[row]), mass,
              shown(graph, above[row]), row in seeds)
        for row, mass in zip(path.rows.tolist(), path.alphas.tolist(), strict=True))
    name = "" if path.next_row is None else shown(graph, path.next_row)
    return Timeline(entries, up_to, name, path.next_alpha)


def upstream(diffusion: Diffusion) -> dict[int, int]:
    """For every touched row the first seed upstream along the strongest inflows."""
    origin, source = diffusion.origin.tolist(), diffusion.source.tolist()
    above = {}
    for i, row in enumerate(diffusion.rows.tolist()):
        at = i
        while not source[at] and origin[at] >= 0:
            at = origin[at]
        above[row] = int(diffusion.rows[at])
    return above


def reach(problem: Problem, highest: float) -> float:
    """A mass up to which a timeline is quick: `highest`, halved until `QUICK` nodes fill at most."""
    while len(problem.at(highest).support) > QUICK:
        highest /= 2
    return highest
