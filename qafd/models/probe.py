"""A probe of a model endpoint, by the smallest calls that show its abilities."""

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
    models, listing = _list_models(llm)
    checks = [listing]
    if listing.ok or models:
        checks += [_window(llm)]
    checks.append(_chat(llm))
    if checks[-1].ok:
        checks.append(_json(llm))
    if embedder is not None:
        checks.append(_vectors(embedder))
    return Probe(tuple(checks), models)


def _list_models(llm: "Endpoint") -> tuple[tuple[str, ...], Check]:
    try:
        models = llm.models()
    except ModelError as error:
        return (), _report("models", error)
    if not models:
        return models, Check("models", True,
                             "The endpoint lists no models; the name is taken as it is.")
    if llm.name in models:
        return models, Check("models", True,
                             f"{llm.name} is one of {len(models)} that the endpoint lists.")
    return models, Check("models", False,
                         f"{llm.name or '-'} is not among the endpoint's models: "
                         f"{', '.join(models[:LISTED])}; choose one of them.")


def _window(llm: "Endpoint") -> Check:
    try:
        size = llm.context_length()
    except ModelError as error:
        return _report("context length", error)
    if not size:
        return Check("context length", True,
                     "The endpoint does not list the model's context length.")
    return Check("context length", True,
                 f"{size:,} tokens.")


def _chat(llm: "Endpoint") -> Check:
    try:
        reply = llm.complete((Message("user", "Reply with the word: ready"),), max_tokens=200)
    except ModelError as error:
        return _report("chat", error)
    if reply.estimated:
        return Check("chat", True,
                     f"{llm.name} answers; it does not count tokens, so they are estimated.")
    return Check("chat", True,
                 f"{llm.name} answers, and counts its tokens.")


def _json(llm: "Endpoint") -> Check:
    try:
        llm.complete(_ASK, schema=_SCHEMA, max_tokens=200)
    except MalformedReplyError:
        return Check("JSON", False,
                     f"{llm.name} did not write JSON: planning, judging and "
                     "extraction will mostly fall back to the local rules.")
    except ModelError as error:
        return _report("JSON", error)
    return Check("JSON", True,
                 _JSON[llm.json_mode].format(mode=llm.json_mode))


def _vectors(embedder: "EndpointEmbedder") -> Check:
    try:
        return Check("embeddings", True,
                     f"{embedder.name} gives {embedder.dimension} dimensions.")
    except ModelError as error:
        return _report("embeddings", error)


def _report(name: str, error: ModelError) -> Check:
    return Check(name, False, str(error))
