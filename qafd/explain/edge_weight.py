"""An edge as a gate: the three similarities that make its weight, Eq. (1)."""

from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.paths import row_name
from qafd.graph import Graph
from qafd.retrieve.qafd import Problem


@dataclass(frozen=True)
class Gate:
    """An edge and the factors of its weight: H(u, v), and the alignment of both ends."""

    source: str
    target: str
    source_name: str
    target_name: str
    weight: float
    structure: float
    alignment_source: float
    alignment_target: float


def gate_of(problem: Problem, u: int, v: int) -> Gate:
    """Return the edge between two rows with the factors of its weight."""
    layer = problem.layer
    structure = float(layer.similarity[edge_place(layer, u, v)])
    s_u, s_v = problem.gates.align(layer, np.array([u, v])).tolist()
    weight = problem.gates.weights.of_edge(structure, s_u, s_v)
    return Gate(layer.ids[u], layer.ids[v], row_name(layer, u), row_name(layer, v), weight, structure,
                s_u, s_v)


def edge_place(graph: Graph, u: int, v: int) -> int:
    """Return the index of the edge from u to v in the arrays of the graph."""
    place = graph.entry(u, v)
    if place is None:
        raise ParameterError(f"there is no edge between {graph.names[u]!r} and "
                             f"{graph.names[v]!r} that mass could run over")
    return place
