"""Sweeps: one exact solve per combination of source mass, number of seeds and edge weight."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.solver import Diffusion, solve
from qafd.graph import Graph, kind_bit
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import FlowDiffusion, Problem, importance_of
from qafd.retrieve.rank import Ranking, rank

RECALL_AT = 5


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


def sweep(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion, masses: Sequence[float],
          seeds: Sequence[int], variants: Sequence[str], gold: Iterable[str] = (),
          progress: Callable[[float], object] = lambda _: None) -> tuple[Cell, ...]:
    """Every combination, in the order variant, seeds, mass.

    What solves have in common is computed once: seeds and gates for all masses. A question with
    subqueries is swept as a whole.

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
    total = len(masses) * len(seeds) * len(variants)
    if not total:
        raise ParameterError("a sweep needs at least one mass, one number of seeds and one weight")
    graph = corpus.graph
    answers = _rows_of(graph, gold)
    relevant = _relevant(graph, answers)
    sink = graph.capacity(method.capacity)
    cells = []
    for variant in variants:
        for count in seeds:
            problem = replace(method, seeds=count, variant=variant).problem(corpus, plan)
            unit = problem.per_unit()
            for mass in masses:
                began = time.perf_counter()
                diffusion = solve(problem.layer, problem.gates, problem.seeds.rows, mass * unit,
                                  method.capacity)
                spent = 1000 * (time.perf_counter() - began)
                cell = Cell(mass, count, variant, len(diffusion.support),
                            int(graph.tokens[diffusion.support].sum()), spent,
                            converged=diffusion.converged)
                if len(answers):
                    order = rank(problem.layer, corpus.passages, problem.found,
                                 importance_of(graph, diffusion, method.layer),
                                 Ranking.suited(problem.seeds.certainty)).rows
                    cell = replace(
                        cell, recall=float(np.isin(answers, order[:RECALL_AT]).mean()),
                        leakage=leakage(diffusion, relevant, sink))
                cells.append(cell)
                progress(len(cells) / total)
    return tuple(cells)


def leakage(diffusion: Diffusion, relevant: Nodes, sink: Floats) -> float:
    """Capacity retrieved outside the relevant rows over the capacity of these, Eq. (9)."""
    outside = np.setdiff1d(diffusion.support, relevant)
    return float(sink[outside].sum() / sink[relevant].sum())


def masses_for(problem: Problem, count: int = 8) -> tuple[float, ...]:
    """Masses worth sweeping, evenly spaced by ratio up to where more changes nothing.

    The method's own mass takes the place of the nearest, so that a sweep has the settings it began
    with.
    """
    method, high, (first, _) = problem.method, problem.end(), problem.span()
    spread = np.geomspace(max(high / 50, min(first, high / 2)), high, count)
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
            raise ParameterError("{node!r} is no passage of this graph; name passages by their id",
                                 node=node)
        rows.append(row)
    return np.array(sorted(set(rows)), np.int64)


def _relevant(graph: Graph, answers: Nodes) -> Nodes:
    """The gold passages and the names they mention."""
    frontier = graph.expand(answers)
    named = frontier.neighbors[(frontier.edge_kinds & kind_bit("mention")) > 0]
    return np.union1d(answers, named).astype(np.int64)
