"""Documents in, and the care of a workspace."""

import argparse
import sys
from itertools import chain, islice
from pathlib import Path

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    command,
    keys_of_environment,
    on_interrupt,
    open_graph,
    print_json,
    stdin,
)
from qafd.cli.meter import Meter
from qafd.cli.model import add_reader, choice_of, dry_run, print_spent
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    index = command(commands, "index", _index, "add files and folders, and build their graph")
    index.add_argument("files", nargs="*", help="files or folders; '-' reads text from stdin")
    index.add_argument("--rebuild", action="store_true",
                       help="make the graph anew from what was extracted")
    index.add_argument("--re-embed", action="store_true",
                       help="compute all vectors anew, with the model of this installation")
    index.add_argument("--name", default="stdin.txt", help="the name of a document from stdin")
    add_reader(index)

    command(commands, "status", _status, "count what the workspace holds")

    backup = command(commands, "backup", _backup, "copy the workspace safely while it is in use")
    backup.add_argument("to", type=Path)


def _index(arguments: argparse.Namespace) -> int:
    from qafd.curate.unread import nameless
    from qafd.ingest import index
    from qafd.ingest.folders import files_below
    from qafd.ingest.reader import ModelChoice, choose, chosen
    from qafd.storage import open_workspace
    from qafd.storage.rows import now

    if arguments.db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    path = Path(arguments.db)
    sources = iter([(arguments.name, stdin())] if arguments.files == ["-"]
                   else files_below(arguments.files, _say))
    first = list(islice(sources, 1))
    if arguments.files and not first:
        return NOTHING_FOUND
    sources = chain(first, sources)
    before = ModelChoice()
    if path.exists() and path.stat().st_size:
        with open_graph(arguments).store() as store:
            before = chosen(store)
    elif not arguments.files and not arguments.dry_run:
        raise ParameterError(f"there is no workspace at {path} yet; name files or folders to make "
                             "one of")
    choice = choice_of(arguments, before)
    if arguments.dry_run:
        return dry_run(path, sources, choice, arguments.json, arguments.re_embed)
    run = f"index {now()}"

    stopped = on_interrupt("stopping after the passages at work; run the command again to go on")
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with open_workspace(path) as store:
        if choice != before:
            choose(store, choice)
        if choice.model or choice.embedder:
            _say(choice.cap.sentence)
        if choice.model and not arguments.files:  # to go on after a cap or an outage
            store.files.retry(file.name for file in store.files.all() if file.deleted_at is None)
        if arguments.re_embed:
            store.vectors.forget()
        if arguments.rebuild or arguments.re_embed:
            store.graph.drop()
    try:
        with Meter(lambda: _ahead(path)) as meter:
            worked_on = set(index(path, sources, progress=meter.show, stopped=stopped,
                                  keys=keys_of_environment(), run=run, patient=True))
    finally:
        print_spent(path, run)
    with open_workspace(path) as store:
        failed = [f for f in store.files.all() if f.status == "failed" and f.name in worked_on]
        said = nameless(store)
    if said:
        print(f"qafd: {one_line(said, 800)}", file=sys.stderr)
    for file in failed:
        print(f"qafd: {one_line(file.name, 200)}: {file.error}", file=sys.stderr)
    _status(arguments)
    return FAILED if failed or stopped() else DONE


def _ahead(path: Path) -> float:
    """About how many passages are in files that wait to be parsed."""
    from qafd.ingest.jobs import unparsed
    from qafd.storage import open_workspace

    with open_workspace(path) as store:
        return unparsed(store)


def _say(sentence: str) -> None:
    print(f"qafd: {sentence}", file=sys.stderr)


def _status(arguments: argparse.Namespace) -> int:
    knowledge = open_graph(arguments)
    graph = knowledge.graph
    with knowledge.store() as store:
        files = [f for f in store.files.all() if f.deleted_at is None]
        counts = {
            "files": len(files), "failed": sum(f.status == "failed" for f in files),
            "documents": sum(f.documents for f in files),
            "passages": int((graph.kinds == "passage").sum()),
            "entities": int((graph.kinds == "entity").sum()), "edges": graph.edge_count,
            "revision": graph.revision, "digest": store.graph.digest()}
    if arguments.json:
        print_json(counts)
    else:
        for name, value in counts.items():
            print(f"{name:10} {value}")
    return DONE


def _backup(arguments: argparse.Namespace) -> int:
    knowledge = open_graph(arguments)
    with knowledge.store() as store:
        store.backup(arguments.to)
    if arguments.json:
        print_json({"backup": str(arguments.to)})
    else:
        print(arguments.to)
    return DONE
