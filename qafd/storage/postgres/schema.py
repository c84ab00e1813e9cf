"""A workspace in a PostgreSQL schema of its own: opened, made, its transactions and snapshots."""

import hashlib
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit
from weakref import WeakValueDictionary

import psycopg
from psycopg import sql

from qafd.errors import ForeignFileError, ParameterError, StoreError
from qafd.storage.postgres import connecting
from qafd.storage.postgres.connecting import (
    ConnectionPool,
    PostgresConnection,
    pool_of,
    translate_errors,
)
from qafd.storage.postgres.search import index_passages
from qafd.storage.postgres.tables import write_schema
from qafd.storage.relational.base import Connection, Tables, set_meta
from qafd.storage.relational.schema import VERSION, newer_error, old_error

DEFAULT = "qafd"  # the workspace of a URL that names none
_MARK = "a qafd workspace, version "  # the comment of its schema
_COMMENT = re.compile(rf"{_MARK}(\d+)")
_OLD_COMMENT = "a workspace of qafd, schema "
_LONGEST = 63  # bytes of a name in PostgreSQL
_TAKEN = re.compile(r"pg_.*|public|information_schema")


@dataclass(frozen=True)
class Address:
    """Address of a workspace: its database and its schema."""

    conninfo: str
    schema: str

    @classmethod
    def of(cls, url: str) -> Self:
        """The address in a URL, whose path is that of the database and of the workspace.

        Raises
        ------
        ParameterError
            It names no database, or no schema that a workspace can have.
        """
        parts = urlsplit(url)
        database, _, name = parts.path.strip("/").partition("/")
        schema = unquote(name) or DEFAULT
        if not database:
            raise ParameterError(f"{without_password(url)} names no database; write "
                                 "postgresql://host/database/workspace")
        if _TAKEN.fullmatch(schema) or "\0" in schema or len(schema.encode()) > _LONGEST:
            raise ParameterError(f"a workspace cannot be called {schema!r}; choose another "
                                 f"name of at most {_LONGEST} bytes")
        return cls(urlunsplit((parts.scheme, parts.netloc, f"/{database}", parts.query, "")), schema)

    @property
    def url(self) -> str:
        """For `open_workspace`."""
        parts = urlsplit(self.conninfo)
        path = f"{parts.path}/{quote(self.schema, safe='')}"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def without_password(url: str) -> str:
    """A URL as it can be shown."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    options = [(key, value) for key, value in parse_qsl(parts.query) if key != "password"]
    return urlunsplit((parts.scheme, user.partition(":")[0] + at + host, parts.path,
                       urlencode(options, safe="/"), ""))


class _OpenSchemas(threading.local):
    """The workspaces that blocks of this thread share."""

    def __init__(self) -> None:
        self.by_url: WeakValueDictionary[tuple[str, bool], WorkspaceSchema] = WeakValueDictionary()


_OPEN = _OpenSchemas()


class WorkspaceSchema(Tables):
    """An open workspace of a database, on a connection that is its own until it is closed."""

    def __init__(self, address: Address, pool: ConnectionPool, raw: connecting.Psycopg,
                 read_only: bool) -> None:
        self.address = address
        self._pool = pool
        self.read_only = read_only
        self.connection = PostgresConnection(raw)
        self.token = ""
        self._writing = False
        self._users = 1
        digest = hashlib.sha256(f"qafd {address.schema}".encode()).digest()
        self.lock = int.from_bytes(digest[:8], signed=True)

    @classmethod
    def open(cls, url: str, read_only: bool = False, make: bool = True, shared: bool = False) -> Self:
        """Open a workspace; see `qafd.storage.open_workspace`."""
        asked = url, read_only
        outer = _OPEN.by_url.get(asked) if shared else None
        if outer is not None and outer._joins():
            outer._users += 1
            return cast("Self", outer)
        address = Address.of(url)
        opened = cls.look_up(address, read_only)
        try:
            with translate_errors(address.schema):
                opened._prepare(make and not read_only)
        except BaseException:
            opened.close()
            raise
        if shared:
            _OPEN.by_url[asked] = opened
        return opened

    @classmethod
    def look_up(cls, address: Address, read_only: bool = False) -> Self:
        """A schema as it is, which may be missing or another program's.

        The connection answers: those that were kept may be of a server that is gone.
        """
        pool = pool_of(address.conninfo)
        for fresh in (False, True):
            with translate_errors(address.schema):
                raw = pool.take(fresh)
            opened = cls(address, pool, raw, read_only)
            try:
                with translate_errors(address.schema):
                    opened._enter()
            except StoreError:
                opened.close()
                if fresh:
                    raise
            else:
                return opened
        raise AssertionError

    def _enter(self) -> None:
        """Look into the schema, whether there is one or not."""
        name = self.quoted
        row = self.connection.execute(
            "SELECT to_regnamespace(?1) IS NOT NULL, pg_is_in_recovery(), "
            "  obj_description(to_regnamespace(?1), 'pg_namespace'), "
            "  set_config('search_path', ?1, false)", (name,)).fetchone()
        self.exists, replica, self._comment, _ = cast("tuple[Any, ...]", row)
        self.read_only |= replica

    def neighbors(self) -> tuple[str, ...]:
        """The names of all workspaces of the database, in order."""
        with self.snapshot() as connection:
            rows = connection.execute(
                'SELECT nspname COLLATE "C" FROM pg_namespace '
                f"WHERE obj_description(oid, 'pg_namespace') LIKE '{_MARK}%' "
                "AND has_schema_privilege(oid, 'USAGE') ORDER BY 1")
            return tuple(str(row[0]) for row in rows)

    def _prepare(self, make: bool) -> None:
        """Make the schema and its tables where they are missing."""
        if self._is_made():
            return
        if not make or self.read_only:
            raise StoreError(f"There is no workspace {self.address.schema!r} in this database; "
                             "index a document first.")
        with self.transaction():
            self._enter()  # another process may have made it meanwhile
            if self._is_made():
                return
            self.connection.command(f"CREATE SCHEMA {self.quoted}")
            self.connection.command(write_schema())
            comment = sql.Literal(f"{_MARK}{VERSION}").as_string(None)
            self.connection.command(f"COMMENT ON SCHEMA {self.quoted} IS {comment}")
            set_meta(self.connection, "id", secrets.token_hex(8))

    def _is_made(self) -> bool:
        """Return True for a workspace of this version, False where there is no schema.

        Raises
        ------
        StoreError
            Another program or another version of qafd made the schema. It is left untouched.
        """
        if not self.exists:
            return False
        comment = self._comment or ""
        found = _COMMENT.fullmatch(comment)
        if comment.startswith(_OLD_COMMENT):
            raise old_error(self.name)
        if found is None:
            raise ForeignFileError(f"The schema {self.address.schema!r} of this database is somebody "
                                   "else's and no qafd workspace; it was left as it is. Choose "
                                   "another name.")
        if int(found[1]) > VERSION:
            raise newer_error(self.name)
        return True

    def _joins(self) -> bool:
        """Return True if another block may use it: it is open here, neither claimed nor in a transaction."""
        return (self._users > 0 and self._pool.is_ours and not self.token and not self.connection.raw.closed
                and not self.connection.in_transaction())

    @property
    def quoted(self) -> str:
        """The name of the schema as statements have it."""
        return sql.Identifier(self.address.schema).as_string(None)

    @property
    def name(self) -> str:
        """Name of the workspace in errors."""
        return self.address.schema

    def close(self) -> None:
        """Give the connection back, with the last block that uses it."""
        self._users -= 1
        if not self._users:
            self._pool.give(self.connection.raw)

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """One write transaction, which waits for the one that runs on this workspace."""
        self._check_process()
        if self._writing:
            yield self.connection
            return
        with translate_errors(self.name):
            if self.read_only:
                raise psycopg.errors.ReadOnlySqlTransaction
            with self._bracket(f"BEGIN; SELECT pg_advisory_xact_lock({self.lock})"):
                self._writing = True
                try:
                    yield self.connection
                    self.connection.command("COMMIT")
                finally:
                    self._writing = False

    @contextmanager
    def snapshot(self) -> Iterator[PostgresConnection]:
        """Reads that all see the same version of the workspace."""
        self._check_process()
        if self.connection.in_transaction():
            yield self.connection
            return
        with translate_errors(self.name), self._bracket("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield self.connection

    def _check_process(self) -> None:
        """Raise StoreError in a fork of the process that opened it."""
        if not self._pool.is_ours:
            raise StoreError(f"{self.name} was opened before this process was forked; open it again here.")

    @contextmanager
    def _bracket(self, begin: str) -> Iterator[None]:
        """From the beginning of a transaction to its end, whatever happens."""
        try:
            self.connection.command(begin)
            yield
        finally:
            if not self.connection.raw.closed and self.connection.in_transaction():
                self.connection.command("ROLLBACK")

    def damage_error(self, error: BaseException) -> StoreError:
        """The error of a workspace that holds what qafd cannot have written."""
        return connecting.damage_error(self.name, error)

    def count_on(self, connection: Connection) -> None:
        """Let new rows have numbers above those that rows were copied with."""
        for table, column in connection.execute(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = current_schema() AND is_identity = 'YES'").fetchall():
            connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "
                f"  coalesce(max({column}), 0) + 1, false) FROM {table}")

    def index_words(self, connection: Connection, anew: bool = False) -> None:
        """Bring the rows of words up to date with the passages, before a transaction ends."""
        assert connection is self.connection
        index_passages(self.connection, anew)
