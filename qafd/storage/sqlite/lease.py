"""The lease of the one process that works on a workspace."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qafd.errors import BusyError, DiskFullError, StoreError
from qafd.storage.relational.lease import Lease, runs
from qafd.storage.sqlite.file import WorkspaceFile

HEARTBEAT_SECONDS = 3.0
STALE_SECONDS = 20.0
RESERVE = 128 * 1024  # bytes kept beside the file, enough to write down that the disk is full


class SqliteLease(Lease):
    """A lease that is alive as long as its heartbeat."""

    _file: WorkspaceFile

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the one process that extends the log; the claim is renewed in the background."""
        token = secrets.token_hex(8)
        silent = self._claim_lease(token, ())
        if silent:
            # The clock may have jumped: one that lives on will have beaten anew by then.
            time.sleep(2 * HEARTBEAT_SECONDS)
            self._claim_lease(token, silent)
        self._file.token = token
        over = threading.Event()
        pulse = threading.Thread(target=_keep_lease, args=(self._file.path, token, over), daemon=True)
        pulse.start()
        try:
            self._reserve()
            yield
        finally:
            over.set()
            pulse.join()
            self._free_reserve()
            try:
                with suppress(DiskFullError):  # the claim then ends with this process
                    self.give_back()
            finally:
                self._file.token = ""

    def _claim_lease(self, token: str, silent: tuple[object, ...]) -> tuple[object, ...]:
        """Take the lease, unless its holder runs here but is late and not the one known as silent.

        Returns who is late, () when the lease is taken.
        """
        with self._file.transaction() as connection:
            held = connection.execute("SELECT pid, host, heartbeat FROM lease").fetchone()
            if held and (_alive(*held) or silent and held != silent and runs(held[0])):
                raise BusyError(f"Process {held[0]} on {held[1]} is indexing this workspace; "
                                "files that were added wait until it takes them in.")
            if held and held != silent and held[1] == socket.gethostname() and runs(held[0]):
                return tuple(held)
            connection.execute(
                "INSERT OR REPLACE INTO lease VALUES (1, ?, ?, ?, ?)",
                (token, os.getpid(), socket.gethostname(), time.time()))
        return ()

    def _free_reserve(self) -> None:
        """On a full disk: make room for the few pages that say so."""
        self._reserved.unlink(missing_ok=True)

    def _reserve(self) -> None:
        try:
            self._reserved.write_bytes(bytes(RESERVE))
        except OSError as error:
            self._free_reserve()
            raise DiskFullError(f"There is no room beside {self._file.path.name} to work on it "
                                f"({error.strerror}); free some space and resume.") from error

    @property
    def _reserved(self) -> Path:
        return Path(f"{self._file.path}.reserve")

    @property
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""
        held = self._row("SELECT pid, host, heartbeat FROM lease")
        return int(held[0]) if held and _alive(*held) else None


def _alive(pid: int, host: str, heartbeat: float) -> bool:
    if abs(time.time() - heartbeat) > STALE_SECONDS:  # clocks are set back, too
        return False
    return host != socket.gethostname() or runs(pid)


def _keep_lease(path: Path, token: str, over: threading.Event) -> None:
    # a file that is gone is not made again: the next check of the lease says so
    with suppress(StoreError), WorkspaceFile.open(path, make=False) as store:
        while not over.wait(HEARTBEAT_SECONDS):
            try:
                with store.transaction() as connection:
                    connection.execute(
                        "UPDATE lease SET heartbeat = ? WHERE token = ?", (time.time(), token))
            except StoreError:
                continue  # a full disk or a busy file: the next beat may get through
