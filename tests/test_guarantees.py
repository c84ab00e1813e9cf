"""Tests of qafd.flow.guarantees: where the theorems hold they hold, and where they fail it shows."""

import numpy as np
import pytest

from qafd.errors import ParameterError
from qafd.flow.guarantees import Model, draw, measure_draw

SMALL = Model(nodes=240, relevant=24, inside=0.4, outside=0.4)


def measure(model, draws, seed, **options):
    rng = np.random.default_rng(seed)
    return [measure_draw(model, rng, **options) for _ in range(draws)]


def of(**changes):
    return Model(**{**SMALL.__dict__, **changes})


def test_the_planted_set_has_the_stated_edge_probabilities():
    one = draw(of(across=0.05), np.random.default_rng(0))
    start = np.repeat(np.arange(240), one.graph.degree)
    u, v = start < 24, one.graph.neighbors < 24
    assert (u & v).sum() / (24 * 23) == pytest.approx(0.4, abs=0.08)
    assert (u & ~v).sum() / (24 * 216) == pytest.approx(0.05, abs=0.015)


def test_weights_separate_when_means_are_far_apart_and_gamma_is_between_its_bounds():
    assert all(row.separated for row in measure(SMALL, 5, 1))


def test_gamma_zero_meets_the_hypothesis_of_lemma_6_and_separates_nothing():
    rows = measure(of(gamma=0.0), 3, 2)
    assert {(row.smallest_inside, row.largest_across) for row in rows} == {(1.0, 1.0)}


def test_theorem_7_covers_the_planted_set_and_leaks_at_most_beta():
    rows = measure(SMALL, 10, 3, beta=0.2)
    assert all(row.covered and row.within_bound for row in rows if row.connected)
    assert sum(row.connected for row in rows) >= 8


def test_theorem_7_needs_the_source_in_the_planted_set():
    rows = measure(SMALL, 5, 4, source_inside=False)
    assert not any(row.covered for row in rows)
    assert all(row.leakage > 0.2 for row in rows)


def test_without_gates_the_set_is_not_covered():
    rows = measure(of(gamma=0.0), 5, 5)
    assert not any(row.covered for row in rows)


def test_recovery_is_monotone_in_the_separation():
    shares = [np.mean([row.share for row in measure(of(separation=s), 5, 6)])
              for s in (0.0, 8.0, 20.0)]
    assert shares[0] < shares[1] <= shares[2]


@pytest.mark.parametrize("changes", [
    {"relevant": 1}, {"relevant": 240}, {"inside": 1.5}, {"across": -0.1}, {"gamma": -1.0}])
def test_a_model_out_of_range_is_refused(changes):
    with pytest.raises(ParameterError):
        of(**changes)
