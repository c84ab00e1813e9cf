"""Facts of the graph, passage by passage, so that the cost of a change follows its size.

A fact is a kind, a term and a passage, with a body: that a text has a word, that a passage claims
a name, what it states of a name. They are found by term (to make a name's node and edges) and by
passage (to see what a change takes away). Like the graph they follow from the log.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from qafd.records import Chunk, Codes
from qafd.storage.relational.base import Connection, Part, meta, set_meta, to_json, upsert
from qafd.storage.relational.log import CHUNK
from qafd.storage.rows import KINDS, PassageFacts

FORMAT = "3"
"""Changes when facts are made or kept differently: the next change then begins anew."""


class SqlPostings(Part):
    """The table of facts, by term and by passage."""

    def list_touched(self) -> set[str]:
        """The documents in which something has changed since the graph was assembled."""
        return {row[0] for row in self._rows("SELECT document FROM touched")}

    def documents_of(self, chunks: Iterable[str]) -> set[str]:
        """Return the documents of some passages, by id."""
        return {row[0] for row in self._rows(
            "SELECT document FROM chunks WHERE id IN (SELECT value FROM json_each(?))", to_json(chunks))}

    def state(self) -> dict[str, object] | None:
        """Return the state that the facts were made with, None without valid facts."""
        with self._file.reading() as connection:
            kept = json.loads(meta(connection, "facts", "{}"))
        return kept if kept.get("format") == FORMAT else None

    def hold(self, state: Mapping[str, object]) -> None:
        """Replace the facts with those of the current log."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM touched")
            set_meta(connection, "facts", json.dumps({**state, "format": FORMAT}))

    def clear(self) -> None:
        """Throw all facts away."""
        with self._file.transaction() as connection:
            clear_facts(connection)

    def rows(self, documents: Iterable[str]) -> dict[str, int]:
        """The passages of the graph in some documents: chunk id to number."""
        return dict(self._rows(
            "SELECT id, rowid FROM passages WHERE document IN "
            "(SELECT value FROM json_each(?))", to_json(documents)))

    def passages(self, numbers: Iterable[int]) -> dict[int, Chunk]:
        """The passages of the graph with these numbers."""
        return {row[0]: Chunk(*row[1:]) for row in self._rows(
            f"SELECT rowid, {CHUNK} FROM passages WHERE rowid IN "
            "(SELECT CAST(value AS INTEGER) FROM json_each(?))", to_json(numbers))}

    def of(self, passage: int, kinds: Sequence[str]) -> dict[tuple[str, str], str]:
        """The facts of these kinds of a passage."""
        with self._file.snapshot() as connection:
            wanted = []
            for kind, terms in _terms(connection, passage, kinds).items():
                wanted += [(KINDS.index(kind), term) for term in terms]
            return {(KINDS[kind], term): body for kind, term, body in connection.execute(
                "SELECT kind, term, body FROM json_each(?) AS wanted CROSS JOIN facts "
                "ON kind = CAST(json_extract(wanted.value, '$[0]') AS INTEGER) "
                "AND term = json_extract(wanted.value, '$[1]') AND passage = ?",
                (json.dumps(wanted), passage))}

    def put(self, passage: int, kinds: Sequence[str], facts: PassageFacts) -> set[tuple[str, str]]:
        """Let these be the facts of these kinds of a passage; which are new, other or gone."""
        with self._file.transaction() as connection:
            old = self.of(passage, kinds)
            gone = old.keys() - facts.keys()
            fresh = {fact: body for fact, body in facts.items() if old.get(fact) != body}
            if not gone and not fresh:
                return set()
            _forget(connection, passage, gone)
            connection.executemany(
                upsert("facts", ["kind", "term", "passage"], ["body"]),
                [(KINDS.index(kind), term, passage, body) for (kind, term), body in fresh.items()])
            terms = _terms(connection, passage)
            for kind in kinds:
                terms[kind] = [term for of, term in facts if of == kind]
            connection.execute(upsert("passage_facts", ["passage"], ["terms"]), (passage, _pack(terms)))
            return gone | fresh.keys()

    def fill(self, facts: Mapping[int, PassageFacts]) -> None:
        """Let these be the facts of passages that have none, in the order of the table."""
        rows = [(KINDS.index(kind), term, passage, body) for passage, some in facts.items()
                for (kind, term), body in some.items()]
        rows.sort()
        packed = []
        for passage, some in facts.items():
            terms: dict[str, list[str]] = {kind: [] for kind in KINDS}
            for kind, term in some:
                terms[kind].append(term)
            packed.append((passage, _pack(terms)))
        with self._file.transaction() as connection:
            connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO passage_facts VALUES (?, ?)", packed)

    def forget(self, passage: int) -> set[tuple[str, str]]:
        """Remove all facts of a passage; which these were."""
        with self._file.transaction() as connection:
            gone = self.terms([passage], KINDS)
            _forget(connection, passage, gone)
            connection.execute("DELETE FROM passage_facts WHERE passage = ?", (passage,))
            return gone

    def terms(self, passages: Iterable[int], kinds: Sequence[str]) -> set[tuple[str, str]]:
        """Kind and term of the facts of these kinds that any of some passages has."""
        found = set[tuple[str, str]]()
        for packed, in self._rows(
                "SELECT terms FROM passage_facts WHERE passage IN "
                "(SELECT CAST(value AS INTEGER) FROM json_each(?))", to_json(passages)):
            for kind, terms in _unpack(packed, kinds).items():
                found.update((kind, term) for term in terms)
        return found

    def bodies(self, kind: str, terms: Iterable[str]) -> dict[str, dict[int, str]]:
        """The bodies of some terms, each by passage."""
        found: dict[str, dict[int, str]] = {term: {} for term in terms}
        for term, passage, body in self._rows(
                "SELECT term, passage, body FROM json_each(?) AS wanted CROSS JOIN facts "
                "ON kind = ? AND term = wanted.value", to_json(found), KINDS.index(kind)):
            found[term][passage] = body
        return found

    def find_present(self, kind: str, terms: Iterable[str], body: str | None = None) -> set[str]:
        """Those of these terms that any passage has, with this body if one is given."""
        so = "" if body is None else "AND body = ?"
        asked = (to_json(terms), KINDS.index(kind), *(() if body is None else (body,)))
        return {term for term, in self._rows(
            "SELECT value FROM json_each(?) AS wanted WHERE EXISTS "
            f"(SELECT 1 FROM facts WHERE kind = ? AND term = wanted.value {so})", *asked)}

    def first(self, kind: str, term: str, without: str) -> int:
        """The passage that is first in the log of those whose body of a term does not begin so."""
        with self._file.reading() as connection:
            return int(connection.execute(
                "SELECT passage FROM facts JOIN passages ON passages.rowid = passage "
                "WHERE kind = ? AND term = ? AND substr(body, 1, ?) <> ? "
                "ORDER BY document, start, passages.id LIMIT 1",
                (KINDS.index(kind), term, len(without), without)).fetchone()[0])

    def total(self, kind: str, term: str) -> int:
        """The sum of the bodies of a term, which are counts."""
        return int(self._row(
            "SELECT coalesce(sum(CAST(body AS INTEGER)), 0) FROM facts "
            "WHERE kind = ? AND term = ?", KINDS.index(kind), term)[0])

    def having(self, kind: str, terms: Sequence[str]) -> set[int]:
        """The passages that have all these terms, one at least."""
        rare, *others = sorted(set(terms), key=len, reverse=True)
        more = "".join(" AND EXISTS (SELECT 1 FROM facts AS more WHERE more.kind = ?1 "
                       f"AND more.term = ?{at} AND more.passage = facts.passage)"
                       for at in range(3, 3 + len(others)))
        return {row[0] for row in self._rows(
            f"SELECT passage FROM facts WHERE kind = ?1 AND term = ?2{more}",
            KINDS.index(kind), rare, *others)}


