"""The history: runs that were kept, what differs between two, and whether one comes out again."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    check_output,
    command,
    open_graph,
    print_json,
    read_file,
    write_out,
)
from qafd.errors import ParameterError, ParseError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.runs import KeptRun, Run
    from qafd.runs.difference import RunDifference
    from qafd.storage import Workspace


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    runs = command(commands, "runs", _runs, "list kept runs, show one, or compare two")
    runs.add_argument("id", nargs="*", help="none lists all, one is shown, two are compared; the "
                      "beginning of an id is enough")
    runs.add_argument("--add", metavar="BUNDLE", help="put the run of a bundle into the history, "
                      "when it holds")
    runs.add_argument("--note", help="give the run this note")
    runs.add_argument("--delete", action="store_true", help="take the runs out of the history")
    runs.add_argument("--undo", action="store_true", help="bring back what was deleted last")
    runs.add_argument("--format", choices=("report", "bundle"), help="write the run as a file")
    runs.add_argument("--out", type=Path, help="the file to write (default: stdout)")
    replay = command(commands, "replay", _replay,
                     "ask the question of a run again and say whether the result is equal")
    replay.add_argument("what", metavar="RUN", help="a bundle, or the id of a kept run")


def _runs(arguments: argparse.Namespace) -> int:
    from qafd import runs

    ids = arguments.id
    most = None if arguments.delete else 1 if arguments.note is not None or arguments.format else 2
    if most is not None and len(ids) > most:
        raise ParameterError(f"{len(ids)} runs are named; at most {most} can be here")
    if not ids and (arguments.delete or arguments.note is not None or arguments.format):
        raise ParameterError("no run is named; 'qafd runs' lists their ids")
    if arguments.out is not None:
        check_output(arguments.out, arguments.db)
    with open_graph(arguments).store() as store:
        if arguments.add is not None:
            print(f"qafd: kept as {_add(store, arguments.add)}", file=sys.stderr)
        if arguments.undo:
            print(f"qafd: {runs.undo(store)} brought back", file=sys.stderr)
        if arguments.delete:
            runs.delete(store, ids)
            print(f"qafd: {len(ids)} deleted; 'qafd runs --undo' brings back", file=sys.stderr)
            return DONE
        if arguments.note is not None:
            runs.annotate(store, ids[0], arguments.note)
        return _shown(arguments, store, ids)


def _add(store: "Workspace", file: str) -> str:
    """Keep the run of a bundle; its id."""
    from qafd.runs import keep
    from qafd.runs.bundle import check_size, examined

    found = examined(read_file(file))
    if not found.sound:
        raise ParseError(f"{file} does not hold and is not kept: {found.checked.sentences[0]}")
    check_size(found.run.retrieval)
    return keep(store, found.run)


def _shown(arguments: argparse.Namespace, store: "Workspace", ids: Sequence[str]) -> int:
    from qafd import runs
    from qafd.runs.bundle import bundled
    from qafd.runs.difference import difference
    from qafd.runs.report import report

    found = [runs.load(store, key) for key in ids]
    if not found:
        return _list(arguments, runs.kept(store))
    if arguments.format:
        write_out(bundled(found[0]) if arguments.format == "bundle" else report(found[0]),
                  arguments.out)
    elif len(found) > 1:
        _compare(arguments, difference(*found), found)
    elif arguments.json:
        print_json({"id": found[0].id, "made_at": found[0].made_at, "note": found[0].note,
                    "graph": found[0].graph, "tokens": found[0].tokens,
                    "retrieval": found[0].retrieval.to_dict()})
    else:
        print(report(found[0]), end="")
    return DONE


def _list(arguments: argparse.Namespace, rows: "Sequence[KeptRun]") -> int:
    from qafd.runs import EXACT

    if arguments.json:
        print_json({"runs": [asdict(row) for row in rows]})
    else:
        for row in rows:
            print(f"{row.id}  {row.made_at[:16].replace('T', ' ')}  {row.method}  "
                  f"{row.nodes:,} nodes  {row.tokens:,} tokens  {EXACT[row.exact]}  "
                  f"{one_line(row.question, 100)}" + f"  ({one_line(row.note)})" * bool(row.note))
    return DONE if rows else NOTHING_FOUND


def _compare(arguments: argparse.Namespace, found: "RunDifference", both: "Sequence[Run]") -> None:
    if arguments.json:
        print_json({"first": both[0].id, "second": both[1].id, "same": found.same,
                    "sentence": found.sentence(), **asdict(found)})
        return
    print(found.sentence(*(run.id for run in both)))
    for mark, changes in (("+", found.gained), ("-", found.lost)):
        for change in changes:
            x = change.after if change.before is None else change.before
            print(f"{mark} {one_line(change.name, 100)}  ({one_line(change.kind, 20)}, x {x:.4g})")
    print(f"{len(found.shared):,} nodes in both; tokens {found.tokens[0]:,} → {found.tokens[1]:,};"
          f" passages +{len(found.passages_gained)} -{len(found.passages_lost)}")


def _replay(arguments: argparse.Namespace) -> int:
    from qafd.runs import load
    from qafd.runs.bundle import opened
    from qafd.runs.replay import replayed

    knowledge = open_graph(arguments)
    if arguments.what == "-" or os.path.exists(arguments.what):
        run = opened(read_file(arguments.what))
    else:
        with knowledge.store() as store:
            run = load(store, arguments.what)
    result = replayed(run, knowledge)
    if arguments.json:
        print_json({"equal": result.equal, "deviation": result.deviation,
                    "sentences": result.sentences, "difference": asdict(result.difference)})
    else:
        print(*(one_line(sentence, 2000) for sentence in result.sentences), sep="\n")
    return DONE if result.equal else FAILED
