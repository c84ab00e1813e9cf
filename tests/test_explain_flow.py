"""Shares and paths, against all paths counted one by one."""

import numpy as np
import pytest
from solver import problem

from qafd.explain.decomposition import Streams
from qafd.flow.solver import solve
from qafd.flow.weights import VARIANTS

CASES = [(variant, seed) for variant in VARIANTS for seed in range(5)]


def solved(variant, seed):
    case = problem(variant, seed)
    return solve(case.graph, case.gates, case.rows, case.mass, case.capacity, 1e-12)


def every_path(d):
    """The mass of each path by the proportional rule, followed one by one."""
    through = d.source.copy()
    for e in range(len(d.u)):
        through[d.v[e]] += d.flow[e]
    found = {}

    def follow(path, mass):
        i = path[-1]
        found[path] = found.get(path, 0.0) + mass * d.mass[i] / through[i]
        for e in range(len(d.u)):
            if d.u[e] == i and d.flow[e] > 0:
                follow((*path, int(d.v[e])), mass * d.flow[e] / through[i])

    for i in range(len(d.rows)):
        if d.source[i] > 0:
            follow((i,), float(d.source[i]))
    return {path: mass for path, mass in found.items() if mass > 0}


def by_index(d, rows):
    places = tuple(d.find(row) for row in rows)
    assert None not in places
    return tuple(int(place or 0) for place in places)


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_paths_are_all_paths_with_their_mass_and_largest_first(variant, seed):
    d = solved(variant, seed)
    wanted = every_path(d)
    paths = Streams.of(d).paths(len(wanted) + 5)
    found = {by_index(d, path.rows): path.mass for path in paths}
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-300)
    masses = [path.mass for path in paths]
    assert masses == sorted(masses, reverse=True)
    assert Streams.of(d).paths(2) == paths[:2]


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_paths_to_a_node_are_its_share_of_all_paths(variant, seed):
    d = solved(variant, seed)
    streams, wanted = Streams.of(d), every_path(d)
    for i in range(len(d.rows)):
        found = {by_index(d, path.rows): path.mass for path in streams.paths(10_000, i)}
        assert found == pytest.approx(
            {path: mass for path, mass in wanted.items() if path[-1] == i}, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_seed_shares_sum_to_one_and_are_sums_of_paths(variant, seed):
    d = solved(variant, seed)
    seeds, share = Streams.of(d).shares
    wet = d.mass > 1e-12
    assert share.sum(axis=1)[wet] == pytest.approx(1.0, abs=1e-9)
    wanted = np.zeros_like(share)
    for path, mass in every_path(d).items():
        wanted[path[-1], seeds.tolist().index(path[0])] += mass
    assert (share * d.mass[:, None])[wet] == pytest.approx(wanted[wet], abs=1e-9 * d.source.sum())
