"""The vectors of a workspace, and the one embedding model that they come from."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from qafd.assemble.entities import describe_entity
from qafd.assemble.parts import KeyPart, unpack_part
from qafd.errors import EmbedderMismatchError, ParameterError
from qafd.records import Vectors
from qafd.storage.relational.part import Connection, Part, bump, meta, set_meta
from qafd.storage.rows import (
    KINDS,
    check_finite,
    embedding_key,
    pack_vectors,
    unpack_vectors,
    vector_keys,
)


class SqlVectors(Part):
    """The table of vectors, bound to one embedding model at its first use."""

    def stamp(self, name: str, dimension: int) -> None:
        """Bind the workspace to one embedding model, at its first use."""
        with self._file.transaction() as connection:
            if not meta(connection, "embedder"):
                set_meta(connection, "embedder", name)
                set_meta(connection, "dimension", str(dimension))
                if meta(connection, "earlier_embedder") == name:
                    self.drop_earlier()  # asked for anew, they are computed anew
        self.check(name, dimension)

    def check(self, name: str, dimension: int) -> None:
        """Refuse a model whose vectors cannot be compared with those stored here."""
        stamped = self.embedder
        if stamped[0] and stamped != (name, dimension):
            raise EmbedderMismatchError("{file} was indexed with {stamped} ({size} dimensions), "
                                        "not with {name} ({dimension}); choose that model again, "
                                        "or embed the workspace anew with this one (`qafd index "
                                        "--re-embed`).", file=self._file.name,
                                        stamped=stamped[0], size=stamped[1], name=name,
                                        dimension=dimension)

    @property
    def embedder(self) -> tuple[str, int]:
        """Name and dimension of the model of this workspace; ("", 0) before its first use."""
        with self._file.reading() as connection:
            return meta(connection, "embedder"), int(meta(connection, "dimension", "0"))

    @property
    def earlier(self) -> tuple[str, int]:
        """Name and dimension of the model before this one, whose vectors are kept; else ("", 0)."""
        with self._file.reading() as connection:
            name = meta(connection, "earlier_embedder")
            kept = connection.execute(
                "SELECT dimension FROM embeddings WHERE model = ? LIMIT 1", (name,)).fetchone()
            return (name, int(kept[0])) if kept else ("", 0)

    def drop_earlier(self) -> None:
        """Drop the vectors of the model before this one."""
        with self._file.transaction() as connection:
            connection.execute(
                "DELETE FROM embeddings WHERE model = "
                "(SELECT value FROM meta WHERE key = 'earlier_embedder')")
            connection.execute("DELETE FROM meta WHERE key = 'earlier_embedder'")

    def forget(self) -> None:
        """Drop the stamp, so that the next assembly embeds anew."""
        with self._file.transaction() as connection:
            name = meta(connection, "embedder")
            if name:
                self.drop_earlier()
                set_meta(connection, "earlier_embedder", name)
            connection.execute(
                "DELETE FROM meta WHERE key IN ('embedder', 'dimension', 'facts')")
            connection.execute("DELETE FROM layers")
            bump(connection, "log_revision")

    def get(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """The stored vectors among these keys, each of shape (d,)."""
        with self._file.snapshot() as connection:
            rows = connection.execute(
                "SELECT key, vector FROM embeddings "
                "WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),))
            found = rows.fetchall()
        kept: dict[str, Vectors] = {}
        for size in {len(vector) for _, vector in found}:  # one, unless of two models
            some = [row for row in found if len(row[1]) == size]
            rows_of = unpack_vectors([vector for _, vector in some], size)
            kept |= zip([key for key, _ in some], rows_of, strict=True)
        return kept

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys under which no vector is stored."""
        wanted = list(keys)
        with self._file.snapshot() as connection:
            return set(wanted) - {row[0] for row in connection.execute(
                "SELECT key FROM embeddings WHERE key IN (SELECT value FROM json_each(?))",
                (json.dumps(wanted),))}

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep unit vectors, each of shape (d,), by `embedding_key`; see `pack_vectors`."""
        if not vectors:
            return
        with self._file.transaction() as connection:
            model, dimension = self.embedder
            for vector in vectors.values():
                if vector.shape != (dimension,):
                    raise ParameterError("An embedding has shape {shape}, but {model} of this "
                                         "workspace gives {dimension} numbers; check the embedding "
                                         "model.", shape=vector.shape, model=model or 'no model',
                                         dimension=dimension)
            table = np.array(list(vectors.values()))
            check_finite(table)
            connection.executemany(
                "INSERT INTO embeddings VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(key, model, dimension, kept)
                 for key, kept in zip(vectors, pack_vectors(table), strict=True)])


def forget_vectors(connection: Connection, names: set[str]) -> None:
    """Keep only the vectors that passages, names and descriptions of other documents than these need.

    Of a passage that was not read to its end, nothing else tells what was embedded.
    """
    models = meta(connection, "embedder"), meta(connection, "earlier_embedder")
    kept: set[str] = set()
    for document, title, text, extraction in connection.execute(
            "SELECT document, title, text, extractions.id FROM chunks "
            "JOIN extractions ON chunk = chunks.id").fetchall():
        if document not in names:
            keys = [row[0] for row in connection.execute(
                "SELECT DISTINCT key FROM mentions WHERE extraction = ?", (extraction,))]
            spans = connection.execute(
                'SELECT start, "end" FROM sentences WHERE extraction = ? ORDER BY position',
                (extraction,)).fetchall()
            for model in models:
                kept.update(embedding_key(model, key) for key in keys)
                kept.update(vector_keys(model, title, text, spans))
    for text in _descriptions(connection, names):
        kept.update(embedding_key(model, text) for model in models)
    stored = {row[0] for row in connection.execute("SELECT key FROM embeddings")}
    connection.executemany(
        "DELETE FROM embeddings WHERE key = ?", [(key,) for key in stored - kept])


def _descriptions(connection: Connection, names: set[str]) -> Iterator[str]:
    """What models say of each entity in other documents than these."""
    parts: dict[str, list[KeyPart]] = defaultdict(list)
    for key, body, document in connection.execute(
            "SELECT term, body, document FROM facts JOIN passages ON passages.rowid = passage "
            "WHERE kind = ?", (KINDS.index("part"),)):
        if document not in names:
            parts[key].append(unpack_part(body))
    for key, some in parts.items():
        if text := describe_entity(key, some):
            yield text
