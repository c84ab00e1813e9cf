"""Evaluation of methods on questions with gold passages, with paired bootstrap intervals.

The unit is the document of the workspace, which is one passage of a file of passages: a document
that is cut into several passages counts as found where the first of them is ranked, and ranks
count documents. A marked passage (`qafd.evaluate.collection.name_passage`) counts alone, and its
rank counts passages. A method is measured as it is configured, to the depth that it ranks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from qafd import __version__
from qafd.errors import ParameterError, QafdError
from qafd.evaluate.collection import gold_documents
from qafd.evaluate.gold import Question
from qafd.evaluate.measures import RESAMPLES, Interval, harmonic_mean, intervals
from qafd.graph import Graph
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval, Retriever, params_of
from qafd.retrieve.external import ForeignMethod
from qafd.retrieve.methods import label_of
from qafd.time_left import ignore_progress

CUTS = (2, 5, 10)
SEED = 20261122
SMALL = 50  # passages below which five are so many that most methods find all gold among them
FEW = 10  # questions below which an interval says little


@dataclass(frozen=True)
class Trial:
    """The outcome of one method on one question.

    `ranks` has one entry per gold passage, in the order of `Question.gold`: 1 is the best rank,
    None not ranked. `nodes` counts retrieved nodes, `tokens` those of the graph's nodes among them
    (not of a layer's summaries); `milliseconds` is the retrieval once the question was read. `error`
    is why a method refused.
    """

    ranks: tuple[int | None, ...]
    nodes: int = 0
    tokens: int = 0
    milliseconds: float = 0.0
    error: str = ""

    def recall(self, cut: int) -> float:
        """Return the share of the gold passages among the first `cut`."""
        return sum(rank is not None and rank <= cut for rank in self.ranks) / len(self.ranks)

    def precision(self, cut: int) -> float:
        """Return the number of gold documents among the first `cut`, divided by `cut`.

        As in trec_eval the divisor is `cut` also where fewer are ranked, so g gold passages allow
        at most g / `cut`. Two gold names of one document count once; of several documents with
        one gold name only the best counts.
        """
        return len({rank for rank in self.ranks if rank is not None and rank <= cut}) / cut

    def f1_at(self, cut: int) -> float:
        """Return the harmonic mean of `precision(cut)` and `recall(cut)`, 0 if no gold is found."""
        return harmonic_mean(self.precision(cut), self.recall(cut))

    @property
    def reciprocal(self) -> float:
        """1 / rank of the best gold passage, 0 where none is ranked."""
        return 1.0 / min((rank for rank in self.ranks if rank is not None), default=np.inf)


MEASURES: dict[str, Callable[[Trial], float]] = {
    "recall@5": lambda trial: trial.recall(5),
    "recall@2": lambda trial: trial.recall(2),
    "precision@5": lambda trial: trial.precision(5),
    "f1@5": lambda trial: trial.f1_at(5)}
"""The measures of a trial by which methods are compared, with an interval."""


@dataclass(frozen=True)
class Score:
    """One method over all questions.

    `recall` has the mean at each of CUTS; `intervals` the mean of each of MEASURES, `differences` the
    same minus that of the first method, question by question. `complete` is the share of questions with
    all gold in the first five; `milliseconds` is a median, the other numbers are means.
    """

    name: str
    label: str
    params: dict[str, Any]
    trials: tuple[Trial, ...]
    recall: tuple[float, ...]
    intervals: Mapping[str, Interval]
    differences: Mapping[str, Interval]
    complete: float
    reciprocal: float
    nodes: float
    tokens: float
    milliseconds: float
    foreign: bool = False
    """True for a retriever from outside."""

    @property
    def recall_5(self) -> Interval:
        """recall@5."""
        return self.intervals["recall@5"]

    @property
    def difference(self) -> Interval:
        """recall@5 minus that of the first method."""
        return self.differences["recall@5"]

    @property
    def missed(self) -> frozenset[int]:
        """Places of the questions of which no gold is among the first five, without refused ones."""
        return frozenset(place for place, trial in enumerate(self.trials)
                         if not trial.recall(5) and not trial.error)

    @property
    def errors(self) -> int:
        """Count the questions that the method refused, which count as missed."""
        return sum(bool(trial.error) for trial in self.trials)


@dataclass(frozen=True)
class Evaluation:
    """Methods on the same questions; all but the first are compared with the first."""

    questions: tuple[Question, ...]
    scores: tuple[Score, ...]
    passages: int
    notices: tuple[Notice, ...] = ()

    @property
    def main(self) -> str:
        """The measure that separates methods best: of the first 2 passages if there are few in all."""
        return "recall@2" if self.passages < SMALL else "recall@5"

    def best(self, measure: str = "recall@5") -> tuple[Score, ...]:
        """Return all methods with the largest mean of a measure."""
        most = max(score.intervals[measure].mean for score in self.scores)
        return tuple(score for score in self.scores if score.intervals[measure].mean == most)

    def failures_first(self, measure: str) -> tuple[int, ...]:
        """Order the questions by the sum of a measure over all methods, smallest first."""
        sums = []
        for place in range(len(self.questions)):
            sums.append(sum(MEASURES[measure](score.trials[place]) for score in self.scores))
        return tuple(sorted(range(len(sums)), key=lambda place: (sums[place], place)))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values.

        {"schema": 1, "qafd": version, "passages", "questions": counts, "seed", "resamples",
        "notices": [...], "methods": {name: {"label", "params", "recall@10", "recall@2", "recall@5",
        "precision@5", "f1@5" (all but the first with "..._interval"), "all@5", "mrr", "nodes",
        "tokens", "milliseconds", "errors",
        "difference": {"to": first method, "recall@5": mean, "interval": [low, high], and every
        other measure with its "..._interval"},
        "per_question": [{"qid", "question", "ranks": {gold name: rank or null}, "recall@5" and the
        other measures, "nodes", "tokens", "milliseconds", "error"}]}}}
        """
        return {
            "schema": 1, "qafd": __version__, "passages": self.passages,
            "questions": len(self.questions), "seed": SEED, "resamples": RESAMPLES,
            "notices": [asdict(one) for one in self.notices],
            "methods": {score.name: self._line(score) for score in self.scores}}

    def _line(self, score: Score) -> dict[str, Any]:
        line: dict[str, Any] = {"label": score.label, "params": score.params}
        for cut, value in zip(CUTS, score.recall, strict=True):
            line[f"recall@{cut}"] = value
        line |= _flat(score.intervals)
        line |= {"all@5": score.complete, "mrr": score.reciprocal, "nodes": score.nodes,
                 "tokens": score.tokens, "milliseconds": score.milliseconds,
                 "errors": score.errors}
        gap = score.difference
        line["difference"] = {"to": self.scores[0].name, "interval": [gap.low, gap.high],
                              **_flat(score.differences)}
        line["per_question"] = [_trial_record(question, trial) for question, trial
                                in zip(self.questions, score.trials, strict=True)]
        return line


def _trial_record(question: Question, trial: Trial) -> dict[str, Any]:
    """Return the outcome of a method on a question as plain JSON values."""
    line: dict[str, Any] = {"qid": question.id, "question": question.text}
    line |= {name: measure(trial) for name, measure in MEASURES.items()}
    line |= asdict(trial)
    line["ranks"] = dict(zip(question.gold, trial.ranks, strict=True))
    return line


def _flat(intervals: Mapping[str, Interval]) -> dict[str, Any]:
    """Return {measure: mean, measure_interval: [low, high]}."""
    flat: dict[str, Any] = {}
    for measure, found in intervals.items():
        flat[measure] = found.mean
        flat[f"{measure}_interval"] = [found.low, found.high]
    return flat


def evaluate(
    knowledge: KnowledgeGraph, questions: Sequence[Question], methods: Mapping[str, Retriever], *,
    progress: Callable[[Progress], None] = ignore_progress) -> Evaluation:
    """Run every method on every question of a workspace, with one plan for each question.

    Layers that a method needs are built where they are missing.

    Parameters
    ----------
    methods : mapping
        Names, as they shall stand in the table, to configured methods; the others are compared
        with the first.
    progress : callable
        Called at stage "evaluating" with the number of retrievals done, and the current question.

    Raises
    ------
    ParameterError
        There is no method, no question, or the workspace has none of the gold passages.
    """
    if not methods:
        raise ParameterError("no method is chosen; choose at least one")
    if not questions or not all(question.gold for question in questions):
        raise ParameterError("a question has no gold passages, or there is no question; give each "
                             "the names of the documents that answer it")
    documents, notices = gold_documents(knowledge, questions)
    prepare(knowledge, methods, lambda name, done, total: progress(
        Progress(f"building {name}", done, total)))
    graph = knowledge.graph
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    total = len(questions) * len(methods)
    for question in questions:
        plan = knowledge.plan(question.text, graph)
        gold = [documents[name] for name in question.gold]
        with knowledge.store():  # which all methods use
            for name, method in methods.items():
                progress(Progress("evaluating", sum(map(len, trials.values())), total,
                                  question.text))
                trials[name].append(_trial(knowledge, graph, method, plan, gold))
    first = next(iter(trials.values()))
    progress(Progress("evaluating", total, total))
    passages = graph.count("passage")
    return Evaluation(
        tuple(questions),
        tuple(score(name, methods[name], found, first) for name, found in trials.items()),
        passages, (*notices, *_cautions(len(questions), passages)))


def prepare(knowledge: KnowledgeGraph, methods: Mapping[str, Retriever],
            report: Callable[[str, int, int], None] = ignore_progress) -> None:
    """Build the layers that methods need."""
    needs = set(chain.from_iterable(method.needs for method in methods.values()))
    knowledge.build_layers(sorted(needs), report)


def _trial(knowledge: KnowledgeGraph, graph: Graph, method: Retriever, plan: QueryPlan,
           gold: Sequence[frozenset[str]]) -> Trial:
    """Run a method on a question, and compare its passages with the documents that each gold one may be."""
    try:
        retrieval = knowledge.retrieve(plan, method, graph=graph)
    except QafdError as error:
        return Trial((None,) * len(gold), error=str(error))
    full = [node.id for node in retrieval.retrieved]
    tokens = sum(int(graph.tokens[graph.row[key]]) for key in full if key in graph.row)
    return Trial(ranks(retrieval, gold), len(full), tokens, retrieval.work.total_milliseconds)


def _cautions(questions: int, passages: int) -> Iterator[Notice]:
    """List reasons to be careful with the numbers."""
    if passages <= CUTS[1]:
        yield notice(NoticeKind.FEW_PASSAGES, count=passages)
    if questions < FEW:
        yield notice(NoticeKind.FEW_QUESTIONS, count=questions, few=FEW)


def ranks(retrieval: Retrieval, gold: Sequence[frozenset[str]]) -> tuple[int | None, ...]:
    """Return the rank of each gold document among the ranked documents, and of each gold passage among
    the ranked passages; None if it is not ranked."""
    places = {passage.chunk: place for place, passage in enumerate(retrieval.passages, 1)}
    order = dict.fromkeys(passage.document for passage in retrieval.passages)
    places |= {document: place for place, document in enumerate(order, 1)}
    found = []
    for documents in gold:
        known = places.keys() & documents
        found.append(min((places[document] for document in known), default=None))
    return tuple(found)


def score(name: str, method: Retriever, trials: Sequence[Trial], first: Sequence[Trial]) -> Score:
    """Average a method's trials; `first` are those of the method it is compared with."""
    own, other = (np.array([[*map(measure, some)] for measure in MEASURES.values()])
                  for some in (trials, first))  # (measures, questions)
    # The same seed draws the same questions for all: a method's interval does not depend on
    # which others are in the table.
    drawn = intervals(np.concatenate([own, own - other]), np.random.default_rng(SEED))
    means = dict(zip(MEASURES, drawn[:len(MEASURES)], strict=True))
    differences = dict(zip(MEASURES, drawn[len(MEASURES):], strict=True))
    recall = np.array([[*map(trial.recall, CUTS)] for trial in trials]).T
    sizes = np.array([(trial.reciprocal, trial.nodes, trial.tokens) for trial in trials])
    reciprocal, nodes, tokens = sizes.mean(axis=0).tolist()
    return Score(
        name, label_of(name), params_of(method), tuple(trials), tuple(recall.mean(axis=1).tolist()),
        means, differences, float((recall[CUTS.index(5)] == 1).mean()),
        reciprocal, nodes, tokens, float(np.median([trial.milliseconds for trial in trials])),
        isinstance(method, ForeignMethod))
