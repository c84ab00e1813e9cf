"""Derived layers, kept as the bytes that their builders made."""

import hashlib

from qafd.errors import StoreError
from qafd.storage.relational.base import Part, upsert
from qafd.storage.rows import LayerRow, now


class SqlLayers(Part):
    """The table of layers."""

    def put(self, name: str, version: str, builder: int, body: bytes) -> None:
        """Keep a layer in the place of an older one of that name; see `qafd.retrieve.layers`."""
        self._write(
            upsert("layers", ["name"], ["version", "builder", "built_at", "sha256", "body"]),
            name, version, builder, now(), hashlib.sha256(body).hexdigest(), body)

    def rows(self) -> dict[str, LayerRow]:
        """Return the stored layers by name, current or stale."""
        return {row[0]: LayerRow(*row) for row in self._rows(
            "SELECT name, version, builder, built_at, length(body) FROM layers ORDER BY name")}

    def body(self, name: str) -> bytes:
        """The bytes of a kept layer.

        Raises
        ------
        StoreError
            There is none of that name, or its bytes have changed.
        """
        row = self._row("SELECT sha256, body FROM layers WHERE name = ?", name)
        if row is None or hashlib.sha256(row[1]).hexdigest() != row[0]:
            raise StoreError(f"The layer {name!r} of {self._file.name} is missing or damaged; "
                             f"build it again with 'qafd layers --build {name}'.")
        return bytes(row[1])
