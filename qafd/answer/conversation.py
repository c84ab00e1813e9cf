"""Questions of a workspace in the order in which they were asked, and follow-ups to them.

A follow-up ("Where was she born?") cannot be looked up alone. It becomes a question of its own,
by a language model or by two rules, before anything is retrieved; both forms are kept.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from qafd.answer import Answer
from qafd.errors import ModelError, ParameterError
from qafd.models import LLM
from qafd.models.prompts_follow import FOLLOW_TOKENS, follow_messages, read_follow
from qafd.reading.text.lexicons import words as lexicon
from qafd.reading.text.plaintext import one_line, storable
from qafd.retrieve.base import Retrieval
from qafd.storage import Workspace
from qafd.storage.rows import now

KEPT = 100  # questions of a workspace
SHOWN = 3  # turns that a model is shown
LONGEST = 1000  # characters of a question that is kept
_NOTE = "questions"
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_AND_THIS = re.compile(r"\s*(?:and|what about|how about)\s+(?P<name>[^?]+?)\s*\??\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Turn:
    """A question that was asked; `typed` is the follow-up that it was made of, "" for none."""

    question: str
    typed: str = ""
    asked_at: str = ""


@dataclass(frozen=True)
class FollowUp:
    """A follow-up as a question of its own.

    `made_by` is the name of the model, "rules", or "" where the follow-up stands alone already;
    `failure` says why a model's words were not taken.
    """

    typed: str
    question: str
    made_by: str
    failure: ModelError | None = None


@dataclass(frozen=True)
class Exchange:
    """A turn with its answer: what a follow-up may refer to.

    `names` are those of the question, as it spells them, and `answered` those that the best
    sentence of the answer adds, the most important first.
    """

    question: str
    answer: str
    names: tuple[str, ...]
    answered: tuple[str, ...]


def turns(store: Workspace) -> tuple[Turn, ...]:
    """The questions of a workspace, the newest first, each once."""
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
    """The turn that a retrieval and its answer make."""
    entities = sorted((node for node in retrieval.nodes if node.kind == "entity"),
                      key=lambda node: -node.importance)
    asked = retrieval.query.casefold()
    best = "" if answer.abstained else answer.sentences[0].line
    names = [node.name for node in entities if node.name.casefold() in asked]
    added = [node.name for node in entities if node.name in best and node.name not in names]
    text = " ".join(sentence.line for sentence in answer.sentences)
    return Exchange(retrieval.query, "" if answer.abstained else text, tuple(names), tuple(added))


def follow_up(typed: str, said: Sequence[Exchange], client: LLM | None = None) -> FollowUp:
    """A follow-up to the last of some turns as a question of its own.

    Without a model, or when it fails, "And X?" is the last question about X, and a question that
    refers back gets the names that the last turn was about; one that does neither stays.

    Parameters
    ----------
    said : sequence of Exchange
        The oldest turn first.

    Raises
    ------
    ParameterError
        Nothing was said before, or the follow-up is empty.

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
        reply = client.complete(follow_messages(before, typed), max_tokens=FOLLOW_TOKENS)
        return FollowUp(typed, read_follow(reply.text), client.name)
    except ModelError as error:
        made = by_rules(typed, said[-1])
        return FollowUp(typed, made.question, made.made_by, error)


def by_rules(typed: str, before: Exchange) -> FollowUp:
    """A follow-up as a question of its own, without a model; see `follow_up`."""
    other = _AND_THIS.fullmatch(typed)
    if other and len(before.names) == 1:
        again = re.sub(re.escape(before.names[0]), lambda _: other["name"], before.question,
                       flags=re.IGNORECASE)
        return FollowUp(typed, again, "rules")
    used = {word.casefold() for word in _WORD.findall(typed)}
    several = used & lexicon("english", "referring_to_several")
    names = [name for name in (*before.answered[:3 if several else 1], *before.names)
             if name.casefold() not in typed.casefold()]
    if not (other or used & lexicon("english", "referring")) or not names:
        return FollowUp(typed, typed, "")
    return FollowUp(typed, f"{typed} ({', '.join(dict.fromkeys(names))})", "rules")
