"""The workspace file: its tables, its migrations, its transactions and its backups.

One SQLite file per workspace. Documents and the log of extractions are what was put in; nodes,
edges and passages are computed from them and can be thrown away at any time.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.errors import BusyError, DiskFullError, NewerSchemaError, StoreError

if TYPE_CHECKING:
    from sqlite_utils import Database

BUSY_SECONDS = 30.0
_SMALLEST = 512  # bytes of a SQLite database with anything in it
_SHARED_MEMORY = 64 * 1024  # twice what SQLite's file of that name takes

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')),
    stage TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    current TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    cancel INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT
);

CREATE TABLE lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    token TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    heartbeat REAL NOT NULL
);

CREATE TABLE files (
    name TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    data BLOB,
    status TEXT NOT NULL CHECK (
        status IN ('queued', 'parsing', 'extracting', 'done', 'failed', 'cancelled')),
    error TEXT NOT NULL DEFAULT '',
    notices TEXT NOT NULL DEFAULT '[]',
    job INTEGER REFERENCES jobs (id) ON DELETE SET NULL,
    added_at TEXT NOT NULL,
    deleted_at TEXT
);
CREATE INDEX files_job ON files (job);

CREATE TABLE documents (
    name TEXT PRIMARY KEY,
    source TEXT NOT NULL REFERENCES files (name) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    marks TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    deleted_at TEXT
);
CREATE INDEX documents_source ON documents (source);

CREATE TABLE chunks (
    id TEXT PRIMARY KEY,
    document TEXT NOT NULL REFERENCES documents (name) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    title TEXT NOT NULL,
    heading TEXT NOT NULL,
    page INTEGER,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    sha256 TEXT NOT NULL
);
CREATE INDEX chunks_document ON chunks (document);

CREATE TABLE extractions (
    id INTEGER PRIMARY KEY,
    chunk TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    extractor TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    UNIQUE (chunk, extractor)
);

CREATE TABLE sentences (
    extraction INTEGER NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    PRIMARY KEY (extraction, position)
) WITHOUT ROWID;

CREATE TABLE mentions (
    extraction INTEGER NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    sentence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (extraction, position)
) WITHOUT ROWID;

CREATE TABLE assertions (
    extraction INTEGER NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    sentence INTEGER NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (extraction, position)
) WITHOUT ROWID;

CREATE TABLE embeddings (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    vector BLOB NOT NULL CHECK (length(vector) = 4 * dimension)
);

CREATE TABLE passages (
    rowid INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL,
    title TEXT NOT NULL,
    heading TEXT NOT NULL,
    page INTEGER,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL
);

CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    vector BLOB NOT NULL CHECK (length(vector) % 4 = 0),
    name_vector BLOB NOT NULL CHECK (length(name_vector) = length(vector))
);

CREATE TABLE edges (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    similarity REAL NOT NULL CHECK (similarity > 0),
    count INTEGER NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (source, target, kind, label)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target);

CREATE TABLE retrievals (
    id TEXT PRIMARY KEY,
    query TEXT NOT NULL,
    method TEXT NOT NULL,
    params TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER retrievals_never_change BEFORE UPDATE ON retrievals BEGIN
    SELECT RAISE (ABORT, 'a stored retrieval never changes');
END;

CREATE TABLE plans (
    question TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    embedding BLOB NOT NULL,
    keyword_embeddings BLOB NOT NULL
) WITHOUT ROWID;

CREATE VIEW live AS
    SELECT chunks.*, extractions.id AS extraction
    FROM chunks
    JOIN documents ON documents.name = chunks.document AND documents.deleted_at IS NULL
    JOIN extractions ON extractions.chunk = chunks.id
        AND extractions.extractor = (SELECT value FROM meta WHERE key = 'extractor');

CREATE VIEW entities AS
    SELECT id, name, key, text AS evidence FROM nodes WHERE kind = 'entity';

CREATE VIEW relations AS
    SELECT head.name AS source, edges.label, tail.name AS target, edges.count, edges.similarity
    FROM edges
    JOIN nodes AS head ON head.id = edges.source
    JOIN nodes AS tail ON tail.id = edges.target
    WHERE edges.kind = 'relation';
"""


TEXTUAL = ("meta", "jobs", "files", "documents", "chunks", "extractions", "mentions", "assertions",
           "plans", "retrievals", "llm_calls", "descriptions", "doubts", "edits", "runs")
"""The tables that hold texts and numbers rather than vectors."""

