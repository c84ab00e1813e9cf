"""The vectors of a workspace, and the one embedding model that they come from."""

import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from qafd.errors import EmbedderMismatchError, ParameterError
from qafd.records import Vectors
from qafd.storage.packing import (
    check_finite,
    embedding_key,
    hash_number,
    pack_vectors,
    passage_key,
    unpack_rows,
)
from qafd.storage.relational.base import NUMBERS, Connection, Part, bump, meta, set_meta, to_json

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
            raise EmbedderMismatchError(f"{self._file.name} was indexed with {stamped[0]} "
                                        f"({stamped[1]} dimensions), not with {name} "
                                        f"({dimension}); choose that model again, or embed "
                                        "the workspace anew with this one (`qafd index "
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
                    raise ParameterError(("An embedding has shape {shape}, but {model} of "
                                          "this workspace gives {dimension} numbers; check "
                                          "the embedding model.").format(
                                             shape=rows.shape,
                                             model=name or 'no model',
                                             dimension=dimension))
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
