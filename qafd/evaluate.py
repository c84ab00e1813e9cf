"""How well methods find the gold passages of questions, with paired bootstrap intervals.

The unit is the document of the workspace, which is one passage of a file of passages: a document
that is cut into several passages counts as found where the first of them is ranked, and ranks
count documents. A method is measured as it is configured, to the depth that it ranks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from qafd import __version__
from qafd.collection import gold_documents
from qafd.errors import ParameterError, QafdError
from qafd.gold import Question
from qafd.graph import Graph
from qafd.index import Progress, never, silent
from qafd.knowledge import KnowledgeGraph
from qafd.measures import RESAMPLES, Interval, contains, exact_match, f1, interval
from qafd.methods import label_of
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, Retrieval, Retriever, params_of

CUTS = (2, 5, 10)
SEED = 20261122
FEW = 10  # questions below which an interval says little


@dataclass(frozen=True)
class Trial:
    """What one method did with one question.

    `ranks` has one entry per gold passage, in the order of `Question.gold`: 1 is the best rank,
    None not ranked. `nodes` counts retrieved nodes, `tokens` those of the graph's nodes among them
    (not of a layer's summaries); `milliseconds` is the retrieval once the question was read.
    `exact_match`, `f1` and `contains` are about the extractive `answer`, None where no answer is
    known. `error` says why a method refused.
    """

    ranks: tuple[int | None, ...]
    nodes: int = 0
    tokens: int = 0
    milliseconds: float = 0.0
    answer: str = ""
    exact_match: float | None = None
    f1: float | None = None
    contains: float | None = None
    error: str = ""

    def recall(self, cut: int) -> float:
        """Share of the gold passages among the first `cut`."""
        return sum(rank is not None and rank <= cut for rank in self.ranks) / len(self.ranks)

    @property
    def reciprocal(self) -> float:
        """1 / rank of the best gold passage, 0 where none is ranked."""
        return 1.0 / min((rank for rank in self.ranks if rank is not None), default=np.inf)


@dataclass(frozen=True)
class Score:
    """One method over all questions.

    `recall` has the mean at each of CUTS; `complete` is the share of questions with all gold in
    the first five; `milliseconds` is a median, the other numbers are means. `difference` is
    recall@5 minus that of the first method, question by question.
    """

    name: str
    label: str
    params: dict[str, Any]
    trials: tuple[Trial, ...]
    recall: tuple[float, ...]
    recall_5: Interval
    difference: Interval
    complete: float
    reciprocal: float
    nodes: float
    tokens: float
    milliseconds: float
    exact_match: float | None
    f1: float | None
    contains: float | None

    @property
    def errors(self) -> int:
        """How many questions the method refused; they count as missed."""
        return sum(bool(trial.error) for trial in self.trials)


@dataclass(frozen=True)
class Evaluation:
    """Methods on the same questions; all but the first are compared with the first."""

    questions: tuple[Question, ...]
    scores: tuple[Score, ...]
    passages: int
    notices: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[Score, ...]:
        """All methods with the largest mean recall@5."""
        most = max(score.recall_5.mean for score in self.scores)
        return tuple(score for score in self.scores if score.recall_5.mean == most)

    @property
    def failures_first(self) -> tuple[int, ...]:
        """The questions' places: most gold missed in the first five, over all methods, first."""
        missed = [-sum(1 - score.trials[i].recall(5) for score in self.scores)
                  for i in range(len(self.questions))]
        return tuple(sorted(range(len(self.questions)), key=lambda i: (missed[i], i)))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values.

        {"schema": 1, "qafd": version, "passages", "questions": counts, "seed", "resamples",
        "notices": [...], "methods": {name: {"label", "params", "recall@2", "recall@5",
        "recall@5_interval": [low, high], "recall@10", "all@5", "mrr", "nodes", "tokens",
        "milliseconds", "exact_match", "f1", "contains", "errors",
        "difference": {"to": first method, "recall@5": mean, "interval": [low, high]},
        "per_question": [{"qid", "question", "ranks": {gold name: rank or null}, "recall@5",
        "nodes", "tokens", "milliseconds", "answer", "exact_match", "f1", "contains",
        "error"}]}}}
        """
        return {
            "schema": 1, "qafd": __version__, "passages": self.passages,
            "questions": len(self.questions), "seed": SEED, "resamples": RESAMPLES,
            "notices": list(self.notices),
            "methods": {score.name: self._line(score) for score in self.scores}}

    def _line(self, score: Score) -> dict[str, Any]:
        return {
            "label": score.label, "params": score.params,
            **{f"recall@{cut}": value for cut, value in zip(CUTS, score.recall, strict=True)},
            "recall@5_interval": [score.recall_5.low, score.recall_5.high],
            "all@5": score.complete, "mrr": score.reciprocal, "nodes": score.nodes,
            "tokens": score.tokens, "milliseconds": score.milliseconds,
            "exact_match": score.exact_match, "f1": score.f1, "contains": score.contains,
            "errors": score.errors,
            "difference": {"to": self.scores[0].name, "recall@5": score.difference.mean,
                           "interval": [score.difference.low, score.difference.high]},
            "per_question": [
                {"qid": question.id, "question": question.text, "recall@5": trial.recall(5)}
                | asdict(trial) | {"ranks": dict(zip(question.gold, trial.ranks, strict=True))}
                for question, trial in zip(self.questions, score.trials, strict=True)]}


def evaluate(
    knowledge: KnowledgeGraph, questions: Sequence[Question], methods: Mapping[str, Retriever], *,
    progress: Callable[[Progress], None] = silent, stopped: Callable[[], bool] = never,
) -> Evaluation:
    """Run every method on every question of a workspace, with one plan for each question.

    Layers that a method needs are built where they are missing.

    Parameters
    ----------
    methods : mapping
        Names, as they shall stand in the table, to configured methods; the others are compared
        with the first.
    progress : callable
        Told at stage "evaluating" how many of all retrievals are done, and the question at work.
    stopped : callable
        Asked between questions; True ends the run with the questions done so far.

    Raises
    ------
    ParameterError
        There is no method, no question was done, or the workspace has none of the gold passages.
    """
    if not methods:
        raise ParameterError("no method is chosen; choose at least one")
    if not questions or not all(question.gold for question in questions):
        raise ParameterError("a question has no gold passages, or there is no question; give each "
                             "the names of the documents that answer it")
    documents, notices = gold_documents(knowledge, questions)
    needs = {need for method in methods.values() for need in method.needs}
    knowledge.build_layers(sorted(needs), lambda name, done, total: progress(
        Progress(f"building {name}", done, total)))
    subqueries = any(params_of(method).get("subqueries") == "on" for method in methods.values())
    graph = knowledge.graph
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    total = len(questions) * len(methods)
    for question in questions:
        if stopped():
            break
        plan = knowledge.plan(question.text, graph, subqueries=subqueries)
        gold = [documents[name] for name in question.gold]
        for name, method in methods.items():
            progress(Progress("evaluating", sum(map(len, trials.values())), total, question.text))
            trials[name].append(_trial(knowledge, graph, method, plan, question.answers, gold))
    first = next(iter(trials.values()))
    progress(Progress("evaluating", len(first) * len(methods), total))
    if not first:
        raise ParameterError("the evaluation was stopped before its first question; run it again")
    passages = int((graph.kinds == "passage").sum())
    return Evaluation(
        tuple(questions[:len(first)]),
        tuple(score(name, methods[name], found, first) for name, found in trials.items()),
        passages, (*notices, *_cautions(len(first), len(questions), passages)))


def _trial(knowledge: KnowledgeGraph, graph: Graph, method: Retriever, plan: QueryPlan,
           known: Sequence[str], gold: Sequence[frozenset[str]]) -> Trial:
    """What a method does with a question; the known answer that fits best is compared with."""
    try:
        retrieval = knowledge.retrieve(plan, method, graph=graph)
    except QafdError as error:
        return Trial((None,) * len(gold), error=str(error))
    full = [node.id for node in retrieval.nodes if node.state == SATURATED]
    tokens = sum(int(graph.tokens[graph.row[key]]) for key in full if key in graph.row)
    trial = Trial(ranks(retrieval, gold), len(full), tokens, retrieval.work.total_milliseconds)
    if not known:
        return trial
    answer = " ".join(s.text for s in knowledge.answer(retrieval, plan).sentences)
    return replace(trial, answer=answer, exact_match=max(exact_match(answer, a) for a in known),
                   f1=max(f1(answer, a) for a in known),
                   contains=max(contains(answer, a) for a in known))


def _cautions(done: int, asked: int, passages: int) -> Iterator[str]:
    """Why not to read too much into the numbers."""
    if done < asked:
        yield f"Stopped after {done} of {asked} questions."
    if passages <= 5:
        yield (f"With {passages} passage{'s' * (passages != 1)} in all, any method has them among "
               "its first 5: compare what is found in 2, and MRR.")
    if done < FEW:
        yield f"{done} question{'s' * (done > 1)} cannot tell methods apart; use {FEW} or more."


def ranks(retrieval: Retrieval, gold: Sequence[frozenset[str]]) -> tuple[int | None, ...]:
    """The rank of each gold passage among the documents ranked; None where it is not."""
    order = list(dict.fromkeys(passage.document for passage in retrieval.passages))
    places = {document: place for place, document in enumerate(order, 1)}
    return tuple(min((places[d] for d in documents if d in places), default=None)
                 for documents in gold)


def score(name: str, method: Retriever, trials: Sequence[Trial], first: Sequence[Trial]) -> Score:
    """The means of a method's trials; `first` are those of the method it is compared with."""
    recall = np.array([trial.recall(5) for trial in trials])
    difference = recall - np.array([trial.recall(5) for trial in first])
    return Score(
        name, label_of(name), params_of(method), tuple(trials),
        tuple(_mean(trial.recall(cut) for trial in trials) for cut in CUTS),
        # The same seed draws the same questions for all: a method's interval does not depend on
        # which others are in the table.
        interval(recall, np.random.default_rng(SEED)),
        interval(difference, np.random.default_rng(SEED)),
        _mean(trial.recall(5) == 1 for trial in trials),
        _mean(trial.reciprocal for trial in trials), _mean(trial.nodes for trial in trials),
        _mean(trial.tokens for trial in trials),
        float(np.median([trial.milliseconds for trial in trials])),
        *(_mean_of_known([getattr(trial, key) for trial in trials])
          for key in ("exact_match", "f1", "contains")))


def sentence(score: Score, first: Score) -> str:
    """What the difference of two methods is worth, in words."""
    gap = score.difference
    if gap.mean == gap.low == gap.high == 0:
        return f"{score.label} finds as many of the gold passages as {first.label}."
    better, worse = (score, first) if gap.mean >= 0 else (first, score)
    ends = sorted((gap.low, gap.high) if gap.mean >= 0 else (-gap.low, -gap.high))
    return (f"{better.label} finds {_plain(abs(gap.mean))} more of the gold passages than "
            f"{worse.label} (95%: {_plain(ends[0])} to {_plain(ends[1])}); on this set that "
            + ("is a real difference." if gap.certain else "may be chance."))


def _plain(value: float) -> str:
    """Two decimals, as in 0.12 or -0.05, and 0."""
    rounded = round(value, 2)
    return f"{rounded:.2f}" if rounded else "0"


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
