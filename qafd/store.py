"""The store: documents and the log of extractions in, the knowledge graph out, in one SQLite file.

The graph is a pure function of the live log: which passages exist and what was extracted from
them. Whatever happened before (crashes, deletions, other orders) leaves no trace in it.
"""

import hashlib
import json
import os
import re
import secrets
import socket
import sqlite3
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from qafd import schema
from qafd.errors import BusyError, EmbedderMismatchError, ParameterError, StoreError
from qafd.graph import Graph
from qafd.records import (
    Assertion,
    Chunk,
    Document,
    Edge,
    Extraction,
    Keyword,
    Mark,
    Mention,
    Node,
    QueryPlan,
    Vectors,
)

HEARTBEAT_SECONDS = 3.0
STALE_SECONDS = 20.0

_CHUNK = 'id, document, title, text, start, "end", page, heading'


class DocumentNameError(StoreError):
    """A file's documents cannot be told apart by name."""


@dataclass(frozen=True)
class File:
    """A file the user gave, and how far it has come.

    `status` is "queued", "parsing", "extracting", "done", "failed" or "cancelled"; `error` says
    why it failed, `notices` what was left out of it; `passages` counts the passages of its
    documents, `extracted` those that are in the log.
    """

    name: str
    status: str
    error: str
    notices: tuple[str, ...]
    size: int
    documents: int
    passages: int
    extracted: int
    added_at: str
    deleted_at: str | None


@dataclass(frozen=True)
class DocumentRow:
    """A document of a file without its text; `pages` is 0 where the format has none."""

    name: str
    source: str
    title: str
    kind: str
    characters: int
    pages: int
    passages: int
    extracted: int
    names: int
    deleted_at: str | None


@dataclass(frozen=True)
class Log:
    """The live extraction log at one moment, in the order of document names and offsets.

    `extractions[i]` belongs to `chunks[i]`.
    """

    revision: int
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]


@dataclass(frozen=True)
class Evidence:
    """A sentence that mentions a node, at `start:end` of its document's text.

    `mentions` are the offsets of the names in that sentence, also within the document.
    """

    node: str
    chunk: str
    document: str
    title: str
    text: str
    start: int
    end: int
    page: int | None
    heading: str
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SavedRetrieval:
    """A stored retrieval: everything that is needed to draw it again."""

    id: str
    created_at: str
    revision: int
    sha256: str
    retrieval: dict[str, Any]
    plan: dict[str, Any]
    layout: dict[str, Any]


def checksum(*content: object) -> str:
    """SHA-256 of records, texts and numbers; `qafd doctor` finds by it what a disk changed."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()


def embedding_key(model: str, text: str) -> str:
    """Where the vector of a text is kept: a hash of the model's name and the text."""
    return hashlib.sha256(f"{model}|{text}".encode()).hexdigest()


def vector_keys(
    model: str, title: str, text: str, sentences: Iterable[tuple[int, int]]
) -> list[str]:
    """Where the vectors of a passage and then of its sentences are kept, 1 + s keys.

    All of them depend on the whole passage and its title.
    """
    whole = f"{title}\n{text}"
    return [embedding_key(model, f"passage\n{whole}"),
            *(embedding_key(model, f"sentence {start}-{end}\n{whole}") for start, end in sentences)]


