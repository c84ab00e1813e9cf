"""Tests of qafd.flow.solver: against exact fractions, a convex solver and laws."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from oracles import dense_weights, random_graph, rational_solution
from solver import path, problem, scatter  # noqa: F401

from qafd.arrays import ByteRows
from qafd.errors import ParameterError
from qafd.flow import kernel
from qafd.flow.certificate import FlawKind, flaw
from qafd.flow.elimination import Elimination
from qafd.flow.region import Region
from qafd.flow.solver import Budget, _SupportSearch, solve
from qafd.flow.sources import fit
from qafd.flow.weights import PLAIN, VARIANTS, Gates, Weights
from qafd.graph import Graph


def solved(p, mass=None, **options):
    return solve(p.graph, p.gates, p.rows, p.mass if mass is None else mass, p.capacity, **options)


def chain(n, **fields):
    return Graph.build([str(i) for i in range(n)], range(n - 1), range(1, n), **fields)


@pytest.mark.usefixtures("path")
def test_three_nodes_in_a_row_by_hand():
    """a - b - c, T = 1, Delta = 2.5 on a: b fills, so x_a - x_b = 1.5 and x_b - 0 = 0.5."""
    solution = solve(chain(3), PLAIN, np.array([0]), np.array([2.5]))
    assert scatter(solution, solution.x) == pytest.approx([2.0, 0.5, 0.0])
    assert scatter(solution, solution.mass) == pytest.approx([1.0, 1.0, 0.5])
    assert solution.flow == pytest.approx([1.5, 0.5])
    assert solution.support.tolist() == [0, 1]
    assert sorted(solution.state) == ["saturated", "saturated", "wet"]
    assert [solution.retrieves(row) for row in range(3)] == [True, True, False]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_support_is_that_of_exact_elimination(variant):
    for seed in range(80):
        p = problem(variant, seed)
        x, _ = rational_solution(p.weights, p.source, p.sink)
        solution = solved(p)
        assert solution.certificate.optimal, (seed, solution.certificate)
        assert set(solution.support.tolist()) == {i for i, value in enumerate(x) if value > 0}, seed
        exact = np.array([float(value) for value in x])
        assert scatter(solution, solution.x) == pytest.approx(exact, rel=1e-5, abs=1e-12), seed


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_certificate_holds_on_larger_graphs_and_any_mass(variant):
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 300, 600)
    alignment = 10.0 ** rng.uniform(-15 if variant == "product" else -3, 0, 300)
    gates = Gates(Weights.of_variant(variant), alignment=alignment)
    for capacity in ("degree", "unit", "tokens"):
        for mass in (0.0, 1e-9, 1.0, 40.0, 500.0, 1e9):
            solution = solve(graph, gates, np.array([5, 90]), np.array([mass, mass / 3]), capacity)
            assert solution.certificate.optimal, solution.certificate
            assert solution.converged
            assert solution.saturated == (4 * mass / 3 > 0.999 * graph.capacity(capacity).sum())
            held = solution.mass.sum()
            assert held == pytest.approx(solution.source.sum(), rel=1e-12, abs=1e-300)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("vectors", [None, np.ones((9, 2), np.float32)], ids=["none", "shorter"])
def test_a_query_that_does_not_fit_the_vectors_is_refused(vectors):
    gates = Gates(Weights(), query=np.ones(4, np.float32))
    with pytest.raises(ParameterError, match="vectors"):
        solve(chain(9, vectors=vectors), gates, np.array([3]), np.array([5.0]))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("dimension", [3, 384])
def test_vectors_that_are_bytes_align_as_their_numbers_say(dimension):
    rng = np.random.default_rng(dimension)
    graph = random_graph(rng, 60, 90)
    numbers = rng.integers(-127, 128, (60, dimension)).astype(np.int8)
    query = rng.standard_normal(dimension)
    query = (query / np.linalg.norm(query)).astype(np.float32)
    exact = [max(1e-3, float(query.astype(float) @ row) / float(row @ row) ** 0.5)
             for row in numbers.astype(float)]
    gates = Gates(Weights.of_variant("mean"), query)
    solution = solve(replace(graph, vectors=ByteRows.of(numbers)), gates, np.array([4]),
                     np.array([200.0]))
    assert len(solution.rows) > 40
    assert solution.alignment == pytest.approx(np.array(exact)[solution.rows], abs=1e-6)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("c", [1e-300, 1e-200, 1e300])
def test_weights_beyond_the_range_of_squares_are_solved_all_the_same(c):
    with np.errstate(all="ignore"):
        solution = solve(chain(9), Gates(Weights(c=c)), np.array([3]), np.array([5.0]))
        assert solution.certificate.optimal
    usual = solve(chain(9), Gates(Weights()), np.array([3]), np.array([5.0]))
    assert solution.support.tolist() == usual.support.tolist()


@pytest.mark.usefixtures("path")
def test_an_isolated_seed_stays_dry_in_the_result():
    graph = Graph.build("abc", [0], [1])
    solution = solve(graph, PLAIN, np.array([2, 0]), np.array([5.0, 1.5]))
    assert solution.state[solution.find(2)] == "dry"
    assert solution.source.sum() == pytest.approx(1.5)
    assert solution.certificate.optimal


@pytest.mark.usefixtures("path")
def test_a_node_that_is_exactly_full_is_not_retrieved():
    """A star: the center keeps 4 of 8 and sends 1 to each leaf, which is all a leaf can hold."""
    star = Graph.from_networkx(nx.star_graph(4))
    solution = solve(star, PLAIN, np.array([0]), np.array([7.0]), "degree")
    assert solution.support.tolist() == [0]
    exact = Graph.build("abc", [0, 1], [1, 2])
    assert solve(exact, PLAIN, np.array([0]), np.array([2.0]), "unit").support.tolist() == [0]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("variant", ["hybrid", "product"])
def test_components_that_cannot_be_reached_change_nothing_bit_for_bit(variant):
    p = problem(variant, 7, 30)
    n = len(p.graph)
    start = np.repeat(np.arange(n), p.graph.degree)
    more = Graph.build([*p.graph.ids, *(f"far{i}" for i in range(50))],
                       np.concatenate([start, range(n, n + 49)]),
                       np.concatenate([p.graph.neighbors, range(n + 1, n + 50)]),
                       np.concatenate([p.graph.similarity, np.ones(49)]),
                       tokens=np.concatenate([p.graph.tokens, np.ones(50)]))
    gates = replace(p.gates, alignment=np.concatenate([p.gates.alignment, np.ones(50)]))
    one, two = solved(p), solve(more, gates, p.rows, p.mass, p.capacity)
    for name in ("rows", "x", "mass", "u", "v", "weight", "flow"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.usefixtures("path")
def test_the_limits_on_rounds_and_nodes_end_a_solve_with_the_reason():
    few = solve(chain(400), PLAIN, np.array([0]), np.array([300.5]), budget=Budget(rounds=2))
    assert not few.converged
    assert few.stopped == flaw(FlawKind.ROUNDS, rounds=2)
    assert not few.certificate.optimal
    assert few.certificate.residual > 1
    small = solve(chain(400), PLAIN, np.array([0]), np.array([300.5]), budget=Budget(touched=10))
    assert small.stopped == flaw(FlawKind.TOUCHED, nodes=10)


def test_both_implementations_agree():
    if not kernel.available():
        pytest.skip("numba is not installed")
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((2000, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    graph = random_graph(rng, 2000, 6000, vectors)
    for similarity in ("clip", "shift", "rbf"):
        gates = Gates(Weights.of_variant("hybrid", 0.1, 2.0), vectors[3])
        gates = replace(gates, similarity=replace(gates.similarity, kind=similarity))
        rows, mass = np.array([3, 4, 5]), np.array([100.0, 80.0, 60.0])
        kernel.unload()
        one = solve(graph, gates, rows, mass)
        kernel.load()
        two = solve(graph, gates, rows, mass)
        kernel.unload()
        assert set(one.support.tolist()) == set(two.support.tolist())
        assert scatter(two, two.x) == pytest.approx(scatter(one, one.x), rel=1e-4, abs=1e-7)
        assert np.sort(two.rows).tolist() == np.sort(one.rows).tolist()


def test_a_node_comes_from_where_it_got_most_and_no_flow_brings_nothing():
    """Equal seeds a and b send nothing to each other, and each a quarter to c, of which c keeps a half."""
    graph = Graph.build("abcd", [0, 0, 1, 2], [1, 2, 2, 3])
    solution = solve(graph, PLAIN, np.array([0, 1]), np.array([1.25, 1.25]))
    came_from = dict(zip(solution.rows.tolist(), solution.origin.tolist(), strict=True))
    assert (came_from[0], came_from[1], solution.rows[came_from[2]]) == (-1, -1, 0)


@pytest.mark.parametrize(("seed", "read"), [(0, 58), (1, 61), (2, 54)])
def test_the_search_takes_four_rounds_and_reads_few_nodes(seed, read):
    """It tightens the tolerance as a round changes less: if always it would take three, if never five."""
    kernel.unload()
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 400, 900)
    gates = Gates(Weights.of_variant("hybrid"), alignment=rng.uniform(0.01, 1, 400))
    solution = solve(graph, gates, np.array([3, 9]), np.array([60.0, 40.0]))
    assert (solution.rounds, solution.expansions) == (4, read)


def test_a_solve_gives_its_workspace_back():
    kernel.unload()
    graph = chain(9)
    workspace = graph.acquire()
    graph.release(workspace)
    solve(graph, PLAIN, np.array([0]), np.array([2.5]))
    assert graph.acquire() is workspace


def test_the_width_is_that_of_the_weights_that_were_read():
    graph = Graph.build("abc", [0, 1], [1, 2], [1.0, 1e-3])
    region = Region(graph, PLAIN, fit(graph, np.array([0]), np.array([2.5]), "unit"), graph.capacity("unit"))
    assert region.width == 1
    region.grow(np.array([0]), region.source - region.sink, 0.0)
    assert region.width == pytest.approx(1e3)


def test_a_direct_solve_ends_where_its_residual_is_rounding():
    graph, rows = chain(9), np.array([0])
    region = Region(graph, PLAIN, fit(graph, rows, np.array([4.5]), "unit"), graph.capacity("unit"))
    region.grow(rows, region.source - region.sink, 0.0)
    *edges, leak, inside = region.system()
    direct, steps = Elimination(len(inside), *edges, leak).solve, []
    region._refine(inside, lambda left: steps.append(left) or direct(left), 12)
    assert len(steps) == 1


class Counting(Graph):
    """A graph that remembers which rows were read."""

    def expand(self, nodes):
        self.__dict__.setdefault("seen", []).extend(nodes.tolist())
        return super().expand(nodes)


def test_only_retrieved_nodes_are_read_each_once_through_expand():
    kernel.unload()
    graph = chain(5000)
    counting = Counting(**{name: getattr(graph, name) for name, field in
                           graph.__dataclass_fields__.items() if field.init})
    solution = solve(counting, PLAIN, np.array([2500]), np.array([20.5]))
    seen = counting.__dict__["seen"]
    assert set(solution.support.tolist()) <= set(seen)
    assert len(seen) == len(set(seen)) == solution.expansions
    assert solution.expansions <= len(solution.support) + 4


@pytest.mark.usefixtures("path")
def test_concurrent_queries_do_not_disturb_each_other():
    p = problem("hybrid", 5, 40)
    graph = random_graph(np.random.default_rng(0), 3000, 9000)
    gates = Gates(Weights.of_variant("hybrid"), alignment=np.linspace(0.01, 1, 3000))
    asked = [(np.array([7 * k, 11 * k + 1]), np.array([60.0 + k, 40.0])) for k in range(60)]
    alone = [solve(graph, gates, rows, mass) for rows, mass in asked]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda one: solve(graph, gates, *one), asked))
    assert solved(p).converged
    for one, two in zip(alone, results, strict=True):
        assert one.x.tobytes() == two.x.tobytes()
        assert one.rows.tobytes() == two.rows.tobytes()


@pytest.mark.parametrize("gate", [1e-14, 1e-9])
def test_flow_behind_a_weak_gate_keeps_its_digits(gate):
    """a - b - c - d, the gate b - c is 1e-14: x is near 1.3e14 and floats there are 0.016 apart."""
    graph = Graph.build("abcd", [0, 1, 2], [1, 2, 3], [1.0, gate, 1.0])
    solution = solve(graph, PLAIN, np.array([0]), np.array([3.3]))
    flow = dict(zip(zip(solution.rows[solution.u].tolist(), solution.rows[solution.v].tolist(),
                        strict=True), solution.flow.tolist(), strict=True))
    assert flow == pytest.approx({(0, 1): 2.3, (1, 2): 1.3, (2, 3): 0.3}, rel=1e-12)
    assert scatter(solution, solution.mass) == pytest.approx([1, 1, 1, 0.3], rel=1e-12)
    assert solution.certificate.optimal


@pytest.mark.parametrize(("orders", "seed"), [(12, 1), (12, 2), (15, 0), (15, 4), (15, 5)])
def test_mass_and_flow_of_a_full_graph_are_right_at_any_span_of_weights(orders, seed):
    """Where floats cannot hold x: what flows is a small difference of x up to 1e26."""
    rng = np.random.default_rng([orders, seed])
    graph = random_graph(rng, 30, 20)
    alignment = 10.0 ** -rng.uniform(0, orders, 30)
    kernel.unload()
    solution = solve(graph, Gates(Weights.of_variant("product"), alignment=alignment), np.array([3, 9]),
                     np.array([15.0, 14.95]))
    weight = dense_weights(graph, Gates(Weights.of_variant("product"), alignment=alignment))
    x, mass = rational_solution(weight, scatter(solution, solution.source), np.ones(30))
    assert set(solution.support.tolist()) == {i for i, value in enumerate(x) if value > 0}
    assert scatter(solution, solution.mass) == pytest.approx([float(m) for m in mass], abs=1e-10)
    for i, j, flow in zip(solution.rows[solution.u].tolist(), solution.rows[solution.v].tolist(),
                          solution.flow.tolist(), strict=True):
        exact = (x[i] - x[j]) * Fraction(weight[min(i, j), max(i, j)])
        assert flow == pytest.approx(abs(float(exact)), abs=1e-10)
    found = solution.certificate
    assert found.optimal
    off = [m - 1 for m, value in zip(solution.mass, solution.x, strict=True) if value > 0]
    assert (found.overfull, found.unfilled) == (max(0.0, *off), max(0.0, -min(off)))
    assert found.rounding > 0.01


def from_any_start(graph, rows, mass, capacity="unit"):
    """The support found when the neighbors of the neighbors of the seeds start out active."""
    region = Region(graph, PLAIN, fit(graph, rows, mass, capacity), graph.capacity(capacity))
    try:
        for _ in range(3):
            everyone = np.arange(len(region.rows))
            region.grow(everyone, -region.sink, np.inf)
        region.x[:] = region.rest[:] = 0.0
        _, stopped = _SupportSearch(region, 1e-9, Budget()).run()
        assert stopped is None
        return set(region.rows[region.x > 0].tolist())
    finally:
        region.close()


def test_nodes_that_were_added_by_mistake_are_dropped():
    assert from_any_start(chain(30), np.array([10]), np.array([1.5])) == {10}
    graph = random_graph(np.random.default_rng(2), 60, 60)
    rows, mass = np.array([4, 9]), np.array([5.0, 8.0])
    kernel.unload()
    expected = set(solve(graph, PLAIN, rows, mass).support.tolist())
    assert from_any_start(graph, rows, mass) == expected


def test_nodes_that_are_exactly_full_are_dropped_when_they_were_active():
    """A star whose widest leaf gets just the 1 it can hold; a chain hangs on the narrowest."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        weights = np.sort(rng.uniform(0.1, 1, 4))
        graph = Graph.build([str(i) for i in range(12)], [0, 0, 0, 0, 1, *range(5, 11)],
                            [1, 2, 3, 4, *range(5, 12)], [*weights, *[1.0] * 7])
        exactly = 1.0 + float((weights / weights.max()).sum())
        assert from_any_start(graph, np.array([0]), np.array([exactly])) == {0}
