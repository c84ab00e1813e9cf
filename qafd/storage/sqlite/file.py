"""Workspace files: their tables, settings and versions, their errors as sentences, and an open one."""

import logging
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Self

from qafd.errors import BusyError, DiskFullError, ForeignFileError, StoreError
from qafd.storage.relational.base import Connection, Tables, meta
from qafd.storage.relational.passages import TOKENIZER
from qafd.storage.relational.schema import SCHEMA, VERSION, newer_error, old_error

APPLICATION = int.from_bytes(b"qafd")
"""The `PRAGMA application_id` of every workspace file."""

TEXTUAL = ("meta", "jobs", "files", "documents", "chunks", "extractions", "mentions", "assertions",
           "runs", "llm_calls", "descriptions", "doubts", "edits")
"""The tables that hold texts and numbers rather than vectors."""

_TYPES = {"SERIAL PRIMARY KEY": "INTEGER PRIMARY KEY AUTOINCREMENT", "IDENTITY": "INTEGER",
          "BIGINT": "INTEGER", "SMALLINT": "INTEGER"}

_SEARCH = f"""
CREATE VIRTUAL TABLE passages_fts USING fts5 (title, text, tokenize='{TOKENIZER}', content='passages');
CREATE TRIGGER passages_insert AFTER INSERT ON passages BEGIN
    INSERT INTO passages_fts (rowid, title, text) VALUES (NEW.rowid, NEW.title, NEW.text);
END;
CREATE TRIGGER passages_delete AFTER DELETE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, text)
        VALUES ('delete', OLD.rowid, OLD.title, OLD.text);
END;
CREATE TRIGGER passages_update AFTER UPDATE ON passages BEGIN
    INSERT INTO passages_fts (passages_fts, rowid, title, text)
        VALUES ('delete', OLD.rowid, OLD.title, OLD.text);
    INSERT INTO passages_fts (rowid, title, text) VALUES (NEW.rowid, NEW.title, NEW.text);
END;
"""

_FROZEN = """
CREATE TRIGGER runs_never_change BEFORE UPDATE OF body, sha256 ON runs BEGIN
    SELECT RAISE (ABORT, 'a saved run never changes');
END;
"""

_DOCUMENT_OF = {"documents": "SELECT {row}.name AS name",
                "chunks": "SELECT {row}.document AS name",
                "extractions": "SELECT document AS name FROM chunks WHERE id = {row}.chunk"}
"""Tables that the log is read from, to the document that a row belongs to."""


