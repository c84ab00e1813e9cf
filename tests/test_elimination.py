"""Tests of qafd.flow.elimination against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from oracles import solve_exactly

from qafd.flow.elimination import eliminate


def exact(n, u, v, weight, leak, b):
    """The same system in fractions."""
    rows = [[Fraction(0)] * n + [Fraction(float(value))] for value in b]
    for i in range(n):
        rows[i][i] += Fraction(float(leak[i]))
    for i, j, w in zip(u.tolist(), v.tolist(), weight.tolist(), strict=True):
        rows[i][i] += Fraction(w)
        rows[j][j] += Fraction(w)
        rows[i][j] -= Fraction(w)
        rows[j][i] -= Fraction(w)
    return np.array([float(value) for value in solve_exactly(rows)])


@pytest.mark.parametrize("density", [0.1, 0.9], ids=["sparse", "dense"])
@pytest.mark.parametrize("seed", range(6))
def test_every_entry_is_accurate_when_weights_span_thirty_orders(density, seed):
    rng = np.random.default_rng(seed)
    n = 18
    pairs = [(i, j) for i in range(n) for j in range(i)
             if i == j + 1 or rng.random() < density]
    u, v = np.array(pairs).T
    weight = 10.0 ** rng.uniform(-30, 0, len(u))
    leak = np.where(rng.random(n) < 0.3, 10.0 ** rng.uniform(-30, 0, n), 0.0)
    leak[0] = 1e-20
    b = rng.uniform(0, 1, n)
    x = eliminate(n, u, v, weight, leak.copy(), b.copy())
    assert x == pytest.approx(exact(n, u, v, weight, leak, b), rel=1e-12, abs=0)


def test_a_dense_core_larger_than_a_panel_solves_the_system():
    rng = np.random.default_rng(1)
    n = 150
    u, v = np.triu_indices(n, 1)
    weight = rng.uniform(0.1, 1, len(u))
    leak, b = rng.uniform(0, 1, n), rng.standard_normal(n)
    matrix = np.diag(leak)
    matrix[u, v] = matrix[v, u] = -weight
    matrix[range(n), range(n)] += np.bincount(u, weight, n) + np.bincount(v, weight, n)
    assert eliminate(n, u, v, weight, leak.copy(), b.copy()) == pytest.approx(
        np.linalg.solve(matrix, b), rel=1e-10)


def test_a_leak_too_small_for_floats_gives_a_finite_answer():
    # A path with leaks of 1e-200 behind weights of 1e-200: the last pivot would be 1e-600.
    x = eliminate(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1e-200]),
                  np.array([0.0, 1e-200, 0.0]), np.array([1.0, 0.0, 0.0]))
    assert np.isfinite(x).all()
    assert x[0] >= x[1] >= x[2] > 0
