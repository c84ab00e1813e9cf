"""Texts that a workspace keeps under a name."""

from qafd.storage.sqlite.file import Part, meta, set_meta


class SqliteNotes(Part):
    """Rows of the table meta that storage itself does not read."""

    def get(self, name: str) -> str:
        """The text under a name, "" for none."""
        with self._file.snapshot() as connection:
            return meta(connection, name)

    def put(self, name: str, text: str) -> None:
        """Keep a text in the place of what was there."""
        with self._file.transaction() as connection:
            set_meta(connection, name, text)
