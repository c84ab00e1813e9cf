"""The Evaluate page: questions with gold passages, methods, and how well each finds them."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from typing import Any, Generic, TypeVar

import streamlit as st

from qafd.app.escaping import plain, safe, said
from qafd.app.figures import GREEN
from qafd.app.pages import PAGES, page
from qafd.app.session import forget, keep, value_of
from qafd.errors import ParameterError, QafdError
from qafd.evaluate import MEASURES, Evaluation, Score, Trial, evaluate, sentence
from qafd.evaluate.gold import Question, QuestionSet
from qafd.export import table_csv
from qafd.ingest import Progress
from qafd.knowledge import KnowledgeGraph
from qafd.models.prompts_answer import ABSENT
from qafd.pace import Pace
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
from qafd.retrieve.methods import PAPER, configured, label_of
from qafd.view.panel import clean
from qafd.wording import say, say_some
from qafd.wording.counts import count

Result = TypeVar("Result")
Work = Callable[[Callable[[Progress], None], Callable[[], bool]], Result]
USUAL = ("qafd", PAPER, "vector", "lexical", "fusion", "pagerank")
AT_ONCE = 150  # retrievals that are run without being asked for
KEPT = 8  # results


class Running(Generic[Result]):
    """Work in a thread of its own, which goes on while other pages are looked at.

    Parameters
    ----------
    work : callable
        Is given what to tell its progress to, and what to ask whether it shall stop.
    progress : Progress
        At the beginning; in this stage the time that is left is told.
    """

    def __init__(self, work: Work[Result], progress: Progress) -> None:
        self.progress = progress
        self.result: Result | None = None
        self.error = ""
        self.cancel = Event()
        self._pace = Pace()
        self.stage = progress.stage
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Work[Result]) -> None:
        try:
            self.result = work(self._note, self.cancel.is_set)
        except QafdError as error:
            self.error = str(error)

    def _note(self, progress: Progress) -> None:
        self.progress = progress
        if progress.stage == self.stage:
            self._pace.note(progress.done, progress.total)

    def over(self, seconds: float = 0) -> bool:
        """Whether it has ended, after waiting for it that long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def remaining(self) -> str:
        """About how long it still takes, once that can be told."""
        return f", {self._pace.left}" if self._pace.left else ""


def measuring(knowledge: KnowledgeGraph, questions: Sequence[Question],
              methods: Mapping[str, Retriever]) -> Running[Evaluation]:
    """An evaluation that runs."""
    return Running(
        lambda progress, stopped: evaluate(knowledge, questions, methods, progress=progress,
                                           stopped=stopped),
        Progress("evaluating", 0, len(questions) * len(methods)))


def chosen_methods(knowledge: KnowledgeGraph) -> dict[str, Retriever]:
    """The methods to measure; the first is what the others are compared with."""
    options = [*METHODS, PAPER]
    specs = st.multiselect(
        say("Methods"), options, [name for name in USUAL if name in options],
        # what is typed comes back from the browser as it is shown
        format_func=lambda spec: label_of(spec) if spec in options else spec,
        key=keep("measure"), bind="query-params", accept_new_options=True,
        help=say("The others are compared with the first. Type a variant to measure it: "
            "qafd(mass=30,variant=plain), qafd:paper(seeds=20)."))
    if not specs:
        st.caption(say("Choose at least one method."))
    return configured(",".join(specs), knowledge.graph) if specs else {}


@st.cache_resource(show_spinner=False)
def _measurings() -> OrderedDict[tuple[str, ...], Running[Evaluation]]:
    """The evaluations of this server, by workspace, version, questions and methods."""
    return OrderedDict()


def measured(knowledge: KnowledgeGraph, asked: QuestionSet,
             methods: Mapping[str, Retriever]) -> Evaluation | None:
    """The result for these questions and methods; None while it is not there.

    Few retrievals are run at once, many when the button is pressed.
    """
    key = (str(knowledge.path), knowledge.version(knowledge.graph), asked.digest, *methods)
    known = _measurings()
    work = len(asked.questions) * len(methods)
    size = f"{count(len(asked.questions), 'question')}, {count(len(methods), 'method')}"
    current = known.get(key)
    if current is None or (current.over() and current.cancel.is_set()):
        asked_for = st.button(say("Measure {size}", size=size), type="primary") if (
            current is not None or work > AT_ONCE) else False
        if asked_for or (current is None and work <= AT_ONCE):
            current = known[key] = measuring(knowledge, asked.questions, methods)
            while len(known) > KEPT:
                known.popitem(last=False)[1].cancel.set()
        if asked_for:
            st.rerun()
    if current is None:
        return None
    if not current.over(1.5):
        st.fragment(watch, run_every=0.5)(current, "retrievals")
        return None
    if current.error:
        del known[key]  # so that it can be tried again
        raise ParameterError(current.error)
    return current.result


