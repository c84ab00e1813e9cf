"""An open workspace as the parts that share a database."""

import secrets
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Self

from qafd.storage.relational.assembly import SqlAssembly
from qafd.storage.relational.base import Connection, Tables, set_meta
from qafd.storage.relational.copying import copy_tables
from qafd.storage.relational.documents import SqlDocuments
from qafd.storage.relational.edits import SqlEdits
from qafd.storage.relational.files import SqlFiles
from qafd.storage.relational.graph import SqlGraph
from qafd.storage.relational.layers import SqlLayers
from qafd.storage.relational.lease import Lease
from qafd.storage.relational.ledger import SqlLedger
from qafd.storage.relational.listing import SqlListing
from qafd.storage.relational.log import SqlLog
from qafd.storage.relational.names import SqlNames
from qafd.storage.relational.notes import SqlNotes
from qafd.storage.relational.passages import SqlPassages
from qafd.storage.relational.postings import SqlPostings
from qafd.storage.relational.queue import SqlQueue
from qafd.storage.relational.runs import SqlRuns
from qafd.storage.relational.schema import TABLES
from qafd.storage.relational.vectors import SqlVectors
from qafd.storage.rows import WorkspacePlace


class Workspace(ABC):
    """An open workspace and its parts; belongs to the thread that opened it.

    Every method of a part that reads sees one version of the workspace, every method that writes
    is one transaction; inside `transaction` they join it.
    """

    passages: SqlPassages
    lease: Lease

    def __init__(self, tables: Tables, place: WorkspacePlace) -> None:
        self._tables = tables
        self.place = place
        self.files = SqlFiles(tables)
        self.documents = SqlDocuments(tables)
        self.log = SqlLog(tables)
        self.vectors = SqlVectors(tables)
        self.graph = SqlGraph(tables)
        self.assembly = SqlAssembly(tables)
        self.postings = SqlPostings(tables)
        self.names = SqlNames(tables)
        self.layers = SqlLayers(tables)
        self.runs = SqlRuns(tables)
        self.ledger = SqlLedger(tables)
        self.queue = SqlQueue(tables)
        self.edits = SqlEdits(tables)
        self.listing = SqlListing(tables)
        self.notes = SqlNotes(tables)

    def close(self) -> None:
        """Close it; also done at the end of a `with` block."""
        self._tables.close()

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
        """Let the database learn how much its tables hold, after much was written: it chooses by that
        how it looks something up."""

    @abstractmethod
    def compact(self) -> None:
        """Make it as small as it can be, to ship it or to archive it."""

    @abstractmethod
    def backup(self, destination: str) -> None:
        """Copy it into a new file, while others may write, and verify the copy.

        Raises
        ------
        StoreError
            The destination exists, or the copy is not sound.
        """

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
        """Hold what another workspace holds, in the place of what is here."""
        copy_tables(other._tables, self._tables)

    def renew(self) -> None:
        """Give it a new identity: its revisions count another history from now on."""
        with self._tables.transaction() as connection:
            set_meta(connection, "id", secrets.token_hex(8))
