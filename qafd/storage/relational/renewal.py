"""What upgrades of the tables do, the same for every backend; as released steps, none is ever edited.

A backend says in its words what TEXT, REAL, BLOB, SMALLINT, BIGINT and IDENTITY are, and a table
WITHOUT ROWID.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qafd.storage.relational.base import Connection

HUBS = """
ALTER TABLE nodes ADD COLUMN scale REAL NOT NULL DEFAULT 1;
CREATE TABLE hubs (key TEXT PRIMARY KEY, counts TEXT NOT NULL, sums BLOB NOT NULL) WITHOUT ROWID;
UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS text) WHERE key = 'log_revision'
    AND EXISTS (SELECT 1 FROM nodes);
DELETE FROM meta WHERE key IN ('facts', 'row_sums')
"""
"""The factor of a node beside its edges, sums of frequent names; the graph is to be made anew."""

SIGNS = """
CREATE TABLE signs (block INTEGER PRIMARY KEY, names TEXT NOT NULL, codes BLOB NOT NULL)
"""
"""What a vector of a name is compared by first."""

SMALLER = """
DROP TABLE facts;
DROP TABLE names;
DELETE FROM passage_facts;
CREATE TABLE facts (
    kind SMALLINT NOT NULL,
    term TEXT NOT NULL,
    passage INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, term, passage)
) WITHOUT ROWID;
CREATE TABLE names (key TEXT PRIMARY KEY, first TEXT NOT NULL, second TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX names_first ON names (first, second);
UPDATE embeddings SET key = substr(key, 1, 24);
UPDATE nodes SET text = '' WHERE kind = 'passage';
UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS text) WHERE key = 'log_revision'
    AND EXISTS (SELECT 1 FROM nodes);
DELETE FROM meta WHERE key IN ('facts', 'row_sums')
"""
"""Kinds of facts as numbers, keys of 12 bytes, texts of passages once; the graph is to be made anew."""

NUMBERS = """
CREATE TABLE nodes_anew (
    number BIGINT PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    vector BLOB NOT NULL,
    name_vector BLOB NOT NULL CHECK (length(name_vector) IN (0, length(vector))),
    scale REAL NOT NULL
);
CREATE TABLE edges_anew (
    source BIGINT NOT NULL,
    target BIGINT NOT NULL,
    kind SMALLINT NOT NULL,
    label TEXT NOT NULL,
    similarity REAL NOT NULL CHECK (similarity > 0),
    count INTEGER NOT NULL,
    evidence BLOB NOT NULL,
    PRIMARY KEY (source, target, kind, label)
) WITHOUT ROWID
"""
"""Nodes by numbers, which edges and what they rest on refer to them by."""

VECTORS = """
CREATE TABLE embeddings_anew (
    id IDENTITY PRIMARY KEY,
    key TEXT UNIQUE,
    model INTEGER NOT NULL,
    checksum BIGINT NOT NULL,
    vectors BLOB NOT NULL CHECK (length(vectors) > 0)
);
CREATE TABLE nodes_anew (
    number BIGINT PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    said INTEGER,
    scale REAL NOT NULL
)
"""
"""Each vector once, those of a passage and its sentences together."""

TEXTS = """
CREATE TABLE nodes_anew (
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
)
"""
"""What a passage has of the text of a node is kept there alone."""

KEYS = """
CREATE TABLE embeddings_anew (
    id IDENTITY PRIMARY KEY,
    key BIGINT UNIQUE,
    model INTEGER NOT NULL,
    checksum BIGINT NOT NULL,
    vectors BLOB NOT NULL CHECK (length(vectors) > 0)
)
"""
"""Keys of vectors as numbers, checksums of 12 bytes, claims of names as letters."""

KINDS = ("by_hand", "extracted", "mention", "relation", "synonym")


NUMBERED = """
DROP VIEW entities;
DROP VIEW relations;
DROP TABLE nodes;
DROP TABLE edges;
ALTER TABLE nodes_anew RENAME TO nodes;
ALTER TABLE edges_anew RENAME TO edges;
CREATE INDEX edges_target ON edges (target);
CREATE VIEW entities AS
    SELECT id, name, key, text AS evidence FROM nodes WHERE kind = 'entity';
CREATE VIEW relations AS
    SELECT head.name AS source, edges.label, tail.name AS target, edges.count, edges.similarity
    FROM edges
    JOIN nodes AS head ON head.number = edges.source
    JOIN nodes AS tail ON tail.number = edges.target
    WHERE edges.kind = 3;
