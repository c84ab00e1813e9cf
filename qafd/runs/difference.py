"""Two runs side by side, and a run next to the same question asked again."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, RetrievedNode, RetrievedPassage, Retriever
from qafd.runs import Run, build_run
from qafd.view.layout import Positions


@dataclass(frozen=True)
class RunDifference:
    """Differences of a second run from a first one.

    Parameters
    ----------
    gained, lost : tuple of RetrievedNode
        Nodes that only the second and only the first retrieved, most important first.
    shared : int
        The number of nodes that both retrieved.
    passages_gained, passages_lost : tuple of RetrievedPassage
        Best first.
    settings : mapping
        Both values of each setting that differs, by its key in `settings_of`, or "graph".
    tokens : tuple of int
        Of the retrieved nodes of the first and of the second.
    """

    gained: tuple[RetrievedNode, ...]
    lost: tuple[RetrievedNode, ...]
    shared: int
    passages_gained: tuple[RetrievedPassage, ...]
    passages_lost: tuple[RetrievedPassage, ...]
    settings: Mapping[str, tuple[Any, Any]]
    tokens: tuple[int, int]

    @property
    def same(self) -> bool:
        """True if both retrieved the same nodes and passages."""
        return not (self.gained or self.lost or self.passages_gained or self.passages_lost)


def difference(first: Run, second: Run) -> RunDifference:
    """List how the second run differs from the first; nothing is retrieved again."""
    lost = _nodes_beyond(first, second)
    return RunDifference(
        _nodes_beyond(second, first), lost, len(first.retrieved) - len(lost),
        _passages_beyond(second, first), _passages_beyond(first, second), _compare_settings(first, second),
        (first.tokens, second.tokens))


def _nodes_beyond(run: Run, other: Run) -> tuple[RetrievedNode, ...]:
    """Return the nodes of a run that the other does not retrieve."""
    ids = {node.id for node in other.retrieved}
    return tuple(node for node in run.retrieved if node.id not in ids)


def _passages_beyond(run: Run, other: Run) -> tuple[RetrievedPassage, ...]:
    """Return the passages of a run that the other does not have."""
    chunks = {passage.chunk for passage in other.retrieval.passages}
    return tuple(passage for passage in run.retrieval.passages if passage.chunk not in chunks)


def _compare_settings(first: Run, second: Run) -> dict[str, tuple[Any, Any]]:
    a, b = settings_of(first), settings_of(second)
    both = a.keys() & b.keys()  # other methods have other parameters
    found = {name: (a[name], b[name]) for name in a if name in both and a[name] != b[name]}
    revisions = first.retrieval.revision, second.retrieval.revision
    # Revisions of different workspaces count different graphs.
    if first.graph and second.graph and first.graph != second.graph:
        found["graph"] = (f"{revisions[0]} ({first.graph[:8]})", f"{revisions[1]} ({second.graph[:8]})")
    elif not (first.graph and second.graph) and revisions[0] != revisions[1]:
        found["graph"] = str(revisions[0]), str(revisions[1])
    return found


def settings_of(run: Run) -> dict[str, Any]:
    """Return question, method, parameters, models and version of a run."""
    made = run.retrieval.made_by
    return {"question": run.retrieval.query, "method": run.retrieval.method,
            **run.retrieval.params, "planner": run.planner, "embedder": made.embedder,
            "extractor": made.extractor, "qafd": made.qafd}


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
