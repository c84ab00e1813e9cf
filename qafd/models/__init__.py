"""Language models as the library sees them: messages in, one reply or a stream out."""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

from qafd.errors import MalformedReplyError, ModelError, ParameterError, ReplyLimitError

_FENCE = re.compile(r"```[\w-]*\n?")
MOST_ODD = 50  # useless braces of a reply after which the search stops


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Reply:
    """The answer of a model and its cost, in tokens.

    `estimated` is True if the endpoint did not count the tokens; qafd's estimate is shown with "~".
    `cut` is True if the reply reached its limit.
    """

    text: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False
    cut: bool = False


class LLM(Protocol):
    """A chat model; every failure is a ModelError."""

    @property
    def name(self) -> str:
        """The name of the model; read-only."""
        ...

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """Return one reply; with a JSON schema, text that parses as JSON.

        Raises MalformedReplyError if it does not.
        """
        ...

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply]:
        """Yield the reply piece by piece, then return all of it."""
        ...


class Streamed:
    """The pieces of a stream, which can be read once; `reply` is all of them after the last."""

    def __init__(self, pieces: Generator[str, None, Reply]) -> None:
        self._pieces = pieces
        self.reply = Reply("", 0, 0)

    def __iter__(self) -> Iterator[str]:
        self.reply = yield from self._pieces


@dataclass(frozen=True)
class RecordedCall:
    """One call as a model received it."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int


class Recorded:
    """A model that replays written replies in order; its calls are listed in `asked`.

    Parameters
    ----------
    replies : iterable of str, Reply or ModelError
        An error is raised in its turn; the tokens of a bare text are estimated.
    name : str
        The model's name in the ledger.

    Raises
    ------
    ModelError
        From a call after the last reply.
    """

    def __init__(self, replies: Iterable[str | Reply | ModelError],
                 name: str = "recorded") -> None:
        self.name = name
        self.asked: list[RecordedCall] = []
        self._replies = iter(replies)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """Return the next reply; with a JSON schema, the JSON in it."""
        self.asked.append(RecordedCall(tuple(messages), schema, max_tokens))
        reply = next(self._replies, None)
        if reply is None:
            raise ModelError(f"{self.name} has no reply left for call {len(self.asked)}; "
                             "record one more.")
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, str):
            sent = sum(len(message.content) for message in messages)
            reply = Reply(reply, sent // 4, len(reply) // 4, estimated=True)
        return reply if schema is None else with_json(reply, schema)

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply]:
        """Yield the next reply, word by word."""
        reply = self.complete(messages, max_tokens=max_tokens)
        yield from re.findall(r"\s*\S+\s*", reply.text)
        return reply


def with_json(reply: Reply, schema: Mapping[str, Any]) -> Reply:
    """Return the reply with its last JSON object as text, taken out of fences and prose around it.

    Only the required keys of the object are checked, not the types.

    Raises
    ------
    MalformedReplyError
        The reply has no such object.
    """
    wanted = set(schema.get("required", ()))
    found = find_json(_FENCE.sub("", reply.text), "{", lambda value: wanted <= value.keys())
    if found:
        # an escaped lone surrogate is JSON, but no text that can be stored
        last = json.dumps(found[-1], ensure_ascii=False).encode("utf-8", "replace").decode()
        return replace(reply, text=last)
    error = MalformedReplyError(
        f"The model's reply of {len(reply.text):,} characters holds no JSON object with "
        f"{', '.join(sorted(wanted)) or 'anything in it'}; ask again or choose another model.")
    error.tokens = (reply.tokens_in, reply.tokens_out, reply.estimated)
    raise error


def find_json(text: str, opening: str, wanted: Callable[[Any], bool]) -> list[Any]:
    """Return the JSON values of a text that begin with a bracket of `opening` and are `wanted`.

    They keep the order of the text. A value that is not wanted is searched for others within it.
    """
    found, at, odd = [], _next_of(opening, text, 0), 0
    decoder = json.JSONDecoder()
    while at < len(text) and odd < MOST_ODD:
        try:
            value, end = decoder.raw_decode(text, at)
            fits = wanted(value)
        except (ValueError, RecursionError):
            fits = False
        if fits:
            found.append(value)
        else:
            odd, end = odd + 1, at + 1
        at = _next_of(opening, text, end)
    return found


def _next_of(letters: str, text: str, at: int) -> int:
    """Return the place of the next of some letters; the length of the text if there is none."""
    places = [text.find(letter, at) for letter in letters]
    return min((place for place in places if place >= 0), default=len(text))


_RANGES = {"deadline": (0.1, 3600.0), "temperature": (0.0, 2.0), "reply_tokens": (1, 1_000_000)}
Retry = Callable[[ModelError], None]
"""Receives the failure of a request before it is repeated; an error that it raises ends the call."""


@dataclass(frozen=True)
class CallSettings:
    """Settings of one call; see `qafd.preferences` and the options of `qafd answer`.

    Parameters
    ----------
    deadline : float
        Seconds, retries included.
    temperature : float
        0 for the same words each time.
    reply_tokens : int
        Most of a reply, thoughts included.
    """

    deadline: float = 120.0
    temperature: float = 0.0
    reply_tokens: int = 1024

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ParameterError(f"{name} is {str(value)[:40]}; it is a number from "
                                     f"{least} to {most:,}")


def calls_of(client: object) -> CallSettings:
    """Return the settings of a model or of one that it wraps, else the usual ones."""
    while client is not None:
        settings = getattr(client, "calls", None)
        if isinstance(settings, CallSettings):
            return settings
        client = getattr(client, "llm", None)
    return CallSettings()


def name_limit(error: ReplyLimitError, purpose: str) -> ReplyLimitError:
    """Return the error with the place of the setting to raise for a purpose, such as "answer"."""
    remedy = ("with 'qafd index --reply-tokens N'" if purpose == "extract"
              else "in Settings, Calls, or with --reply-tokens N")
    named = ReplyLimitError(f"{error.model} reached its reply limit before its answer was complete; raise it "
                            f"{remedy}.", error.model)
    named.tokens = error.tokens
    return named


def _ignore(_: ModelError) -> None:
    """Ignore a failure when nobody counts retries."""


_RETRY: ContextVar[Retry] = ContextVar("retry", default=_ignore)


@contextmanager
def retrying(tell: Retry) -> Iterator[None]:
    """Report every request that is repeated inside the block to `tell`."""
    token = _RETRY.set(tell)
    try:
        yield
    finally:
        _RETRY.reset(token)


def tell_of_retry(failure: ModelError) -> None:
    """Report that a request failed and is repeated now."""
    _RETRY.get()(failure)
