"""The settings of the flow diffusion: what it starts with, and what is suggested for a graph."""

from dataclasses import replace

import numpy as np
import pytest

from qafd.errors import ParameterError
from qafd.flow.solver import solve
from qafd.graph import Graph
from qafd.knowledge import read_corpus
from qafd.retrieve.qafd import PRESETS, FlowDiffusion, _foremost_first

NAMES, NODES = 105, 119  # of the sample apple-amazon
QUESTION = "Introduce Steve Jobs's products in Apple."


def test_nodes_of_equal_importance_and_mass_are_in_the_order_of_their_ids():
    layer, x, mass = Graph.build("badc"), np.array([1.0, 1, 2, 1]), np.array([1.0, 1, 0, 2])
    assert [layer.ids[at] for at in _foremost_first(layer, np.arange(4), x, mass)] == list("dcab")


def test_a_closed_graph_is_refused_and_one_part_of_the_hybrid_weight_is_not():
    with pytest.raises(ParameterError):
        FlowDiffusion(variant="hybrid", a=0.0, b=0.0)
    assert FlowDiffusion(variant="hybrid", a=0.0).b == 0.25
    assert FlowDiffusion(variant="hybrid", b=0.0).a == 1.0


@pytest.mark.parametrize(("method", "mass", "seeds"), [
    (FlowDiffusion(), 30, 5),  # a quarter of 119 nodes
    (FlowDiffusion(mass=7), 7, 5),
    (FlowDiffusion(rule="total"), 30, 5),
    (PRESETS["paper"].method, 50, 40),
    (replace(PRESETS["paper"].method, seeds=5), 50, 5),
    (replace(PRESETS["best"].method, rule="source-degree"), 50, 5)])
def test_a_small_graph_gets_less_mass_and_keyword_seeds_for_half_of_its_names(
        method, mass, seeds, apple):
    fitted = method.fit_to(apple.graph)
    assert (fitted.mass, fitted.seeds) == (mass, seeds)


@pytest.mark.parametrize(("method", "high"), [
    (FlowDiffusion(), NODES), (FlowDiffusion(rule="total"), NODES),
    (FlowDiffusion(rule="source-degree"), 100), (FlowDiffusion(rule="source-unit"), 100),
    (FlowDiffusion(rule="total", capacity="tokens"), 1_000_000)])
def test_the_control_of_the_mass_ends_where_all_is_full(method, high, apple):
    held = apple.graph.total_capacity("tokens")
    assert method.highest(apple.graph) == min(high, held, 8000 if method.rule == "total" else 150)


def problem_of(method, knowledge, question=QUESTION):
    graph = knowledge.graph
    return method.problem(read_corpus(knowledge, graph, method.needs), knowledge.plan(question, graph))


def test_seed_by_seed_is_one_problem_a_seed_with_its_own_mass(apple):
    problem = problem_of(FlowDiffusion(seeds=2, diffusions="each"), apple)
    alone = problem.seed_by_seed()
    assert [each.seeds.rows.tolist() for each in alone] == [[row] for row in problem.seeds.rows.tolist()]
    assert np.concatenate([each.mass for each in alone]) == pytest.approx(problem.mass)
    assert alone[0].seed_by_seed() == [alone[0]]
    pair = problem_of(FlowDiffusion(seeds=0), apple, "Who is Steve Jobs of Apple?")
    assert len(pair.seeds.rows) == len(pair.seed_by_seed()) == 2


@pytest.mark.parametrize("diffusions", ["joint", "each"])
def test_nothing_fills_below_the_span_and_all_is_full_at_its_end(diffusions, apple):
    problem = problem_of(FlowDiffusion(diffusions=diffusions), apple)
    low, high = problem.span()
    assert 0 < low < high
    parts = problem.seed_by_seed() if diffusions == "each" else [problem]

    def full(mass):
        found = [solve(each.layer, each.gates, each.seeds.rows, mass * each.per_unit(), "unit")
                 for each in parts]
        return max(int((one.mass >= 1 - 1e-9).sum()) for one in found)

    assert full(0.99 * low) == 0 < full(1.01 * low)
    assert np.ptp(apple.graph.component) == 0  # of one part, where 99.9% are poured at most
    assert full(0.95 * high) < NODES - 1 == full(high)
