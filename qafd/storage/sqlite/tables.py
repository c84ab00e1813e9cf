"""The tables of a workspace file, step by step as versions added them.

Documents and the log of extractions are what was put in; nodes, edges and passages are computed
from them and can be thrown away at any time.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qafd.storage.packing import pack_vectors
from qafd.storage.relational.base import Connection
from qafd.storage.relational.renewal import (
    HUBS,
    JOINED,
    KEYS,
    NUMBERED,
    NUMBERS,
    QUOTED,
    SHORTER,
    SIGNS,
    SMALLER,
    TEXTS,
    VECTORS,
    join_vectors,
    number_graph,
    number_vectors,
    quote_passages,
)
from qafd.storage.relational.text_search import TOKENIZER

if TYPE_CHECKING:
    from sqlite_utils import Database

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


def _execute(db: "Database", statements: str) -> None:
    """Execute statements one by one: a script would end the transaction that all steps share."""
    for statement in statements.split(";\n"):
        db.execute(statement)


Step = Callable[["Database"], None]
_INTEGERS = re.compile(r"\b(BIGINT|SMALLINT|IDENTITY)\b")


def _step(name: str, *parts: str | Callable[[Connection], None]) -> Step:
    """The step of a name, of statements and of what is done to rows between them."""
    def take(db: "Database") -> None:
        for part in parts:
            if isinstance(part, str):
                _execute(db, _INTEGERS.sub("INTEGER", part))
            else:
                part(db.conn)
    take.__name__ = name
    return take


def _first_tables(db: "Database") -> None:
    db.executescript(_TABLES)
    db.table("passages").enable_fts(["title", "text"], create_triggers=True, tokenize=TOKENIZER)


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


_FACT_TABLES = """
CREATE TABLE touched (document TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE facts (
    kind TEXT NOT NULL,
    term TEXT NOT NULL,
    passage INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, term, passage)
) WITHOUT ROWID;

CREATE TABLE passage_facts (passage INTEGER PRIMARY KEY, terms BLOB NOT NULL);

CREATE TABLE names (
    tree TEXT NOT NULL,
    key TEXT NOT NULL,
    first TEXT NOT NULL,
    second TEXT NOT NULL,
    common INTEGER NOT NULL,
    PRIMARY KEY (tree, key)
) WITHOUT ROWID;
CREATE INDEX names_first ON names (tree, first, second);

CREATE TABLE near (
    key TEXT NOT NULL,
    other TEXT NOT NULL,
    cosine REAL NOT NULL,
    PRIMARY KEY (key, other)
) WITHOUT ROWID;
CREATE INDEX near_other ON near (other);
"""

_TOUCHES = {"documents": "SELECT name FROM (SELECT {row}.name AS name)",
            "chunks": "SELECT name FROM (SELECT {row}.document AS name)",
            "extractions": "SELECT name FROM (SELECT document AS name FROM chunks "
                           "WHERE id = {row}.chunk)"}
"""Tables that the log is read from, to the document that a changed row belongs to."""


def _facts(db: "Database") -> None:
    _execute(db, _FACT_TABLES)
    for table, document in _TOUCHES.items():
        for event, rows in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
            # OR IGNORE would not count in a trigger of an upsert
            notes = "".join(f"INSERT INTO touched {document.format(row=row)} "
                            "WHERE name NOT IN (SELECT document FROM touched); " for row in rows)
            db.execute(f"CREATE TRIGGER {table}_{event.lower()}_touches AFTER {event} ON {table} "
                       f"BEGIN {notes}END")


def _counts(db: "Database") -> None:
    """Counts of tokens that no call can have, from endpoints that cannot count, become ours."""
    odd = " OR ".join(f"typeof({column}) != 'integer' OR {column} NOT BETWEEN 0 AND 100000000"
                      for column in ("tokens_in", "tokens_out"))
    db.execute("UPDATE llm_calls SET tokens_in = 0, tokens_out = length(reply) / 4, "
               f"estimated = 1, cost = NULL WHERE {odd}")
    db.execute("UPDATE llm_calls SET cost = NULL WHERE cost NOT BETWEEN 0 AND 1000000")


def _byte_vectors(db: "Database") -> None:
    """Vectors of a byte a number, keys of 16 bytes; the graph is to be made anew from them."""
    views = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view' "
                       "AND name IN ('entities', 'relations')").fetchall()
    for name, _ in views:
        db.execute(f"DROP VIEW {name}")
    for table, columns, check in (
            ("embeddings", "key TEXT PRIMARY KEY, model TEXT NOT NULL, dimension INTEGER NOT NULL, "
             "vector BLOB NOT NULL", "CHECK (length(vector) = dimension)"),
            ("nodes", "id TEXT PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, "
             "text TEXT NOT NULL, tokens INTEGER NOT NULL, vector BLOB NOT NULL, "
             "name_vector BLOB NOT NULL",
             "CHECK (length(name_vector) IN (0, length(vector)))")):
        db.execute(f"CREATE TABLE {table}_anew ({columns} {check})")
        first = db.execute(f"SELECT * FROM {table} LIMIT 0")
        marks = ", ".join("?" * len(first.description))
        rows = db.execute(f"SELECT * FROM {table} ORDER BY rowid")
        db.conn.executemany(f"INSERT INTO {table}_anew VALUES ({marks})", map(_in_bytes, rows))
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE {table}_anew RENAME TO {table}")
    for _, statement in views:
        db.execute(statement)
    db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'log_revision' "
               "AND EXISTS (SELECT 1 FROM nodes)")
    db.execute("DELETE FROM meta WHERE key IN ('facts', 'row_sums')")


def _in_bytes(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of vectors of float32 as it is kept now."""
    key, *rest = row
    kept = [pack_vectors(np.frombuffer(field, "<f4")[None, :])[0]
            if isinstance(field, bytes) else field for field in rest]
    if len(kept) == 3:
        return key[:32], *kept
    *kept, vector, name = kept
    return key, *kept, vector, b"" if name == vector else name


