"""OpenAI-compatible chat and embeddings, every call bounded in time, bytes and retries."""

import random
import re
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
import numpy as np
import openai

from qafd.address import OPENAI, check_address, is_local
from qafd.errors import (
    DeadlineError,
    MalformedReplyError,
    MissingKeyError,
    ModelError,
    RefusedError,
    UnreachableError,
)
from qafd.llm import Message, Reply, with_json
from qafd.plaintext import one_line
from qafd.records import Vectors
from qafd.text import count_tokens
from qafd.wire import Limits, bounded_client

__all__ = ["OPENAI", "Endpoint", "EndpointEmbedder", "check_address", "is_local"]

MAX_BYTES = 8_000_000  # of all answers to one call

_JSON = ("json_schema", "json_object", "plain")
_LATER = (408, 409, 425, 429)  # and all from 500 on
# What a client and its parsing raise on answers that are no answers.
_ODD = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError,
        AttributeError, TypeError, LookupError, RecursionError)

# What vLLM, OpenRouter, LM Studio, Groq and llama.cpp call it.
_WINDOWS = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx",
            "n_ctx_train")
_FORMAT = ("response_format", *_JSON[:2], "grammar")  # names of what some servers do not know
# How OpenAI and vLLM, TEI, and llama.cpp (which calls it an error of its own, 500) say it.
_TOO_LONG = re.compile(r"context length|less than \d+ tokens|too long|too large to process")
_SHORT = 100  # characters of a text that is not cut any more

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Words:
    """What a server is asked with, as far as servers differ."""

    temperature: float | None
    limit: str = "max_tokens"
    json: str = _JSON[0]
    count: bool = True  # the tokens of a stream

    def without(self, said: str) -> "_Words | None":
        """Without the word that the server complained of; None when it named none of them."""
        if self.limit == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit="max_completion_tokens")
        if self.temperature is not None and "temperature" in said:
            return replace(self, temperature=None)
        if self.count and "stream_options" in said:
            return replace(self, count=False)
        if self.json != "plain" and any(word in said for word in _FORMAT):
            return replace(self, json=_JSON[_JSON.index(self.json) + 1])
        return None


class _Connection:
    """One client with its deadline, retries and the words for what went wrong."""

    def __init__(self, base_url: str, key: str | None, client: openai.OpenAI | None,
                 deadline: float, attempts: int, pause: float) -> None:
        self.host = check_address(base_url, key if client is None else "the client's own")
        self.deadline = deadline
        self._key = key or str(getattr(client, "api_key", None) or "")
        self._attempts, self._pause = attempts, pause
        if client is None:
            wire = bounded_client(deadline)
            weakref.finalize(self, wire.close)
            client = openai.OpenAI(api_key=key or "none", base_url=base_url, max_retries=0,
                                   timeout=deadline, http_client=wire)
        self.client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.host!r})"

    def call(self, ask: Callable[[], Answer], limits: Limits | None = None) -> Answer:
        """What `ask` returns; tries again what may pass, until the deadline."""
        limits = limits or Limits(self.deadline, MAX_BYTES)
        for attempt in range(1, self._attempts + 1):
            answer, failure, wait = self._once(ask, limits)
            if failure is None:
                assert answer is not None
                return answer
            if wait is None or attempt == self._attempts:
                break
            wait = wait or self._pause * 2 ** (attempt - 1) * random.uniform(1.0, 1.5)
            if wait > limits.left:
                failure = UnreachableError(
                    f"{failure} It asks to wait {wait:,.0f} s, longer than the {limits.left:,.0f} "
                    "s that this call has left; try again later.")
                break
            time.sleep(wait)
        assert failure is not None
        # outside of any except block: the original error can hold the key, a context keeps it
        raise failure

    def _once(self, ask: Callable[[], Answer], limits: Limits
              ) -> tuple[Answer | None, ModelError | None, float | None]:
        """An answer, or the failure with the seconds to wait: 0 unsaid, None for no use."""
        try:
            with limits.on():
                return ask(), None, None
        except MalformedReplyError as error:
            return None, error, None
        except _ODD as error:
            return None, *self._worded(error, limits)

    def _worded(self, error: Exception, limits: Limits) -> tuple[ModelError, float | None]:
        if limits.broken == "size":
            return DeadlineError(
                f"{self.host} sent more than {MAX_BYTES / 1e6:.0f} MB for one call, which was "
                "ended; check that it is a model endpoint."), None
        if limits.broken or not limits.left or isinstance(error, openai.APITimeoutError):
            return DeadlineError(
                f"{self.host} gave no complete answer within {self.deadline:,.0f} s; try again, "
                "or allow more time."), None
        if isinstance(error, openai.APIStatusError):
            return self._status(error)
        if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError, OSError)):
            cause = self.redacted(str(error.__cause__ or error) or type(error).__name__)
            return UnreachableError(
                f"{self.host} cannot be reached or hung up ({cause}); check the address and that "
                "the server runs."), 0.0
        return UnreachableError(
            f"{self.host} answered with something that is no reply of a model "
            f"({type(error).__name__}); check the address, it usually ends in /v1."), 0.0

    def _status(self, error: openai.APIStatusError) -> tuple[ModelError, float | None]:
        status = error.status_code
        said = self.redacted(error.message, 400)
        if status in (401, 403):
            return MissingKeyError(
                f"{self.host} refuses the API key ({status}); enter a valid one."), None
        if status < 400:
            return RefusedError(
                f"{self.host} redirects to another address ({status}), which is not followed; "
                "enter the final address."), None
        if (status in _LATER or status >= 500) and not _TOO_LONG.search(said) and not any(
                word in said for word in ("insufficient_quota", *_FORMAT)):
            wait = _seconds(error.response.headers.get("retry-after", ""))
            return UnreachableError(f"{self.host} cannot answer now ({status}: {said})."), wait
        return RefusedError(f"{self.host} declines the request ({status}: {said})."), None

    def redacted(self, text: str, length: int = 200) -> str:
        """One line without the key."""
        return one_line(self.without_key(text), length)

    def without_key(self, text: str) -> str:
        """The text, whatever the server made of the key in it."""
        if len(self._key) > 3:
            text = text.replace(self._key, "***")
        return text.encode("utf-8", "replace").decode()


