"""The log: what was extracted from each passage, its vectors, its edits, and the calls of models it cost."""

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from qafd.edits import Edit, Ends, edges_by_hand, merged_keys
from qafd.errors import EmbedderMismatchError, ParameterError, StoreError
from qafd.reading.text.plaintext import storable
from qafd.records import GIVEN, Assertion, Chunk, Description, Extraction, Mention, Vectors, node_id
from qafd.storage.relational.base import NUMBERS, Connection, Part, bump, meta, set_meta, to_json
from qafd.storage.rows import (
    BY,
    Call,
    Log,
    Total,
    UnreadRow,
    check_finite,
    checksum,
    embedding_key,
    hash_number,
    now,
    pack_vectors,
    passage_key,
    unpack_rows,
)

CHUNK = 'id, document, title, text, start, "end", page, heading'
"""The columns of a chunk in tables and views, in the order of the record's fields."""


class SqlLog(Part):
    """The tables of extractions and what belongs to them."""

    def count(self) -> int:
        """Count the passages of the live log, reading each."""
        return int(self._row("SELECT count(*) FROM live")[0])

    def count_assembled(self) -> int:
        """Count the passages of the graph."""
        return int(self._row("SELECT count(*) FROM passages")[0])

    def pending(self, source: str, extractor: str) -> tuple[Chunk, ...]:
        """The passages of a file that this extractor has still to read, in order.

        Those whose extraction is given are not among them; see `adopt`.
        """
        rows = self._rows(
            f"SELECT {CHUNK} FROM chunks JOIN (SELECT name, position AS place FROM documents "
            "  WHERE source = ? AND deleted_at IS NULL) AS own ON name = document WHERE NOT EXISTS ("
            "  SELECT 1 FROM extractions LEFT JOIN doubts ON extraction = extractions.id "
            "  WHERE chunk = chunks.id AND extractor IN (?, ?) AND coalesce(again, 0) <> 1) "
            "ORDER BY place, position", source, extractor, GIVEN)
        return tuple(Chunk(*row) for row in rows)

    def give(self, chunk: Chunk, extraction: Extraction) -> None:
        """Log what a file says of a passage; anything else that was found in it is forgotten."""
        with self._file.transaction() as connection:
            connection.execute(
                "DELETE FROM extractions WHERE chunk = ?1 AND NOT EXISTS ("
                "  SELECT 1 FROM extractions AS same WHERE same.chunk = ?1 "
                "  AND same.extractor = ?2 AND same.sha256 = ?3)",
                (chunk.id, GIVEN, checksum(extraction, *extraction.descriptions)))
            self.put(chunk, extraction)

    def given(self, source: str, extractor: str) -> dict[int, Chunk]:
        """The passages of a file whose extraction is given and not adopted yet, by its row."""
        rows = self._rows(
            f"SELECT extractions.id, {columns_of('chunks')} FROM extractions "
            "JOIN chunks ON chunks.id = chunk JOIN documents ON documents.name = document "
            "WHERE source = ? AND deleted_at IS NULL AND extractor = ? AND NOT EXISTS ("
            "  SELECT 1 FROM extractions AS own "
            "  WHERE own.chunk = chunks.id AND own.extractor = ?)",
            source, GIVEN, extractor)
        return {row[0]: Chunk(*row[1:]) for row in rows}

    def take_over(self, source: str, extractor: str) -> None:
        """Copy the imported extractions of a file's passages to this extractor's entries."""
        if not self.given(source, extractor):
            return
        with self._file.transaction() as connection:
            chunks = self.given(source, extractor)
            entries = _entries(connection, [(row, one.id) for row, one in chunks.items()],
                               extractor)
            for chunk, entry in zip(chunks.values(), entries, strict=True):
                self.put(chunk, entry)

    def put(
        self, chunk: Chunk, extraction: Extraction, vectors: Mapping[str, Vectors] | None = None,
        doubt: str = "",
    ) -> bool:
        """Append one passage's extraction, with the vectors that belong to it, to the log.

        Returns False, and writes nothing, when the passage was removed or changed in the
        meantime or has an entry already.

        Parameters
        ----------
        vectors : mapping of str to ndarray, shape (d,) or (r, d)
            By `embedding_key` or `passage_key`.
        doubt : str
            Why the model's reading is not what it should be; `retry` asks for a new one.
        """
        with self._file.transaction() as connection:
            self._file.check_lease()
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
            for table, (columns, _) in _TABLES.items():
                marks = ", ?" * len(columns.split(", "))
                connection.executemany(
                    f"INSERT INTO {table} (extraction, position, {columns}) VALUES (?, ?{marks})",
                    [(*row, at, *_values(each)) for at, each in enumerate(getattr(extraction, table))])
            if doubt:
                connection.execute("INSERT INTO doubts (extraction, reason) VALUES (?, ?)",
                                   (*row, doubt))
            SqlVectors(self._file).put(vectors or {})
            bump(connection, "log_revision")
        return True

    def use_extractor(self, name: str) -> None:
        """From now on the graph is made of this extractor's entries of the log."""
        with self._file.transaction() as connection:
            if meta(connection, "extractor") != name:
                set_meta(connection, "extractor", name)
                bump(connection, "log_revision")

    @property
    def extractor(self) -> str:
        """The extractor whose entries make up the graph; "" before the first."""
        return self._meta("extractor")

    @property
    def revision(self) -> int:
        """Counts the changes of the log."""
        return self._number("log_revision")

    def read(self, documents: Iterable[str] | None = None) -> Log:
        """Return the live log of all or some documents; the graph is a function of it."""
        some = "" if documents is None else (
            "WHERE document IN (SELECT value FROM json_each(?)) ")
        wanted = () if documents is None else (to_json(documents),)
        with self._file.reading() as connection:
            revision = int(meta(connection, "log_revision", "0"))
            rows = connection.execute(
                f"SELECT extraction, {CHUNK} FROM live {some}ORDER BY document, position",
                wanted).fetchall()
            extractor = meta(connection, "extractor")
            entries = _entries(connection, [row[:2] for row in rows], extractor)
            edits = SqlEdits(self._file).all()
        return Log(revision, tuple(Chunk(*row[1:]) for row in rows), entries, edits)

    def slices(self, many: int) -> Iterator[Log]:
        """The live log, whole documents of about so many passages at a time; in one snapshot."""
        counts = sorted(self._rows("SELECT document, count(*) FROM live GROUP BY document"))
        documents: list[str] = []
        total = 0
        for document, passages in counts:
            documents.append(document)
            total += passages
            if total >= many:
                yield self.read(documents)
                documents, total = [], 0
        if documents:
            yield self.read(documents)

    def spans(self, ids: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """Return the spans of the sentences of some passages of the live log, by the passage's id."""
        found: dict[str, list[tuple[int, int]]] = {}
        with self._file.snapshot() as connection:
            for chunk, start, end in connection.execute(
                    'SELECT chunk, start, "end" FROM json_each(?) AS wanted '
                    "CROSS JOIN extractions ON chunk = wanted.value AND extractor = ? "
                    "JOIN sentences ON extraction = extractions.id ORDER BY chunk, position",
                    (to_json(ids), meta(connection, "extractor"))):
                found.setdefault(chunk, []).append((start, end))
        return found

    @property
    def choice(self) -> str:
        """Choice of models that read this workspace (see `qafd.ingest.reader`); "" for the local ones."""
        return self._meta("choice")

    def choose(self, choice: str, anew: bool) -> None:
        """Let other models read from the next run on, all that was read before too if `anew`."""
        with self._file.transaction() as connection:
            set_meta(connection, "choice", choice)
            if anew and meta(connection, "extractor"):
                bump(connection, "log_revision")

    def doubts(self) -> dict[str, tuple[str, ...]]:
        """File names to why passages of theirs were not read by the model as they should be."""
        found: dict[str, tuple[str, ...]] = {}
        for source, reason in self._rows(
                "SELECT source, reason FROM doubts JOIN live USING (extraction) "
                "JOIN documents ON documents.name = live.document "
                "ORDER BY documents.position, live.position"):
            found[source] = (*found.get(source, ()), reason)
        return found


    def names(self, chunks: Collection[str]) -> tuple[tuple[str, str, int, int], ...]:
        """Chunk, key, start and end of each name in some passages, as it was read."""
        with self._file.snapshot() as connection:
            return tuple(connection.execute(
                'SELECT chunk, key, start, "end" FROM extractions JOIN mentions '
                "  ON extraction = extractions.id WHERE chunk IN (SELECT value FROM json_each(?)) "
                'AND extractor = ? AND "end" > start',
                (to_json(chunks), meta(connection, "extractor"))))

    def unread(self, source: str) -> tuple[UnreadRow, ...]:
        """The passages of a file that the model did not read, or not in whole, in order."""
        with self._file.snapshot() as connection:
            if not connection.execute("SELECT 1 FROM files WHERE name = ?", (source,)).fetchone():
                raise StoreError(f"There is no file called {source[:200]!r} in this workspace.")
            return tuple(UnreadRow(*row) for row in connection.execute(
                "WITH called AS (SELECT value AS chunk, status, model, row_number() OVER ("
                "    PARTITION BY value ORDER BY llm_calls.id DESC) AS back "
                f"  FROM llm_calls, {ABOUT} WHERE chunk != '' AND purpose = 'extract') "
                "SELECT document, chunks.position + 1, chunks.id, page, coalesce(reason, ''), "
                "  coalesce(called.status, '') "
                "FROM chunks JOIN documents ON documents.name = document "
                "JOIN files ON files.name = source LEFT JOIN called ON called.chunk = chunks.id AND back = 1 "
                "LEFT JOIN (extractions JOIN doubts ON doubts.extraction = extractions.id) "
                "  ON extractions.chunk = chunks.id AND extractor = ? "
                "WHERE source = ? AND (reason IS NOT NULL OR files.status = 'failed' "
                "  AND called.status != 'ok' AND NOT EXISTS (SELECT 1 FROM extractions AS own "
                "    WHERE own.chunk = chunks.id "
                "    AND substr(own.extractor, 1, length(called.model) + 1) = called.model || '/')) "
                "ORDER BY documents.position, chunks.position",
                (meta(connection, "extractor"), source)))


def columns_of(table: str) -> str:
    """The columns of a chunk, of a table that is joined with others."""
    return ", ".join(f"{table}.{column}" for column in CHUNK.split(", "))


def _entries(connection: Connection, rows: Sequence[tuple[int, str]], extractor: str
             ) -> tuple[Extraction, ...]:
    """The extractions in these rows of the log, with the chunks they are of."""
    wanted = (json.dumps([at for at, _ in rows]),)
    found: dict[str, dict[int, list[Any]]] = {}
    for table, (columns, record) in _TABLES.items():
        found[table] = defaultdict(list)
        for at, *fields in connection.execute(
                f"SELECT extraction, {columns} FROM {table} WHERE extraction IN "
                "(SELECT CAST(value AS INTEGER) FROM json_each(?)) ORDER BY extraction, position", wanted):
            found[table][at].append(record(fields))
    read = []
    for at, chunk in rows:
        parts: dict[str, Any] = {table: tuple(by_row[at]) for table, by_row in found.items()}
        read.append(Extraction(chunk, extractor, **parts))
    return tuple(read)


def _values(part: Any) -> Iterator[Any]:
    """The columns of a span, or of a record with the fields of `_TABLES`."""
    for value in part if isinstance(part, tuple) else vars(part).values():
        yield json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value


def description_of(row: Sequence[Any]) -> Description:
    """The description in a row: source, target, kind, text, keywords and strength."""
    source, target, kind, text, keywords, strength = row
    return Description(source, target, kind, text, tuple(json.loads(keywords)), strength)


_TABLES: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "sentences": ('start, "end"', tuple),
    "mentions": ('key, name, start, "end", sentence, kind', lambda row: Mention(*row)),
    "assertions": ("source, target, sentence, label", lambda row: Assertion(*row)),
    "descriptions": ("source, target, kind, text, keywords, strength", description_of)}
