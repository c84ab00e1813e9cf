"""A chat model behind an OpenAI-compatible address: replies, streams, JSON as it can write it."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qafd.errors import MalformedReplyError, RefusedError
from qafd.models import Message, Reply, with_json
from qafd.models.remote import FORMAT, MAX_BYTES, Answer, RemoteModel
from qafd.models.wire import CallLimits
from qafd.reading.text import count_tokens

_JSON = ("json_schema", "json_object", "plain")
# What vLLM, OpenRouter, LM Studio, Groq and llama.cpp call it.
_WINDOWS = ("max_model_len", "context_length", "max_context_length", "context_window", "n_ctx",
            "n_ctx_train")


@dataclass(frozen=True)
class _Words:
    """What a server is asked with, as far as servers differ."""

    temperature: float | None = 0.0
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
        if self.json != "plain" and any(word in said for word in FORMAT):
            return replace(self, json=_JSON[_JSON.index(self.json) + 1])
        return None


class Endpoint(RemoteModel):
    """A chat model behind an OpenAI-compatible address; thread-safe, an `LLM`.

    Which way to ask for JSON works (json_schema, json_object, plain), and which parameters the
    server knows, is found out at the first call and remembered. Parameters: see `RemoteModel`.
    """

    _words = _Words()

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
        reply = self._adapting(lambda: self.call(
            lambda: self._read(self._create(messages, schema, max_tokens), messages)))
        return reply if schema is None else with_json(reply, schema)

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply | None]:
        """The reply piece by piece; retries end with the first piece.

        Returns the whole of it where the endpoint counts the tokens of streams, else None.
        """
        limits = CallLimits(self.deadline, MAX_BYTES)
        pieces = self._adapting(lambda: self.call(
            lambda: iter(self._create(messages, None, max_tokens, stream=True)), limits))
        said, counted = "", None
        try:
            while True:
                piece, failure, _ = self._once(lambda: _next(pieces), limits)
                if failure is not None:
                    raise failure
                if piece is None or not piece:
                    break
                text = self.without_key(piece[0])
                said, counted = said + text, _counted(piece[1]) or counted
                if text:
                    yield text
        finally:
            with limits.on():
                getattr(pieces, "close", lambda: None)()
        if not said.strip():
            raise self._malformed("an empty reply", messages)
        return Reply(said, *counted) if counted else None

    def models(self) -> tuple[str, ...]:
        """The names of the models that the endpoint offers, sorted."""
        return tuple(sorted(self.call(
            lambda: [str(model.id) for model in self.client.models.list().data])))

    def context_length(self) -> int | None:
        """Tokens that the model can read at once, where the endpoint's list of models says so."""
        listed = self.call(lambda: [dict(model) for model in self.client.models.list().data])
        told = next((model for model in listed if model.get("id") == self.name), {})
        told = {**told, **(told.get("meta") or {})}
        return next((size for name in _WINDOWS
                     if isinstance(size := told.get(name), int) and size > 0), None)

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
        return self.client.chat.completions.create(model=self.name, messages=turns, **asked)

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
            raise self._malformed("a reply without any choice", messages)
        choice = completion.choices[0]
        text = choice.message.content
        if not isinstance(text, str) or not text.strip():
            raise self._malformed("an empty reply", messages)
        text = self.without_key(text)
        cut = choice.finish_reason == "length"
        if counted := _counted(getattr(completion, "usage", None)):
            return Reply(text, *counted, cut=cut)
        return Reply(text, tokens_of(messages), count_tokens(text), estimated=True, cut=cut)

    def _malformed(self, what: str, messages: Sequence[Message]) -> MalformedReplyError:
        error = MalformedReplyError(f"{self.host} gave {what}; ask again, or choose another model.")
        error.tokens = (tokens_of(messages), 0, True)
        return error


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens a conversation has, counted here."""
    return sum(4 + count_tokens(message.content) for message in messages)


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
