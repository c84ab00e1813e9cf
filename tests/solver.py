"""Fixtures of the solver's tests: both implementations, and small random problems."""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles import dense_weights, random_graph

from qafd.flow import kernel
from qafd.flow.sources import fit
from qafd.flow.weights import VARIANTS, Gates, Weights
from qafd.graph import Graph


@pytest.fixture(params=["numpy", "compiled"])
def path(request):
    """Run a test on numpy and scipy, and again in compiled code."""
    if request.param == "compiled":
        if not kernel.load():
            pytest.skip("numba is not installed")
    else:
        kernel.unload()
    yield request.param
    kernel.unload()


@dataclass
class Problem:
    """A graph, gates, capacity and seeds, and the same as a dense problem."""

    graph: Graph
    gates: Gates
    capacity: str
    rows: np.ndarray
    mass: np.ndarray

    @property
    def source(self):
        """Delta on all nodes, after fitting."""
        fitted = fit(self.graph, self.rows, self.mass, self.capacity)
        delta = np.zeros(len(self.graph))
        delta[fitted.rows] = fitted.mass
        return delta

    @property
    def sink(self):
        """T on all nodes."""
        return self.graph.capacity(self.capacity)

    @property
    def weights(self):
        """Weight of every edge by its pair of rows."""
        return dense_weights(self.graph, self.gates)


def problem(variant, seed, largest=12):
    """A random problem. Every third has whole numbers only, so that nodes are exactly full."""
    rng = np.random.default_rng([VARIANTS.index(variant), seed])
    n = int(rng.integers(2, largest + 1))
    graph = random_graph(rng, n, int(rng.integers(0, largest)))
    whole = seed % 3 == 0
    if whole:
        graph = Graph.build(graph.ids, np.repeat(np.arange(n), graph.degree), graph.neighbors,
                            tokens=graph.tokens)
    alignment = np.ones(n) if whole else rng.uniform(1e-3, 1, n)
    if variant == "product" and seed % 2:
        alignment = 10.0 ** rng.uniform(-15, 0, n)
    capacity = ("degree", "unit", "tokens")[seed // 3 % 3]
    rows = rng.choice(n, min(n, int(rng.integers(1, 4))), replace=False)
    sink = graph.capacity(capacity)
    mass = (rng.integers(1, 5, len(rows)) * sink[rows] if whole
            else rng.uniform(0.05, 1.1, len(rows)) * sink.sum() / len(rows))
    return Problem(graph, Gates(Weights.of_variant(variant), alignment=alignment), capacity, rows, mass)


def scatter(solution, values):
    """Values of touched nodes on all nodes."""
    full = np.zeros(len(solution.graph))
    full[solution.rows] = values
    return full
