"""Small JSON files that several processes read and write."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock, Timeout

from qafd.errors import BusyError, StoreError

PATIENCE = 10.0  # seconds


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which only one block of all processes has at a time.

    Raises
    ------
    BusyError
        Another process held it for ten seconds.
    StoreError
        The folder cannot be written.
    """
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise BusyError(f"{path} stayed locked for {PATIENCE:.0f} s by another process; try again when "
                        "that one has finished.") from error
    except (OSError, NotImplementedError) as error:
        raise StoreError(f"{path} cannot be locked ({error}); check that its folder can be written "
                         "and is no folder of the same name.") from error
    try:
        yield
    finally:
        lock.release()


def replace_json(path: Path, value: object) -> None:
    """Replace a file; concurrent readers see the complete old one."""
    with NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as aside:
        json.dump(value, aside, indent=1)
    os.replace(aside.name, path)
