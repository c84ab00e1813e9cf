"""The queue: uploads wait in the workspace, and one worker process indexes them.

The worker outlives page reloads and the server. Whatever ends it, the next worker goes on
where it stopped.
"""

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from qafd.errors import BusyError, DiskFullError, QafdError, StoreError
from qafd.ingest import Progress, extend
from qafd.ingest.engine import BatchExtractor
from qafd.ingest.reader import NO_KEYS, Keys, Local, chosen, engine_of
from qafd.models.address import OPENAI
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.reading.names import LocalExtractor
from qafd.retrieve.layers import bring_up_to_date
from qafd.storage import Workspace, open_workspace
from qafd.storage.rows import now

REPORT_SECONDS = 0.5
LOG_SIZE = 1_000_000  # bytes of the workers' log, of which the last half is kept when it is full
STARTS = 5  # without any progress, after which a job is given up


@dataclass(frozen=True)
class Job:
    """An upload or another change, and how far its indexing has come.

    `state` is "queued", "running", "paused" (the disk is full), "done", "failed" or
    "cancelled"; `stage`, `done`, `total` and `current` are those of `qafd.ingest.Progress`, or
    "building layers", texts to embed and the layer at work.
    """

    id: int
    state: str
    stage: str
    done: int
    total: int
    current: str
    error: str
    created_at: str
    started_at: str | None
    finished_at: str | None


_OPEN = "status IN ('queued', 'parsing', 'extracting') AND deleted_at IS NULL"
_JOB = "id, state, stage, done, total, current, error, created_at, started_at, finished_at"


def enqueue(store: Workspace, files: Iterable[tuple[str, bytes]] = (),
            layers: Iterable[str] = ()) -> int:
    """Store files and a job that indexes them, all or nothing; returns the job's id.

    Without files the job brings the graph up to date after a deletion or an undo. It also builds
    these layers (see `qafd.retrieve.layers.LAYERS`) and brings those up to date that are kept already. A
    worker has to be started: see `start_worker`.
    """
    with store.transaction():
        job = _new_job(store, layers)
        for name, data in files:
            store.files.add(name, data, job)
    return job


def retry(store: Workspace, names: Iterable[str]) -> int:
    """A new job for files that failed or were cancelled; returns its id."""
    with store.transaction():
        job = _new_job(store)
        store.files.retry(names, job)
    return job


def go_on(store: Workspace, job: int) -> int:
    """A new job for what a failed or cancelled one left undone; returns its id.

    Files that cannot be read at all are left out.
    """
    with store.transaction() as connection:
        layers = connection.execute("SELECT layers FROM jobs WHERE id = ?", (job,)).fetchone()[0]
        following = _new_job(store, filter(None, layers.split(",")))
        store.files.retry([file.name for file in store.files.all() if file.deleted_at is None and (
            file.status == "cancelled"
            or file.status == "failed" and file.extracted < file.passages)], following)
    return following


def cancel(store: Workspace, job: int) -> None:
    """Ask for the end of a job; one that has not begun ends at once."""
    with store.transaction() as connection:
        connection.execute(
            "UPDATE jobs SET cancel = 1 WHERE id = ? AND state = 'running'", (job,))
        waiting = connection.execute(
            "UPDATE jobs SET state = 'cancelled', finished_at = ? "
            "WHERE id = ? AND state IN ('queued', 'paused')", (now(), job)).rowcount
        if waiting:
            store.files.cancel(_files(store, job))


def jobs(store: Workspace, limit: int = 20) -> tuple[Job, ...]:
    """The latest jobs, newest first."""
    with store.snapshot() as connection:
        return tuple(Job(*row) for row in connection.execute(
            f"SELECT {_JOB} FROM jobs ORDER BY id DESC LIMIT ?", (limit,)))


def open_jobs(store: Workspace) -> tuple[Job, ...]:
    """The jobs that are not over, oldest first."""
    with store.snapshot() as connection:
        return tuple(Job(*row) for row in connection.execute(
            f"SELECT {_JOB} FROM jobs WHERE state IN ('queued', 'running', 'paused') ORDER BY id"))


