"""The queue: uploads wait in the workspace, and one worker process indexes them.

The worker outlives page reloads and the server. Whatever ends it, the next worker goes on
where it stopped.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from math import inf
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from qafd.errors import BusyError, DiskFullError, ParameterError, QafdError, StoreError
from qafd.graph_cache import keep_columns
from qafd.ingest import extend
from qafd.ingest.engine import BatchExtractor, Progress, parse_engine
from qafd.ingest.reader import NO_KEYS, Keys, Local, engine_of, read_choice
from qafd.models.address import OPENAI
from qafd.models.cost import Allowance
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.reading.names import LocalExtractor
from qafd.retrieve import METHODS
from qafd.retrieve.compare import DEFAULT
from qafd.retrieve.layers import bring_up_to_date, kept_layers
from qafd.storage import Location, Workspace, open_workspace, place_of
from qafd.storage.rows import File, now

REPORT_SECONDS = 0.5
AHEAD = 5000  # passages up to which what Compare needs is built as soon as they are read
LOG_SIZE = 1_000_000  # bytes of the workers' log, of which the last half is kept when it is full
_KEYS = "keys of jobs"
KEPT = 1000  # jobs whose keys are known
STARTS = 5  # without any progress, after which a job is given up


def enqueue(store: Workspace, files: Iterable[tuple[str, bytes]] = (),
            layers: Iterable[str] = (), keys: Keys = NO_KEYS) -> int:
    """Store files and a job that indexes them, all or nothing; returns the job's id.

    Without files the job updates the graph after a deletion or an undo; one such job that
    waits already is enough. It also builds these layers (see `qafd.retrieve.layers.LAYERS`) and brings
    those up to date that are kept already. A worker has to be started: see `start_worker`. Where an
    endpoint reads the workspace, only a worker with the same `keys` for it does this job.
    """
    files, layers = tuple(files), tuple(layers)
    with store.transaction():
        if not files and not layers:
            for waiting in store.queue.open():
                if waiting.state == "queued" and _only_updates(store, waiting.id):
                    return waiting.id
        job = store.queue.add(layers)
        if files or layers:
            _note_keys(store, job, keys)
        for name, data in files:
            store.files.add(name, data, job)
    return job


@cache
def _fingerprint(address: str, key: str) -> str:
    """Return a slow hash of a key, so that nobody who reads the workspace can guess it."""
    return hashlib.scrypt(key.encode("utf-8", "replace"), salt=address.encode("utf-8", "replace"),
                          n=2**14, r=8, p=1, dklen=16).hex()


def _note_keys(store: Workspace, job: int, keys: Keys) -> None:
    """Store whose keys a job is done with, as fingerprints."""
    prints = {address: _fingerprint(address, key) for address, key in keys.items()}
    store.notes.append(_KEYS, {"job": str(job), "keys": json.dumps(prints)}, KEPT)


def find_foreign(store: Workspace, keys: Keys) -> set[int]:
    """Return the jobs that need another person's key for an endpoint that reads this workspace."""
    choice = read_choice(store)
    used = (choice.model, choice.base_url), (choice.embedder, choice.embedder_url)
    addresses = [address for name, address in used if name]
    foreign = set()
    for row in store.notes.rows(_KEYS) if addresses else ():
        noted = json.loads(row["keys"])
        for address in addresses:
            own = _fingerprint(address, keys[address]) if address in keys else None
            if noted.get(address) != own:
                foreign.add(int(row["job"]))
    return foreign


def _only_updates(store: Workspace, job: int) -> bool:
    """Return True if a job neither reads files nor builds requested layers."""
    return not store.queue.given(job) and not store.queue.layers(job)


def retry(store: Workspace, names: Iterable[str], keys: Keys = NO_KEYS,
          layers: Iterable[str] = ()) -> int:
    """A new job for files that failed or were cancelled, and these layers; returns its id."""
    with store.transaction():
        job = store.queue.add(layers)
        _note_keys(store, job, keys)
        store.files.retry(names, job)
    return job


def resume(store: Workspace, job: int, keys: Keys = NO_KEYS) -> int:
    """A new job for what a failed or cancelled one left undone; returns its id.

    Files that cannot be read at all are left out.
    """
    with store.transaction():
        left = [file.name for file in store.files.all() if file.deleted_at is None and _is_left(file)]
        return retry(store, left, keys, store.queue.layers(job))


