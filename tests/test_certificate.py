"""Tests of qafd.flow.certificate on the chain a - b - c with T = 1 and Delta = 2.5 on a."""

import json
from dataclasses import replace
from math import fsum

import numpy as np
import pytest

from qafd.flow.certificate import ClaimedSolution, FlawKind, certify, flaw, net_inflow

X = np.array([2.0, 0.5, 0.0])
SOURCE = np.array([2.5, 0.0, 0.0])
ONE = np.ones(3)
U, V = np.array([0, 1]), np.array([1, 2])
CLAIM = ClaimedSolution(X, SOURCE, ONE, U, V, ONE[:2])


def check(x=X, rtol=1e-9, **claimed):
    return certify(replace(CLAIM, x=np.asarray(x), **claimed), rtol)


def kinds(certificate):
    return {flaw.kind for flaw in certificate.flaws}


def test_the_solution_is_certified_with_its_numbers():
    """F = (1.5^2 + 0.5^2) / 2 + 2 (1 - 2.5) + 0.5 = -1.25."""
    certificate = check(mass=np.array([1.0, 1.0, 0.5]), degree=np.array([1, 2, 1]))
    assert certificate.optimal
    assert certificate.objective == pytest.approx(-1.25)
    assert certificate.gap == pytest.approx(0.0, abs=1e-15)
    assert (certificate.volume, certificate.source, certificate.support) == (2.0, 2.5, 2)
    assert certificate.balance == pytest.approx([0.0])
    assert json.loads(json.dumps(certificate.to_dict()))["optimal"] is True


@pytest.mark.parametrize(("changed", "field", "amount"), [
    ({"x": [2.0, 0.4, 0.0]}, "unfilled", 0.1),
    ({"x": [1.9, 0.5, 0.0]}, "overfull", 0.1),
    ({"x": [2.0, 0.5, -0.1]}, "negative", 0.1),
])
def test_a_wrong_x_is_refused_with_the_violation(changed, field, amount):
    certificate = check(**changed)
    assert not certificate.optimal
    assert certificate.flaws
    assert getattr(certificate, field) == pytest.approx(amount)


@pytest.mark.parametrize("off", [1.5e-3, -1.5e-3], ids=["too full", "not full"])
def test_mass_off_by_more_than_the_tolerance_is_a_flaw_with_its_size(off):
    certificate = check(source=SOURCE + [off, 0, 0], rtol=1e-3)
    assert certificate.residual == pytest.approx(1.5)
    assert certificate.flaws[0].kind is FlawKind.OFF
    assert certificate.flaws[0].values == {"times": certificate.residual}


@pytest.mark.parametrize(("changed", "kind", "values"), [
    ({"x": [2.0, 0.5, -0.1]}, FlawKind.NEGATIVE, {"x": -0.1}),
    ({"x": [2.0, 0.5, 0.1]}, FlawKind.HOLDS_TOO_MUCH, {"volume": 3.0, "source": 2.5}),
    ({"x": [5e14 + 1.5, 5e14, 0.0], "weight": np.array([1.0, 1e-15]),
      "mass": np.array([1.2, 0.8, 0.5])}, FlawKind.CRUDE, {"share": 0.2})])
def test_a_flaw_has_its_numbers(changed, kind, values):
    found = {flaw.kind: flaw.values for flaw in check(**changed).flaws}
    assert found[kind] == pytest.approx(values)


def test_the_gap_of_a_wrong_x_is_measured_against_its_objective():
    """Held are .9 and 1.2, so the gap is 2 (.1) + .4 (-.2) = .12 and F = 1.36 - 2.6 = -1.24."""
    certificate = check(x=[2.0, 0.4, 0.0], rtol=1e-7)
    assert (certificate.gap, certificate.objective) == pytest.approx((0.12, -1.24))
    assert certificate.relative_gap == pytest.approx(0.12 / 1.24)
    assert (certificate.touched, certificate.edges, certificate.rtol) == (3, 2, 1e-7)


@pytest.mark.parametrize("n", [0, 2])
def test_where_nothing_flows_nothing_is_wrong(n):
    none = np.zeros(0, np.int64)
    certificate = certify(ClaimedSolution(np.zeros(n), np.zeros(n), np.ones(n), none, none, np.zeros(0)))
    assert certificate.optimal
    assert (certificate.relative_gap, certificate.overfull, certificate.balance) == (0, 0, (0,) * n)


