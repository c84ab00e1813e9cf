"""A language model as judge of answers: Prompt 4 of the paper, and SG-RAG's empowerment score.

Grades of a model are opinions. They vary from call to call and with the order in which answers are
shown, so every grade is a mean over several rounds, with its deviation, and the order is reversed
from one round to the next.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from qafd.errors import MalformedReplyError, ParameterError
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
            reply = client.complete(messages, schema=schema, max_tokens=told.calls.judge_tokens)
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
