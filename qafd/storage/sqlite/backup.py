"""Backups of a workspace file, and what SQLite finds wrong with one."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from qafd.errors import StoreError
from qafd.storage.relational.base import Connection
from qafd.storage.sqlite import opening


def backup(connection: sqlite3.Connection, destination: Path) -> None:
    """Copy the whole workspace, while others may write, and verify the copy.

    The copy is one file without a write-ahead log, and appears under its name only when it
    is complete and sound.

    Raises
    ------
    StoreError
        The destination exists, or the copy is not sound.
    """
    if destination.exists():
        raise StoreError(f"{destination} exists; a backup never overwrites a file.")
    partial = destination.with_name(f"{destination.name}.{os.getpid()}.partial")
    try:
        with opening.translate_errors(destination), closing(sqlite3.connect(partial)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            faults = find_unsound(copy)
        if faults:
            raise StoreError(f"The backup of this workspace is not sound: {faults[0]}")
        os.replace(partial, destination)
    finally:
        partial.unlink(missing_ok=True)


def find_unsound(connection: Connection) -> list[str]:
    """Return the faults that SQLite itself finds: pages, indexes, foreign keys."""
    rows = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    orphans = [f"a row of {table} refers to a row of {parent} that is missing"
               for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check")]
    return rows + orphans
