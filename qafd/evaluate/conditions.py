"""Evaluation of exact retrieval on questions with conditions: SG-RAG's Tables 2, 3 and 4.

A set is JSON or JSON lines, one question an object: `question`, `answer` (a name or a list of
names), and where it is known `conditions`, how many there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from time import process_time

import numpy as np

from qafd.errors import ParameterError, ParseError
from qafd.evaluate.gold import read_records
from qafd.evaluate.measures import harmonic_mean
from qafd.explain.whatif import without_edges
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.plan.linking import entities_named
from qafd.retrieve.base import Retrieval, RetrievedNode, Retriever
from qafd.retrieve.conditions import LinkedQuery, link_conditions, settle_conditions
from qafd.time_left import ignore_progress

SEED = 20261123
DELETED = (0, 1, 2, 3)  # relations of a question


@dataclass(frozen=True)
class FactualQuestion:
    """A question, the names that answer it, and its number of conditions, 0 if unknown."""

    text: str
    answers: tuple[str, ...]
    conditions: int = 0


@dataclass(frozen=True)
class FactualTrial:
    """The answers of one method to one question, and its number of conditions.

    Answers are the entities that it retrieved and that the question does not name, in the order of
    their importance; those as important as the first share its place; in exact retrieval, those that
    surely meet as many conditions as well. `precision` and
    `recall` are of these: the former is also the chance that the first answer is right when equals
    stand in any order. `milliseconds` are those of processors for the whole question, read and retrieved.
    """

    conditions: int
    hit_1: float
    hit_5: float
    precision: float
    recall: float
    milliseconds: float


@dataclass(frozen=True)
class FactualScore:
    """The means of one method over some questions."""

    name: str
    questions: int
    hit_1: float
    hit_5: float
    precision: float
    recall: float
    milliseconds: float

    @property
    def f1(self) -> float:
        """Harmonic mean of `precision` and `recall`."""
        return harmonic_mean(self.precision, self.recall)


@dataclass(frozen=True)
class FactualResult:
    """The trials of each method, all on the same questions; how many answers no graph node has."""

    trials: Mapping[str, tuple[FactualTrial, ...]]
    unknown: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of conditions that there are."""
        first = next(iter(self.trials.values()))
        return tuple(sorted({trial.conditions for trial in first}))

    def scores(self, conditions: int | None = None) -> tuple[FactualScore, ...]:
        """Average each method over all questions, or over those with this number of conditions."""
        found = []
        for name, trials in self.trials.items():
            kept = [one for one in trials if conditions in (None, one.conditions)]
            found.append(_mean(name, kept))
        return tuple(found)


def read_factual_questions(data: bytes, name: str = "The file", limit: int | None = None
                           ) -> tuple[FactualQuestion, ...]:
    """Read the questions of a file, at most the first `limit`.

    Raises
    ------
    ParseError
        The file is no JSON, or a record has no question or no answer.
    """
    questions: list[FactualQuestion] = []
    for number, record in enumerate(read_records(data, name, ("questions", "data")), 1):
        if limit is not None and len(questions) == limit:
            break
        text, answers = record.get("question"), record.get("answer")
        if isinstance(answers, str):
            answers = [answers]
        if not isinstance(text, str) or not text.strip() or not answers or not isinstance(
                answers, list):
            raise ParseError(f"Record {number} of {name} has no 'question' or no 'answer'; "
                             "give it both, the answer as a name or a list of names.")
        conditions = record.get("conditions")
        questions.append(FactualQuestion(
            text, tuple(map(str, answers)), conditions if isinstance(conditions, int) else 0))
    if not questions:
        raise ParseError(f"{name} has no question; write one a line.")
    return tuple(questions)


def evaluate_conditions(
    knowledge: KnowledgeGraph, questions: Sequence[FactualQuestion],
    methods: Mapping[str, Retriever], *, progress: Callable[[int, int], None] = ignore_progress,
) -> FactualResult:
    """Ask each method each question.

    Raises
    ------
    ParameterError
        None of the answers is in the graph.
    MissingLayerError
        A method needs a layer that is not built.
    """
    graph = knowledge.graph
    ids, known = _known_answers(graph, questions)
    trials: dict[str, list[FactualTrial]] = {name: [] for name in methods}
    for number, question in enumerate(questions, 1):
        with knowledge.store():  # as on a page, which opens it once for a question
            started = process_time()
            plan = knowledge.plan(question.text, graph)
            reading = process_time() - started
            linked = link_conditions(graph, plan)
            for name, method in methods.items():
                started = process_time()
                retrieval = knowledge.retrieve(plan, method, graph=graph)
                spent = 1000 * (reading + process_time() - started)
                trials[name].append(_mark(retrieval, question, linked, graph, ids, spent))
        progress(number, len(questions))
    return FactualResult({name: tuple(made) for name, made in trials.items()},
                         len(questions) - known)


