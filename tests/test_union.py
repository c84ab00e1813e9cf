"""Tests of qafd.flow.union: parts add up, and every node remembers who brought it."""

import numpy as np
import pytest
from oracles import random_graph

from qafd.errors import ParameterError
from qafd.flow.solver import solve
from qafd.flow.union import union
from qafd.flow.weights import PLAIN, Gates, Weights
from qafd.graph import Graph


def test_two_seeds_of_a_chain_by_hand():
    """a - b - c with 1.5 on a and on c: each keeps 1 and sends 0.5 to b."""
    graph = Graph.build("abc", None, None, [0, 1], [1, 2])
    both = union([solve(graph, PLAIN, np.array([seed]), np.array([1.5])) for seed in (0, 2)])
    assert both.mass == pytest.approx([1.0, 1.0, 1.0])
    assert both.x == pytest.approx([0.5, 0.0, 0.5])
    assert both.brought_by == ((0,), (), (1,))
    assert [(int(u), int(v)) for u, v in zip(both.u, both.v, strict=True)] == [(0, 1), (2, 1)]
    assert both.support.tolist() == [0, 2]


def test_opposite_flows_cancel_and_mass_is_neither_made_nor_lost():
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 80, 120)
    gates = Gates(Weights.of_variant("hybrid"), alignment=rng.uniform(0.01, 1, 80))
    whole = union([solve(graph, gates, np.array([seed]), np.array([mass]))
                   for seed, mass in ((1, 9.0), (5, 12.0), (60, 4.0))])
    balance = whole.source.copy()
    np.subtract.at(balance, whole.u, whole.flow)
    np.add.at(balance, whole.v, whole.flow)
    assert balance == pytest.approx(whole.mass, abs=1e-12)
    assert set(whole.support.tolist()) == set().union(
        *(part.support.tolist() for part in whole.parts))


def test_subqueries_with_other_gates_are_united():
    graph = Graph.build("abc", None, None, [0, 0], [1, 2])
    parts = [solve(graph, Gates(Weights.of_variant("product"), alignment=np.array(s)), np.array([0]),
                   np.array([2.4])) for s in ([1, 1, 1e-3], [1, 1e-3, 1])]
    assert union(parts).brought_by == ((0, 1), (0,), (1,))


def test_no_parts_are_refused():
    with pytest.raises(ParameterError):
        union([])
