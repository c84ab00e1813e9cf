"""Gates one by one: the three similarities behind the weight of every edge a diffusion read."""

from dataclasses import dataclass

import numpy as np

from qafd.explain.paths import shown
from qafd.flow.solver import Diffusion
from qafd.retrieve.qafd import Problem

CLOSED = 0.01


@dataclass(frozen=True)
class GateFlow:
    """One edge: its three factors of Eq. (1), its weight, its flow from `source` to `target`.

    It is called closed when its weight is below a hundredth of the widest gate that was read.
    """

    source: str
    target: str
    structure: float
    source_alignment: float
    target_alignment: float
    weight: float
    flow: float
    closed: bool


def gates(problem: Problem, diffusion: Diffusion) -> tuple[GateFlow, ...]:
    """Every edge with a retrieved end, the widest first."""
    graph = problem.layer
    rows, s = diffusion.rows, diffusion.alignment
    widest = float(diffusion.weight.max(initial=0.0))
    found = []
    for i in np.lexsort((diffusion.v, diffusion.u, -diffusion.weight)).tolist():
        u, v = int(diffusion.u[i]), int(diffusion.v[i])
        a, b = int(rows[u]), int(rows[v])
        weight = float(diffusion.weight[i])
        found.append(GateFlow(shown(graph, a), shown(graph, b),
                          float(graph.similarity[graph.entry(a, b)]), float(s[u]), float(s[v]),
                          weight, float(diffusion.flow[i]), weight < CLOSED * widest))
    return tuple(found)
