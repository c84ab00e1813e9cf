"""Questions of a workspace in the order in which they were asked, and follow-ups to them.

A follow-up ("Where was she born?") cannot be looked up alone. It becomes a question of its own,
by a language model or by two rules, before anything is retrieved; both forms are kept.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from qafd.answer import Answer
from qafd.errors import MalformedReplyError, ModelError, ParameterError
from qafd.models import LLM, Reply, calls_of
from qafd.models.cost import Metered
from qafd.models.prompts_answer import follow_messages, read_follow
from qafd.plan.question import parse_question
from qafd.reading.text.plaintext import has_digit, one_line, storable
from qafd.resources import lexicon
from qafd.retrieve.base import Retrieval
from qafd.storage import Workspace
from qafd.storage.rows import now

KEPT = 100  # questions of a workspace
SHOWN = 3  # turns that a model is shown
LONGEST = 1000  # characters of a question that is kept
_NOTE = "questions"
_CODE = re.compile(r"[^\W_]+(?:[-./][^\W_]+)*")
_OPENINGS = ("and ", "what about ", "how about ")
ANSWERED = 3  # names of an answer that a follow-up gets


@dataclass(frozen=True)
class Turn:
    """A question that was asked; `typed` is the follow-up that it completes, "" if it was none."""

    question: str
    typed: str = ""
    asked_at: str = ""


@dataclass(frozen=True)
class FollowUp:
    """A follow-up as a question of its own.

    `made_by` is the name of the model, "rules", or "" where the follow-up is complete already;
    `failure` is the reason why a model's words were not taken.
    """

    typed: str
    question: str
    made_by: str
    failure: ModelError | None = None


@dataclass(frozen=True)
class Exchange:
    """A turn with its answer, to which a follow-up may refer.

    `names` are those of the question, as it spells them, and `answered` those that the best
    sentence of the answer adds, the most important first.
    """

    question: str
    answer: str
    names: tuple[str, ...]
    answered: tuple[str, ...]


def turns(store: Workspace) -> tuple[Turn, ...]:
    """Return the questions of a workspace, the newest first, each once."""
    rows = reversed(store.notes.rows(_NOTE))
    newest: dict[str, Turn] = {}
    for row in rows:
        newest.setdefault(row["question"], Turn(**row))
    return tuple(newest.values())


def keep_turn(store: Workspace, question: str, typed: str = "") -> None:
    """Note that a question was asked; the oldest goes when there are `KEPT`."""
    turn = Turn(storable(question)[:LONGEST], storable(typed)[:LONGEST], now())
    store.notes.append(_NOTE, asdict(turn), KEPT)


def forget_turns(store: Workspace) -> None:
    """Remove all questions of a workspace."""
    store.notes.clear(_NOTE)


def what_was_said(retrieval: Retrieval, answer: Answer) -> Exchange:
    """Return the turn that a retrieval and its answer make: a model's words where it wrote some."""
    entities = sorted((node for node in retrieval.nodes if node.kind == "entity"),
                      key=lambda node: -node.importance)
    written = "" if answer.written is None or answer.written.abstained else answer.written.text
    best = written or ("" if answer.abstained else answer.sentences[0].line)
    names = _without_parts([node.name for node in entities if _stands_in(node.name, retrieval.query)])
    added = _without_parts([node.name for node in entities if _stands_in(node.name, best)])
    added = [name for name in added if not any(_stands_in(name, other) for other in names)]
    text = " ".join(sentence.line for sentence in answer.sentences)
    told = written or ("" if answer.abstained else text)
    return Exchange(retrieval.query, told, tuple(names), tuple(added))


def _stands_in(name: str, text: str) -> bool:
    """Return True if a text has a name as whole words, in whatever case."""
    return _whole(name).search(text) is not None


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


def _without_parts(names: Sequence[str]) -> list[str]:
    """Return the names that are not part of a longer one."""
    return [name for name in names
            if not any(name != other and _stands_in(name, other) for other in names)]


