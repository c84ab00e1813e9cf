"""Runs that were kept or sent: listed, compared, verified, asked again."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from qafd.cli import DONE
from qafd.cli.command import Outcome, command, note, with_workspace
from qafd.cli.options import out_option
from qafd.cli.streams import check_output, read_file, write_out
from qafd.errors import ParameterError, ParseError, QafdError
from qafd.flow.verify import verify as verify_query
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.plaintext import decode, one_line
from qafd.runs import KeptRun, Run, annotate, delete, keep, kept, load
from qafd.runs.bundle import MAGIC, check, check_size, examined, opened
from qafd.runs.difference import RunDifference, difference
from qafd.runs.formats import RUN_FORMATS
from qafd.runs.replay import replayed
from qafd.runs.report import report
from qafd.storage import Workspace
from qafd.wording.findings import say_finding, say_verification
from qafd.wording.runs import say_difference, say_exact, say_replay


@command("runs")
@with_workspace
@click.argument("ids", nargs=-1)
@click.option("--add", metavar="BUNDLE",
              help="Put the run of a bundle into the history, when it holds.")
@click.option("--note", "text", help="Give the run this note.")
@click.option("--delete", "deleting", is_flag=True, help="Take the runs out of the history.")
@click.option("--undo", "undoing", is_flag=True, help="Bring back what was deleted last.")
@click.option("--format", "form", type=click.Choice(list(RUN_FORMATS)),
              help="Write the run as a file.")
@out_option
def list_runs(knowledge: KnowledgeGraph, ids: tuple[str, ...], add: str | None, text: str | None,
              form: str | None, out: Path | None, **choices: bool) -> Outcome | int:
    """List kept runs, show one, or compare two.

    Of IDS none lists all, one is shown, two are compared; the beginning of an id is enough.
    """
    _check_count(ids, alone=text is not None or form is not None, deleting=choices["deleting"])
    if out is not None:
        check_output(out, Path(knowledge.place.written))
    with knowledge.store() as store:
        if add is not None:
            note(f"kept as {_add(store, add)}")
        if choices["undoing"]:
            note(f"{store.runs.undo()} brought back")
        if choices["deleting"]:
            delete(store, ids)
            note(f"{len(ids)} deleted; 'qafd runs --undo' brings back")
            return DONE
        if text is not None:
            annotate(store, ids[0], text)
        runs = [load(store, key) for key in ids]
        if not runs:
            rows = kept(store)
            return Outcome({"runs": rows}, map(_run_line, rows), found=bool(rows))
    if form:
        write_out(RUN_FORMATS[form].write(runs[0]), out)
        return DONE
    return _show(runs[0]) if len(runs) == 1 else _compare(*runs)


def _check_count(ids: Sequence[str], alone: bool, deleting: bool) -> None:
    """Refuse more runs than are looked at together, and none where one is needed."""
    most = 1 if alone else 2
    if not deleting and len(ids) > most:
        raise ParameterError(f"{len(ids)} runs are named; at most {most} can be here")
    if not ids and (deleting or alone):
        raise ParameterError("no run is named; 'qafd runs' lists their ids")


def _add(store: Workspace, file: str) -> str:
    """Keep the run of a bundle; its id."""
    found = examined(read_file(file))
    if not found.keepable:
        raise ParseError(f"{file} does not hold and is not kept: "
                         f"{say_finding(found.checked.findings[0])}")
    check_size(found.run.retrieval)
    return keep(store, found.run)


def _run_line(row: KeptRun) -> str:
    line = (f"{row.id}  {row.made_at[:16].replace('T', ' ')}  {row.method}  {row.nodes:,} nodes  "
            f"{row.tokens:,} tokens  {say_exact(row.exact)}  {one_line(row.question, 100)}")
    return f"{line}  ({one_line(row.note)})" if row.note else line


def _show(run: Run) -> Outcome:
    return Outcome({"id": run.id, "made_at": run.made_at, "note": run.note, "graph": run.graph,
                    "tokens": run.tokens, "retrieval": run.retrieval.to_dict()},
                   [report(run).removesuffix("\n")])


def _compare(first: Run, second: Run) -> Outcome:
    found = difference(first, second)
    sentence = say_difference(found, first.id, second.id)
    data = {"first": first.id, "second": second.id, "same": found.same, "sentence": sentence,
            **asdict(found)}
    return Outcome(data, [sentence, *_difference_lines(found)])


def _difference_lines(found: RunDifference) -> Iterator[str]:
    for mark, changes in (("+", found.gained), ("-", found.lost)):
        for change in changes:
            x = change.after if change.before is None else change.before
            yield f"{mark} {one_line(change.name, 100)}  ({one_line(change.kind, 20)}, x {x:.4g})"
    yield (f"{len(found.shared):,} nodes in both; tokens {found.tokens[0]:,} → "
           f"{found.tokens[1]:,}; passages +{len(found.passages_gained)} "
           f"-{len(found.passages_lost)}")


@command()
@with_workspace
@click.argument("what", metavar="RUN")
def replay(knowledge: KnowledgeGraph, what: str) -> Outcome:
    """Ask the question of a run again and say whether the result is equal.

    RUN is a bundle, or the id of a kept run.
    """
    if what == "-" or os.path.exists(what):
        run = opened(read_file(what))
    else:
        with knowledge.store() as store:
            run = load(store, what)
    result = replayed(run, knowledge)
    sentences = say_replay(result)
    data = {"equal": result.equal, "deviation": result.deviation, "sentences": sentences,
            "difference": result.difference}
    return Outcome(data, [one_line(sentence, 2000) for sentence in sentences],
                   failed=not result.equal)


@command()
@click.argument("file")
def verify(file: str) -> Outcome:
    """Re-check the certificate of a stored query.

    FILE is what 'qafd query --json' printed, or a bundle; '-' reads stdin.
    """
    stored = read_file(file)
    try:
        if stored.startswith(MAGIC):
            result = check(stored)
        else:
            result = verify_query(json.loads(decode(stored)[0]))
    except (ValueError, RecursionError) as error:
        raise QafdError(f"{file} is no stored query; 'qafd query --json' prints one") from error
    sentences = say_verification(result)
    data = {"ok": result.ok, "sentences": sentences, "findings": result.findings}
    return Outcome(data, sentences, failed=not result.ok)
