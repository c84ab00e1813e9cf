"""Texts that a workspace keeps under a name."""

import json
from collections.abc import Mapping

from qafd.storage.relational.base import Part, meta, set_meta


class SqlNotes(Part):
    """Rows of the table meta that storage itself does not read."""

    def get(self, name: str) -> str:
        """The text under a name, "" for none."""
        with self._file.snapshot() as connection:
            return meta(connection, name)

    def put(self, name: str, text: str) -> None:
        """Keep a text in the place of what was there."""
        with self._file.transaction() as connection:
            set_meta(connection, name, text)

    def append(self, name: str, row: Mapping[str, str], most: int) -> None:
        """Add a row to a list under a name, which keeps its last `most`."""
        with self._file.transaction() as connection:
            rows = [*json.loads(meta(connection, name) or "[]"), dict(row)]
            set_meta(connection, name, json.dumps(rows[-most:]))

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows that were appended under a name, the oldest first."""
        with self._file.reading() as connection:
            return [dict(row) for row in json.loads(meta(connection, name) or "[]")]

    def clear(self, name: str) -> None:
        """Remove all rows under a name."""
        self.put(name, "[]")
