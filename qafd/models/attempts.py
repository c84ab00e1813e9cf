"""Notices of the HTTP requests of one call that are repeated."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from qafd.errors import ModelError

Retry = Callable[[ModelError], None]
"""Receives the failure of a request before it is repeated; an error that it raises ends the call."""


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