def _touch_triggers() -> str:
    triggers = []
    for table, document in _DOCUMENT_OF.items():
        for event, rows in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
            # OR IGNORE would not count in a trigger of an upsert
            notes = "".join(f" INSERT INTO touched SELECT name FROM ({document.format(row=row)}) "
                            "WHERE name NOT IN (SELECT document FROM touched);" for row in rows)
            triggers.append(f"CREATE TRIGGER {table}_{event.lower()}_touches AFTER {event} ON {table} "
                            f"BEGIN{notes} END;")
    return "\n".join(triggers)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make all tables inside the transaction of the caller, which a script would end."""
    schema = SCHEMA
    for word, here in _TYPES.items():
        schema = schema.replace(word, here)
    statement = ""
    for line in chain(*(text.splitlines(keepends=True)
                        for text in (schema, _SEARCH, _FROZEN, _touch_triggers()))):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA user_version = {VERSION}")


BUSY_SECONDS = 30.0
_SMALLEST = 512  # bytes of a SQLite database with anything in it
OLD_TABLES = {"meta", "chunks", "extractions", "mentions"}  # of workspaces from before there were marks
_DAMAGE = ("no such table", "no such column", "malformed JSON", "Could not decode to UTF-8")
_SHARED_MEMORY = 64 * 1024  # twice what SQLite's file of that name takes
SETTINGS = ("foreign_keys = ON", "synchronous = NORMAL", "cell_size_check = ON",
            "secure_delete = ON", "temp_store = MEMORY")


def connect(path: Path, read_only: bool = False, make: bool = True) -> sqlite3.Connection:
    """An open connection with the settings every part of qafd relies on.

    Raises
    ------
    ForeignFileError
        Another program made the file; neither it nor anything next to it was touched.
    StoreError
        The file is missing where it is not made, is no SQLite file, or cannot be opened.
    """
    with translate_errors(path):
        if (read_only or not make) and not path.is_file():
            raise StoreError(f"There is no workspace at {path}; index a document first.")
        if path.is_file() and path.stat().st_size:
            _refuse_foreign(path)
        if read_only:
            address = _address_to_read(path)
        else:
            address = f"{path.absolute().as_uri()}?mode={'rwc' if make else 'rw'}"
        connection = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
        try:
            if not read_only and pragma(connection, "journal_mode") != "wal":
                if pragma(connection, "application_id") != APPLICATION:
                    # before there is a log, so that the file itself has it
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                _write_ahead(connection)
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            pragma(connection, "schema_version")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                raise damage_error(path, error) from error  # "unsupported file format"
            raise
    return connection


def _address_to_read(path: Path) -> str:
    """Return the address at which SQLite reads a workspace without changing it.

    SQLite wants to put two files next to the workspace; it cannot where the folder is not ours (an
    installed sample) or the disk is full.
    """
    logged = _has_log(path)
    locked = not _may_write(path.resolve().parent)
    if logged and locked and not Path(f"{path}-shm").exists():
        raise StoreError(f"{path} has a log that a crash left, which can be taken in only where the folder "
                         "can be written; open it there once, or make its folder writable.")
    full = shutil.disk_usage(path.parent).free < _SHARED_MEMORY
    frozen = not logged and (locked or full)
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"


def writable(path: Path) -> bool:
    """Return True if an existing workspace and the files that SQLite puts next to it can be written."""
    place = path.resolve()
    return _may_write(place) and _may_write(place.parent)


def _may_write(place: Path) -> bool:
    return os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _refuse_foreign(path: Path) -> None:
    """Refuse a file that is no workspace, before anything can write to it or next to it.

    The mark of a workspace is in the head of its file from the beginning, whatever the log next to it has.

    Raises
    ------
    ForeignFileError
        Another program made the file.
    StoreError
        It is no database, or a workspace of an older version.
    """
    if path.stat().st_size < _SMALLEST:
        raise foreign_error(path)  # SQLite would take it for an empty database
    address = path.absolute().as_uri()
    for _ in range(3):
        before = _state(path)
        with suppress(sqlite3.DatabaseError):
            return _check_mark(f"{address}?immutable=1", path.name)
        if before == _state(path):  # nobody wrote meanwhile, unseen by a look that takes no lock
            break
    # A log has what the file lacks.
    return _check_mark(f"{address}?{'mode=ro' if _has_log(path) else 'immutable=1'}", path.name)


def _check_mark(address: str, name: str) -> None:
    """Refuse a database without the mark of a workspace; see `_refuse_foreign`.

    SQLite alone opens it: closing the file in any other way would end the locks of this process on it.
    """
    with closing(sqlite3.connect(address, timeout=BUSY_SECONDS, uri=True)) as connection:
        if pragma(connection, "application_id") == APPLICATION:
            return
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if tables.issuperset(OLD_TABLES):
        raise old_error(name)
    raise foreign_error(Path(name))


def _state(path: Path) -> list[tuple[int, int, int]]:
    """Return a value that differs between states of a workspace and its write-ahead log."""
    found = []
    for file in (path, Path(f"{path}-wal")):
        with suppress(FileNotFoundError):
            stat = file.stat()
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return found


def _has_log(path: Path) -> bool:
    """Return True if a file has a write-ahead log that is not empty."""
    with suppress(FileNotFoundError):  # the last one to close the file takes it away at any moment
        return Path(f"{path}-wal").stat().st_size > 0
    return False


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch a file to WAL; where several do so at once, SQLite refuses some without waiting."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def pragma(connection: sqlite3.Connection, name: str) -> object:
    """The value of a setting of SQLite."""
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn the SQLite errors that a user can mend into sentences; all others are bugs."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damage_error(path, error) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise DiskFullError(f"The disk is full, so {path.name} cannot grow; free some "
                                "space and resume.") from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise BusyError(f"{path.name} stayed locked for {BUSY_SECONDS:.0f} s by another "
                            "process; try again when that one has finished.") from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH) or (
                str(error).startswith(_DAMAGE)):
            raise damage_error(path, error) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
                    sqlite3.SQLITE_IOERR):
            raise StoreError(f"{path} cannot be opened or written ({error}); check the folder "
                             "and its permissions.") from error
        raise


def foreign_error(path: Path) -> ForeignFileError:
    """The error of a database that is no workspace."""
    return ForeignFileError(f"{path.name} is somebody else's file and no qafd workspace; it "
                            "was left as it is. Choose another file.")


def damage_error(path: Path, error: BaseException) -> StoreError:
    """The error of a file that holds what qafd cannot have written."""
    return StoreError(f"{path.name} is damaged or no workspace ({error}); run `qafd doctor` on "
                      "it and restore a backup.")


def check_version(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True for a workspace of this version, False for an empty file.

    Raises
    ------
    NewerSchemaError, StoreError
        Another version of qafd wrote it. It is left untouched.
    """
    found = int(str(pragma(connection, "user_version")))
    if found > VERSION:
        raise newer_error(path.name)
    return bool(found)


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new workspace; raises as `check_version`."""
    if not check_version(connection, path):
        with transaction(connection, path):
            if not check_version(connection, path):  # another process may have made them meanwhile
                create_tables(connection)
                # one that is made where another was removed counts other versions
                connection.execute("INSERT INTO meta VALUES ('id', ?)", (secrets.token_hex(8),))


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Write all or nothing; the write lock is taken at once (BEGIN IMMEDIATE).

    A deferred BEGIN would fail at its first write whenever another process wrote since its
    first read, without waiting.
    """
    with translate_errors(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        finally:
            # some errors, a full disk among them, have rolled back already
            if connection.in_transaction:
                connection.execute("ROLLBACK")


_SAID: set[Path] = set()  # files of which it was said that they can only be read


_OPENED: set[Path] = set()  # files that this process has opened and that nobody removed through it


class WorkspaceFile(Tables):
    """An open connection to a workspace file, which all parts of a workspace share."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self.connection = connection
        self._file = _identity(path)
        self._process = os.getpid()
        self._writing = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = False,
             make: bool = True) -> Self:
        """Open a workspace; a missing one is made unless `make` is false.

        One that lies where nothing can be written is opened to be read.

        Raises
        ------
        StoreError
            The file cannot be opened, is damaged or is no workspace.
        NewerSchemaError
            A newer version of qafd wrote it; it is left untouched.
        """
        place = Path(path)
        if not read_only and place.is_file() and not writable(place):
            read_only = True
            if place not in _SAID:
                _SAID.add(place)
                logging.getLogger("qafd").warning(
                    "%s or its folder cannot be written, so it can be read but not changed.", place)
        known = place.resolve()
        if known in _OPENED and not place.exists():
            raise StoreError(f"The workspace {place} is gone: it was moved or deleted while it was in use. "
                             "Put it back, open it where it is now, or start qafd again to make a new one.")
        connection = connect(place, read_only, make)
        try:
            with translate_errors(place):
                if not read_only:
                    prepare(connection, place)
                elif not check_version(connection, place):
                    raise StoreError(f"{place.name} is empty and can only be read; index a document "
                                     "where it can be written.")
        except BaseException:  # Ctrl-C too: nobody else has the connection to close it
            connection.close()
            raise
        _OPENED.add(known)
        return cls(connection, place)

    @property
    def is_free(self) -> bool:
        """True if no transaction runs on it, and the file is where it was."""
        return (self._process == os.getpid() and not self.connection.in_transaction
                and _identity(self.path) == self._file)

    def close(self) -> None:
        """Close the file; also done at the end of a `with`."""
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
        with transaction(self.connection, self.path) as connection:
            self._writing = True
            try:
                yield connection
            finally:
                self._writing = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Reads that all see the same version of the workspace."""
        with translate_errors(self.path):
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
        return damage_error(self.path, error)

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
