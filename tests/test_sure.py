"""Sure and possible nodes: what mass between two bounds retrieves lies between their supports."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solver import problem, scatter

from qafd.explain import CERTAIN
from qafd.flow.solver import solve
from qafd.flow.weights import VARIANTS
from qafd.view.drawing import Drawing, Look
from qafd.view.panel import panel_data
from qafd.view.placement import freeze

QUESTION = "Introduce Steve Jobs's products in Apple."


@given(st.integers(0, 10_000), st.sampled_from(VARIANTS), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_any_mass_of_doubtful_seeds_retrieves_the_sure_nodes_and_none_that_is_not_possible(
        seed, variant, doubts):
    case = problem(variant, seed, 20)
    room = 0.9 * case.sink.sum()  # so that no component is capped
    mass = case.mass * min(1.0, room / case.mass.sum())
    certain = np.arange(len(mass)) == 0
    least = np.where(certain, mass, 0.0)
    between = np.where(certain, mass, mass * np.array(doubts)[:len(mass)])
    found = []
    for poured in (least, between, mass):
        solution = solve(case.graph, case.gates, case.rows, poured, case.capacity)
        if solution.saturated:
            return
        found.append((set(solution.support.tolist()), scatter(solution, solution.x)))
    assert found[0][0] <= found[1][0] <= found[2][0]
    assert np.all(found[0][1] <= found[1][1] * (1 + 1e-6) + 1e-9)
    assert np.all(found[1][1] <= found[2][1] * (1 + 1e-6) + 1e-9)


@pytest.fixture(scope="module")
def told(apple):
    return apple.explain(QUESTION)


def test_possible_nodes_are_those_that_the_names_alone_do_not_retrieve(told):
    run = told.runs[0]
    kinds = [why.kind in CERTAIN for why in run.problem.seeds.reasons]
    assert any(kinds)
    assert not all(kinds)
    names = np.flatnonzero(kinds)
    alone = solve(run.problem.layer, run.problem.gates, run.problem.seeds.rows[names],
                  run.problem.mass[names], run.problem.method.capacity)
    full = {node.id for node in told.retrieval.retrieved}
    sure = {told.graph.ids[row] for row in alone.support.tolist()}
    assert sure <= full
    assert told.possible == full - sure
    assert told.possible


def test_of_keyword_seeds_none_is_sure_and_with_names_alone_all_are(apple):
    by_keywords = apple.explain(QUESTION, seeding="keywords")
    assert by_keywords.possible == {node.id for node in by_keywords.retrieval.retrieved}
    named = apple.explain(QUESTION, seeds=0)
    assert named.possible == frozenset()
    assert named.retrieval.retrieved


def test_possible_nodes_are_marked_in_the_picture(told):
    drawn = panel_data([told.retrieval], Drawing(), positions=freeze([told.retrieval], ())[0],
                       look=Look(possible=told.possible))
    marked = {drawn["nodes"][node["n"]]["id"] for node in drawn["panels"][0]["nodes"] if node.get("possible")}
    assert marked == told.possible