def _forget(connection: Connection, passage: int, facts: Iterable[tuple[str, str]]) -> None:
    """Remove facts of a passage."""
    connection.executemany("DELETE FROM facts WHERE kind = ? AND term = ? AND passage = ?",
                           [(KINDS.index(kind), term, passage) for kind, term in facts])


def clear_facts(connection: Connection) -> None:
    """Throw all facts away."""
    for table in ("facts", "passage_facts", "names", "near", "signs"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE key = 'facts'")


def _terms(connection: Connection, passage: int, kinds: Sequence[str] = KINDS
           ) -> dict[str, list[str]]:
    """The terms of a passage by kind."""
    row = connection.execute(
        "SELECT terms FROM passage_facts WHERE passage = ?", (passage,)).fetchone()
    return _unpack(row[0], kinds) if row else {}


def _pack(terms: Mapping[str, Iterable[str]]) -> bytes:
    ordered = {kind: sorted(some) for kind, some in terms.items()}
    return zlib.compress(json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode())


def _unpack(packed: bytes, kinds: Sequence[str]) -> dict[str, list[str]]:
    kept = json.loads(zlib.decompress(packed))
    return {kind: terms for kind, terms in kept.items() if kind in kinds}


BLOCKS = 256  # of names whose signs are written together


class SqlNames(Part):
    """The tables of names by their first words, of nearest names, and of the signs of their vectors."""

    def find_known(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys that are names."""
        return {key for key, in self._rows(
            "SELECT key FROM names WHERE key IN (SELECT value FROM json_each(?))",
            to_json(keys))}

    def add(self, names: Iterable[tuple[str, str, str]]) -> None:
        """Note names: the key and its first two words."""
        self._write_many(upsert("names", ["key"], ["first", "second"]), names)

    def remove(self, keys: Iterable[str]) -> None:
        """Forget names."""
        self._write_many("DELETE FROM names WHERE key = ?", [(key,) for key in keys])

    def beginning(self, words: Iterable[str], pairs: Iterable[tuple[str, str]],
                  branches: Iterable[str]) -> set[str]:
        """Return the names that are one of `words`, and those that begin with one of `pairs`.

        Of the `branches`, it adds one name for each with which any name begins.
        """
        with self._file.snapshot() as connection:
            # The planner would read all names for each word instead.
            rows = connection.execute(
                "SELECT names.key FROM json_each(?1) AS word "
                "CROSS JOIN names INDEXED BY names_first "
                "ON first = word.value AND second = ''",
                (to_json(words),)).fetchall()
            rows += connection.execute(
                "SELECT names.key FROM json_each(?1) AS pair "
                "CROSS JOIN names INDEXED BY names_first "
                "ON first = json_extract(pair.value, '$[0]') "
                "AND second = json_extract(pair.value, '$[1]')",
                (to_json(pairs),)).fetchall()
            for word in branches:
                rows += connection.execute(
                    "SELECT key FROM names INDEXED BY names_first "
                    "WHERE first = ? LIMIT 1", (word,)).fetchall()
        return {key for key, in rows}

    def near(self, keys: Iterable[str]) -> dict[str, dict[str, float]]:
        """The nearest names of each of these."""
        found: dict[str, dict[str, float]] = {}
        for key, other, cosine in self._rows(
                "SELECT key, other, cosine FROM near WHERE key IN "
                "(SELECT value FROM json_each(?))", to_json(keys)):
            found.setdefault(key, {})[other] = cosine
        return found

    def near_to(self, keys: Iterable[str]) -> set[str]:
        """The names among whose nearest one of these is."""
        return {row[0] for row in self._rows(
            "SELECT key FROM near WHERE other IN (SELECT value FROM json_each(?))",
            to_json(keys))}

    def set_near(self, near: Mapping[str, Mapping[str, float]]) -> None:
        """Let these be the nearest names of each."""
        with self._file.transaction() as connection:
            connection.executemany("DELETE FROM near WHERE key = ?", [(key,) for key in near])
            connection.executemany("INSERT INTO near VALUES (?, ?, ?)", [
                (key, other, cosine) for key, some in near.items()
                for other, cosine in some.items()])

    def signs(self) -> tuple[list[str], Codes]:
        """The names whose signs are kept, in no order, and these, shape (k, b).

        See `qafd.assemble.edges.signs_of`.
        """
        with self._file.reading() as connection:
            keys, kept = [], []
            for names, codes in connection.execute("SELECT names, codes FROM signs"):
                keys += names.split("\n")
                kept.append(codes)
            return keys, _codes_of(b"".join(kept), len(keys))

    def has_signs(self) -> bool:
        """Return True if the signs of any name are stored."""
        return self._row("SELECT 1 FROM signs LIMIT 1") is not None

    def put_signs(self, gone: Iterable[str], keys: Sequence[str], codes: Codes) -> None:
        """Delete the signs of `gone` names, and store those of `keys`, shape (k, b)."""
        blocks: dict[int, dict[str, bytes | None]] = {}
        for key in gone:
            blocks.setdefault(_block_of(key), {})[key] = None
        for key, code in zip(keys, codes, strict=True):
            blocks.setdefault(_block_of(key), {})[key] = code.tobytes()
        with self._file.transaction() as connection:
            for block, changed in blocks.items():
                _change_block(connection, block, changed)


def _block_of(key: str) -> int:
    return zlib.crc32(key.encode()) % BLOCKS


def _codes_of(codes: bytes, many: int) -> Codes:
    return np.frombuffer(codes, np.uint8).reshape(many, -1) if many else np.empty((0, 0), np.uint8)


def _change_block(connection: Connection, block: int, changed: Mapping[str, bytes | None]) -> None:
    """Let a block have other signs of these names, or none."""
    row = connection.execute("SELECT names, codes FROM signs WHERE block = ?", (block,)).fetchone()
    names = row[0].split("\n") if row else []
    codes = _codes_of(row[1], len(names)) if row else ()
    kept: dict[str, bytes | None] = {
        key: code.tobytes() for key, code in zip(names, codes, strict=True)}
    kept |= changed
    there = {key: code for key, code in kept.items() if code is not None}
    if there:
        connection.execute(upsert("signs", ["block"], ["names", "codes"]),
                           (block, "\n".join(there), b"".join(there.values())))
    else:
        connection.execute("DELETE FROM signs WHERE block = ?", (block,))