def test_an_early_stop_is_the_first_flaw_and_the_work_is_counted():
    stop = flaw(FlawKind.EDGES_MISSING, count=9)
    certificate = certify(CLAIM, stopped=stop, rounds=7, expansions=5)
    assert (certificate.flaws, certificate.optimal) == ((stop,), False)
    assert (certificate.rounds, certificate.expansions) == (7, 5)
    assert (check().rounds, check().expansions) == (0, 0)


@pytest.mark.parametrize(("node", "through"), [
    (0, 7 * 1 + 2 * 10 + 5 * 100), (1, 2 * (10 + 1)), (2, 5 * (100 + 1))])
def test_the_rounding_of_a_mass_grows_with_all_that_passes_through_its_node(node, through):
    """Node a is joined to b by an edge of weight 2 and to c by one of 5; x = 1, 10, 100."""
    capacity = np.where(np.arange(3) == node, 1.0, 1e6)
    certificate = check(x=[1.0, 10.0, 100.0], capacity=capacity, u=np.array([1, 0]),
                        v=np.array([0, 2]), weight=np.array([2.0, 5.0]))
    assert certificate.rounding == pytest.approx(4e-15 * through)


@pytest.mark.parametrize("x", [[np.nan] * 3, [2.0, np.nan, 0.0]])
def test_what_is_not_a_number_is_refused(x):
    assert not check(x).optimal
    assert not check(mass=np.array(x)).optimal


def test_a_wrong_mass_is_refused():
    certificate = check(mass=np.array([1.0, 1.0, 0.4]))
    assert not certificate.optimal
    assert certificate.balance == pytest.approx([-0.1])


def test_a_missing_edge_of_a_retrieved_node_is_noticed():
    certificate = check(source=np.array([2.5, -0.5, 0.0]), u=U[:1], v=V[:1], weight=ONE[:1],
                        degree=np.array([1, 2, 1]))
    assert not certificate.optimal
    assert certificate.flaws[-1] == flaw(FlawKind.EDGES_MISSING, count=1)


@pytest.mark.parametrize(("mass", "optimal"), [
    ([1.0, 1.0, 0.5], True), ([1.0 + 1e-4, 1.0 - 1e-4, 0.5], True), ([1.5, 0.5, 0.5], False),
    ([1.0, 0.9, 0.5], False)])
def test_masses_that_only_rounding_excuses_are_certified_to_a_thousandth(mass, optimal):
    """Behind a gate of 1e-15 x is near 5e14, and m recomputed from it is known to 4 or so."""
    x = np.array([5e14 + 1.5, 5e14, 0.0])
    certificate = check(x, weight=np.array([1.0, 1e-15]), mass=np.array(mass))
    assert certificate.residual <= 1
    assert certificate.optimal is optimal
    assert (FlawKind.CRUDE in kinds(certificate)) is not optimal
    assert certificate.overfull == pytest.approx(max(mass) - 1)
    assert certificate.unfilled == pytest.approx(1 - min(mass[:2]), abs=1e-15)
    assert certificate.rounding == pytest.approx(4e-15 * (5e14 + 5e14), rel=0.01)


def test_flows_of_hubs_add_up_to_the_last_digits():
    """Ten hubs among 20,000 nodes, each joined to half of these; a third rounds in every sum."""
    rng = np.random.default_rng(0)
    hub, leaf = np.nonzero(rng.random((10, 20_000)) < 0.5)
    order = rng.permutation(len(hub))
    hub, leaf, flow = hub[order], leaf[order] + 10, np.where(leaf[order] % 2, 1 / 3, 1 / 7)
    down = rng.random(len(hub)) < 0.1
    found = net_inflow(np.where(down, hub, leaf), np.where(down, leaf, hub), flow, 20_010)
    exact = [fsum(np.where(down, -flow, flow)[hub == i]) for i in range(10)]
    assert found[:10] == pytest.approx(exact, rel=1e-14)
    assert found.sum() == pytest.approx(0, abs=1e-9)


def test_a_capacity_of_almost_nothing_is_measured_without_a_warning():
    assert check(x=[2e30, 0.5, 0.0], capacity=np.array([0.0, 1, 1])).rounding == np.inf
