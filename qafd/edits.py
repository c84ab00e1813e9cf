"""Edits by hand: names that mean one entity, pairs that do not, names that are none.

An edit changes nothing that was read. The graph is made from the log as the edits in force let
it be understood, so an edit that is undone leaves no trace in the graph.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from qafd.errors import StoreError
from qafd.records import Assertion, Description, Extraction, Mention
from qafd.rows import Edit, Log
from qafd.text import canonical
from qafd.workspace import Workspace, bump, now


class EditStore(Workspace):
    """A workspace that keeps what people say of its entities."""

    def edit(self, action: str, key: str, name: str = "") -> int:
        """Put an edit in force and return its number; see `qafd.rows.Edit`.

        The graph follows at its next assembly.
        """
        with self.transaction() as connection:
            number = connection.execute(
                "INSERT INTO edits (action, key, name, made_at) VALUES (?, ?, ?, ?)",
                (action, key, name, now())).lastrowid
            bump(connection, "log_revision")
        return int(number or 0)

    def undo_edit(self, number: int) -> None:
        """Take an edit back; its row stays, with the time.

        Raises
        ------
        StoreError
            No edit in force has that number.
        """
        with self.transaction() as connection:
            if not connection.execute(
                    "UPDATE edits SET undone_at = ? WHERE id = ? AND undone_at IS NULL",
                    (now(), number)).rowcount:
                raise StoreError(f"There is no edit {number} to undo; the history lists them.")
            bump(connection, "log_revision")

    def edits(self) -> tuple[Edit, ...]:
        """All edits, also those undone, in the order in which they were made."""
        with self.snapshot() as connection:
            return tuple(Edit(*row) for row in connection.execute(
                "SELECT id, action, key, name, made_at, undone_at FROM edits ORDER BY id"))

    def merged(self) -> dict[str, str]:
        """Keys of names that count as another entity's, to the key of that entity."""
        return {key: canonical(name) for key, name in entity_names(self.edits()).items()
                if canonical(name) != key}


def entity_names(edits: Iterable[Edit]) -> dict[str, str]:
    """Key to the name of the entity that it means, for all keys that an edit "same" touches.

    What an edit says of an entity holds for all names that earlier ones gave to it.
    """
    names: dict[str, str] = {}
    for edit in edits:
        if not edit.holds("same"):
            continue
        name = names.get(canonical(edit.name), edit.name)
        if canonical(name) == edit.key:  # it takes one of its own names
            name = edit.name
        own = [key for key, other in names.items() if canonical(other) == edit.key]
        names |= dict.fromkeys([*own, edit.key], name)
    return names


def hidden_keys(edits: Iterable[Edit]) -> set[str]:
    """Keys that are no entity's."""
    return {edit.key for edit in edits if edit.holds("hide")}


def edited(log: Log) -> tuple[Extraction, ...]:
    """The extractions of a log as the edits in force let them be understood, in order."""
    names = entity_names(log.edits)
    hidden = hidden_keys(log.edits)
    if not names and not hidden:
        return log.extractions
    keys = {key: canonical(name) for key, name in names.items()}
    return tuple(_edited(extraction, names, keys, hidden) for extraction in log.extractions)


def _edited(extraction: Extraction, names: Mapping[str, str], keys: Mapping[str, str],
            hidden: set[str]) -> Extraction:
    def mention(one: Mention) -> Mention:
        return replace(one, key=keys.get(one.key, one.key), name=names.get(one.key, one.name))

    def ends(one: Assertion) -> Assertion:
        return replace(one, source=keys.get(one.source, one.source),
                       target=keys.get(one.target, one.target))

    def described(one: Description) -> Description:
        return replace(one, source=keys.get(one.source, one.source),
                       target=keys.get(one.target, one.target))

    return replace(
        extraction,
        mentions=tuple(m for m in map(mention, extraction.mentions) if m.key not in hidden),
        assertions=tuple(a for a in map(ends, extraction.assertions)
                         if not hidden & {a.source, a.target}),
        descriptions=tuple(d for d in map(described, extraction.descriptions)
                           if not hidden & {d.source, d.target}))
