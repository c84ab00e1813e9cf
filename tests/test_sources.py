"""Tests of qafd.flow.sources, on a star (center 0, leaves 1 to 4), a pair (5, 6) and a loner (7)."""

import numpy as np
import pytest

from qafd.errors import ParameterError
from qafd.flow.sources import FILL, fit, source_mass
from qafd.graph import Graph
from qafd.reasons import NoticeKind


@pytest.fixture
def graph():
    return Graph.build("abcdefgh", [0, 0, 0, 0, 5], [1, 2, 3, 4, 6],
                       tokens=[10, 20, 30, 40, 50, 60, 70, 80])


@pytest.mark.parametrize(("rule", "alpha", "capacity", "expected"), [
    ("source-degree", 3.0, "degree", [12.0, 3.0]),
    ("source-degree", 3.0, "unit", [3.0, 3.0]),
    ("source-unit", 3.0, "degree", [3.0, 3.0]),
    ("budget", 4.0, "unit", [2.0, 2.0]),
    ("budget", 4.0, "degree", [2 * 10 / 8, 2 * 10 / 8]),
    ("budget", 2.0, "tokens", [45.0, 45.0]),
    ("total", 3.0, "degree", [1.5, 1.5]),
    ("budget", 0.0, "unit", [0.0, 0.0]),
])
def test_each_rule_gives_the_mass_its_name_says(graph, rule, alpha, capacity, expected):
    assert source_mass(graph, np.array([0, 5]), rule, alpha, capacity) == pytest.approx(expected)


@pytest.mark.parametrize(("shares", "expected"), [
    ([3.0, 1.0], [6.0, 2.0]), ([0.375, 0.125], [6.0, 2.0]), ([0.0, 5.0], [0.0, 8.0])])
def test_shares_split_a_budget_in_their_ratio(graph, shares, expected):
    mass = source_mass(graph, np.array([0, 5]), "budget", 8.0, "unit", np.array(shares))
    assert mass == pytest.approx(expected)


@pytest.mark.parametrize("shares", [[-1.0, 3.0], [0.0, 0.0], [np.nan, 1.0]])
def test_shares_without_a_positive_sum_are_refused(graph, shares):
    with pytest.raises(ParameterError, match="shares"):
        source_mass(graph, np.array([0, 5]), shares=np.array(shares))


def test_sixty_nodes_of_unit_capacity_are_the_default(graph):
    assert source_mass(graph, np.array([0, 1, 5])) == pytest.approx([20.0, 20.0, 20.0])


@pytest.mark.parametrize("shares", [None, np.array([])])
def test_no_seeds_have_no_mass(graph, shares):
    assert source_mass(graph, np.array([], np.int64), shares=shares).tolist() == []


@pytest.mark.parametrize(("rule", "alpha"), [
    ("budget", -1.0), ("budget", np.nan), ("most", 1.0)])
def test_a_rule_that_makes_no_sense_is_refused(graph, rule, alpha):
    with pytest.raises(ParameterError):
        source_mass(graph, np.array([0]), rule, alpha)


def test_mass_that_fits_is_left_alone(graph):
    sources = fit(graph, np.array([5, 0]), np.array([1.5, 4.0]), "unit")
    assert (sources.rows.tolist(), sources.mass.tolist()) == ([0, 5], [4.0, 1.5])
    assert (sources.notices, sources.saturated) == ((), False)


def test_only_the_overfull_component_is_scaled_down_and_says_so(graph):
    sources = fit(graph, np.array([0, 1, 5]), np.array([30.0, 10.0, 1.0]), "unit")
    assert sources.mass == pytest.approx([FILL * 5 * 3 / 4, FILL * 5 / 4, 1.0])
    assert sources.saturated
    capped, = sources.notices
    assert capped.kind is NoticeKind.MASS_CAPPED_THERE
    assert capped.values == pytest.approx(
        {"count": 2, "seeds": 3, "wanted": 40.0, "room": 5.0, "poured": 4.995})
    alone, = fit(graph, np.array([0]), np.array([40.0]), "unit").notices
    assert alone.kind is NoticeKind.MASS_CAPPED


def test_a_seed_without_neighbors_stays_and_takes_no_mass(graph):
    sources = fit(graph, np.array([7, 5]), np.array([0.5, 0.5]), "unit")
    assert sources.mass.tolist() == [0.5, 0.0]
    assert sources.notices[0].kind is NoticeKind.LONE_SEEDS


def test_equal_seeds_are_added_in_one_order(graph):
    amounts = np.array([0.1, 0.2, 0.3])
    one = fit(graph, np.zeros(3, np.int64), amounts).mass
    two = fit(graph, np.zeros(3, np.int64), amounts[::-1]).mass
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(("rows", "mass"), [
    ([0], [-1.0]), ([0.5], [1.0]), ([True, False, False], [1.0] * 3),
    ([0], [np.inf]), ([0], [np.nan]), ([8], [1.0]), ([-1], [1.0]), ([0, 1], [1.0])])
def test_impossible_seeds_are_refused(graph, rows, mass):
    with pytest.raises(ParameterError):
        fit(graph, np.array(rows), np.array(mass))
