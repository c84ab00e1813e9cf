"""Settings of calls to a language model, and notices of HTTP requests that are repeated."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from qafd.errors import ModelError, ParameterError, ReplyLimitError

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
    place = "on Documents" if purpose == "extract" else "in Settings, Calls,"
    named = ReplyLimitError(f"{error.model} used up its reply limit before its answer was complete; raise it "
                            f"{place} or with --reply-tokens.", error.model)
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
