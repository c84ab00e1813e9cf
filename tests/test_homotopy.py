"""Tests of qafd.flow.homotopy: every breakpoint against direct solves on both sides of it."""

import numpy as np
import pytest
from oracles import random_graph
from solver import problem

from qafd.flow import kernel
from qafd.flow.homotopy import entry_alphas, local_problem
from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN, VARIANTS, Gates, Weights
from qafd.graph import Graph


@pytest.fixture(autouse=True)
def _numpy():
    kernel.unload()


@pytest.mark.parametrize(("shown", "rows", "leak"), [
    (None, [0, 1, 2, 3, 4], [0, 0]), (np.array([3]), [0, 1, 3], [3, 4]), (np.array([], int), [0, 1], [5, 4])])
def test_neighbors_that_are_not_shown_are_leaks(shown, rows, leak):
    """a - b are full; a has neighbors c and d behind weights 3 and 2, b has e behind 4."""
    graph = Graph.build("abcde", [0, 0, 0, 1], [1, 2, 3, 4], [9.0, 3.0, 2.0, 4.0])
    found = local_problem(graph, PLAIN, np.array([0]), np.array([3.0]), shown)
    assert sorted(found.rows.tolist()) == rows
    assert (sorted(found.rows[:found.size].tolist()), len(found.u)) == ([0, 1], len(rows) - 1)
    assert [found.leak[found.rows.tolist().index(row)] for row in (0, 1)] == leak


def assert_path_is_solved(graph, gates, rows, direction, capacity, up_to):
    """Between any two breakpoints a direct solve retrieves the nodes that have entered."""
    path = entry_alphas(graph, gates, rows, direction, capacity, up_to)
    breaks = np.unique([0.0, *path.alphas, up_to])
    for alpha in [*(breaks[1:] + breaks[:-1]) / 2, up_to]:
        direct = solve(graph, gates, rows, alpha * direction, capacity)
        assert set(path.rows[path.alphas <= alpha].tolist()) == set(direct.support.tolist())
    return path


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_interval_agrees_with_direct_solves(variant):
    for seed in range(1, 40, 3):
        p = problem(variant, seed, 25)
        direction = np.linspace(0.5, 1, len(p.rows))
        up_to = 0.6 * float(p.sink.sum()) / len(p.rows)
        assert_path_is_solved(p.graph, p.gates, p.rows, direction, p.capacity, up_to)


def test_components_are_independent_and_stop_where_they_are_full():
    """Chains a - b - c and d - e - f - g: alpha 5 is 5 units and 2.5 units."""
    graph = Graph.build("abcdefg", [0, 1, 3, 4, 5], [1, 2, 4, 5, 6])
    seeds, direction = np.array([0, 3]), np.array([1.0, 0.5])
    path = assert_path_is_solved(graph, PLAIN, seeds, direction, "unit", 5.0)
    assert (path.next_row, path.next_alpha) == (5, pytest.approx(6.0))
    nearly_full = assert_path_is_solved(graph, PLAIN, seeds, direction, "unit", 7.0)
    assert nearly_full.next_row is None


def test_the_next_node_beyond_the_path_enters_where_it_says():
    rng = np.random.default_rng(0)
    for _ in range(10):
        graph = random_graph(rng, 60, 60)
        gates = Gates(Weights.of_variant("hybrid"), alignment=rng.uniform(0.01, 1, 60))
        rows, direction = np.array([1, 30]), np.array([1.0, 0.1])
        path = entry_alphas(graph, gates, rows, direction, "unit", 9.0)
        further = entry_alphas(graph, gates, rows, direction, "unit", path.next_alpha * 1.001)
        place = further.rows.tolist().index(path.next_row)
        assert further.alphas[place] == pytest.approx(path.next_alpha, rel=1e-9)
