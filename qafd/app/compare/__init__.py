"""The Compare page: the same question, several methods, one layout."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import streamlit as st

from qafd.app.controls import Places, controls, start_anew
from qafd.app.documents.models import start
from qafd.app.documents.work import jobs_panel
from qafd.app.escaping import capital, said
from qafd.app.picture import pick
from qafd.app.result import plan_of, retrieved, span_of
from qafd.app.session import forget_all_but, keep, put, session
from qafd.errors import ParameterError, StoreError
from qafd.graph import Graph
from qafd.ingest.jobs import enqueue, open_jobs
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import UNSTATED
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedNode, Retriever
from qafd.retrieve.compare import (
    AT_ONCE,
    BUDGET,
    DEFAULT,
    FEWEST,
    MOST,
    Column,
    Comparison,
    make_column,
)
from qafd.retrieve.methods import PAPER, canonical, label_of, method_of
from qafd.view.contraction import drawn_contracted
from qafd.view.layout import Positions
from qafd.view.panel import (
    Caption,
    Drawing,
    brought,
    counted,
    largest_of,
    nodes_shown,
    panel_data,
)
from qafd.view.placement import beside, freeze, prominent
from qafd.wording import say_error, say_some

DRAWN = 40  # nodes per panel
ASPECT = 1.45
BOXES = 6  # seeds of a method that are drawn as boxes
PREFIXES = {"qafd": "best", PAPER: "paper"}  # Explore's controls of the same method
LETTERS = "ABCDEF"
SEEDING = {"own": "Own", "question": "Question", "keywords": "Keywords"}


@dataclass(frozen=True)
class Choice:
    """What is to be compared, and how it is to be shown."""

    methods: Mapping[str, Retriever]
    budget: int
    lone: bool
    blind: bool
    order: int


@dataclass(frozen=True)
class Sides:
    """A comparison as the page shows it; `names` and `ideas` per column, letters when blind."""

    knowledge: KnowledgeGraph
    graph: Graph
    version: str
    plan: QueryPlan
    comparison: Comparison
    names: tuple[str, ...]
    ideas: tuple[str, ...]
    choice: Choice

    @property
    def pairs(self) -> list[tuple[str, Column]]:
        """The columns with the names they are shown under."""
        return list(zip(self.names, self.comparison.columns, strict=True))


def compare_controls(knowledge: KnowledgeGraph, question: str) -> Choice:
    """Methods, budget and the parameters of each method, in the sidebar."""
    graph, options = knowledge.graph, [*METHODS, PAPER]
    with st.sidebar:
        names = _methods(options)
        budget = st.slider("Tokens of passages for each", 200, 8000, BUDGET, 100,
                           key=keep("budget"), bind="query-params")
        seeding = st.segmented_control(
            "Seeds", list(SEEDING), default="own", required=True, format_func=SEEDING.__getitem__,
            key=keep("seeding"), bind="query-params",
            help="Where methods begin: as each prefers, or for all that can at what the question "
            "names and the nearest passages, or at what is nearest to its keywords.") or "own"
        lone = st.toggle("Found only by one", key=keep("lone"), bind="query-params",
                         help="Color what one method alone retrieves.")
        blind = st.toggle("Blind", key=keep("blind"), bind="query-params",
                          help="Columns in random order, without names, reasons and flows.")
        order = 0
        if blind:
            order = st.number_input("Order", 1, 999, 1, key=keep("order"), bind="query-params",
                                    help="The seed of the random order.")
            blind = not st.toggle("Reveal the names", key=keep("reveal"), bind="query-params")
        if session().anew:
            session().anew = False
            forget_all_but("ws", "q", "methods", "budget", "seeding", "lone", "blind", "order",
                           "reveal", "contract", "thickness", "ramp")
            for name in options:
                start_anew(method_of(name), PREFIXES.get(name, name), graph,
                           partial(span_of, knowledge, question))
        methods = {}
        for name in names:
            method = method_of(name)
            shared = {spec.name: seeding for spec in fields(cast("Any", method))
                      if spec.name == "seeding" and seeding in spec.metadata["options"]}
            with st.expander(label_of(name)):
                mass, basic, advanced = st.container(), st.container(), st.container()
                methods[name] = controls(method, PREFIXES.get(name, name), graph,
                                         Places(basic, advanced, mass), shared,
                                         partial(span_of, knowledge, question))
    return Choice(methods, int(budget), lone, blind, int(order))


def _methods(options: list[str]) -> list[str]:
    """The chosen methods; the link has their short names, or those of the systems."""
    if keep("methods") not in st.session_state:
        linked = []
        for name in st.query_params.get_all("methods"):
            try:
                linked.append(canonical(name))
            except ParameterError as error:
                st.caption(f":material/info: {said(error)}")
        put("methods", list(dict.fromkeys(linked))[:MOST] or list(DEFAULT))
        keep("methods")
    names = st.multiselect(
        "Methods", options, format_func=label_of, max_selections=MOST, key="methods",
        help="Two to six. All are re-implementations of the ideas, on this graph.")
    if tuple(names) == DEFAULT:
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = names
    return names


def ready(knowledge: KnowledgeGraph, choice: Choice) -> None:
    """Build the layers that the methods need: at once in a small graph, else by a button."""
    needs = {need: label_of(name) for name, method in choice.methods.items()
             for need in method.needs}
    missing = [layer.name for layer in knowledge.layers()
               if layer.name in needs and layer.state != "built"]
    if not missing:
        return
    if (knowledge.graph.kinds == "passage").sum() <= AT_ONCE:
        try:
            with st.spinner(f"Building {say_some(missing, len(missing))}"):
                knowledge.build_layers(missing)
        except StoreError as error:
            st.caption(f":material/info: {said(error)}")
        return
    methods = list(dict.fromkeys(needs[name] for name in missing))
    st.write(f"{say_some(methods, len(methods))} need{'s' * (len(methods) == 1)} "
             f"{say_some(missing, len(missing))}, which this graph does not have yet.")
    with knowledge.store() as store:
        if not open_jobs(store) and st.button("Build", type="primary"):
            enqueue(store, layers=missing)
            start(knowledge)
    jobs_panel(knowledge)


def compared(knowledge: KnowledgeGraph, question: str, choice: Choice) -> Sides:
    """The question answered by every chosen method on the graph as it is now."""
    graph = knowledge.graph
    version = knowledge.version(graph)
    plan = plan_of(knowledge.path, version, question, knowledge, graph)
    names = list(choice.methods)
    if choice.order:
        Random(choice.order).shuffle(names)
    columns = tuple(
        make_column(name, label_of(name), partial(
            retrieved, knowledge.path, version, question, choice.methods[name], knowledge, graph,
            plan), graph, choice.budget) for name in names)
    shown = tuple(LETTERS[:len(names)]) if choice.blind else tuple(map(label_of, names))
    ideas = ("",) * len(names) if choice.blind else tuple(
        choice.methods[n].idea.split(";")[0] for n in names)
    return Sides(knowledge, graph, version, plan, Comparison(question, choice.budget, columns),
                 shown, ideas, choice)


def enough(choice: Choice) -> bool:
    """Whether there are methods to compare; says so when not."""
    if len(choice.methods) < FEWEST:
        st.write(f"Choose {FEWEST} to {MOST} methods in the sidebar.")
    return len(choice.methods) >= FEWEST


def compare_picture(sides: Sides, drawing: Drawing) -> str | None:
    """One panel per method on one layout; returns the selected node."""
    key = f"compare-{sides.knowledge.path.stem}"
    return pick(partial(compare_panels, sides, drawing), key)


def compare_panels(sides: Sides, drawing: Drawing, picked: str | None = None) -> dict[str, Any]:
    """The panels as `qafd.view.panel.panel_data` gives them."""
    columns = sides.comparison.columns
    empty = Retrieval(sides.plan.question, "", {}, (), (), ())
    retrievals = [c.retrieval or empty for c in columns]
    largest = [largest_of(r.nodes) for r in retrievals]
    # Without its passages, a method that finds nothing else would have no picture.
    contract = drawing.contract and all(c.found for c in columns if c.retrieval)
    if contract:
        retrievals = [drawn_contracted(r) for r in retrievals]
    if sides.choice.blind:
        retrievals = [_anonymous(r) for r in retrievals]
    frozen, others, boxes = _frozen(sides.knowledge.path, sides.version, sides.plan.question,
                             _drawable(sides), sides)
    positions = beside(frozen, [n for r in retrievals for n in prominent(r, DRAWN)],
                       _near(sides.graph, retrievals), ASPECT)
    return panel_data(
        retrievals, replace(drawing, contract=False, limit=DRAWN, aspect=ASPECT,
                            thickness="weight" if sides.choice.blind else drawing.thickness),
        positions=positions,
        others=[n for n in others if not (contract and n.kind == "passage")],
        captions=[Caption(name, idea, _footer(column, r, sides.choice))
                  for name, idea, column, r in zip(sides.names, sides.ideas, columns, retrievals,
                                                   strict=True)],
        lone=sides.choice.lone, boxes=boxes, late=positions.keys() - frozen.keys(),
        selected=picked, largest=largest)


def _anonymous(retrieval: Retrieval) -> Retrieval:
    """A retrieval without what tells the method: reasons, masses, flows and what was touched."""
    kept = {n.id for n in retrieval.nodes if n.state == SATURATED}
    return replace(
        retrieval, nodes=tuple(replace(n, reason=UNSTATED, mass=0.0, capacity=0.0, source=0.0)
                               for n in retrieval.nodes if n.id in kept),
        edges=tuple(replace(e, flow=0.0) for e in retrieval.edges
                    if e.source in kept and e.target in kept))


def _near(graph: Graph, retrievals: list[Retrieval]) -> list[tuple[str, str]]:
    """Edges of the graph at the drawn nodes, and those a method drew to nodes of its own."""
    own = [(e.source, e.target) for r in retrievals for e in r.edges
           if e.source not in graph.row or e.target not in graph.row]
    return own + [
        (n.id, graph.ids[v]) for r in retrievals for n in prominent(r, DRAWN) if n.id in graph.row
        for v in graph.around(graph.row[n.id]).tolist()]


def _footer(column: Column, drawn: Retrieval, choice: Choice) -> str:
    if column.retrieval is None:
        return capital(say_error(column.error)) if column.error else ""
    size = len(drawn.nodes)
    parts = [brought(len(column.found), sum(n.state == WET for n in drawn.nodes)),
             f"{counted(len(column.retrieval.passages), 'passage')} ranked, {column.tokens:,} of "
             f"{choice.budget:,} tokens"]
    parts += [] if choice.blind else [f"{column.retrieval.work.total_milliseconds:.0f} ms"]
    parts += [nodes_shown(DRAWN, size)] if size > DRAWN else []
    return " · ".join(parts)


def _drawable(sides: Sides) -> tuple[str, ...]:
    """The default methods whose layers are built."""
    built = {layer.name for layer in sides.knowledge.layers() if layer.state == "built"}
    return tuple(name for name in DEFAULT if built.issuperset(METHODS[name].needs))


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(path: Path, version: str, question: str, names: tuple[str, ...],
            _sides: Sides) -> tuple[Positions, tuple[RetrievedNode, ...], list[str]]:
    """One layout for what the default methods show, and their foremost seeds.

    No parameter or choice moves a node.
    """
    columns = [make_column(name, name, partial(
        retrieved, path, version, question, method_of(name).fitted(_sides.graph),
        _sides.knowledge, _sides.graph, _sides.plan), _sides.graph, BUDGET) for name in names]
    retrievals = [column.retrieval for column in columns if column.retrieval is not None]
    first = {n.id for r in retrievals[:1] for n in r.nodes if n.state == SATURATED}
    seeds = [[n for n in r.nodes if n.seed and n.kind != "passage"] for r in retrievals]
    boxes = {n.id for some in seeds
             for n in sorted(some, key=lambda n: (-n.importance, n.id))[:BOXES]}
    return *freeze(retrievals, first, DRAWN, ASPECT), sorted(boxes)
