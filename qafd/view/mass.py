"""The data from which the browser draws every mass of a question by itself (`assets/mass.js`)."""

from typing import Any

import numpy as np

from qafd.flow.homotopy import local_problem
from qafd.reasons import ReasonKind, reason
from qafd.retrieve.base import DRY, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.view.drawing import Drawing, Look, Scale
from qafd.view.groups import Groups
from qafd.view.layout import Positions
from qafd.view.panel import REASON_LENGTH, clean, place

LONGEST = 300  # nodes that fill on the way: the walk takes their number cubed, about .1 s at 300


def mass_data(problem: Problem, drawing: Drawing, scale: Scale, positions: Positions,
              groups: Groups | None = None, longest: int = LONGEST) -> dict[str, Any] | None:
    """Return the local problem up to the method's mass and the places of its nodes, as JSON values.

    None where more than `longest` nodes fill or nothing does; then only the server draws.
    """
    graph, unit = problem.layer, problem.per_unit()
    if not len(problem.seeds.rows) or not problem.method.mass > 0:
        return None
    shown = np.array([graph.row[node] for node in positions if node in graph.row], np.int64)
    local = local_problem(graph, problem.gates, problem.seeds.rows, unit, shown,
                          problem.method.capacity, problem.method.mass)
    if not 0 < local.size <= longest:
        return None
    seeds = set(problem.seeds.rows.tolist())
    ids = graph.ids_of(local.rows.tolist())
    kinds = [str(kind) for kind in graph.kinds[local.rows].tolist()]
    names = [graph.names[row] for row in local.rows.tolist()]
    look = Look(groups=groups)
    places = []
    for node, name, kind in zip(ids, names, kinds, strict=True):
        record = RetrievedNode(node, name, kind, 0.0, 0.0, DRY, reason(ReasonKind.UNREACHED))
        at = positions.get(node)
        places.append(None if at is None else place(record, at, drawing, look))
    return {
        "question": clean(problem.plan.question, REASON_LENGTH), "up": problem.method.mass,
        "size": local.size,
        "sink": local.sink.tolist(), "drive": local.drive.tolist(), "end": local.end.tolist(),
        "leak": local.leak.tolist(), "u": local.u.tolist(), "v": local.v.tolist(),
        "w": local.weight.tolist(), "places": places,
        "passage": [int(kind == "passage") for kind in kinds],
        "seed": [int(row in seeds) for row in local.rows.tolist()],
        "contract": drawing.contract and "passage" in kinds, "limit": drawing.limit,
        "scale": {"importance": scale.importance, "amount": scale.amount},
    }