"""The tables of the fields of `Extraction`: their columns, and what a row is."""


class SqlEdits(Part):
    """The table of edits."""

    def add(self, action: str, key: str, name: str = "", label: str = "", note: str = "",
            passages: Iterable[str] = ()) -> int:
        """Put an edit in force and return its number; see `qafd.edits.Edit`.

        The graph follows at its next assembly.
        """
        texts = map(storable, (action, key, name, now(), label, note))
        with self._file.transaction() as connection:
            number = connection.execute(
                "INSERT INTO edits (action, key, name, made_at, label, note, passages) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id", (*texts, to_json(passages))).fetchone()[0]
            bump(connection, "log_revision")
        return int(number)

    def undo(self, number: int) -> None:
        """Take an edit back; its row stays, with the time.

        Raises
        ------
        StoreError
            No edit in force has that number.
        """
        with self._file.transaction() as connection:
            if not connection.execute(
                    "UPDATE edits SET undone_at = ? WHERE id = ? AND undone_at IS NULL",
                    (now(), number)).rowcount:
                raise StoreError(f"There is no edit {number} to undo; the history lists them.")
            bump(connection, "log_revision")

    def all(self) -> tuple[Edit, ...]:
        """All edits, also those undone, in the order in which they were made."""
        with self._file.reading() as connection:
            rows = [[*row[:-1], tuple(json.loads(row[-1]))] for row in connection.execute(
                "SELECT id, action, key, name, made_at, undone_at, label, note, passages FROM edits "
                "ORDER BY id")]
        return tuple(Edit(*row) for row in rows)

    def map_merged(self) -> dict[str, str]:
        """Map the keys of merged names to the key of the entity that they count as."""
        return merged_keys(self.all())

    def map_added_edges(self) -> dict[Ends, tuple[Edit, ...]]:
        """The edits that add edges, by the node ids of the two ends."""
        found: dict[Ends, tuple[Edit, ...]] = {}
        for (source, target, _), edit in edges_by_hand(self.all())[0].items():
            ends = frozenset((node_id("entity", source), node_id("entity", target)))
            found[ends] = (*found.get(ends, ()), edit)
        return found


