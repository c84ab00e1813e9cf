"""Workspaces behind protocols: which backend keeps one is known from its URL, and only here."""

import os
from importlib import import_module
from typing import cast

from qafd.errors import ParameterError
from qafd.storage.protocols import Backend, Workspace

__all__ = ["BACKENDS", "Workspace", "is_writable", "open_workspace", "remove_workspace",
           "workspace_url"]

BACKENDS = {"sqlite": "qafd.storage.sqlite"}
"""The scheme of a URL to the package that keeps such workspaces."""

Location = str | os.PathLike[str]


def workspace_url(location: Location) -> str:
    """The URL of a workspace; a bare path means a SQLite file.

    Raises
    ------
    ParameterError
        No backend knows this kind of URL.
    """
    text = os.fspath(location)
    if "://" in text:
        _backend(text)
        return text
    return cast("Backend", import_module(BACKENDS["sqlite"])).url_of(text)


def open_workspace(location: Location, read_only: bool = False, make: bool = True) -> Workspace:
    """Open a workspace; a missing one is made unless `make` is false, an old schema renewed.

    Use as ``with open_workspace(url) as workspace``; it belongs to the thread that opened it.
    One that lies where nothing can be written is opened to be read.

    Parameters
    ----------
    location : str or path
        A URL such as ``sqlite:///notes.qafd``, or the path of a SQLite file.

    Raises
    ------
    StoreError
        It cannot be opened, is damaged or is no workspace.
    NewerSchemaError
        It was written by a newer version of qafd; it is left untouched.
    """
    url = workspace_url(location)
    return _backend(url).open_workspace(url, read_only, make)


def remove_workspace(location: Location) -> None:
    """Delete a workspace for good, with all that lies beside it.

    Raises
    ------
    BusyError
        A process is indexing it.
    ForeignFileError
        Another program made it.
    """
    url = workspace_url(location)
    _backend(url).remove_workspace(url)


def is_writable(location: Location) -> bool:
    """Whether an existing workspace can be changed."""
    url = workspace_url(location)
    return _backend(url).is_writable(url)


def _backend(url: str) -> Backend:
    scheme = url.partition("://")[0]
    if scheme not in BACKENDS:
        raise ParameterError(
            "a workspace at {scheme}:// cannot be opened; name a file, or a URL that begins with "
            "{known}", scheme=scheme, known=", ".join(f"{name}://" for name in BACKENDS))
    return cast("Backend", import_module(BACKENDS[scheme]))
