"""The Evaluate page: methods measured on questions with known passages and answers."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import streamlit as st

from qafd.app.asking import empty_workspace
from qafd.app.escaping import plain
from qafd.app.evaluate.gold import question_set
from qafd.app.evaluate.results import chart, numbers, questions_table, verdict
from qafd.app.pages import heading
from qafd.app.session import bound
from qafd.app.workspaces import workspace
from qafd.evaluate import Evaluation, evaluate
from qafd.evaluate.gold import Question, QuestionSet
from qafd.flow import kernel
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
from qafd.retrieve.methods import PAPER, label_of
from qafd.runs.imported import list_foreign, read_columns, refuse_place
from qafd.time_left import TimeLeft
from qafd.view.panel import clean
from qafd.wording import count, say_left

USUAL = ("qafd", PAPER, "vector", "lexical", "fusion", "pagerank")
KEPT = 8  # results
START = "start_measuring"
STAGE = "evaluating"  # of the progress, in which the remaining time is shown


def choose_methods(knowledge: KnowledgeGraph) -> dict[str, Retriever]:
    """Choose the methods to measure; the others are compared with the first."""
    options = [*METHODS, PAPER, *list_foreign(knowledge)]
    specs = st.multiselect(
        "Methods", options, [name for name in USUAL if name in options],
        # what is typed comes back from the browser as it is shown
        format_func=lambda spec: label_of(spec) if spec in options else spec,
        **bound("measure"), accept_new_options=True,
        help=("All others are compared with the first. Type a variant to measure it: "
              "qafd(mass=30,variant=plain), qafd:paper(seeds=20). Results that you import on Runs count as "
              "a method."))
    if not specs:
        st.caption("Choose at least one method.")
        return {}
    return read_columns(knowledge, specs, refuse_place)


@st.cache_resource(show_spinner=False)
def _evaluations() -> OrderedDict[tuple[str, ...], Evaluation]:
    """Return the last results of this server, by workspace, version, questions and methods."""
    return OrderedDict()


def measure_methods(knowledge: KnowledgeGraph, asked: QuestionSet,
                    methods: Mapping[str, Retriever]) -> Evaluation | None:
    """Return the result for these questions and methods, or offer to measure it and return None."""
    known, key = _evaluations(), (knowledge.id, version_of(knowledge.graph), asked.digest, *methods)
    if key not in known:
        label = f"Measure {count(len(asked.questions), 'question')}, {count(len(methods), 'method')}"
        clicked = bool(st.session_state.get(START))  # known before the button is drawn
        st.button(label, type="primary", key=START, disabled=clicked)
        if not clicked:
            return None
        known[key] = _measure(knowledge, asked.questions, methods)
        while len(known) > KEPT:
            known.popitem(last=False)
        st.rerun()
    return known[key]


def _measure(knowledge: KnowledgeGraph, questions: Sequence[Question], methods: Mapping[str, Retriever]
             ) -> Evaluation:
    """Measure under a bar; a click on the page runs it again, which ends the measuring."""
    left, right = st.columns([6, 1], vertical_alignment="center")
    bar, pace = left.progress(0.0), TimeLeft()
    right.button("Cancel")

    def show(at: Progress) -> None:
        words = f"Building layers: {at.done:,} of {count(at.total, 'text')}"
        if at.stage == STAGE:
            pace.note(at.done, at.total)
            done = f"{at.done:,} of {count(at.total, 'retrieval')}"
            words = " · ".join(filter(None, (done, say_left(pace.left), clean(at.current, 80))))
        bar.progress(at.done / max(at.total, 1), plain(words))

    kernel.warm()
    return evaluate(knowledge, questions, methods, progress=show)


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Evaluate", "Measure how often each method finds the passages that are known to answer a "
                        "question.")
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    asked = question_set(knowledge)
    methods = choose_methods(knowledge)
    if asked is None or not methods:
        return
    result = measure_methods(knowledge, asked, methods)
    if result is None:
        return
    measure = verdict(result)
    chart(result, measure)
    numbers(result, measure)
    questions_table(result, measure)