ABOUT = """json_each('["' || replace(chunk, ' ', '","') || '"]')"""
"""The passages of a call, a row for each id, in its column value."""
WRITTEN = (f"(purpose = 'write' AND EXISTS (SELECT 1 FROM {ABOUT} JOIN chunks ON chunks.id = value "
           "WHERE chunks.document IN (SELECT value FROM json_each(?))))")
"""Test if a call wrote a text of a layer from passages of some documents."""


class SqlLedger(Part):
    """The table of calls."""

    def put(self, call: Call) -> None:
        """Note a call, at once when it has ended."""
        values = {name: storable(value) if isinstance(value, str) else value
                  for name, value in vars(call).items()}
        values |= {"estimated": int(call.estimated), "cut": int(call.cut), "created_at": now()}
        self._write(f"INSERT INTO llm_calls ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
                    *values.values())

    def good_call(self, key: str) -> Call | None:
        """The latest call with this key whose reply was of use."""
        row = self._row(
            f"SELECT {', '.join(Call.__dataclass_fields__)} FROM llm_calls "
            "WHERE key = ? AND status = 'ok' ORDER BY id DESC LIMIT 1", key)
        return None if row is None else Call(*(*row[:7], bool(row[7]), bool(row[8]), *row[9:]))

    def totals(self, by: str = "run", run: str | None = None) -> tuple[Total, ...]:
        """Sum the spending by one of `BY`, the latest first; of one run, or of all."""
        if by not in BY:
            raise ValueError(by)
        return tuple(Total(*(*row[:4], bool(row[4]), *row[5:])) for row in self._rows(
            f"SELECT {by}, count(*), sum(tokens_in), sum(tokens_out), max(estimated), "
            "coalesce(sum(cost), 0.0), count(*) - count(cost), sum(seconds) FROM llm_calls "
            f"WHERE CAST(?1 AS TEXT) IS NULL OR run = ?1 GROUP BY {by} ORDER BY max(id) DESC", run))

    def useless_replies(self, chunks: Collection[str], most: int) -> dict[str, tuple[str, ...]]:
        """The latest replies for each passage that its reading had no use for, newest first."""
        found: dict[str, tuple[str, ...]] = {}
        for chunk, reply in self._rows(
                f"SELECT value, reply FROM llm_calls, {ABOUT} WHERE status != 'ok' "
                "AND purpose = 'extract' AND value IN (SELECT value FROM json_each(?)) "
                "ORDER BY llm_calls.id DESC", to_json(chunks)):
            found[chunk] = (*found.get(chunk, ()), reply)[:most]
        return found

    def replies(self, documents: Collection[str]) -> int:
        """Count the replies about these documents or about a question, except its plan."""
        names = to_json(documents)
        return int(self._row(
            "SELECT count(*) FROM llm_calls WHERE reply != '' AND (document IN "
            "  (SELECT value FROM json_each(?)) OR question != '' AND purpose != 'plan' "
            f"OR {WRITTEN})", names, names)[0])

    def forget_replies(self, documents: Iterable[str]) -> None:
        """Delete the replies of models about these documents; their costs stay in the ledger."""
        names = to_json(documents)
        self._write(
            "UPDATE llm_calls SET reply = '', key = '', document = '', chunk = '', "
            "status = 'rejected' WHERE document IN (SELECT value FROM json_each(?)) "
            f"OR {WRITTEN}", names, names)


