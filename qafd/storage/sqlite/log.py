"""The log: what was extracted from each passage."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

from qafd.records import GIVEN, Assertion, Chunk, Extraction, Mention, Vectors
from qafd.storage.sqlite.edits import EditStore
from qafd.storage.sqlite.ledger import descriptions_of, put_descriptions
from qafd.storage.sqlite.rows import Log, checksum
from qafd.storage.sqlite.vectors import VectorStore
from qafd.storage.sqlite.workspace import bump, meta, set_meta

CHUNK = 'id, document, title, text, start, "end", page, heading'
"""The columns of a chunk in tables and views, in the order of the record's fields."""


class LogStore(VectorStore, EditStore):
    """A workspace that remembers what was found in its passages."""

    def passage_counts(self) -> tuple[int, int]:
        """How many passages the live log has, and how many the graph."""
        with self.snapshot() as connection:
            return tuple(connection.execute(
                "SELECT (SELECT count(*) FROM live), (SELECT count(*) FROM passages)").fetchone())

    def pending(self, source: str, extractor: str) -> tuple[Chunk, ...]:
        """The passages of a file that this extractor has still to read, in order.

        Those whose extraction is given are not among them; see `adopt`.
        """
        with self.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {CHUNK} FROM chunks JOIN (SELECT name, position AS place FROM documents "
                "  WHERE source = ? AND deleted_at IS NULL) ON name = document WHERE NOT EXISTS ("
                "  SELECT 1 FROM extractions LEFT JOIN doubts ON extraction = extractions.id "
                "  WHERE chunk = chunks.id AND extractor IN (?, ?) AND again IS NOT 1) "
                "ORDER BY place, position", (source, extractor, GIVEN)).fetchall()
        return tuple(Chunk(*row) for row in rows)

    def give(self, chunk: Chunk, extraction: Extraction) -> None:
        """Log what a file says of a passage; anything else that was found in it is forgotten."""
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM extractions WHERE chunk = ?1 AND NOT EXISTS ("
                "  SELECT 1 FROM extractions AS same WHERE same.chunk = ?1 "
                "  AND same.extractor = ?2 AND same.sha256 = ?3)",
                (chunk.id, GIVEN, checksum(extraction, *extraction.descriptions)))
            self.put_extraction(chunk, extraction)

    def given(self, source: str, extractor: str) -> dict[int, Chunk]:
        """The passages of a file whose extraction is given and not adopted yet, by its row."""
        with self.snapshot() as connection:
            rows = connection.execute(
                f"SELECT extractions.id, {_of('chunks')} FROM extractions "
                "JOIN chunks ON chunks.id = chunk JOIN documents ON documents.name = document "
                "WHERE source = ? AND deleted_at IS NULL AND extractor = ? AND NOT EXISTS ("
                "  SELECT 1 FROM extractions AS own "
                "  WHERE own.chunk = chunks.id AND own.extractor = ?)",
                (source, GIVEN, extractor)).fetchall()
        return {row[0]: Chunk(*row[1:]) for row in rows}

    def adopt(self, source: str, extractor: str) -> None:
        """Let what is given for the passages of a file stand among this extractor's entries."""
        if not self.given(source, extractor):
            return
        with self.transaction() as connection:
            chunks = self.given(source, extractor)
            entries = _entries(connection, [(row, one.id) for row, one in chunks.items()],
                               extractor)
            for chunk, entry in zip(chunks.values(), entries, strict=True):
                self.put_extraction(chunk, entry)

    def put_extraction(
        self, chunk: Chunk, extraction: Extraction, vectors: Mapping[str, Vectors] | None = None,
        doubt: str = "",
    ) -> bool:
        """Append one passage's extraction, with the vectors that belong to it, to the log.

        Returns False, and writes nothing, when the passage was removed or changed in the
        meantime or has an entry already.

        Parameters
        ----------
        vectors : mapping of str to ndarray, shape (d,)
            By `embedding_key`.
        doubt : str
            Why the model's reading is not what it should be; `retry` asks for a new one.
        """
        with self.transaction() as connection:
            self.check_lease()
            connection.execute(
                "DELETE FROM extractions WHERE chunk = ? AND extractor = ? AND id IN ("
                "  SELECT extraction FROM doubts WHERE again = 1)",
                (chunk.id, extraction.extractor))
            row = connection.execute(
                "INSERT INTO extractions (chunk, extractor, sha256) SELECT id, ?, ? FROM chunks "
                "WHERE id = ? AND title = ? AND heading = ? ON CONFLICT DO NOTHING RETURNING id",
                (extraction.extractor, checksum(extraction, *extraction.descriptions), chunk.id,
                 chunk.title, chunk.heading)).fetchone()
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
            put_descriptions(connection, log, extraction.descriptions)
            if doubt:
                connection.execute("INSERT INTO doubts (extraction, reason) VALUES (?, ?)",
                                   (log, doubt))
            self.put_vectors(vectors or {})
            bump(connection, "log_revision")
        return True

    def use_extractor(self, name: str) -> None:
        """From now on the graph is made of this extractor's entries of the log."""
        with self.transaction() as connection:
            if meta(connection, "extractor") != name:
                set_meta(connection, "extractor", name)
                bump(connection, "log_revision")

    @property
    def extractor(self) -> str:
        """The extractor whose entries make up the graph; "" before the first."""
        with self.snapshot() as connection:
            return meta(connection, "extractor")

    def log(self) -> Log:
        """The live log: what the graph is a function of."""
        with self.reading() as connection:
            revision = int(meta(connection, "log_revision", "0"))
            rows = connection.execute(
                f"SELECT extraction, {CHUNK} FROM live ORDER BY document, position").fetchall()
            extractor = meta(connection, "extractor")
            entries = _entries(connection, [row[:2] for row in rows], extractor)
            edits = self.edits()
        return Log(revision, tuple(Chunk(*row[1:]) for row in rows), entries, edits)


def _of(table: str) -> str:
    """The columns of a chunk, of a table that is joined with others."""
    return ", ".join(f"{table}.{column}" for column in CHUNK.split(", "))


def _entries(connection: sqlite3.Connection, rows: Sequence[tuple[int, str]], extractor: str
             ) -> tuple[Extraction, ...]:
    """The extractions in these rows of the log, with the chunks they are of."""
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
    said = descriptions_of(connection)
    return tuple(Extraction(chunk, extractor, tuple(spans[at]), tuple(mentions[at]),
                            tuple(assertions[at]), said.get(at, ())) for at, chunk in rows)