def _is_left(file: File) -> bool:
    return file.status == "cancelled" or file.status == "failed" and file.extracted < file.passages


def cancel(store: Workspace, job: int) -> None:
    """Ask a job to stop; a job that has not begun is cancelled at once."""
    with store.transaction():
        if store.queue.cancel(job):
            store.files.cancel(store.queue.files(job))


def estimate_unparsed(store: Workspace, job: int | None = None) -> float:
    """About how many passages wait in files that are not parsed yet, those of a job or all.

    As many per byte as in the files that are parsed; infinity while files wait and none is.
    """
    waiting, parsed, passages = store.queue.measure_unparsed(job)
    if not waiting:
        return 0.0
    return waiting * passages / parsed if parsed and passages else inf


def needs_worker(store: Workspace, keys: Keys = NO_KEYS) -> bool:
    """Return True if work waits for a worker with these keys, or a dead one left some, and none is alive.

    Nothing counts while a job is paused: it waits for `start_worker`, when there is space again.
    """
    with store.snapshot():
        foreign = find_foreign(store, keys)
        states = [job.state for job in store.queue.open() if job.id not in foreign]
        if "paused" in states or store.lease.writer is not None:
            return False
        return bool(states) or store.queue.orphans() > 0


def start_worker(location: Location, keys: Keys = NO_KEYS) -> None:
    """Start a worker in its own process; if there is one already, the new one ends by itself.

    What it complains about goes to a file next to the workspace, named like it plus ".log", after
    what earlier ones did. The address of the workspace and the keys of model endpoints go
    through a pipe, where no other process can read them.

    Raises
    ------
    StoreError
        The folder of the workspace cannot be written.
    """
    place = place_of(location)
    home = str(Path(__file__).parents[2])
    try:
        opened = _log(place.log)
    except OSError as error:
        raise StoreError(f"{place.name} cannot be indexed, since nothing can be written next to it "
                         f"({error.strerror}); check the folder and its permissions.") from error
    with opened as log:
        # -P keeps files of the current folder from being taken for modules
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "qafd.ingest.jobs", place.written],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([home, *sys.path])},
            stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
    assert worker.stdin is not None
    with suppress(BrokenPipeError), worker.stdin:
        worker.stdin.write(json.dumps([dict(keys), Allowance.describe(), place.url]).encode())
    # Unless somebody waits for it, a dead child still counts as a process.
    threading.Thread(target=worker.wait, daemon=True).start()


