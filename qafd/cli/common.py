"""What the commands share: exit codes, the workspace they open, options, JSON on stdout."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qafd.errors import ParameterError, QafdError

if TYPE_CHECKING:
    from qafd.graph import Graph
    from qafd.ingest.reader import Keys
    from qafd.knowledge import KnowledgeGraph
    from qafd.preferences import Preferences
    from qafd.records import QueryPlan
    from qafd.retrieve.base import Retriever

DONE, FAILED, USAGE, NOTHING_FOUND, CAPPED = 0, 1, 2, 3, 4
LARGEST = 100 * 2**20  # bytes of a stored query or bundle
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended

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
    """One option per parameter of any retrieval method; the help says whose it is."""
    from qafd.retrieve import METHODS

    owners: dict[str, list[str]] = {}
    for name, method in METHODS.items():
        for spec in fields(method):  # type: ignore[arg-type]
            owners.setdefault(spec.name, []).append(name)
    for knob, names in owners.items():
        specs = [METHODS[name].__dataclass_fields__[knob]  # type: ignore[attr-defined]
                 for name in names]
        options = dict.fromkeys(option for spec in specs for option in spec.metadata["options"])
        meaning = specs[0].metadata["help"].replace("%", "%%")
        parser.add_argument(
            "--" + knob.replace("_", "-"), dest="knob_" + knob, default=None,
            choices=tuple(options) or None,
            metavar=None if options else knob.upper(),
            help=f"{meaning} (--method {', '.join(names)})",
            type=type(specs[0].default))


def knobs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the retrieval method that were given.

    Raises
    ------
    ParameterError
        When the method has no such parameter.
    """
    from qafd.retrieve import METHODS

    given = {name.removeprefix("knob_"): value for name, value in vars(arguments).items()
             if name.startswith("knob_") and value is not None}
    own = [spec.name for spec in fields(METHODS[arguments.method])]  # type: ignore[arg-type]
    for name in given:
        if name not in own:
            raise ParameterError(f"the method {arguments.method!r} has no --"
                                 f"{name.replace('_', '-')}; it has --"
                                 f"{', --'.join(own).replace('_', '-')}")
    return given


def add_question(commands: Commands, name: str, run: Callable[[argparse.Namespace], int],
                 summary: str, *, as_json: bool = True,
                 needed: bool = True) -> argparse.ArgumentParser:
    """Add one command about a question, its preset and its parameters."""
    from qafd.retrieve.qafd import PRESETS

    added = command(commands, name, run, summary, as_json=as_json)
    added.set_defaults(method="qafd")
    added.add_argument("question", nargs=None if needed else "?",
                       help="the question; '-' reads it from stdin")
    added.add_argument("--preset", choices=tuple(PRESETS), default="best",
                       help="settings of the method qafd (default: %(default)s)")
    add_knobs(added)
    return added


def method_of(arguments: argparse.Namespace, graph: "Graph") -> "Retriever":
    """The method that the options name, with their parameters."""
    from qafd.retrieve import METHODS, methods
    from qafd.retrieve.qafd import PRESETS

    if arguments.method not in METHODS:
        raise ParameterError(f"there is no method {arguments.method!r}; "
                             f"choose {', '.join(METHODS)}")
    usual = (PRESETS[arguments.preset].method if arguments.method == "qafd"
             else methods.method_of(arguments.method))
    return methods.tuned(usual, knobs(arguments), graph)


def asked(arguments: argparse.Namespace, knowledge: "KnowledgeGraph"
          ) -> tuple["QueryPlan", "Retriever"]:
    """The question, read, and the method that the options name, started for it as in the app."""
    from qafd.retrieve.base import params_of
    from qafd.retrieve.qafd import FlowDiffusion

    graph = knowledge.graph
    method = method_of(arguments, graph)
    plan = knowledge.plan(text_of(arguments.question), graph,
                          subqueries=params_of(method).get("subqueries") == "on")
    if isinstance(method, FlowDiffusion) and len(graph) and "mass" not in knobs(arguments):
        method = method.started(knowledge.corpus(graph, method.needs), plan)
    return plan, method