def watch(current: Running[Any], units: str) -> None:
    """A bar of what runs, with its end; the page runs again when it is over."""
    bar, stop = st.columns([6, 1], vertical_alignment="center")
    at = current.progress
    what = (f"{at.done:,} of {at.total:,} {units}{current.remaining}: {clean(at.current, 80)}"
            if at.stage == current.stage else
            f"{at.stage.capitalize()}: {at.done:,} of {at.total:,} texts")
    bar.progress(at.done / max(at.total, 1), plain(what))
    if stop.button(say("Cancel"), disabled=current.cancel.is_set()):
        current.cancel.set()
    if current.over():
        st.rerun()


def verdict(result: Evaluation) -> str:
    """What was measured, by what methods are compared, and what each difference is worth.

    Returns the chosen one of `qafd.evaluate.MEASURES`.
    """
    st.caption(say("{questions}, "
                   "{passages}. Intervals are 95% bootstrap intervals over "
                   "the questions.", questions=count(len(result.questions), "question"),
                   passages=count(result.passages, "passage")))
    for notice in result.notices:
        st.caption(f":material/info: {said(notice)}")
    for score in result.scores:
        if score.errors:
            refused = next(trial.error for trial in score.trials if trial.error)
            st.caption(say(":material/error: {label} refused {errors} of "
                           "{questions}, which count as missed: "
                           "{refused}", label=plain(score.label), errors=score.errors,
                           questions=count(len(score.trials), "question"),
                           refused=plain(refused)))
    if value_of("by", None) not in (None, *result.measures):
        forget("by")
    measure = st.segmented_control(
        say("Compare by"), result.measures, default=result.measures[0], required=True,
        format_func=lambda key: MEASURES[key].label, key=keep("by"),
        bind="query-params") or result.measures[0]
    st.caption(MEASURES[measure].meaning)
    if len(result.scores) > 1:
        st.markdown("\n".join(f"- {plain(sentence(score, result.scores[0], measure))}"
                              for score in result.scores[1:]))
    return measure


def numbers(result: Evaluation, measure: str) -> None:
    """One row per method: how it compares, the passages and nodes it found, and what that took."""
    first, scores = result.scores[0], result.scores
    tables = {
        "Compared": ([_compared(score, measure, score is not first) for score in scores], {
            _column(measure): _gold(measure),
            "difference (95%)": st.column_config.TextColumn(
                help=say("Minus that of the first method, question by question"))}),
        "Passages": ([_found(score) for score in scores], {
            "found in 5": _gold("recall@5"),
            "precision": _gold("precision@5"), "F1": _gold("f1@5"),
            "found in 2": _shares("recall@2"),
            "found in 10": _shares("recall@10"),
            "all in 5": _shares("The share of questions with all gold passages among the first 5"),
            "MRR": _shares("Mean of 1 / rank of the best gold passage")})}
    if "node_f1" in result.measures:
        tables["Nodes"] = [_nodes(score) for score in scores], {
            "nodes found": _gold("node_recall"),
            "precision": _gold("node_precision"), "F1": _gold("node_f1")}
    if any(score.f1 is not None for score in scores):
        tables["Answers"] = [_answers(score) for score in scores], {
            "contains": _shares("The share of quoted answers in which the known answer stands"),
            "F1": _shares("Of the quoted answer and the known one, normalized as in SQuAD and "
                          "HotpotQA. Quoted sentences are longer than an answer, so it is small."),
            "exact": _shares("Exact match of the same")}
    tables["Work"] = [_cost(score) for score in scores], {
        "nodes": st.column_config.NumberColumn(
            help=say("Retrieved, mean: entities, passages and what layers add"), format="%.0f"),
        "tokens": st.column_config.NumberColumn(help=say("Of the retrieved nodes, mean"),
                                                format="localized"),
        "ms": st.column_config.NumberColumn(
            help=say("Median time of a retrieval once the question was read"), format="%.1f")}
    for tab, (name, (rows, columns)) in zip(st.tabs(list(tables)), tables.items(), strict=True):
        with tab:
            st.dataframe(rows, hide_index=True, column_config=columns)
            if name == "Answers":
                st.caption(
                    say("contains: how often the quoted sentences hold the known answer; F1 and exact: "
                        "how well all their words match it, normalized as SQuAD and HotpotQA do, and "
                        "small because whole sentences are quoted."))
    st.download_button(
        say("Everything as JSON"), lambda: json.dumps(result.to_dict(), ensure_ascii=False),
        "evaluation.json", "application/json", on_click="ignore", icon=":material/download:")


