"""Connections to a PostgreSQL server: kept for the next block, their errors as sentences."""

import atexit
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.string import StrDumper

from qafd.errors import BusyError, DiskFullError, StoreError
from qafd.reading.text.plaintext import storable

BUSY_SECONDS = 30.0
MOST = 24  # connections of a process to one database; a server takes 100 where nothing is set
KEPT = 4  # of them while nobody uses them
_SETTINGS = ("SET synchronous_commit = off; "  # as SQLite's write-ahead log with synchronous = NORMAL
             f"SET lock_timeout = '{BUSY_SECONDS:.0f}s'; "
             # a host that vanished frees what it held
             "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; "
             "SET tcp_keepalives_count = 3; SET client_encoding = 'UTF8'")
_MISSING = (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedColumn)
Psycopg = psycopg.Connection[tuple[Any, ...]]


class TextDumper(StrDumper):
    """Dumper of texts with the type text; characters that PostgreSQL cannot store become "?"."""

    def dump(self, obj: str) -> Any:
        """The bytes of a text."""
        return super().dump(storable(obj))


class PostgresConnection:
    """A connection that takes the statements of `qafd.storage.relational`.

    `trips` counts how often it waited for the server.
    """

    trips = 0

    def __init__(self, connection: Psycopg) -> None:
        self.raw = connection

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.RawCursor[Any]:
        """Run a statement of SQLite's dialect."""
        PostgresConnection.trips += 1
        cursor = psycopg.RawCursor(self.raw)
        cursor.execute(translate(sql), parameters, binary=True)
        return cursor

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> psycopg.RawCursor[Any]:
        """Run a statement for each row, without waiting for each."""
        PostgresConnection.trips += 1
        cursor = psycopg.RawCursor(self.raw)
        cursor.executemany(translate(sql), rows)
        return cursor

    def command(self, sql: str) -> None:
        """Run statements without parameters or rows."""
        PostgresConnection.trips += 1
        self.raw.execute(sql)

    def in_transaction(self) -> bool:
        """Return True if a transaction is open, or failed and not ended."""
        return self.raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE


@lru_cache(2048)
def translate(sql: str) -> bytes:
    """A statement of SQLite's dialect as PostgreSQL takes it."""
    # two hints to SQLite's planner: the index to use, and to take tables in the order of the statement
    sql = re.sub(r" INDEXED BY \w+", "", sql)
    sql = re.sub(r"CROSS JOIN (?=\w+(?: AS \w+)?\s+ON\b)", "JOIN ", sql)
    sql = sql.replace(" IS NOT (", " IS DISTINCT FROM (")
    # a list is looked up in the index; a subquery may as well be joined with the whole table
    sql = re.sub(r"(?<!NOT) IN \(\s*(SELECT (?:value|CAST\(value AS \w+\)) FROM json_each\(\?\d*\))\)",
                 r" = ANY (ARRAY(\1))", sql)
    number = 0

    def place(found: re.Match[str]) -> str:
        nonlocal number
        if found.group().startswith("'"):
            return found.group()
        number += 1
        return f"${found.group(1) or number}"

    return re.sub(r"'[^']*'|\?(\d*)", place, sql).encode()


class ConnectionPool:
    """The connections of one process to one database."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._process = os.getpid()
        self._slots = threading.BoundedSemaphore(MOST)
        self._idle: list[Psycopg] = []

    def take(self, fresh: bool) -> Psycopg:
        """A connection that nobody uses, or a new one; `fresh` where idle ones may be dead."""
        if not self._slots.acquire(timeout=BUSY_SECONDS):
            raise BusyError(f"All {MOST} connections to the database stayed in use for "
                            f"{BUSY_SECONDS:.0f} s; try again when fewer questions are asked "
                            "at once.")
        try:
            while fresh and self._idle:
                self._idle.pop().close()
            return self._idle.pop() if self._idle else self._connect()
        except BaseException:
            self._slots.release()
            raise

    @property
    def is_ours(self) -> bool:
        """False in a fork of the process: a connection that two use gives each the rows of the other."""
        return self._process == os.getpid()

    def give(self, connection: Psycopg) -> None:
        """Take a connection back; nothing is done with it in a fork, whose parent uses it."""
        if not self.is_ours:
            return
        unused = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if unused and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            connection.close()
        self._slots.release()

    def close(self) -> None:
        """Close the idle connections."""
        while self.is_ours and self._idle:
            self._idle.pop().close()

    def _connect(self) -> Psycopg:
        connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=10,
                                     application_name="qafd")
        connection.adapters.register_dumper(str, TextDumper)
        connection.execute(_SETTINGS)
        return connection


_POOLS: dict[str, ConnectionPool] = {}
_POOLING = threading.Lock()


def pool_of(conninfo: str) -> ConnectionPool:
    """Return the connections of this process to a database."""
    with _POOLING:
        if conninfo not in _POOLS or not _POOLS[conninfo].is_ours:
            _POOLS[conninfo] = ConnectionPool(conninfo)
            atexit.register(_POOLS[conninfo].close)
        return _POOLS[conninfo]


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn the errors of the database into sentences."""
    try:
        yield
    except errors.DiskFull as error:
        raise DiskFullError(f"The disk of the database is full, so {name} cannot grow; free "
                            "some space and resume.") from error
    except (errors.LockNotAvailable, errors.TooManyConnections) as error:
        raise BusyError(f"{name} stayed locked for {BUSY_SECONDS:.0f} s by another process; "
                        "try again when that one has finished.") from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreError(f"{name} can be read here but not changed; open it on the server that "
                         "takes writes.") from error
    except errors.InsufficientPrivilege as error:
        raise StoreError(f"This user of the database may not do that to {name} "
                         f"({first_line(error)}); ask for the right to create schemas.") from error
    except _MISSING as error:
        raise damage_error(name, error) from error
    except psycopg.OperationalError as error:
        raise StoreError(f"The database of {name} cannot be reached or gave up "
                         f"({first_line(error)}); check the address and that the server "
                         "runs.") from error
    except psycopg.Error as error:
        raise StoreError(f"The database of {name} refused a statement ({first_line(error)}); run `qafd "
                         "doctor` on it.") from error


def first_line(error: BaseException) -> str:
    """Return the message of an error without the position in the statement."""
    return str(error).strip().partition("\n")[0]


def damage_error(name: str, error: BaseException) -> StoreError:
    """The error of a workspace that holds what qafd cannot have written."""
    return StoreError(f"{name} is damaged, removed or no workspace ({first_line(error)}); run "
                      "`qafd doctor` on it and restore a backup.")
