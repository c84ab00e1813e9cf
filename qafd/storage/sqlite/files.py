"""Files and the documents in them: taken in, cut into passages, deleted, brought back."""

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from qafd.assemble import node_id
from qafd.errors import StoreError
from qafd.records import Chunk, Document, Mark
from qafd.storage.sqlite.ledger import LedgerStore
from qafd.storage.sqlite.rows import (
    PAGES,
    Contents,
    DocumentNameError,
    DocumentRow,
    File,
    checksum,
    clean_name,
    texts,
    unpacked,
)
from qafd.storage.sqlite.vectors import forget_vectors
from qafd.storage.sqlite.workspace import bump, meta, now


class FileStore(LedgerStore):
    """A workspace that takes in files and keeps the documents in them."""

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
                    self.undo(name)
                return False
            connection.execute(
                "INSERT INTO files (name, sha256, size, data, status, job, added_at) "
                "VALUES (?, ?, ?, ?, 'queued', ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "sha256 = excluded.sha256, size = excluded.size, data = excluded.data, "
                "status = 'queued', error = '', job = excluded.job, deleted_at = NULL",
                (name, digest, len(data), data, job, now()))
        return True

    def unread(self) -> tuple[tuple[str, bytes], ...]:
        """Name and bytes of the files that are not parsed yet, those that were stopped too."""
        with self.snapshot() as connection:
            return tuple(connection.execute(
                "SELECT name, data FROM files WHERE deleted_at IS NULL AND data IS NOT NULL "
                "AND status IN ('queued', 'parsing', 'cancelled', 'failed') AND NOT EXISTS ("
                "  SELECT 1 FROM documents WHERE source = files.name) ORDER BY rowid"))

    def hold(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Take in files that nothing reads before `retry` lets them wait."""
        with self.transaction():
            self.cancel([name for name, data in files if self.add_file(name, data)])

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

    def reopen(self, names: Iterable[str]) -> None:
        """Let finished files be read again, by another extractor."""
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE files SET status = 'extracting' WHERE name = ? AND status = 'done'",
                [(name,) for name in names])

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
        """Let files that failed or were cancelled wait again; returns how many.

        So do finished files with passages that the model did not read as it should: only these
        are read again, and what is known of them stays until then.
        """
        names = list(names)
        with self.transaction() as connection:
            before = connection.total_changes
            connection.executemany(
                "UPDATE files SET error = '', job = ?, "
                "status = CASE WHEN data IS NULL THEN 'extracting' ELSE 'queued' END "
                "WHERE name = ? AND status IN ('failed', 'cancelled')",
                [(job, name) for name in names])
            changed = connection.total_changes - before
            for name in names:
                changed += bool(connection.execute(
                    "UPDATE doubts SET again = 1 WHERE extraction IN (SELECT extraction FROM live "
                    "JOIN documents ON documents.name = document WHERE source = ?)",
                    (name,)).rowcount) and connection.execute(
                    "UPDATE files SET status = 'extracting', job = ? "
                    "WHERE name = ? AND status = 'done'", (job, name)).rowcount
            return changed

    def files(self) -> tuple[File, ...]:
        """All files, in the order in which they came; the later one of equal files says so."""
        with self.reading() as connection:
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
        """What each file brings into the graph, by the file's name."""
        with self.snapshot() as connection:
            return {name: Contents(*counts) for name, *counts in connection.execute(
                "WITH held AS MATERIALIZED ("
                "  SELECT nodes.id AS node, nodes.key AS chunk, nodes.tokens, source AS file "
                "  FROM nodes JOIN passages ON passages.id = nodes.key "
                "  JOIN documents ON documents.name = passages.document "
                "  WHERE nodes.kind = 'passage'), "
                "sizes AS (SELECT file, sum(tokens) AS tokens FROM held GROUP BY file), "
                "named AS (SELECT file, count(DISTINCT edges.source) AS entities "
                "  FROM held JOIN edges ON edges.target = held.node AND edges.kind = 'mention' "
                "  GROUP BY file), "
                "stated AS (SELECT file, count(DISTINCT edges.source || edges.target || label) "
                "    AS relations FROM edges, json_each(edges.evidence) AS place "
                "  JOIN held ON held.chunk = json_extract(place.value, '$[0]') "
                "  WHERE edges.kind = 'relation' GROUP BY file), "
                f"paged AS (SELECT source AS file, sum({PAGES}) AS pages FROM documents "
                "  GROUP BY source) "
                "SELECT files.name, coalesce(pages, 0), coalesce(entities, 0), "
                "  coalesce(relations, 0), coalesce(tokens, 0) FROM files "
                "LEFT JOIN sizes ON sizes.file = files.name "
                "LEFT JOIN named ON named.file = files.name "
                "LEFT JOIN stated ON stated.file = files.name "
                "LEFT JOIN paged ON paged.file = files.name")}

    def documents(self, source: str | None = None) -> tuple[DocumentRow, ...]:
        """All documents, or those of one file, in the order of files and positions."""
        with self.reading() as connection:
            extractor = meta(connection, "extractor")
            rows = connection.execute(
                "SELECT documents.name, source, documents.title, documents.kind, "
                f"  length(documents.text), {PAGES}, count(DISTINCT chunks.id), "
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
            texts(text for row in rows for text in row[:4])
            return tuple(DocumentRow(*row) for row in rows)

    def titles(self, source: str, most: int) -> dict[str, str]:
        """The titles of the first documents of a file by their names, in order."""
        with self.snapshot() as connection:
            return dict(connection.execute(
                "SELECT name, title FROM documents WHERE source = ? ORDER BY position LIMIT ?",
                (source, most)))

    def document(self, name: str) -> Document:
        """A document with its text and marks."""
        with self.reading() as connection:
            row = connection.execute(
                "SELECT name, title, kind, text, marks FROM documents WHERE name = ?",
                (name,)).fetchone()
            if row is None:
                raise StoreError(f"There is no document called {name!r} in this workspace.")
            texts(row)
            return Document(*(*row[:4], tuple(Mark(*mark) for mark in json.loads(row[4]))))

    def original(self, name: str) -> bytes | None:
        """The bytes of a file as it was given; None once it is read, since its text is stored."""
        with self.snapshot() as connection:
            row = connection.execute("SELECT data FROM files WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

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
            bump(connection, "log_revision")
        return True

    def delete(self, *names: str) -> None:
        """Take files or documents out of the graph, all or none; `undo` brings each back.

        They are deleted at the same moment. The graph follows at its next assembly.
        """
        moment = now()
        with self.transaction() as connection:
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
        """Bring back what `delete(name)` took away."""
        with self.transaction() as connection:
            # Documents deleted one by one, before their file was, stay deleted.
            back = connection.execute(
                "UPDATE documents SET deleted_at = NULL WHERE deleted_at IS NOT NULL AND (name = ? "
                "OR source = ? AND deleted_at = (SELECT deleted_at FROM files WHERE name = ?))",
                (name, name, name)).rowcount
            back += connection.execute(
                "UPDATE files SET deleted_at = NULL WHERE name = ? AND deleted_at IS NOT NULL",
                (name,)).rowcount
            if not back:
                raise StoreError(f"There is nothing called {name!r} to bring back.")
            # What was deleted before it was read through has still to be read.
            connection.execute(
                "UPDATE files SET status = 'extracting' WHERE status = 'done' AND name IN ("
                "  SELECT source FROM documents JOIN chunks ON document = documents.name "
                "  WHERE (documents.name = ? OR source = ?) AND NOT EXISTS ("
                "    SELECT 1 FROM extractions WHERE chunk = chunks.id AND extractor = ?))",
                (name, name, meta(connection, "extractor")))
            bump(connection, "log_revision")

    def purge(self, *names: str) -> None:
        """Remove files or documents for good, with all that quotes them; see `qafd.ingest.erase`.

        Vectors and graph follow at the next assembly.

        Raises
        ------
        StoreError
            There is none of a name, or its file waits to be read. Nothing was changed.
        """
        with self.transaction() as connection:
            documents = set[str]().union(*map(self.documents_of, names))
            quoting = [(key,) for key in self.quoting(documents)]
            forget_vectors(connection, documents)
            self.forget_replies(documents)
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
            connection.executemany("DELETE FROM retrievals WHERE id = ?", quoting)
            connection.execute("DELETE FROM layers")  # they quote sentences
            bump(connection, "log_revision")

    def documents_of(self, name: str) -> set[str]:
        """The documents that go when a file or a document of this name is removed.

        Raises
        ------
        StoreError
            See `purge`.
        """
        with self.snapshot() as connection:
            names = {row[0] for row in connection.execute(
                "SELECT name FROM documents WHERE name = ? OR source = ?", (name, name))}
            if not names and not connection.execute(
                    "SELECT 1 FROM files WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"There is nothing called {name!r} to remove.")
            if waiting := connection.execute(
                    "SELECT files.name FROM documents JOIN files ON files.name = source "
                    "WHERE documents.name = ?1 AND files.name != ?1 "
                    "AND status IN ('queued', 'parsing')", (name,)).fetchone():
                raise StoreError(
                    f"{waiting[0]}, which has {name!r}, waits to be read again; erase it when that "
                    "is done, or cancelled.")
        return names

    def quoting(self, documents: Collection[str]) -> tuple[str, ...]:
        """The stored retrievals that show what only these documents have: a passage, a name, or a
        relation by its label.
        """
        with self.snapshot() as connection:
            wanted = json.dumps(list(documents))
            own = {node_id("passage", row[0]) for row in connection.execute(
                "SELECT id FROM chunks WHERE document IN (SELECT value FROM json_each(?))",
                (wanted,))}
            own |= {node_id("entity", row[0]) for row in connection.execute(
                "SELECT key FROM mentions JOIN extractions ON extractions.id = extraction "
                "JOIN chunks ON chunks.id = chunk GROUP BY key "
                "HAVING min(document IN (SELECT value FROM json_each(?)))", (wanted,))}
            relations = {
                (frozenset((node_id("entity", source), node_id("entity", target))), label)
                for source, target, label in connection.execute(
                    "SELECT source, target, label FROM assertions "
                    "JOIN extractions ON extractions.id = extraction "
                    "JOIN chunks ON chunks.id = chunk WHERE label != '' "
                    "GROUP BY min(source, target), max(source, target), label "
                    "HAVING min(document IN (SELECT value FROM json_each(?)))", (wanted,))}
            return tuple(
                key for key, body in connection.execute("SELECT id, body FROM retrievals")
                if _quotes(unpacked(body)["retrieval"], documents, own, relations))


def _quotes(retrieval: Mapping[str, Any], documents: Collection[str], nodes: Collection[str],
            relations: Collection[tuple[frozenset[str], str]]) -> bool:
    return (any(passage["document"] in documents for passage in retrieval["passages"])
            or any(node["id"] in nodes for node in retrieval.get("nodes", ()))
            or any((frozenset((edge["source"], edge["target"])), edge.get("label", "")) in relations
                   for edge in retrieval.get("edges", ()))
            or any(_quotes(part, documents, nodes, relations)
                   for part in retrieval.get("parts", ())))


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
