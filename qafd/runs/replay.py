"""Runs recorded from a workspace, and the same question asked again."""

from dataclasses import dataclass, fields, replace

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, Retriever
from qafd.runs import Run, build_run
from qafd.runs.difference import RunDifference, difference
from qafd.view.layout import Positions

RTOL = 1e-9  # of the largest importance


@dataclass(frozen=True, eq=False)
class Replay:
    """A run compared with the same question asked again; `difference` goes from the old to the new.

    `deviation` is the largest difference of an importance x of any touched node, over the largest
    x of the run. `equal` means that it is at most 1e-9, that the same nodes were touched and
    retrieved, and that the same passages were ranked in the same order. `missing` counts the
    retrieved nodes that the graph no longer has.
    """

    equal: bool
    deviation: float
    difference: RunDifference
    run: Run
    missing: int


def record_run(knowledge: KnowledgeGraph, retrieval: Retrieval, plan: QueryPlan, *,
               graph: Graph | None = None, layout: Positions | None = None, note: str = "") -> Run:
    """Return the run of a retrieval that was just made, with the sentences that answer it."""
    graph = graph or knowledge.graph
    answer = knowledge.answer(retrieval, plan)
    with knowledge.store() as store:
        return build_run(store, graph, retrieval, plan.planner, answer, layout, note)


def replay_run(run: Run, knowledge: KnowledgeGraph) -> Replay:
    """Ask the question of a run again, with its settings, on the graph as it is now.

    Raises
    ------
    ParameterError
        This version of qafd has no such method or parameter, or the question is empty.
    MissingLayerError
        The method needs a layer that is not built.
    """
    method, graph = method_of(run), knowledge.graph
    plan = knowledge.plan(run.retrieval.query, graph, further=run.retrieval.further)
    again = record_run(knowledge, knowledge.retrieve(plan, method, graph=graph), plan, graph=graph)
    # A run without the graph's digest, or without its planner, differs in neither.
    again = replace(again, graph=again.graph if run.graph else "",
                    planner=again.planner if run.planner else "")
    change = difference(run, again)
    before, after = run.retrieval, again.retrieval
    x = {n.id: n.importance for n in after.nodes}
    scale = max((n.importance for n in before.nodes), default=0.0) or 1.0
    deviation = max((abs(n.importance - x.get(n.id, 0.0)) for n in before.nodes),
                    default=0.0) / scale
    equal = (change.same and deviation <= RTOL and x.keys() == {n.id for n in before.nodes}
             and [p.chunk for p in before.passages] == [p.chunk for p in after.passages])
    return Replay(equal, deviation, change, again, len(run.missing_from(graph)))


def method_of(run: Run) -> Retriever:
    """Return the method of a run with its parameters; raises ParameterError as `replay_run`."""
    name, params = run.retrieval.method, run.retrieval.params
    if name not in METHODS:
        raise ParameterError(f"this version of qafd has no method {name[:40]!r}; it has "
                             f"{', '.join(METHODS)}")
    names = {spec.name for spec in fields(METHODS[name])}  # type: ignore[arg-type]
    for param in params:
        if param not in names:
            raise ParameterError(f"this version of qafd has no parameter {param[:40]!r} of "
                                 f"{name}; the run was made by qafd "
                                 f"{run.retrieval.made_by.qafd}")
    method: Retriever = METHODS[name](**params)
    return method
