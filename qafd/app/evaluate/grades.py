"""A model's opinion on the Evaluate page: asked for, with its cost before, and its grades."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from qafd.app.error_display import with_errors_shown
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.evaluate.measuring import Running, watch
from qafd.app.pages import way
from qafd.app.provider import language_model, leaves_this_machine, preferences
from qafd.app.session import keep, remember
from qafd.app.tables import download_csv, table
from qafd.errors import QafdError
from qafd.evaluate import FEW, Evaluation
from qafd.evaluate.opinions import AT_ONCE, Answers, Opinions, estimate, opinions, quote_answers
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.models.cost import Metered
from qafd.retrieve.base import Retriever
from qafd.retrieve.methods import label_of
from qafd.storage.rows import now
from qafd.wording.counts import count
from qafd.wording.evaluation import say_estimate, say_gap, say_interval
from qafd.wording.models import say_cap
from qafd.wording.reasons import word_notice

USUAL = 10  # questions


def judge_answers(result: Evaluation, knowledge: KnowledgeGraph, methods: Mapping[str, Retriever]) -> None:
    """Draw the grades of the quoted answers by a language model, if one is chosen and asked to."""
    model = language_model(knowledge.url, "judge")
    if model is None:
        return
    st.header("A model's opinion", anchor=False)
    st.caption("Optional. A language model grades what each method quotes, 0 to 100 by each "
                "of the paper's five criteria, without knowing which method quoted it. "
                "Grades are opinions: they vary from call to call, and measure no truth.")
    if not st.toggle("Let a model grade the quoted answers", key=keep("opinion")):
        return
    with knowledge.store():  # else each look at the ledger would open and close the file
        _ask_judge(result, knowledge, methods, model)


def _ask_judge(result: Evaluation, knowledge: KnowledgeGraph, methods: Mapping[str, Retriever],
           model: Metered) -> None:
    """Draw the choice of questions, the cost, the button and the grades."""
    many, times = st.columns(2)
    questions = int(many.number_input("Questions, from the first", 1, len(result.questions),
                                      min(USUAL, len(result.questions)), key=keep("judged")))
    repeats = int(times.number_input(
        "Rounds for each", 1, 20, 2, key=keep("repeats"), help=("The order of the answers is "
                                                                "drawn for each question and "
                                                                "reversed from one round to "
                                                                "the next, so take an even "
                                                                "number.")))
    answers = _answers(result, knowledge, methods, questions)
    names = [score.name for score in result.scores][:AT_ONCE]
    model = replace(model, run=f"judge {now()}")
    cost = estimate(answers, model, repeats)
    words = [f"{model.name}: {say_estimate(cost)}", say_cap(model.meter.cap)]
    if leaves_this_machine(preferences()):
        words.append("The questions and the quoted sentences leave this machine.")
    st.caption(plain(" ".join(words)))
    if len(result.scores) > AT_ONCE:
        st.caption(f"The first {AT_ONCE} methods are judged, side by side.")
    asked: dict[object, tuple[Running[Opinions], Metered]] = remember("judging", None, dict)
    running, by = asked.get(_key(result, knowledge), (None, model))
    if running is not None and not running.over(0.5):
        st.fragment(with_errors_shown(watch), run_every=0.5)(running, "question")
        return
    way("settings", "Caps and prices")
    if st.button(f"Ask {brief(model.name, 40)}", key="ask_judge"):
        asked[_key(result, knowledge)] = Running(
            lambda progress, stopped: _asking(knowledge, answers, model, names, repeats,
                                              progress, stopped),
            Progress("judging", 0, len(answers))), model
        st.rerun()
    if running is None:
        return
    if isinstance(running.error, QafdError):
        st.error(escape_sentence(running.error), icon=":material/error:")
    elif running.error is not None:
        raise running.error
    elif running.result is not None:
        _grades(running.result, _word_cost(knowledge, by))


def _key(result: Evaluation, knowledge: KnowledgeGraph) -> tuple[object, ...]:
    """Return the key of the grades: workspace, questions and methods."""
    return (knowledge.id, version_of(knowledge.graph),
            tuple(question.text for question in result.questions),
            tuple(score.name for score in result.scores))


def _answers(result: Evaluation, knowledge: KnowledgeGraph, methods: Mapping[str, Retriever],
             most: int) -> tuple[Answers, ...]:
    key = *_key(result, knowledge), most
    with st.spinner("Quoting answers"):
        return remember("quoted", key, lambda: quote_answers(knowledge, result, methods, most))


def _asking(knowledge: KnowledgeGraph, answers: tuple[Answers, ...], model: Metered,
            names: list[str], repeats: int, progress: Callable[[Progress], None],
            stopped: Callable[[], bool]) -> Opinions:
    with knowledge.store():  # else each call would open and close the file
        return opinions(answers, model, names, repeats=repeats, progress=progress, stopped=stopped)


def _word_cost(knowledge: KnowledgeGraph, model: Metered) -> str:
    """Word the cost of a run by the ledger, without rounds that were answered before."""
    with knowledge.store() as store:
        total = next(iter(store.ledger.totals("run", model.run)), None)
    if total is None:
        return "No call was made, all was answered before."
    about = "~" if total.estimated else ""
    spent = ["{sent} + {received} tokens".format(
                 sent=f"{about}{total.tokens_in:,}",
                 received=f"{about}{total.tokens_out:,}")]
    if total.unpriced:
        spent.append("no price set")
    elif total.cost:
        spent.append(f"{about}${total.cost:.4f}")
    return f"{', '.join(spent)}."


def _grades(found: Opinions, spent: str) -> None:
    """Draw the grades of each method with their intervals, and their cost."""
    first, *others = found.opinions
    opinions = found.opinions
    columns = {"overall": [one.overall.mean for one in opinions]}
    for name in first.criteria:
        columns[name] = [one.criteria[name].mean for one in opinions]
    table({"method": [label_of(one.name) for one in opinions], **columns,
           "95%": [say_interval(one.overall, 0) for one in opinions],
           "difference (95%)": ["", *(say_gap(one.difference, 1) for one in others)]},
          formats=dict.fromkeys(columns, "%.0f"))
    st.caption(f"In the opinion of {plain(found.model)}, of "
                f"{count(len(found.questions), 'question')}; intervals are 95% bootstrap "
                "intervals over them, differences to the first method, question by question. "
                f"{spent}")
    if found.stopped is not None:
        st.caption(f":material/info: {plain(word_notice(found.stopped))}")
    if found.unread:
        st.caption(f":material/warning: {count(found.unread, 'round')} could not be read.")
    if len(found.questions) < FEW:
        st.caption(f":material/info: {count(len(found.questions), 'question')} cannot tell "
                    f"methods apart; let {FEW} or more be judged.")
    rows = [(label_of(one.name), one.overall.mean, one.overall.low, one.overall.high,
             *(grade.mean for grade in one.criteria.values())) for one in opinions]
    download_csv("Grades as CSV", ["method", "overall", "low", "high", *first.criteria],
                 lambda: rows, "grades.csv")
