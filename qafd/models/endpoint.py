"""A chat model behind an OpenAI-compatible address: replies, streams, JSON, and a probe of its abilities."""

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from qafd.errors import (
    MalformedReplyError,
    ModelError,
    ParameterError,
    RefusedError,
    ReplyLimitError,
)
from qafd.models import CallSettings, Message, Reply, tell_of_retry, with_json
from qafd.models.remote import (
    FORMAT,
    MAX_BYTES,
    Answer,
    RemoteModel,
    plausible_tokens,
    sendable,
)
from qafd.models.thoughts import Hearing, hear
from qafd.models.wire import CallLimits
from qafd.reading.text import count_tokens
from qafd.reading.text.plaintext import one_line
from qafd.records import Check

if TYPE_CHECKING:
    from qafd.models.endpoint_embedder import EndpointEmbedder

_JSON = ("json_schema", "json_object", "plain")
_NO_SYSTEM = re.compile(r"system\W{0,3} role|role\W{1,3}system|roles must alternate", re.I)


@dataclass(frozen=True)
class _Words:
    """Parameters of a request in which servers differ."""

    temperature: float | None = 0.0
    limit: str = "max_tokens"
    json: str = _JSON[0]
    count: bool = True  # the tokens of a stream
    system: bool = True  # a role for instructions

    def without(self, complaint: str) -> "_Words | None":
        """Return them without the one that a server complains of; None if it names none."""
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.temperature is not None and "temperature" in complaint:
            return replace(self, temperature=None)
        if self.count and "stream_options" in complaint:
            return replace(self, count=False)
        if self.system and _NO_SYSTEM.search(complaint):
            return replace(self, system=False)
        if self.json != "plain" and any(word in complaint for word in FORMAT):
            return replace(self, json=_JSON[_JSON.index(self.json) + 1])
        return None


