"""Workspaces that are SQLite files: everything about one is in this folder."""

import hashlib
import os
import secrets
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from filelock import FileLock, Timeout

from qafd.errors import BusyError, DiskFullError, StoreError
from qafd.records import Chunk
from qafd.storage.relational.base import to_json
from qafd.storage.relational.log import columns_of
from qafd.storage.relational.passages import OFF, ON, SNIPPET, SqlPassages, match_of, snippet_parts
from qafd.storage.relational.workspace import Lease, Workspace, runs
from qafd.storage.rows import Diagnosis, Found, Hit, WorkspacePlace
from qafd.storage.sqlite.file import (
    WorkspaceFile,
    forget_file,
    translate_errors,
    writable,
)
from qafd.storage.sqlite.soundness import examine_file, find_unsound

GRACE_SECONDS = 5.0  # for one that has given the lease back and ends
RESERVE = 128 * 1024  # bytes kept beside the file, enough to write down that the disk is full


class SqliteLease(Lease):
    """A lock next to the file, which the system frees when its process ends, and the row that says whose."""

    _file: WorkspaceFile

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one process that extends the log."""
        with self._locked():
            token = secrets.token_hex(8)
            with self._file.transaction() as connection:
                connection.execute("INSERT OR REPLACE INTO lease (one, token, pid, host) VALUES (1, ?, ?, ?)",
                                   (token, os.getpid(), socket.gethostname()))
            self._file.token = token
            try:
                self._reserve()
                yield
            finally:
                self._free_reserve()
                try:
                    with suppress(DiskFullError):  # the claim then ends with this process
                        self.give_back()
                finally:
                    self._file.token = ""

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; one that ends its work, or looks whether somebody works, is waited for."""
        lock = self._lock()
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if self.writer is None:
                with suppress(Timeout):
                    lock.acquire(timeout=GRACE_SECONDS)
        except (OSError, NotImplementedError) as error:
            raise StoreError(f"{self._file.path} cannot be locked ({error}); check the folder and its "
                             "permissions.") from error
        if not lock.is_locked:
            raise BusyError(f"Process {self.writer} is indexing this workspace; files that were added wait "
                            "until it takes them in.")
        try:
            yield
        finally:
            lock.release()

    def _lock(self) -> FileLock:
        return FileLock(_lock_of(self._file.path), is_singleton=False)

    def _free_reserve(self) -> None:
        """On a full disk: make room for the few pages that say so."""
        self._reserved.unlink(missing_ok=True)

    def _reserve(self) -> None:
        try:
            self._reserved.write_bytes(bytes(RESERVE))
        except OSError as error:
            self._free_reserve()
            raise DiskFullError(f"There is no room beside {self._file.path.name} to work on it "
                                f"({error.strerror}); free some space and resume.") from error

    @property
    def _reserved(self) -> Path:
        return Path(f"{self._file.path}.reserve")

    @property
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""
        held = self._row("SELECT pid, host FROM lease")
        if held is None or held[1] == socket.gethostname() and not runs(held[0]):
            return None
        try:
            with self._lock().acquire(timeout=0):
                return None  # its process has ended, and another one has its number
        except Timeout:
            return int(held[0])


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


class SqlitePassages(SqlPassages):
    """The passages of the graph, searched by FTS5."""

    def _any(self, terms: Sequence[str]) -> bool:
        """Return True if a passage has all of these words and phrases; the first found is enough."""
        if not terms:
            return False
        with self._file.reading() as connection:
            return connection.execute(
                "SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT 1",
                (match_of(terms, True),)).fetchone() is not None

    def _best(self, terms: Sequence[str], every: bool, k: int, document: str | None) -> Found:
        """The k best passages with all of these words and phrases, or with any; one is given."""
        match = match_of(terms, every)
        chosen = ("FROM passages_fts JOIN passages ON passages.rowid = passages_fts.rowid "
                  "WHERE passages_fts MATCH ?1 AND (?2 IS NULL OR document = ?2)")
        with self._file.snapshot() as connection:
            total = connection.execute(f"SELECT count(*) {chosen}", (match, document)).fetchone()[0]
            scores = dict(connection.execute(
                f"SELECT passages.id, -bm25(passages_fts) AS score {chosen} "
                "ORDER BY score DESC, passages.id LIMIT ?3", (match, document, k)).fetchall())
            # a snippet is made for every row that is read, so not before the best are known
            rows = {row[0]: row for row in connection.execute(
                f"SELECT {columns_of('passages')}, snippet(passages_fts, 1, ?4, ?5, '…', ?6) "
                f"{chosen} AND passages.id IN (SELECT value FROM json_each(?3))",
                (match, document, to_json(scores), ON, OFF, SNIPPET))}
        return Found(tuple(Hit(Chunk(*rows[key][:-1]), score, snippet_parts(rows[key][-1]))
                           for key, score in scores.items()), total)


