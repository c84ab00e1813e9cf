"""The files that were given, and the documents in them: put, deleted, restored, removed for good."""

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from qafd.errors import StoreError
from qafd.reading.parsing import refuse_size
from qafd.records import Chunk, Document, Mark, node_id
from qafd.storage.relational.base import Connection, Part, bump, meta, set_meta, to_json
from qafd.storage.relational.log import CHUNK, SqlLedger
from qafd.storage.rows import (
    MENTION,
    RELATION,
    Contents,
    DocumentNameError,
    DocumentRow,
    File,
    Head,
    checksum,
    clean_name,
    now,
    texts,
    unpack_places,
)

PAGES = ("(SELECT coalesce(max(CAST(json_extract(value, '$[1]') AS INTEGER)), 0) "
         "FROM json_each(documents.marks))")
"""The pages of a row of documents, the last by its marks: a passage may span several."""


class SqlDocuments(Part):
    """The tables of documents and passages."""

    def all(self, source: str | None = None) -> tuple[DocumentRow, ...]:
        """All documents, or those of one file, in the order of files and positions."""
        with self._file.reading() as connection:
            extractor = meta(connection, "extractor")
            rows = connection.execute(
                "SELECT documents.name, source, documents.title, documents.kind, "
                f"  length(documents.text), {PAGES}, count(DISTINCT chunks.id), "
                "  count(DISTINCT extractions.id), count(DISTINCT mentions.key), "
                "  documents.deleted_at "
                "FROM documents JOIN files ON files.name = source "
                "LEFT JOIN chunks ON chunks.document = documents.name "
                "LEFT JOIN extractions ON extractions.chunk = chunks.id AND extractor = ?1 "
                "LEFT JOIN mentions ON mentions.extraction = extractions.id "
                "  AND mentions.kind != 'term' "
                "WHERE CAST(?2 AS TEXT) IS NULL OR source = ?2 "
                "GROUP BY documents.rowid, files.rowid ORDER BY files.rowid, documents.position",
                (extractor, source)).fetchall()
            for row in rows:
                texts(row[:4])
            return tuple(DocumentRow(*row) for row in rows)

    def titles(self, source: str, most: int) -> dict[str, str]:
        """The titles of the first documents of a file by their names, in order."""
        return dict(self._rows(
            "SELECT name, title FROM documents WHERE source = ? ORDER BY position LIMIT ?",
            source, most))

    def get(self, name: str) -> Document:
        """A document with its text and marks."""
        with self._file.reading() as connection:
            row = connection.execute(
                "SELECT name, title, kind, text, marks FROM documents WHERE name = ?",
                (name,)).fetchone()
            if row is None:
                raise StoreError(f"There is no document called {name!r} in this workspace.")
            texts(row)
            return Document(*(*row[:4], tuple(Mark(*mark) for mark in json.loads(row[4]))))

    def head(self, name: str) -> Head:
        """Return the metadata of a document, without its text."""
        row = self._row(
            "SELECT documents.name, source, title, kind, length(text), "
            "  (SELECT count(*) FROM chunks WHERE document = documents.name), "
            f"  {PAGES}, documents.deleted_at, data IS NOT NULL "
            "FROM documents JOIN files ON files.name = source WHERE documents.name = ?",
            name)
        if row is None:
            raise StoreError(f"There is no document called {name[:200]!r} in this workspace.")
        return Head(*(*row[:8], bool(row[8])))

    def part(self, name: str, start: int, end: int) -> tuple[str, tuple[Mark, ...]]:
        """The text of a document between two offsets, and all its marks."""
        text, marks = self._row(
            "SELECT substr(text, ? + 1, ?), marks FROM documents WHERE name = ?",
            start, end - start, name)
        return text, tuple(Mark(*mark) for mark in json.loads(marks))

    def passages(self, name: str, first: int, most: int) -> tuple[Chunk, ...]:
        """Return at most `most` passages of a document from number `first` on; the first is 1."""
        return tuple(Chunk(*row) for row in self._rows(
            f"SELECT {CHUNK} FROM chunks WHERE document = ? AND position >= ? - 1 "
            "ORDER BY position LIMIT ?", name, first, most))

    def number_of(self, name: str, chunk: str) -> int | None:
        """Return the number of a passage in its document, from 1 on; None if it is not in there."""
        row = self._row("SELECT position FROM chunks WHERE document = ? AND id = ?", name, chunk)
        return None if row is None else int(row[0]) + 1

    def put(
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
            raise DocumentNameError(f"{source} has {len(parsed)} records but only {len(names)} "
                                    "different names; give each record an id of its own.")
        with self._file.transaction() as connection:
            self._file.check_lease()
            moved = connection.execute(
                "UPDATE files SET status = 'extracting', error = '', notices = ? "
                "WHERE name = ? AND status = 'parsing' RETURNING deleted_at",
                (json.dumps(notices), source)).fetchone()
            if moved is None:
                return False
            # Not all documents: this is done for each file, and of them there may be very many.
            owners = dict(connection.execute(
                "SELECT name, source FROM documents WHERE source = ? UNION "
                "SELECT name, source FROM documents WHERE name IN (SELECT value FROM json_each(?))",
                (source, json.dumps(sorted(names)))))
            taken = sorted(name for name in names if owners.get(name, source) != source)
            if taken:
                raise DocumentNameError(f"{source} has a document called {taken[0]!r}, and so has "
                                        f"{owners[taken[0]]}; rename one of the files.")
            for name in sorted(owners):
                if owners[name] == source and name not in names:
                    connection.execute("DELETE FROM documents WHERE name = ?", (name,))
            for position, (document, chunks) in enumerate(parsed):
                marks = json.dumps([[m.start, m.page, m.heading] for m in document.marks])
                content = (document.title, document.kind, document.text, marks)
                connection.execute(
                    "INSERT INTO documents (name, source, position, title, kind, text, marks, sha256, "
                    "deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET position = excluded.position, "
                    "title = excluded.title, kind = excluded.kind, text = excluded.text, "
                    "marks = excluded.marks, sha256 = excluded.sha256, "
                    "deleted_at = excluded.deleted_at",
                    (document.name, source, position, *content, checksum(*content), moved[0]))
                _put_chunks(connection, document.name, chunks)
            bump(connection, "log_revision")
        return True

    def delete(self, *names: str) -> None:
        """Take files or documents out of the graph, all or none; `undo` restores each.

        They are deleted at the same moment. The graph follows at its next assembly.
        """
        moment = now()
        with self._file.transaction() as connection:
            for name in names:
                gone = connection.execute(
                    "UPDATE files SET deleted_at = ? WHERE name = ? AND deleted_at IS NULL",
                    (moment, name)).rowcount
                gone += connection.execute(
                    "UPDATE documents SET deleted_at = ? "
                    "WHERE (name = ? OR source = ?) AND deleted_at IS NULL",
                    (moment, name, name)).rowcount
                if not gone:
                    raise StoreError(f"There is nothing called {name!r} to delete.")
            bump(connection, "log_revision")

    def undo(self, name: str) -> None:
        """Restore the documents that `delete(name)` removed."""
        with self._file.transaction() as connection:
            # Documents deleted one by one, before their file was, stay deleted.
            back = connection.execute(
                "UPDATE documents SET deleted_at = NULL WHERE deleted_at IS NOT NULL AND (name = ? "
                "OR source = ? AND deleted_at = (SELECT deleted_at FROM files WHERE name = ?))",
                (name, name, name)).rowcount
            back += connection.execute(
                "UPDATE files SET deleted_at = NULL WHERE name = ? AND deleted_at IS NOT NULL",
                (name,)).rowcount
            if not back:
                raise StoreError(f"There is nothing called {name!r} to restore.")
            # What was deleted before it was read through has still to be read.
            connection.execute(
                "UPDATE files SET status = 'extracting' WHERE status = 'done' AND name IN ("
                "  SELECT source FROM documents JOIN chunks ON document = documents.name "
                "  WHERE (documents.name = ? OR source = ?) AND NOT EXISTS ("
                "    SELECT 1 FROM extractions WHERE chunk = chunks.id AND extractor = ?))",
                (name, name, meta(connection, "extractor")))
            bump(connection, "log_revision")

    def purge(self, *names: str) -> None:
        """Remove files or documents for good, with all that quotes them; see `qafd.ingest`.

        Vectors and graph follow at the next assembly.

        Raises
        ------
        StoreError
            There is none of a name, or its file waits to be read. Nothing was changed.
        """
        with self._file.transaction() as connection:
            documents = set[str]().union(*map(self.names_of, names))
            quoting = [(key,) for key in self.quoting(documents)]
            SqlLedger(self._file).forget_replies(documents)
            # of an answer nobody can tell what it quotes
            connection.execute(
                "UPDATE llm_calls SET reply = '', key = '', status = 'rejected' "
                "WHERE question != '' AND purpose != 'plan'")
            rows = [(name,) for name in documents]
            # the bytes of a file are kept where a passage of it could not be read
            connection.executemany(
                "UPDATE files SET data = NULL WHERE name = "
                "(SELECT source FROM documents WHERE name = ?)", rows)
            connection.executemany("DELETE FROM documents WHERE name = ?", rows)
            for name in names:
                connection.execute("DELETE FROM files WHERE name = ?", (name,))
                connection.execute("UPDATE jobs SET current = '' WHERE current = ?", (name,))
            connection.executemany("DELETE FROM runs WHERE id = ?", quoting)
            connection.execute("DELETE FROM layers")  # they quote sentences
            set_meta(connection, "purged", "1")
            bump(connection, "log_revision")

    def names_of(self, name: str) -> set[str]:
        """The documents that go when a file or a document of this name is removed.

        Raises
        ------
        StoreError
            See `purge`.
        """
        with self._file.snapshot() as connection:
            names = {row[0] for row in connection.execute(
                "SELECT name FROM documents WHERE name = ? OR source = ?", (name, name))}
            if not names and not connection.execute(
                    "SELECT 1 FROM files WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"There is nothing called {name!r} to remove.")
            if waiting := connection.execute(
                    "SELECT files.name FROM documents JOIN files ON files.name = source "
                    "WHERE documents.name = ?1 AND files.name != ?1 "
                    "AND status IN ('queued', 'parsing')", (name,)).fetchone():
                raise StoreError(f"{waiting[0]}, which has {name!r}, waits to be read again; "
                                 "erase it when that is done, or cancelled.")
        return names

    def quoting(self, documents: Collection[str]) -> tuple[str, ...]:
        """Return the ids of the saved runs that show what only these documents have.

        That is a passage, a name, or a relation by its label.
        """
        with self._file.snapshot() as connection:
            wanted = to_json(documents)
            own_only = ("HAVING max(CASE WHEN document IN (SELECT value FROM json_each(?)) "
                        "THEN 0 ELSE 1 END) = 0")
            own = {node_id("passage", row[0]) for row in connection.execute(
                "SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?))",
                (wanted,))}
            own |= {node_id("entity", row[0]) for row in connection.execute(
                "SELECT key FROM mentions JOIN extractions ON extractions.id = extraction "
                f"JOIN chunks ON chunks.id = chunk GROUP BY key {own_only}", (wanted,))}
            relations = {
                (frozenset((node_id("entity", source), node_id("entity", target))), label)
                for source, target, label in connection.execute(
                    "SELECT CASE WHEN source < target THEN source ELSE target END, "
                    "  CASE WHEN source < target THEN target ELSE source END, label "
                    "FROM assertions JOIN extractions ON extractions.id = extraction "
                    f"JOIN chunks ON chunks.id = chunk WHERE label != '' GROUP BY 1, 2, 3 {own_only}",
                    (wanted,))}
            return tuple(
                key for key, body in connection.execute("SELECT id, body FROM runs")
                if _quotes(json.loads(zlib.decompress(body))["retrieval"], documents, own, relations))


def _quotes(retrieval: Mapping[str, Any], documents: Collection[str], nodes: Collection[str],
            relations: Collection[tuple[frozenset[str], str]]) -> bool:
    return (any(passage["document"] in documents for passage in retrieval["passages"])
            or any(node["id"] in nodes for node in retrieval.get("nodes", ()))
            or any((frozenset((edge["source"], edge["target"])), edge.get("label", "")) in relations
                   for edge in retrieval.get("edges", ()))
            or any(_quotes(part, documents, nodes, relations)
                   for part in retrieval.get("parts", ())))


def _put_chunks(
    connection: Connection, document: str, chunks: Sequence[Chunk]
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


class SqlFiles(Part):
    """The table of files."""

    def add(self, name: str, data: bytes, job: int | None = None) -> bool:
        """Take in a file; True when there is work to do for it.

        The same bytes under the same name change nothing (a deleted file comes back);
        other bytes replace the file: its documents stay until the new ones are parsed.
        One that is too large to be read has failed at once, and its bytes are not stored.
        """
        name = clean_name(name)
        refused = refuse_size(data)
        kept, status, error = (data, "queued", "") if refused is None else (None, "failed", str(refused))
        digest = hashlib.sha256(data).hexdigest()
        with self._file.transaction() as connection:
            known = connection.execute(
                "SELECT sha256, status, deleted_at FROM files WHERE name = ?", (name,)).fetchone()
            if known and known[0] == digest and known[1] == "done":
                if known[2] is not None:
                    SqlDocuments(self._file).undo(name)
                return False
            connection.execute(
                "INSERT INTO files (name, sha256, size, data, status, error, job, added_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "sha256 = excluded.sha256, size = excluded.size, data = excluded.data, "
                "status = excluded.status, error = excluded.error, job = excluded.job, "
                "deleted_at = NULL",
                (name, digest, len(data), kept, status, error, job, now()))
        return refused is None

    def find_twin(self, name: str, data: bytes) -> str:
        """Return the file that has the bytes of a new one; "" for none, and for a name that is there."""
        rows = self._rows(
            "SELECT name FROM files WHERE sha256 = ? AND deleted_at IS NULL "
            "AND status NOT IN ('failed', 'cancelled') AND NOT EXISTS ("
            "  SELECT 1 FROM files AS own WHERE own.name = ? AND own.deleted_at IS NULL) "
            "ORDER BY rowid LIMIT 1", hashlib.sha256(data).hexdigest(), clean_name(name))
        return next((twin for twin, in rows), "")

    def unread(self) -> tuple[tuple[str, bytes], ...]:
        """Name and bytes of the files that are not parsed yet, those that were stopped too."""
        return tuple(self._rows(
            "SELECT name, data FROM files WHERE deleted_at IS NULL AND data IS NOT NULL "
            "AND status IN ('queued', 'parsing', 'cancelled', 'failed') AND NOT EXISTS ("
            "  SELECT 1 FROM documents WHERE source = files.name) ORDER BY rowid"))

    def hold(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Take in files that nothing reads before `retry` lets them wait."""
        with self._file.transaction():
            self.cancel([name for name, data in files if self.add(name, data)])

    def claim(self, name: str) -> bytes | None:
        """Start to parse a file: its bytes, or None when it is not waiting (any more)."""
        with self._file.transaction() as connection:
            row = connection.execute(
                "UPDATE files SET status = 'parsing' WHERE name = ? AND deleted_at IS NULL "
                "AND status IN ('queued', 'parsing') RETURNING data", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def finish(self, name: str) -> None:
        """A file is done; its text is stored, so its bytes are dropped, but for a PDF's pages.

        Unless it was replaced in the meantime: then it waits for its turn.
        """
        self._write(
            "UPDATE files SET status = 'done', data = CASE "
            "WHEN instr(substr(data, 1, 1024), ?) > 0 THEN data END "
            "WHERE name = ? AND status = 'extracting'", b"%PDF-", name)

    def read_again(self, names: Iterable[str]) -> None:
        """Let finished files be read again, by another extractor."""
        self._write_many(
            "UPDATE files SET status = 'extracting' WHERE name = ? AND status = 'done'",
            [(name,) for name in names])

    def fail(self, name: str, error: str) -> None:
        """A file cannot be read, for a reason in one sentence."""
        self._write(
            "UPDATE files SET status = 'failed', error = ? "
            "WHERE name = ? AND status IN ('parsing', 'extracting')", error, name)

    def cancel(self, names: Iterable[str]) -> None:
        """Stop these files where they are; what was logged stays in the graph."""
        self._write_many(
            "UPDATE files SET status = 'cancelled' "
            "WHERE name = ? AND status IN ('queued', 'parsing', 'extracting')",
            [(name,) for name in names])

    def retry(self, names: Iterable[str], job: int | None = None) -> int:
        """Let files that failed or were cancelled wait again; returns how many.

        So do finished files with passages that the model did not read as it should: only these
        are read again, and what is known of them stays until then.
        """
        names = list(names)
        with self._file.transaction() as connection:
            changed = connection.executemany(
                "UPDATE files SET error = '', job = ?, "
                "status = CASE WHEN data IS NULL THEN 'extracting' ELSE 'queued' END "
                "WHERE name = ? AND status IN ('failed', 'cancelled') AND (data IS NOT NULL "
                "OR EXISTS (SELECT 1 FROM documents WHERE source = files.name))",
                [(job, name) for name in names]).rowcount if names else 0
            for name in names:
                changed += bool(connection.execute(
                    "UPDATE doubts SET again = 1 WHERE extraction IN (SELECT extraction FROM live "
                    "JOIN documents ON documents.name = document WHERE source = ?)",
                    (name,)).rowcount) and connection.execute(
                    "UPDATE files SET status = 'extracting', job = ? "
                    "WHERE name = ? AND status = 'done'", (job, name)).rowcount
            return changed

    def all(self) -> tuple[File, ...]:
        """All files, in the order in which they came; the later one of equal files reports it."""
        with self._file.reading() as connection:
            extractor = meta(connection, "extractor")
            rows = connection.execute(
                "SELECT files.name, files.status, files.error, files.notices, files.size, "
                "  count(DISTINCT documents.name), count(chunks.id), count(extractions.id), "
                "  files.added_at, files.deleted_at, files.sha256 "
                "FROM files LEFT JOIN documents ON documents.source = files.name "
                "LEFT JOIN chunks ON chunks.document = documents.name "
                "LEFT JOIN extractions ON extractions.chunk = chunks.id AND extractor = ? "
                "GROUP BY files.rowid ORDER BY files.rowid", (extractor,)).fetchall()
            first: dict[str, str] = {}
            found = []
            for *row, digest in rows:
                name, counts = row[0], row[9] is None and row[1] not in ("failed", "cancelled")
                twin = first.setdefault(digest, name) if counts else name
                same = [f"Has the same text as {twin}; both count."] * (twin != name)
                found.append(File(*(*row[:3], (*json.loads(row[3]), *same), *row[4:])))
            return tuple(found)

    def contents(self) -> dict[str, Contents]:
        """Return the contribution of each file to the graph, by the file's name."""
        with self._file.reading() as connection:
            held = dict(connection.execute(
                "SELECT number, source FROM nodes JOIN passages ON passages.id = nodes.key "
                "JOIN documents ON documents.name = passages.document WHERE nodes.kind = 'passage'"))
            stated: Counter[str] = Counter()
            for evidence, in connection.execute(f"SELECT evidence FROM edges WHERE kind = {RELATION}"):
                stated.update({held[passage] for passage, _ in unpack_places(evidence) if passage in held})
            return {name: Contents(pages, entities, stated[name], tokens)
                    for name, pages, entities, tokens in connection.execute(
                "WITH held AS MATERIALIZED ("
                "  SELECT number AS node, nodes.tokens, source AS file "
                "  FROM nodes JOIN passages ON passages.id = nodes.key "
                "  JOIN documents ON documents.name = passages.document "
                "  WHERE nodes.kind = 'passage'), "
                "sizes AS (SELECT file, sum(tokens) AS tokens FROM held GROUP BY file), "
                "named AS (SELECT file, count(DISTINCT edges.source) AS entities "
                f"  FROM held JOIN edges ON edges.target = held.node AND edges.kind = {MENTION} "
                "  GROUP BY file), "
                f"paged AS (SELECT source AS file, sum({PAGES}) AS pages FROM documents "
                "  GROUP BY source) "
                "SELECT files.name, coalesce(pages, 0), coalesce(entities, 0), coalesce(tokens, 0) "
                "FROM files LEFT JOIN sizes ON sizes.file = files.name "
                "LEFT JOIN named ON named.file = files.name "
                "LEFT JOIN paged ON paged.file = files.name")}

    def original(self, name: str) -> bytes | None:
        """The bytes of a file as it was given; None once it is read and is no PDF."""
        row = self._row("SELECT data FROM files WHERE name = ?", name)
        return None if row is None else row[0]
