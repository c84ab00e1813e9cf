"""A language model as judge of answers: Prompt 4 of the paper, and SG-RAG's empowerment score.

Grades of a model are opinions. They vary from call to call and with the order in which answers are
shown, so every grade is a mean over several rounds, with its deviation, and the order is reversed
from one round to the next. They measure nothing: they are for answers that no gold set can grade.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qafd.errors import MalformedReplyError, ModelError
from qafd.evaluate import SEED
from qafd.evaluate.measures import Interval, intervals
from qafd.ingest.engine import Progress
from qafd.models import LLM, Message, calls_of
from qafd.models.cost import keep_readable
from qafd.models.prompts_answer import PAPER, Criterion, judge_messages, judge_schema, read_grades
from qafd.reasons import Notice, NoticeKind, notice
from qafd.time_left import ignore_progress

AT_ONCE = 6  # answers side by side; the grades of more do not fit into a reply


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
    """The grades of a judge; `unread` rounds could not be read; `stopped` is why questions are missing."""

    model: str
    questions: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    unread: int = 0
    stopped: Notice | None = None


def ask_rounds(texts: Sequence[str], client: LLM, repeats: int,
               prompt: Callable[[Sequence[str], int], Sequence[Message]], schema: Mapping[str, Any],
               read: Callable[[str], Sequence[Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Show different texts to a model several times, and return what it gives each, round by round.

    Parameters
    ----------
    repeats : int
        Rounds, at least 1; an even number shows every text equally often first and last.
    client : LLM
        A `Metered` one keeps the replies that can be read.
    prompt : callable
        Maps the texts, in the order in which they are shown, and the number of the round to messages.
    read : callable
        Maps a reply to a value for each text; raises MalformedReplyError.

    Returns
    -------
    list of dict, list of str
        The values by text in each round that could be read, and why others could not.

    Raises
    ------
    MalformedReplyError
        No round could be read.
    ModelError
        The endpoint failed.
    """
    client = keep_readable(client, read)
    most = calls_of(client).reply_tokens
    found: list[dict[str, Any]] = []
    failed: list[str] = []
    for number in range(repeats):
        shown = texts[::-1] if number % 2 else texts
        try:
            reply = client.complete(prompt(shown, number + 1), schema=schema, max_tokens=most)
            found.append(dict(zip(shown, read(reply.text), strict=True)))
        except MalformedReplyError as error:
            failed.append(str(error))
    if not found:
        raise MalformedReplyError(f"{client.name} gave no grades in {repeats} rounds: {failed[0]}")
    return found, failed


def judge(question: str, texts: Sequence[str], client: LLM, repeats: int,
          criteria: Sequence[Criterion] = PAPER) -> tuple[dict[str, Any], int]:
    """Let a model grade different texts side by side, without the names of their methods.

    Returns the grades by text, shape (rounds, criteria), and the number of rounds that could not be read.
    """
    found, failed = ask_rounds(
        texts, client, repeats, lambda some, number: judge_messages(question, some, criteria, number),
        judge_schema(len(texts), criteria), lambda reply: read_grades(reply, len(texts), criteria))
    return {text: np.array([grades[text] for grades in found]) for text in texts}, len(failed)


def opinions(asked: Sequence[tuple[str, Mapping[str, str]]], client: LLM, names: Sequence[str], *,
             repeats: int = 2, criteria: Sequence[Criterion] = PAPER, alone: bool = False,
             progress: Callable[[Progress], None] = ignore_progress) -> Opinions:
    """Let a model grade the answers to each question, equal ones once.

    Parameters
    ----------
    asked : sequence of (str, mapping)
        Each question with the texts of its answers by method, in the order in which the judge sees them.
    names : sequence of str
        The methods; the others are compared with the first.
    criteria : sequence of Criterion
        `qafd.models.prompts_answer.PAPER` or `EMPOWERMENT`.
    alone : bool
        Grade each text in calls of its own, so that no other answer sways its grades.

    Raises
    ------
    ModelError
        No question was judged: the endpoint failed, the cap allows no call, or no reply could be read.
    """
    grades: list[dict[str, Any]] = []
    judged: list[str] = []
    unread = 0
    why: Notice | None = None
    for number, (question, answers) in enumerate(asked):
        progress(Progress("judging", number, len(asked), question))
        texts = list(dict.fromkeys(answers.values()))
        found: dict[str, Any] = {}
        try:
            for group in [[text] for text in texts] if alone else [texts]:
                given, failed = judge(question, group, client, repeats, criteria)
                found, unread = found | given, unread + failed
        except MalformedReplyError as error:
            why = notice(NoticeKind.NOT_ALL_JUDGED, text=str(error))
            continue
        except ModelError as error:
            if not grades:
                raise
            why = notice(NoticeKind.ENDED_EARLY, done=number, asked=len(asked), text=str(error))
            break
        grades.append({name: found[text] for name, text in answers.items()})
        judged.append(question)
    progress(Progress("judging", len(asked), len(asked)))
    if not grades:
        raise ModelError(f"No question was judged: {why.values['text'] if why else 'there is none'}")
    return Opinions(client.name, tuple(judged), _average(grades, names, criteria), unread, why)


def _average(grades: Sequence[Mapping[str, Any]], names: Sequence[str], criteria: Sequence[Criterion]
             ) -> tuple[Opinion, ...]:
    """Average the grades of each method over the questions, in percent of the highest possible."""
    highest = np.array([each.highest for each in criteria])
    means, spread = {}, {}
    for name in names:
        rounds = [each[name] for each in grades]  # (rounds, criteria) for each question
        shares = np.array([each.mean(axis=0) / highest for each in rounds])
        overall = np.array([each.mean(axis=0).sum() / highest.sum() for each in rounds])
        means[name] = 100 * np.column_stack([shares, overall]).T  # (criteria + 1, questions)
        sums = [each.sum(axis=1) / highest.sum() for each in rounds if len(each) > 1]
        spread[name] = 100 * float(np.mean([each.std(ddof=1) for each in sums])) if sums else None
    found = []
    for name, own in means.items():
        gap = own[-1] - means[names[0]][-1]
        drawn = intervals(np.vstack([own, gap]), np.random.default_rng(SEED))
        found.append(Opinion(name, drawn[-2], spread[name], drawn[-1],
                             dict(zip([each.name for each in criteria], drawn[:-2], strict=True))))
    return tuple(found)
