"""Workspaces that are SQLite files: everything about one is in this folder."""

import hashlib
import logging
import os
import secrets
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from glob import escape
from itertools import chain
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote_to_bytes

from filelock import FileLock, Timeout

from qafd.errors import BusyError, DiskFullError, ForeignFileError, StoreError
from qafd.records import Chunk
from qafd.storage.relational.base import Connection, Tables, meta, to_json
from qafd.storage.relational.log import columns_of
from qafd.storage.relational.passages import (
    OFF,
    ON,
    SNIPPET,
    TOKENIZER,
    SqlPassages,
    match_of,
    snippet_parts,
)
from qafd.storage.relational.schema import SCHEMA, VERSION, newer_error, old_error
from qafd.storage.relational.workspace import Lease, Workspace, runs
from qafd.storage.rows import Diagnosis, Found, Hit, WorkspacePlace

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
    return ForeignFileError(f"{path.name} is not a qafd workspace and was left unchanged. Choose another "
                            "file.")


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


GRACE_SECONDS = 5.0  # for one that has given the lease back and ends
RESERVE = 128 * 1024  # bytes kept beside the file, enough to write down that the disk is full


class SqliteLease(Lease):
    """A lock next to the file, which the system frees when its process ends, and the row that says whose."""

    _file: WorkspaceFile

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one process that extends the log."""
        with self._hold_lock():
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
    def _hold_lock(self) -> Iterator[None]:
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
            raise DiskFullError(f"There is no room next to {self._file.path.name} to work on it "
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
        """Remove every byte of deleted rows from the file, its write-ahead log, its columns and the
        workers' log.

        Errors in that log may quote them.

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
        from qafd.storage.sqlite.soundness import find_unsound

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
    from qafd.storage.sqlite.soundness import examine_file

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
