"""Grades by a language model of the answers that methods quote, over many questions.

A model's opinion is no measurement: it is for answers that no gold set can grade.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.errors import MalformedReplyError, ModelError
from qafd.evaluate import SEED, Evaluation, quote
from qafd.evaluate.judge import Judgment, Verdict, distinct, judge, rounds
from qafd.evaluate.measures import Interval, intervals
from qafd.ingest.engine import Progress, never
from qafd.knowledge import KnowledgeGraph
from qafd.models import LLM
from qafd.models.cost import Metered, tokens_of
from qafd.models.instructions import instructions_of
from qafd.models.prompts_answer import ABSENT, PAPER, judge_schema
from qafd.reasons import Notice, NoticeKind, notice
from qafd.retrieve.base import Retriever
from qafd.time_left import ignore_progress

AT_ONCE = 6  # answers side by side; the grades of more do not fit into a reply


@dataclass(frozen=True)
class Answers:
    """A question and each method's quoted answer, in the order in which a judge sees them.

    An answer that is empty, or does not seem to answer the question, is `ABSENT`.
    """

    question: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Estimate:
    """The cost of asking a judge; `tokens_out` is the most, `cost` None without a price.

    `stored` rounds were answered before and cost nothing.
    """

    calls: int
    stored: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True)
class Opinion:
    """The grades of one method from 0 to 100, as means over questions with 95% intervals.

    `difference` is the overall grade minus that of the first method, question by question.
    """

    name: str
    overall: Interval
    difference: Interval
    criteria: Mapping[str, Interval]


@dataclass(frozen=True)
class Opinions:
    """The grades of a judge; `stopped` is the reason if not all questions were judged."""

    model: str
    questions: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    verdicts: tuple[Verdict, ...]
    stopped: Notice | None = None

    @property
    def unread(self) -> int:
        """Rounds whose reply could not be read."""
        return sum(len(verdict.failed) for verdict in self.verdicts)


def quote_answers(knowledge: KnowledgeGraph, result: Evaluation, methods: Mapping[str, Retriever],
           most: int) -> tuple[Answers, ...]:
    """Return the quoted answers of the first methods to the first questions of an evaluation.

    The order of methods is drawn for each question, so that none is always shown first. Answers that
    the evaluation quoted already are reused.
    """
    graph = knowledge.graph
    names = [score.name for score in result.scores][:AT_ONCE]
    found = []
    for number, question in enumerate(result.questions[:most]):
        texts = {}
        plan = None if question.answers else knowledge.plan(question.text, graph)
        for score in result.scores[:AT_ONCE]:
            text = score.trials[number].answer
            if plan is not None and not score.trials[number].error:
                retrieval = knowledge.retrieve(plan, methods[score.name], graph=graph)
                text = quote(knowledge.answer(retrieval, plan))
            texts[score.name] = text or ABSENT
        order = np.random.default_rng([SEED, number]).permutation(len(names)).tolist()
        found.append(Answers(question.text, {names[at]: texts[names[at]] for at in order}))
    return tuple(found)


def estimate(asked: Sequence[Answers], client: Metered, repeats: int) -> Estimate:
    """Estimate the most that `opinions` will spend, without a call."""
    calls, stored, sent = 0, 0, 0
    told = instructions_of(client)
    limit = told.calls.judge_tokens
    for answers in asked:
        texts = distinct(answers.texts)
        schema = judge_schema(len(texts))
        for _, messages in rounds(answers.question, texts, repeats,
                                  prompt=told.prompt("judge")):
            if client.find_stored(client.key(messages, schema, limit)) is not None:
                stored += 1
                continue
            calls, sent = calls + 1, sent + tokens_of(messages)
    received = calls * limit
    return Estimate(calls, stored, sent, received,
                    client.price.of(sent, received) if client.price else None)


def opinions(asked: Sequence[Answers], client: LLM, names: Sequence[str], *, repeats: int = 2,
             progress: Callable[[Progress], None] = ignore_progress,
             stopped: Callable[[], bool] = never) -> Opinions:
    """Let a model grade the answers to each question together, without their names.

    Parameters
    ----------
    names : sequence of str
        The methods; the others are compared with the first.
    repeats : int
        Rounds for each question, with the order reversed from one to the next.
    stopped : callable
        Asked between questions; True ends with the grades so far.

    Raises
    ------
    ModelError
        No question was judged: the endpoint failed, the cap allows no call, no reply could be read,
        or it was stopped before the first.
    """
    verdicts: list[Verdict] = []
    judged: list[str] = []
    why: Notice | None = None
    for number, answers in enumerate(asked):
        if stopped():
            why = notice(NoticeKind.STOPPED_EARLY, done=number, asked=len(asked))
            break
        progress(Progress("judging", number, len(asked), answers.question))
        try:
            verdicts.append(judge(answers.question, answers.texts, client, repeats=repeats))
        except MalformedReplyError as error:
            why = notice(NoticeKind.NOT_ALL_JUDGED, text=str(error))
            continue
        except ModelError as error:
            if not verdicts:
                raise
            why = notice(NoticeKind.ENDED_EARLY, done=number, asked=len(asked), text=str(error))
            break
        judged.append(answers.question)
    progress(Progress("judging", len(asked), len(asked)))
    if not verdicts:
        if why is None:
            raise ModelError("There is no question to judge.")
        raise ModelError("No question was judged: "
                         f"{why.values.get('text', 'the work was stopped.')}")
    return Opinions(client.name, tuple(judged), _opinions(verdicts, names), tuple(verdicts), why)


def _opinions(verdicts: Sequence[Verdict], names: Sequence[str]) -> tuple[Opinion, ...]:
    graded: dict[str, list[list[float]]] = defaultdict(list)
    for verdict in verdicts:
        for judgment in verdict.judgments:
            graded[judgment.name].append(_shares(judgment))
    criteria = [criterion.name for criterion in PAPER]
    other = np.array(graded[names[0]])[:, -1]
    found = []
    for name in names:
        own = np.array(graded[name]).T  # (criteria + 1, questions)
        drawn = intervals(np.vstack([own, own[-1] - other]), np.random.default_rng(SEED))
        found.append(Opinion(name, drawn[-2], drawn[-1],
                             dict(zip(criteria, drawn[:-2], strict=True))))
    return tuple(found)


def _shares(judgment: Judgment) -> list[float]:
    """Return the grades of an answer and their sum, each in percent of the highest possible."""
    return [100 * grade.mean / grade.highest for grade in (*judgment.grades, judgment.total)]