def _log(file: Path) -> BinaryIO:
    """Open the log of workers to continue below a line with the time; only its newer part is kept."""
    log = file.open("ab")
    if log.tell() > LOG_SIZE:
        kept = file.read_bytes()[-LOG_SIZE // 2:]
        log.truncate(0)
        log.write(kept[kept.find(b"\n") + 1:])
    log.write(f"--- a worker starts at {now()}\n".encode())
    log.flush()
    return log


def work(
    location: Location, *, extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, processes: int | str = 2,
    keys: Keys = NO_KEYS, ahead: Sequence[str] = (),
) -> None:
    """Do all waiting jobs of a workspace, one after the other, then return.

    Other parameters are those of `qafd.ingest.index`.

    Parameters
    ----------
    ahead : sequence of str
        Layers that are built when all else is done, in a job of their own, for at most 5,000 passages
        and with the bundled embedding model.

    Raises
    ------
    BusyError
        Another process is doing them.
    """
    with open_workspace(location, make=False) as store:
        try:
            with store.lease.hold(), Local(extractor, embedder, processes) as local:
                while (job := _claim(store, ahead, keys)) is not None:
                    try:
                        engine = engine_of(read_choice(store), store, keys, f"job {job}", local)
                        report = _Report(store, job)
                        files = store.queue.files(job, find_foreign(store, keys))
                        extend(store, files, engine, report, report.is_cancelled)
                        layers = store.queue.layers(job) | kept_layers(store)
                        bring_up_to_date(store, engine, layers, report.layer,
                                         report.is_cancelled)
                        keep_columns(store, begun=partial(report.layer, "columns", 0, 1))
                        _finish(store, job, report.is_cancelled())
                    except (BusyError, DiskFullError):
                        raise
                    except QafdError as error:
                        store.queue.fail(job, str(error))
                        local.close()
        except DiskFullError as error:
            store.queue.pause(str(error))


class _Report:
    """Writes progress into a job's row, not more often than the page looks.

    Once passages are read, the files that are parsed in between are not reported: many small ones
    would hide how far the reading is.
    """

    def __init__(self, store: Workspace, job: int) -> None:
        self._store, self._job = store, job
        self._stage, self._at = "", 0.0

    def __call__(self, progress: Progress) -> None:
        if (self._stage, progress.stage) == ("extracting", "parsing"):
            return
        if progress.stage == self._stage and time.monotonic() - self._at < REPORT_SECONDS:
            return
        self._stage, self._at = progress.stage, time.monotonic()
        self._store.queue.report(
            self._job, progress.stage, progress.done, progress.total, progress.current)

    def layer(self, name: str, done: int, total: int) -> None:
        """Progress of a derived layer, in texts to embed."""
        self(Progress("building layers", done, total, name))

    def is_cancelled(self) -> bool:
        return self._store.queue.is_cancelled(self._job)


def _claim(store: Workspace, ahead: Sequence[str], keys: Keys = NO_KEYS) -> int | None:
    """The next job, now running; without one, the lease is given back in the same breath.

    Otherwise a file that is uploaded while the worker ends would wait for nobody.
    """
    with store.transaction():
        store.lease.check()
        foreign = find_foreign(store, keys)
        for job in store.queue.stuck(STARTS):
            store.queue.fail(job.id, (
                f"The worker died {STARTS} times without getting any further, the last at "
                f"{job.current or 'the start'}. Remove that file and try again. The log is "
                f"{store.place.log}."))
        begun = store.queue.claim(foreign)
        if begun is not None:
            return begun
        last = store.queue.latest(1)
        # a deletion while the last job was assembling; a job that failed would fail again
        if store.queue.orphans() or (store.graph.stale and last and last[0].state == "done"):
            store.queue.add()
            return store.queue.claim(foreign)
        missing = worth_building(store, ahead)
        if missing and last:
            store.queue.add(sorted(missing))
            return store.queue.claim(foreign)
        store.lease.give_back()
    return None


def worth_building(store: Workspace, names: Iterable[str]) -> set[str]:
    """The layers among some that are missing and built without being asked for.

    Up to 5,000 passages, and with the bundled embedding model: an endpoint's vectors may cost money.
    None after a job that failed or was cancelled.
    """
    last = store.queue.latest(1)
    if (last and last[0].state != "done" or read_choice(store).embedder
            or not 0 < store.log.count_assembled() <= AHEAD):
        return set()
    return set(names) - kept_layers(store)


def _finish(store: Workspace, job: int, cancelled: bool) -> None:
    with store.transaction():
        failed = 0 if cancelled else store.queue.failed_files(job)
        store.queue.finish(job, f"{failed} of its files could not be read." if failed else "")


def hide(secrets: Iterable[str]) -> None:
    """Write the errors that end a thread or this process without these words of them."""
    words = [word for word in secrets if len(word) > 3]

    def write_masked(kind: type[BaseException], error: BaseException | None,
                     trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        for word in words:
            text = text.replace(word, "***")
        print(text, end="", file=sys.stderr)

    sys.excepthook = write_masked
    threading.excepthook = lambda ended: write_masked(
        ended.exc_type, ended.exc_value, ended.exc_traceback)


def main() -> None:
    """Work on the workspace that the command line names."""
    os.nice(5)  # the page and its questions come first
    try:
        own = os.environ.get("OPENAI_API_KEY")
        keys = {os.environ.get("OPENAI_BASE_URL") or OPENAI: own} if own else {}
        # others see the command line, and an address may have a password
        given, day, location = json.loads(sys.stdin.read() or "null") or ({}, None, sys.argv[1])
        keys |= given
        Allowance.take(day)
        hide(keys.values())
        work(location, processes=parse_engine(os.environ.get("QAFD_ENGINE") or "2"), keys=keys,
             ahead=list(chain.from_iterable(METHODS[name].needs for name in DEFAULT)))
    except (ParameterError, StoreError) as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
