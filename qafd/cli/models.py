"""Options that choose models, how these are called, and what their calls may cost."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from qafd.cli.command import keys_of_environment, settings, spending
from qafd.cli.options import Function, model_options, with_options
from qafd.errors import ParameterError
from qafd.models import CallSettings
from qafd.resources import home

if TYPE_CHECKING:
    from qafd.ingest.reader import ModelChoice
    from qafd.knowledge import KnowledgeGraph
    from qafd.models.cost import Cap, Metered, Price
    from qafd.models.endpoint import Endpoint

LOCAL = "local"  # as --model or --embed-model: what is bundled


spending_options = with_options(
    click.option("--max-tokens", "tokens_most", type=int, metavar="N",
                 help="Stop before this many tokens are exceeded; overrides the settings."),
    click.option("--max-cost", "cost_most", type=float, metavar="DOLLARS",
                 help="Stop before this cost in dollars is exceeded; overrides the settings."),
    click.option("--price", type=float, nargs=2, metavar="IN OUT",
                 help="Price of the model in dollars per million tokens; it is remembered."))
reader_options = with_options(
    click.option("--model", help=f"Read documents with this language model; '{LOCAL}' reads on this "
                                 "machine. Options of the model that are not given stay as they were for "
                                 "this workspace."),
    click.option("--base-url", help="OpenAI-compatible address of the model; by default "
                                    "$OPENAI_BASE_URL or OpenAI."),
    click.option("--entity-types", "types", metavar="A,B,...",
              help="Types of entities to extract."),
    click.option("--language", help="Language of descriptions and keywords."),
    click.option("--together", type=int, metavar="N",
              help="Passages in one call."),
    click.option("--reply-tokens", type=int, metavar="N",
              help="Limit of a reply."),
    click.option("--in-flight", type=int, metavar="N",
              help="Number of simultaneous calls."),
    click.option("--deadline", type=float, metavar="SECONDS",
              help="Deadline of one call."),
    click.option("--max-calls", "calls_most", type=int, metavar="N",
                 help="Stop before this many calls are exceeded; overrides the settings."),
    spending_options,
    click.option("--embed-model", "embedder", help=f"Embed with this model; '{LOCAL}' for the "
                 "bundled one; a workspace that has vectors needs --re-embed."),
    click.option("--languages/--english", "languages", default=None,
                 help="Embed on this machine: documents in some 100 languages, or in English, which is "
                      "faster. Another choice than before computes all vectors again."),
    click.option("--embed-url", "embedder_url",
              help="Address of the embedding model, if not --base-url."),
    click.option("--embed-price", type=float, metavar="DOLLARS",
                 help="Price of the embedding model in dollars per million tokens; it is "
                      "remembered."))


def choose_reader(options: Mapping[str, Any], before: "ModelChoice") -> "ModelChoice":
    """Return the models of a workspace with those `reader_options` that were given."""
    from qafd.models.cost import Price

    given = _read_choice(options, before)
    if given.get("model", before.model) != before.model:
        given["price"] = None  # it was the other's
    if given.get("embedder", before.embedder) != before.embedder:
        given["embed_price"] = None
    choice = replace(before, **given)
    if options["price"] is not None:
        remember_price(choice.model, Price(*options["price"]))
    if options["embed_price"] is not None:
        remember_price(choice.embedder, Price(options["embed_price"], 0.0))
    choice = spending().set_prices(choice)
    return replace(choice, cap=change_cap(options, choice.cap))


def _read_choice(options: Mapping[str, Any], before: "ModelChoice") -> dict[str, Any]:
    """Return the fields of a choice that options name: models with their addresses, and types."""
    from qafd.models.address import OPENAI

    spelled = ("types", "price", "embed_price", "calls_most", "tokens_most", "cost_most")
    given: dict[str, Any] = {name: value for name, value in options.items()
                             if value is not None and name not in spelled}
    if given.get("model") == LOCAL:
        given["model"] = ""
    elif "model" in given:
        given.setdefault("base_url", os.environ.get("OPENAI_BASE_URL") or OPENAI)
    if "languages" in given or given.get("embedder") == LOCAL:
        given["embedder"] = ""
    elif "embedder" in given:
        given.setdefault("embedder_url", given.get("base_url", before.base_url))
    if options["types"] is not None:
        types = [name.strip() for name in options["types"].split(",")]
        given["types"] = tuple(name for name in types if name)
    return given


def remember_price(model: str, price: "Price") -> None:
    """Keep what a model costs in the settings, for every later call of it."""
    from qafd.preferences import amend

    if model:
        before = settings()
        prices = {**dict(before.prices), model: price}
        amend(home() / "settings.json", before, replace(before, prices=tuple(prices.items())))


def change_cap(options: Mapping[str, object], usual: "Cap") -> "Cap":
    """Return the usual cap, where no option names another."""
    given = {name: options[f"{name}_most"] for name in ("calls", "tokens", "cost")
             if options.get(f"{name}_most") is not None}
    return replace(usual, **given)  # type: ignore[arg-type]


call_options = with_options(
    click.option("--reply-tokens", type=int, metavar="N",
                 help="Limit of a reply; overrides the settings."),
    click.option("--temperature", type=float, metavar="T",
              help="Temperature of the model, 0 to 2."),
    click.option("--deadline", type=float, metavar="SECONDS",
              help="Deadline of one call."))


@dataclass(frozen=True)
class ModelRequest:
    """The model that a command may call, how, and under which cap, as far as its options say.

    `plan` is who reads questions, "rules" or "model", the model if there is one by default; `steps` are
    the retrievals for a question.
    """

    model: str | None
    base_url: str | None
    calls: Mapping[str, Any]
    most: Mapping[str, Any]
    plan: str | None = None
    steps: int = 1

    def client(self, knowledge: "KnowledgeGraph", purpose: str, question: str = "") -> "Metered":
        """Return the model, called as the workspace says, and capped.

        Its calls are noted in the workspace and never paid for twice.
        """
        from qafd.models.cost import Meter, Metered, Price
        from qafd.storage.rows import now

        endpoint = endpoint_named(self.model, self.base_url)
        given = {name: value for name, value in self.calls.items() if value is not None}
        calls = replace(spending().calls, **given)
        if self.most["price"] is not None:
            remember_price(endpoint.name, Price(*self.most["price"]))
        price = spending().price(endpoint.name, endpoint.base_url)
        cap = change_cap(self.most, spending().cap_where(price is not None))
        return Metered(endpoint.with_settings(calls), knowledge.url, Meter(cap), price, endpoint.base_url,
                       purpose, f"{purpose} {now()}", question=question)

    def read_for(self, knowledge: "KnowledgeGraph") -> None:
        """Let the model read the questions to a workspace, unless there is none or rules read them."""
        if self.plan == "model" and not self.model:
            raise ParameterError("--plan model needs a model; name one with --model, or drop --plan")
        if self.model and self.plan != "rules":
            knowledge.reader, knowledge.steps = self.client(knowledge, "plan"), self.steps


def may_call_model(function: Function) -> Function:
    """Give a command the options of a model, and as `asked` the request that they make."""
    @wraps(function)
    def run(*positional: Any, model: str | None, base_url: str | None, **options: Any) -> Any:
        calls = {spec.name: options.pop(spec.name) for spec in fields(CallSettings)}
        most = {name: options.pop(name) for name in ("tokens_most", "cost_most", "price")}
        reading = {name: options.pop(name) for name in ("plan", "steps") if name in options}
        return function(*positional, asked=ModelRequest(model, base_url, calls, most, **reading), **options)

    return model_options(spending_options(call_options(run)))  # type: ignore[return-value]


def endpoint_named(model: str | None, base_url: str | None) -> "Endpoint":
    """Return the endpoint that the options name."""
    from qafd.models.address import OPENAI
    from qafd.models.endpoint import Endpoint  # which takes longer to import than a question

    if not model:
        raise ParameterError("no language model is named; add --model NAME or set QAFD_MODEL")
    return Endpoint(model, base_url or OPENAI, key_for(base_url))


def key_for(base_url: str | None) -> str | None:
    """$OPENAI_API_KEY, unless --base-url sends somewhere else than the environment."""
    from qafd.models.address import OPENAI

    return keys_of_environment().get(base_url or OPENAI)