def unparsed(store: Workspace, job: int | None = None) -> float:
    """About how many passages wait in files that are not parsed yet, those of a job or all.

    As many per byte as in the files that are parsed; infinity while files wait and none is.
    """
    with store.snapshot() as connection:
        waiting, parsed, passages = connection.execute(
            "SELECT coalesce(sum(size) FILTER (WHERE status IN ('queued', 'parsing') "
            "    AND deleted_at IS NULL AND (? IS NULL OR job = ?)), 0), "
            "  coalesce(sum(size) FILTER (WHERE status IN ('extracting', 'done')), 0), "
            "  (SELECT count(*) FROM chunks) FROM files", (job, job)).fetchone()
    if not waiting:
        return 0.0
    return float(waiting * passages / parsed) if parsed and passages else inf


def needs_worker(store: Workspace) -> bool:
    """Whether work waits, or was left by a process that died, and no worker is alive.

    Nothing counts while a job is paused: it waits for `start_worker`, when there is space again.
    """
    with store.snapshot() as connection:
        waiting, paused = connection.execute(
            "SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')) "
            f"  + (SELECT count(*) FROM files WHERE job IS NULL AND {_OPEN}), "
            "(SELECT count(*) FROM jobs WHERE state = 'paused')").fetchone()
        return bool(waiting) and not paused and store.queue.writer is None


def start_worker(path: str | os.PathLike[str], keys: Keys = NO_KEYS) -> None:
    """Start a worker in a process of its own; when there is one already, it ends by itself.

    What it complains about goes to a file beside the workspace, named like it plus ".log", after
    what earlier ones did. The keys of model endpoints go through a pipe, where no other process
    can read them.

    Raises
    ------
    StoreError
        The folder of the workspace cannot be written.
    """
    place = Path(path).absolute()
    home = str(Path(__file__).parents[2])
    try:
        opened = _log(Path(f"{place}.log"))
    except OSError as error:
        raise StoreError(f"{place.name} cannot be indexed, since nothing can be written beside it "
                         f"({error.strerror}); check the folder and its permissions.") from error
    with opened as log:
        # -P keeps files of the current folder from being taken for modules
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "qafd.ingest.jobs", str(place)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([home, *sys.path])},
            stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
    assert worker.stdin is not None
    with suppress(BrokenPipeError), worker.stdin:
        worker.stdin.write(json.dumps(dict(keys)).encode())
    # Unless somebody waits for it, a dead child still counts as a process.
    threading.Thread(target=worker.wait, daemon=True).start()