class Endpoint(RemoteModel):
    """A chat model behind an OpenAI-compatible address; thread-safe, an `LLM`.

    The first call finds out how the server writes JSON (json_schema, json_object, plain) and
    which parameters it knows. Parameters: see `RemoteModel`.
    """

    calls = CallSettings()
    _words = _Words()

    def with_settings(self, settings: CallSettings) -> "Endpoint":
        """Change the settings of later calls, and return this model."""
        self.deadline, self.calls = settings.deadline, settings
        self._words = replace(self._words, temperature=settings.temperature)
        return self

    @property
    def json_mode(self) -> str:
        """The way to ask for JSON: "json_schema", "json_object" or "plain"."""
        return self._words.json

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """Return one reply; with a JSON schema, text that parses as JSON.

        Raises
        ------
        MalformedReplyError
            The reply is empty, or is not JSON although a schema was given.
        ReplyLimitError
            The reply reached its limit first.
        DeadlineError, UnreachableError, RefusedError, MissingKeyError
        """
        reply = self._adapting(lambda: self.call(
            lambda: self._read(self._create(messages, schema, max_tokens), messages)))
        try:
            return reply if schema is None else with_json(reply, schema)
        except MalformedReplyError as error:
            if reply.cut:
                raise self._used_up(error.tokens) from error
            raise

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply]:
        """Yield the reply piece by piece, then return all of it; no retry after the first piece."""
        limits = CallLimits(self.deadline, MAX_BYTES)
        pieces = self._adapting(lambda: self.call(
            lambda: _read_stream(self._create(messages, None, max_tokens, stream=True)), limits))
        hearing, usage, finish = Hearing(self.secrets), None, ""
        begun = False
        try:
            while True:
                piece, failure, _ = self._once(lambda: next(pieces, None), limits)
                if piece is None and failure is None and not begun:  # a page, not a stream
                    failure, _ = self._word_failure(TypeError("no stream"), limits)
                begun = True
                if failure is not None:
                    failure.paid = True
                    raise failure
                if piece is None:
                    break
                usage, finish = piece.usage or usage, piece.finish or finish
                if text := hearing.add(piece.text):
                    yield text
        finally:
            with limits.on():
                pieces.close()
        if text := hearing.end():
            yield text
        # A stream that ends without a reason broke off on the way, so its reply counts as cut.
        return self._reply(hearing.text, usage, finish in ("", "length"), messages)

    def models(self) -> tuple[str, ...]:
        """Return the names of the models that the endpoint offers, sorted."""
        return tuple(sorted(self.call(
            lambda: [str(model.id) for model in self.client.models.list().data])))

    def choose_model(self, known: str) -> str:
        """Return the model to use if none is named: the `known` one, or the only one.

        Raises
        ------
        ParameterError
            The endpoint has no model or several.
        """
        names = self.models()
        if known in names:
            return known
        if len(names) != 1:
            raise ParameterError(f"the client's endpoint has {len(names)} models, so model= has to name one "
                                 f"of them: {one_line(', '.join(names), 600) or '-'}")
        return names[0]

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
        turns: Any = [{"role": m.role, "content": m.content}
                      for m in (messages if words.system else _without_system(messages))]
        return self.client.chat.completions.create(model=self.name, messages=turns, **asked)

    def _adapting(self, ask: Callable[[], Answer]) -> Answer:
        """Ask again without each parameter that the server rejects."""
        while True:
            words = self._words
            try:
                return ask()
            except RefusedError as error:
                known = words.without(str(error))
                if known is None:
                    raise
                self._words = known
                tell_of_retry(error)

    def _read(self, completion: Any, messages: Sequence[Message]) -> Reply:
        if not hasattr(completion, "choices"):
            raise TypeError("no chat completion")
        if not completion.choices:
            raise self._make_malformed("a reply without any choice", messages, completion.usage)
        choice = completion.choices[0]
        text = sendable(_join_parts(choice.message.content))
        return self._reply(hear(text, self.secrets), getattr(completion, "usage", None),
                           choice.finish_reason == "length", messages)

    def _reply(self, text: str, usage: Any, cut: bool, messages: Sequence[Message]) -> Reply:
        """Build the reply, with the endpoint's count of tokens or else an estimate."""
        if not text.strip():
            error = self._make_malformed("an empty reply", messages, usage)
            raise self._used_up(error.tokens) if cut else error
        if counted := _read_count(usage):
            return Reply(text, *counted, cut=cut)
        return Reply(text, tokens_of(messages), count_tokens(text), estimated=True, cut=cut)

    def _used_up(self, tokens: tuple[int, int, bool]) -> ReplyLimitError:
        error = ReplyLimitError(f"{self.name} used up its reply limit before its answer was "
                                "complete; raise the limit.", self.name)
        error.tokens = tokens
        return error

    def _make_malformed(self, reply: str, messages: Sequence[Message], usage: Any
                        ) -> MalformedReplyError:
        error = MalformedReplyError(f"{self.host} gave {reply}; ask again, or choose another "
                                    "model.")
        counted = _read_count(usage)
        error.tokens = (*counted, False) if counted else (tokens_of(messages), 0, True)
        return error


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimate the tokens of a conversation."""
    return sum(4 + count_tokens(message.content) for message in messages)


@dataclass(frozen=True)
class _Piece:
    """A piece of a stream: its words, the count of tokens, and with the last why it ended."""

    text: str
    usage: Any
    finish: str


def _read_stream(stream: Any) -> Generator[_Piece, None, None]:
    """Return the pieces of a stream; some servers send one whole reply in JSON instead."""
    response = getattr(stream, "response", None)
    if response is None or "json" not in response.headers.get("content-type", ""):
        return _read_pieces(stream, stream)
    return _read_pieces(stream, [_to_record(json.loads(response.read()))])


def _read_pieces(stream: Any, pieces: Iterable[Any]) -> Generator[_Piece, None, None]:
    try:
        for piece in pieces:
            usage = getattr(piece, "usage", None)
            if not piece.choices:
                yield _Piece("", usage, "")
                continue
            choice = piece.choices[0]
            said = choice.delta if hasattr(choice, "delta") else choice.message
            finish = getattr(choice, "finish_reason", None) or ""
            yield _Piece(sendable(_join_parts(said.content)), usage, finish)
    finally:
        getattr(stream, "close", lambda: None)()


def _to_record(value: Any) -> Any:
    """Turn the objects of a JSON value into records with attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _to_record(item) for name, item in value.items()})
    return [_to_record(item) for item in value] if isinstance(value, list) else value


