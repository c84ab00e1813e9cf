"""Examination of a workspace file, without changing it."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from qafd.errors import StoreError
from qafd.storage.relational import examine
from qafd.storage.relational.base import Connection
from qafd.storage.relational.passages import index_in_memory, list_words
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import Aspect, Diagnosis, Fault, FaultKind, fault
from qafd.storage.sqlite import (
    TEXTUAL,
    check_version,
    connect,
    create_tables,
)


def examine_file(place: Path, open_part: Callable[[sqlite3.Connection], Workspace], deep: bool
            ) -> Iterator[Diagnosis]:
    """Look at a file; `open_part` makes a workspace of an open connection."""
    if not place.is_file():
        yield Diagnosis(Aspect.FILE, (fault(FaultKind.MISSING_FILE, place=place),))
        return
    yield _look_at_space(place)
    try:
        with closing(connect(place, read_only=True)) as connection:
            check_version(connection, place)
            store = open_part(connection)
            for aspect, look in (*LOOKS, *(DEEP if deep else ())):
                yield examine.look_at(aspect, look, store, sqlite3.DatabaseError)
    except StoreError as error:
        yield Diagnosis(Aspect.FILE, (fault(FaultKind.REFUSED, error=error),))


def _look_at_space(place: Path) -> Diagnosis:
    """Find out whether there is room for a copy, which backups make."""
    size = sum(file.stat().st_size for file in place.parent.glob(f"{place.name}*"))
    free = shutil.disk_usage(place.parent).free
    little = (fault(FaultKind.LITTLE_SPACE),) if free < 2 * size else ()
    return Diagnosis(Aspect.DISK, little, {"size": size, "free": free})


def find_unsound(connection: Connection) -> list[str]:
    """Return the faults that SQLite itself finds: pages, indexes, foreign keys."""
    rows = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    orphans = [f"a row of {table} refers to a row of {parent} that is missing"
               for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check")]
    return rows + orphans


def _pages(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """Yield the faults that SQLite itself finds: pages, indexes, references."""
    for error in find_unsound(connection):
        yield fault(FaultKind.UNSOUND, error=error)


def _tables(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """Every table as a new workspace would have it, and readable; others do not matter."""
    query = "SELECT name, sql FROM sqlite_master"
    found = dict(connection.execute(query))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        create_tables(fresh)
        other = [name for name, sql in fresh.execute(query) if found.get(name) != sql]
    for name in other:
        yield fault(FaultKind.OTHER_DEFINITION, table=name)
    for table in () if other else TEXTUAL:
        for _row in connection.execute(f"SELECT * FROM {table}"):
            pass  # text that is none raises


def _search(_: Workspace, connection: Connection) -> Iterator[Fault]:
    for (passage,) in connection.execute(
            "SELECT id FROM passages WHERE rowid NOT IN (SELECT id FROM passages_fts_docsize)"):
        yield fault(FaultKind.NOT_INDEXED, passage=passage)
    for (entry,) in connection.execute(
            "SELECT id FROM passages_fts_docsize WHERE id NOT IN (SELECT rowid FROM passages)"):
        yield fault(FaultKind.LOOSE_ENTRY, entry=entry)


def _search_anew(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """Compare the search index, word by word, with a fresh one over the same passages."""
    with index_in_memory(connection.execute(
            "SELECT rowid, title, text FROM passages ORDER BY rowid")) as fresh:
        same = _instances(connection) == _instances(fresh) and all(
            _matches(connection, word) == _matches(fresh, word)
            for (word,) in fresh.execute("SELECT DISTINCT term FROM temp.words").fetchall())
    if not same:
        yield fault(FaultKind.OTHER_INDEX)


def _instances(connection: Connection) -> str:
    total = hashlib.sha256()
    for row in list_words(connection):
        total.update(repr(row).encode())
    return total.hexdigest()


def _matches(connection: Connection, word: str) -> list[tuple[int, float]]:
    # an index can be damaged so that it lists all words and still finds some of them nowhere
    return connection.execute(
        "SELECT rowid, bm25(passages_fts) FROM passages_fts WHERE passages_fts MATCH ? "
        "ORDER BY rowid", (f'"{word}"',)).fetchall()


LOOKS: examine.Looks = (
    (Aspect.PAGES, _pages), (Aspect.TABLES, _tables),
    *examine.LOOKS, (Aspect.SEARCH, _search))
DEEP: examine.Looks = (
    *examine.DEEP, (Aspect.SEARCH_ANEW, _search_anew))