def _log(file: Path) -> BinaryIO:
    """The log of workers, opened to go on under a line with the time; old parts of it are left."""
    log = file.open("ab")
    if log.tell() > LOG_SIZE:
        kept = file.read_bytes()[-LOG_SIZE // 2:]
        log.truncate(0)
        log.write(kept[kept.find(b"\n") + 1:])
    log.write(f"--- a worker starts at {now()}\n".encode())
    log.flush()
    return log


def work(
    path: str | os.PathLike[str], *, extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, processes: int = 2,
    keys: Keys = NO_KEYS,
) -> None:
    """Do all waiting jobs of a workspace, one after the other, then return.

    Parameters are those of `qafd.ingest.index`.

    Raises
    ------
    BusyError
        Another process is doing them.
    """
    with open_workspace(path) as store:
        try:
            with store.queue.lease(), Local(extractor, embedder, processes) as local:
                while (job := _claim(store)) is not None:
                    try:
                        engine = engine_of(chosen(store), store, keys, f"job {job}", local)
                        report = _Report(store, job)
                        extend(store, _files(store, job), engine, report, report.cancelled)
                        bring_up_to_date(store, engine, _layers(store, job), report.layer,
                                         report.cancelled)
                        _close(store, job, "cancelled" if report.cancelled() else "done")
                    except (BusyError, DiskFullError):
                        raise
                    except QafdError as error:
                        _close(store, job, "failed", str(error))
                        local.close()
        except DiskFullError as error:
            with store.transaction() as connection:
                connection.execute(
                    "UPDATE jobs SET state = 'paused', error = ? "
                    "WHERE state IN ('queued', 'running')", (str(error),))


class _Report:
    """Writes progress into a job's row, not more often than the page looks.

    Once passages are read, the files that are parsed in between are not told: many small ones
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
        with self._store.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET stage = ?, done = ?, total = ?, current = ?, "
                "starts = CASE WHEN ? IN ('extracting', 'embedding') THEN 0 ELSE starts END "
                "WHERE id = ?",
                (progress.stage, progress.done, progress.total, progress.current,
                 progress.stage, self._job))

    def layer(self, name: str, done: int, total: int) -> None:
        """Progress of a derived layer, in texts to embed."""
        self(Progress("building layers", done, total, name))

    def cancelled(self) -> bool:
        with self._store.snapshot() as connection:
            row = connection.execute(
                "SELECT cancel FROM jobs WHERE id = ?", (self._job,)).fetchone()
        return row is None or bool(row[0])


def _new_job(store: Workspace, layers: Iterable[str] = ()) -> int:
    with store.transaction() as connection:
        return int(connection.execute(
            "INSERT INTO jobs (state, created_at, layers) VALUES ('queued', ?, ?) RETURNING id",
            (now(), ",".join(layers))).fetchone()[0])


def _claim(store: Workspace) -> int | None:
    """The next job, now running; without one, the lease is given back in the same breath.

    Otherwise a file that is uploaded while the worker ends would wait for nobody.
    """
    with store.transaction() as connection:
        store.queue.check_lease()
        connection.execute(
            "UPDATE jobs SET state = 'failed', finished_at = ?, error = ? || coalesce("
            "nullif(current, ''), 'the start') || ? WHERE state = 'running' AND starts >= ?",
            (now(), f"The worker died {STARTS} times without getting any further, the last at ",
             f". Remove that and go on; the worker's last words are in {store.path}.log.", STARTS))
        row = connection.execute(
            "UPDATE jobs SET state = 'running', error = '', starts = starts + 1, "
            "started_at = coalesce(started_at, ?) WHERE id = (SELECT min(id) FROM jobs "
            "WHERE state IN ('queued', 'running', 'paused')) RETURNING id", (now(),)).fetchone()
        if row is not None:
            return int(row[0])
        orphans = connection.execute(
            f"SELECT count(*) FROM files WHERE job IS NULL AND {_OPEN}").fetchone()[0]
        last = connection.execute("SELECT state FROM jobs ORDER BY id DESC LIMIT 1").fetchone()
        # a deletion while the last job was assembling; a job that failed would fail again
        if orphans or (store.graph.stale and last == ("done",)):
            job = _new_job(store)
            connection.execute(
                "UPDATE jobs SET state = 'running', starts = 1, started_at = created_at "
                "WHERE id = ?", (job,))
            return job
        store.queue.give_back_lease()
    return None


def _files(store: Workspace, job: int) -> Sequence[str]:
    """The unfinished files of a job, and those that no other open job will finish."""
    with store.snapshot() as connection:
        return [row[0] for row in connection.execute(
            f"SELECT name FROM files WHERE {_OPEN} AND (job = ? OR NOT EXISTS (SELECT 1 FROM jobs "
            "  WHERE id = files.job AND state IN ('queued', 'running', 'paused'))) "
            "ORDER BY rowid", (job,))]


def _layers(store: Workspace, job: int) -> set[str]:
    """The layers a job was made for, and those that are kept."""
    with store.snapshot() as connection:
        asked = connection.execute("SELECT layers FROM jobs WHERE id = ?", (job,)).fetchone()
    return {*filter(None, asked[0].split(","))} | store.layers.rows().keys()


def _close(store: Workspace, job: int, state: str, error: str = "") -> None:
    with store.transaction() as connection:
        if state == "done":
            failed = connection.execute(
                "SELECT count(*) FROM files WHERE job = ? AND status = 'failed'",
                (job,)).fetchone()[0]
            error = f"{failed} of its files could not be read." if failed else ""
        connection.execute(
            "UPDATE jobs SET state = ?, error = ?, cancel = 0, finished_at = ? WHERE id = ?",
            (state, error, now(), job))


def hide(secrets: Iterable[str]) -> None:
    """Write the errors that end a thread or this process without these words of them."""
    words = [word for word in secrets if len(word) > 3]

    def said(kind: type[BaseException], error: BaseException | None,
             trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        for word in words:
            text = text.replace(word, "***")
        print(text, end="", file=sys.stderr)

    sys.excepthook = said
    threading.excepthook = lambda ended: said(
        ended.exc_type, ended.exc_value, ended.exc_traceback)


def main() -> None:
    """Work on the workspace that the command line names."""
    os.nice(5)  # the page and its questions come first
    try:
        own = os.environ.get("OPENAI_API_KEY")
        keys = {os.environ.get("OPENAI_BASE_URL") or OPENAI: own} if own else {}
        keys |= json.loads(sys.stdin.read() or "{}")
        hide(keys.values())
        work(sys.argv[1], keys=keys)
    except StoreError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
