"""An open workspace as the parts that share a database, the smallest of them, and copies of it."""

import hashlib
import json
import os
import secrets
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from qafd.errors import StoreError
from qafd.reading.text.plaintext import storable
from qafd.storage.relational.base import Connection, Part, Tables, meta, set_meta, upsert
from qafd.storage.relational.documents import SqlDocuments, SqlFiles
from qafd.storage.relational.graph import SqlGraph, SqlListing
from qafd.storage.relational.log import SqlEdits, SqlLedger, SqlLog, SqlVectors
from qafd.storage.relational.passages import SqlPassages
from qafd.storage.relational.postings import SqlNames, SqlPostings
from qafd.storage.relational.queue import SqlQueue
from qafd.storage.relational.schema import TABLES
from qafd.storage.rows import LayerRow, RunRow, WorkspacePlace, now

if TYPE_CHECKING:
    from qafd.storage.relational.assembly import SqlAssembly


class Lease(Part, ABC):
    """The row of the lease; how it is claimed and kept alive is what a backend adds."""

    @abstractmethod
    def hold(self) -> AbstractContextManager[None]:
        """Be the one process that extends the log.

        Raises
        ------
        BusyError
            Another living process holds the lease.
        DiskFullError
            There is no room for the work.
        """

    @property
    @abstractmethod
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""

    def give_back(self) -> None:
        """End the claim before the end of the `hold()` block."""
        self._write("DELETE FROM lease WHERE token = ?", self._file.token)

    def check(self) -> None:
        """Inside `hold()`: refuse to go on when the claim was lost."""
        self._file.check_lease()


def runs(pid: int) -> bool:
    """Return True if a process of this host has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class SqlLayers(Part):
    """The table of layers."""

    def put(self, name: str, version: str, builder: int, body: bytes) -> None:
        """Keep a layer in the place of an older one of that name; see `qafd.retrieve.layers`."""
        self._write(
            upsert("layers", ["name"], ["version", "builder", "built_at", "sha256", "body"]),
            name, version, builder, now(), hashlib.sha256(body).hexdigest(), body)

    def rows(self) -> dict[str, LayerRow]:
        """Return the stored layers by name, current or stale."""
        return {row[0]: LayerRow(*row) for row in self._rows(
            "SELECT name, version, builder, built_at, length(body) FROM layers ORDER BY name")}

    def body(self, name: str) -> bytes:
        """The bytes of a kept layer.

        Raises
        ------
        StoreError
            There is none of that name, or its bytes have changed.
        """
        row = self._row("SELECT sha256, body FROM layers WHERE name = ?", name)
        if row is None or hashlib.sha256(row[1]).hexdigest() != row[0]:
            raise StoreError(f"The layer {name!r} of {self._file.name} is missing or damaged; "
                             f"build it again with 'qafd layers --build {name}'.")
        return bytes(row[1])


class SqlNotes(Part):
    """Rows of the table meta that storage itself does not read."""

    def get(self, name: str) -> str:
        """The text under a name, "" for none."""
        return self._meta(name)

    def put(self, name: str, text: str) -> None:
        """Keep a text in the place of what was there."""
        with self._file.transaction() as connection:
            set_meta(connection, name, text)

    def append(self, name: str, row: Mapping[str, str], most: int) -> None:
        """Add a row to a list under a name, which keeps its last `most`."""
        with self._file.transaction() as connection:
            rows = [*json.loads(meta(connection, name) or "[]"), dict(row)]
            set_meta(connection, name, json.dumps(rows[-most:]))

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows that were appended under a name, the oldest first."""
        with self._file.reading() as connection:
            return [dict(row) for row in json.loads(meta(connection, name) or "[]")]

    def clear(self, name: str) -> None:
        """Remove all rows under a name."""
        self.put(name, "[]")


ROWS = 2000  # that are written at once


def copy_tables(source: Tables, target: Tables) -> None:
    """Copy all contents of a workspace to another, except its lease."""
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