SCHEME = "sqlite:///"


class SqliteWorkspace(Workspace):
    """An open workspace file."""

    def __init__(self, file: WorkspaceFile) -> None:
        super().__init__(file, place_of(url_of(file.path)))
        self._file = file
        self.passages = SqlitePassages(file)
        self.lease = SqliteLease(file)

    def scrub(self) -> None:
        """Leave no byte of what was deleted in the file, its write-ahead log, its columns or the
        log of workers, where an error may quote it.

        Raises
        ------
        BusyError
            Somebody reads an earlier state, which therefore stays until this is called again.
        """
        for columns in _columns(self._file.path):
            columns.unlink(missing_ok=True)
        if (log := Path(f"{self._file.path}.log")).exists():
            os.truncate(log, 0)  # a worker may have it open
        with translate_errors(self._file.path):
            self._file.connection.execute("VACUUM")
            if self._file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise BusyError(f"What was deleted may still be in {self._file.path.name}-wal, "
                                "since another process reads an earlier state of it; end "
                                "that one and erase or wipe again.")

    def count_anew(self) -> None:
        """Nothing: SQLite takes tables in the order of a statement, see `CROSS JOIN`."""

    def compact(self) -> None:
        """Make the file as small as it can be, and one file: to ship it or to archive it.

        The next opening for writing turns the write-ahead log on again.
        """
        with translate_errors(self._file.path):
            self._file.connection.execute("VACUUM")
            self._file.connection.execute("PRAGMA journal_mode = DELETE")

    def _copy_to(self, file: Path) -> None:
        """Copy it page by page."""
        with translate_errors(self._file.path), translate_errors(file), \
                closing(sqlite3.connect(file)) as copy:
            self._file.connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            faults = find_unsound(copy)
        if faults:
            raise StoreError(f"The backup of this workspace is not sound: {faults[0]}")


def open_workspace(url: str, read_only: bool = False, make: bool = True) -> SqliteWorkspace:
    """Open the workspace at a URL, see `qafd.storage.open_workspace`."""
    return SqliteWorkspace(WorkspaceFile.open(path_at(url), read_only, make))


def url_of(path: str | os.PathLike[str]) -> str:
    """The URL of a file."""
    return SCHEME + quote(os.fsencode(os.path.abspath(path)))  # names need not be UTF-8


def path_at(url: str) -> Path:
    """The file that a URL names."""
    return Path(os.fsdecode(unquote_to_bytes(url.removeprefix(SCHEME))))


def place_of(url: str) -> WorkspacePlace:
    """Return the place of a file, the same through any link."""
    path = path_at(url)
    real = hashlib.sha256(os.fsencode(os.path.realpath(path)))
    return WorkspacePlace(url_of(path), path.stem, real.hexdigest(), str(path), Path(f"{path}.log"),
                          Path(f"{path}.columns"))


def beside(url: str, name: str) -> str:
    """The URL of the file of a workspace in the same folder."""
    return url_of(path_at(url).with_name(f"{name}.db"))


def names_beside(url: str) -> tuple[str, ...]:
    """The names of all workspaces in the folder of a file."""
    return tuple(sorted(file.stem for file in path_at(url).parent.glob("*.db")))


def size_of(url: str) -> int | None:
    """The size of a file in bytes, without what is next to it; None where there is none."""
    path = path_at(url)
    return path.stat().st_size if path.is_file() else None


def examine(url: str, deep: bool) -> Iterator[Diagnosis]:
    """Examine a file for faults."""
    place = path_at(url)
    return examine_file(
        place, lambda connection: SqliteWorkspace(WorkspaceFile(connection, place)), deep)


def remove_files(url: str) -> None:
    """Delete a file, uploads included, and all that is next to it."""
    place = path_at(url)
    beside = [Path(f"{place}{ending}") for ending in ("-wal", "-shm", ".log", ".reserve")]
    for file in (place, _lock_of(place), *beside, *_columns(place)):
        file.unlink(missing_ok=True)
    forget_file(place)


def _columns(place: Path) -> list[Path]:
    """The graph as columns, and what a process that was killed left of them."""
    return list(place.parent.glob(f"{escape(place.name)}.columns*"))


def is_writable(url: str) -> bool:
    """Return True if an existing workspace can be changed."""
    return writable(path_at(url))
