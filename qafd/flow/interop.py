"""Flow diffusion on any networkx graph: no documents, no store, no language model."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.certificate import Certificate
from qafd.flow.solver import Diffusion, solve
from qafd.flow.weights import PLAIN, Gates, Weights
from qafd.graph import Graph
from qafd.reasons import Notice
from qafd.records import Floats, Nodes

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True)
class NetworkDiffusion:
    """A diffusion in terms of a networkx graph's own nodes.

    Parameters
    ----------
    x, mass : dict
        Importance x and mass m of every touched node, most important first.
    flow : dict
        Flow w (x_u - x_v) for every ordered pair of neighbors that touches the support:
        flow[v, u] == -flow[u, v].
    support : list
        Nodes with x > 0, most important first.
    certificate : Certificate
    notices : tuple of Notice
    solution : Diffusion
    """

    x: dict[Hashable, float]
    mass: dict[Hashable, float]
    flow: dict[tuple[Hashable, Hashable], float]
    support: list[Hashable]
    certificate: Certificate
    notices: tuple[Notice, ...]
    solution: Diffusion = field(repr=False)


def _numbers(what: str, values: Iterable[object]) -> Floats:
    """Return values as floats; a ParameterError when one is none."""
    try:
        return np.array([float(value) for value in values], np.float64)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(f"{what} must be numbers") from None
    except OverflowError:
        raise ParameterError(f"{what} must be below 1e308, the largest number there is") from None


def _share_seeds(seeds: Mapping[Hashable, float] | Iterable[Hashable], row: Mapping[Hashable, int]
                 ) -> tuple[Nodes, Floats]:
    """Return the rows of the seeds and their shares, which add up to 1."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise ParameterError("seeds are a list of nodes or a mapping of nodes to shares, not "
                             f"{seeds!r}; put a single node into a list")
    try:
        seeds = seeds if isinstance(seeds, Mapping) else dict.fromkeys(seeds, 1.0)
    except TypeError:
        raise ParameterError(f"a seed of {seeds!r} cannot be a node of a graph") from None
    missing = [node for node in seeds if node not in row]
    if missing:
        raise ParameterError(f"the seed {missing[0]!r} is not a node of the graph")
    if not seeds:
        raise ParameterError("diffuse needs at least one seed")
    share = _numbers("the shares of the seeds (a list of nodes shares equally)", seeds.values())
    if share.min() < 0 or not 0 < share.max() < 1e300:
        raise ParameterError("the shares of the seeds must be from 0 to 1e300, and one positive")
    return np.array([row[node] for node in seeds], np.int64), share / share.sum()


def _bind_gates(weights: Weights | str | None, alignment: Mapping[Hashable, float] | None,
                nodes: Iterable[Hashable]) -> Gates:
    """Return the weights of the edges between nodes with these alignments."""
    if isinstance(weights, str):
        weights = Weights.of_variant(weights)
    if not isinstance(weights, Weights | None):
        raise ParameterError(f"weights is {weights!r}; give Weights or the name of a variant")
    if alignment is None:
        return PLAIN if weights is None else Gates(weights)
    if not isinstance(alignment, Mapping):
        raise ParameterError("alignment is a mapping of nodes to numbers, not "
                             f"{type(alignment).__name__}")
    aligned = _numbers("every alignment", (alignment.get(node, 1.0) for node in nodes))
    if not np.all((aligned > 0) & (aligned < np.inf)):
        raise ParameterError("every alignment must be positive; a gate of 0 is a missing edge")
    return Gates(weights or Weights.of_variant("hybrid"), alignment=aligned)


def diffuse(G: "networkx.Graph", seeds: Mapping[Hashable, float] | Iterable[Hashable],
            mass: float, weight: str | None = "weight", capacity: str = "degree",
            alignment: Mapping[Hashable, float] | None = None,
            weights: Weights | str | None = None, rtol: float = 1e-9) -> NetworkDiffusion:
    """Spread mass from seeds over a networkx graph until every node holds at most its capacity.

    Parameters
    ----------
    seeds : mapping of node to share, or nodes
        How the mass is split; shares are scaled to sum 1, and equal for a list of nodes.
    mass : float
        Total source mass |Delta|_1.
    weight : str or None
        Edge attribute with a positive strength; None is 1 for all edges.
    capacity : {"degree", "unit"}
        Sink capacity T.
    alignment : mapping of node to float, optional
        Query similarity s(v) in (0, 1], makes the edges gates; 1 where it is missing.
    weights : Weights or the name of a variant, optional
        How strength and alignment combine, Eq. (1); the hybrid variant with an alignment.
    rtol : float
        How exact the solution is, as in `solve`.

    Raises
    ------
    ParameterError
        A seed is not a node, a value is not a number or out of range, or `G` is no networkx graph.

    Examples
    --------
    >>> import networkx as nx
    >>> result = diffuse(nx.path_graph(5), seeds={0: 1.0}, mass=6, weight=None)
    >>> result.support, result.mass[3]
    ([0, 1, 2], 1.0)
    """
    if not hasattr(G, "edges"):
        raise ParameterError(f"diffuse spreads over a networkx graph, not over {type(G).__name__}")
    if callable(weight):
        raise ParameterError("weight is the name of an edge attribute, not a function; write its "
                             "values into an attribute of the edges")
    graph = Graph.from_networkx(G, weight)
    nodes = list(G)
    rows, share = _share_seeds(seeds, {node: i for i, node in enumerate(nodes)})
    mass, rtol = _numbers("the mass and rtol", (mass, rtol)).tolist()
    if not (np.isfinite(mass) and mass >= 0):
        raise ParameterError(f"the mass must be at least 0 and finite, not {mass}")
    gates = _bind_gates(weights, alignment, nodes)
    solution = solve(graph, gates, rows, mass * share, capacity, rtol)
    touched = [nodes[i] for i in solution.rows.tolist()]
    order = np.lexsort((-solution.mass, -solution.x)).tolist()
    flow: dict[tuple[Hashable, Hashable], float] = {}
    for u, v, f in zip(solution.u.tolist(), solution.v.tolist(), solution.flow.tolist(),
                       strict=True):
        flow[touched[u], touched[v]] = f
        flow[touched[v], touched[u]] = -f
    return NetworkDiffusion(
        x={touched[i]: float(solution.x[i]) for i in order},
        mass={touched[i]: float(solution.mass[i]) for i in order},
        flow=flow, support=[nodes[i] for i in solution.support.tolist()],
        certificate=solution.certificate, notices=solution.notices, solution=solution)