def follow_up(typed: str, said: Sequence[Exchange], client: LLM | None = None) -> FollowUp:
    """Return a follow-up to the last of some turns as a complete question.

    Without a model, or when it fails, "And X?" is the last question about X, and a question that
    refers back gets the names that the last turn was about; one that does neither stays.

    Parameters
    ----------
    said : sequence of Exchange
        The oldest turn first.

    Raises
    ------
    ParameterError
        There is no turn before, or the follow-up is empty.

    Examples
    --------
    >>> before = Exchange("Who founded Apple?", "Steve Jobs did.", ("Apple",), ("Steve Jobs",))
    >>> follow_up("Where was he born?", [before]).question
    'Where was he born? (Steve Jobs, Apple)'
    >>> follow_up("And Microsoft?", [before]).question
    'Who founded Microsoft?'
    """
    typed = one_line(typed, LONGEST)
    if not typed:
        raise ParameterError("a follow-up needs a question; type one")
    if not said:
        raise ParameterError("no question was asked here before, so there is nothing to follow; ask "
                             "one that stands alone")
    if client is None:
        return by_rules(typed, said[-1])
    try:
        before = [(turn.question, turn.answer) for turn in said[-SHOWN:]]
        if isinstance(client, Metered):  # what is no question is not kept to be answered from
            client = replace(client, accepts=_is_question)
        reply = client.complete(follow_messages(before, typed), max_tokens=calls_of(client).reply_tokens)
        return FollowUp(typed, read_follow(reply), client.name)
    except ModelError as error:
        made = by_rules(typed, said[-1])
        return FollowUp(typed, made.question, made.made_by, error)


def _is_question(reply: Reply) -> bool:
    try:
        return bool(read_follow(reply))
    except MalformedReplyError:
        return False


def by_rules(typed: str, before: Exchange) -> FollowUp:
    """Return a follow-up as a question of its own, without a model; see `follow_up`."""
    text = typed.strip(" ?")
    opening = next((one for one in _OPENINGS if text.casefold().startswith(one)), "")
    other = text[len(opening):].strip()
    refers = not parse_question(typed).words.isdisjoint(lexicon("english", "referring"))
    # "and when did he die" names no other thing
    if opening and other and not refers and other.split()[0].casefold() not in lexicon("english", "asking"):
        again = _put_in_place(other, before)
        if again:
            return FollowUp(typed, again, "rules")
    names = [name for name in (*before.answered[:ANSWERED], *before.names)
             if not _stands_in(name, typed)]
    if not (opening or refers) or not names:
        return FollowUp(typed, typed, "")
    return FollowUp(typed, f"{typed} ({', '.join(dict.fromkeys(names))})", "rules")


def _put_in_place(name: str, before: Exchange) -> str:
    """Return the last question with its name, year or code replaced by that of the follow-up.

    It is "" if several could be replaced.

    One word with a digit takes the place of the only one, a name that of the only name without a digit; words
    that a preposition opens, as "in 2019", replace only words after the same one.
    """
    first, _, rest = name.partition(" ")
    opening = first if rest and first.islower() else ""
    called = rest if opening else name
    if has_digit(called):
        numbers = [word for word in _CODE.findall(before.question) if has_digit(word)]
        alike = numbers if _CODE.fullmatch(called) else []
    else:
        named = called[0].isupper() or not any(map(str.isupper, before.question[1:]))
        alike = [one for one in before.names if not has_digit(one)] if named else []
    if len(set(alike)) != 1:
        return ""
    same = ""
    if opening in lexicon("english", "articles"):
        same = r"(?:(?:the|an?)\s+)?"
    elif opening:
        same = rf"{re.escape(opening)}\s+"
    place = re.compile(rf"(?<!\w){same}{re.escape(alike[0])}(?!\w)", re.IGNORECASE)
    again = place.sub(lambda _: name, before.question)
    return again if again != before.question else ""
