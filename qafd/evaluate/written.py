"""Answers of methods over many questions, in a model's words or quoted, against the known ones.

The experiments of the papers: each method retrieves under one budget, a model writes from the
passages, and the answer is compared with the known one, by its words and by a model that does not
see which method gave it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from statistics import fmean
from typing import Any

import numpy as np

from qafd.answer import Draft
from qafd.errors import (
    MalformedReplyError,
    MissingKeyError,
    ModelError,
    ParameterError,
    QafdError,
    SpendingCapError,
)
from qafd.evaluate import SEED, prepare
from qafd.evaluate.gold import Question
from qafd.evaluate.judge import ask_rounds
from qafd.evaluate.measures import Interval, Measure, intervals, measures
from qafd.ingest.engine import Progress
from qafd.knowledge import STEPS, KnowledgeGraph, cite_reply, draft_answer
from qafd.models import Message, calls_of
from qafd.models.cost import Metered, tokens_of
from qafd.models.prompts_answer import (
    ABSENT,
    Criterion,
    correct_messages,
    correct_schema,
    judge_messages,
    plan_messages,
    read_correct,
)
from qafd.reading.text.markdown import CITED
from qafd.reading.text.plaintext import one_line
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval, Retriever
from qafd.retrieve.methods import label_of
from qafd.time_left import ignore_progress

CORRECT = "correct"  # the measure that a model gives


@dataclass(frozen=True)
class Writing:
    """The settings of written answers: size of the context, and of a reply.

    `planner` reads the questions, by default the rules, and asks further ones in so many `steps`.
    """

    budget: int
    length: str
    reply_tokens: int
    planner: Metered | None = None
    steps: int = STEPS


@dataclass(frozen=True)
class Answered:
    """The answer of one method to one question.

    `text` is `ABSENT` where the answer is withheld. `measured` has a value in [0, 1] for each
    measure, none where no answer is known. Tokens are 0 for a quoted answer; `error` is why a
    model or method failed.
    """

    text: str
    withheld: bool
    measured: Mapping[str, float] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""


@dataclass(frozen=True)
class AnswerScore:
    """One method: its answers, and the mean of each measure over the questions with a known answer."""

    name: str
    label: str
    answers: tuple[Answered, ...]
    means: Mapping[str, Interval]

    @property
    def withheld(self) -> float:
        """The share of all questions to which it gives no answer."""
        return sum(answer.withheld for answer in self.answers) / len(self.answers)

    @property
    def errors(self) -> int:
        """Questions at which it failed; they count as unanswered."""
        return sum(bool(answer.error) for answer in self.answers)


@dataclass(frozen=True)
class AnswerResult:
    """Methods on the same questions.

    `stopped` is why not all were answered or marked, `unread` why the marks of some are missing.
    """

    questions: tuple[Question, ...]
    scores: tuple[AnswerScore, ...]
    model: str
    stopped: str = ""
    unread: str = ""

    def side_by_side(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        """Return each question with the answers of all methods, in an order drawn for it."""
        found = []
        for number, question in enumerate(self.questions):
            order = np.random.default_rng([SEED, number]).permutation(len(self.scores))
            scores = [self.scores[at] for at in order]
            found.append((question.text, {one.name: one.answers[number].text for one in scores}))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values, with every answer."""
        questions = [{"id": question.id, "question": question.text, "answers": question.answers}
                     for question in self.questions]
        methods = {}
        for score in self.scores:
            values = asdict(score)
            methods[values.pop("name")] = values | {"withheld": score.withheld}
        return {"model": self.model, "stopped": self.stopped, "unread": self.unread,
                "questions": questions, "methods": methods}


@dataclass(frozen=True)
class Judging:
    """The judge of the answers, its rounds and its prompt.

    `correct` compares them with the known answers; `criteria` are those of grades, () for none; `alone`
    grades each answer in calls of its own.
    """

    client: Metered
    rounds: int
    correct: bool
    criteria: tuple[Criterion, ...] = ()
    alone: bool = False


