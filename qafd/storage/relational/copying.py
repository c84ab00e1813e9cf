"""A workspace copied table by table, whichever backends keep it and the copy."""

from itertools import islice

from qafd.storage.relational.base import Connection, Tables
from qafd.storage.relational.schema import TABLES

ROWS = 2000  # that are written at once


def copy_tables(source: Tables, target: Tables) -> None:
    """Make a workspace hold what another one holds, but for who works on it."""
    with source.snapshot() as old, target.transaction() as new:
        for table in reversed(TABLES):
            new.execute(f"DELETE FROM {table}")
        for table in TABLES:
            new.execute("DELETE FROM touched")  # triggers fill it
            if table != "lease":
                _copy(table, old, new)
        target.count_on(new)
        target.index_words(new, anew=True)


def _copy(table: str, old: Connection, new: Connection) -> None:
    columns = set(_columns(table, old)) & set(_columns(table, new))
    names = [f'"{column}"' if column == "end" else column for column in sorted(columns)]
    rows = iter(old.execute(f"SELECT {', '.join(names)} FROM {table}"))
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    while some := list(islice(rows, ROWS)):
        new.executemany(insert, some)


def _columns(table: str, connection: Connection) -> list[str]:
    return [column[0] for column in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
