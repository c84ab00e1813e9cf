"""Evaluation of methods on questions with gold passages, with paired bootstrap intervals.

The unit is the document of the workspace, which is one passage of a file of passages: a document
that is cut into several passages counts as found where the first of them is ranked, and ranks
count documents. A marked passage (`qafd.evaluate.collection.name_passage`) counts alone, and its
rank counts passages. A method is measured as it is configured, to the depth that it ranks. Where a
question names the entities that matter, the retrieved ones are compared with them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from qafd import __version__
from qafd.errors import ParameterError, QafdError
from qafd.evaluate.collection import gold_documents, gold_nodes
from qafd.evaluate.gold import Question
from qafd.evaluate.measures import RESAMPLES, Interval, harmonic_mean, intervals
from qafd.graph import Graph
from qafd.ingest.engine import Progress, never
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
    None not ranked; `node_ranks` has one per gold node, in the order of `Question.nodes`: its place
    among the retrieved entities, of which there are `entities`. `nodes` counts retrieved nodes,
    `tokens` those of the graph's nodes among them (not of a layer's summaries); `milliseconds` is
    the retrieval once the question was read.
    `error` is why a method refused.
    """

    ranks: tuple[int | None, ...]
    nodes: int = 0
    tokens: int = 0
    milliseconds: float = 0.0
    error: str = ""
    node_ranks: tuple[int | None, ...] = ()
    entities: int = 0

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
    def node_recall(self) -> float | None:
        """Share of the gold nodes among the retrieved entities; None where no gold is stated.

        A name that the graph does not know counts as missed.
        """
        if not self.node_ranks:
            return None
        return sum(rank is not None for rank in self.node_ranks) / len(self.node_ranks)

    @property
    def node_precision(self) -> float | None:
        """Share of gold among the retrieved entities, 0 where there are none; None without gold.

        Passages and summaries that a method draws are no entities and do not count.
        """
        if not self.node_ranks:
            return None
        return len({rank for rank in self.node_ranks if rank is not None}) / max(self.entities, 1)

    @property
    def node_f1(self) -> float | None:
        """Harmonic mean of `node_precision` and `node_recall`; None where no gold is stated."""
        if self.node_precision is None or self.node_recall is None:
            return None
        return harmonic_mean(self.node_precision, self.node_recall)

    @property
    def reciprocal(self) -> float:
        """1 / rank of the best gold passage, 0 where none is ranked."""
        return 1.0 / min((rank for rank in self.ranks if rank is not None), default=np.inf)


MEASURES: dict[str, Callable[[Trial], float | None]] = {
    "recall@5": lambda trial: trial.recall(5),
    "recall@2": lambda trial: trial.recall(2),
    "precision@5": lambda trial: trial.precision(5),
    "f1@5": lambda trial: trial.f1_at(5),
    "node_recall": lambda trial: trial.node_recall,
    "node_precision": lambda trial: trial.node_precision,
    "node_f1": lambda trial: trial.node_f1}
"""What methods are compared by, with an interval: each measures a trial, None where no gold is stated
for it. Those of nodes are known where gold nodes are stated."""


