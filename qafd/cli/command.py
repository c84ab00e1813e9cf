"""Commands as functions: the workspace that they open, and the printing of their results.

What takes long to import is imported where it is used, so that help needs none of it.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qafd.cli import CAPPED, DONE, FAILED, INTERRUPTED, NOTHING_FOUND, qafd
from qafd.cli.options import Function, db_option
from qafd.errors import ModelError, ParameterError, SpendingCapError
from qafd.resources import home

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph
    from qafd.preferences import Preferences
    from qafd.storage import Location

FILE_NAMES = ("files", "file")  # may hold bytes that are not UTF-8


@dataclass(frozen=True)
class Outcome:
    """The result of a command, for programs and for people.

    Parameters
    ----------
    data : records, lists and dicts
        Printed with --json.
    lines : iterable of str
        Printed without --json.
    found : bool
        True if there was a result; else exit code 3.
    failed : bool
        True if something failed and was reported; exit code 1.
    notes : iterable of str
        Printed on stderr with the lines.
    failure : ModelError, optional
        The error of a model, printed last; exit code 1, or 4 at a cap.
    instead : str
        Printed in place of the model's part.
    interrupted : bool
        True if Ctrl-C ended the work early and that was reported; exit code 130.
    """

    data: Any
    lines: Iterable[str] = ()
    found: bool = True
    failed: bool = False
    notes: Iterable[str] = ()
    failure: ModelError | None = None
    instead: str = ""
    interrupted: bool = False

    @property
    def code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if isinstance(self.failure, SpendingCapError):
            return CAPPED
        if self.failed or self.failure:
            return FAILED
        return DONE if self.found else NOTHING_FOUND

    def print(self) -> None:
        """The data where --json was given, else the lines."""
        if wants_json():
            print_json(self.data)
        else:
            for remark in self.notes:
                note(remark)
            for line in self.lines:
                print(line)
        if self.failure:
            from qafd.reading.text.plaintext import one_line

            note(f"{one_line(str(self.failure), 600)} {self.instead}".rstrip())


def command(name: str | None = None, *, as_json: bool = True, group: click.Group = qafd
            ) -> Callable[[Callable[..., Outcome | int]], click.Command]:
    """Make a function a command that prints the outcome it returns, or ends with its exit code."""
    def decorate(function: Callable[..., Outcome | int]) -> click.Command:
        @wraps(function)
        def run(*positional: Any, **options: Any) -> int:
            for option, value in options.items():
                if option not in FILE_NAMES:
                    options[option] = _clean(value)
            outcome = function(*positional, **options)
            if isinstance(outcome, int):
                return outcome
            outcome.print()
            return outcome.code

        if as_json:
            run = click.option("--json", is_flag=True, expose_value=False, callback=_note_json,
                               help="Print one JSON value.")(run)
        return group.command(name)(run)
    return decorate


def work(place: str) -> Callable[[Callable[[], None]], Callable[..., Any]]:
    """Bind a command to MODULE.FUNCTION of this package, which is imported when the command runs."""
    module, function = place.split(".")

    def decorate(declared: Callable[[], None]) -> Callable[..., Any]:
        @wraps(declared)
        def run(*positional: Any, **options: Any) -> Any:
            return getattr(import_module(f"qafd.cli.{module}"), function)(*positional, **options)
        return run
    return decorate


def _note_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta["json"] = value


def wants_json() -> bool:
    """Return True if the running command was given --json."""
    return bool(click.get_current_context().meta.get("json"))


def _clean(value: Any) -> Any:
    from qafd.reading.text.plaintext import storable

    if isinstance(value, str):
        return storable(value)
    if isinstance(value, tuple):
        return tuple(_clean(part) for part in value)
    return value


def print_json(value: Any) -> None:
    """Print one JSON value and a line end on stdout."""
    json.dump(_plain(value), sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    """Turn records into objects and infinity into null, as JSON has neither."""
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value == float("inf") else value


def align(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the rows of a table as lines: the first column at the left, the others at the right."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([f"{first:{widths[0]}}", *cells])


def note(message: str) -> None:
    """Print one line on stderr."""
    from qafd.reading.text.plaintext import one_line

    print(f"qafd: {one_line(message, 4000)}", file=sys.stderr)


def with_workspace(function: Function) -> Function:
    """Give a command --db, and as its first argument the workspace that this names."""
    @wraps(function)
    def run(db: "Location | None", *positional: Any, **options: Any) -> Any:
        return function(open_graph(db), *positional, **options)

    return db_option(run)  # type: ignore[return-value]


def with_store(function: Function) -> Function:
    """Give a command --db, and as its first argument the open store that this names."""
    @wraps(function)
    def run(db: "Location | None", *positional: Any, **options: Any) -> Any:
        from qafd.storage import open_workspace

        with open_workspace(find_workspace(db)) as store:
            return function(store, *positional, **options)

    return db_option(run)  # type: ignore[return-value]


def require_location(db: "Location | None") -> "Location":
    """Return the named workspace; raise ParameterError if none is named."""
    if db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    return db


def make_folder(db: "Location") -> None:
    """Make the folder of a workspace file."""
    if not isinstance(db, str):
        Path(db).absolute().parent.mkdir(parents=True, exist_ok=True)


def find_workspace(db: "Location | None") -> "Location":
    """Return the place that --db or $QAFD_DB names; raise ParameterError if it has no workspace."""
    from qafd.storage import place_of, size_of

    path = require_location(db)
    size = size_of(path)
    if not size:
        written = place_of(path).written
        found = f"{written} is empty, not a workspace" if size == 0 else f"there is no workspace at {written}"
        raise ParameterError(f"{found}; 'qafd index FILE --db {written}' makes one")
    return path


def open_graph(db: "Location | None") -> "KnowledgeGraph":
    """Open the workspace named by --db or $QAFD_DB."""
    from qafd.knowledge import KnowledgeGraph
    from qafd.models.cost import Meter

    path = find_workspace(db)
    knowledge = KnowledgeGraph.open(path, keys_of_environment())
    with knowledge.store() as store:
        if not store.log.choice:  # nothing here is paid
            return knowledge
    return KnowledgeGraph(path, keys=keys_of_environment(),
                          meter=Meter(spending().cap_where(priced=True)))


def settings() -> "Preferences":
    """Load the caps and prices of the Settings page.

    Its endpoint and model are ignored: commands take them from their options, the environment, or
    the workspace.
    """
    from qafd.preferences import load

    return load(home() / "settings.json")


def spending() -> "Preferences":
    """Return the settings, with the allowance of a day that all calls of this command share."""
    chosen = settings()
    chosen.share_day(home())
    return chosen


def keys_of_environment() -> dict[str, str]:
    """Return $OPENAI_API_KEY by its address: $OPENAI_BASE_URL, else that of OpenAI."""
    from qafd.models.address import OPENAI

    key = os.environ.get("OPENAI_API_KEY")
    return {os.environ.get("OPENAI_BASE_URL") or OPENAI: key} if key else {}


def on_interrupt(message: str) -> Callable[[], bool]:
    """Print a message at the first Ctrl-C instead of ending; a second one ends at once.

    The returned function is True once Ctrl-C was pressed.
    """
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print(file=sys.stderr)
        note(message)

    signal.signal(signal.SIGINT, press)
    return lambda: pressed