class Endpoint:
    """A chat model behind an OpenAI-compatible address; thread-safe, an `LLM`.

    Every call ends within `deadline` seconds, retries and the waiting between them included,
    with a reply or a ModelError. Errors hold neither the key nor the original exception. Which
    way to ask for JSON works (json_schema, json_object, plain), and which parameters the server
    knows, is found out at the first call and remembered.

    Parameters
    ----------
    model : str
        As the endpoint calls it.
    base_url : str
        Up to and with "/v1".
    key : str, optional
        Sent to the endpoint and kept nowhere else.
    client : optional
        Anything with `chat.completions.create` and `embeddings.create` as in `openai.OpenAI`.
        Its own connections are then used, whose deadlines are its own matter.
    deadline, pause : float
        Seconds: of a call in all, and before the first retry.
    attempts : int
        Of one call, for what may pass: 429, 5xx, broken connections, answers that are no JSON.

    Raises
    ------
    MissingKeyError
        A public address needs a key.
    ParameterError
        The address cannot be used.
    """

    def __init__(self, model: str, base_url: str = OPENAI, key: str | None = None, *,
                 client: openai.OpenAI | None = None, deadline: float = 120.0, attempts: int = 4,
                 pause: float = 0.5, temperature: float | None = 0.0) -> None:
        self.name = model
        self.base_url = base_url
        self._connection = _Connection(base_url, key, client, deadline, attempts, pause)
        self._words = _Words(temperature)

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r}, {self.base_url!r})"

    @property
    def json_mode(self) -> str:
        """How JSON is asked for now: "json_schema", "json_object" or "plain"."""
        return self._words.json

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """One reply; with a JSON schema, text that parses as JSON.

        Raises
        ------
        MalformedReplyError
            The model answered nothing, or no JSON where that was asked for.
        DeadlineError, UnreachableError, RefusedError, MissingKeyError
        """
        reply = self._adapting(lambda: self._connection.call(
            lambda: self._read(self._create(messages, schema, max_tokens), messages)))
        return reply if schema is None else with_json(reply, schema)

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply | None]:
        """The reply piece by piece; retries end with the first piece.

        Returns the whole of it where the endpoint counts the tokens of streams, else None.
        """
        connection = self._connection
        limits = Limits(connection.deadline, MAX_BYTES)
        pieces = self._adapting(lambda: connection.call(
            lambda: iter(self._create(messages, None, max_tokens, stream=True)), limits))
        said, counted = "", None
        try:
            while True:
                piece, failure, _ = connection._once(lambda: _next(pieces), limits)
                if failure is not None:
                    raise failure
                if piece is None or not piece:
                    break
                text = connection.without_key(piece[0])
                said, counted = said + text, _counted(piece[1]) or counted
                if text:
                    yield text
        finally:
            with limits.on():
                getattr(pieces, "close", lambda: None)()
        if not said.strip():
            raise _malformed(connection, "an empty reply", messages, "")
        return Reply(said, *counted) if counted else None

    def models(self) -> tuple[str, ...]:
        """The names of the models that the endpoint offers, sorted."""
        connection = self._connection
        return tuple(sorted(connection.call(
            lambda: [str(model.id) for model in connection.client.models.list().data])))

    def context_length(self) -> int | None:
        """Tokens that the model can read at once, where the endpoint's list of models says so."""
        connection = self._connection
        listed = connection.call(lambda: [dict(model) for model in
                                          connection.client.models.list().data])
        for model in listed:
            if model.get("id") == self.name:
                told = {**model, **(model.get("meta") or {})}
                return next((size for name in _WINDOWS
                             if isinstance(size := told.get(name), int) and size > 0), None)
        return None

    def _create(self, messages: Sequence[Message], schema: Mapping[str, Any] | None,
                max_tokens: int, stream: bool = False) -> Any:
        words = self._words
        asked: dict[str, Any] = {words.limit: max_tokens}
        if words.temperature is not None:
            asked["temperature"] = words.temperature
        if stream:
            asked["stream"] = True
            if words.count:
                asked["stream_options"] = {"include_usage": True}
        if schema is not None and words.json != "plain":
            asked["response_format"] = {"type": words.json} | (
                {"json_schema": {"name": "reply", "schema": dict(schema)}}
                if words.json == "json_schema" else {})
        turns: Any = [{"role": m.role, "content": m.content} for m in messages]
        return self._connection.client.chat.completions.create(
            model=self.name, messages=turns, **asked)

    def _adapting(self, ask: Callable[[], Answer]) -> Answer:
        """Ask again in words that the server knows, as long as it names one that it does not."""
        while True:
            words = self._words
            try:
                return ask()
            except RefusedError as error:
                known = words.without(str(error))
                if known is None:
                    raise
                self._words = known

    def _read(self, completion: Any, messages: Sequence[Message]) -> Reply:
        if not hasattr(completion, "choices"):
            raise TypeError("no chat completion")
        if not completion.choices:
            raise _malformed(self._connection, "a reply without any choice", messages, "")
        choice = completion.choices[0]
        text = choice.message.content
        if not isinstance(text, str) or not text.strip():
            raise _malformed(self._connection, "an empty reply", messages, "")
        text = self._connection.without_key(text)
        cut = choice.finish_reason == "length"
        if counted := _counted(getattr(completion, "usage", None)):
            return Reply(text, *counted, cut=cut)
        return Reply(text, tokens_of(messages), count_tokens(text), estimated=True, cut=cut)


