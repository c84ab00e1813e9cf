"""Commands that index and import, show the state of a workspace, and sum up costs."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from qafd.cli import DONE, NOTHING_FOUND
from qafd.cli.command import (
    Outcome,
    keys_of_environment,
    make_folder,
    note,
    on_interrupt,
    open_graph,
    require_location,
    spending,
)
from qafd.cli.contents import status, word_calls
from qafd.cli.models import ModelRequest, choose_reader
from qafd.cli.progress import ProgressLine
from qafd.cli.streams import stdin
from qafd.errors import BusyError, ModelError, ParameterError, QafdError
from qafd.ingest import index, plan
from qafd.ingest.folders import Given, find_files
from qafd.ingest.imports import read_graph
from qafd.ingest.jobs import estimate_unparsed, needs_worker, work
from qafd.ingest.reader import Keys, ModelChoice, choose, needs_languages, read_choice
from qafd.knowledge import KnowledgeGraph, plan_layers, read_layer_states, write_layers
from qafd.models.cost import Metered
from qafd.models.multilingual import is_installed
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.layers import LAYERS, WRITABLE, LayerState
from qafd.storage import Location, Workspace, beside, names_beside, open_workspace, size_of
from qafd.storage.rows import clean_name, now
from qafd.wording import count
from qafd.wording.documents import (
    offer_languages,
    say_cap,
    say_embedding_plan,
    say_origin,
    say_reading_plan,
    say_readings,
    say_writing_plan,
)

Source = tuple[str, bytes]


def index_files(db: Location | None, files: tuple[str, ...], again: str | None, sync: bool, name: str,
                dry_run: bool, engine: int | str, **reader: Any) -> Outcome | int:
    path = require_location(db)
    if files == ("-",):
        data = stdin()  # before a workspace is made
        given = [Given(name, name, lambda: data)]
    else:
        given = find_files(files, note)
    if files and not given and not sync:
        return NOTHING_FOUND
    sources = ((file.name, file.read()) for file in given)
    before = _choice_before(path)
    if before is None and not files and not dry_run:
        raise ParameterError(f"there is no workspace at {path} yet; name files or folders to "
                             "make one of")
    choice = choose_reader(reader, before or ModelChoice())
    if dry_run:
        return _plan(path, sources, choice, again == "vectors")
    make_folder(path)
    with open_workspace(path) as store:
        _begin(store, choice, go_on=not files)
        if again == "vectors":
            store.vectors.forget()
        if again:
            store.assembly.drop()
        _sync(store, [file for file in files if os.path.isdir(file)], [file.name for file in given], sync)
    failed, stopped = _work(path, _without_twins(path, sources), engine)
    with open_workspace(path) as store:
        return status(store, failed=failed, interrupted=stopped)


def _sync(store: Workspace, folders: Sequence[str], names: Sequence[str], delete: bool) -> None:
    """Report the files that these folders had when they were indexed before, and `delete` them."""
    if not folders:
        return
    key = f"folders {json.dumps(sorted(map(os.path.abspath, folders)))}"
    present = set(map(clean_name, names))
    live = {file.name for file in store.files.all() if file.deleted_at is None}
    before = {row["name"] for row in store.notes.rows(key)}
    gone = sorted(before.intersection(live) - present)
    if gone:
        shown = ", ".join(one_line(name, 80) for name in gone[:5]) + (", ..." if len(gone) > 5 else "")
        files = count(len(gone), "file")
        note(f"{files} deleted: {shown}; 'qafd docs --undo NAME' restores" if delete else
             f"{files} no longer in the folder: {shown}; add --sync to delete")
    if delete:
        store.documents.delete(*gone)
    kept = present if delete else present.union(before)
    store.notes.put(key, json.dumps([{"name": name} for name in sorted(kept)]))


def _without_twins(path: Location, sources: Iterable[Source]) -> Iterator[Source]:
    """Yield the sources, and report those whose bytes the workspace has under another name."""
    for name, data in sources:
        with open_workspace(path) as store:
            twin = store.files.find_twin(name, data)
        if twin:
            note(f"{one_line(name, 200)} has the content of {one_line(twin, 200)}; not added twice")
        else:
            yield name, data


def _choice_before(path: Location) -> ModelChoice | None:
    """Return the present reader of the workspace; None if it does not exist yet."""
    if not size_of(path):
        return None
    with open_graph(path).store() as store:
        return read_choice(store)


def _begin(store: Workspace, choice: ModelChoice, go_on: bool) -> None:
    """Set the reader of the workspace; `go_on` continues after a cap or an outage."""
    if choice != read_choice(store):
        choose(store, choice)
    if choice.model or choice.embedder:
        note(say_cap(choice.cap))
    if choice.model and go_on:
        store.files.retry(file.name for file in store.files.all() if file.deleted_at is None)


def _work(path: Location, sources: Iterable[Source], engine: int | str) -> tuple[bool, bool]:
    """Read all sources; whether one of them failed, and whether the work was interrupted."""
    run = f"index {now()}"
    stopped = on_interrupt("stopping once the current passages are read; run the command again to continue")
    try:
        with ProgressLine(lambda: _count_ahead(path)) as meter:
            read = set(index(path, sources, progress=meter.show, stopped=stopped, processes=engine,
                             keys=keys_of_environment(), run=run, patient=True))
    finally:
        _note_spent(path, run)
    with open_workspace(path) as store:
        files = [file for file in store.files.all() if file.name in read]
        failed = [file for file in files if file.status == "failed"]
        foreign = needs_languages(store)
        doubts = store.log.doubts()
    if foreign:
        note(offer_languages("run qafd index --languages", is_installed()))
    for name, reasons in doubts.items():
        if name in read:
            note(f"{one_line(name, 200)}: {one_line(say_readings(reasons), 600)}")
    for file in files:
        if file.notices:
            note(f"{one_line(file.name, 200)}: {one_line(' '.join(file.notices), 600)}")
    for file in failed:
        note(f"{one_line(file.name, 200)}: {file.error}")
    return bool(failed), stopped()


def _count_ahead(path: Location) -> float:
    """Estimate the passages in files that wait to be parsed."""
    with open_workspace(path) as store:
        return estimate_unparsed(store)


def _plan(path: Location, sources: Iterable[Source], choice: ModelChoice, anew: bool) -> Outcome:
    """Estimate the cost of a run; with `anew` all vectors are computed again."""
    if not choice.model and not choice.embedder:
        raise ParameterError("no model of an endpoint is chosen, so the run costs nothing; name one with "
                             "--model or --embed-model")
    planned = plan(path, sources, choice, anew)
    lines = []
    if choice.model:
        lines.append(f"{one_line(choice.model, 100)}: {say_reading_plan(planned)}")
    if planned.embedding is not None:
        lines.append(f"{one_line(choice.embedder, 100)}: {say_embedding_plan(planned.embedding)}")
    lines.append(say_cap(choice.cap))
    return Outcome({**vars(planned), "cap": choice.cap}, lines)


def _note_spent(path: Location, run: str) -> None:
    if size_of(path) is None:  # it was deleted meanwhile
        return
    with open_workspace(path) as store:
        totals = store.ledger.totals("purpose", run)
    for total in totals:
        money = "cost unknown" if total.unpriced else f"${total.cost:,.4f}"
        note(f"{word_calls(total)}, {money}")


def import_graph(db: Location | None, files: tuple[str, ...], dry_run: bool) -> Outcome:
    if not dry_run:
        require_location(db)
    name, graph = read_graph(files)
    found = {"name": name, "format": graph.format, "nodes": len(graph.nodes),
             "edges": len(graph.edges), "texts": len(graph.texts)}
    lines = [f"{one_line(name, 200)}: {graph.summary}"]
    if dry_run:
        return Outcome({**found, "notices": graph.notices}, lines, notes=graph.notices)
    path = require_location(db)
    stopped = on_interrupt("stopping; run 'qafd index' on this workspace to continue")
    make_folder(path)
    with open_workspace(path) as store:
        spending().hold_for(store)
    with ProgressLine() as meter:
        index(path, [(name, graph.to_json())], progress=meter.show, stopped=stopped,
              keys=keys_of_environment())
    with open_workspace(path) as store:
        file = next(file for file in store.files.all() if file.name == clean_name(name))
    if file.error:
        note(f"{one_line(name, 200)}: {file.error}")
    found["passages"] = file.passages
    # the first one is the summary, as it stands on the page
    notices = file.notices[1:] or graph.notices
    return Outcome({**found, "notices": notices}, lines, failed=bool(file.error),
                   notes=notices, interrupted=stopped())


SECONDS = 2.0  # between two looks at what waits


def worker(db: Location | None, engine: int | str, once: bool) -> int:
    root, keys = require_location(db), keys_of_environment()
    spending()
    while True:
        try:
            urls = [beside(root, name) for name in names_beside(root)]
            worked = [url for url in urls if _work_on(url, engine, keys)]
        except QafdError as error:
            note(str(error))
            worked = []
        if not worked:
            if once:
                return DONE
            time.sleep(SECONDS)


def _work_on(url: str, engine: int | str, keys: Keys) -> bool:
    """Do the jobs of a workspace, if any wait for a worker; whether there were any."""
    try:
        with open_workspace(url, make=False) as store:
            waiting = needs_worker(store, keys)
        if waiting:
            work(url, processes=engine, keys=keys)
    except BusyError:  # another one was faster
        return False
    except QafdError as error:
        note(str(error))
        return False
    return waiting


def list_layers(knowledge: KnowledgeGraph, names: tuple[str, ...], write: bool, dry_run: bool,
                asked: ModelRequest) -> Outcome:
    if write or dry_run:
        wanted = names if "all" not in names else WRITABLE if dry_run else tuple(LAYERS)
        if not write or not wanted:
            raise ParameterError("there is nothing to write; name layers with --build and add --write")
        client = asked.client(knowledge, "write")
        if dry_run:
            planned = plan_layers(knowledge, wanted, client)
            cap = client.meter.cap
            return Outcome({**vars(planned), "cap": cap},
                           [f"{one_line(client.name, 100)}: {say_writing_plan(planned)}", say_cap(cap)])
        return _write(knowledge, wanted, client)
    if names:
        with ProgressLine() as meter:
            knowledge.build_layers(LAYERS if "all" in names else names, meter)
    return _list(knowledge)


def _write(knowledge: KnowledgeGraph, names: tuple[str, ...], client: Metered) -> Outcome:
    stopped = on_interrupt("stopping after the current calls; run the command again to continue")
    try:
        with ProgressLine() as meter:
            write_layers(knowledge, names, client, progress=meter, stopped=stopped)
    except ModelError as error:
        return replace(_list(knowledge), failure=error,
                       instead="What was written is saved; run the command again to continue.")
    return replace(_list(knowledge), interrupted=stopped())


def _list(knowledge: KnowledgeGraph) -> Outcome:
    states = read_layer_states(knowledge)
    return Outcome(states, map(_layer_line, states))


def _layer_line(layer: LayerState) -> str:
    built_at = layer.built_at[:16].replace("T", " ")
    line = f"{layer.name:12} {layer.state:8} {layer.size / 1e6:8.1f} MB  {built_at}"
    origin = say_origin(layer.model, layer.written, layer.texts)
    return f"{line}  {origin}".rstrip()
