"""Workspaces: which backend keeps one is known from its URL, and only here."""

import os
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast
from weakref import WeakValueDictionary

from qafd.errors import BusyError, ForeignFileError, ParameterError, StoreError
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import Diagnosis, WorkspacePlace

__all__ = ["BACKENDS", "Location", "Workspace", "WorkspacePlace", "beside", "copy_workspace",
           "examine", "is_writable", "names_beside", "open_workspace", "place_of",
           "remove_workspace", "size_of"]

BACKENDS = {"sqlite": "qafd.storage.sqlite", "postgresql": "qafd.storage.postgres"}
"""The scheme of a URL to the package that keeps such workspaces."""
FILES = "sqlite"  # what a bare path means

Location = str | os.PathLike[str]
"""A URL such as ``sqlite:///notes.qafd``, or the path of a SQLite file."""


class Backend(Protocol):
    """The package of a backend, as `qafd.storage.BACKENDS` names it."""

    def url_of(self, path: str) -> str:
        """The URL of what lies at a path."""

    def place_of(self, url: str) -> WorkspacePlace:
        """See `qafd.storage.place_of`."""

    def beside(self, url: str, name: str) -> str:
        """See `qafd.storage.beside`."""

    def names_beside(self, url: str) -> tuple[str, ...]:
        """See `qafd.storage.names_beside`."""

    def size_of(self, url: str) -> int | None:
        """See `qafd.storage.size_of`."""

    def examine(self, url: str, deep: bool) -> Iterator[Diagnosis]:
        """See `qafd.storage.examine`."""

    def open_workspace(self, url: str, read_only: bool, make: bool) -> Workspace:
        """Open it, see `qafd.storage.open_workspace`."""

    def remove_files(self, url: str) -> None:
        """Delete all that belongs to it, whatever its state."""

    def is_writable(self, url: str) -> bool:
        """Return True if it can be changed."""


def place_of(location: Location) -> WorkspacePlace:
    """Return the place of a workspace, existing or not, without opening it.

    Raises
    ------
    ParameterError
        No backend knows this kind of URL.
    """
    url = _url(location)
    return _backend(url).place_of(url)


def beside(location: Location, name: str) -> str:
    """The URL of the workspace of a name that lies, or would lie, where another one does."""
    url = _url(location)
    return _backend(url).beside(url, name)


def names_beside(location: Location) -> tuple[str, ...]:
    """The names of all workspaces that lie where one does, or would, in order."""
    url = _url(location)
    return _backend(url).names_beside(url)


def size_of(location: Location) -> int | None:
    """Return the size of a workspace in bytes; None if it does not exist."""
    url = _url(location)
    return _backend(url).size_of(url)


def examine(location: Location, deep: bool = False) -> Iterator[Diagnosis]:
    """Examine a workspace for damage; nothing is written or repaired.

    Parameters
    ----------
    deep : bool
        Also make the graph again from the log and compare every row: some seconds per thousand passages.
    """
    url = _url(location)
    return _backend(url).examine(url, deep)


class _Shared(threading.local):
    """The workspaces that blocks of this thread share."""

    def __init__(self) -> None:
        self.by_place: WeakValueDictionary[tuple[str, bool], Workspace] = WeakValueDictionary()


_SHARED = _Shared()


def open_workspace(location: Location, read_only: bool = False, make: bool = True,
                   shared: bool = False) -> Workspace:
    """Open a workspace; a missing one is made unless `make` is false.

    A file that this process has opened before and that is gone is not made again: what is added would be
    missing where it was moved to.

    Use as ``with open_workspace(url) as workspace``; it belongs to the thread that opened it.
    One that lies where nothing can be written is opened to be read. With `shared`, a block inside
    another one of this thread that shares too may get the same connection, unless a transaction
    runs on it.

    Raises
    ------
    StoreError
        It cannot be opened, is damaged, is no workspace, or an older version of qafd wrote it.
    NewerSchemaError
        A newer version of qafd wrote it; it is left untouched.
    """
    url = _url(location)
    outer = _SHARED.by_place.get((url, read_only)) if shared else None
    if outer is not None and outer.join():
        return outer
    opened = _backend(url).open_workspace(url, read_only, make)
    if shared:
        _SHARED.by_place[url, read_only] = opened
    return opened


def copy_workspace(source: Location, target: Location) -> None:
    """Copy a workspace to where none is, also from one backend to another, and verify the copy.

    Raises
    ------
    StoreError
        There is one already, or the copy is not what was copied; then there is none.
    """
    place = place_of(target)
    if size_of(target) is not None:
        raise StoreError(f"There is a workspace at {place.written}; a copy never overwrites one.")
    with open_workspace(source, read_only=True) as old, open_workspace(target) as new, old.snapshot():
        new.take(old)
        same = new.graph.digest() == old.graph.digest()
    if not same:
        remove_workspace(target)
        raise StoreError(f"The copy at {place.written} was not what was copied, and was removed.")


def remove_workspace(location: Location) -> None:
    """Delete a workspace for good, with all that is next to it.

    Raises
    ------
    BusyError
        A process is indexing it.
    ForeignFileError
        Another program made it.
    """
    url = _url(location)
    try:
        with open_workspace(url, make=False) as workspace:
            writer = workspace.lease.writer
    except (BusyError, ForeignFileError):
        raise
    except StoreError:
        writer = None  # a damaged one can be deleted too
    if writer is not None:
        raise BusyError(f"Process {writer} is indexing {place_of(url).name}; cancel its jobs before you "
                        "delete it.")
    _backend(url).remove_files(url)


def is_writable(location: Location) -> bool:
    """Return True if an existing workspace can be changed."""
    url = _url(location)
    return _backend(url).is_writable(url)


def _url(location: Location) -> str:
    """The URL of a workspace; a bare path means a SQLite file."""
    text = os.fspath(location)
    if "://" in text:
        _backend(text)
        return text
    return cast("Backend", import_module(BACKENDS[FILES])).url_of(text)


def _backend(url: str) -> Backend:
    """The package that keeps the workspace at a URL.

    Raises
    ------
    ParameterError
        There is none for its scheme, or what it needs is not installed.
    """
    scheme = url.partition("://")[0]
    if scheme not in BACKENDS:
        raise ParameterError(f"a workspace at {scheme}:// cannot be opened; name a file, or a URL that "
                             f"begins with {', '.join(f'{name}://' for name in BACKENDS)}")
    try:
        return cast("Backend", import_module(BACKENDS[scheme]))
    except ModuleNotFoundError as error:
        raise ParameterError(f"workspaces at {scheme}:// need the module {error.name}; run pip "
                             'install "qafd[postgres]"') from error