def print_json(value: Any) -> None:
    """One JSON value and a line end on stdout."""
    json.dump(value, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def open_graph(arguments: argparse.Namespace) -> "KnowledgeGraph":
    """The workspace named by --db or $QAFD_DB."""
    from qafd.knowledge import KnowledgeGraph
    from qafd.models.cost import Meter

    if arguments.db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    path = Path(arguments.db)
    if not os.path.exists(path):  # Path.exists raises on names that are too long
        raise ParameterError(f"there is no workspace at {path}; 'qafd index FILE --db {path}' "
                             "makes one")
    if path.is_file() and not path.stat().st_size:
        raise ParameterError(f"{path} is empty and no workspace; 'qafd index FILE --db {path}' "
                             "makes one of it")
    knowledge = KnowledgeGraph.open(path, keys_of_environment())
    with knowledge.store() as store:
        if not store.log.choice:  # nothing here is paid
            return knowledge
    return KnowledgeGraph(path, keys=keys_of_environment(),
                          meter=Meter(settings().cap_where(priced=True)))


def check_output(out: Path, *others: Path | None) -> None:
    """Refuse to write over a workspace, another database or a file that the command reads.

    Raises
    ------
    ParameterError
        `out` is one of them, or lies where SQLite keeps its journal.
    """
    for name in (str(out), *(str(out).removesuffix(end) for end in ("-wal", "-shm", "-journal"))):
        if _database(Path(name)):
            raise ParameterError(f"{out} belongs to a workspace or another database and is not "
                                 "written over; name another file")
    for other in filter(None, others):
        if os.path.realpath(out) == os.path.realpath(other) or (
                os.path.exists(out) and os.path.exists(other) and os.path.samefile(out, other)):
            raise ParameterError(f"{out} is read by this command and is not written over; name "
                                 "another file")


def _database(path: Path) -> bool:
    try:
        if not path.is_file():  # opening a pipe would wait for its other end
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False  # whoever writes to it will say why not


def settings() -> "Preferences":
    """What the Settings page keeps; the commands take its caps and prices.

    They do not take its endpoint and model: what is sent where is said on the command line, in the
    environment, or in the workspace.
    """
    from qafd.preferences import load

    return load(home() / "settings.json")


def home() -> Path:
    """The folder of the app's workspaces and settings: $QAFD_HOME, else .qafd in the user's."""
    return Path(os.environ.get("QAFD_HOME") or Path.home() / ".qafd")


def keys_of_environment() -> "Keys":
    """$OPENAI_API_KEY, for the address of $OPENAI_BASE_URL, else of OpenAI."""
    from qafd.models.address import OPENAI

    key = os.environ.get("OPENAI_API_KEY")
    return {os.environ.get("OPENAI_BASE_URL") or OPENAI: key} if key else {}


def on_interrupt(said: str) -> Callable[[], bool]:
    """Whether Ctrl-C was pressed from now on, which says something instead of ending at once."""
    pressed = False

    def note(*_: object) -> None:
        nonlocal pressed
        pressed = True
        print(f"\nqafd: {said}", file=sys.stderr)

    signal.signal(signal.SIGINT, note)
    return lambda: pressed


def read_file(name: str) -> bytes:
    """What a command printed or wrote before: a file, or stdin where the name is '-'.

    Raises
    ------
    QafdError
        It cannot be read, or is larger than anything that qafd writes.
    """
    if name == "-":
        return stdin()
    try:
        with Path(name).open("rb") as file:
            stored = file.read(LARGEST + 1)  # a device may have no end
    except OSError as error:
        raise QafdError(f"{name or 'a file without a name'} cannot be read: {error.strerror}"
                        ) from error
    if len(stored) > LARGEST:
        raise QafdError(f"{name} has more than {LARGEST // 2**20} MB, which no stored query has; "
                        "'qafd query --json' prints one")
    return stored


def write_out(data: str | bytes, out: Path | None) -> None:
    """Write to a file, or to stdout.

    Raises
    ------
    ParameterError
        The file cannot be written.
    """
    encoded = data.encode("utf-8") if isinstance(data, str) else data
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(encoded)
        return
    try:
        out.write_bytes(encoded)
    except OSError as error:
        raise ParameterError(f"{out} cannot be written: {error.strerror}") from error


def text_of(argument: str) -> str:
    """An argument, or stdin where it is '-'."""
    return stdin().decode("utf-8", "replace") if argument == "-" else argument


def stdin() -> bytes:
    """All of the standard input.

    Raises
    ------
    ParameterError
        It is closed.
    """
    if sys.stdin is None:
        raise ParameterError("'-' reads the standard input, which is closed; name a file or pipe "
                             "the text in")
    return sys.stdin.buffer.read()
