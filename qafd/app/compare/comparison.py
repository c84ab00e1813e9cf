"""A question answered by every chosen method: the choice, the layers they need, and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from qafd.answer import Answer
from qafd.app.controls import ControlPlaces, controls, set_suggested
from qafd.app.documents.models import start
from qafd.app.documents.work import jobs_panel
from qafd.app.escaping import escape_sentence, safe
from qafd.app.evaluate.gold import needed_documents
from qafd.app.markup import paragraph
from qafd.app.provider import keys
from qafd.app.result import plan_of, reader, retrieve_by
from qafd.app.session import bound, forget_all_but, keep, put, remember, session
from qafd.errors import ParameterError, StoreError
from qafd.evaluate.measures import find_verdict
from qafd.graph import Graph
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph, read_layer_states, version_of
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
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
from qafd.runs.imported import list_foreign
from qafd.wording import join_words
from qafd.wording.comparison import say_verdict

PREFIXES = {"qafd": "best", PAPER: "paper"}  # Explore's controls of the same method


@dataclass(frozen=True)
class Choice:
    """The methods to compare, and how to show them."""

    methods: Mapping[str, Retriever]
    budget: int
    lone: bool


def compare_controls(knowledge: KnowledgeGraph) -> Choice:
    """Draw methods, budget and parameters in the sidebar, and return the choice."""
    with st.sidebar:
        foreign = list_foreign(knowledge)
        names = _methods([*METHODS, PAPER, *foreign])
        budget = st.slider("Tokens of passages for each", 200, 8000, BUDGET, 100,
                           **bound("budget"))
        lone = st.toggle("Found by one method", **bound("lone"),
                         help="Color only the nodes that a single method retrieves.")
        if session().restart_controls:
            _set_all_suggested(knowledge.graph)
        methods = {name: foreign[name] if name in foreign else _method_controls(
            name, knowledge.graph) for name in names}
    return Choice(methods, int(budget), lone)


def _set_all_suggested(graph: Graph) -> None:
    session().restart_controls = False
    forget_all_but("ws", "q", "methods", "budget", "lone", "passages", "thickness")
    for name in (*METHODS, PAPER):
        set_suggested(method_of(name), PREFIXES.get(name, name), graph)


def _method_controls(name: str, graph: Graph) -> Retriever:
    """Return the method with the values of its controls."""
    with st.expander(label_of(name)):
        mass, basic, advanced = st.container(), st.container(), st.container()
        return controls(method_of(name), PREFIXES.get(name, name), graph,
                        ControlPlaces(basic, advanced, mass))


def _methods(options: list[str]) -> list[str]:
    """Return the chosen methods; the link has their short names, or those of the systems."""
    if keep("methods") not in st.session_state:
        linked = []
        for name in st.query_params.get_all("methods"):
            try:
                linked.append(name if name in options else canonical(name))
            except ParameterError as error:
                st.caption(f":material/info: {escape_sentence(error)}")
        put("methods", list(dict.fromkeys(linked))[:MOST] or list(DEFAULT))
        keep("methods")
    names = st.multiselect(
        "Methods", options, format_func=lambda name: label_of(name),
        max_selections=MOST, key="methods",
        help="Choose two to six. Ours are re-implementations on this graph. Import results of your own "
             "system on Runs.")
    if tuple(names) == DEFAULT:
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = names
    return names


def enough(choice: Choice) -> bool:
    """Return True if there are methods to compare; otherwise show a notice."""
    if len(choice.methods) < FEWEST:
        st.write(f"Choose {FEWEST} to {MOST} methods in the sidebar.")
    return len(choice.methods) >= FEWEST


@dataclass(frozen=True)
class Sides:
    """A comparison as the page shows it."""

    knowledge: KnowledgeGraph
    graph: Graph
    version: str
    plan: QueryPlan
    comparison: Comparison
    choice: Choice

    @property
    def pairs(self) -> list[tuple[str, ComparedMethod]]:
        """Pair the name of each method with its column."""
        return [(column.label, column) for column in self.comparison.columns]


def prepare_layers(knowledge: KnowledgeGraph, choice: Choice) -> None:
    """Build the layers of the methods: at once in a small graph, else in the background on request."""
    needs: dict[str, str] = {}
    for name, method in choice.methods.items():
        needs |= dict.fromkeys(method.needs, label_of(name))
    missing = [layer.name for layer in read_layer_states(knowledge)
               if layer.name in needs and layer.state != "built"]
    if not missing:
        return
    if knowledge.graph.count("passage") <= AT_ONCE:
        try:
            with st.spinner(f"Building {join_words(missing)}"):
                knowledge.build_layers(missing)
        except StoreError as error:
            st.caption(f":material/info: {escape_sentence(error)}")
        return
    methods = list(dict.fromkeys(needs[name] for name in missing))
    st.caption(f"This graph does not have {join_words(missing)} yet, for {join_words(methods)}.")
    with knowledge.store() as store:
        if not store.queue.open() and st.button("Build", type="primary"):
            enqueue(store, layers=missing, keys=keys())
            start(knowledge)
    jobs_panel(knowledge)


def compare_methods(knowledge: KnowledgeGraph, question: str, choice: Choice) -> Sides:
    """Answer the question by every chosen method on the present graph."""
    graph = knowledge.graph
    version = version_of(graph)
    plan = plan_of(knowledge, graph, version, question, reader(knowledge, question))
    columns = []
    for name, method in choice.methods.items():
        retrieve = partial(retrieve_by, knowledge, graph, version, method, plan)
        columns.append(make_column(name, label_of(name), retrieve, graph, choice.budget))
    return Sides(knowledge, graph, version, plan, Comparison(question, choice.budget, tuple(columns)), choice)



def verdict_line(sides: Sides) -> None:
    """Name the methods that found the key passage, in one sentence."""
    answered = sides.version, sides.plan.question, sides.choice
    needed = needed_documents(sides.knowledge, sides.plan.question)
    verdict = remember("verdict", answered, lambda: find_verdict(sides.comparison, answers_of(sides), needed))
    if verdict is None:
        st.write("No method found a passage that the question needs." if needed else
                 "No quoted sentence is likely to answer this. Compare what each method retrieved.")
        return
    # The first word of a method's name is that of its system: QAFD, GraphRAG.
    names = {column.name: name.split()[0] for name, column in sides.pairs}
    st.html(paragraph(safe(say_verdict(verdict, names)), "verdict"))


def answers_of(sides: Sides) -> dict[str, Answer]:
    """Return the quoted answer of every method that did not fail."""
    return {name: sides.knowledge.answer(retrieval, sides.plan)
            for name, retrieval in sides.comparison.retrievals.items()}