@dataclass(frozen=True)
class Score:
    """One method over all questions.

    `recall` has the mean at each of CUTS; `intervals` the mean of each of MEASURES that is known,
    `differences` the same minus that of the first method, question by question; those of nodes are
    over the questions that state gold nodes. `complete` is the share of questions with all gold in
    the first five; `milliseconds` is a median, the other numbers are means.
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
    """Methods on the same questions; all but the first are compared with the first.

    `unknown` has the gold nodes' names that are not in the graph.
    """

    questions: tuple[Question, ...]
    scores: tuple[Score, ...]
    passages: int
    notices: tuple[Notice, ...] = ()
    unknown: frozenset[str] = frozenset()

    @property
    def measures(self) -> tuple[str, ...]:
        """Those of MEASURES that are known."""
        return tuple(self.scores[0].intervals)

    @property
    def main(self) -> str:
        """The measure that separates methods best: of the first 2 passages if there are few in all."""
        return "recall@2" if self.passages < SMALL else "recall@5"

    def best(self, measure: str = "recall@5") -> tuple[Score, ...]:
        """Return all methods with the largest mean of a measure."""
        most = max(score.intervals[measure].mean for score in self.scores)
        return tuple(score for score in self.scores if score.intervals[measure].mean == most)

    def failures_first(self, measure: str) -> tuple[int, ...]:
        """Order the questions by the sum of a measure over all methods, smallest first.

        Those without gold for it come last.
        """
        sums = []
        for place in range(len(self.questions)):
            known = [MEASURES[measure](score.trials[place]) for score in self.scores]
            sums.append(np.inf if None in known else sum(filter(None, known)))
        return tuple(sorted(range(len(sums)), key=lambda place: (sums[place], place)))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values.

        {"schema": 1, "qafd": version, "passages", "questions": counts, "seed", "resamples",
        "notices": [...], "unknown_nodes": [name], "methods": {name: {"label", "params",
        "recall@10", "recall@2", "recall@5", "precision@5", "f1@5", "node_recall",
        "node_precision", "node_f1" (all but the first with "..._interval"; those of nodes only
        where gold nodes are stated), "all@5", "mrr", "nodes", "tokens", "milliseconds",
        "errors",
        "difference": {"to": first method, "recall@5": mean, "interval": [low, high], and every
        other measure with its "..._interval"},
        "per_question": [{"qid", "question", "ranks": {gold name: rank or null},
        "node_ranks": {gold node: place or null}, "entities", "recall@5" and the other measures,
        "nodes", "tokens", "milliseconds", "error"}]}}}
        """
        return {
            "schema": 1, "qafd": __version__, "passages": self.passages,
            "questions": len(self.questions), "seed": SEED, "resamples": RESAMPLES,
            "notices": [asdict(one) for one in self.notices], "unknown_nodes": sorted(self.unknown),
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
        line["per_question"] = [_trial_record(question, trial, score.intervals) for question, trial
                                in zip(self.questions, score.trials, strict=True)]
        return line


def _trial_record(question: Question, trial: Trial, measures: Iterable[str]) -> dict[str, Any]:
    """Return the outcome of a method on a question as plain JSON values."""
    line: dict[str, Any] = {"qid": question.id, "question": question.text}
    line |= {measure: MEASURES[measure](trial) for measure in measures}
    line |= asdict(trial)
    line["ranks"] = dict(zip(question.gold, trial.ranks, strict=True))
    line["node_ranks"] = dict(zip(question.nodes, trial.node_ranks, strict=True))
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
    progress: Callable[[Progress], None] = ignore_progress, stopped: Callable[[], bool] = never,
) -> Evaluation:
    """Run every method on every question of a workspace, with one plan for each question.

    Layers that a method needs are built where they are missing.

    Parameters
    ----------
    methods : mapping
        Names, as they shall stand in the table, to configured methods; the others are compared
        with the first.
    progress : callable
        Called at stage "evaluating" with the number of retrievals done, and the current question.
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
    prepare(knowledge, methods, lambda name, done, total: progress(
        Progress(f"building {name}", done, total)))
    graph = knowledge.graph
    entities, unknown = gold_nodes(knowledge, graph, questions)
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    total = len(questions) * len(methods)
    for question in questions:
        if stopped():
            break
        plan = knowledge.plan(question.text, graph)
        gold = [documents[name] for name in question.gold]
        nodes = [entities.get(name, "") for name in question.nodes]
        with knowledge.store():  # which all methods use
            for name, method in methods.items():
                progress(Progress("evaluating", sum(map(len, trials.values())), total,
                                  question.text))
                trials[name].append(_trial(knowledge, graph, method, plan, gold, nodes))
    first = next(iter(trials.values()))
    progress(Progress("evaluating", len(first) * len(methods), total))
    if not first:
        raise ParameterError("the evaluation was stopped before its first question; run it again")
    passages = graph.count("passage")
    asked = frozenset(chain.from_iterable(question.nodes for question in questions))
    return Evaluation(
        tuple(questions[:len(first)]),
        tuple(score(name, methods[name], found, first) for name, found in trials.items()),
        passages, (*notices, *unknown, *_cautions(len(first), len(questions), passages)),
        asked - entities.keys())


def prepare(knowledge: KnowledgeGraph, methods: Mapping[str, Retriever],
            report: Callable[[str, int, int], None] = ignore_progress) -> None:
    """Build the layers that methods need."""
    needs = set(chain.from_iterable(method.needs for method in methods.values()))
    knowledge.build_layers(sorted(needs), report)


def _trial(knowledge: KnowledgeGraph, graph: Graph, method: Retriever, plan: QueryPlan,
           gold: Sequence[frozenset[str]], nodes: Sequence[str]) -> Trial:
    """Run a method on a question; `nodes` has the ids of the gold nodes, "" for an unknown one."""
    try:
        retrieval = knowledge.retrieve(plan, method, graph=graph)
    except QafdError as error:
        return Trial((None,) * len(gold), error=str(error), node_ranks=(None,) * len(nodes))
    return trial_of(retrieval, graph, gold, nodes)


def trial_of(retrieval: Retrieval, graph: Graph, gold: Sequence[frozenset[str]],
             nodes: Sequence[str]) -> Trial:
    """Compare a retrieval with the gold of its question.

    Parameters
    ----------
    gold : sequence of frozenset of str
        The documents that each gold passage may be (`qafd.evaluate.collection.gold_documents`).
    nodes : sequence of str
        The ids of the gold nodes, "" for one that the graph has not.
    """
    full = [node.id for node in retrieval.retrieved]
    tokens = sum(int(graph.tokens[graph.row[key]]) for key in full if key in graph.row)
    entities = [node.id for node in retrieval.retrieved if node.kind == "entity"]
    places = {key: place for place, key in enumerate(entities, 1)}
    return Trial(ranks(retrieval, gold), len(full), tokens, retrieval.work.total_milliseconds,
                 node_ranks=tuple(map(places.get, nodes)), entities=len(entities))


def _cautions(done: int, asked: int, passages: int) -> Iterator[Notice]:
    """List reasons to be careful with the numbers."""
    if done < asked:
        yield notice(NoticeKind.STOPPED_EARLY, done=done, asked=asked)
    if passages <= CUTS[1]:
        yield notice(NoticeKind.FEW_PASSAGES, count=passages)
    if done < FEW:
        yield notice(NoticeKind.FEW_QUESTIONS, count=done, few=FEW)


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
    found = {}
    for key, measure in MEASURES.items():
        pairs = zip(map(measure, trials), map(measure, first), strict=True)
        known = [(own, other) for own, other in pairs if own is not None and other is not None]
        if known:
            found[key] = known
    means, differences = _compare_scores(found)
    recall = np.array([[*map(trial.recall, CUTS)] for trial in trials]).T
    sizes = np.array([(trial.reciprocal, trial.nodes, trial.tokens) for trial in trials])
    reciprocal, nodes, tokens = sizes.mean(axis=0).tolist()
    return Score(
        name, label_of(name), params_of(method), tuple(trials), tuple(recall.mean(axis=1).tolist()),
        means, differences, float((recall[CUTS.index(5)] == 1).mean()),
        reciprocal, nodes, tokens, float(np.median([trial.milliseconds for trial in trials])),
        isinstance(method, ForeignMethod))


def _compare_scores(
    found: Mapping[str, Sequence[tuple[float, float]]]
) -> tuple[dict[str, Interval], dict[str, Interval]]:
    """Return the interval of each measure, and that of its difference to the first method.

    `found` has, per measure, the own value and the first method's for each question that has one.
    """
    means: dict[str, Interval] = {}
    differences: dict[str, Interval] = {}
    for count in dict.fromkeys(map(len, found.values())):
        keys = [key for key, pairs in found.items() if len(pairs) == count]
        own, other = np.array([found[key] for key in keys]).transpose(2, 0, 1)  # (keys, count)
        # The same seed draws the same questions for all: a method's interval does not depend on
        # which others are in the table.
        drawn = intervals(np.concatenate([own, own - other]), np.random.default_rng(SEED))
        means |= zip(keys, drawn[:len(keys)], strict=True)
        differences |= zip(keys, drawn[len(keys):], strict=True)
    return means, differences
