"""Options that several commands share."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from qafd.errors import ParameterError

FILE = click.Path(path_type=Path)
Function = TypeVar("Function", bound=Callable[..., Any])


def location(text: str) -> str | Path:
    """Read the name of a workspace: the path of a file, or a URL."""
    return text if "://" in text else Path(text)


def with_options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Combine options into one decorator, in the order of the help."""
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function
    return decorate


def _engine(_: click.Context, __: click.Parameter, text: str) -> int | str:
    from qafd.ingest.engine import parse_engine  # with all that reads, which --help does not need

    try:
        return parse_engine(text)
    except ParameterError as error:
        raise click.BadParameter(str(error)) from None


def _hosts(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", name):
            raise click.BadParameter(f"{name} is not a host name; give one such as notes.example")
    return names


name_option = click.option("--name", metavar="HOST", multiple=True, callback=_hosts,
    help="A host name under which visitors reach the app, such as notes.example; "
    "repeat for more.")
engine_option = click.option(
    "--engine", default="2", envvar="QAFD_ENGINE", show_envvar=True, callback=_engine,
    metavar="ENGINE", help="How passages are read: serial, the number of processes, or the address of a "
    "Dask cluster (dask://host:8786).")
db_option = click.option("--db", "--workspace", "db", type=location, envvar="QAFD_DB", show_envvar=True,
                         help="The workspace: a file, or postgresql://host/database/name.")
out_option = click.option("--out", type=FILE, help="The file to write instead of stdout.")
SOME = click.IntRange(min=1)
limit_option = click.option("--limit", type=SOME, metavar="N", help="Only the first N questions.")
writing_options = with_options(
    click.option("--length", type=click.Choice(["short", "paragraphs", "list", "phrase"]), default="short",
                 help="Length of a model's answer."),
    click.option("--tokens", type=SOME, default=1500, help="Tokens of context that a model gets."))
reading_options = with_options(
    click.option("--plan", type=click.Choice(["rules", "model"]),
                 help="Read questions by rules alone, or let --model name their keywords and ask further "
                      "ones; by default the model, if there is one."),
    click.option("--steps", type=click.IntRange(1, 3), default=2, show_default=True,
                 help="Retrievals for a question: after each but the last the model reads five passages "
                      "and may ask up to two further questions."))
question_argument = click.argument("question")  # '-' reads it from stdin
model_options = with_options(
    click.option("--model", envvar="QAFD_MODEL", show_envvar=True, help="Name of a language model."),
    click.option("--base-url", envvar="OPENAI_BASE_URL", show_envvar=True,
                 help="OpenAI-compatible address of the model; without it, OpenAI."))
