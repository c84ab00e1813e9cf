"""The workspace file as a whole: its version, its migrations, its backups and its soundness."""

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from qafd.errors import NewerSchemaError, StoreError
from qafd.storage.relational.base import Connection
from qafd.storage.sqlite import opening
from qafd.storage.sqlite.tables import STEPS, Step

EMPTY = 4  # a file of which an upgrade left a page of so many empty is made anew


def check_version(connection: sqlite3.Connection, path: Path, newest: int = len(STEPS)) -> int:
    """The number of migrations the file has gone through; 0 for an empty file.

    Raises
    ------
    NewerSchemaError
        The file was written by a newer version of qafd.
    """
    found = int(str(opening.pragma(connection, "user_version")))
    if found > newest:
        raise NewerSchemaError(f"{path.name} has schema {found}, this version of qafd knows "
                               f"schemas up to {newest}; install a newer qafd to open it. "
                               "Nothing was changed.")
    return found


def migrate(connection: sqlite3.Connection, path: Path, steps: tuple[Step, ...] = STEPS) -> None:
    """Bring the file to the newest schema: backup first, then all steps in one transaction.

    Raises
    ------
    NewerSchemaError
        The file was written by a newer version of qafd; it is left untouched.
    StoreError
        The file is somebody else's SQLite database.
    """
    found = check_version(connection, path, len(steps))
    if found == len(steps):
        return
    # half a second that only the first opening of a file pays
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    if found:
        kept = path.with_name(f"{path.name}.schema{found}.backup")
        if not kept.exists():
            backup(connection, kept)
    db = Database(connection)
    migrations = Migrations("qafd")
    for step in steps:
        migrations(name=step.__name__)(step)
    with opening.transaction(connection, path):
        if not check_version(connection, path, len(steps)) and db.table_names():
            raise opening.foreign_error(path)
        migrations.apply(db)
        if not found:  # one that is made anew where another was removed has other versions
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('id', ?)",
                               (secrets.token_hex(8),))
        connection.execute(f"PRAGMA user_version = {len(steps)}")
    free, pages = (opening.pragma(connection, of) for of in ("freelist_count", "page_count"))
    if found and int(str(free)) * EMPTY > int(str(pages)):
        with suppress(sqlite3.OperationalError):  # it may be read meanwhile, or the disk be full
            connection.execute("VACUUM")


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
            faults = unsound(copy)
        if faults:
            raise StoreError(f"The backup of this workspace is not sound: {faults[0]}")
        os.replace(partial, destination)
    finally:
        partial.unlink(missing_ok=True)


def unsound(connection: Connection) -> list[str]:
    """What SQLite itself finds wrong with a file: pages, indexes, foreign keys."""
    rows = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    orphans = [f"a row of {table} refers to a row of {parent} that is missing"
               for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check")]
    return rows + orphans
