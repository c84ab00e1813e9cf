"""Sweeps: one exact solve per combination of source mass, number of seeds and edge weight."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import Graph, kind_bit
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import FlowDiffusion, Problem, importance_of
from qafd.retrieve.rank import Ranking, rank

RECALL_AT = 5
MASSES = 8


@dataclass(frozen=True)
class Cell:
    """One solve of a sweep.

    `mass` is the value of the method's mass (nodes, or alpha, by its rule), `seeds` is N; `size`
    counts retrieved nodes, `tokens` those of their texts; `milliseconds` is the time of the solve.
    Where gold passages are named, `recall` is their share among the 5 best passages, and
    `leakage` the capacity retrieved outside the gold passages and their names, relative to the
    capacity of these (the left side of Eq. 9).
    """

    mass: float
    seeds: int
    variant: str
    size: int
    tokens: int
    milliseconds: float
    recall: float | None = None
    leakage: float | None = None
    converged: bool = True


@dataclass(frozen=True)
class Grid:
    """The settings of a sweep: every mass with every number of seeds and every edge weight."""

    masses: Sequence[float]
    seeds: Sequence[int]
    variants: Sequence[str]

    def __len__(self) -> int:
        return len(self.masses) * len(self.seeds) * len(self.variants)


def sweep(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion, grid: Grid,
          gold: Iterable[str] = (), progress: Callable[[float], object] = lambda _: None,
          ) -> tuple[Cell, ...]:
    """Solve every combination, in the order variant, seeds, mass.

    Seeds and gates are computed once for all masses. Further questions are
    left out.

    Parameters
    ----------
    method : FlowDiffusion
        All other parameters.
    gold : iterable of str
        Ids of the passages that answer the question.
    progress : callable
        Called with the share that is done, in (0, 1].

    Raises
    ------
    ParameterError
        When there is nothing to sweep, a value is out of its range or a gold id is no passage.
    """
    if not len(grid):
        raise ParameterError("a sweep needs at least one mass, one number of seeds and one weight")
    graph = corpus.graph
    answers = _rows_of(graph, gold)
    relevant = _find_relevant(graph, answers)
    sink = graph.capacity(method.capacity)
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
                cell = Cell(mass, count, variant, len(support), int(graph.tokens[support].sum()),
                            spent, converged=all(solution.converged for solution in solved))
                if len(answers):
                    x = sum((importance_of(graph, solution, method.layer) for solution in solved),
                            np.zeros(len(graph)))
                    order = rank(corpus.passages, problem.found, x,
                                 Ranking.for_certainty(problem.seeds.certainty), RECALL_AT).rows
                    cell = replace(
                        cell, recall=float(np.isin(answers, order).mean()),
                        leakage=leakage(support, relevant, sink))
                cells.append(cell)
                progress(len(cells) / len(grid))
    return tuple(cells)


def leakage(support: Nodes, relevant: Nodes, sink: Floats) -> float:
    """Return the capacity retrieved outside the relevant rows over the capacity of these, Eq. (9)."""
    outside = np.setdiff1d(support, relevant)
    return float(sink[outside].sum() / sink[relevant].sum())


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


def _rows_of(graph: Graph, gold: Iterable[str]) -> Nodes:
    rows = []
    for node in gold:
        row = graph.row.get(node, -1)
        if row < 0 or graph.kinds[row] != "passage":
            raise ParameterError(f"{node!r} is not a passage of this graph; name passages by "
                                 "their id")
        rows.append(row)
    return np.array(sorted(set(rows)), np.int64)


def _find_relevant(graph: Graph, answers: Nodes) -> Nodes:
    """Return the gold passages and the names they mention."""
    frontier = graph.expand(answers)
    named = frontier.neighbors[(frontier.edge_kinds & kind_bit("mention")) > 0]
    return np.union1d(answers, named).astype(np.int64)
