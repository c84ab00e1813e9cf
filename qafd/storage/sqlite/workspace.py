"""A workspace: one SQLite file with its transactions, its writer lease and its backups."""

import logging
import os
import secrets
import socket
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Self

from qafd.errors import BusyError, DiskFullError, ForeignFileError, QafdError, StoreError
from qafd.storage.sqlite import opening, schema, tables

HEARTBEAT_SECONDS = 3.0
STALE_SECONDS = 20.0
_SAID: set[Path] = set()  # files of which it was said that they can only be read
RESERVE = 128 * 1024  # bytes kept beside the file, enough to write down that the disk is full


class Workspace:
    """An open workspace file; belongs to the thread that opened it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._file = _identity(path)
        self._token = ""
        self._writing = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = False,
             make: bool = True) -> Self:
        """Open a workspace; a missing one is made unless `make` is false, an old schema renewed.

        One that lies where nothing can be written is opened to be read.

        Raises
        ------
        StoreError
            The file cannot be opened, is damaged or is no workspace.
        NewerSchemaError
            It was written by a newer version of qafd; it is left untouched.
        """
        place = Path(path)
        if not read_only and place.is_file() and not opening.writable(place):
            read_only = True
            if place not in _SAID:
                _SAID.add(place)
                logging.getLogger("qafd").warning(
                    "%s or its folder cannot be written, so it can be read but not changed.", place)
        connection = opening.connect(place, read_only, make)
        try:
            with opening.translated(place):
                if not read_only:
                    schema.migrate(connection, place)
                elif schema.check_version(connection, place) < len(tables.STEPS):
                    raise StoreError(
                        f"{place.name} has an older schema; open it once for writing (any "
                        "`qafd` command that changes it) to bring it up to date."
                    )
        except BaseException:  # Ctrl-C too: nobody else has the connection to close it
            connection.close()
            raise
        return cls(connection, place)

    def close(self) -> None:
        """Close the file; also done at the end of a `with` block."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction; every write in qafd goes through it.

        Methods called inside the block join it: all or nothing of them is written.

        Raises
        ------
        DiskFullError, BusyError, StoreError
            Nothing was written.
        """
        if self._writing:
            yield self._connection
            return
        if self._token:
            self._check_place()
        with opening.transaction(self._connection, self.path) as connection:
            self._writing = True
            try:
                yield connection
            finally:
                self._writing = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Reads that all see the same version of the workspace."""
        with opening.translated(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                # a damaged file can end the transaction by itself
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A snapshot whose rows are understood inside the block; what cannot be is damage.

        Raises
        ------
        StoreError
            Numbers, texts or JSON are not what qafd writes.
        """
        with self.snapshot() as connection:
            try:
                yield connection
            except QafdError:
                raise
            except (ValueError, TypeError, LookupError, OverflowError, zlib.error) as error:
                raise opening.damaged(self.path, error) from error

    # The whole file

    def wipe(self) -> None:
        """Empty the workspace: documents, uploads, vectors, graph, jobs and retrievals."""
        with self.transaction() as connection:
            for table in ("files", "jobs", "lease", "embeddings", "passages", "nodes", "edges",
                          "layers", "retrievals", "plans", "llm_calls", "edits", "meta"):
                connection.execute(f"DELETE FROM {table}")
            # FTS5 only marks words as deleted
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")
        self.renew()
        self.scrub()

    def scrub(self) -> None:
        """Leave no byte of what was deleted in the file, its write-ahead log, the backups of
        upgrades or the log of workers, where an error may quote it.

        Raises
        ------
        BusyError
            Somebody reads an earlier state, which therefore stays until this is called again.
        """
        for copy in _backups(self.path):
            copy.unlink(missing_ok=True)
        if (log := Path(f"{self.path}.log")).exists():
            os.truncate(log, 0)  # a worker may have it open
        with opening.translated(self.path):
            self._connection.execute("VACUUM")
            if self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise BusyError(
                    f"What was deleted may still be in {self.path.name}-wal, since another process "
                    "reads an earlier state of it; end that one and erase or wipe again.")

    def renew(self) -> None:
        """Give the file a new identity: its revisions count another history from now on."""
        with self.transaction() as connection:
            set_meta(connection, "id", secrets.token_hex(8))

    def compact(self) -> None:
        """Make the file as small as it can be, and one file: to ship it or to archive it.

        The next opening for writing turns the write-ahead log on again.
        """
        with opening.translated(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA journal_mode = DELETE")

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copy the workspace to a new file, while others may write, and verify the copy."""
        with opening.translated(self.path):
            schema.backup(self._connection, Path(destination))

    # The writer lease

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Be the one process that extends the log; the claim is renewed in the background.

        Raises
        ------
        BusyError
            Another living process holds the lease.
        DiskFullError
            There is no room for the work.
        """
        token = secrets.token_hex(8)
        silent = self._claim_lease(token, ())
        if silent:
            # The clock may have jumped: one that lives on will have beaten anew by then.
            time.sleep(2 * HEARTBEAT_SECONDS)
            self._claim_lease(token, silent)
        self._token = token
        over = threading.Event()
        pulse = threading.Thread(target=_keep_lease, args=(self.path, token, over), daemon=True)
        pulse.start()
        try:
            self._reserve()
            yield
        finally:
            over.set()
            pulse.join()
            self._free_reserve()
            try:
                with suppress(DiskFullError):  # the claim then ends with this process
                    self.give_back_lease()
            finally:
                self._token = ""

    def _claim_lease(self, token: str, silent: tuple[object, ...]) -> tuple[object, ...]:
        """Take the lease, unless its holder runs here but is late and not the one known as silent.

        Returns who is late, () when the lease is taken.
        """
        with self.transaction() as connection:
            held = connection.execute("SELECT pid, host, heartbeat FROM lease").fetchone()
            if held and (_alive(*held) or silent and held != silent and _runs(held[0])):
                raise BusyError(
                    f"Process {held[0]} on {held[1]} is indexing this workspace; files that were "
                    "added wait until it takes them in.")
            if held and held != silent and held[1] == socket.gethostname() and _runs(held[0]):
                return tuple(held)
            connection.execute(
                "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)",
                (token, os.getpid(), socket.gethostname(), time.time()))
        return ()

    def _free_reserve(self) -> None:
        """On a full disk: make room for the few pages that say so."""
        self._reserved.unlink(missing_ok=True)

    def _reserve(self) -> None:
        try:
            self._reserved.write_bytes(bytes(RESERVE))
        except OSError as error:
            self._free_reserve()
            raise DiskFullError(
                f"There is no room beside {self.path.name} to work on it ({error.strerror}); free "
                "some space and resume.") from error

    @property
    def _reserved(self) -> Path:
        return Path(f"{self.path}.reserve")

    @property
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""
        with self.snapshot() as connection:
            held = connection.execute("SELECT pid, host, heartbeat FROM lease").fetchone()
        return int(held[0]) if held and _alive(*held) else None

    def check_lease(self) -> None:
        """Inside `lease()`: refuse to go on when the claim was lost.

        A process that slept for long must not write over its successor.

        Raises
        ------
        BusyError
            Another process took over, or the workspace was wiped.
        StoreError
            The file is no longer there.
        """
        if self._token:
            self._check_place()
        with self.snapshot() as connection:
            if self._token and not connection.execute(
                    "SELECT 1 FROM lease WHERE token = ?", (self._token,)).fetchone():
                raise BusyError(
                    "Another process has taken over the indexing of this workspace, or it was "
                    "wiped; this one stops.")

    def _check_place(self) -> None:
        """Work in a file that was deleted would be lost without a word."""
        if _identity(self.path) != self._file:
            raise StoreError(
                f"{self.path} was removed or replaced while it was indexed, so the work stops "
                "here; put the file back, or index the documents again.")

    def give_back_lease(self) -> None:
        """End the claim before the end of the `lease()` block."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM lease WHERE token = ?", (self._token,))


