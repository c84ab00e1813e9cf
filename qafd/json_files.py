"""Small JSON files that several processes read and write."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock

PATIENCE = 10.0  # seconds


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Nobody else who asks for the same file is inside such a block at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE):
        yield


def replace_json(path: Path, value: object) -> None:
    """Write a file anew; whoever reads it meanwhile finds the old one, whole."""
    with NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as aside:
        json.dump(value, aside, indent=1)
    os.replace(aside.name, path)
