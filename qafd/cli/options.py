"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

FILE = click.Path(path_type=Path)
Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in the order in which the help lists them."""
    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function
    return decorate


db_option = click.option("--db", type=FILE, envvar="QAFD_DB", show_envvar=True,
                         help="The workspace file.")
out_option = click.option("--out", type=FILE, help="The file to write instead of stdout.")
question_argument = click.argument("question")  # '-' reads it from stdin
model_options = with_options(
    click.option("--model", envvar="QAFD_MODEL", show_envvar=True, help="A language model."),
    click.option("--base-url", envvar="OPENAI_BASE_URL", show_envvar=True,
                 help="Its OpenAI-compatible address, if it is not OpenAI's."))
