"""Reading with a language model: options of `qafd index`, and what the calls have cost."""

import argparse
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    NOTHING_FOUND,
    Commands,
    command,
    open_graph,
    print_json,
    settings,
)
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qafd.ingest.reader import ModelChoice
    from qafd.models.cost import Cap


LOCAL = "local"  # as --model or --embed-model: what is bundled


def add(commands: Commands) -> None:
    """Add the command of this file."""
    ledger = command(commands, "ledger", _ledger, "sum up the calls to language models")
    ledger.add_argument("--by", choices=("run", "document", "chunk", "question", "model",
                                         "purpose"), default="run")


def add_reader(index: argparse.ArgumentParser) -> None:
    """The options that choose what reads and embeds; the workspace remembers all but keys."""
    group = index.add_argument_group(
        "language model", "what is not given stays as it was for this workspace; caps are those "
        "of the settings, unless given for this run")
    group.add_argument("--model", help=f"extract with this model; '{LOCAL}' for the bundled way")
    group.add_argument("--base-url", help="its OpenAI-compatible address (default: "
                                          "$OPENAI_BASE_URL, else OpenAI's)")
    group.add_argument("--entity-types", metavar="A,B,...", help="what to look for")
    group.add_argument("--language", help="of descriptions and keywords")
    group.add_argument("--gleaning", type=int, metavar="N", help="ask N times for what was missed")
    group.add_argument("--in-flight", type=int, metavar="N", help="calls at a time")
    group.add_argument("--deadline", type=float, metavar="SECONDS", help="of one call")
    group.add_argument("--max-calls", type=int, metavar="N",
                       help="stop before more calls (default: from the settings)")
    group.add_argument("--max-tokens", type=int, metavar="N",
                       help="stop before more tokens (default: from the settings)")
    group.add_argument("--max-cost", type=float, metavar="DOLLARS",
                       help="stop before it costs more (default: from the settings)")
    group.add_argument("--price", type=float, nargs=2, metavar=("IN", "OUT"),
                       help="dollars per million tokens (default: from the settings)")
    group.add_argument("--embed-model", help=f"embed with this model; '{LOCAL}' for the bundled "
                                             "one; a workspace that has vectors needs --re-embed")
    group.add_argument("--embed-url", help="its address (default: --base-url)")
    group.add_argument("--embed-price", type=float, metavar="DOLLARS",
                       help="of a million tokens (default: from the settings)")
    group.add_argument("--dry-run", action="store_true",
                       help="print what the endpoints would cost, and do nothing")


def choice_of(arguments: argparse.Namespace, before: "ModelChoice") -> "ModelChoice":
    """The choice of a workspace with the options that were given."""
    from qafd.models.address import OPENAI
    from qafd.models.cost import Price

    names = {"model": "model", "base_url": "base_url", "language": "language",
             "gleaning": "gleanings", "in_flight": "in_flight", "deadline": "deadline",
             "embed_model": "embedder", "embed_url": "embedder_url"}
    given = {field: value for name, field in names.items()
             if (value := getattr(arguments, name)) is not None}
    if given.get("model") == LOCAL:
        given["model"] = ""
    elif "model" in given:
        given.setdefault("base_url", os.environ.get("OPENAI_BASE_URL") or OPENAI)
    if given.get("embedder") == LOCAL:
        given["embedder"] = ""
    elif "embedder" in given:
        given.setdefault("embedder_url", given.get("base_url", before.base_url))
    if arguments.entity_types is not None:
        given["types"] = tuple(t.strip() for t in arguments.entity_types.split(",") if t.strip())
    if given.get("model", before.model) != before.model:
        given["price"] = None  # it was the other's
    if given.get("embedder", before.embedder) != before.embedder:
        given["embed_price"] = None
    choice = replace(before, **given)
    prices = {}
    if arguments.price is not None:
        prices[choice.model] = Price(*arguments.price)
    if arguments.embed_price is not None:
        prices[choice.embedder] = Price(arguments.embed_price, 0.0)
    wanted = settings()
    choice = replace(wanted, prices=(*wanted.prices, *prices.items())).priced(choice)
    return replace(choice, cap=cap_of(arguments, choice.cap))


def cap_of(arguments: argparse.Namespace, usual: "Cap") -> "Cap":
    """The usual cap, where no option names another."""
    options = {"calls": "max_calls", "tokens": "max_tokens", "cost": "max_cost"}
    return replace(usual, **{name: most for name, option in options.items()
                             if (most := getattr(arguments, option, None)) is not None})


def dry_run(path: Path, sources: "Iterable[tuple[str, bytes]]", choice: "ModelChoice",
            as_json: bool, anew: bool = False) -> int:
    """Print the plan of a run; `anew` when all vectors are to be computed again."""
    from qafd.ingest import plan

    if not choice.model and not choice.embedder:
        raise ParameterError("no model behind an endpoint is chosen, so nothing is to be paid; "
                             "name one with --model or --embed-model")
    planned = plan(path, sources, choice, anew)
    if as_json:
        print_json(asdict(planned) | {"cap": asdict(choice.cap)})
        return DONE
    if choice.model:
        print(f"{one_line(choice.model, 100)}: {planned.sentence}")
    if planned.embedding is not None:
        print(f"{one_line(choice.embedder, 100)}: {planned.embedding.sentence}")
    print(choice.cap.sentence)
    return DONE


def print_spent(path: Path, run: str) -> None:
    """What a run has cost so far, on stderr."""
    from qafd.storage import open_workspace

    if not path.exists():  # it was deleted meanwhile
        return
    with open_workspace(path) as store:
        totals = store.ledger.totals("purpose", run)
    for total in totals:
        about = "~" if total.estimated else ""
        money = "cost unknown" if total.unpriced else f"${total.cost:,.4f}"
        print(f"qafd: {total.what}: {total.calls:,} calls, {about}{total.tokens_in:,} tokens in, "
              f"{about}{total.tokens_out:,} out, {money}", file=sys.stderr)


def _ledger(arguments: argparse.Namespace) -> int:
    with open_graph(arguments).store() as store:
        totals = store.ledger.totals(arguments.by)
    if arguments.json:
        print_json([asdict(total) for total in totals])
    else:
        if not totals:
            print("qafd: no language model was called for this workspace", file=sys.stderr)
        for total in totals:
            about = "~" if total.estimated else ""
            money = f"${total.cost:,.4f}" + (
                f" and {total.unpriced} calls without a price" if total.unpriced else "")
            print(f"{one_line(total.what, 200) or '-'}: {total.calls:,} calls, "
                  f"{about}{total.tokens_in:,} in, {about}{total.tokens_out:,} out, {money}")
    return DONE if totals else NOTHING_FOUND
