"""Edits of the entities of a workspace."""

import json
from collections.abc import Iterable

from qafd.edits import Edit, Ends, edges_by_hand, merged_keys
from qafd.errors import StoreError
from qafd.records import node_id
from qafd.storage.relational.base import Part, bump, to_json
from qafd.storage.rows import now


class SqlEdits(Part):
    """The table of edits."""

    def add(self, action: str, key: str, name: str = "", label: str = "", note: str = "",
            passages: Iterable[str] = ()) -> int:
        """Put an edit in force and return its number; see `qafd.edits.Edit`.

        The graph follows at its next assembly.
        """
        with self._file.transaction() as connection:
            number = connection.execute(
                "INSERT INTO edits (action, key, name, made_at, label, note, passages) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (action, key, name, now(), label, note, to_json(passages))).fetchone()[0]
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
        """Keys of names that count as another entity's, to the key of that entity."""
        return merged_keys(self.all())

    def map_added_edges(self) -> dict[Ends, tuple[Edit, ...]]:
        """The edits that add edges, by the node ids of the two ends."""
        found: dict[Ends, tuple[Edit, ...]] = {}
        for (source, target, _), edit in edges_by_hand(self.all())[0].items():
            ends = frozenset((node_id("entity", source), node_id("entity", target)))
            found[ends] = (*found.get(ends, ()), edit)
        return found
