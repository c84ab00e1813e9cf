"""A language model as judge of answers: Prompt 4 of the paper, and SG-RAG's empowerment score.

Grades of a model are opinions. They vary from call to call and with the order in which answers are
shown, so every grade is a mean over several rounds, with its deviation, and the order is reversed
from one round to the next. They measure nothing: they are for answers that no gold set can grade.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean, stdev

import numpy as np

from qafd.errors import MalformedReplyError, ModelError, ParameterError
from qafd.evaluate import SEED
from qafd.evaluate.measures import Interval, intervals
from qafd.ingest.engine import Progress, never
from qafd.models import LLM, Message, Reply
from qafd.models.cost import Metered
from qafd.models.instructions import instructions_of
from qafd.models.prompts_answer import (
    JUDGE,
    PAPER,
    Criterion,
    judge_messages,
    judge_schema,
    read_grades,
)
from qafd.reasons import Notice, NoticeKind, notice
from qafd.time_left import ignore_progress


@dataclass(frozen=True)
class Grade:
    """The mean over the rounds, from 0 to `highest`; `deviation` is None after one round."""

    criterion: str
    mean: float
    deviation: float | None
    highest: float


@dataclass(frozen=True)
class Judgment:
    """The grades of one answer, and their sum."""

    name: str
    grades: tuple[Grade, ...]
    total: Grade


@dataclass(frozen=True)
class Verdict:
    """The grades of a judge, and their cost.

    `rounds` counts those that could be read, `failed` is why others could not; tokens are of
    all calls, `estimated` when some are.
    """

    model: str
    judgments: tuple[Judgment, ...]
    rounds: int
    failed: tuple[str, ...]
    tokens_in: int
    tokens_out: int
    estimated: bool


def judge(question: str, answers: Mapping[str, str], client: LLM, *, repeats: int = 4,
          criteria: Sequence[Criterion] = PAPER) -> Verdict:
    """Grade answers side by side, without their names, several times.

    Parameters
    ----------
    answers : mapping
        Names, which the judge does not see, to texts; equal texts are shown once.
    repeats : int
        Rounds, at least 1; an even number shows every answer equally often first and last.
    client : LLM
        A `Metered` one keeps replies that grade all answers.
    criteria : sequence of Criterion
        `qafd.models.prompts_answer.PAPER` or `EMPOWERMENT`.

    Raises
    ------
    ParameterError
        There is nothing to judge.
    MalformedReplyError
        No round could be read.
    ModelError
        The endpoint failed.
    """
    if repeats < 1 or not answers:
        raise ParameterError(f"{len(answers)} answers and {repeats} rounds were given; a judge "
                             "needs at least one of each")
    names = list(distinct(answers))
    read: list[dict[str, list[float]]] = []
    failed: list[str] = []
    tokens_in, tokens_out, estimated = 0, 0, False
    schema = judge_schema(len(names), criteria)
    if isinstance(client, Metered):
        client = replace(client, accepts=accept_grades(len(names), criteria))
    told = instructions_of(client)
    for order, messages in rounds(question, distinct(answers), repeats, criteria,
                                  told.prompt("judge")):
        spent = (0, 0, False)
        try:
            reply = client.complete(messages, schema=schema, max_tokens=told.calls.reply_tokens)
            spent = (reply.tokens_in, reply.tokens_out, reply.estimated)
            grades = read_grades(reply.text, len(order), criteria)
            read.append(dict(zip(order, grades, strict=True)))
        except MalformedReplyError as error:
            failed.append(str(error))
            spent = spent if any(spent) else error.tokens
        tokens_in, tokens_out = tokens_in + spent[0], tokens_out + spent[1]
        estimated |= spent[2]
    if not read:
        raise MalformedReplyError(f"{client.name} gave no grades in {repeats} rounds: {failed[0]}")
    judged = {answers[name]: name for name in names}
    judgments = []
    for name, text in answers.items():
        judgments.append(_build_judgment(name, [one[judged[text]] for one in read], criteria))
    return Verdict(client.name, tuple(judgments), len(read), tuple(failed), tokens_in, tokens_out, estimated)


def judge_alone(question: str, answers: Mapping[str, str], client: LLM, *, repeats: int = 5,
                criteria: Sequence[Criterion] = PAPER) -> Verdict:
    """Grade each answer in calls of its own, as `judge` does otherwise: no other answer sways its grades."""
    alone = {text: judge(question, {name: text}, client, repeats=repeats, criteria=criteria)
             for name, text in distinct(answers).items()}
    judgments = [replace(alone[text].judgments[0], name=name) for name, text in answers.items()]
    each = list(alone.values())
    return Verdict(client.name, tuple(judgments), min(one.rounds for one in each),
                   tuple(chain.from_iterable(one.failed for one in each)),
                   sum(one.tokens_in for one in each), sum(one.tokens_out for one in each),
                   any(one.estimated for one in each))


def distinct(answers: Mapping[str, str]) -> dict[str, str]:
    """Return the first name of each text: equal answers are judged once."""
    first: dict[str, str] = {}
    for name, text in answers.items():
        first.setdefault(text, name)
    return {name: text for text, name in first.items()}


def rounds(question: str, answers: Mapping[str, str], repeats: int,
           criteria: Sequence[Criterion] = PAPER, prompt: str = JUDGE
           ) -> Iterator[tuple[list[str], tuple[Message, ...]]]:
    """Build the prompt of each round of `judge`, and the names in the order of the shown answers."""
    names = list(answers)
    for number in range(repeats):
        order = names[::-1] if number % 2 else names
        yield order, judge_messages(question, [answers[name] for name in order], criteria,
                                    number + 1, prompt)


def accept_grades(count: int, criteria: Sequence[Criterion] = PAPER) -> Callable[[Reply], bool]:
    """Return True if a reply grades so many answers."""
    def readable(reply: Reply) -> bool:
        try:
            read_grades(reply.text, count, criteria)
        except MalformedReplyError:
            return False
        return True
    return readable


def _build_judgment(name: str, rounds: Sequence[Sequence[float]],
              criteria: Sequence[Criterion]) -> Judgment:
    columns = list(zip(*rounds, strict=True))
    grades = tuple(_grade(c.name, column, c.highest)
                   for c, column in zip(criteria, columns, strict=True))
    return Judgment(name, grades, _grade("sum", [sum(r) for r in rounds],
                                         sum(c.highest for c in criteria)))


def _grade(name: str, values: Sequence[float], highest: float) -> Grade:
    return Grade(name, fmean(values), stdev(values) if len(values) > 1 else None, highest)


AT_ONCE = 6  # answers side by side; the grades of more do not fit into a reply


@dataclass(frozen=True)
class Answers:
    """A question and each method's quoted answer, in the order in which a judge sees them.

    An answer that is empty, or does not seem to answer the question, is `ABSENT`.
    """

    question: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Opinion:
    """The grades of one method from 0 to 100, as means over questions with 95% intervals.

    `difference` is the overall grade minus that of the first method, question by question; `deviation`
    is that of the overall grade between rounds, as a mean over questions, None after one round.
    """

    name: str
    overall: Interval
    deviation: float | None
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


def opinions(asked: Sequence[Answers], client: LLM, names: Sequence[str], *, repeats: int = 2,
             criteria: Sequence[Criterion] = PAPER,
             progress: Callable[[Progress], None] = ignore_progress,
             stopped: Callable[[], bool] = never,
             grade: Callable[..., Verdict] = judge) -> Opinions:
    """Let a model grade the answers to each question, without their names.

    Parameters
    ----------
    names : sequence of str
        The methods; the others are compared with the first.
    repeats : int
        Rounds for each question, with the order reversed from one to the next.
    criteria : sequence of Criterion
        `qafd.models.prompts_answer.PAPER` or `EMPOWERMENT`.
    stopped : callable
        Asked between questions; True ends with the grades so far.
    grade : callable
        `judge`, which shows all answers together, or `judge_alone`.

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
            verdicts.append(grade(answers.question, answers.texts, client, repeats=repeats,
                                  criteria=criteria))
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
    return Opinions(client.name, tuple(judged), _opinions(verdicts, names, criteria), tuple(verdicts),
                    why)


def _opinions(verdicts: Sequence[Verdict], names: Sequence[str], criteria: Sequence[Criterion]
              ) -> tuple[Opinion, ...]:
    graded: dict[str, list[list[float]]] = defaultdict(list)
    spread: dict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        for judgment in verdict.judgments:
            graded[judgment.name].append(_shares(judgment))
            if judgment.total.deviation is not None:
                spread[judgment.name].append(100 * judgment.total.deviation / judgment.total.highest)
    other = np.array(graded[names[0]])[:, -1]
    found = []
    for name in names:
        own = np.array(graded[name]).T  # (criteria + 1, questions)
        drawn = intervals(np.vstack([own, own[-1] - other]), np.random.default_rng(SEED))
        deviation = float(np.mean(spread[name])) if spread[name] else None
        found.append(Opinion(name, drawn[-2], deviation, drawn[-1],
                             dict(zip([each.name for each in criteria], drawn[:-2], strict=True))))
    return tuple(found)


def _shares(judgment: Judgment) -> list[float]:
    """Return the grades of an answer and their sum, each in percent of the highest possible."""
    return [100 * grade.mean / grade.highest for grade in (*judgment.grades, judgment.total)]