WORDS = "porter unicode61 remove_diacritics 2"
"""The FTS5 tokenizer of the search index."""


def _first_tables(db: "Database") -> None:
    db.executescript(_TABLES)
    db.table("passages").enable_fts(["title", "text"], create_triggers=True, tokenize=WORDS)


def _layers(db: "Database") -> None:
    db.execute(
        "CREATE TABLE layers (name TEXT PRIMARY KEY, version TEXT NOT NULL, "
        "builder INTEGER NOT NULL, built_at TEXT NOT NULL, sha256 TEXT NOT NULL, "
        "body BLOB NOT NULL)")
    db.execute("ALTER TABLE jobs ADD COLUMN layers TEXT NOT NULL DEFAULT ''")


_MODEL_TABLES = """
CREATE TABLE llm_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok', 'rejected', 'failed')),
    reply TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    cut INTEGER NOT NULL,
    cost REAL,
    seconds REAL NOT NULL,
    chunk TEXT NOT NULL,
    document TEXT NOT NULL,
    question TEXT NOT NULL,
    run TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX llm_calls_key ON llm_calls (key);

CREATE TABLE descriptions (
    extraction INTEGER NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    keywords TEXT NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (extraction, position)
) WITHOUT ROWID;
CREATE INDEX descriptions_source ON descriptions (source, target);

CREATE TABLE doubts (
    extraction INTEGER PRIMARY KEY REFERENCES extractions (id) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    again INTEGER NOT NULL DEFAULT 0
);
"""


def _models(db: "Database") -> None:
    # a script would end the transaction that all steps share
    for statement in _MODEL_TABLES.split(";\n"):
        db.execute(statement)


def _edits(db: "Database") -> None:
    db.execute(
        "CREATE TABLE edits (id INTEGER PRIMARY KEY AUTOINCREMENT, "
        "action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'hide')), "
        "key TEXT NOT NULL, name TEXT NOT NULL, made_at TEXT NOT NULL, undone_at TEXT)")


def _runs(db: "Database") -> None:
    db.execute(
        "CREATE TABLE runs (id TEXT PRIMARY KEY REFERENCES retrievals (id) ON DELETE CASCADE, "
        "note TEXT NOT NULL, nodes INTEGER NOT NULL, tokens INTEGER NOT NULL, exact INTEGER, "
        "deleted_at TEXT) WITHOUT ROWID")


def _edges_by_hand(db: "Database") -> None:
    # SQLite cannot change a CHECK
    db.execute(
        "CREATE TABLE edits_anew (id INTEGER PRIMARY KEY AUTOINCREMENT, "
        "action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'hide', 'join', 'cut')), "
        "key TEXT NOT NULL, name TEXT NOT NULL, made_at TEXT NOT NULL, undone_at TEXT, "
        "label TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')")
    db.execute("INSERT INTO edits_anew (id, action, key, name, made_at, undone_at) "
               "SELECT id, action, key, name, made_at, undone_at FROM edits")
    db.execute("DROP TABLE edits")
    db.execute("ALTER TABLE edits_anew RENAME TO edits")


Step = Callable[["Database"], None]
STEPS: tuple[Step, ...] = (_first_tables, _layers, _models, _edits, _runs,
                           _edges_by_hand)
"""The n-th step leads from schema n to schema n + 1; a released step is never edited."""


