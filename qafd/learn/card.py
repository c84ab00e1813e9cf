"""A card of the page Learn: a toy graph, its settings, and the results of both.

All numbers of a card come from the same solver as everything else; its text has no number that the
solver could contradict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from qafd.flow.certificate import ClaimedSolution, certify
from qafd.flow.homotopy import entry_alphas
from qafd.flow.solver import solve
from qafd.flow.weights import Gates, Weights
from qafd.graph import Graph, sum_at
from qafd.lab.family import solve_between
from qafd.lab.movie import FILMED, Movie, film
from qafd.records import Floats, Nodes


@dataclass(frozen=True)
class Toy:
    """A small graph: names with places in [0, 1.6] x [0, 1], edges with similarities.

    `alignment` is s(v), how near each node is to the question, in (0, 1]; `relevant` are the nodes
    that answer it, if the card has any.
    """

    places: Mapping[str, tuple[float, float]]
    edges: tuple[tuple[str, str, float], ...]
    alignment: Mapping[str, float] = field(default_factory=dict)
    relevant: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of the rows."""
        return tuple(self.places)

    def neighbors(self, name: str) -> list[str]:
        """Return the names that an edge joins to one."""
        found = [v for u, v, _ in self.edges if u == name]
        return found + [u for u, v, _ in self.edges if v == name]

    def graph(self) -> Graph:
        """Build the toy as a graph; rows follow `names`."""
        row = {name: i for i, name in enumerate(self.names)}
        return Graph.build(self.names, source_rows=[row[u] for u, _, _ in self.edges],
                           target_rows=[row[v] for _, v, _ in self.edges],
                           similarity=[w for _, _, w in self.edges])


@dataclass(frozen=True)
class Settings:
    """The settings that a viewer may change.

    `mass` is in units of mass, or beta on some cards; `variant` the edge weight; `source`
    the node that mass is poured on; `spoil` a factor on the largest importance (1 leaves the
    solution as it is); `share` the place between PageRank, 0, and flow, 1, see `qafd.lab.family`.
    """

    mass: float = 4.0
    capacity: str = "unit"
    variant: str = "plain"
    source: str = ""
    spoil: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class Card:
    """One lesson; `ranges` are the settings that can be changed, with their options or bounds."""

    key: str
    title: str
    idea: str
    notice: str
    question: str
    answer: str
    equation: str
    where: str
    toy: Toy
    start: Settings
    ranges: Mapping[str, tuple[float, float] | tuple[str, ...]] = field(default_factory=dict)
    mode: str = "play"


@dataclass(frozen=True)
class ToyProblem:
    """The toy with its settings applied."""

    graph: Graph = field(repr=False)
    gates: Gates = field(repr=False)
    rows: Nodes
    mass: Floats
    capacity: str


def problem(card: Card, settings: Settings) -> ToyProblem:
    """Build the diffusion problem that a card shows."""
    graph = card.toy.graph()
    alignment = np.array([card.toy.alignment.get(name, 1.0) for name in card.toy.names])
    amount = settings.mass
    if card.key == "guarantee":
        sink = graph.capacity(settings.capacity)
        amount = (1 + settings.mass) * float(
            sum(sink[graph.row[name]] for name in card.toy.relevant))
    return ToyProblem(graph, Gates(Weights.of_variant(settings.variant), alignment=alignment),
                   np.array([graph.row[settings.source]]), np.array([amount]), settings.capacity)


def film_card(card: Card, settings: Settings) -> Movie:
    """Run the card's pushes and its exact solution, over all nodes of the toy.

    Between PageRank and flow the mass of a node is what stays there, damped or not.
    """
    p = problem(card, settings)
    pushing = replace(FILMED, most_pushes=400)
    movie = film(p.graph, p.gates, p.rows, p.mass, p.capacity, pushing, np.arange(len(p.graph)))
    if settings.share == 1:
        return movie
    x = solve_between(p.graph, p.gates, p.rows, p.mass, p.capacity, settings.share).x
    flow = movie.weight * (x[movie.u] - x[movie.v])
    mass = movie.source - sum_at(movie.u, flow, len(x)) + sum_at(movie.v, flow, len(x))
    return replace(movie, x=x, mass=mass)


def entries(card: Card, settings: Settings, up_to: float) -> tuple[tuple[str, float], ...]:
    """List the mass at which each node becomes full, in order, up to a mass."""
    p = problem(card, settings)
    path = entry_alphas(p.graph, p.gates, p.rows, np.ones(1), p.capacity, up_to)
    return tuple((card.toy.names[row], alpha) for row, alpha in
                 zip(path.rows.tolist(), path.alphas.tolist(), strict=True))


@dataclass(frozen=True)
class ProofLine:
    """One node of the certificate: importance, mass, capacity, and x (T - m)."""

    name: str
    importance: float
    mass: float
    capacity: float

    @property
    def product(self) -> float:
        """Return the node's part of the duality gap."""
        return self.importance * (self.capacity - self.mass)


@dataclass(frozen=True)
class Proof:
    """The certificate of a card, perhaps of a spoiled solution."""

    lines: tuple[ProofLine, ...]
    optimal: bool
    gap: float
    objective: float
    overfull: float


def proof(card: Card, settings: Settings) -> Proof:
    """Certify the solution after multiplying its largest importance by `spoil`."""
    p = problem(card, settings)
    exact = solve(p.graph, p.gates, p.rows, p.mass, p.capacity)
    x = exact.x.copy()
    x[int(np.argmax(x))] *= settings.spoil
    flow = exact.weight * (x[exact.u] - x[exact.v])
    mass = (exact.source - sum_at(exact.u, flow, len(x)) + sum_at(exact.v, flow, len(x)))
    found = certify(ClaimedSolution(x, exact.source, exact.capacity, exact.u, exact.v, exact.weight))
    return Proof(
        tuple(ProofLine(card.toy.names[row], *numbers) for row, *numbers in zip(
            exact.rows.tolist(), x.tolist(), mass.tolist(), exact.capacity.tolist(), strict=True)),
        found.optimal, found.gap, found.objective, found.overfull)


@dataclass(frozen=True)
class Promise:
    """Theorem 7 on a toy: which relevant nodes are missing, and the leakage against its bound.

    `leaked` is the capacity of the nodes outside that are full, `standing` the mass in those that
    are not: both as shares of the capacity of the relevant nodes.
    """

    missing: tuple[str, ...]
    leaked: float
    standing: float
    beta: float


def promise(card: Card, settings: Settings) -> Promise:
    """Compare the bound of the theorem with the outcome on the card."""
    p = problem(card, settings)
    sink = p.graph.capacity(p.capacity)
    exact = solve(p.graph, p.gates, p.rows, p.mass, p.capacity)
    support = set(exact.support.tolist())
    relevant = {p.graph.row[name] for name in card.toy.relevant}
    volume = sum(sink[row] for row in relevant)
    standing = 0.0
    for row, mass in zip(exact.rows.tolist(), exact.mass.tolist(), strict=True):
        if row not in relevant | support:
            standing += mass
    return Promise(tuple(card.toy.names[row] for row in sorted(relevant - support)),
                   float(sum(sink[row] for row in support - relevant) / volume),
                   standing / float(volume), settings.mass)