def evaluate_deleted(
    knowledge: KnowledgeGraph, questions: Sequence[FactualQuestion], name: str, method: Retriever,
) -> tuple[FactualScore, ...]:
    """Ask a method after deleting random relations between answers and conditions.

    All relations between two entities are one. The texts stay, so a method that reads them still
    finds the answer. A method that uses relations alone shows the worth of the graph.
    """
    graph = knowledge.graph
    ids, _ = _known_answers(graph, questions)
    rng = np.random.default_rng(SEED)
    trials: dict[int, list[FactualTrial]] = {count: [] for count in DELETED}
    corpus = read_corpus(knowledge, graph)
    for question in questions:
        plan = knowledge.plan(question.text, graph)
        linked = link_conditions(graph, plan)
        plan = settle_conditions(graph, plan)  # read once, not for each graph with less in it
        order = rng.permutation(_evidence_of(graph, question, linked, ids)).tolist()
        for count in DELETED:
            less = without_edges(graph, [tuple(pair) for pair in order[:count]])
            retrieval = method.retrieve(replace(corpus, graph=less), plan)
            trials[count].append(_mark(retrieval, question, linked, less, ids))
    return tuple(_mean(f"{name} -{count}", made) for count, made in trials.items())


def _known_answers(graph: Graph, questions: Sequence[FactualQuestion]
                   ) -> tuple[dict[str, str], int]:
    """Return the id of the entity that each answer names, and the number of questions with one."""
    names = dict.fromkeys(chain.from_iterable(question.answers for question in questions))
    ids = entities_named(graph, names)
    known = sum(not ids.keys().isdisjoint(question.answers) for question in questions)
    if not known:
        raise ParameterError(f"none of the {len(names)} answers is an entity of this "
                             "workspace; open the workspace with the documents of these questions")
    return ids, known


def _evidence_of(graph: Graph, question: FactualQuestion, linked: LinkedQuery, ids: Mapping[str, str]
                 ) -> list[tuple[int, int]]:
    """Return the pairs of an answer and a name of the question that a relation joins."""
    relations = graph.layer({"relation"})
    pairs = []
    for name in question.answers:
        answer = graph.row.get(ids.get(name, ""))
        for row in linked.rows.values():
            if answer is not None and relations.entry(answer, row) is not None:
                pairs.append((answer, row))
    return pairs


def _mark(retrieval: Retrieval, question: FactualQuestion, linked: LinkedQuery, graph: Graph,
          ids: Mapping[str, str], milliseconds: float = 0.0) -> FactualTrial:
    """Grade the answers of a retrieval."""
    named = {graph.ids[row] for row in linked.named}
    gold = {ids.get(name, "") for name in question.answers} - {""}
    answers = [node for node in retrieval.nodes if node.kind == "entity" and node.id not in named]
    together = {node.id for node in answers if _rank(node) == _rank(answers[0])}
    right = len(together & gold)
    wanted = question.conditions or sum(not one.negated for one in linked.query.conditions)
    return FactualTrial(
        wanted, float(bool(answers) and answers[0].id in gold),
        float(any(node.id in gold for node in answers[:5])), right / max(len(together), 1),
        right / len(question.answers), milliseconds)


def _rank(node: RetrievedNode) -> tuple[object, ...]:
    """Return the values that are equal for answers without an order."""
    values = node.reason.values
    if "strength" in values:
        return values["met"], values["strength"]
    return (node.importance,)


def _mean(name: str, trials: Sequence[FactualTrial]) -> FactualScore:
    rows = np.array([[one.hit_1, one.hit_5, one.precision, one.recall, one.milliseconds] for one in trials]
                    or [[0.0] * 5])
    first, five, precision, recall = rows[:, :4].mean(axis=0).tolist()
    return FactualScore(name, len(trials), first, five, precision, recall, float(np.median(rows[:, 4])))