def remove(path: str | os.PathLike[str]) -> None:
    """Delete a workspace for good: its file, uploads included, and all that lies beside it.

    Raises
    ------
    BusyError
        A process is indexing it.
    ForeignFileError
        Another program made it.
    """
    place = Path(path)
    try:
        with Workspace.open(place) as workspace:
            writer = workspace.writer
    except (BusyError, ForeignFileError):
        raise
    except StoreError:
        writer = None  # a damaged file can be deleted too
    if writer is not None:
        raise BusyError(
            f"Process {writer} is indexing {place.name}; cancel its jobs before you delete it.")
    beside = [Path(f"{place}{ending}") for ending in ("-wal", "-shm", ".log", ".reserve")]
    for file in (place, *beside, *_backups(place)):
        file.unlink(missing_ok=True)


def _backups(place: Path) -> list[Path]:
    """The copies that were made before upgrades of the file."""
    return list(place.parent.glob(f"{escape(place.name)}.schema*.backup"))


def now() -> str:
    """The time as text, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")

def meta(connection: sqlite3.Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else default


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def bump(connection: sqlite3.Connection, counter: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (?, '1') "
        "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1", (counter,))

def _alive(pid: int, host: str, heartbeat: float) -> bool:
    if abs(time.time() - heartbeat) > STALE_SECONDS:  # clocks are set back, too
        return False
    return host != socket.gethostname() or _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process of this host has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _keep_lease(path: Path, token: str, over: threading.Event) -> None:
    # a file that is gone is not made again: the next check of the lease says so
    with suppress(StoreError), Workspace.open(path, make=False) as store:
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                with store.transaction() as connection:
                    connection.execute(
                        "UPDATE lease SET heartbeat = ? WHERE token = ?", (time.time(), token))
            except StoreError:
                continue  # a full disk or a busy file: the next beat may get through