@dataclass(frozen=True)
class Cost:
    """Estimate the most that `answer_all` and the judging of its answers will take."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


def answer_all(knowledge: KnowledgeGraph, questions: Sequence[Question],
               methods: Mapping[str, Retriever], client: Metered | None, writing: Writing,
               progress: Callable[[Progress], None] = ignore_progress) -> AnswerResult:
    """Let every method answer every question; replies that are stored are not paid again.

    Parameters
    ----------
    client : Metered or None
        Writes the answers; without one they are quoted.

    Raises
    ------
    ParameterError
        There is no question or no method.
    """
    told = measures()
    found: dict[str, list[Answered]] = {name: [] for name in methods}
    stopped = ""
    done = 0
    for question, retrievals in _retrieve_all(
            knowledge, questions, methods, writing.planner, writing.steps):
        row: dict[str, Answered] = {}
        for name, (plan, retrieval) in retrievals.items():
            progress(Progress("answering", done, len(questions) * len(methods), question.text))
            done += 1
            if isinstance(retrieval, QafdError):
                row[name] = Answered(ABSENT, True, error=str(retrieval))
                continue
            try:
                row[name] = _answer(knowledge, plan, retrieval, client, writing)
            except (SpendingCapError, MissingKeyError) as error:
                stopped = str(error)
                break
        if stopped:
            break
        for name, answered in row.items():
            found[name].append(replace(answered, measured=_measure_answer(answered, question, told)))
    kept = tuple(questions[:len(next(iter(found.values())))])
    if not kept:
        raise ParameterError(f"no question was answered: {stopped}")
    scores = tuple(AnswerScore(name, label_of(name), tuple(answers), _means(answers, tuple(told)))
                   for name, answers in found.items())
    return AnswerResult(kept, scores, client.name if client else "", stopped)


def estimate_cost(knowledge: KnowledgeGraph, questions: Sequence[Question],
                  methods: Mapping[str, Retriever], client: Metered, writing: Writing,
                  judging: Judging | None) -> Cost:
    """Estimate the highest cost of answers and their judging; no call is made."""
    calls, sent, received = 0, 0, 0
    judged, shown, marked = 0, 0, 0
    for question, retrievals in _retrieve_all(knowledge, questions, methods):
        for plan, retrieval in retrievals.values():
            if isinstance(retrieval, QafdError):
                continue
            draft = _draft(knowledge, plan, retrieval, writing)
            if client.find_stored(client.key(draft.messages, None, writing.reply_tokens)) is None:
                calls, sent = calls + 1, sent + tokens_of(draft.messages)
                received += writing.reply_tokens
        if writing.planner is not None:
            # Each step reads five passages, about as many tokens as an answer.
            calls += writing.steps
            received += writing.steps * calls_of(writing.planner).reply_tokens
            sent += (writing.steps - 1) * writing.budget
            sent += tokens_of(plan_messages(question.text))
        if judging is None:
            continue
        for messages in _judge_prompts(question, judging, writing.reply_tokens, len(methods)):
            judged += judging.rounds
            marked += judging.rounds * calls_of(judging.client).reply_tokens
            shown += judging.rounds * tokens_of(messages)
    prices = [(client.price, sent, received)]
    if judging is not None:
        prices.append((judging.client.price, shown, marked))
    dollars = [price.of(into, out) for price, into, out in prices if price is not None]
    return Cost(calls + judged, sent + shown, received + marked,
                sum(dollars) if len(dollars) == len(prices) else None)


def _judge_prompts(question: Question, judging: Judging, reply_tokens: int, methods: int
                   ) -> Iterator[Sequence[Message]]:
    """Yield the prompts of one round that judges answers of the greatest length."""
    texts = ["word " * reply_tokens] * methods
    if judging.criteria:
        for group in [[text] for text in texts] if judging.alone else [texts]:
            yield judge_messages(question.text, group, judging.criteria)
    if judging.correct and question.answers:
        yield correct_messages(question.text, question.answers, texts)


def mark_correct(result: AnswerResult, client: Metered, repeats: int,
                 progress: Callable[[Progress], None] = ignore_progress) -> AnswerResult:
    """Add the measure `CORRECT`: the share of rounds in which a model accepts the answer.

    All answers to a question are shown together without the names of their methods, equal ones
    once, in an order that is reversed from round to round. Withheld answers are wrong without a
    call. Questions without a known answer, or whose marks cannot be read, have no such measure, nor
    have those after a call that failed; `stopped` is the reason.
    """
    marks: list[Mapping[str, float]] = []
    stopped, unread = result.stopped, ""
    for number, (_, answers) in enumerate(result.side_by_side()):
        question = result.questions[number]
        progress(Progress("judging", number, len(result.questions), question.text))
        given = dict.fromkeys(text for text in answers.values() if text != ABSENT)
        if not question.answers or stopped != result.stopped:
            marks.append({})
            continue
        try:
            marks.append({ABSENT: 0.0} | _marks(question, list(given), client, repeats))
        except MalformedReplyError as error:
            unread = str(error)
            marks.append({})
        except ModelError as error:
            stopped = str(error)
            marks.append({})
    scores = []
    for score in result.scores:
        judged = tuple(
            replace(answer, measured={**answer.measured, CORRECT: mark[answer.text]})
            if answer.text in mark else answer
            for answer, mark in zip(score.answers, marks, strict=True))
        scores.append(replace(score, answers=judged, means=_means(judged, (*score.means, CORRECT))))
    return replace(result, scores=tuple(scores), stopped=stopped, unread=unread)


def _marks(question: Question, texts: Sequence[str], client: Metered, repeats: int
           ) -> dict[str, float]:
    """Return for each text the share of the readable rounds in which it is called correct."""
    if not texts:
        return {}
    rounds, _ = ask_rounds(
        texts, client, repeats,
        lambda shown, number: correct_messages(question.text, question.answers, shown, number),
        correct_schema(len(texts)), lambda reply: read_correct(reply, len(texts)))
    return {text: fmean(map(itemgetter(text), rounds)) for text in texts}


def _retrieve_all(knowledge: KnowledgeGraph, questions: Sequence[Question],
               methods: Mapping[str, Retriever], planner: Metered | None = None, steps: int = 1
               ) -> Iterator[tuple[Question, dict[str, tuple[QueryPlan, Retrieval | QafdError]]]]:
    """Yield each question with the retrieval of every method, or its error."""
    if not questions or not methods:
        raise ParameterError("there is no question or no method; give at least one of each")
    prepare(knowledge, methods)
    graph = knowledge.graph
    for question in questions:
        reader = planner.about(question=question.text) if planner else None
        plan = knowledge.plan(question.text, graph, client=reader, steps=steps)
        with knowledge.store():  # which all methods use
            found: dict[str, tuple[QueryPlan, Retrieval | QafdError]] = {}
            for name, method in methods.items():
                try:
                    found[name] = plan, knowledge.retrieve(plan, method, graph=graph)
                except QafdError as error:  # this question asks too much of this method
                    found[name] = plan, error
            yield question, found


def _draft(knowledge: KnowledgeGraph, plan: QueryPlan, retrieval: Retrieval, writing: Writing
           ) -> Draft:
    return draft_answer(knowledge, retrieval, plan, budget=writing.budget, length=writing.length)


def _answer(knowledge: KnowledgeGraph, plan: QueryPlan, retrieval: Retrieval,
            client: Metered | None, writing: Writing) -> Answered:
    if client is None:
        quoted = knowledge.answer(retrieval, plan)
        if quoted.abstained:
            return Answered(ABSENT, True)  # the closest sentences are not an answer
        return Answered(" ".join(sentence.line for sentence in quoted.sentences), False)
    draft = _draft(knowledge, plan, retrieval, writing)
    try:
        reply = client.about(question=plan.question).complete(
            draft.messages, max_tokens=writing.reply_tokens)
    except (SpendingCapError, MissingKeyError):
        raise
    except ModelError as error:
        return Answered(ABSENT, True, error=str(error))
    written = cite_reply(knowledge, draft, reply, client.name)
    # The marks of citations are neither words of the answer nor a difference between two.
    text = one_line(CITED.sub("", written.text).replace(" .", "."), len(written.text))
    return Answered(ABSENT if written.abstained else text, written.abstained,
                    tokens_in=reply.tokens_in, tokens_out=reply.tokens_out)


def _measure_answer(answered: Answered, question: Question, told: Mapping[str, Measure]
              ) -> dict[str, float]:
    if not question.answers:
        return {}
    if answered.withheld:
        return dict.fromkeys(told, 0.0)
    return {name: measure(answered.text, question.answers) for name, measure in told.items()}


def _means(answers: Sequence[Answered], names: Sequence[str]) -> dict[str, Interval]:
    """Average each measure over the answers that have it."""
    means = {}
    for name in names:
        values = [answer.measured[name] for answer in answers if name in answer.measured]
        if values:
            rng = np.random.default_rng(SEED)
            means[name] = intervals(np.array([values]), rng)[0]
    return means
