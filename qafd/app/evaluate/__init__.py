"""The Evaluate page: methods measured on questions with known passages and answers, in the background."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import streamlit as st

from qafd.app.asking import empty_workspace
from qafd.app.error_display import with_errors_shown
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
STAGE = "evaluating"  # of the progress, in which the remaining time is shown


class Running:
    """An evaluation in a thread of its own, which continues while other pages are open."""

    def __init__(self, knowledge: KnowledgeGraph, questions: Sequence[Question],
                 methods: Mapping[str, Retriever]) -> None:
        kernel.warm()
        self.progress = Progress(STAGE, 0, len(questions) * len(methods))
        self.cancel = Event()
        self.pace = TimeLeft()
        self.future = ThreadPoolExecutor(1).submit(evaluate, knowledge, questions, methods,
                                                   progress=self._note, stopped=self.cancel.is_set)

    def _note(self, progress: Progress) -> None:
        self.progress = progress
        if progress.stage == STAGE:
            self.pace.note(progress.done, progress.total)

    def over(self, seconds: float = 0) -> bool:
        """Wait for some seconds, and return True if it has ended."""
        return not wait([self.future], seconds).not_done


def choose_methods(knowledge: KnowledgeGraph) -> dict[str, Retriever]:
    """Choose the methods to measure; the others are compared with the first."""
    options = [*METHODS, PAPER, *list_foreign(knowledge)]
    specs = st.multiselect(
        "Methods", options, [name for name in USUAL if name in options],
        # what is typed comes back from the browser as it is shown
        format_func=lambda spec: label_of(spec) if spec in options else spec,
        **bound("measure"), accept_new_options=True,
        help=("The others are compared with the first. Type a variant to measure it: "
              "qafd(mass=30,variant=plain), qafd:paper(seeds=20). Retrievals that are imported on "
              "Runs are a method."))
    if not specs:
        st.caption("Choose at least one method.")
        return {}
    return read_columns(knowledge, specs, refuse_place)


@st.cache_resource(show_spinner=False)
def _measurings() -> OrderedDict[tuple[str, ...], Running]:
    """Return the evaluations of this server, by workspace, version, questions and methods."""
    return OrderedDict()


def measure_methods(knowledge: KnowledgeGraph, asked: QuestionSet,
             methods: Mapping[str, Retriever]) -> Evaluation | None:
    """Return the result for these questions and methods, or offer to measure it and return None."""
    key = (knowledge.id, version_of(knowledge.graph), asked.digest, *methods)
    known = _measurings()
    current = known.get(key)
    if current is None or (current.over() and current.cancel.is_set()):
        label = (f"Measure {count(len(asked.questions), 'question')}, "
                 f"{count(len(methods), 'method')}")
        if st.button(label, type="primary"):
            known[key] = Running(knowledge, asked.questions, methods)
            while len(known) > KEPT:
                known.popitem(last=False)[1].cancel.set()
            st.rerun()
    if current is None:
        return None
    if not current.over(1.5):
        st.fragment(with_errors_shown(_watch), run_every=0.5)(current)
        return None
    if current.future.exception() is not None:
        del known[key]  # so that it can be tried again
    return current.future.result()


def _watch(current: Running) -> None:
    """Draw the progress bar; the page runs again when the work is over."""
    bar, stop = st.columns([6, 1], vertical_alignment="center")
    at = current.progress
    if at.stage == STAGE:
        words = f"{at.done:,} of {count(at.total, 'retrieval')}"
        words = " · ".join(filter(None, [words, say_left(current.pace.left), clean(at.current, 80)]))
    else:
        words = f"Building layers: {at.done:,} of {count(at.total, 'text')}"
    bar.progress(at.done / max(at.total, 1), plain(words))
    if stop.button("Cancel", disabled=current.cancel.is_set()):
        current.cancel.set()
    if current.over():
        st.rerun()


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Evaluate", "How often each method finds what is known to answer a question.")
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