def _column(measure: str) -> str:
    label = MEASURES[measure].label
    return label[0].lower() + label[1:]


def _shares(meaning: str) -> Any:
    """A column of numbers from 0 to 1."""
    return st.column_config.NumberColumn(help=meaning, format="%.3f")


def _gold(measure: str) -> Any:
    return _shares(MEASURES[measure].meaning)


def _compared(score: Score, measure: str, differs: bool) -> dict[str, Any]:
    own, gap = score.intervals[measure], score.differences[measure]
    return {"method": score.label, _column(measure): own.mean,
            "95%": f"{own.low:.2f} to {own.high:.2f}",
            "difference (95%)": (f"{gap.mean:+.3f} ({gap.low:+.2f} to {gap.high:+.2f})" if differs
                                 else "")}


def _found(score: Score) -> dict[str, Any]:
    return {"method": score.label, "found in 5": score.recall_5.mean,
            "precision": score.intervals["precision@5"].mean, "F1": score.intervals["f1@5"].mean,
            "found in 2": score.recall[0], "found in 10": score.recall[2],
            "all in 5": score.complete, "MRR": score.reciprocal}


def _nodes(score: Score) -> dict[str, Any]:
    return {"method": score.label, "nodes found": score.intervals["node_recall"].mean,
            "precision": score.intervals["node_precision"].mean,
            "F1": score.intervals["node_f1"].mean}


def _answers(score: Score) -> dict[str, Any]:
    return {"method": score.label, "contains": score.contains, "F1": score.f1,
            "exact": score.exact_match}


def _cost(score: Score) -> dict[str, Any]:
    return {"method": score.label, "nodes": score.nodes, "tokens": round(score.tokens),
            "ms": score.milliseconds}


def chart(result: Evaluation, measure: str) -> None:
    """A measure of each method as a bar with its interval."""
    scores = result.scores[::-1]
    found = [score.intervals[measure] for score in scores]
    end = max(0.1, *(share.high for share in found))
    figure = {
        "data": [{
            "type": "bar", "orientation": "h", "x": [share.mean for share in found],
            "y": [clean(s.label, 60) for s in scores],
            # a bar too short for its number leaves it to the table
            "text": [f"{share.mean:.2f}" if share.mean > 0.2 * end else "" for share in found],
            "textposition": "inside", "insidetextanchor": "start", "textangle": 0,
            "marker": {"color": GREEN}, "insidetextfont": {"color": "#ffffff"},
            "error_x": {"type": "data", "symmetric": False, "color": "#7a7a7a", "thickness": 2,
                        "array": [share.high - share.mean for share in found],
                        "arrayminus": [share.mean - share.low for share in found]}}],
        "layout": {
            "xaxis": {"title": {"text": MEASURES[measure].words},
                      "range": [0, 1.02 * end]},
            "yaxis": {"automargin": True}, "height": 90 + 36 * len(scores),
            "margin": {"l": 0, "r": 0, "t": 10, "b": 0}}}
    alt = f"{MEASURES[measure].label}, with 95% intervals: " + "; ".join(
        f"{s.label} {share.mean:.2f} ({share.low:.2f} to {share.high:.2f})"
        for s, share in zip(result.scores, found[::-1], strict=True))
    st.plotly_chart(figure, theme="streamlit", config={"displayModeBar": False}, alt=alt)
    best = result.best(measure)
    highest = (f"Highest: {say_some([s.label for s in best], len(best))} with "
               f"{best[0].intervals[measure].mean:.2f}." if len(best) < max(len(scores), 2) else
               f"All {len(best)} methods are equal.")
    st.caption(say("Bars: mean {words}; whiskers: 95%. {highest}", words=MEASURES[measure].words,
                   highest=plain(highest)))
    st.download_button(say("Chart as CSV"), lambda: table_csv(
        ["method", measure, "low", "high"],
        [[s.label, share.mean, share.low, share.high]
         for s, share in zip(result.scores, found[::-1], strict=True)]),
        f"{measure.partition('@')[0]}.csv", "text/csv", on_click="ignore",
        icon=":material/download:")


