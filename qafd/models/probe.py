"""A probe of a model endpoint, by the smallest calls that show its abilities."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.errors import MalformedReplyError, ModelError
from qafd.models import Message
from qafd.records import Check

if TYPE_CHECKING:
    from qafd.models.endpoint import Endpoint
    from qafd.models.endpoint_embedder import EndpointEmbedder

_SCHEMA = {"type": "object", "required": ["word"], "additionalProperties": False,
           "properties": {"word": {"type": "string"}}}
_ASK = (Message("system", 'Reply with the JSON object {"word": "yes"} and nothing else.'),
        Message("user", "Are you there?"))
_JSON = {"json_schema": "It follows a JSON schema ({mode}).",
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


def probe(llm: "Endpoint", embedder: "EndpointEmbedder | None" = None) -> Probe:
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
        return Check("models", True, "The endpoint lists no models; the name is taken as it is.")
    if name in models:
        return Check("models", True, f"{name} is one of {len(models)} that the endpoint lists.")
    return Check("models", False, f"{name or '-'} is not among the endpoint's models: "
                 f"{', '.join(models[:LISTED])}; choose one of them.")


def _chat(llm: "Endpoint") -> str:
    reply = llm.complete((Message("user", "Reply with the word: ready"),), max_tokens=200)
    if reply.estimated:
        return f"{llm.name} answers; it does not count tokens, so they are estimated."
    return f"{llm.name} answers, and counts its tokens."


def _json(llm: "Endpoint") -> str:
    try:
        llm.complete(_ASK, schema=_SCHEMA, max_tokens=200)
    except MalformedReplyError as error:
        raise ModelError(f"{llm.name} did not write JSON: planning, judging and extraction will mostly "
                         "fall back to the local rules.") from error
    return _JSON[llm.json_mode].format(mode=llm.json_mode)
