"""Workspaces that are schemas of a PostgreSQL database: everything about one is in this folder."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from qafd.errors import BusyError, StoreError
from qafd.storage import sqlite
from qafd.storage.diagnosis import Diagnosis
from qafd.storage.postgres.connecting import translate_errors
from qafd.storage.postgres.lease import PostgresLease
from qafd.storage.postgres.schema import Address, WorkspaceSchema, without_password
from qafd.storage.postgres.search import PostgresPassages
from qafd.storage.postgres.soundness import examine_schema
from qafd.storage.relational.schema import TABLES
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import WorkspacePlace


class PostgresWorkspace(Workspace):
    """An open workspace of a database."""

    def __init__(self, schema: WorkspaceSchema) -> None:
        super().__init__(schema, place_of(schema.address.url))
        self._schema = schema
        self.passages = PostgresPassages(schema)
        self.lease = PostgresLease(schema)

    def scrub(self) -> None:
        """Leave no byte of what was deleted in the tables; what the server archives is its own."""
        self.compact()

    def count_anew(self) -> None:
        """Have the server count at once what it would count within a minute or so."""
        with translate_errors(self._schema.name):
            self._schema.connection.command(f"ANALYZE {', '.join((*TABLES, 'words'))}")

    def compact(self) -> None:
        """Make the tables as small as they can be."""
        with translate_errors(self._schema.name):
            for table in (*TABLES, "words"):
                self._schema.connection.command(f"VACUUM FULL {table}")

    def drop(self) -> None:
        """Delete the schema with all that is in it."""
        with self._schema.transaction() as connection:
            connection.command(f"DROP SCHEMA {self._schema.quoted} CASCADE")

    def backup(self, destination: str) -> None:
        """Copy the workspace into a new SQLite file, while others may write, and verify the copy."""
        place = Path(destination)
        if place.exists():
            raise StoreError(f"{destination} exists; a backup never overwrites a file.")
        partial = place.with_name(f"{place.name}.{os.getpid()}.partial")
        try:
            with sqlite.open_workspace(sqlite.url_of(partial)) as copy, self.snapshot():
                copy.take(self)
                if copy.graph.digest() != self.graph.digest():
                    raise StoreError(f"The backup of {self._schema.name} is not what it holds.")
                copy.compact()
            os.replace(partial, place)
        finally:
            partial.unlink(missing_ok=True)


def open_workspace(url: str, read_only: bool = False, make: bool = True,
                   shared: bool = False) -> PostgresWorkspace:
    """Open the workspace at a URL, see `qafd.storage.open_workspace`."""
    return PostgresWorkspace(WorkspaceSchema.open(url, read_only, make, shared))


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


def examine(url: str | None, deep: bool) -> Iterator[Diagnosis]:
    """Examine a workspace and its server for faults."""
    if url is not None:
        yield from examine_schema(Address.of(url), PostgresWorkspace, deep)


def remove_workspace(url: str) -> None:
    """Delete a workspace for good: its schema with all that is in it.

    Raises
    ------
    BusyError
        A process is indexing it.
    ForeignFileError
        Another program made the schema.
    """
    with open_workspace(url, make=False) as workspace:
        writer = workspace.lease.writer
        if writer is not None:
            raise BusyError(f"Process {writer} is indexing {workspace.place.name}; cancel its "
                            "jobs before you delete it.")
        workspace.drop()
    workspace.place.log.unlink(missing_ok=True)


def is_writable(url: str) -> bool:
    """Return True if an existing workspace can be changed."""
    try:
        with WorkspaceSchema.open(url, make=False) as schema:
            return not schema.read_only
    except StoreError:
        return False
