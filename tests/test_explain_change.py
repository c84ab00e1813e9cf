"""Entries, what-if and remedies, each against an answer found in another way."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import random_graph
from solver import scatter

from qafd.errors import ParameterError
from qafd.explain.entry import entry_of
from qafd.explain.whatif import Change, apply_change
from qafd.explain.whynot import why_not
from qafd.flow.solver import solve
from qafd.flow.weights import VARIANTS, Gates, Weights
from qafd.graph import Graph
from qafd.reasons import UNSTATED
from qafd.retrieve.qafd import FlowDiffusion, Problem
from qafd.retrieve.seeds import Seeds

CASES = [(variant, seed) for variant in VARIANTS for seed in range(3)]
NOTHING = None


def posed(variant, seed, n=14, mass=None):
    """A random problem with its method; two seeds with unequal shares."""
    rng = np.random.default_rng([VARIANTS.index(variant), seed, 5])
    graph = random_graph(rng, n, n)
    capacity = ("unit", "tokens")[seed % 2]
    total = 0.3 * graph.capacity(capacity).sum() if mass is None else mass
    rows = np.sort(rng.choice(n, 2, replace=False)).astype(np.int64)
    shares = np.array([0.35, 0.65])
    method = FlowDiffusion(mass=float(total), rule="total", capacity=capacity, variant=variant)
    gates = Gates(Weights.of_variant(variant), alignment=rng.uniform(0.05, 1.0, n))
    return Problem(method, NOTHING, NOTHING, NOTHING, Seeds(
        rows, shares, (UNSTATED, UNSTATED)), graph, gates, total * shares)


def edge_list(graph):
    start = np.repeat(np.arange(len(graph)), graph.degree)
    return {(int(u), int(v)): float(s) for u, v, s in
            zip(start, graph.neighbors, graph.similarity, strict=True) if u < v}


def built(graph, edges):
    return Graph.build(graph.ids, source_rows=[u for u, _ in edges],
                       target_rows=[v for _, v in edges], similarity=list(edges.values()),
                       tokens=graph.tokens)


def x_of(case, graph, rows, mass):
    d = solve(graph, case.gates, np.asarray(rows), np.asarray(mass), case.method.capacity, 1e-12)
    return scatter(d, d.x)


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_an_entry_is_where_bisection_finds_it(variant, seed):
    case = posed(variant, seed)
    d = case.solve()
    limit = 0.999 * case.layer.capacity(case.method.capacity).sum()

    def inside(mass, row):
        return bool(x_of(case, case.layer, case.seeds.rows, mass * case.per_unit())[row] > 0)

    for row in sorted(set(range(len(case.layer))) - set(d.support.tolist())):
        found = entry_of(case, row, d)
        if not inside(limit, row):
            assert found.mass is None
            assert found.full
            continue
        low, high = case.method.mass, limit
        for _ in range(26):
            middle = (low + high) / 2
            low, high = (low, middle) if inside(middle, row) else (middle, high)
        assert found.mass == pytest.approx(high, rel=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seed_that_is_not_full_enters_by_its_own_share_as_well(variant):
    case = posed(variant, 0, mass=2.0)
    shares = np.array([0.02, 0.98])
    case = replace(case, seeds=replace(case.seeds, shares=shares), mass=2.0 * shares)
    row = int(case.seeds.rows[0])
    found = entry_of(case, row, case.solve()).mass
    assert found is not None
    for factor, inside in ((1 + 1e-7, True), (1 - 1e-7, False)):
        x = x_of(case, case.layer, case.seeds.rows, found * factor * shares)
        assert (x[row] > 0) == inside


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_a_changed_problem_has_the_solution_of_a_graph_built_that_way(variant, seed):
    case = posed(variant, seed)
    edges = edge_list(case.layer)
    gone = next(iter(edges))
    node = next(v for v in range(14) if v not in (*gone, *case.seeds.rows.tolist()))
    first, second = case.seeds.rows.tolist()
    mass = case.mass.tolist()
    without_node = {e: s for e, s in edges.items() if node not in e and e != gone}
    for change, wanted, rows, poured in (
            (Change(nodes=frozenset([node]), edges=frozenset([gone[::-1]])), without_node,
             [first, second], mass),
            (Change(seeds=frozenset([first])), edges, [second], mass[1:]),
            (Change(poured=((node, 1.5), (first, 0.5))), edges, [first, second, node],
             [mass[0] + 0.5, mass[1], 1.5])):
        changed = apply_change(case, change)
        assert changed.seeds.rows.tolist() == rows
        assert (changed.layer is case.layer) is not bool(change.nodes | change.edges)
        d = changed.solve()
        x = x_of(case, built(case.layer, wanted), rows, poured)
        assert scatter(d, d.x) == pytest.approx(x, rel=1e-6, abs=1e-7)


def test_a_change_that_makes_no_sense_is_refused():
    with pytest.raises(ParameterError):
        apply_change(posed("plain", 0), Change(edges=frozenset([(0, 0)])))


@pytest.mark.parametrize(("variant", "seed"), CASES)
def test_remedies_bring_the_node_in_and_a_little_less_does_not(variant, seed):
    case = posed(variant, seed)
    d = case.solve()
    out = sorted(set(range(14)) - set(d.support.tolist()))
    for row in out:
        told = why_not(case, d, row)
        i = d.find(row)
        assert told.held == pytest.approx(0.0 if i is None else d.mass[i])
        assert {r.kind for r in told.remedies} >= {"seed"}
        lengths = [r.length for r in told.remedies]
        assert lengths == sorted(lengths)
        for remedy in told.remedies:
            for factor, retrieved in ((1.002, True), (0.998, False)):
                size = remedy.size * factor
                if remedy.kind == "mass":
                    x = x_of(case, case.layer, case.seeds.rows, case.mass * size)
                elif remedy.kind == "seed" and retrieved:
                    x = x_of(case, case.layer, [*case.seeds.rows, row], [*case.mass, size])
                else:
                    continue
                assert (x[row] > 0) == retrieved, remedy
