"""The commands runs, replay and verify."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from qafd.cli import DONE
from qafd.cli.command import Outcome, note
from qafd.cli.progress import ProgressLine
from qafd.cli.streams import read_file
from qafd.errors import ParameterError, QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.plaintext import decode, one_line
from qafd.runs import (
    Run,
    annotate_run,
    delete_runs,
    load_run,
)
from qafd.runs import list_runs as list_saved
from qafd.runs.difference import RunDifference, difference, replay_run
from qafd.runs.file import read_run, run_json
from qafd.runs.imported import add_file
from qafd.runs.verify import verify as verify_query
from qafd.storage.rows import RunRow
from qafd.wording.runs import (
    say_difference,
    say_exact,
    say_imported,
    say_replay,
    say_settings,
    say_verification,
)

NODES, PASSAGES = 40, 10  # printed of a run


def list_runs(knowledge: KnowledgeGraph, ids: tuple[str, ...], add: str | None, name: str,
              text: str | None, **choices: bool) -> Outcome | int:
    _check_count(ids, text is not None, choices["deleting"])
    if add is not None:
        with ProgressLine() as meter:
            for sentence in say_imported(add_file(knowledge, read_file(add), name, meter.show), name):
                note(sentence)
    with knowledge.store() as store:
        if choices["undoing"]:
            note(f"{store.runs.undo()} restored")
        if choices["deleting"]:
            delete_runs(store, ids)
            note(f"{len(ids)} deleted; 'qafd runs --undo' restores them")
            return DONE
        if text is not None:
            annotate_run(store, ids[0], text)
        runs = [load_run(store, key) for key in ids]
        if not runs:
            rows = list_saved(store)
            return Outcome({"runs": rows}, map(_run_line, rows), found=bool(rows))
    if len(runs) == 1:
        return Outcome(run_json(runs[0]), _run_lines(runs[0]))
    return _compare(*runs)


def _check_count(ids: Sequence[str], noting: bool, deleting: bool) -> None:
    """Raise ParameterError if too many runs are named, or none where one is needed."""
    most = 1 if noting else 2
    if not deleting and len(ids) > most:
        raise ParameterError(f"{len(ids)} runs are named; name at most {most}")
    if not ids and (deleting or noting):
        raise ParameterError("no run is named; 'qafd runs' lists their ids")


def _run_line(row: RunRow) -> str:
    line = (f"{row.id}  {row.made_at[:16].replace('T', ' ')}  {row.method}  {row.nodes:,} nodes  "
            f"{row.tokens:,} tokens  {say_exact(row.exact)}  {one_line(row.question, 100)}")
    return f"{line}  ({one_line(row.note)})" if row.note else line


def _run_lines(run: Run) -> Iterator[str]:
    retrieval = run.retrieval
    yield one_line(retrieval.query, 1000)
    settings = ", ".join(f"{name} {value}" for name, value in say_settings(retrieval.params).items())
    yield (f"{run.made_at[:19].replace('T', ' ')} UTC, {one_line(retrieval.method, 40)}, "
           f"{len(run.retrieved):,} nodes, {run.tokens:,} tokens, {say_exact(run.exact)}; "
           f"{one_line(settings, 600)}")
    if run.note:
        yield f"note: {run.note}"
    if run.absence:
        yield f"\n{one_line(run.absence, 600)}"
    for quote in run.quotes:
        yield f"\n“{one_line(quote.text, 2000)}”"
        yield f"  {one_line(quote.title, 200)}, {one_line(quote.where, 200)}"
    names = [one_line(node.name, 100) for node in run.retrieved if node.kind != "passage"]
    yield f"\nnodes: {', '.join(names[:NODES])}"
    titles = [one_line(passage.title, 200) for passage in retrieval.passages[:PASSAGES]]
    yield f"passages: {', '.join(titles)}"


def _compare(first: Run, second: Run) -> Outcome:
    change = difference(first, second)
    sentences = say_difference(change)
    data = {"first": first.id, "second": second.id, "same": change.same, "sentences": sentences,
            **asdict(change)}
    return Outcome(data, [*(one_line(text, 2000) for text in sentences), *_difference_lines(change)])


def _difference_lines(change: RunDifference) -> Iterator[str]:
    for mark, nodes in (("+", change.gained), ("-", change.lost)):
        for node in nodes:
            yield (f"{mark} {one_line(node.name, 100)}  ({one_line(node.kind, 20)}, x "
                   f"{node.importance:.4g})")
    yield (f"{change.shared:,} nodes in both; tokens {change.tokens[0]:,} → "
           f"{change.tokens[1]:,}; passages +{len(change.passages_gained)} "
           f"-{len(change.passages_lost)}")


def replay(knowledge: KnowledgeGraph, run: str) -> Outcome:
    if run == "-" or os.path.exists(run):
        stored = read_run(read_file(run))
    else:
        with knowledge.store() as store:
            stored = load_run(store, run)
    result = replay_run(stored, knowledge)
    sentences = say_replay(result)
    data = {"equal": result.equal, "deviation": result.deviation, "sentences": sentences,
            "difference": result.difference}
    return Outcome(data, [one_line(sentence, 2000) for sentence in sentences],
                   failed=not result.equal)


def verify(file: str) -> Outcome:
    data = read_file(file)
    try:
        result = verify_query(json.loads(decode(data)[0]))
    except (ValueError, RecursionError) as error:
        raise QafdError(f"{file} is not a run; 'qafd query --json' prints one") from error
    sentences = say_verification(result)
    checked = {"ok": result.ok, "sentences": sentences, "findings": result.findings}
    return Outcome(checked, sentences, failed=not result.ok)
