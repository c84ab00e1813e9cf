"""Runs made from a workspace, and asked again of one: the same result, or what changed and why."""

from dataclasses import dataclass, fields, replace

from qafd.errors import ParameterError, ParseError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, Retriever
from qafd.runs import Run, run_of
from qafd.runs.difference import RunDifference, difference
from qafd.view.layout import Positions

RTOL = 1e-9  # of the largest importance
READ = 1000  # keywords, names and subqueries of a question at most


@dataclass(frozen=True, eq=False)
class Replay:
    """A run beside the same question asked again, in that order in `difference`.

    `deviation` is the largest difference of an importance x of any touched node, over the largest
    x of the run; `equal` that it is at most 1e-9, that the same nodes were touched and retrieved,
    and that the same passages were ranked in the same order. So many of its retrieved nodes are
    `missing` from the graph as it is now.
    """

    equal: bool
    deviation: float
    difference: RunDifference
    run: Run
    missing: int


def recorded(knowledge: KnowledgeGraph, retrieval: Retrieval, plan: QueryPlan, *,
             graph: Graph | None = None, layout: Positions | None = None, note: str = "") -> Run:
    """The run of a retrieval that was just made, with the sentences that answer it."""
    graph = graph or knowledge.graph
    answer = knowledge.answer(retrieval, plan)
    with knowledge.store() as store:
        return run_of(store, graph, retrieval, plan, answer, layout, note)


def replayed(run: Run, knowledge: KnowledgeGraph) -> Replay:
    """Ask the question of a run again, with its settings, of the graph as it is now.

    The question is not read again unless the workspace has another embedding model: a run keeps
    how it was read.

    Raises
    ------
    ParameterError
        This version of qafd has no such method or parameter.
    MissingLayerError
        The method needs a layer that is not built.
    ParseError
        The question of the run is none, or its vectors are not of the model that it names.
    """
    method, graph = method_of(run), knowledge.graph
    with knowledge.store() as store:
        embedder = store.vectors.embedder[0]
    plan = (run.plan if embedder == run.retrieval.made_by.embedder
            else knowledge.plan(run.plan.question, graph, subqueries=bool(run.plan.subqueries)))
    _check_plan(plan, graph)
    again = recorded(knowledge, knowledge.retrieve(plan, method, graph=graph), plan, graph=graph)
    again = replace(again, graph=again.graph if run.graph else "")
    found = difference(run, again)
    before, after = run.retrieval, again.retrieval
    x = {n.id: n.importance for n in after.nodes}
    scale = max((n.importance for n in before.nodes), default=0.0) or 1.0
    deviation = max((abs(n.importance - x.get(n.id, 0.0)) for n in before.nodes),
                    default=0.0) / scale
    equal = (found.same and deviation <= RTOL and x.keys() == {n.id for n in before.nodes}
             and [p.chunk for p in before.passages] == [p.chunk for p in after.passages])
    return Replay(equal, deviation, found, again, len(run.missing_from(graph)))


def method_of(run: Run) -> Retriever:
    """The method of a run with its parameters; raises ParameterError as `replayed`."""
    name, params = run.retrieval.method, run.retrieval.params
    if name not in METHODS:
        raise ParameterError(f"this version of qafd has no method {name[:40]!r}; it has "
                             f"{', '.join(METHODS)}")
    own = {spec.name for spec in fields(METHODS[name])}  # type: ignore[arg-type]
    for param in params:
        if param not in own:
            raise ParameterError(f"this version of qafd has no parameter {param[:40]!r} of "
                                 f"{name}; the run was made by qafd "
                                 f"{run.retrieval.made_by.qafd}")
    method: Retriever = METHODS[name](**params)
    return method


def _check_plan(plan: QueryPlan, graph: Graph) -> None:
    """Raise ParseError unless a question, perhaps from a stranger, can be asked of a graph."""
    count = 0
    for part in (plan, *plan.subqueries):
        count += len(part.keywords) + len(part.names) + len(part.subqueries)
    if count > READ:
        raise ParseError(f"The run's question is read as {count:,} keywords, names and "
                         f"subqueries, and at most {READ:,} are asked.")
    for part in (plan, *plan.subqueries):
        if not any(character.isalnum() for character in part.question):
            raise ParseError("The run has a question without letter or digit; it was damaged or "
                             "made by another program.")
        width = graph.vectors.shape[1] if graph.vectors is not None else part.embedding.size
        if part.embedding.shape != (width,) or part.keyword_embeddings.shape != (
                len(part.keywords), width):
            raise ParseError(f"The vectors of the run's question do not fit the {width} "
                             "dimensions of this graph, though it names the same model; it "
                             "was damaged or made by another program.")

