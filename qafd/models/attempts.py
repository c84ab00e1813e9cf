"""The HTTP requests of one call: each is told of before it is made again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from qafd.errors import ModelError

Retry = Callable[[ModelError], None]
"""Told why a request failed that is made again; what it raises ends the call."""


def _ignore(_: ModelError) -> None:
    """Nobody counts."""


_RETRY: ContextVar[Retry] = ContextVar("retry", default=_ignore)


@contextmanager
def retrying(tell: Retry) -> Iterator[None]:
    """Tell of every request that is made again inside the block."""
    token = _RETRY.set(tell)
    try:
        yield
    finally:
        _RETRY.reset(token)


def tell_of_retry(failure: ModelError) -> None:
    """Say that a request failed and is made again now."""
    _RETRY.get()(failure)