def connect(path: Path, read_only: bool = False, make: bool = True) -> sqlite3.Connection:
    """An open connection with the settings every part of qafd relies on.

    Raises
    ------
    StoreError
        The file is missing where it is not made, is no SQLite file, or cannot be opened.
    """
    with translated(path):
        if (read_only or not make) and not path.is_file():
            raise StoreError(f"There is no workspace at {path}; index a document first.")
        if read_only:
            # SQLite wants to put two files beside the workspace; it cannot where the folder is
            # not ours (an installed sample) or the disk is full.
            log = Path(f"{path}-wal")
            frozen = not (log.exists() and log.stat().st_size) and (
                not os.access(path.parent, os.W_OK)
                or shutil.disk_usage(path.parent).free < _SHARED_MEMORY)
            address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"
            connection = sqlite3.connect(address, BUSY_SECONDS, isolation_level=None, uri=True)
        else:
            if path.is_file() and 0 < path.stat().st_size < _SMALLEST:
                raise _foreign(path)  # SQLite would take it for an empty database
            connection = sqlite3.connect(
                path if make else f"{path.absolute().as_uri()}?mode=rw", BUSY_SECONDS,
                isolation_level=None, uri=not make)
        try:
            if not read_only and _pragma(connection, "journal_mode") != "wal":
                if not _pragma(connection, "user_version") and connection.execute(
                        "SELECT 1 FROM sqlite_master").fetchone():
                    connection.close()
                    raise _foreign(path)
                _write_ahead(connection)
            for setting in ("foreign_keys = ON", "synchronous = NORMAL", "cell_size_check = ON",
                            "secure_delete = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {setting}")
            _pragma(connection, "schema_version")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            connection.close()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
                raise _damaged(path, error) from error  # "unsupported file format"
            raise
    return connection


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


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn the SQLite errors that a user can mend into sentences; all others are bugs."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise _damaged(path, error) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise DiskFullError(
                f"The disk is full, so {path.name} cannot grow; free some space and resume."
            ) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise BusyError(
                f"{path.name} stayed locked for {BUSY_SECONDS:.0f} s by another process; "
                "try again when that one has finished."
            ) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or (
                str(error).startswith("Could not decode to UTF-8")):  # which has no code
            raise _damaged(path, error) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
                    sqlite3.SQLITE_IOERR):
            raise StoreError(
                f"{path} cannot be opened or written ({error}); check the folder and its "
                "permissions."
            ) from error
        raise


def _foreign(path: Path) -> StoreError:
    return StoreError(f"{path.name} is somebody else's file and no qafd workspace; it was left as "
                      "it is. Choose another file.")


def _damaged(path: Path, error: BaseException) -> StoreError:
    return StoreError(
        f"{path.name} is damaged or no workspace ({error}); run `qafd doctor` on it and restore a "
        "backup.")


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Write all or nothing; the write lock is taken at once (BEGIN IMMEDIATE).

    A deferred BEGIN would fail at its first write whenever another process wrote since its
    first read, without waiting.
    """
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        finally:
            # some errors, a full disk among them, have rolled back already
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def check_version(connection: sqlite3.Connection, path: Path, newest: int = len(STEPS)) -> int:
    """The number of migrations the file has gone through; 0 for an empty file.

    Raises
    ------
    NewerSchemaError
        The file was written by a newer version of qafd.
    """
    found = int(str(_pragma(connection, "user_version")))
    if found > newest:
        raise NewerSchemaError(
            f"{path.name} has schema {found}, this version of qafd knows schemas up to {newest}; "
            "install a newer qafd to open it. Nothing was changed."
        )
    return found


def migrate(connection: sqlite3.Connection, path: Path, steps: tuple[Step, ...] = STEPS) -> None:
    """Bring the file to the newest schema: backup first, then all steps in one transaction.

    Raises
    ------
    NewerSchemaError
        The file was written by a newer version of qafd; it is left untouched.
    StoreError
        The file is somebody else's SQLite database.
    """
    found = check_version(connection, path, len(steps))
    if found == len(steps):
        return
    # half a second that only the first opening of a file pays
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    if found:
        kept = path.with_name(f"{path.name}.schema{found}.backup")
        if not kept.exists():
            backup(connection, kept)
    db = Database(connection)
    migrations = Migrations("qafd")
    for step in steps:
        migrations(name=step.__name__)(step)
    with transaction(connection, path):
        if not check_version(connection, path, len(steps)) and db.table_names():
            raise _foreign(path)
        migrations.apply(db)
        connection.execute(f"PRAGMA user_version = {len(steps)}")


def backup(connection: sqlite3.Connection, destination: Path) -> None:
    """Copy the whole workspace, while others may write, and verify the copy.

    The copy is one file without a write-ahead log, and appears under its name only when it
    is complete and sound.

    Raises
    ------
    StoreError
        The destination exists, or the copy is not sound.
    """
    if destination.exists():
        raise StoreError(f"{destination} exists; a backup never overwrites a file.")
    partial = destination.with_name(f"{destination.name}.{os.getpid()}.partial")
    try:
        with translated(destination), closing(sqlite3.connect(partial)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            faults = unsound(copy)
        if faults:
            raise StoreError(f"The backup of this workspace is not sound: {faults[0]}")
        os.replace(partial, destination)
    finally:
        partial.unlink(missing_ok=True)


def unsound(connection: sqlite3.Connection) -> list[str]:
    """What SQLite itself finds wrong with a file: pages, indexes, foreign keys."""
    rows = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    orphans = [f"a row of {table} refers to a row of {parent} that is missing"
               for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check")]
    return rows + orphans