def _join_parts(content: Any) -> str:
    """Return the text of a message, which some servers send in parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = (part.get("text") if isinstance(part, dict) else getattr(part, "text", None) for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Put the instructions in front of the first question, for models without a role for them."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if not system or not turns:
        return list(messages)
    return [replace(turns[0], content=f"{system}\n\n{turns[0].content}"), *turns[1:]]


def _read_count(usage: Any) -> tuple[int, int] | None:
    """Return the tokens in and out, None unless the endpoint counts both."""
    sent = plausible_tokens(getattr(usage, "prompt_tokens", None))
    got = plausible_tokens(getattr(usage, "completion_tokens", None))
    return (sent, got) if sent and got else None


_SCHEMA = {"type": "object", "required": ["word"], "additionalProperties": False,
           "properties": {"word": {"type": "string"}}}
_ASK = (Message("system", 'Reply with the JSON object {"word": "yes"} and nothing else.'),
        Message("user", "Are you there?"))
_ABILITIES = {"json_schema": "It follows a JSON schema ({mode}).",
              "json_object": "It writes JSON objects ({mode}).",
              "plain": "It has no JSON mode, so replies are searched for JSON."}
LISTED = 8  # names of models


@dataclass(frozen=True)
class Probe:
    """The findings of a probe; `models` are the names that the endpoint lists."""

    checks: tuple[Check, ...]
    models: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if every check passed."""
        return all(check.ok for check in self.checks)


def probe(llm: Endpoint, embedder: "EndpointEmbedder | None" = None) -> Probe:
    """Ask an endpoint for its models, two words, JSON and, with `embedder`, one vector.

    Costs a few dozen tokens. A failure becomes a check that is not ok; nothing is raised.
    """
    models: tuple[str, ...] = ()
    try:
        models = llm.models()
        listing = _find_model(llm.name, models)
    except ModelError as error:
        listing = Check("models", False, str(error))
    checks = [listing]
    checks.append(_try("chat", lambda: _chat(llm)))
    if checks[-1].ok:
        checks.append(_try("JSON", lambda: _json(llm)))
    if embedder is not None:
        checks.append(_try("embeddings", lambda: f"{embedder.name} gives {embedder.dimension} dimensions."))
    return Probe(tuple(checks), models)


def _try(name: str, ask: Callable[[], str]) -> Check:
    """Return the sentence that a call ends in as a check, or its failure."""
    try:
        return Check(name, True, ask())
    except ModelError as error:
        return Check(name, False, str(error))


def _find_model(name: str, models: Sequence[str]) -> Check:
    if not models:
        return Check("models", True, "The endpoint lists no models, so the name was not checked.")
    if name in models:
        return Check("models", True, f"{name} is one of {len(models)} that the endpoint lists.")
    return Check("models", False, f"{name or '-'} is not among the endpoint's models: "
                 f"{', '.join(models[:LISTED])}; choose one of them.")


def _chat(llm: Endpoint) -> str:
    reply = llm.complete((Message("user", "Reply with the word: ready"),), max_tokens=200)
    if reply.estimated:
        return f"{llm.name} answers; it does not count tokens, so they are estimated."
    return f"{llm.name} answers, and counts its tokens."


def _json(llm: Endpoint) -> str:
    try:
        llm.complete(_ASK, schema=_SCHEMA, max_tokens=200)
    except MalformedReplyError as error:
        raise ModelError(f"{llm.name} did not write JSON: planning, judging and extraction will mostly "
                         "fall back to the local rules.") from error
    return _ABILITIES[llm.json_mode].format(mode=llm.json_mode)