class Store:
    """An open workspace file; belongs to the thread that opened it.

    Use as ``with Store.open(path) as store``. Every read method sees one version of the
    workspace, every write method is one transaction.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._token = ""
        self._writing = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], read_only: bool = False) -> "Store":
        """Open a workspace; a missing file is made, an older schema is brought up to date.

        Raises
        ------
        StoreError
            The file cannot be opened, is damaged or is no workspace.
        NewerSchemaError
            It was written by a newer version of qafd; it is left untouched.
        """
        place = Path(path)
        connection = schema.connect(place, read_only)
        try:
            with schema.translated(place):
                if not read_only:
                    schema.migrate(connection, place)
                elif schema.check_version(connection, place) < len(schema.STEPS):
                    raise StoreError(
                        f"{place.name} has an older schema; open it once for writing (any "
                        "`qafd` command that changes it) to bring it up to date."
                    )
        except BaseException:
            connection.close()
            raise
        return cls(connection, place)

    def close(self) -> None:
        """Close the file; also done at the end of a `with` block."""
        self._connection.close()

    def __enter__(self) -> "Store":
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
        with schema.transaction(self._connection, self.path) as connection:
            self._writing = True
            try:
                yield connection
            finally:
                self._writing = False

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Reads that all see the same version of the workspace."""
        with schema.translated(self.path):
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

    # Files and documents

    def add_file(self, name: str, data: bytes, job: int | None = None) -> bool:
        """Take in a file; True when there is work to do for it.

        The same bytes under the same name change nothing (a deleted file comes back);
        other bytes replace the file: its documents stay until the new ones are parsed.
        """
        name = clean_name(name)
        digest = hashlib.sha256(data).hexdigest()
        with self.transaction() as connection:
            known = connection.execute(
                "SELECT sha256, status, deleted_at FROM files WHERE name = ?", (name,)).fetchone()
            if known and known[0] == digest and known[1] == "done":
                if known[2] is not None:
                    self._undo(connection, name)
                return False
            connection.execute(
                "INSERT INTO files (name, sha256, size, data, status, job, added_at) "
                "VALUES (?, ?, ?, ?, 'queued', ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "sha256 = excluded.sha256, size = excluded.size, data = excluded.data, "
                "status = 'queued', error = '', job = excluded.job, deleted_at = NULL",
                (name, digest, len(data), data, job, now()))
        return True

    def begin(self, name: str) -> bytes | None:
        """Start to parse a file: its bytes, or None when it is not waiting (any more)."""
        with self.transaction() as connection:
            row = connection.execute(
                "UPDATE files SET status = 'parsing' WHERE name = ? AND deleted_at IS NULL "
                "AND status IN ('queued', 'parsing') RETURNING data", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def finish(self, name: str) -> None:
        """A file is done; its text is stored, so its bytes are dropped.

        Unless it was replaced in the meantime: then it waits for its turn.
        """
        with self.transaction() as connection:
            connection.execute(
                "UPDATE files SET status = 'done', data = NULL "
                "WHERE name = ? AND status = 'extracting'", (name,))

    def fail(self, name: str, error: str) -> None:
        """A file cannot be read, for a reason in one sentence."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE files SET status = 'failed', error = ? "
                "WHERE name = ? AND status IN ('parsing', 'extracting')", (error, name))

    def cancel(self, names: Iterable[str]) -> None:
        """Stop these files where they are; what was logged stays in the graph."""
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE files SET status = 'cancelled' "
                "WHERE name = ? AND status IN ('queued', 'parsing', 'extracting')",
                [(name,) for name in names])

    def retry(self, names: Iterable[str], job: int | None = None) -> int:
        """Let files that failed or were cancelled wait again; returns how many."""
        with self.transaction() as connection:
            before = connection.total_changes
            connection.executemany(
                "UPDATE files SET status = 'queued', error = '', job = ? "
                "WHERE name = ? AND status IN ('failed', 'cancelled')",
                [(job, name) for name in names])
            return connection.total_changes - before

    def files(self) -> tuple[File, ...]:
        """All files, in the order in which they came."""
        with self.snapshot() as connection:
            extractor = _meta(connection, "extractor")
            rows = connection.execute(
                "SELECT files.name, files.status, files.error, files.notices, files.size, "
                "  count(DISTINCT documents.name), count(chunks.id), count(extractions.id), "
                "  files.added_at, files.deleted_at "
                "FROM files LEFT JOIN documents ON documents.source = files.name "
                "LEFT JOIN chunks ON chunks.document = documents.name "
                "LEFT JOIN extractions ON extractions.chunk = chunks.id AND extractor = ? "
                "GROUP BY files.rowid ORDER BY files.rowid", (extractor,)).fetchall()
        return tuple(
            File(*(*row[:3], tuple(json.loads(row[3])), *row[4:])) for row in rows)

    def documents(self, source: str | None = None) -> tuple[DocumentRow, ...]:
        """All documents, or those of one file, in the order of files and positions."""
        with self.snapshot() as connection:
            extractor = _meta(connection, "extractor")
            rows = connection.execute(
                "SELECT documents.name, source, documents.title, documents.kind, "
                "  length(documents.text), coalesce(max(page), 0), count(DISTINCT chunks.id), "
                "  count(DISTINCT extractions.id), count(DISTINCT mentions.key), "
                "  documents.deleted_at "
                "FROM documents JOIN files ON files.name = source "
                "LEFT JOIN chunks ON chunks.document = documents.name "
                "LEFT JOIN extractions ON extractions.chunk = chunks.id AND extractor = ? "
                "LEFT JOIN mentions ON mentions.extraction = extractions.id "
                "  AND mentions.kind != 'term' "
                "WHERE ? IS NULL OR source = ? "
                "GROUP BY documents.rowid ORDER BY files.rowid, documents.position",
                (extractor, source, source)).fetchall()
        return tuple(DocumentRow(*row) for row in rows)

    def document(self, name: str) -> Document:
        """A document with its text and marks."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT name, title, kind, text, marks FROM documents WHERE name = ?",
                (name,)).fetchone()
        if row is None:
            raise StoreError(f"There is no document called {name!r} in this workspace.")
        return Document(*(*row[:4], tuple(Mark(*mark) for mark in json.loads(row[4]))))

    def put_documents(
        self, source: str, parsed: Sequence[tuple[Document, tuple[Chunk, ...]]],
        notices: Sequence[str] = (),
    ) -> bool:
        """Make these the documents of a file; passages that did not change keep their log.

        Returns False, and writes nothing, when the file was replaced or removed since `begin`.

        Raises
        ------
        DocumentNameError
            Two documents have one name, within the file or across files.
        """
        names = {document.name for document, _ in parsed}
        if len(names) < len(parsed):
            raise DocumentNameError(
                f"{source} has {len(parsed)} records but only {len(names)} different names; "
                "give each record an id of its own.")
        with self.transaction() as connection:
            self.check_lease()
            moved = connection.execute(
                "UPDATE files SET status = 'extracting', error = '', notices = ? "
                "WHERE name = ? AND status = 'parsing' RETURNING deleted_at",
                (json.dumps(notices), source)).fetchone()
            if moved is None:
                return False
            owners = dict(connection.execute("SELECT name, source FROM documents"))
            taken = sorted(name for name in names if owners.get(name, source) != source)
            if taken:
                raise DocumentNameError(
                    f"{source} has a document called {taken[0]!r}, and so has "
                    f"{owners[taken[0]]}; rename one of the files.")
            for name in sorted(owners):
                if owners[name] == source and name not in names:
                    connection.execute("DELETE FROM documents WHERE name = ?", (name,))
            for position, (document, chunks) in enumerate(parsed):
                marks = json.dumps([[m.start, m.page, m.heading] for m in document.marks])
                content = (document.title, document.kind, document.text, marks)
                connection.execute(
                    "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET position = excluded.position, "
                    "title = excluded.title, kind = excluded.kind, text = excluded.text, "
                    "marks = excluded.marks, sha256 = excluded.sha256, "
                    "deleted_at = excluded.deleted_at",
                    (document.name, source, position, *content, checksum(*content), moved[0]))
                _put_chunks(connection, document.name, chunks)
            _bump(connection, "log_revision")
        return True

    def delete(self, name: str) -> None:
        """Take a file, or one document of a file, out of the graph; `undo` brings it back.

        The graph follows at its next assembly.
        """
        moment = now()
        with self.transaction() as connection:
            gone = connection.execute(
                "UPDATE files SET deleted_at = ? WHERE name = ? AND deleted_at IS NULL",
                (moment, name)).rowcount
            gone += connection.execute(
                "UPDATE documents SET deleted_at = ? "
                "WHERE (name = ? OR source = ?) AND deleted_at IS NULL",
                (moment, name, name)).rowcount
            if not gone:
                raise StoreError(f"There is nothing called {name!r} to delete.")
            _bump(connection, "log_revision")

    def undo(self, name: str) -> None:
        """Bring back what `delete(name)` took away."""
        with self.transaction() as connection:
            if not self._undo(connection, name):
                raise StoreError(f"There is nothing called {name!r} to bring back.")

    def _undo(self, connection: sqlite3.Connection, name: str) -> int:
        # Documents deleted one by one, before their file was, stay deleted.
        back = connection.execute(
            "UPDATE documents SET deleted_at = NULL WHERE deleted_at IS NOT NULL AND (name = ? "
            "OR source = ? AND deleted_at = (SELECT deleted_at FROM files WHERE name = ?))",
            (name, name, name)).rowcount
        back += connection.execute(
            "UPDATE files SET deleted_at = NULL WHERE name = ? AND deleted_at IS NOT NULL",
            (name,)).rowcount
        # What was deleted before it was read through has still to be read.
        connection.execute(
            "UPDATE files SET status = 'extracting' WHERE status = 'done' AND name IN ("
            "  SELECT source FROM documents JOIN chunks ON document = documents.name "
            "  WHERE (documents.name = ? OR source = ?) AND NOT EXISTS ("
            "    SELECT 1 FROM extractions WHERE chunk = chunks.id AND extractor = ?))",
            (name, name, _meta(connection, "extractor")))
        _bump(connection, "log_revision")
        return back

    def purge(self, name: str) -> None:
        """Remove a file or a document for good, with every stored retrieval that quotes it.

        Vectors and graph follow at the next assembly.
        """
        with self.transaction() as connection:
            names = {row[0] for row in connection.execute(
                "SELECT name FROM documents WHERE name = ? OR source = ?", (name, name))}
            known = connection.execute("SELECT 1 FROM files WHERE name = ?", (name,)).fetchone()
            if not names and not known:
                raise StoreError(f"There is nothing called {name!r} to remove.")
            self._forget_vectors(connection, names)
            connection.execute(
                "DELETE FROM documents WHERE name = ? OR source = ?", (name, name))
            connection.execute("DELETE FROM files WHERE name = ?", (name,))
            quoting = [
                (row[0],) for row in connection.execute("SELECT id, body FROM retrievals")
                if any(passage["document"] in names
                       for passage in _unpack(row[1])["retrieval"]["passages"])]
            connection.executemany("DELETE FROM retrievals WHERE id = ?", quoting)
            _bump(connection, "log_revision")

    def _forget_vectors(self, connection: sqlite3.Connection, names: set[str]) -> None:
        """Drop the vectors that only the passages and names of these documents need."""
        model = _meta(connection, "embedder")
        keys: set[str] = set()
        kept: set[str] = set()
        for document, title, text, extraction in connection.execute(
                "SELECT document, title, text, extractions.id FROM chunks "
                "JOIN extractions ON chunk = chunks.id").fetchall():
            (keys if document in names else kept).update(
                embedding_key(model, row[0]) for row in connection.execute(
                    "SELECT DISTINCT key FROM mentions WHERE extraction = ?", (extraction,)))
            if document in names:
                spans = connection.execute(
                    'SELECT start, "end" FROM sentences WHERE extraction = ? ORDER BY position',
                    (extraction,)).fetchall()
                keys.update(vector_keys(model, title, text, spans))
        connection.executemany(
            "DELETE FROM embeddings WHERE key = ?", [(key,) for key in keys - kept])

    # The extraction log

    def passage_counts(self) -> tuple[int, int]:
        """How many passages the live log has, and how many the graph."""
        with self.snapshot() as connection:
            return tuple(connection.execute(
                "SELECT (SELECT count(*) FROM live), (SELECT count(*) FROM passages)").fetchone())

    def pending(self, source: str, extractor: str) -> tuple[Chunk, ...]:
        """The passages of a file that this extractor has not read yet, in order."""
        with self.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_qualified('chunks', _CHUNK)} FROM chunks "
                "JOIN documents ON documents.name = chunks.document "
                "WHERE source = ? AND deleted_at IS NULL AND NOT EXISTS ("
                "  SELECT 1 FROM extractions WHERE chunk = chunks.id AND extractor = ?) "
                "ORDER BY documents.position, chunks.position", (source, extractor)).fetchall()
        return tuple(Chunk(*row) for row in rows)

    def put_extraction(
        self, chunk: Chunk, extraction: Extraction, vectors: Mapping[str, Vectors] | None = None
    ) -> bool:
        """Append one passage's extraction, with the vectors that belong to it, to the log.

        Returns False, and writes nothing, when the passage was removed or changed in the
        meantime or has an entry already.

        Parameters
        ----------
        vectors : mapping of str to ndarray, shape (d,)
            By `embedding_key`.
        """
        with self.transaction() as connection:
            self.check_lease()
            row = connection.execute(
                "INSERT INTO extractions (chunk, extractor, sha256) SELECT id, ?, ? FROM chunks "
                "WHERE id = ? AND title = ? AND heading = ? ON CONFLICT DO NOTHING RETURNING id",
                (extraction.extractor, checksum(extraction), chunk.id, chunk.title,
                 chunk.heading)).fetchone()
            if row is None:
                return False
            log = row[0]
            connection.executemany(
                "INSERT INTO sentences VALUES (?, ?, ?, ?)",
                [(log, i, *span) for i, span in enumerate(extraction.sentences)])
            connection.executemany(
                "INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(log, i, m.key, m.name, m.start, m.end, m.sentence, m.kind)
                 for i, m in enumerate(extraction.mentions)])
            connection.executemany(
                "INSERT INTO assertions VALUES (?, ?, ?, ?, ?, ?)",
                [(log, i, a.source, a.target, a.sentence, a.label)
                 for i, a in enumerate(extraction.assertions)])
            self._put_vectors(connection, vectors or {})
            _bump(connection, "log_revision")
        return True

    def use_extractor(self, name: str) -> None:
        """From now on the graph is made of this extractor's entries of the log."""
        with self.transaction() as connection:
            if _meta(connection, "extractor") != name:
                _set_meta(connection, "extractor", name)
                _bump(connection, "log_revision")

    @property
    def extractor(self) -> str:
        """The extractor whose entries make up the graph; "" before the first."""
        with self.snapshot() as connection:
            return _meta(connection, "extractor")

    def log(self) -> Log:
        """The live log: what the graph is a function of."""
        with self.snapshot() as connection:
            revision = int(_meta(connection, "log_revision", "0"))
            rows = connection.execute(
                f"SELECT extraction, {_CHUNK} FROM live ORDER BY document, position").fetchall()
            extractor = _meta(connection, "extractor")
            spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for at, start, end in connection.execute(
                    'SELECT extraction, start, "end" FROM sentences ORDER BY 1, position'):
                spans[at].append((start, end))
            mentions: dict[int, list[Mention]] = defaultdict(list)
            for at, *fields in connection.execute(
                    'SELECT extraction, key, name, start, "end", sentence, kind '
                    "FROM mentions ORDER BY 1, position"):
                mentions[at].append(Mention(*fields))
            assertions: dict[int, list[Assertion]] = defaultdict(list)
            for at, *fields in connection.execute(
                    "SELECT extraction, source, target, sentence, label "
                    "FROM assertions ORDER BY 1, position"):
                assertions[at].append(Assertion(*fields))
        return Log(revision, tuple(Chunk(*row[1:]) for row in rows), tuple(
            Extraction(row[1], extractor, tuple(spans[row[0]]), tuple(mentions[row[0]]),
                       tuple(assertions[row[0]])) for row in rows))

    # Embeddings

    def stamp_embedder(self, name: str, dimension: int) -> None:
        """Bind the workspace to one embedding model, at its first use.

        Raises
        ------
        EmbedderMismatchError
            It is bound to another one.
        """
        with self.transaction() as connection:
            if not _meta(connection, "embedder"):
                _set_meta(connection, "embedder", name)
                _set_meta(connection, "dimension", str(dimension))
        self.check_embedder(name, dimension)

    def check_embedder(self, name: str, dimension: int) -> None:
        """Refuse a model whose vectors cannot be compared with those stored here."""
        with self.snapshot() as connection:
            stamped = _meta(connection, "embedder"), _meta(connection, "dimension")
        if stamped[0] and stamped != (name, str(dimension)):
            raise EmbedderMismatchError(
                f"{self.path.name} was indexed with {stamped[0]} ({stamped[1]} dimensions), not "
                f"with {name} ({dimension}); choose that model again, or embed the workspace anew "
                f"with this one (`qafd index --re-embed`).")

    def forget_embedder(self) -> None:
        """Drop all vectors and the stamp, so that the next assembly embeds anew."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM embeddings")
            connection.execute("DELETE FROM meta WHERE key IN ('embedder', 'dimension')")
            _bump(connection, "log_revision")

    def vectors(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """The stored vectors among these keys, each of shape (d,)."""
        with self.snapshot() as connection:
            rows = connection.execute(
                "SELECT key, vector FROM embeddings "
                "WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))
            return {key: np.frombuffer(vector, "<f4") for key, vector in rows}

    def put_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors, each of shape (d,), by `embedding_key`.

        Raises
        ------
        ParameterError
            One has another length than the workspace's model, or holds NaN or infinity.
        """
        with self.transaction() as connection:
            self._put_vectors(connection, vectors)

    def _put_vectors(
        self, connection: sqlite3.Connection, vectors: Mapping[str, Vectors]
    ) -> None:
        if not vectors:
            return
        model = _meta(connection, "embedder")
        dimension = int(_meta(connection, "dimension", "0"))
        for vector in vectors.values():
            if vector.shape != (dimension,):
                raise ParameterError(
                    f"An embedding has shape {vector.shape}, but {model or 'no model'} of this "
                    f"workspace gives {dimension} numbers; check the embedding model.")
        check_finite(np.array(list(vectors.values())))
        connection.executemany(
            "INSERT OR IGNORE INTO embeddings VALUES (?, ?, ?, ?)",
            [(key, model, dimension, vector.astype("<f4").tobytes())
             for key, vector in vectors.items()])

    # The graph

    def write_graph(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> bool:
        """Replace the graph by the one made from `log`; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.

        Parameters
        ----------
        vectors, name_vectors : ndarray of float32, shape (n, d)
            One row per node: what query similarity and Algorithm 1 are computed from.
        """
        tables = _graph_rows(log, nodes, edges, vectors, name_vectors)
        with self.transaction() as connection:
            if int(_meta(connection, "assembled", "-1")) >= log.revision:
                return False
            changed = False
            for table, rows in tables.items():
                gone, written = _replace(connection, table, rows)
                changed |= gone + written > 0
                if table == "passages" and gone:
                    # FTS5 only marks words as deleted until its segments are merged
                    connection.execute(
                        "INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")
            _set_meta(connection, "assembled", str(log.revision))
            if changed:
                _bump(connection, "graph_revision")
                connection.execute("DELETE FROM plans")  # they name nodes of the old graph
        return changed

    def differences(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""
        with self.snapshot() as connection:
            return {
                table: len(set(rows) ^ set(connection.execute(
                    f"SELECT {', '.join(sum(_GRAPH_TABLES[table], ()))} FROM {table}")))
                for table, rows in _graph_rows(log, nodes, edges, vectors, name_vectors).items()}

    def drop_graph(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""
        with self.transaction() as connection:
            for table in _GRAPH_TABLES:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")
            _bump(connection, "log_revision")

    @property
    def revision(self) -> int:
        """Counts the versions of the graph; 0 is the empty one."""
        with self.snapshot() as connection:
            return int(_meta(connection, "graph_revision", "0"))

    @property
    def stale(self) -> bool:
        """Whether the log has moved on since the graph was assembled."""
        with self.snapshot() as connection:
            return int(_meta(connection, "assembled", "0")) < int(
                _meta(connection, "log_revision", "0"))

    def graph(self) -> Graph:
        """The knowledge graph, stamped with its revision; rows are sorted by id."""
        with self.snapshot() as connection:
            revision = int(_meta(connection, "graph_revision", "0"))
            dimension = int(_meta(connection, "dimension", "0"))
            rows = connection.execute(
                "SELECT id, name, kind, tokens, vector, name_vector FROM nodes ORDER BY id"
            ).fetchall()
            edges = connection.execute(
                "SELECT source, target, similarity, kind FROM edges "
                "ORDER BY source, target, kind, label").fetchall()
        row = {fields[0]: i for i, fields in enumerate(rows)}
        shape = (len(rows), dimension)
        return Graph.build(
            [fields[0] for fields in rows], [fields[1] for fields in rows],
            [fields[2] for fields in rows],
            [row[edge[0]] for edge in edges], [row[edge[1]] for edge in edges],
            [edge[2] for edge in edges], [edge[3] for edge in edges],
            np.frombuffer(b"".join(fields[4] for fields in rows), "<f4").reshape(shape),
            np.frombuffer(b"".join(fields[5] for fields in rows), "<f4").reshape(shape),
            [fields[3] for fields in rows], revision)

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""
        with self.snapshot() as connection:
            rows = connection.execute(
                "SELECT id, kind, key, name, text, tokens FROM nodes "
                "WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
            return {row[0]: Node(*row) for row in rows}

    def edges(self, ids: Iterable[str]) -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end."""
        with self.snapshot() as connection:
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)) "
                "SELECT source, target, kind, similarity, label, count, evidence FROM edges "
                "WHERE source IN wanted OR target IN wanted "
                "ORDER BY source, target, kind, label", (json.dumps(list(ids)),)).fetchall()
        return tuple(
            Edge(*(*row[:6], tuple((chunk, at) for chunk, at in json.loads(row[6]))))
            for row in rows)

    def passages(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """The passages of the graph among these chunk ids."""
        with self.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {_CHUNK} FROM passages WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),))
            return {row[0]: Chunk(*row) for row in rows}

    def sentences(
        self, ids: Iterable[str]
    ) -> dict[str, tuple[tuple[int, int, Vectors], ...]]:
        """(start, end, vector) of the sentences of these chunks, offsets within the chunk.

        Vectors, shape (d,), are pooled in the context of the passage; a sentence whose vector is
        not stored is left out.
        """
        with self.snapshot() as connection:
            model = _meta(connection, "embedder")
            rows = connection.execute(
                'SELECT live.id, live.title, live.text, sentences.start, sentences."end" '
                "FROM live JOIN sentences ON sentences.extraction = live.extraction "
                "WHERE live.id IN (SELECT value FROM json_each(?)) "
                "ORDER BY live.id, sentences.position", (json.dumps(list(ids)),)).fetchall()
            keys = [vector_keys(model, title, text, [(start, end)])[1]
                    for _, title, text, start, end in rows]
            stored = self.vectors(keys)
        found: dict[str, list[tuple[int, int, Vectors]]] = {}
        for (chunk, _, _, start, end), key in zip(rows, keys, strict=True):
            if key in stored:
                found.setdefault(chunk, []).append((start, end, stored[key]))
        return {chunk: tuple(some) for chunk, some in found.items()}

    def evidence(self, ids: Iterable[str]) -> tuple[Evidence, ...]:
        """The sentences that mention these nodes, in the order of documents and offsets."""
        wanted = list(ids)
        pairs: dict[tuple[str, str, int], None] = {}
        for edge in self.edges(wanted):
            if edge.kind == "mention":
                for node in {edge.source, edge.target} & set(wanted):
                    pairs.update({(node, *place): None for place in edge.evidence})
        with self.snapshot() as connection:
            rows = connection.execute(
                "WITH pairs AS (SELECT json_extract(value, '$[0]') AS node, "
                "  json_extract(value, '$[1]') AS chunk, json_extract(value, '$[2]') AS at "
                "  FROM json_each(?)) "
                "SELECT nodes.id, live.id, live.document, live.title, "
                "  substr(live.text, sentences.start + 1, "
                '    sentences."end" - sentences.start), '
                '  live.start + sentences.start, live.start + sentences."end", '
                "  live.page, live.heading, "
                "  (SELECT json_group_array(json_array("
                '      live.start + mentions.start, live.start + mentions."end")) '
                "   FROM mentions WHERE mentions.extraction = live.extraction "
                "     AND mentions.key = nodes.key AND mentions.sentence = pairs.at "
                '     AND mentions."end" > mentions.start) '
                "FROM pairs JOIN nodes ON nodes.id = pairs.node "
                "JOIN live ON live.id = pairs.chunk "
                "JOIN sentences ON sentences.extraction = live.extraction "
                "  AND sentences.position = pairs.at "
                "ORDER BY live.document, live.start, sentences.start, nodes.id",
                (json.dumps(list(pairs)),)).fetchall()
        return tuple(
            Evidence(*(*row[:9], tuple((start, end) for start, end in json.loads(row[9]))))
            for row in rows)

    def search_passages(self, text: str, k: int = 10) -> tuple[tuple[str, float], ...]:
        """The k best (chunk id, BM25 score) for any of the words of a text, best first.

        Scores are >= 0, larger is better; equal scores are ordered by id.
        """
        words = dict.fromkeys(re.findall(r"\w+", text.casefold()))
        if not words:
            return ()
        match = " OR ".join(f'"{word}"' for word in words)
        with self.snapshot() as connection:
            rows = connection.execute(
                "SELECT passages.id, -bm25(passages_fts) AS score FROM passages_fts "
                "JOIN passages ON passages.rowid = passages_fts.rowid "
                "WHERE passages_fts MATCH ? ORDER BY score DESC, passages.id LIMIT ?",
                (match, k)).fetchall()
        return tuple((row[0], float(row[1])) for row in rows)

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on.

        Two workspaces with the same live documents have the same digest, whatever happened
        to them; neither times nor row numbers enter it.
        """
        total = hashlib.sha256()
        with self.snapshot() as connection:
            for query in (
                    'SELECT id, document, title, heading, page, start, "end", text '
                    "FROM passages ORDER BY id",
                    "SELECT * FROM nodes ORDER BY id",
                    "SELECT * FROM edges ORDER BY source, target, kind, label",
                    'SELECT live.id, m.key, m.name, m.start, m."end", m.sentence, m.kind '
                    "FROM live JOIN mentions AS m USING (extraction) "
                    "ORDER BY live.id, m.position"):
                total.update(query.encode())
                for row in connection.execute(query):
                    total.update(repr(row).encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    # Retrievals

    def save_retrieval(self, retrieval: Mapping[str, Any], plan: Mapping[str, Any],
                       layout: Mapping[str, Any]) -> str:
        """Store a retrieval for good and return its id, the one thing a share link holds.

        Parameters
        ----------
        retrieval, plan, layout : mapping of plain JSON values
            `Retrieval.to_dict()`, the query plan, and the positions of the drawn nodes.
        """
        body = json.dumps({"retrieval": retrieval, "plan": plan, "layout": layout}).encode()
        key = secrets.token_urlsafe(9)
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO retrievals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, _storable(retrieval["query"]), retrieval["method"],
                 json.dumps(retrieval["params"]), retrieval["revision"], now(),
                 hashlib.sha256(body).hexdigest(), zlib.compress(body)))
        return key

    def load_retrieval(self, key: str) -> SavedRetrieval:
        """A stored retrieval, as it was.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT id, created_at, revision, sha256, body FROM retrievals WHERE id = ?",
                (key,)).fetchone()
        if row is None:
            raise StoreError(f"There is no stored retrieval {key!r} in this workspace.")
        body = zlib.decompress(row[4])
        if hashlib.sha256(body).hexdigest() != row[3]:
            raise StoreError(f"The stored retrieval {key} is damaged; run the question again.")
        return SavedRetrieval(*row[:4], **json.loads(body))

    def save_plan(self, plan: QueryPlan) -> None:
        """Keep a plan, so that its question can be asked again without a model."""
        body = json.dumps({"keywords": [[k.text, k.level] for k in plan.keywords],
                           "names": plan.names, "notices": plan.notices})
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)",
                (_storable(plan.question), body, plan.embedding.astype("<f4").tobytes(),
                 plan.keyword_embeddings.astype("<f4").tobytes()))

    def stored_plan(self, question: str) -> QueryPlan | None:
        """The plan kept for a question, or None when the graph has changed since."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT body, embedding, keyword_embeddings FROM plans WHERE question = ?",
                (_storable(question),)).fetchone()
        if row is None:
            return None
        body = json.loads(row[0])
        embedding = np.frombuffer(row[1], "<f4")
        return QueryPlan(
            question, tuple(Keyword(*keyword) for keyword in body["keywords"]), embedding,
            np.frombuffer(row[2], "<f4").reshape(-1, len(embedding)), tuple(body["names"]),
            tuple(body["notices"]))

    # The whole file

    def wipe(self) -> None:
        """Empty the workspace: documents, uploads, vectors, graph, jobs and retrievals."""
        with self.transaction() as connection:
            for table in ("files", "jobs", "lease", "embeddings", "passages", "nodes", "edges",
                          "retrievals", "plans", "meta"):
                connection.execute(f"DELETE FROM {table}")
        with schema.translated(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def compact(self) -> None:
        """Make the file as small as it can be, and one file: to ship it or to archive it.

        The next opening for writing turns the write-ahead log on again.
        """
        with schema.translated(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA journal_mode = DELETE")

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copy the workspace to a new file, while others may write, and verify the copy."""
        with schema.translated(self.path):
            schema.backup(self._connection, Path(destination))

    # The writer lease

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Be the one process that extends the log; the claim is renewed in the background.

        Raises
        ------
        BusyError
            Another living process holds the lease.
        """
        token = secrets.token_hex(8)
        with self.transaction() as connection:
            held = connection.execute("SELECT pid, host, heartbeat FROM lease").fetchone()
            if held and _alive(*held):
                raise BusyError(
                    f"Process {held[0]} on {held[1]} is indexing this workspace; files that were "
                    "added wait until it takes them in.")
            connection.execute(
                "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)",
                (token, os.getpid(), socket.gethostname(), time.time()))
        self._token = token
        over = threading.Event()
        pulse = threading.Thread(target=_keep_lease, args=(self.path, token, over), daemon=True)
        pulse.start()
        try:
            yield
        finally:
            over.set()
            pulse.join()
            self.give_back_lease()
            self._token = ""

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
        """
        with self.snapshot() as connection:
            if self._token and not connection.execute(
                    "SELECT 1 FROM lease WHERE token = ?", (self._token,)).fetchone():
                raise BusyError(
                    "Another process has taken over the indexing of this workspace, or it was "
                    "wiped; this one stops.")

    def give_back_lease(self) -> None:
        """End the claim before the end of the `lease()` block."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM lease WHERE token = ?", (self._token,))


def now() -> str:
    """The time as text, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def clean_name(name: str) -> str:
    """A file's name as it can be stored: a label, never a path.

    Raises
    ------
    ParameterError
        Nothing is left of it.
    """
    clean = "".join(c for c in _storable(name) if c.isprintable()).strip()[:255]
    if not clean:
        raise ParameterError(f"{name!r} is no name for a file; rename the file.")
    return clean


def check_finite(vectors: Vectors) -> None:
    """Refuse NaN and infinity, which SQLite would store and cosines would spread.

    Raises
    ------
    ParameterError
        With the number of bad rows.
    """
    bad = int((~np.isfinite(vectors)).any(axis=-1).sum()) if vectors.size else 0
    if bad:
        raise ParameterError(
            f"{bad} of {len(vectors)} embeddings hold NaN or infinity and are not stored; "
            "the embedding model or its file is broken.")


def _storable(text: str) -> str:
    # File names can hold bytes that are no UTF-8, and pasted text lone surrogates.
    return text.encode("utf-8", "replace").decode()


def _meta(connection: sqlite3.Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else default


def _set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _bump(connection: sqlite3.Connection, counter: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (?, '1') "
        "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1", (counter,))


def _put_chunks(
    connection: sqlite3.Connection, document: str, chunks: Sequence[Chunk]
) -> None:
    known = {row[0]: row[1:] for row in connection.execute(
        "SELECT id, title, heading FROM chunks WHERE document = ?", (document,))}
    gone = known.keys() - {chunk.id for chunk in chunks}
    connection.executemany("DELETE FROM chunks WHERE id = ?", [(key,) for key in gone])
    # An extractor reads title and heading too, so their change calls for a new extraction.
    stale = [(c.id,) for c in chunks if known.get(c.id, (c.title, c.heading))
             != (c.title, c.heading)]
    connection.executemany("DELETE FROM extractions WHERE chunk = ?", stale)
    connection.executemany(
        'INSERT INTO chunks (id, document, position, title, heading, page, start, "end", text, '
        "sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "position = excluded.position, title = excluded.title, heading = excluded.heading, "
        'page = excluded.page, start = excluded.start, "end" = excluded."end"',
        [(c.id, document, position, c.title, c.heading, c.page, c.start, c.end, c.text,
          checksum(c.text)) for position, c in enumerate(chunks)])


_GRAPH_TABLES = {
    "passages": (("id",), ("document", "title", "text", "start", '"end"', "page", "heading")),
    "nodes": (("id",), ("kind", "key", "name", "text", "tokens", "vector", "name_vector")),
    "edges": (("source", "target", "kind", "label"), ("similarity", "count", "evidence")),
}


def _graph_rows(log: Log, nodes: Sequence[Node], edges: Sequence[Edge], vectors: Vectors,
                name_vectors: Vectors) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table of the graph, in the order of `_GRAPH_TABLES`."""
    for rows in (vectors, name_vectors):
        if len(rows) != len(nodes):
            raise ParameterError(f"{len(rows)} vectors were given for {len(nodes)} nodes")
        check_finite(rows)
    return {
        "passages": [(c.id, c.document, c.title, c.text, c.start, c.end, c.page, c.heading)
                     for c in log.chunks],
        "nodes": [(n.id, n.kind, n.key, n.name, n.text, n.tokens,
                   vector.astype("<f4").tobytes(), name_vector.astype("<f4").tobytes())
                  for n, vector, name_vector in zip(nodes, vectors, name_vectors, strict=True)],
        "edges": [(e.source, e.target, e.kind, e.label, e.similarity, e.count,
                   json.dumps(e.evidence)) for e in edges],
    }


def _replace(
    connection: sqlite3.Connection, table: str, fresh: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """Make the table hold exactly these rows; how many were removed, and added or changed."""
    key, rest = _GRAPH_TABLES[table]
    columns = ", ".join((*key, *rest))
    old = set(connection.execute(f"SELECT {', '.join(key)} FROM {table}"))
    gone = old - {row[:len(key)] for row in fresh}
    connection.executemany(
        f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in key)}", gone)
    before = connection.total_changes
    connection.executemany(
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(key + rest))}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in rest)
        + f" WHERE ({', '.join(f'{table}.{column}' for column in rest)}) "
        f"IS NOT ({', '.join(f'excluded.{column}' for column in rest)})", fresh)
    return len(gone), connection.total_changes - before


def _qualified(table: str, columns: str) -> str:
    return ", ".join(f"{table}.{column.strip()}" for column in columns.split(","))


def _unpack(body: bytes) -> dict[str, Any]:
    unpacked: dict[str, Any] = json.loads(zlib.decompress(body))
    return unpacked


def _alive(pid: int, host: str, heartbeat: float) -> bool:
    if time.time() - heartbeat > STALE_SECONDS:
        return False
    if host != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _keep_lease(path: Path, token: str, over: threading.Event) -> None:
    with Store.open(path) as store:
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                with store.transaction() as connection:
                    connection.execute(
                        "UPDATE lease SET heartbeat = ? WHERE token = ?", (time.time(), token))
            except StoreError:
                continue  # a full disk or a busy file: the next beat may get through
