"""Options that several commands have."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from qafd.errors import ParameterError

FILE = click.Path(path_type=Path)
Function = TypeVar("Function", bound=Callable[..., Any])


def location(text: str) -> str | Path:
    """A workspace as people name it: the path of a file, or a URL."""
    return text if "://" in text else Path(text)


def with_options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in the order in which the help lists them."""
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function
    return decorate


def _engine(_: click.Context, __: click.Parameter, text: str) -> int | str:
    from qafd.ingest.cluster import parse_engine  # with all that reads, which --help does not need

    try:
        return parse_engine(text)
    except ParameterError as error:
        raise click.BadParameter(str(error)) from None


def _hosts(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", name):
            raise click.BadParameter(f"{name} is no name; give one as notes.example")
    return names


name_option = click.option("--name", metavar="HOST", multiple=True, callback=_hosts,
    help="A name under which visitors reach the app, as notes.example; may be "
    "repeated.")
engine_option = click.option(
    "--engine", default="2", envvar="QAFD_ENGINE", show_envvar=True, callback=_engine,
    metavar="ENGINE", help="Where passages are read: serial, in how many processes, or by the "
    "workers of a Dask cluster, as dask://host:8786.")
db_option = click.option("--db", "--workspace", "db", type=location, envvar="QAFD_DB", show_envvar=True,
                         help="The workspace: a file, or postgresql://host/database/name.")
out_option = click.option("--out", type=FILE, help="The file to write instead of stdout.")
SOME = click.IntRange(min=1)
limit_option = click.option("--limit", type=SOME, metavar="N", help="Only the first N questions.")
writing_options = with_options(
    click.option("--length", type=click.Choice(["short", "paragraphs", "list"]), default="short",
                 help="Of a model's answer."),
    click.option("--tokens", type=SOME, default=3000, help="How much a model is shown."))
question_argument = click.argument("question")  # '-' reads it from stdin
model_options = with_options(
    click.option("--model", envvar="QAFD_MODEL", show_envvar=True, help="A language model."),
    click.option("--base-url", envvar="OPENAI_BASE_URL", show_envvar=True,
                 help="Its OpenAI-compatible address, if it is not OpenAI's."))
