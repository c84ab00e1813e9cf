"""The tables of a workspace, in words that both backends translate.

Documents, extractions and edits are what was put in. Passages, nodes, edges and the tables after them are
computed from those and can be thrown away at any time.

A backend gives the types: IDENTITY is a number that the database counts, SERIAL one that is never given
twice. WITHOUT ROWID is for SQLite alone.
"""

import re

from qafd.errors import NewerSchemaError, OlderSchemaError

VERSION = 1
"""Of the schema; a workspace with another one is refused."""

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE jobs (
    id SERIAL PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')),
    stage TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    current TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '',
    cancel INTEGER NOT NULL DEFAULT 0,
    starts INTEGER NOT NULL DEFAULT 0,
    layers TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT
);

CREATE TABLE lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    token TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    heartbeat REAL NOT NULL DEFAULT 0
);

CREATE TABLE files (
    rowid IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
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
    rowid IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
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
    id IDENTITY PRIMARY KEY,
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

CREATE TABLE edits (
    id SERIAL PRIMARY KEY,
    action TEXT NOT NULL CHECK (action IN ('same', 'apart', 'split', 'hide', 'join', 'cut')),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '',
    passages TEXT NOT NULL DEFAULT '[]',
    made_at TEXT NOT NULL,
    undone_at TEXT
);

CREATE TABLE embeddings (
    id IDENTITY PRIMARY KEY,
    key BIGINT UNIQUE,
    model INTEGER NOT NULL,
    checksum BIGINT NOT NULL,
    vectors BLOB NOT NULL CHECK (length(vectors) > 0)
);

CREATE TABLE llm_calls (
    id SERIAL PRIMARY KEY,
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

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    made_at TEXT NOT NULL,
    question TEXT NOT NULL,
    method TEXT NOT NULL,
    params TEXT NOT NULL,
    revision INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    exact INTEGER,
    note TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    body BLOB NOT NULL,
    deleted_at TEXT
) WITHOUT ROWID;

CREATE TABLE passages (
    rowid IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL,
    title TEXT NOT NULL,
    heading TEXT NOT NULL,
    page INTEGER,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX passages_document ON passages (document);

-- A node that a passage has the text of: where it is in there. `vectors` and `said` are ids of embeddings.
CREATE TABLE nodes (
    number BIGINT PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    passage INTEGER,
    place INTEGER,
    size INTEGER,
    tokens INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    said INTEGER,
    scale REAL NOT NULL
);

-- From and to numbers of nodes; `kind` is a place in `qafd.storage.rows.EDGE_KINDS`.
CREATE TABLE edges (
    source BIGINT NOT NULL,
    target BIGINT NOT NULL,
    kind SMALLINT NOT NULL,
    label TEXT NOT NULL,
    similarity REAL NOT NULL CHECK (similarity > 0),
    count INTEGER NOT NULL,
    evidence BLOB NOT NULL,
    PRIMARY KEY (source, target, kind, label)
) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target);

-- Sums of the vectors of frequent names.
CREATE TABLE hubs (key TEXT PRIMARY KEY, counts TEXT NOT NULL, sums BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE layers (
    name TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    builder INTEGER NOT NULL,
    built_at TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    body BLOB NOT NULL
);

-- What each passage says, so that a change is assembled alone; see `postings.py`.
CREATE TABLE facts (
    kind SMALLINT NOT NULL,
    term TEXT NOT NULL,
    passage INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, term, passage)
) WITHOUT ROWID;
CREATE TABLE passage_facts (passage INTEGER PRIMARY KEY, terms BLOB NOT NULL);

CREATE TABLE names (key TEXT PRIMARY KEY, first TEXT NOT NULL, second TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX names_first ON names (first, second);

CREATE TABLE near (
    key TEXT NOT NULL,
    other TEXT NOT NULL,
    cosine REAL NOT NULL,
    PRIMARY KEY (key, other)
) WITHOUT ROWID;
CREATE INDEX near_other ON near (other);

CREATE TABLE signs (block INTEGER PRIMARY KEY, names TEXT NOT NULL, codes BLOB NOT NULL);

-- Documents that changed since the graph was made; triggers fill it.
CREATE TABLE touched (document TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE VIEW live AS
    SELECT chunks.*, extractions.id AS extraction
    FROM chunks
    JOIN documents ON documents.name = chunks.document AND documents.deleted_at IS NULL
    JOIN extractions ON extractions.chunk = chunks.id
        AND extractions.extractor = (SELECT value FROM meta WHERE key = 'extractor');

CREATE VIEW entities AS
    SELECT nodes.id, name, key, coalesce(substr(passages.text, place + 1, size), nodes.text) AS evidence
    FROM nodes LEFT JOIN passages ON passages.rowid = nodes.passage WHERE kind = 'entity';

CREATE VIEW relations AS
    SELECT head.name AS source, edges.label, tail.name AS target, edges.count, edges.similarity
    FROM edges
    JOIN nodes AS head ON head.number = edges.source
    JOIN nodes AS tail ON tail.number = edges.target
    WHERE edges.kind = 3;
"""

TABLES = tuple(re.findall(r"CREATE TABLE (\w+)", SCHEMA))
"""All tables of a workspace, those that others refer to first."""


def old_error(name: str) -> OlderSchemaError:
    """Build the error of a workspace of an older version."""
    return OlderSchemaError(f"{name} was written by an older version of qafd, which this version cannot "
                            "open; index its documents again in a new workspace. Nothing was changed.")


def newer_error(name: str) -> NewerSchemaError:
    """The error of a workspace of a newer version."""
    return NewerSchemaError(f"{name} was written by a newer version of qafd; install that version to open "
                            "it. Nothing was changed.")