@dataclass(frozen=True)
class Embedded:
    """Unit rows, shape (k, d), and how many tokens were read; `estimated` when counted here."""

    vectors: Vectors
    tokens: int
    estimated: bool


class EndpointEmbedder:
    """An embedding model behind an OpenAI-compatible address; an `Embedder`.

    Vectors are scaled to unit length. A request that is declined or answered with something
    else is halved; a single text that is too long for the model is halved too, and has the mean of
    its halves, weighted by their lengths.

    Parameters
    ----------
    model, base_url, key, client, deadline, attempts, pause
        As for `Endpoint`.
    batch : int
        Texts of one request at first.
    dimension : int
        The length of its vectors where that is known, which saves asking; another is refused.
    """

    def __init__(self, model: str, base_url: str = OPENAI, key: str | None = None, *,
                 client: openai.OpenAI | None = None, deadline: float = 120.0, attempts: int = 4,
                 pause: float = 0.5, batch: int = 64, dimension: int = 0) -> None:
        self.name = model
        self._connection = _Connection(base_url, key, client, deadline, attempts, pause)
        self._batch = batch
        self.known_dimension = dimension

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r}, {self._connection.host!r})"

    @property
    def dimension(self) -> int:
        """The length d of a vector; asked for once, with a word."""
        if not self.known_dimension:
            self.embed(["word"])
        return self.known_dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d).

        Raises
        ------
        MalformedReplyError
            Vectors are missing, of several lengths, zero or not finite.
        """
        rows = [*self.in_requests(texts, lambda some: self.ask(some).vectors)]
        return np.concatenate(rows or [np.zeros((0, self.dimension), np.float32)])

    def in_requests(self, texts: Sequence[str],
                    ask: Callable[[Sequence[str]], Vectors]) -> Iterator[Vectors]:
        """The rows of one request after the other, in the order of `texts`; `ask` makes one."""
        at, size = 0, self._batch
        while at < len(texts):
            some = [text or " " for text in texts[at:at + size]]
            failure: ModelError | None = None
            try:
                rows = ask(some)
            except (RefusedError, MalformedReplyError) as error:
                failure = error
            too_long = failure is not None and _TOO_LONG.search(str(failure)) is not None
            if failure is not None and len(some) > 1:
                size = len(some) // 2
                if not too_long:  # of one long text the others know nothing
                    self._batch = size
                continue
            if failure is not None:
                if not too_long or len(some[0]) < _SHORT:
                    raise failure
                rows = self._in_halves(some[0], ask)
            yield rows
            at += len(some)
            size = self._batch

    def _in_halves(self, text: str, ask: Callable[[Sequence[str]], Vectors]) -> Vectors:
        middle = len(text) // 2
        cut = max(text.rfind(" ", 1, middle), middle // 2)
        halves = [text[:cut], text[cut:]]
        rows = np.concatenate([*self.in_requests(halves, ask)])  # (2, d)
        mean = np.array([len(half) for half in halves], np.float64) @ rows
        return np.asarray(mean / np.linalg.norm(mean), np.float32)[None, :]

    def ask(self, texts: Sequence[str]) -> Embedded:
        """The vectors of one request.

        Raises
        ------
        MalformedReplyError, DeadlineError, UnreachableError, RefusedError, MissingKeyError
        """
        return self._connection.call(lambda: self._ask(texts))

    def _ask(self, texts: Sequence[str]) -> Embedded:
        answer = self._connection.client.embeddings.create(
            model=self.name, input=list(texts), encoding_format="float")
        rows = [entry.embedding for entry in sorted(answer.data, key=lambda entry: entry.index)]
        sizes = {len(row) for row in rows}
        if len(sizes) == 1 and self.known_dimension not in (0, *sizes):
            raise MalformedReplyError(
                f"{self.name} gave a vector of {min(sizes)} numbers where it gave "
                f"{self.known_dimension} before; choose the former model again, or embed the "
                "workspace anew (`qafd index --re-embed`).")
        if len(rows) != len(texts) or len(sizes) != 1:
            raise MalformedReplyError(
                f"{self.name} gave {len(rows)} vectors of the lengths {sorted(sizes)} for "
                f"{len(texts)} texts; choose another embedding model.")
        vectors = np.array(rows, np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise MalformedReplyError(
                f"{self.name} gave vectors that are zero or not finite; choose another model.")
        self.known_dimension = vectors.shape[1]
        usage = getattr(answer, "usage", None)
        read = getattr(usage, "prompt_tokens", 0) or getattr(usage, "total_tokens", 0)
        counted = isinstance(read, int) and read > 0
        return Embedded(np.asarray(vectors / lengths, np.float32),
                        read if counted else sum(map(count_tokens, texts)), not counted)


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens a conversation has, counted here."""
    return sum(4 + count_tokens(message.content) for message in messages)


def _seconds(retry_after: str) -> float:
    """A Retry-After header, in seconds from now; 0 when there is none."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0


def _next(pieces: Iterator[Any]) -> tuple[str, Any] | tuple[()]:
    """The next words of a stream, and its count of tokens, which comes with the last."""
    for piece in pieces:
        delta = piece.choices[0].delta.content if piece.choices else None
        return delta or "", getattr(piece, "usage", None)
    return ()


def _counted(usage: Any) -> tuple[int, int] | None:
    """Tokens in and out where an endpoint counts both."""
    sent, got = getattr(usage, "prompt_tokens", 0), getattr(usage, "completion_tokens", 0)
    both = isinstance(sent, int) and isinstance(got, int) and min(sent, got) > 0
    return (sent, got) if both else None


def _malformed(connection: _Connection, what: str, messages: Sequence[Message],
               text: str) -> MalformedReplyError:
    error = MalformedReplyError(
        f"{connection.host} gave {what}; ask again, or choose another model.")
    error.tokens = (tokens_of(messages), count_tokens(text), True)
    return error
