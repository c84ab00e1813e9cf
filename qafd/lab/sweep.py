"""Sweeps: one exact solve per combination of source mass, number of seeds and edge weight."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import FlowDiffusion, Problem
from qafd.time_left import ignore_progress

MASSES = 8
QUICK = 400  # nodes that a timeline shows at most


@dataclass(frozen=True)
class Cell:
    """One solve of a sweep.

    `mass` is the value of the method's mass (nodes, or alpha, by its rule), `seeds` is N; `size`
    counts retrieved nodes, `tokens` those of their texts; `milliseconds` is the time of the solve.
    """

    mass: float
    seeds: int
    variant: str
    size: int
    tokens: int
    milliseconds: float
    converged: bool


@dataclass(frozen=True)
class Grid:
    """The settings of a sweep: every mass with every number of seeds and every edge weight."""

    masses: Sequence[float]
    seeds: Sequence[int]
    variants: Sequence[str]

    def __len__(self) -> int:
        return len(self.masses) * len(self.seeds) * len(self.variants)


def sweep(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion, grid: Grid,
          progress: Callable[[float], object] = ignore_progress) -> tuple[Cell, ...]:
    """Solve every combination, in the order variant, seeds, mass.

    Seeds and gates are computed once for all masses. Further questions are
    left out.

    Parameters
    ----------
    method : FlowDiffusion
        All other parameters.
    progress : callable
        Called with the share that is done, in (0, 1].

    Raises
    ------
    ParameterError
        When there is nothing to sweep, or a value is out of its range.
    """
    if not len(grid):
        raise ParameterError("a sweep needs at least one mass, one number of seeds and one weight")
    graph = corpus.graph
    cells = []
    for variant in grid.variants:
        for count in grid.seeds:
            problem = replace(method, seeds=count, variant=variant).problem(corpus, plan)
            parts = problem.seed_by_seed() if method.diffusions == "each" else [problem]
            for mass in grid.masses:
                began = time.perf_counter()
                solved = [part.at(mass) for part in parts]
                spent = 1000 * (time.perf_counter() - began)
                support = np.unique(np.concatenate([solution.support for solution in solved]))
                cells.append(Cell(mass, count, variant, len(support), int(graph.tokens[support].sum()),
                                  spent, all(solution.converged for solution in solved)))
                progress(len(cells) / len(grid))
    return tuple(cells)


def masses_for(problem: Problem) -> tuple[float, ...]:
    """Choose masses, evenly spaced by ratio up to the mass from which more changes nothing.

    The method's own mass takes the place of the nearest, so that a sweep has the settings it began
    with.
    """
    method, high, (first, _) = problem.method, problem.end(), problem.span()
    spread = np.geomspace(max(high / 50, min(first, high / 2)), high, MASSES)
    if method.rule == "budget":
        spread = np.unique(np.maximum(1, np.round(spread)))
    masses = [float(f"{mass:.3g}") for mass in spread]
    if 0 < method.mass <= high:
        masses[int(np.argmin(np.abs(np.log(spread / method.mass))))] = method.mass
    return tuple(masses)


def reach(problem: Problem, highest: float) -> float:
    """Halve the mass `highest` until at most `QUICK` nodes fill."""
    while len(problem.at(highest).support) > QUICK:
        highest /= 2
    return highest
