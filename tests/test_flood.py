"""Tests of long thin graphs that fill from end to end, where pushes take a round per few nodes."""

import numpy as np
import pytest
from oracles import dense_weights, random_graph, rational_solution
from scipy.sparse import coo_matrix
from solver import path, scatter  # noqa: F401

from qafd.flow import kernel
from qafd.flow.flood import flood
from qafd.flow.region import REFINEMENTS, Region
from qafd.flow.solver import solve
from qafd.flow.sources import fit
from qafd.flow.weights import PLAIN
from qafd.graph import Graph


def built(edges, weight=None):
    ends = np.array(edges)
    n = int(ends.max()) + 1
    return Graph.build([str(i) for i in range(n)], None, None, ends[:, 0], ends[:, 1], weight)


def chain(n):
    return [(i, i + 1) for i in range(n - 1)]


def comb(teeth, length):
    """A spine, and on each of its nodes a tooth."""
    return ([(i * length, (i + 1) * length) for i in range(teeth - 1)]
            + [(i * length + j, i * length + j + 1)
               for i in range(teeth) for j in range(length - 1)])


def necklace(cliques):
    """Cliques of ten nodes in a row."""
    return ([(10 * i + a, 10 * i + b) for i in range(cliques) for a in range(10) for b in range(a)]
            + [(10 * i + 9, 10 * i + 10) for i in range(cliques - 1)])


def tailed(core, tail):
    """A random community, and a chain that hangs on its last node."""
    ends = np.random.default_rng(0).integers(0, core, (4 * core, 2))
    return [(i, j) for i, j in ends.tolist() if i != j] + [
        (i, i + 1) for i in range(core - 1, core + tail - 1)]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("orders", [0, 1, 7, 15])
def test_a_chain_is_filled_to_its_end_with_the_x_of_the_closed_form(orders):
    """From node i flows what the nodes up to it leave, M - i - 1, so x_i sums (M - j - 1) / w_j."""
    n, mass = 8000, 7000.5
    weight = 10.0 ** -np.random.default_rng(orders).uniform(0, orders, n - 1)
    solution = solve(built(chain(n), weight), PLAIN, np.array([0]), np.array([mass]))
    assert solution.converged, solution.stopped
    assert sorted(solution.support.tolist()) == list(range(7000))
    flow = mass - 1 - np.arange(7000)
    x = np.cumsum((flow / weight[:7000])[::-1])[::-1]
    assert scatter(solution, solution.x)[:7000] == pytest.approx(x, rel=1e-9)
    assert len(solution.rows) == 7001


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("edges", "share"), [
    ([*chain(6000), (0, 5999)], 0.97), (comb(1000, 6), 0.97), (comb(70, 90), 0.8),
    (necklace(600), 0.97), (tailed(300, 6000), 0.97),
    ([((i - 1) // 2, i) for i in range(1, 6000)], 0.97)],
    ids=["cycle", "comb", "long teeth", "necklace", "tailed", "tree"])
@pytest.mark.parametrize("orders", [0, 6])
def test_what_fills_a_long_graph_meets_every_condition(edges, share, orders):
    """Against L as a matrix: no node holds more than 1, and those with x > 0 hold 1."""
    weight = 10.0 ** -np.random.default_rng(0).uniform(0, orders, len(edges))
    graph = built(edges, weight)
    n = len(graph)
    solution = solve(graph, PLAIN, np.array([0]), np.array([share * n]), rtol=1e-7)
    assert solution.converged, solution.stopped
    assert solution.rounds < 120
    x = scatter(solution, solution.x)
    ends = np.repeat(np.arange(n), graph.degree)
    flow = coo_matrix((graph.similarity * (x[ends] - x[graph.neighbors]),
                       (ends, np.zeros(len(ends), int))), (n, 1)).toarray().ravel()
    mass = scatter(solution, solution.source) - flow
    rounding = 1e-6 if orders == 0 else 1e-2
    assert x.min() >= 0
    assert mass.max() <= 1 + rounding
    assert mass[x > 0] == pytest.approx(1, abs=rounding)


def test_a_flood_reads_retrieved_nodes_only_and_each_once():
    class Counting(Graph):
        def expand(self, nodes):
            self.__dict__.setdefault("seen", []).extend(nodes.tolist())
            return super().expand(nodes)

    kernel.unload()
    graph = built(chain(6000))
    counting = Counting(**{name: getattr(graph, name) for name, field in
                           graph.__dataclass_fields__.items() if field.init})
    solution = solve(counting, PLAIN, np.array([2000]), np.array([3000.5]))
    seen = counting.__dict__["seen"]
    assert len(seen) == len(set(seen)) == solution.expansions
    assert set(solution.support.tolist()) <= set(seen)
    assert solution.expansions <= len(solution.support) + 4


@pytest.mark.usefixtures("path")
def test_a_star_of_many_leaves_is_certified():
    """The center keeps 1 and sends the rest in equal parts; 20,000 roundings would add up."""
    solution = solve(built([(0, i) for i in range(1, 20_000)]), PLAIN, np.array([0]),
                     np.array([19_970.0]))
    assert solution.converged, solution.stopped
    assert solution.certificate.optimal, solution.certificate.flaws
    assert scatter(solution, solution.mass)[1:] == pytest.approx(19_969 / 19_999, rel=1e-12)
    assert solution.mass[solution.find(0)] == pytest.approx(1, abs=1e-10)


def added_by_floods(graph, rows, mass):
    """The active nodes after each flood, in stages and nothing else, and the exact support."""
    n = len(graph)
    fitted = fit(graph, rows, mass, "unit")
    source = np.bincount(fitted.rows, fitted.mass, n)
    x, _ = rational_solution(dense_weights(graph, PLAIN), source, np.ones(n))
    support = {i for i, value in enumerate(x) if value > 0}
    region, stages = Region(graph, PLAIN, fitted, np.ones(n)), []
    try:
        over = region.source - region.sink
        for least in (30.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, *[1e-9] * n):
            late = np.flatnonzero(~region.active & (over > least))
            if len(late):
                flood(region, late, over, least, 1000)
                stages.append(set(region.rows[region.active].tolist()))
                region.eliminate(REFINEMENTS)
                over, _ = region.excess()
    finally:
        region.close()
    return stages, support


@pytest.mark.parametrize("extra", [0, 15, 60, 200])
@pytest.mark.parametrize("seed", range(6))
def test_a_flood_alone_adds_no_node_by_mistake(seed, extra):
    """With 200 more edges nodes have more neighbors than a flood joins."""
    rng = np.random.default_rng([seed, extra])
    graph = random_graph(rng, 24, extra)
    stages, support = added_by_floods(graph, rng.choice(24, 2, replace=False),
                                      rng.uniform(6, 11, 2))
    assert all(stage <= support for stage in stages)
    assert stages[-1] == support


@pytest.mark.parametrize("seed", [6, 7])
def test_a_flood_of_twenty_arms_adds_no_node_by_mistake(seed):
    """More late nodes at once than are coupled; what leaks back must not be sent on."""
    rng = np.random.default_rng([seed, 1])
    arms = [(0 if i <= 20 else i - 20, i) for i in range(1, 61)]
    graph = built(arms, rng.uniform(0.05, 1, 60))
    stages, support = added_by_floods(graph, np.array([0]), rng.uniform(0.3, 0.95, 1) * 61)
    assert all(stage <= support for stage in stages)
    assert stages[-1] == support
