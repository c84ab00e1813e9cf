"""The lease of the one process that works on a workspace: a row, alive as long as its lock."""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from qafd.errors import BusyError
from qafd.storage.postgres.schema import WorkspaceSchema
from qafd.storage.relational.base import Connection
from qafd.storage.relational.lease import Lease, runs


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
