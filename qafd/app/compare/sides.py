"""The Compare page: the same question, several methods, one layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from random import Random
from typing import Any, cast

import streamlit as st

from qafd.answer import Answer
from qafd.app.controls import ControlPlaces, Span, controls, start_anew
from qafd.app.documents.models import start
from qafd.app.documents.work import jobs_panel
from qafd.app.escaping import capital, safe, said
from qafd.app.evaluate.gold import needed_documents
from qafd.app.markup import paragraph
from qafd.app.picture import pick, placed
from qafd.app.result import explored, plan_of, retrieved, span_of
from qafd.app.session import forget_all_but, keep, put, remember, session
from qafd.errors import ParameterError, StoreError
from qafd.graph import Graph
from qafd.ingest.jobs import enqueue
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
    ComparedMethod,
    Comparison,
    make_column,
)
from qafd.retrieve.methods import PAPER, canonical, label_of, method_of
from qafd.retrieve.qafd import FlowDiffusion
from qafd.runs.verdict import find_verdict
from qafd.view.contraction import contract_passages, drawn_contracted
from qafd.view.idioms import RIBBON, Idiom, idioms_of
from qafd.view.layout import Positions
from qafd.view.panel import Caption, Drawing, largest_of, panel_data
from qafd.view.placement import ASPECT as EXPLORE_ASPECT
from qafd.view.placement import beside, prominent, spread
from qafd.wording import say, say_count, say_error, say_some
from qafd.wording.comparison import say_verdict
from qafd.wording.counts import count
from qafd.wording.panels import say_drawn, say_retrieved

DRAWN = 40  # nodes per panel
ASPECT = 2.0
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
    def pairs(self) -> list[tuple[str, ComparedMethod]]:
        """The columns with the names they are shown under."""
        return list(zip(self.names, self.comparison.columns, strict=True))


def compare_controls(knowledge: KnowledgeGraph, question: str) -> Choice:
    """Methods, budget and the parameters of each method, in the sidebar."""
    span = partial(span_of, knowledge, question)
    with st.sidebar:
        names = _methods([*METHODS, PAPER])
        budget = st.slider(say("Tokens of passages for each"), 200, 8000, BUDGET, 100,
                           key=keep("budget"), bind="query-params")
        labels = {template: name for name, template in SEEDING.items()}
        seeding = st.segmented_control(
            say("Seeds"), list(SEEDING), default="own", required=True,
            format_func=lambda name: say(SEEDING[name]), key=keep("seeding", labels),
            bind="query-params",
            help=say("Where methods begin: as each prefers, or for all that can at what the "
                     "question names and the nearest passages, or at what is nearest to its "
                     "keywords.")) or "own"
        lone = st.toggle(say("Found only by one"), key=keep("lone"), bind="query-params",
                         help=say("Color what one method alone retrieves."))
        blind = st.toggle(say("Blind"), key=keep("blind"), bind="query-params",
                          help=say("Columns in random order, without names, reasons and flows."))
        order = 0
        if blind:
            order = st.number_input(say("Order"), 1, 999, 1, key=keep("order"),
                                    bind="query-params",
                                    help=say("The seed of the random order."))
            blind = not st.toggle(say("Reveal the names"), key=keep("reveal"),
                                  bind="query-params")
        if session().anew:
            _start_anew(knowledge.graph, span)
        methods = {name: _method_controls(name, seeding, knowledge.graph, span) for name in names}
    return Choice(methods, int(budget), lone, blind, int(order))


def _start_anew(graph: Graph, span: Span) -> None:
    session().anew = False
    forget_all_but("ws", "q", "methods", "budget", "seeding", "lone", "blind", "order", "reveal",
                   "contract", "thickness", "ramp")
    for name in (*METHODS, PAPER):
        start_anew(method_of(name), PREFIXES.get(name, name), graph, span)


def _method_controls(name: str, seeding: str, graph: Graph, span: Span) -> Retriever:
    """The method with the values of its controls; what is set for all methods has none."""
    method = method_of(name)
    shared = {}
    for spec in fields(cast("Any", method)):
        if spec.name == "seeding" and seeding in spec.metadata["options"]:
            shared["seeding"] = seeding
    with st.expander(say(label_of(name))):
        mass, basic, advanced = st.container(), st.container(), st.container()
        return controls(method, PREFIXES.get(name, name), graph, ControlPlaces(basic, advanced, mass),
                        shared, span)


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
        say("Methods"), options, format_func=lambda name: say(label_of(name)),
        max_selections=MOST, key="methods",
        help=say("Two to six. All are re-implementations of the ideas, on this graph."))
    if tuple(names) == DEFAULT:
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = names
    return names


def prepare_layers(knowledge: KnowledgeGraph, choice: Choice) -> None:
    """Build the layers that the methods need: at once in a small graph, else in the background."""
    needs: dict[str, str] = {}
    for name, method in choice.methods.items():
        needs |= dict.fromkeys(method.needs, label_of(name))
    missing = [layer.name for layer in knowledge.layers()
               if layer.name in needs and layer.state != "built"]
    if not missing:
        return
    if (knowledge.graph.kinds == "passage").sum() <= AT_ONCE:
        try:
            with st.spinner(say("Building {layers}", layers=say_some(missing, len(missing)))):
                knowledge.build_layers(missing)
        except StoreError as error:
            st.caption(f":material/info: {said(error)}")
        return
    methods = list(dict.fromkeys(say(needs[name]) for name in missing))
    st.caption(say_count(
        len(methods), "{methods} needs {layers}, which this graph does not have yet.",
        "{methods} need {layers}, which this graph does not have yet.",
        methods=say_some(methods, len(methods)), layers=say_some(missing, len(missing))))
    with knowledge.store() as store:
        if not store.queue.open() and st.button(say("Build"), type="primary"):
            enqueue(store, layers=missing)
            start(knowledge)
    jobs_panel(knowledge)


def compared(knowledge: KnowledgeGraph, question: str, choice: Choice) -> Sides:
    """The question answered by every chosen method on the graph as it is now."""
    graph = knowledge.graph
    version = knowledge.version(graph)
    plan = plan_of(knowledge.id, version, question, knowledge, graph)
    names = list(choice.methods)
    if choice.order:
        Random(choice.order).shuffle(names)
    columns = tuple(
        make_column(name, label_of(name), partial(
            retrieved, knowledge.id, version, question, choice.methods[name], knowledge, graph,
            plan), graph, choice.budget) for name in names)
    if choice.blind:
        shown, ideas = tuple(LETTERS[:len(names)]), ("",) * len(names)
    else:
        shown = tuple(say(label_of(name)) for name in names)
        ideas = tuple(say(choice.methods[name].idea.split(";")[0]) for name in names)
    return Sides(knowledge, graph, version, plan, Comparison(question, choice.budget, columns),
                 shown, ideas, choice)


def enough(choice: Choice) -> bool:
    """Whether there are methods to compare; says so when not."""
    if len(choice.methods) < FEWEST:
        st.write(say("Choose {fewest} to {most} methods in the sidebar.", fewest=FEWEST, most=MOST))
    return len(choice.methods) >= FEWEST


def verdict_line(sides: Sides) -> None:
    """One sentence: who found the passage that answers."""
    answered = sides.version, sides.plan.question, sides.choice
    verdict = remember("verdict", answered, lambda: find_verdict(
        sides.comparison, answers_of(sides), needed_documents(sides.knowledge, sides.plan.question)))
    if verdict is None:
        st.write(say("No method found a passage that answers."))
        return
    # The first word of a method's name is that of its system: QAFD, GraphRAG.
    names = {column.name: name.split()[0] for name, column in sides.pairs}
    st.html(paragraph(safe(say_verdict(verdict, names)), "verdict"))


def answers_of(sides: Sides) -> dict[str, Answer]:
    """The quoted answer of every method that did not fail."""
    return {name: sides.knowledge.answer(retrieval, sides.plan)
            for name, retrieval in sides.comparison.retrievals.items()}


def compare_picture(sides: Sides, drawing: Drawing) -> str | None:
    """One panel per method on one layout; returns the selected node."""
    key = f"compare-{sides.knowledge.name}"
    return pick(partial(compare_panels, sides, drawing), key)


def compare_panels(sides: Sides, drawing: Drawing, picked: str | None = None) -> dict[str, Any]:
    """The panels as `qafd.view.panel.panel_data` gives them."""
    columns = sides.comparison.columns
    empty = Retrieval(sides.plan.question, "", {}, (), (), ())
    retrievals = [column.retrieval or empty for column in columns]
    largest = [largest_of(retrieval.nodes) for retrieval in retrievals]
    idioms = [() if sides.choice.blind else idioms_of(retrieval) for retrieval in retrievals]
    # Without its passages, a method that finds nothing else would have no picture.
    contract = drawing.contract and all(column.found for column in columns if column.retrieval)
    if contract:
        retrievals = list(map(_contracted, retrievals, idioms))
    if sides.choice.blind:
        retrievals = [_anonymous(retrieval) for retrieval in retrievals]
    frozen, others, boxes = _frozen(sides.knowledge.id, sides.version, sides.plan.question,
                                    _drawable(sides), sides)
    foremost = list(chain.from_iterable(prominent(retrieval, DRAWN) for retrieval in retrievals))
    positions = beside(frozen, foremost, _near(sides.graph, retrievals), ASPECT)
    footers = [_footer(column, drawn, sides.choice)
               for column, drawn in zip(columns, retrievals, strict=True)]
    captions = list(map(Caption, sides.names, sides.ideas, footers))
    if contract:
        others = tuple(node for node in others if node.kind != "passage")
    thickness = "weight" if sides.choice.blind else drawing.thickness
    return panel_data(
        retrievals, replace(drawing, contract=False, limit=DRAWN, aspect=ASPECT,
                            thickness=thickness),
        positions=positions, others=others, captions=captions, idioms=idioms,
        lone=sides.choice.lone, boxes=boxes, late=positions.keys() - frozen.keys(),
        selected=picked, largest=largest)


def _contracted(retrieval: Retrieval, idioms: Sequence[Idiom]) -> Retrieval:
    """The retrieval without its passages, but for those on the paths that are drawn."""
    passages = {node.id for node in retrieval.nodes if node.kind == "passage"}
    on_paths = set()
    for idiom in idioms:
        if idiom.shape == RIBBON:
            on_paths |= passages.intersection(idiom.nodes)
    if on_paths:
        return contract_passages(retrieval, on_paths).retrieval
    return drawn_contracted(retrieval)


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
    near = []
    for retrieval in retrievals:
        for edge in retrieval.edges:
            if edge.source not in graph.row or edge.target not in graph.row:
                near.append((edge.source, edge.target))
        for node in prominent(retrieval, DRAWN):
            if node.id in graph.row:
                around = graph.around(graph.row[node.id]).tolist()
                near += [(node.id, graph.ids[row]) for row in around]
    return near


def _footer(column: ComparedMethod, drawn: Retrieval, choice: Choice) -> str:
    if column.retrieval is None:
        return capital(say_error(column.error)) if column.error else ""
    size = len(drawn.nodes)
    ranked = count(len(column.retrieval.passages), "passage")
    parts = [say_retrieved(len(column.found), sum(n.state == WET for n in drawn.nodes)),
             say("{passages} ranked, {tokens} of {budget} tokens", passages=ranked,
                 tokens=f"{column.tokens:,}", budget=f"{choice.budget:,}")]
    if not choice.blind:
        parts.append(say("{time} ms", time=f"{column.retrieval.work.total_milliseconds:.0f}"))
    if size > DRAWN:
        parts.append(say_drawn(DRAWN, size))
    return " · ".join(parts)


def _drawable(sides: Sides) -> tuple[str, ...]:
    """The default methods whose layers are built."""
    built = {layer.name for layer in sides.knowledge.layers() if layer.state == "built"}
    return tuple(name for name in DEFAULT if built.issuperset(METHODS[name].needs))


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(workspace: str, version: str, question: str, names: tuple[str, ...],
            _sides: Sides) -> tuple[Positions, tuple[RetrievedNode, ...], list[str]]:
    """Where Explore has what the default methods show, and their foremost seeds.

    No parameter or choice moves a node.
    """
    columns = [make_column(name, name, partial(
        retrieved, workspace, version, question, method_of(name).fitted(_sides.graph),
        _sides.knowledge, _sides.graph, _sides.plan), _sides.graph, BUDGET) for name in names]
    retrievals = [column.retrieval for column in columns if column.retrieval is not None]
    boxes: set[str] = set()
    for retrieval in retrievals:
        seeds = [node for node in retrieval.nodes if node.seed and node.kind != "passage"]
        seeds.sort(key=lambda node: (-node.importance, node.id))
        boxes |= {node.id for node in seeds[:BOXES]}
    view = explored(_sides.knowledge, question, FlowDiffusion().fitted(_sides.graph))
    known, _ = placed(view)
    shown = {node.id: node for retrieval in retrievals for node in prominent(retrieval, DRAWN)}
    positions = beside(known, shown.values(), _near(_sides.graph, retrievals), EXPLORE_ASPECT)
    return (spread({id: positions[id] for id in shown}, ASPECT), tuple(shown.values()),
            sorted(boxes))
