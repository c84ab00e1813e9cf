"""Base of the parts of a workspace: a database, its connection, and numbers in the table meta."""

import json
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, Self

from qafd.errors import BusyError, QafdError, StoreError
from qafd.storage.rows import hash_number

NUMBERS = "(SELECT CAST(value AS BIGINT) FROM json_each(?))"
"""A list of numbers, which may be longer than 32 bits."""


class Cursor(Protocol):
    """The rows that a statement gave, and how many it changed."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Any: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Connection that runs statements; ``?`` and ``?1`` are parameters, lists of them are JSON."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Cursor: ...


class Tables(ABC):
    """An open workspace, which all its parts share."""

    token = ""
    """Of the lease that is held through it; "" for none."""

    @abstractmethod
    def close(self) -> None:
        """Close it; also done at the end of a `with` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in errors."""

    @property
    @abstractmethod
    def is_free(self) -> bool:
        """True if no transaction runs on it, and it is still where it was opened."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Connection]:
        """One write transaction; every write in qafd goes through it.

        Methods called inside the block join it: all or nothing of them is written.

        Raises
        ------
        DiskFullError, BusyError, StoreError
            Nothing was written.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Connection]:
        """Reads that all see the same version of the workspace."""

    @abstractmethod
    def damage_error(self, error: BaseException) -> StoreError:
        """The error of a workspace that holds what qafd cannot have written."""

    @abstractmethod
    def index_words(self, connection: Connection, anew: bool = False) -> None:
        """Bring the search up to date with the passages, before a transaction on them ends.

        Parameters
        ----------
        anew : bool
            Leave nothing of what it had.
        """

    @abstractmethod
    def count_on(self, connection: Connection) -> None:
        """Continue the numbers of new rows above those of copied rows."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A snapshot whose rows are understood inside the block; what cannot be is damage.

        Raises
        ------
        StoreError
            Numbers, texts or JSON are not what qafd writes.
        """
        with self.snapshot() as connection:
            try:
                yield connection
            except QafdError:
                raise
            except (ValueError, TypeError, LookupError, OverflowError, zlib.error, struct.error) as error:
                raise self.damage_error(error) from error

    def check_lease(self) -> None:
        """Inside the lease: refuse to go on when the claim was lost.

        A process that slept for long must not write over its successor.

        Raises
        ------
        BusyError
            Another process took over, or the workspace was wiped.
        """
        with self.snapshot() as connection:
            if self.token and not connection.execute(
                    "SELECT 1 FROM lease WHERE token = ?", (self.token,)).fetchone():
                raise BusyError(
                    "Another process has taken over the indexing of this workspace, or it was "
                    "wiped; this one stops.")


class Part:
    """A part of a workspace; it keeps nothing but the database that it works on."""

    def __init__(self, file: Tables) -> None:
        self._file = file

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a statement, in a snapshot."""
        with self._file.snapshot() as connection:
            return connection.execute(sql, values).fetchall()

    def _row(self, sql: str, *values: Any) -> Any:
        """Return the first row that a statement finds, None if there is none."""
        with self._file.snapshot() as connection:
            return connection.execute(sql, values).fetchone()

    def _meta(self, key: str) -> str:
        """The text under a key of the table meta, "" for none."""
        with self._file.snapshot() as connection:
            return meta(connection, key)

    def _number(self, key: str) -> int:
        """The number under a key of the table meta, 0 for none."""
        with self._file.reading() as connection:
            return int(meta(connection, key, "0"))

    def _write(self, sql: str, *values: Any) -> None:
        """Change something by one statement, in a transaction."""
        with self._file.transaction() as connection:
            connection.execute(sql, values)

    def _write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Change something by one statement for each row, in a transaction."""
        with self._file.transaction() as connection:
            connection.executemany(sql, rows)


def to_json(values: Iterable[Any]) -> str:
    """Values as one parameter, the list that `json_each` takes."""
    return json.dumps(list(values))


def to_json_numbers(ids: Iterable[str]) -> str:
    """The numbers of ids as one parameter, for `NUMBERS`."""
    return to_json(hash_number(one) for one in ids)


def upsert(table: str, key: Sequence[str], rest: Sequence[str]) -> str:
    """The statement that puts a row under its key, in the place of an older one."""
    columns = (*key, *rest)
    return (f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in rest))


def meta(connection: Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else default


def set_meta(connection: Connection, key: str, value: str) -> None:
    connection.execute(upsert("meta", ["key"], ["value"]), (key, value))


def bump(connection: Connection, counter: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (?, '1') ON CONFLICT (key) DO UPDATE "
        "SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)", (counter,))