_REFERRED = "SELECT vectors FROM nodes UNION ALL SELECT said FROM nodes WHERE said IS NOT NULL"
"""The rows of vectors that the graph refers to."""
MODEL = 0  # what the column has that told the vectors of two models apart


class SqlVectors(Part):
    """The table of vectors, bound to one embedding model at its first use."""

    def stamp(self, name: str, dimension: int) -> None:
        """Bind the workspace to one embedding model, at its first use.

        Raises
        ------
        EmbedderMismatchError
            It is bound to another one.
        """
        with self._file.transaction() as connection:
            if not meta(connection, "embedder"):
                set_meta(connection, "embedder", name)
                set_meta(connection, "dimension", str(dimension))
        self.check(name, dimension)

    def check(self, name: str, dimension: int) -> None:
        """Refuse a model whose vectors cannot be compared with those stored here."""
        stamped = self.embedder
        if stamped[0] and stamped != (name, dimension):
            raise EmbedderMismatchError(f"{self._file.name} was indexed with {stamped[0]} ({stamped[1]} "
                                        f"dimensions), not with {name} ({dimension}); choose that model "
                                        "again, or embed the workspace again with this one (`qafd index "
                                        "--re-embed`).")

    @property
    def embedder(self) -> tuple[str, int]:
        """Name and dimension of the model of this workspace; ("", 0) before its first use."""
        with self._file.snapshot():
            return self._meta("embedder"), self._number("dimension")

    def forget(self) -> None:
        """Drop the stamp and the vectors, so that the next assembly embeds again."""
        with self._file.transaction() as connection:
            connection.execute("UPDATE embeddings SET key = NULL")
            sweep_vectors(connection)
            connection.execute(
                "DELETE FROM meta WHERE key IN ('embedder', 'dimension', 'facts')")
            connection.execute("DELETE FROM layers")
            bump(connection, "log_revision")

    def get(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """The stored vectors among these keys, each of shape (d,)."""
        return {key: rows[0] for key, rows in self.rows(keys).items()}

    def rows(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors under these keys, each of shape (r, d), r > 1 for passages."""
        with self._file.reading() as connection:
            asked = {hash_number(key): key for key in keys}
            found = connection.execute(
                f"SELECT key, vectors FROM embeddings WHERE key IN {NUMBERS}", (to_json(asked),)).fetchall()
            if not found:
                return {}
            dimension = int(meta(connection, "dimension"))
            rows = unpack_rows([vectors for _, vectors in found], dimension)
            ends = np.cumsum([len(vectors) // dimension for _, vectors in found])
            return dict(zip([asked[key] for key, _ in found], np.split(rows, ends[:-1]), strict=True))

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys under which no vector is stored."""
        asked = {hash_number(key): key for key in keys}
        there = {row[0] for row in self._rows(
            f"SELECT key FROM embeddings WHERE key IN {NUMBERS}", to_json(asked))}
        return {key for number, key in asked.items() if number not in there}

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep unit vectors, each of shape (d,) or (r, d), by their keys, as `pack_vectors` rounds them.

        Raises
        ------
        ParameterError
            One has another length than the workspace's model, or holds NaN or infinity.
        """
        if not vectors:
            return
        with self._file.transaction() as connection:
            name, dimension = self.embedder
            for rows in vectors.values():
                if rows.ndim > 2 or rows.shape[-1:] != (dimension,):
                    raise ParameterError(
                        f"An embedding has shape {rows.shape}, but {name or 'no model'} of this workspace "
                        f"gives {dimension} numbers; check the embedding model.")
            check_finite(np.concatenate([rows.reshape(-1, dimension) for rows in vectors.values()]))
            fresh = []
            for key, rows in vectors.items():
                packed = b"".join(pack_vectors(rows.reshape(-1, dimension)))
                fresh.append((hash_number(key), MODEL, zlib.crc32(packed), packed))
            connection.executemany("INSERT INTO embeddings (key, model, checksum, vectors) "
                                   "VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", fresh)


def sweep_vectors(connection: Connection) -> None:
    """Remove the vectors that neither a key nor the graph leads to any more.

    After documents were removed for good also those that only they had: neither the graph nor what is
    in the log needs them. Of a passage that was not read to its end, nothing else tells what was
    embedded.
    """
    if meta(connection, "purged"):
        needed = _find_needed(connection)
        stored = connection.execute("SELECT key FROM embeddings WHERE key IS NOT NULL").fetchall()
        connection.executemany("UPDATE embeddings SET key = NULL WHERE key = ?",
                               [row for row in stored if row[0] not in needed])
    connection.execute(f"DELETE FROM embeddings WHERE key IS NULL AND id NOT IN ({_REFERRED})")


def _find_needed(connection: Connection) -> set[int]:
    """The numbers of keys: of the vectors of all passages and names in the log, and of the graph."""
    model = meta(connection, "embedder")
    needed = {row[0] for row in connection.execute(
        f"SELECT key FROM embeddings WHERE id IN ({_REFERRED})")}
    for title, text, extraction in connection.execute(
            "SELECT title, text, extractions.id FROM chunks "
            "JOIN extractions ON chunk = chunks.id").fetchall():
        names = [row[0] for row in connection.execute(
            "SELECT DISTINCT key FROM mentions WHERE extraction = ?", (extraction,))]
        spans = connection.execute(
            'SELECT start, "end" FROM sentences WHERE extraction = ? ORDER BY position',
            (extraction,)).fetchall()
        needed.update(hash_number(embedding_key(model, name)) for name in names)
        needed.add(hash_number(passage_key(model, title, text, spans)))
    return needed
