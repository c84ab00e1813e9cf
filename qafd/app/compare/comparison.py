"""A question answered by every chosen method, and the methods that found the answer."""

from dataclasses import dataclass
from functools import partial
from random import Random

import streamlit as st

from qafd.answer import Answer
from qafd.app.compare.choice import Choice
from qafd.app.documents.models import start
from qafd.app.documents.work import jobs_panel
from qafd.app.escaping import escape_sentence, safe
from qafd.app.evaluate.gold import needed_documents
from qafd.app.keys import keys
from qafd.app.markup import paragraph
from qafd.app.result import plan_of, reader, retrieve_by
from qafd.app.session import remember
from qafd.errors import StoreError
from qafd.evaluate.key_passage import find_verdict
from qafd.graph import Graph
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph, read_layer_states, version_of
from qafd.records import QueryPlan
from qafd.retrieve.compare import AT_ONCE, ComparedMethod, Comparison, make_column
from qafd.retrieve.methods import label_of
from qafd.wording import count_words, join_some
from qafd.wording.comparison import say_verdict

LETTERS = "ABCDEF"  # of the columns when blind


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
        """Pair each shown name with its column."""
        return list(zip(self.names, self.comparison.columns, strict=True))


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
            with st.spinner(f"Building {join_some(missing, len(missing))}"):
                knowledge.build_layers(missing)
        except StoreError as error:
            st.caption(f":material/info: {escape_sentence(error)}")
        return
    methods = list(dict.fromkeys(needs[name] for name in missing))
    st.caption(count_words(
        len(methods), "{methods} needs {layers}, which this graph does not have yet.",
        "{methods} need {layers}, which this graph does not have yet.",
        methods=join_some(methods, len(methods)), layers=join_some(missing, len(missing))))
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
    names = list(choice.methods)
    if choice.order:
        Random(choice.order).shuffle(names)
    columns = []
    for name in names:
        retrieve = partial(retrieve_by, knowledge, graph, version, choice.methods[name], plan)
        columns.append(make_column(name, label_of(name), retrieve, graph, choice.budget))
    if choice.blind:
        shown, ideas = tuple(LETTERS[:len(names)]), ("",) * len(names)
    else:
        shown = tuple(label_of(name) for name in names)
        ideas = tuple(choice.methods[name].idea.split(";")[0] for name in names)
    return Sides(knowledge, graph, version, plan, Comparison(question, choice.budget, tuple(columns)),
                 shown, ideas, choice)


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
