"""What the commands share: exit codes, the workspace they open, options, JSON on stdout."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qafd.errors import ParameterError

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph

DONE, FAILED, USAGE, NOTHING_FOUND = 0, 1, 2, 3

Commands = Any  # argparse gives what add_subparsers returns no public name


def command(commands: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str,
            *, db: bool = True, as_json: bool = True) -> argparse.ArgumentParser:
    """Add one command with the options all commands share."""
    added: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    added.set_defaults(run=run)
    if db:
        added.add_argument("--db", type=Path, default=os.environ.get("QAFD_DB"),
                           help="the workspace file (default: $QAFD_DB)")
    if as_json:
        added.add_argument("--json", action="store_true", help="print one JSON object")
    return added


def add_knobs(parser: argparse.ArgumentParser) -> None:
    """One option per parameter of the retrieval method, with its range as help."""
    from qafd.retrieve.qafd import FlowDiffusion

    for spec in fields(FlowDiffusion):
        meta = spec.metadata
        kind: type = type(spec.default)
        parser.add_argument(
            "--" + spec.name.replace("_", "-"), dest="knob_" + spec.name, default=None,
            choices=meta["options"] or None, help=meta["help"].replace("%", "%%"), type=kind)


def knobs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the retrieval method that were given."""
    return {name.removeprefix("knob_"): value for name, value in vars(arguments).items()
            if name.startswith("knob_") and value is not None}


def print_json(value: Any) -> None:
    """One JSON value and a line end on stdout."""
    json.dump(value, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def open_workspace(arguments: argparse.Namespace) -> "KnowledgeGraph":
    """The workspace named by --db or $QAFD_DB."""
    from qafd.knowledge import KnowledgeGraph

    if arguments.db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    path = Path(arguments.db)
    if not path.exists():
        raise ParameterError(f"there is no workspace at {path}; 'qafd index FILE --db {path}' "
                             "makes one")
    return KnowledgeGraph.open(path)


def text_of(argument: str) -> str:
    """An argument, or stdin where it is '-'."""
    return sys.stdin.read() if argument == "-" else argument