DELETE FROM meta WHERE key = 'row_sums'
"""

JOINED = f"""
DROP VIEW entities;
DROP VIEW relations;
DROP TABLE nodes;
DROP TABLE embeddings;
ALTER TABLE nodes_anew RENAME TO nodes;
ALTER TABLE embeddings_anew RENAME TO embeddings;
{NUMBERED[NUMBERED.index("CREATE VIEW"):]}"""

QUOTED = f"""
DROP VIEW entities;
DROP VIEW relations;
DROP TABLE nodes;
ALTER TABLE nodes_anew RENAME TO nodes;
CREATE VIEW entities AS
    SELECT nodes.id, name, key, coalesce(substr(passages.text, place + 1, size), nodes.text) AS evidence
    FROM nodes LEFT JOIN passages ON passages.rowid = nodes.passage WHERE kind = 'entity';
{NUMBERED[NUMBERED.index("CREATE VIEW relations"):]}"""

SHORTER = """
DROP TABLE embeddings;
ALTER TABLE embeddings_anew RENAME TO embeddings;
CREATE TABLE touched_before (document TEXT);
INSERT INTO touched_before SELECT document FROM touched;
UPDATE documents SET sha256 = substr(sha256, 1, 24);
UPDATE chunks SET sha256 = substr(sha256, 1, 24);
UPDATE extractions SET sha256 = substr(sha256, 1, 24);
DELETE FROM touched;
INSERT INTO touched SELECT document FROM touched_before;
DROP TABLE touched_before;
DELETE FROM plans;
UPDATE facts SET body = 's' WHERE kind = 0 AND body <> '';
UPDATE facts SET body = substr(body, 1, 1) WHERE kind = 2 AND body <> ''
"""


def number_graph(connection: Connection) -> None:
    """Fill `nodes_anew` and `edges_anew`, where numbers stand for ids of nodes and kinds of edges."""
    nodes = connection.execute("SELECT id, kind, key, name, text, tokens, vector, name_vector, scale "
                               "FROM nodes ORDER BY id")
    connection.executemany("INSERT INTO nodes_anew VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           ((_number(row[0]), *row) for row in nodes))
    edges = connection.execute("SELECT source, target, kind, label, similarity, count, evidence "
                               "FROM edges ORDER BY source, target")
    connection.executemany("INSERT INTO edges_anew VALUES (?, ?, ?, ?, ?, ?, ?)", _numbered(edges))


def _number(node: str) -> int:
    return int(node[:15], 16)


def _numbered(edges: Any) -> Iterator[tuple[Any, ...]]:
    for source, target, kind, label, similarity, count, evidence in edges:
        packed = b""
        for chunk, sentence in json.loads(evidence):
            if kind == "mention":
                packed += struct.pack(">I", sentence)
            else:
                passage = hashlib.sha256(f"passage\n{chunk}".encode()).hexdigest()
                packed += struct.pack(">qI", _number(passage), sentence)
        yield _number(source), _number(target), KINDS.index(kind), label, similarity, count, packed


def join_vectors(connection: Connection) -> None:
    """Fill `embeddings_anew`, where the vectors of a passage and its sentences are one row, and
    `nodes_anew`, which refers to it; a graph whose vectors are not there is to be made anew."""
    kept = dict(connection.execute("SELECT key, value FROM meta"))
    present, earlier = kept.get("embedder", ""), kept.get("earlier_embedder", "")
    models = {name: number for name, number in ((present, int(bool(earlier))), (earlier, 0)) if name}
    if earlier:
        (size,) = connection.execute("SELECT coalesce(max(dimension), 0) FROM embeddings WHERE model = ?",
                                     (earlier,)).fetchone()
        connection.execute("INSERT INTO meta VALUES ('models', '1'), ('earlier_dimension', ?)", (str(size),))
    put = ("INSERT INTO embeddings_anew (key, model, checksum, vectors) VALUES (?, ?, ?, ?) "
           "ON CONFLICT DO NOTHING")
    joined: set[str] = set()
    for passage in connection.execute("SELECT extractions.id, title, text FROM chunks "
                                      "JOIN extractions ON chunk = chunks.id").fetchall():
        for model, number in models.items():
            key, keys, vectors = _passage_vectors(connection, model, *passage)
            if vectors:
                joined.update(keys)
                connection.execute(put, (key, number, zlib.crc32(vectors), vectors))
    connection.executemany(put, ((key, models[model], zlib.crc32(vector), vector) for key, model, vector in
                                 connection.execute("SELECT key, model, vector FROM embeddings")
                                 if key not in joined and model in models))
    for model in models:
        nodes = _refer(connection, model, kept.get("extractor", ""))
        if nodes is not None:
            connection.executemany("INSERT INTO nodes_anew VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", nodes)
            return
    connection.execute("UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) "
                       "WHERE key = 'log_revision' AND EXISTS (SELECT 1 FROM nodes)")
    connection.execute("DELETE FROM meta WHERE key = 'facts'")
    connection.execute("DELETE FROM edges")
    connection.execute("DELETE FROM hubs")


def quote_passages(connection: Connection) -> None:
    """Fill `nodes_anew`, where the text of a node is that of its passage or, of a name, of the first one
    in the log that has it in a sentence, as far as it is in there."""
    told_in: dict[int, str] = {}
    passages = {}
    for number, key, row, text in connection.execute(
            "SELECT number, key, passages.rowid, passages.text FROM nodes "
            "JOIN passages ON passages.id = key WHERE kind = 'passage' "
            "ORDER BY document, start, passages.id").fetchall():
        passages[key] = row, text
        for (name,) in connection.execute(
                "SELECT source FROM edges WHERE target = ? AND kind = 2 AND length(evidence) > 0",
                (number,)):
            told_in.setdefault(name, key)
    connection.executemany(
        "INSERT INTO nodes_anew VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _quoted(connection.execute("SELECT number, id, kind, key, name, text, tokens, vectors, said, scale "
                                   "FROM nodes ORDER BY number"), passages, told_in))


def _quoted(nodes: Any, passages: Mapping[str, tuple[int, str]], told_in: Mapping[int, str]
            ) -> Iterator[tuple[Any, ...]]:
    for number, node, kind, key, name, text, *rest in nodes:
        row, whole = passages.get(key if kind == "passage" else told_in.get(number, ""), (None, ""))
        own = whole if kind == "passage" else text
        place = whole.find(own)
        if row is None or place < 0:
            yield number, node, kind, key, name, text, None, None, None, *rest
        else:
            yield number, node, kind, key, name, "", row, place, len(own), *rest


def number_vectors(connection: Connection) -> None:
    """Fill `embeddings_anew`, where numbers stand for keys."""
    rows = connection.execute("SELECT id, key, model, checksum, vectors FROM embeddings ORDER BY id")
    connection.executemany(
        "INSERT INTO embeddings_anew (id, key, model, checksum, vectors) VALUES (?, ?, ?, ?, ?)",
        ((row, None if key is None else _number(key), *rest) for row, key, *rest in rows))


def _passage_vectors(connection: Connection, model: str, extraction: int, title: str, text: str
                     ) -> tuple[str, list[str], bytes]:
    """The new key of a passage, its old ones, and its vectors; none where one is missing."""
    spans = connection.execute('SELECT start, "end" FROM sentences WHERE extraction = ? '
                               "ORDER BY position", (extraction,)).fetchall()
    keys = [_key(model, f"passage\n{title}\n{text}"),
            *(_key(model, f"sentence {start}-{end}\n{title}\n{text}") for start, end in spans)]
    found = dict(connection.execute("SELECT key, vector FROM embeddings WHERE key IN "
                                    "(SELECT value FROM json_each(?))", (json.dumps(keys),)))
    vectors = b"".join(found[key] for key in keys) if len(found) == len(set(keys)) else b""
    return _passage_key(model, title, text, spans), keys, vectors


def _refer(connection: Connection, model: str, extractor: str) -> list[tuple[Any, ...]] | None:
    """The nodes with the rows of their vectors of a model; None where these are not those they have."""
    passages = {key: (title, text) for key, title, text in connection.execute(
        "SELECT id, title, text FROM passages")}
    spans: dict[str, list[tuple[int, int]]] = {}
    for chunk, start, end in connection.execute(
            'SELECT chunk, start, "end" FROM extractions JOIN sentences ON extraction = extractions.id '
            "WHERE extractor = ? ORDER BY chunk, position", (extractor,)):
        spans.setdefault(chunk, []).append((start, end))
    at = dict(connection.execute("SELECT key, id FROM embeddings_anew"))
    said = _said(connection)
    nodes = []
    for *node, vector, name, scale in connection.execute(
            "SELECT number, id, kind, key, name, text, tokens, vector, name_vector, scale FROM nodes "
            "ORDER BY number"):
        key = node[3]
        if node[2] == "passage":
            kept = _passage_key(model, *passages.get(key, ("", "")), spans.get(key, []))
        else:
            kept = _key(model, key)
        row, told = at.get(kept), at.get(_key(model, said[key])) if key in said else None
        if row is None or key in said and told is None:
            return None
        (vectors,) = connection.execute("SELECT vectors FROM embeddings_anew WHERE id = ?",
                                        (row,)).fetchone()
        if vectors[:len(vector)] != (name or vector):
            return None
        nodes.append((*node, row, told, scale))
    return nodes


def _said(connection: Connection) -> dict[str, str]:
    """What models say of each key and its relations."""
    if not connection.execute("SELECT 1 FROM descriptions LIMIT 1").fetchone():
        return {}
    found: dict[str, set[str]] = {}
    for key, body in connection.execute("SELECT term, body FROM facts WHERE kind = 3"):
        _, _, about, *_, related = json.loads(body)
        if about or related:
            found.setdefault(key, set()).update(about, related)
    return {key: f"{key}: {' '.join(sorted(texts))}"[:2000] for key, texts in found.items()}


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}|{text}".encode()).hexdigest()[:24]


def _passage_key(model: str, title: str, text: str, spans: Iterable[tuple[int, int]]) -> str:
    return _key(model, f"passage {' '.join(f'{start}-{end}' for start, end in spans)}\n{title}\n{text}")
