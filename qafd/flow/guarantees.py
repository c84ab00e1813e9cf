"""The paper's guarantees as experiments: each promise next to its measurement.

Definition 5 plants a relevant set R whose nodes and query share one mean embedding. Lemma 6 states
that weights inside R stay near 1 and weights leaving it vanish; Theorem 7 that a diffusion from
inside R then covers R and leaks at most beta of its volume. Each function draws and measures.

Conditions that the statements need but omit:
Lemma 6 needs gamma to be large enough as well as small enough (gamma = 0 meets its hypothesis and
separates nothing). Theorem 7 needs the source inside R; its leakage bound is conservation of mass
once R is covered.
"""

from dataclasses import dataclass, field

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.solver import solve
from qafd.flow.weights import TINY, Gates, Weights
from qafd.graph import Graph, components
from qafd.records import Floats, Nodes


@dataclass(frozen=True)
class Model:
    """Parameters of Definition 5; the noise has variance 1 in every coordinate.

    Parameters
    ----------
    nodes, relevant, dimensions : int
        |V|, |R| and d.
    separation : float
        mu/sigma: distance between the mean of R and any other mean, in units of the noise.
    gamma : float
        Bandwidth of the RBF similarity, the same for its three uses.
    inside, across, outside : float
        Edge probabilities: rho_1, rho_2, and between irrelevant nodes of one cluster; between
        clusters it is `across`.
    """

    nodes: int = 600
    relevant: int = 40
    dimensions: int = 16
    separation: float = 20.0
    gamma: float = 0.02
    inside: float = 0.3
    across: float = 0.01
    outside: float = 0.3

    def __post_init__(self) -> None:
        if not 2 <= self.relevant < self.nodes:
            raise ParameterError(f"{self.relevant} relevant nodes of {self.nodes} is not a "
                                 "planted set; it needs at least 2 and fewer than all")
        if min(self.inside, self.across, self.outside) < 0 or max(
                self.inside, self.across, self.outside) > 1:
            raise ParameterError("edge probabilities must be between 0 and 1")
        if self.gamma < 0 or self.separation < 0:
            raise ParameterError("gamma and the separation must be at least 0")


@dataclass(frozen=True, eq=False)
class Draw:
    """One graph of Definition 5 with Product weights for its query; R is rows 0 to r - 1."""

    graph: Graph = field(repr=False)
    gates: Gates = field(repr=False)
    relevant: Nodes = field(repr=False)
    weight: Floats = field(repr=False)  # per entry of the graph

    @property
    def connected(self) -> bool:
        """Return True if edges inside R connect it: assumption (i) of Theorem 7."""
        r = len(self.relevant)
        start = np.repeat(np.arange(len(self.graph)), self.graph.degree)
        inside = (start < r) & (self.graph.neighbors < r)
        return int(components(r, start[inside], self.graph.neighbors[inside].astype(
            np.int64)).max()) == 0


def draw(model: Model, rng: np.random.Generator) -> Draw:
    """Draw a graph, embeddings and a query of Definition 5."""
    n, r, d = model.nodes, model.relevant, model.dimensions
    cluster = np.concatenate([np.zeros(r, np.int64), 1 + np.arange(n - r) // r])
    direction = rng.standard_normal((int(cluster.max()) + 1, d))
    mean = model.separation * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    mean[0] = 0.0
    vectors = mean[cluster] + rng.standard_normal((n, d))
    query = rng.standard_normal(d)
    u, v = np.triu_indices(n, 1)
    same = cluster[u] == cluster[v]
    chance = np.where(same, np.where(cluster[u] == 0, model.inside, model.outside), model.across)
    keep = rng.random(len(u)) < chance
    u, v = u[keep], v[keep]
    graph = Graph.build([str(i) for i in range(n)], u, v, _kernel(vectors[u] - vectors[v], model.gamma))
    alignment = _kernel(vectors - query, model.gamma)
    gates = Gates(Weights.of_variant("product"), alignment=alignment)
    start = graph.starts
    weight = gates.weights(graph.similarity, alignment[start], alignment[graph.neighbors])
    return Draw(graph, gates, np.arange(r), weight)


def _kernel(difference: Floats, gamma: float) -> Floats:
    distance: Floats = np.sum(difference**2, axis=-1)
    return np.maximum(np.exp(-gamma * distance), TINY)


@dataclass(frozen=True)
class PlantedTrial:
    """One draw: how the weights separate R (Lemma 6), its coverage, and the share retrieved outside it
    (Theorem 7)."""

    separation: float
    gamma: float
    beta: float
    source_inside: bool
    connected: bool
    covered: bool
    share: float
    leakage: float
    converged: bool
    smallest_inside: float
    largest_across: float

    @property
    def separated(self) -> bool:
        """Return True if every weight inside R exceeds every weight that leaves it."""
        return self.smallest_inside > self.largest_across

    @property
    def within_bound(self) -> bool:
        """Return True if the leakage is at most beta, as promised once R is covered."""
        return self.leakage <= self.beta * (1 + 1e-9)


def measure_draw(model: Model, rng: np.random.Generator, beta: float = 0.2,
                 source_inside: bool = True) -> PlantedTrial:
    """Measure Lemma 6 and Theorem 7 on one draw: source mass (1 + beta) vol(R) on one node, T = degree.

    Parameters
    ----------
    beta : float
        Above 0: extra mass beyond the volume of R.
    source_inside : bool
        True puts the source in R, which the theorem needs but does not state.
    """
    if not beta > 0:
        raise ParameterError(f"beta must be positive, not {beta}")
    one = draw(model, rng)
    u, v = one.graph.starts < model.relevant, one.graph.neighbors < model.relevant
    sink = one.graph.capacity("degree")
    volume = float(sink[one.relevant].sum())
    source = int(rng.integers(model.relevant) if source_inside
                 else rng.integers(model.relevant, model.nodes))
    solution = solve(one.graph, one.gates, np.array([source]), np.array([(1 + beta) * volume]), "degree")
    found = solution.support
    relevant = found < model.relevant
    return PlantedTrial(
        model.separation, model.gamma, beta, source_inside, one.connected,
        int(relevant.sum()) == model.relevant, float(relevant.sum()) / model.relevant,
        float(sink[found[~relevant]].sum()) / volume, solution.converged,
        float(one.weight[u & v].min(initial=1.0)), float(one.weight[u & ~v].max(initial=0.0)))