class Workspace(ABC):
    """An open workspace and its parts; belongs to the thread that opened it.

    Every method of a part that reads sees one version of the workspace, every method that writes
    is one transaction; inside `transaction` they join it.
    """

    passages: SqlPassages
    lease: Lease

    def __init__(self, tables: Tables, place: WorkspacePlace) -> None:
        self._tables = tables
        self._users = 1
        self.place = place
        self.files = SqlFiles(tables)
        self.documents = SqlDocuments(tables)
        self.log = SqlLog(tables)
        self.vectors = SqlVectors(tables)
        self.graph = SqlGraph(tables)
        self.postings = SqlPostings(tables)
        self.names = SqlNames(tables)
        self.layers = SqlLayers(tables)
        self.runs = SqlRuns(tables)
        self.ledger = SqlLedger(tables)
        self.queue = SqlQueue(tables)
        self.edits = SqlEdits(tables)
        self.listing = SqlListing(tables)
        self.notes = SqlNotes(tables)

    @cached_property
    def assembly(self) -> "SqlAssembly":
        """The tables that make the graph from the log."""
        from qafd.storage.relational.assembly import SqlAssembly  # a reader needs none of it

        return SqlAssembly(self._tables)

    def close(self) -> None:
        """Close it, with the last block that uses it; also done at the end of a `with` block."""
        self._users -= 1
        if not self._users:
            self._tables.close()

    def join(self) -> bool:
        """Let one more block use it, if it is open here and nobody works on it; return True if so."""
        free = self._users > 0 and not self._tables.token and self._tables.is_free
        self._users += free
        return free

    @abstractmethod
    def scrub(self) -> None:
        """Leave no byte of what was deleted.

        Raises
        ------
        BusyError
            Somebody reads an earlier state, which therefore stays until this is called again.
        """

    @abstractmethod
    def count_anew(self) -> None:
        """Update the statistics by which the database plans its queries, after much was written."""

    @abstractmethod
    def compact(self) -> None:
        """Make it as small as it can be, to ship it or to archive it."""

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copy it into a new file, while others may write, and verify the copy.

        The copy is one file without a write-ahead log, and appears under its name only when it is
        complete and sound.

        Raises
        ------
        StoreError
            The destination exists, or the copy is not sound.
        """
        place = Path(destination)
        if place.exists():
            raise StoreError(f"{place} exists; a backup never overwrites a file.")
        partial = place.with_name(f"{place.name}.{os.getpid()}.partial")
        try:
            self._copy_to(partial)
            os.replace(partial, place)
        finally:
            partial.unlink(missing_ok=True)

    @abstractmethod
    def _copy_to(self, file: Path) -> None:
        """Make a new SQLite file hold what it holds; raise StoreError if it does not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[Connection]:
        """One write transaction: all that is written inside the block, or nothing.

        Raises
        ------
        DiskFullError, BusyError, StoreError
            Nothing was written.
        """
        return self._tables.transaction()

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Reads that all see the same version of the workspace."""
        return self._tables.snapshot()

    def wipe(self) -> None:
        """Empty it: documents, uploads, vectors, graph, jobs and retrievals."""
        with self._tables.transaction() as connection:
            for table in reversed(TABLES):
                connection.execute(f"DELETE FROM {table}")
            self._tables.index_words(connection, anew=True)
        self.renew()
        self.scrub()

    def take(self, other: "Workspace") -> None:
        """Replace all contents by those of another workspace."""
        copy_tables(other._tables, self._tables)

    def renew(self) -> None:
        """Give it a new identity: its revisions count another history from now on."""
        with self._tables.transaction() as connection:
            set_meta(connection, "id", secrets.token_hex(8))


class SqlRuns(Part):
    """The table of saved runs."""

    def save(self, row: RunRow, body: Mapping[str, Any]) -> None:
        """Save a run under its id; `body` is all of it as plain JSON values, see `qafd.runs`."""
        text = json.dumps(body).encode()
        self._write(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            row.id, row.made_at, storable(row.question), row.method, json.dumps(dict(row.params)),
            row.revision, row.nodes, row.tokens, None if row.exact is None else int(row.exact), row.note,
            hashlib.sha256(text).hexdigest(), zlib.compress(text))

    def load(self, key: str) -> dict[str, Any]:
        """Return the body of a saved run.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """
        row = self._row("SELECT sha256, body FROM runs WHERE id = ?", key)
        if row is None:
            raise StoreError(f"There is no saved run {key!r} in this workspace.")
        damaged = f"The saved run {key} is damaged; ask its question again."
        try:
            body = zlib.decompress(row[1])
        except zlib.error as error:
            raise StoreError(damaged) from error
        if hashlib.sha256(body).hexdigest() != row[0]:
            raise StoreError(damaged)
        found: dict[str, Any] = json.loads(body)
        return found

    def history(self) -> tuple[RunRow, ...]:
        """Return the saved runs, newest first."""
        return tuple(
            RunRow(key, made_at, question, method, json.loads(params), revision, nodes, tokens,
                   None if exact is None else bool(exact), note)
            for key, made_at, question, method, params, revision, nodes, tokens, exact, note in self._rows(
                "SELECT id, made_at, question, method, params, revision, nodes, tokens, exact, note "
                "FROM runs WHERE deleted_at IS NULL ORDER BY made_at DESC, id"))

    def notes(self, beginning: str) -> dict[str, str]:
        """Return the notes of the saved runs whose ids begin so, by id; two at most."""
        return dict(self._rows(
            "SELECT id, note FROM runs WHERE deleted_at IS NULL "
            "AND substr(id, 1, ?) = ? LIMIT 2", len(beginning), beginning))

    def annotate(self, key: str, note: str) -> None:
        """Give a saved run another note."""
        self._write("UPDATE runs SET note = ? WHERE id = ?", note, key)

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the history, those for good that were deleted before."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM runs WHERE deleted_at IS NOT NULL")
            connection.executemany("UPDATE runs SET deleted_at = ? WHERE id = ?",
                                   [(now(), key) for key in keys])

    def undo(self) -> int:
        """Bring back the runs that were deleted last; how many there were."""
        with self._file.transaction() as connection:
            return connection.execute(
                "UPDATE runs SET deleted_at = NULL WHERE deleted_at IS NOT NULL").rowcount

    def list_deleted(self) -> int:
        """Count the runs that `undo` would restore."""
        return int(self._row("SELECT count(*) FROM runs WHERE deleted_at IS NOT NULL")[0])