STEPS: tuple[Step, ...] = (
    _first_tables,
    _step("_layers", "CREATE TABLE layers (name TEXT PRIMARY KEY, version TEXT NOT NULL, "
          "builder INTEGER NOT NULL, built_at TEXT NOT NULL, sha256 TEXT NOT NULL, "
          "body BLOB NOT NULL)",
          "ALTER TABLE jobs ADD COLUMN layers TEXT NOT NULL DEFAULT ''"),
    _step("_models", _MODEL_TABLES),
    _step("_edits", "CREATE TABLE edits (id INTEGER PRIMARY KEY AUTOINCREMENT, "
          "action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'hide')), "
          "key TEXT NOT NULL, name TEXT NOT NULL, made_at TEXT NOT NULL, undone_at TEXT)"),
    _step("_runs", "CREATE TABLE runs (id TEXT PRIMARY KEY REFERENCES retrievals (id) ON DELETE CASCADE, "
          "note TEXT NOT NULL, nodes INTEGER NOT NULL, tokens INTEGER NOT NULL, exact INTEGER, "
          "deleted_at TEXT) WITHOUT ROWID"),
    # SQLite cannot change a CHECK
    _step("_edges_by_hand", "CREATE TABLE edits_anew (id INTEGER PRIMARY KEY AUTOINCREMENT, "
          "action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'hide', 'join', 'cut')), "
          "key TEXT NOT NULL, name TEXT NOT NULL, made_at TEXT NOT NULL, undone_at TEXT, "
          "label TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')",
          "INSERT INTO edits_anew (id, action, key, name, made_at, undone_at) "
          "SELECT id, action, key, name, made_at, undone_at FROM edits",
          "DROP TABLE edits",
          "ALTER TABLE edits_anew RENAME TO edits"),
    _step("_types_by_hand", "CREATE TABLE edits_anew (id INTEGER PRIMARY KEY AUTOINCREMENT, "
          "action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'hide', 'join', 'cut', 'type')), "
          "key TEXT NOT NULL, name TEXT NOT NULL, made_at TEXT NOT NULL, undone_at TEXT, "
          "label TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')",
          "INSERT INTO edits_anew SELECT id, action, key, name, made_at, undone_at, label, "
          "note FROM edits",
          "DROP TABLE edits",
          "ALTER TABLE edits_anew RENAME TO edits"),
    _counts, _facts, _byte_vectors,
    _step("_hubs", HUBS),
    # passages by their document, and what a vector of a name is compared by first
    _step("_signs", "CREATE INDEX passages_document ON passages (document)", SIGNS),
    _step("_smaller", SMALLER), _step("_numbers", NUMBERS, number_graph, NUMBERED),
    _step("_vectors", VECTORS, join_vectors, JOINED), _step("_texts", TEXTS, quote_passages, QUOTED),
    _step("_shorter", KEYS, number_vectors, SHORTER))
"""The n-th step leads from schema n to schema n + 1; a released step is never edited nor renamed, since
a workspace has the names of those that it went through."""

META = _TABLES.strip().partition(";")[0]
"""The statement that makes the table `meta`."""

_NEW: tuple[frozenset[str] | set[str], ...] = (
    frozenset({*re.findall(r"CREATE TABLE (\w+)", _TABLES), "passages_fts"}), {"layers"},
    frozenset(re.findall(r"CREATE TABLE (\w+)", _MODEL_TABLES)), {"edits"}, {"runs"}, frozenset(),
    frozenset(), frozenset(), frozenset(re.findall(r"CREATE TABLE (\w+)", _FACT_TABLES)), frozenset(),
    {"hubs"}, {"signs"}, frozenset(), frozenset(), frozenset(), frozenset(),
    frozenset())


def names(version: int) -> frozenset[str]:
    """The tables of a workspace with this schema, or with the newest one where that is older."""
    return frozenset().union(*_NEW[:version])
