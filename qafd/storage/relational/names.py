"""The names that are looked for in passages, by their words and by what is nearest to each.

Like the graph they follow from the log.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from qafd.records import Codes
from qafd.storage.relational.base import Connection, Part, to_json, upsert

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
        """The names of one of these words, the longer ones that begin with one of these
        pairs, and one name for each of the `branches` with which any begins."""
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
        """Forget the signs of some names, and keep those of others, shape (k, b)."""
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
