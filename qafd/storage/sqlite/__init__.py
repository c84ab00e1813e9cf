"""Workspaces that are SQLite files: everything about one is in this folder."""

import hashlib
import os
from collections.abc import Iterator
from glob import escape
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from qafd.errors import BusyError, ForeignFileError, StoreError
from qafd.storage.diagnosis import Diagnosis
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import WorkspacePlace
from qafd.storage.sqlite import opening
from qafd.storage.sqlite.backup import backup
from qafd.storage.sqlite.file import WorkspaceFile, forget_file
from qafd.storage.sqlite.lease import SqliteLease
from qafd.storage.sqlite.search import SqlitePassages
from qafd.storage.sqlite.soundness import examine_file, look_at_engine

SCHEME = "sqlite:///"


class SqliteWorkspace(Workspace):
    """An open workspace file."""

    def __init__(self, file: WorkspaceFile) -> None:
        super().__init__(file, place_of(url_of(file.path)))
        self._file = file
        self.passages = SqlitePassages(file)
        self.lease = SqliteLease(file)

    def scrub(self) -> None:
        """Leave no byte of what was deleted in the file, its write-ahead log, its columns or the
        log of workers, where an error may quote it.

        Raises
        ------
        BusyError
            Somebody reads an earlier state, which therefore stays until this is called again.
        """
        for columns in _columns(self._file.path):
            columns.unlink(missing_ok=True)
        if (log := Path(f"{self._file.path}.log")).exists():
            os.truncate(log, 0)  # a worker may have it open
        with opening.translate_errors(self._file.path):
            self._file.connection.execute("VACUUM")
            if self._file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise BusyError(f"What was deleted may still be in {self._file.path.name}-wal, "
                                "since another process reads an earlier state of it; end "
                                "that one and erase or wipe again.")

    def count_anew(self) -> None:
        """Nothing: SQLite takes tables in the order of a statement, see `CROSS JOIN`."""

    def compact(self) -> None:
        """Make the file as small as it can be, and one file: to ship it or to archive it.

        The next opening for writing turns the write-ahead log on again.
        """
        with opening.translate_errors(self._file.path):
            self._file.connection.execute("VACUUM")
            self._file.connection.execute("PRAGMA journal_mode = DELETE")

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copy the workspace to a new file, while others may write, and verify the copy."""
        with opening.translate_errors(self._file.path):
            backup(self._file.connection, Path(destination))


def open_workspace(url: str, read_only: bool = False, make: bool = True,
                   shared: bool = False) -> SqliteWorkspace:
    """Open the workspace at a URL, see `qafd.storage.open_workspace`."""
    return SqliteWorkspace(WorkspaceFile.open(path_at(url), read_only, make, shared))


def url_of(path: str | os.PathLike[str]) -> str:
    """The URL of a file."""
    return SCHEME + quote(os.fsencode(os.path.abspath(path)))  # names need not be UTF-8


def path_at(url: str) -> Path:
    """The file that a URL names."""
    return Path(os.fsdecode(unquote_to_bytes(url.removeprefix(SCHEME))))


def place_of(url: str) -> WorkspacePlace:
    """Return the place of a file, the same through any link."""
    path = path_at(url)
    real = hashlib.sha256(os.fsencode(os.path.realpath(path)))
    return WorkspacePlace(url_of(path), path.stem, real.hexdigest(), str(path), Path(f"{path}.log"),
                          Path(f"{path}.columns"))


def beside(url: str, name: str) -> str:
    """The URL of the file of a workspace in the same folder."""
    return url_of(path_at(url).with_name(f"{name}.db"))


def names_beside(url: str) -> tuple[str, ...]:
    """The names of all workspaces in the folder of a file."""
    return tuple(sorted(file.stem for file in path_at(url).parent.glob("*.db")))


def size_of(url: str) -> int | None:
    """The size of a file in bytes, without what is next to it; None where there is none."""
    path = path_at(url)
    return path.stat().st_size if path.is_file() else None


def examine(url: str | None, deep: bool) -> Iterator[Diagnosis]:
    """Examine a file and the SQLite that reads it for faults."""
    yield look_at_engine()
    if url is not None:
        place = path_at(url)
        yield from examine_file(
            place, lambda connection: SqliteWorkspace(WorkspaceFile(connection, place)), deep)


def remove_workspace(url: str) -> None:
    """Delete a workspace for good: its file, uploads included, and all that is next to it.

    Raises
    ------
    BusyError
        A process is indexing it.
    ForeignFileError
        Another program made it.
    """
    place = path_at(url)
    try:
        with open_workspace(url) as workspace:
            writer = workspace.lease.writer
    except (BusyError, ForeignFileError):
        raise
    except StoreError:
        writer = None  # a damaged file can be deleted too
    if writer is not None:
        raise BusyError(f"Process {writer} is indexing {place.name}; cancel its jobs before "
                        "you delete it.")
    beside = [Path(f"{place}{ending}") for ending in ("-wal", "-shm", ".log", ".reserve")]
    for file in (place, *beside, *_columns(place)):
        file.unlink(missing_ok=True)
    forget_file(place)


def _columns(place: Path) -> list[Path]:
    """The graph as columns, and what a process that was killed left of them."""
    return list(place.parent.glob(f"{escape(place.name)}.columns*"))


def is_writable(url: str) -> bool:
    """Return True if an existing workspace can be changed."""
    return opening.writable(path_at(url))
