"""Tests of qafd.flow.reference: Algorithm 2 ends where the exact solver does."""

import numpy as np
import pytest
from oracles import random_graph
from solver import scatter

from qafd.errors import ParameterError
from qafd.flow import kernel
from qafd.flow.reference import ORDERS, RELEASED, Pushing, push
from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN, Gates, Weights


@pytest.fixture
def case():
    kernel.unload()
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 60, 60)
    gates = Gates(Weights.of_variant("hybrid"), alignment=rng.uniform(0.01, 1, 60))
    return graph, gates, np.array([3, 9]), np.array([9.0, 11.0])


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_converges_to_the_exact_solution(case, order):
    trace = push(*case, "unit", Pushing(order, 1e-9))
    exact = solve(*case, "unit")
    x = np.zeros(60)
    x[trace.rows] = trace.x
    assert trace.converged
    assert x == pytest.approx(scatter(exact, exact.x), abs=1e-8)
    assert trace.objective[-1] == pytest.approx(exact.certificate.objective, rel=1e-12)
    assert trace.mass.sum() == pytest.approx(20.0)


@pytest.mark.parametrize("order", ORDERS)
def test_no_push_raises_the_objective_or_the_excess(case, order):
    trace = push(*case, "unit", Pushing(order, 1e-6))
    assert np.all(np.diff(trace.objective, prepend=0.0) <= 1e-12)
    assert np.all(np.diff(trace.excess, prepend=18.0) <= 1e-12)
    assert trace.objective[30] < trace.objective[10] < trace.objective[0] < 0


def test_the_released_behavior_leaves_most_of_a_large_mass_where_it_is():
    graph = random_graph(np.random.default_rng(1), 2000, 6000)
    trace = push(graph, PLAIN, np.array([0]), np.array([1e9]), "degree", RELEASED)
    assert len(trace.node) == RELEASED.most_pushes
    assert not trace.converged
    assert trace.excess[-1] > 0.5 * trace.source


def test_random_pushes_repeat_with_the_same_seed(case):
    one, two = (push(*case, pushing=Pushing(seed=4)) for _ in range(2))
    assert one.node.tolist() == two.node.tolist()


def test_largest_excess_first_always_pushes_the_largest(case):
    trace = push(*case, "unit", Pushing("largest", 1e-3))
    assert trace.amount[0] == pytest.approx(10.0)
    assert trace.amount[1] >= 8.0
    fifo = push(*case, "unit", Pushing("fifo", 1e-3))
    assert fifo.amount[0] == pytest.approx(8.0)


def test_a_source_that_fits_needs_no_push(case):
    graph, gates, rows, _ = case
    trace = push(graph, gates, rows, np.array([0.5, 1.0]))
    assert (len(trace.node), trace.converged) == (0, True)


@pytest.mark.parametrize("options", [{"order": "newest"}, {"epsilon": 0.0}])
def test_options_out_of_range_are_refused(case, options):
    with pytest.raises(ParameterError):
        push(*case, pushing=Pushing(**options))
