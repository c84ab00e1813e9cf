"""The entry timeline: the mass at which each node fills."""

from dataclasses import dataclass

from qafd.explain.paths import row_name
from qafd.flow.homotopy import entry_alphas
from qafd.retrieve.qafd import Problem

QUICK = 400  # nodes that a timeline shows at most


@dataclass(frozen=True)
class TimelineEntry:
    """A node that fills when the method's mass reaches `mass`."""

    id: str
    name: str
    kind: str
    mass: float
    seed: bool


@dataclass(frozen=True)
class Timeline:
    """Entries in order, up to a mass, and the one that follows."""

    entries: tuple[TimelineEntry, ...]
    up_to: float
    next_name: str = ""
    next_mass: float | None = None


def timeline(problem: Problem, up_to: float) -> Timeline:
    """Find every node that fills up to a mass, in the units of the method's control."""
    graph, unit = problem.layer, problem.per_unit()
    joined = graph.degree_of(problem.seeds.rows) > 0
    rows, unit = problem.seeds.rows[joined], unit[joined]
    if not len(rows):
        return Timeline((), up_to)
    path = entry_alphas(graph, problem.gates, rows, unit, problem.method.capacity, up_to)
    seeds = set(rows.tolist())
    entries = tuple(
        TimelineEntry(graph.ids[row], row_name(graph, row), str(graph.kinds[row]), mass, row in seeds)
        for row, mass in zip(path.rows.tolist(), path.alphas.tolist(), strict=True))
    name = "" if path.next_row is None else row_name(graph, path.next_row)
    return Timeline(entries, up_to, name, path.next_alpha)


def reach(problem: Problem, highest: float) -> float:
    """Halve the mass `highest` until at most `QUICK` nodes fill."""
    while len(problem.at(highest).support) > QUICK:
        highest /= 2
    return highest
