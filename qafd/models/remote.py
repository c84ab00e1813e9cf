"""A model at an OpenAI-compatible address, every call bounded in time, bytes and retries."""

import random
import re
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import httpx2
import openai

from qafd.errors import (
    DeadlineError,
    MalformedReplyError,
    MissingKeyError,
    ModelError,
    RefusedError,
    UnreachableError,
)
from qafd.models import tell_of_retry
from qafd.models.address import OPENAI, Resolver, check_address, destinations
from qafd.models.thoughts import forms_of, hide
from qafd.models.wire import CallLimits, bounded_client
from qafd.reading.text.plaintext import one_line, storable

MAX_BYTES = 8_000_000  # of all answers to one call
MOST_TOKENS = 100_000_000  # of one call; a larger count is wrong
FORMAT = ("response_format", "json_schema", "json_object", "grammar")  # some know none of them
TOO_LONG = re.compile(r"context length|less than \d+ tokens|too long|too large to process")
"""The words of OpenAI and vLLM, TEI, and llama.cpp (with status 500) for a text that is too long."""

_LATER = (408, 409, 425, 429)  # and all from 500 on
# The errors that a client and its parsing raise on broken answers.
_ODD = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError,
        AttributeError, TypeError, LookupError, RecursionError)

Answer = TypeVar("Answer")


class RemoteModel:
    """One client with its deadline, retries and error messages.

    Every call ends within `deadline` seconds, retries and the waiting between them included,
    with an answer or a ModelError. Errors hold neither the key nor the original exception.

    Parameters
    ----------
    model : str
        The endpoint's name for it.
    base_url : str
        The address up to and including "/v1".
    key : str, optional
        Sent to the endpoint and stored nowhere.
    client : optional
        Anything with `chat.completions.create` and `embeddings.create` as in `openai.OpenAI`.
        Its own connections and deadlines are then used.
    deadline : float
        Seconds for a call with its retries.
    attempts : int
        Attempts for temporary failures: 429, 5xx, broken connections, answers that are not JSON.
    resolver : callable
        Maps a host's name to its addresses; by default as this machine finds them.

    Raises
    ------
    MissingKeyError
        A public address needs a key.
    ParameterError
        The address cannot be used.
    """

    pause = 0.5
    """Seconds before the first retry."""

    def __init__(self, model: str, base_url: str = OPENAI, key: str | None = None, *,
                 client: openai.OpenAI | None = None, deadline: float = 120.0, attempts: int = 4,
                 resolver: Resolver | None = None) -> None:
        self.name = storable(model)
        self.base_url = base_url
        self.host = check_address(base_url, key if client is None else "the client's own",
                                  resolver)
        self.secrets = forms_of(key or str(getattr(client, "api_key", None) or ""))
        self.deadline, self._attempts = deadline, attempts
        if client is None:
            wire = bounded_client(deadline, partial(
                destinations, resolver=resolver,
                private=not key or base_url.lower().startswith("http:")))
            weakref.finalize(self, wire.close)
            client = openai.OpenAI(api_key=key or "none", base_url=base_url, max_retries=0,
                                   timeout=deadline, http_client=wire)
        elif isinstance(client, openai.OpenAI):
            client = client.with_options(max_retries=0)  # they are made, and counted, here
        self.client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.base_url!r})"

    def call(self, ask: Callable[[], Answer], limits: CallLimits | None = None) -> Answer:
        """Return the result of `ask`; repeat temporary failures until the deadline."""
        limits = limits or CallLimits(self.deadline, MAX_BYTES)
        for attempt in range(1, self._attempts + 1):
            answer, failure, wait = self._once(ask, limits)
            if failure is None:
                assert answer is not None
                return answer
            if wait is None or attempt == self._attempts:
                break
            wait = wait or self.pause * 2 ** (attempt - 1) * random.uniform(1.0, 1.5)
            if wait > limits.left:
                failure = UnreachableError(f"{failure} It asks to wait {wait:,.0f} s, longer "
                                           f"than the {limits.left:,.0f} s that this call "
                                           "has left; try again later.")
                break
            tell_of_retry(failure)
            time.sleep(wait)
        assert failure is not None
        # outside of any except block: the original error can hold the key, a context keeps it
        raise failure

    def _once(self, ask: Callable[[], Answer], limits: CallLimits
              ) -> tuple[Answer | None, ModelError | None, float | None]:
        """Return an answer, or the failure and the seconds to wait: 0 if unknown, None for no retry."""
        try:
            with limits.on():
                return ask(), None, None
        except MalformedReplyError as error:
            return None, error, None
        except _ODD as error:
            failure, wait = self._word_failure(error, limits)
            # tokens that arrived, however broken, will be charged
            failure.paid = not isinstance(error, openai.APIStatusError) and (
                limits.heard or isinstance(failure, DeadlineError))
            return None, failure, wait

    def _word_failure(self, error: Exception, limits: CallLimits
                      ) -> tuple[ModelError, float | None]:
        if limits.refused:
            return RefusedError(f"{limits.refused}."), None
        if limits.broken == "size":
            return DeadlineError(f"{self.host} sent more than {MAX_BYTES / 1e6:.0f} MB for one "
                                 "call, which was ended; check that it is a model endpoint."), None
        if limits.broken or not limits.left or isinstance(error, openai.APITimeoutError):
            return DeadlineError(f"{self.host} gave no complete answer within "
                                 f"{self.deadline:,.0f} s; try again, or allow more time."), None
        if isinstance(error, openai.APIStatusError):
            return self._status(error)
        if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError, OSError)):
            cause = self.redact(str(error.__cause__ or error) or type(error).__name__)
            return UnreachableError(f"{self.host} cannot be reached or hung up ({cause}); "
                                    "check the address and that the server runs."), 0.0
        if isinstance(error, openai.APIError) and error.body is not None:  # within a stream
            return UnreachableError(f"{self.host} broke off ({self.redact(error.message, 400)}); try again "
                                    "later."), 0.0
        return UnreachableError(f"{self.host} did not answer like a "
                                f"model ({type(error).__name__}); check the address, it "
                                "usually ends in /v1."), 0.0

    def _status(self, error: openai.APIStatusError) -> tuple[ModelError, float | None]:
        status = error.status_code
        message = self.redact(error.message, 400)
        if status in (401, 403):
            return MissingKeyError(f"{self.host} refuses the API key ({status}); enter a valid "
                                   "one."), None
        if status < 400:
            return RefusedError(f"{self.host} redirects to another address ({status}), which "
                                "is not followed; enter the final address."), None
        if (status in _LATER or status >= 500) and not TOO_LONG.search(message) and not any(
                word in message for word in ("insufficient_quota", *FORMAT)):
            wait = _seconds(error.response.headers.get("retry-after", ""))
            return UnreachableError(f"{self.host} cannot answer now ({status}: {message})."), wait
        return RefusedError(f"{self.host} declines the request ({status}: {message})."), None

    def redact(self, text: str, length: int = 200) -> str:
        """Return a text as one line without the key."""
        return one_line(hide(sendable(text), self.secrets), length)


def sendable(text: str) -> str:
    """Replace lone surrogates, which cannot be stored or sent, by question marks."""
    return text.encode("utf-8", "replace").decode()


def plausible_tokens(count: object) -> int:
    """Return an endpoint's count of tokens, 0 if one call cannot have so many."""
    if isinstance(count, bool) or not isinstance(count, int):
        return 0
    return count if 0 < count <= MOST_TOKENS else 0


def _seconds(retry_after: str) -> float:
    """Return a Retry-After header in seconds, 0 where it has no number."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        return 0.0