def questions_table(result: Evaluation, knowledge: KnowledgeGraph, measure: str) -> None:
    """Question by question, failures first; a chosen one shows all of its gold and its ranks."""
    st.subheader(say("Question by question"))
    order = result.failures_first(measure)
    nodes = measure.startswith("node")
    rows = [{"question": clean(result.questions[i].text, 300),
             **{score.label: _ranks(score.trials[i].node_ranks if nodes else score.trials[i].ranks)
                for score in result.scores}} for i in order]
    event = st.dataframe(rows, hide_index=True, on_select="rerun", selection_mode="single-row",
                         key="evaluated", column_config={
                             "question": st.column_config.TextColumn(width=340)} | {
                             # Short names, so that six methods fit beside the sidebar.
                             s.label: st.column_config.TextColumn(clean(s.name, 40), help=plain(
                                 s.label)) for s in result.scores})
    st.caption(
        (say("Places of the gold nodes among the retrieved entities, – where one is not retrieved")
         if nodes else say("Ranks of the gold passages, – where one is not ranked"))
        + say("; failures first. Choose a row to see what was missed."))
    st.download_button(say("Ranks as CSV"), lambda: table_csv(
        ["question", "kind", "gold", *(score.label for score in result.scores)],
        [[q.text, kind, name, *(getattr(score.trials[i], ranks)[place] for score in result.scores)]
         for i, q in enumerate(result.questions)
         for kind, ranks, gold in (("passage", "ranks", q.gold), ("node", "node_ranks", q.nodes))
         for place, name in enumerate(gold)]),
        "ranks.csv", "text/csv", on_click="ignore", icon=":material/download:")
    chosen = [row for row in event["selection"]["rows"] if row < len(order)]
    _question(result, order[chosen[0] if chosen else 0], knowledge)


def _question(result: Evaluation, place: int, knowledge: KnowledgeGraph) -> None:
    """One question: the rank of each gold passage by each method, and where to look further."""
    question = result.questions[place]
    st.html(f"<h4 style='margin:0'>{safe(question.text)}</h4>")
    link = {"ws": knowledge.path.stem, "q": question.text}
    with st.container(horizontal=True, gap="small"):
        for name, label in (("explore", "Open in Explore"), ("compare", "Open in Compare")):
            if name in PAGES:
                st.page_link(page(name), label=label, icon=PAGES[name][1], query_params=link)
    st.dataframe([
        {"rank by": score.label,
         **{clean(name, 160): _rank(score.trials[place].ranks[number])
            for number, name in enumerate(question.gold)}} for score in result.scores],
        hide_index=True)
    if question.nodes:
        names = [clean(name, 120) + " (not in the graph)" * (name in result.unknown)
                 for name in question.nodes]
        st.dataframe([
            {"place of the node by": score.label,
             **dict(zip(names, map(_rank, score.trials[place].node_ranks), strict=True)),
             "retrieved": score.trials[place].entities} for score in result.scores],
            hide_index=True, column_config={"retrieved": st.column_config.NumberColumn(
                help=say("Entities that the method retrieved; the gold nodes are looked for among "
                         "them"))})
    if question.answers:
        st.html("<small>Known answer: " + safe(" or ".join(question.answers)) + "</small>")
        st.html("<table style='font-size:.85rem'><tr><th>method<th>contains it<th>quoted answer"
                + "".join(f"<tr style='vertical-align:top'><td>{safe(score.label)}"
                          f"<td>{'yes' if score.trials[place].contains else 'no'}"
                          f"<td>{safe(_said(score.trials[place]), 1000)}"
                          for score in result.scores) + "</table>")


def _said(trial: Trial) -> str:
    return trial.answer or trial.error or ABSENT


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _ranks(ranks: Sequence[int | None]) -> str:
    return ", ".join(map(_rank, ranks))

