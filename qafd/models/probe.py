"""What a model endpoint can do, found out with the smallest calls that tell."""

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
_JSON = {"json_schema": "it keeps to a JSON schema", "json_object": "it writes JSON objects",
         "plain": "it has no JSON mode, so replies are searched for JSON"}


@dataclass(frozen=True)
class Probe:
    """What was found; `models` are the names that the endpoint lists."""

    checks: tuple[Check, ...]
    models: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for works."""
        return all(check.ok for check in self.checks)


def probe(llm: "Endpoint", embedder: "EndpointEmbedder | None" = None) -> Probe:
    """Ask an endpoint for its models, two words, JSON and, with `embedder`, one vector.

    Costs a few dozen tokens. What fails is a check that is not ok; nothing is raised.
    """
    models, listed = _listed(llm)
    checks = [listed]
    if listed.ok or models:
        checks += [_window(llm)]
    checks.append(_chat(llm))
    if checks[-1].ok:
        checks.append(_json(llm))
    if embedder is not None:
        checks.append(_vectors(embedder))
    return Probe(tuple(checks), models)


def _listed(llm: "Endpoint") -> tuple[tuple[str, ...], Check]:
    try:
        models = llm.models()
    except ModelError as error:
        return (), Check("models", False, str(error))
    there = llm.name in models
    listed = ", ".join(models[:8]) + (f" and {len(models) - 8} more" if len(models) > 8 else "")
    return models, Check("models", there or not models, (
        f"{llm.name} is one of {len(models)} that the endpoint lists." if there else
        f"{llm.name or 'No model'} is not among the endpoint's models: {listed}; choose one of "
        "them." if models else "The endpoint lists no models; the name is taken as it is."))


def _window(llm: "Endpoint") -> Check:
    try:
        size = llm.context_length()
    except ModelError as error:
        return Check("context length", False, str(error))
    return Check("context length", True, f"{size:,} tokens." if size else
                 "The endpoint does not say how much the model can read at once.")


def _chat(llm: "Endpoint") -> Check:
    try:
        reply = llm.complete((Message("user", "Reply with the word: ready"),), max_tokens=200)
    except ModelError as error:
        return Check("chat", False, str(error))
    counted = ("it does not count tokens, so they are estimated" if reply.estimated else
               "it counts its tokens")
    return Check("chat", True, f"{llm.name} answers, and {counted}.")


def _json(llm: "Endpoint") -> Check:
    try:
        llm.complete(_ASK, schema=_SCHEMA, max_tokens=200)
    except MalformedReplyError:
        return Check("JSON", False, f"{llm.name} was asked for JSON and wrote none: planning, "
                     "judging and extraction will mostly fall back to the local rules.")
    except ModelError as error:
        return Check("JSON", False, str(error))
    return Check("JSON", True, f"Asked as {llm.json_mode}, {_JSON[llm.json_mode]}.")


def _vectors(embedder: "EndpointEmbedder") -> Check:
    try:
        return Check("embeddings", True, f"{embedder.name} gives {embedder.dimension} dimensions.")
    except ModelError as error:
        return Check("embeddings", False, str(error))
