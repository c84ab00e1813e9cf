"""Files that were given, and how far each has come."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable

from qafd.reading.parsing import refuse_size
from qafd.storage.packing import MENTION, RELATION, unpack_places
from qafd.storage.relational.base import Part, meta
from qafd.storage.relational.documents import PAGES, SqlDocuments
from qafd.storage.rows import Contents, File, clean_name, now


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
