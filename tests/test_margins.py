"""The two numbers of Lemma 6 and the leakage of a retrieval, against chains solved by hand."""

import numpy as np
import pytest
from test_verify import stored

from qafd.explain.margins import Margins, measure_margins
from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN
from qafd.graph import Graph
from qafd.retrieve.base import Retrieval
from qafd.runs.stored import record_of
from qafd.wording.explanations import say_margins


def retrieve(weights, seeds, mass):
    """A diffusion on a chain with these weights."""
    graph = Graph.build([str(i) for i in range(len(weights) + 1)], source_rows=range(len(weights)),
                        target_rows=range(1, len(weights) + 1), similarity=weights)
    return record_of(Retrieval, stored(graph, seeds, mass), "the retrieval")


@pytest.mark.parametrize(("weights", "inside", "across", "noise", "asked"), [
    ([2.0, 1.0], 2.0, 1.0, 1 / 3, 0.2), ([1.0, 2.0], 1.0, 2.0, 0.0, 0.1), ([1.0, 1.0], 1.0, 1.0, 0.0, 0.1),
    ([9.0, 1.0], 9.0, 1.0, 0.8, 0.9), ([11.0, 1.0], 11.0, 1.0, 10 / 12, 1.1)])
def test_2_5_units_fill_two_nodes_and_leave_a_half_outside(weights, inside, across, noise, asked):
    found = measure_margins(retrieve(weights, [0], 2.5))
    assert (found.size, found.inside, found.across) == (2, inside, across)
    assert found.noise == pytest.approx(noise)
    assert found.leakage == pytest.approx(0.25)
    assert found.asked == pytest.approx(asked)  # inside .25 / (1.25 * 2 nodes * 1 edge)
    assert (found.connected, found.source_inside) == (True, True)
    words = say_margins(found)[0]
    assert ("as Lemma 6 asks" in words) == (noise > 0)
    assert f"up to noise of {noise:.0%}" in words
    assert f"{asked:.2g} on edges" in words
    assert ("does not hold" in words) == (across > asked)


def test_with_the_weights_that_the_proof_asks_for_any_source_inside_covers_the_set():
    """Random trees of 6 nodes, joined by 3 edges to 6 others, with unit capacities."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        u = [*range(1, 6), *rng.integers(0, 6, 3), *range(7, 12)]
        v = [*(int(rng.integers(0, i)) for i in range(1, 6)), *rng.integers(6, 12, 3), *range(6, 11)]
        inside = rng.uniform(0.1, 1, 5)
        beta = rng.uniform(0.05, 0.9)
        asked = Margins(6, inside.min(), 0.0, 3, True, True, beta).asked
        graph = Graph.build([str(i) for i in range(12)], source_rows=u, target_rows=v,
                            similarity=[*inside, asked, asked, asked, *rng.uniform(0.1, 1, 5)])
        for source in range(6):
            found = solve(graph, PLAIN, np.array([source]), np.array([6 * (1 + beta)]))
            assert set(found.support.tolist()) >= set(range(6))


def test_two_islands_are_not_connected_and_a_wet_seed_is_outside():
    apart = measure_margins(retrieve([1.0, 1.0, 1.0, 1.0], [0, 4], 3.0))
    assert (apart.size, apart.connected, apart.source_inside) == (2, False, True)
    assert apart.leakage == pytest.approx(0.5)
    wet = measure_margins(retrieve([1.0, 1.0], [0, 2], 1.6))
    assert (wet.size, wet.source_inside, wet.leakage) == (0, False, 0.0)
    assert say_margins(wet) == []


def test_by_conservation_the_leakage_is_the_surplus_of_the_source():
    for seed in range(5):
        weights = np.random.default_rng(seed).uniform(0.1, 1, 20)
        retrieval = retrieve(weights.tolist(), [9], 7.3)
        found = measure_margins(retrieval)
        held = sum(node.capacity for node in retrieval.retrieved)
        assert found.leakage == pytest.approx(7.3 / held - 1)
