"""Workspaces that are schemas of a PostgreSQL database: everything about one is in this folder."""

import hashlib
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import psycopg

from qafd.errors import BusyError, StoreError
from qafd.storage import sqlite
from qafd.storage.postgres.connecting import translate_errors
from qafd.storage.postgres.schema import Address, WorkspaceSchema, without_password
from qafd.storage.postgres.search import PostgresPassages, make_words, read_words
from qafd.storage.relational.base import Connection
from qafd.storage.relational.examine import DEEP as DEEP_LOOKS
from qafd.storage.relational.examine import LOOKS as USUAL_LOOKS
from qafd.storage.relational.examine import Looks, look_at
from qafd.storage.relational.schema import TABLES
from qafd.storage.relational.workspace import Lease, Workspace, runs
from qafd.storage.rows import Aspect, Diagnosis, Fault, FaultKind, WorkspacePlace, fault


class PostgresLease(Lease):
    """The row of the lease, and the lock of its holder's session.

    The server frees the lock when the holder ends, however it does; nothing has to be renewed.
    """

    _file: WorkspaceSchema

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one process that extends the log."""
        token = secrets.token_hex(8)
        connection = self._file.connection
        with self._file.transaction():
            held = _read(connection)
            if held is not None and self._lives(*held):
                raise BusyError(f"Process {held[1]} on {held[2]} is indexing this workspace; "
                                "files that were added wait until it takes them in.")
            connection.execute("DELETE FROM lease")
            connection.execute("INSERT INTO lease VALUES (1, ?, ?, ?)",
                               (token, os.getpid(), socket.gethostname()))
            connection.execute("SELECT pg_advisory_lock(?)", (_lock(token),))
        self._file.token = token
        try:
            yield
        finally:
            try:
                if not connection.raw.closed:
                    self.give_back()
                    connection.execute("SELECT pg_advisory_unlock(?)", (_lock(token),))
            finally:
                self._file.token = ""

    @property
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""
        with self._file.snapshot() as connection:
            held = _read(connection)
            return held[1] if held is not None and self._lives(*held) else None

    def _lives(self, token: str, pid: int, host: str) -> bool:
        """Return True if the holder of a token lives: both its session and its process."""
        locked = self._file.connection.execute(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
            "AND (CAST(classid AS bigint) << 32) | CAST(objid AS bigint) = CAST(? AS bigint) "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            (_lock(token),)).fetchone()
        # the server may take a moment to see that a process is gone
        return locked is not None and (host != socket.gethostname() or runs(pid))


def _read(connection: Connection) -> tuple[str, int, str] | None:
    row = connection.execute("SELECT token, pid, host FROM lease").fetchone()
    return None if row is None else (row[0], row[1], row[2])


def _lock(token: str) -> int:
    """The number of the lock of a token, positive and of 63 bits."""
    return int(token, 16) >> 1


class PostgresWorkspace(Workspace):
    """An open workspace of a database."""

    def __init__(self, schema: WorkspaceSchema) -> None:
        super().__init__(schema, place_of(schema.address.url))
        self._schema = schema
        self.passages = PostgresPassages(schema)
        self.lease = PostgresLease(schema)

    def scrub(self) -> None:
        """Remove every byte of deleted rows from the tables; the server's archives are not touched."""
        self.compact()

    def count_anew(self) -> None:
        """Update the server's statistics at once instead of within a minute or so."""
        with translate_errors(self._schema.name):
            self._schema.connection.command(f"ANALYZE {', '.join((*TABLES, 'words'))}")

    def compact(self) -> None:
        """Make the tables as small as they can be."""
        with translate_errors(self._schema.name):
            for table in (*TABLES, "words"):
                self._schema.connection.command(f"VACUUM FULL {table}")

    def _copy_to(self, file: Path) -> None:
        """Copy it row by row."""
        with sqlite.open_workspace(sqlite.url_of(file)) as copy, self.snapshot():
            copy.take(self)
            if copy.graph.digest() != self.graph.digest():
                raise StoreError(f"The backup of {self._schema.name} is not what it holds.")
            copy.compact()


def open_workspace(url: str, read_only: bool = False, make: bool = True) -> PostgresWorkspace:
    """Open the workspace at a URL, see `qafd.storage.open_workspace`."""
    return PostgresWorkspace(WorkspaceSchema.open(url, read_only, make))


def url_of(path: str) -> str:
    """The URL of a workspace, where a URL may leave out what goes without saying."""
    return Address.of(path).url


def place_of(url: str) -> WorkspacePlace:
    """Return the place of a workspace, the same for every user."""
    address = Address.of(url)
    parts = urlsplit(address.url)
    options = dict(parse_qsl(parts.query))
    server = [parts.netloc.rpartition("@")[2], options.get("host"), options.get("port"), parts.path]
    key = hashlib.sha256(repr(server).encode()).hexdigest()
    log = Path(tempfile.gettempdir(), f"qafd-{key[:16]}.log")
    return WorkspacePlace(address.url, address.schema, key, without_password(address.url), log)


def beside(url: str, name: str) -> str:
    """The URL of a workspace in the same database."""
    return replace(Address.of(url), schema=name).url


def names_beside(url: str) -> tuple[str, ...]:
    """The names of all workspaces in a database."""
    with WorkspaceSchema.look_up(Address.of(url)) as schema:
        return schema.neighbors()


def size_of(url: str) -> int | None:
    """Return the size of a workspace's tables and indexes in bytes; None if it does not exist."""
    with WorkspaceSchema.look_up(Address.of(url)) as schema, schema.snapshot() as connection:
        if not schema.exists:
            return None
        (size,) = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
            "WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'"
        ).fetchall()[0]
        return int(size)


def examine(url: str, deep: bool) -> Iterator[Diagnosis]:
    """Examine a workspace and its server for faults."""
    try:
        with WorkspaceSchema.open(url, read_only=True) as schema:
            store = PostgresWorkspace(schema)
            for aspect, look in (*LOOKS, *(DEEP if deep else ())):
                yield look_at(aspect, look, store, psycopg.Error)
    except StoreError as error:
        yield Diagnosis(Aspect.FILE, (fault(FaultKind.REFUSED, error=error),))


def remove_files(url: str) -> None:
    """Delete a schema with all that is in it."""
    with WorkspaceSchema.open(url, make=False) as schema, schema.transaction() as connection:
        connection.command(f"DROP SCHEMA {schema.quoted} CASCADE")
    place_of(url).log.unlink(missing_ok=True)


def is_writable(url: str) -> bool:
    """Return True if an existing workspace can be changed."""
    try:
        with WorkspaceSchema.open(url, make=False) as schema:
            return not schema.read_only
    except StoreError:
        return False


def _search(_: Workspace, connection: Connection) -> Iterator[Fault]:
    for (passage,) in connection.execute("SELECT id FROM passages WHERE words IS NULL"):
        yield fault(FaultKind.NOT_INDEXED, passage=passage)


def _search_anew(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """The rows of words against those of the passages as they are."""
    if read_words(connection) != make_words(connection):
        yield fault(FaultKind.OTHER_INDEX)


LOOKS: Looks = (*USUAL_LOOKS, (Aspect.SEARCH, _search))
DEEP: Looks = (*DEEP_LOOKS, (Aspect.SEARCH_ANEW, _search_anew))
