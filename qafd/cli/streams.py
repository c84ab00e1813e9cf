"""Files and standard streams that commands read and write."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from qafd.errors import ParameterError, QafdError

LARGEST = 100 * 2**20  # bytes of a stored query


def text_of(argument: str) -> str:
    """Return an argument, or stdin if it is '-'."""
    return stdin().decode("utf-8", "replace") if argument == "-" else argument


def stdin() -> bytes:
    """Read all of the standard input.

    Raises
    ------
    ParameterError
        It is closed.
    """
    if sys.stdin is None:
        raise ParameterError("'-' reads the standard input, which is closed; name a file or pipe "
                             "the text in")
    return sys.stdin.buffer.read()


def read_file(name: str) -> bytes:
    """Read a file that a command wrote, or stdin if the name is '-'.

    Raises
    ------
    QafdError
        It cannot be read, or is larger than anything that qafd writes.
    """
    if name == "-":
        return stdin()
    try:
        with Path(name).open("rb") as file:
            stored = file.read(LARGEST + 1)  # a device may have no end
    except OSError as error:
        raise QafdError(f"{name or 'a file without a name'} cannot be read: "
                        f"{error.strerror}") from error
    if len(stored) > LARGEST:
        raise QafdError(f"{name} has more than {LARGEST // 2**20} MB and is not a stored query; "
                        "'qafd query --json' prints one")
    return stored


def write_out(data: str | bytes, out: Path | None) -> None:
    """Write to a file, or to stdout; see `open_output`."""
    with open_output(out) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def open_output(out: Path | None) -> Iterator[BinaryIO]:
    """Open the file to write to, or stdout.

    Raises
    ------
    ParameterError
        The file cannot be written.
    """
    if out is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    try:
        with out.open("wb") as file:
            yield file
    except OSError as error:
        raise ParameterError(f"{out} cannot be written: {error.strerror}") from error


def check_output(out: Path, *read: str | os.PathLike[str] | None) -> None:
    """Refuse to write over a workspace, another database or a file that the command reads.

    Raises
    ------
    ParameterError
        `out` is one of them, or lies where SQLite keeps its journal.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        if _is_database(Path(str(out).removesuffix(ending))):
            raise ParameterError(f"{out} belongs to a workspace or another database and is not "
                                 "overwritten; name another file")
    for other in read:
        if other is not None and _are_same(out, Path(other)):
            raise ParameterError(f"{out} is read by this command and is not overwritten; name "
                                 "another file")


def _is_database(path: Path) -> bool:
    try:
        if not path.is_file():  # opening a pipe would wait for its other end
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False  # opening it for writing will report why


def _are_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
