"""One connection to a workspace file: its transactions, snapshots and numbers in the table meta."""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast
from weakref import WeakValueDictionary

from qafd.errors import StoreError
from qafd.storage.relational.base import Connection, Tables, meta
from qafd.storage.sqlite import opening

_SAID: set[Path] = set()  # files of which it was said that they can only be read


_OPENED: set[Path] = set()  # files that this process has opened and that nobody removed through it


class _OpenFiles(threading.local):
    """The files that blocks of this thread share."""

    def __init__(self) -> None:
        self.by_place: WeakValueDictionary[tuple[Path, bool], WorkspaceFile] = WeakValueDictionary()


_OPEN = _OpenFiles()


class WorkspaceFile(Tables):
    """An open connection to a workspace file, which all parts of a workspace share.

    Blocks inside each other can share it too, for opening costs more than most reads.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self.connection = connection
        self._file = _identity(path)
        self._process = os.getpid()
        self._writing = False
        self._users = 1

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = False,
             make: bool = True, shared: bool = False) -> Self:
        """Open a workspace; a missing one is made unless `make` is false.

        One that lies where nothing can be written is opened to be read. With `shared`, a block
        inside another one of this thread that shares too gets its connection.

        Raises
        ------
        StoreError
            The file cannot be opened, is damaged or is no workspace.
        NewerSchemaError
            A newer version of qafd wrote it; it is left untouched.
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
        known = place.resolve()
        if known in _OPENED and not place.exists():
            raise StoreError(f"The workspace {place} is gone: it was moved or deleted while it was in use. "
                             "Put it back, open it where it is now, or start qafd again to make a new one.")
        connection = opening.connect(place, read_only, make)
        try:
            with opening.translate_errors(place):
                if not read_only:
                    opening.prepare(connection, place)
                elif not opening.check_version(connection, place):
                    raise StoreError(f"{place.name} is empty and can only be read; index a document "
                                     "where it can be written.")
        except BaseException:  # Ctrl-C too: nobody else has the connection to close it
            connection.close()
            raise
        _OPENED.add(known)
        opened = cls(connection, place)
        if shared:
            _OPEN.by_place[asked] = opened
        return opened

    def _joins(self) -> bool:
        """Return True if another block may use it: it is open here, neither claimed nor in a transaction,
        and the file is where it was."""
        return (self._users > 0 and self._process == os.getpid() and not self.token
                and not self.connection.in_transaction and _identity(self.path) == self._file)

    def close(self) -> None:
        """Close the file, with the last block that uses it; also done at the end of a `with`."""
        self._users -= 1
        if self._users <= 0:
            self.connection.close()

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
        with opening.translate_errors(self.path):
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

    def check_lease(self) -> None:
        """Inside the lease: refuse to go on when the claim was lost, or the file."""
        if self.token:
            self._check_place()
        super().check_lease()

    def damage_error(self, error: BaseException) -> StoreError:
        """The error of a file that holds what qafd cannot have written."""
        return opening.damage_error(self.path, error)

    def index_words(self, connection: Connection, anew: bool = False) -> None:
        """Leave no word of what was removed for good in the search index.

        FTS5, which follows the passages by itself, only marks words as deleted until its segments
        are merged; that takes as long as the index is.
        """
        purged = meta(connection, "purged")
        if anew or purged:
            done = "rebuild" if anew else "optimize"
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES (?)", (done,))
        if purged:
            connection.execute("DELETE FROM meta WHERE key = 'purged'")

    def count_on(self, connection: Connection) -> None:
        """Nothing to do: SQLite counts on from the highest number of a table."""

    @property
    def name(self) -> str:
        """Name of the file in errors."""
        return self.path.name

    def _check_place(self) -> None:
        """Work in a file that was deleted would be lost without a word."""
        if _identity(self.path) != self._file:
            raise StoreError(f"{self.path} was removed or replaced while it was indexed, so "
                             "the work stops here; put the file back, or index the "
                             "documents again.")


def forget_file(path: Path) -> None:
    """Let a file that was removed be made again."""
    _OPENED.discard(path.resolve())


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
