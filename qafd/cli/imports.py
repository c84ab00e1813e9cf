"""The command that takes in a graph made by another program: import."""

import argparse
import sys
from pathlib import Path

from qafd.cli.common import (
    DONE,
    FAILED,
    Commands,
    command,
    keys_of_environment,
    on_interrupt,
    print_json,
    settings,
)
from qafd.cli.meter import Meter
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line


def add(commands: Commands) -> None:
    """Add this group's commands."""
    added = command(
        commands, "import", _import,
        "add a graph that exists: GraphML, GEXF, node-link JSON, CSV, GraphRAG, LightRAG")
    added.add_argument("files", nargs="+", metavar="FILE",
                       help="files that make one graph, or the folder of GraphRAG or LightRAG")
    added.add_argument("--dry-run", action="store_true", help="only say what the files hold")


def _import(arguments: argparse.Namespace) -> int:
    from qafd.ingest import index
    from qafd.ingest.imports import read_graph
    from qafd.storage import open_workspace
    from qafd.storage.rows import clean_name

    if arguments.db is None and not arguments.dry_run:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    name, graph = read_graph(arguments.files)
    said = {"name": name, "format": graph.format, "nodes": len(graph.nodes),
            "edges": len(graph.edges), "texts": len(graph.texts), "notices": list(graph.notices)}
    if arguments.dry_run:
        _print(arguments, said, graph.summary)
        return DONE
    path = Path(arguments.db)

    stopped = on_interrupt("stopping; run 'qafd index' on this workspace to go on")
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with open_workspace(path) as store:
        settings().hold_for(store)
    with Meter() as meter:
        index(path, [(name, graph.to_json())], progress=meter.show, stopped=stopped,
              keys=keys_of_environment())
    with open_workspace(path) as store:
        file = next(f for f in store.files.all() if f.name == clean_name(name))
    if file.error:
        print(f"qafd: {one_line(name, 200)}: {file.error}", file=sys.stderr)
    # the first one is the summary, as it stands on the page
    said |= {"notices": list(file.notices[1:] or graph.notices), "passages": file.passages}
    _print(arguments, said, graph.summary)
    return FAILED if file.error or stopped() else DONE


def _print(arguments: argparse.Namespace, said: dict[str, object], summary: str) -> None:
    if arguments.json:
        print_json(said)
        return
    print(f"{one_line(str(said['name']), 200)}: {summary}")
    for notice in said["notices"] if isinstance(said["notices"], list) else []:
        print(f"qafd: {notice}", file=sys.stderr)
