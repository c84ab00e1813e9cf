"""Saved runs."""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from qafd.errors import StoreError
from qafd.reading.text.plaintext import storable
from qafd.storage.relational.base import Part
from qafd.storage.rows import RunRow, now


class SqlRuns(Part):
    """The table of saved runs."""

    def save(self, row: RunRow, body: Mapping[str, Any]) -> None:
        """Save a run under its id; `body` is all of it as plain JSON values, see `qafd.runs`."""
        text = json.dumps(body).encode()
        self._write(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            row.id, row.made_at, storable(row.question), row.method, json.dumps(dict(row.params)),
            row.revision, row.nodes, row.tokens, None if row.exact is None else int(row.exact), row.note,
            hashlib.sha256(text).hexdigest(), zlib.compress(text))

    def load(self, key: str) -> dict[str, Any]:
        """Return the body of a saved run.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """
        row = self._row("SELECT sha256, body FROM runs WHERE id = ?", key)
        if row is None:
            raise StoreError(f"There is no saved run {key!r} in this workspace.")
        damaged = f"The saved run {key} is damaged; ask its question again."
        try:
            body = zlib.decompress(row[1])
        except zlib.error as error:
            raise StoreError(damaged) from error
        if hashlib.sha256(body).hexdigest() != row[0]:
            raise StoreError(damaged)
        found: dict[str, Any] = json.loads(body)
        return found

    def history(self) -> tuple[RunRow, ...]:
        """Return the saved runs, newest first."""
        return tuple(
            RunRow(key, made_at, question, method, json.loads(params), revision, nodes, tokens,
                   None if exact is None else bool(exact), note)
            for key, made_at, question, method, params, revision, nodes, tokens, exact, note in self._rows(
                "SELECT id, made_at, question, method, params, revision, nodes, tokens, exact, note "
                "FROM runs WHERE deleted_at IS NULL ORDER BY made_at DESC, id"))

    def notes(self, beginning: str) -> dict[str, str]:
        """Return the notes of the saved runs whose ids begin so, by id; two at most."""
        return dict(self._rows(
            "SELECT id, note FROM runs WHERE deleted_at IS NULL "
            "AND substr(id, 1, ?) = ? LIMIT 2", len(beginning), beginning))

    def annotate(self, key: str, note: str) -> None:
        """Give a saved run another note."""
        self._write("UPDATE runs SET note = ? WHERE id = ?", note, key)

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the history, those for good that were deleted before."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM runs WHERE deleted_at IS NOT NULL")
            connection.executemany("UPDATE runs SET deleted_at = ? WHERE id = ?",
                                   [(now(), key) for key in keys])

    def undo(self) -> int:
        """Bring back the runs that were deleted last; how many there were."""
        with self._file.transaction() as connection:
            return connection.execute(
                "UPDATE runs SET deleted_at = NULL WHERE deleted_at IS NOT NULL").rowcount

    def list_deleted(self) -> int:
        """Count the runs that `undo` would restore."""
        return int(self._row("SELECT count(*) FROM runs WHERE deleted_at IS NOT NULL")[0])
