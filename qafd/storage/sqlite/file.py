"""One connection to a workspace file: its transactions, snapshots and numbers in the table meta."""

import logging
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast
from weakref import WeakValueDictionary

from qafd.errors import BusyError, QafdError, StoreError
from qafd.storage.sqlite import opening, schema, tables

_SAID: set[Path] = set()  # files of which it was said that they can only be read


class _OpenFiles(threading.local):
    """The files that blocks of this thread share."""

    def __init__(self) -> None:
        self.by_place: WeakValueDictionary[tuple[Path, bool], WorkspaceFile] = WeakValueDictionary()


_OPEN = _OpenFiles()


class WorkspaceFile:
    """An open connection to a workspace file, which all parts of a workspace share.

    Blocks inside each other can share it too, for opening costs more than most reads.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self.connection = connection
        self._file = _identity(path)
        self.token = ""
        self._writing = False
        self._users = 1

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = False,
             make: bool = True, shared: bool = False) -> Self:
        """Open a workspace; a missing one is made unless `make` is false, an old schema renewed.

        One that lies where nothing can be written is opened to be read. With `shared`, a block
        inside another one of this thread that shares too gets its connection.

        Raises
        ------
        StoreError
            The file cannot be opened, is damaged or is no workspace.
        NewerSchemaError
            It was written by a newer version of qafd; it is left untouched.
        """
        place = Path(path)
        asked = place, read_only
        outer = _OPEN.by_place.get(asked) if shared else None
        if outer is not None and outer._joins():
            outer._users += 1
            return cast("Self", outer)
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
                    raise StoreError("{workspace} has an older schema; open it once for writing "
                                     "(any `qafd` command that changes it) to bring it up to date.",
                                     workspace=place.name)
        except BaseException:  # Ctrl-C too: nobody else has the connection to close it
            connection.close()
            raise
        opened = cls(connection, place)
        if shared:
            _OPEN.by_place[asked] = opened
        return opened

    def _joins(self) -> bool:
        """Whether another block may use it: it is open, neither claimed nor in a transaction, and
        the file is where it was."""
        return (self._users > 0 and not self.token and not self.connection.in_transaction
                and _identity(self.path) == self._file)

    def close(self) -> None:
        """Close the file, with the last block that uses it; also done at the end of a `with`."""
        self._users -= 1
        if self._users <= 0:
            self.connection.close()

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
            yield self.connection
            return
        if self.token:
            self._check_place()
        with opening.transaction(self.connection, self.path) as connection:
            self._writing = True
            try:
                yield connection
            finally:
                self._writing = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Reads that all see the same version of the workspace."""
        with opening.translated(self.path):
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                # a damaged file can end the transaction by itself
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

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
        if self.token:
            self._check_place()
        with self.snapshot() as connection:
            if self.token and not connection.execute(
                    "SELECT 1 FROM lease WHERE token = ?", (self.token,)).fetchone():
                raise BusyError(
                    "Another process has taken over the indexing of this workspace, or it was "
                    "wiped; this one stops.")

    def _check_place(self) -> None:
        """Work in a file that was deleted would be lost without a word."""
        if _identity(self.path) != self._file:
            raise StoreError("{path} was removed or replaced while it was indexed, so the work "
                             "stops here; put the file back, or index the documents again.",
                             path=self.path)


class Part:
    """A part of a workspace; it keeps nothing but the connection that it works on."""

    def __init__(self, file: WorkspaceFile) -> None:
        self._file = file


def meta(connection: sqlite3.Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else default


def set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def bump(connection: sqlite3.Connection, counter: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (?, '1') "
        "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1", (counter,))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
