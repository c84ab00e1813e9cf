"""Files as they are given: found in folders, and kept apart where their names are equal."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path, PurePosixPath

from qafd.errors import ParameterError
from qafd.reading.text.plaintext import label, one_line
from qafd.storage.rows import clean_name
from qafd.time_left import ignore_progress

ROOM = 255 - len(" (1000000)")  # characters of a name that leave room for its number


@dataclass(frozen=True)
class Given:
    """A file with its name, and its longer name that begins with its folder."""

    name: str
    longer: str
    read: Callable[[], bytes]


def files_below(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    say: Callable[[str], None] = ignore_progress,
) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of files and of all files in folders; sorted, read one by one.

    Names are paths relative to the folder that was named. Different files of one name are told
    apart by their folder, else by a number; a file that is found twice counts once. Hidden files,
    devices and links that lead out of the folder are left out.

    Parameters
    ----------
    paths : path or iterable of paths
    say : callable
        Takes a sentence about names that were changed, and one about folders without a file.

    Raises
    ------
    ParameterError
        When a path does not exist, cannot be read, or is neither a file nor a folder.
    """
    return ((file.name, file.read()) for file in find_files(paths, say))


def find_files(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    say: Callable[[str], None] = ignore_progress,
) -> list[Given]:
    """Return the files of `files_below` before they are read."""
    found: list[Given] = []
    empty = []
    for given in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = Path(given)
        if not os.fspath(given) or not os.path.exists(path):
            raise ParameterError(f"there is no file or folder {os.fspath(given)!r}")
        if not path.is_dir() and not path.is_file():
            raise ParameterError(f"{path} is neither a file nor a folder; '-' reads text from "
                                 "stdin")
        below = _files(path) if path.is_dir() else [path]
        found += [_given(path, file) for file in below]
        if not below:
            empty.append(path)
    if empty:
        say(f"there is no file in {', '.join(one_line(str(p), 200) for p in empty[:5])}"
            f"{', ...' if len(empty) > 5 else ''}; hidden files and links to other places do not "
            "count")
    return told_apart(found, say)


def told_apart(files: Sequence[Given], say: Callable[[str], None] = ignore_progress) -> list[Given]:
    """The files under names that stay different when they are cleaned; equal ones count once.

    A file whose name is none, such as "...", is left out and reported.

    Raises
    ------
    ParameterError
        No file has a name.
    """
    same: dict[str, list[Given]] = defaultdict(list)
    nameless: list[ParameterError] = []
    for file in files:
        try:
            same[_key(file.name)].append(file)
        except ParameterError as error:
            nameless.append(error)
    if nameless and not same:
        raise nameless[0]
    for reason in nameless:
        say(f"one file is left out: {reason}")
    taken = set(same)
    kept: list[Given] = []
    renamed: list[str] = []
    for group in same.values():
        different = group if len(group) == 1 else _drop_copies(group)
        if len(different) == 1:
            kept.append(different[0])
            continue
        for number, file in enumerate(different):
            if number or file.longer != file.name:
                name = (file.longer if _key(file.longer) not in taken
                        else number_name(file.longer, taken))
                file = replace(file, name=name)
            taken.add(_key(file.name))
            kept.append(file)
            renamed.append(one_line(clean_name(file.name), 80))
    if renamed:
        say(f"{len(renamed)} different files share their names and are kept apart as "
            f"{', '.join(renamed[:6])}{', ...' if len(renamed) > 6 else ''}")
    return kept


def number_name(name: str, taken: Iterable[str]) -> str:
    """The first of "name (2).txt", "name (3).txt", ... that is no name of `taken`."""
    keys = {_key(other) for other in taken}
    path = PurePosixPath(clean_name(name))
    ending = path.suffix[:20]
    stem = str(path)[:len(str(path)) - len(path.suffix)][:ROOM - len(ending)]
    return next(n for i in count(2) if _key(n := f"{stem} ({i}){ending}") not in keys)


def _drop_copies(files: Sequence[Given]) -> list[Given]:
    """The first file of each content."""
    first: dict[bytes, Given] = {}
    for file in files:
        first.setdefault(hashlib.sha256(file.read()).digest(), file)
    return list(first.values())


def _key(name: str) -> str:
    """Equal for names that the workspace or its documents could not tell apart."""
    return label(clean_name(name))


def _given(top: Path, file: Path) -> Given:
    folder = Path(os.path.abspath(top))
    if file == top:
        return Given(file.name, f"{folder.parent.name}/{file.name}".lstrip("/"),
                     lambda: _bytes(file))
    name = file.relative_to(top).as_posix()
    return Given(name, f"{folder.name}/{name}".lstrip("/"), lambda: _bytes(file))


def _files(folder: Path) -> list[Path]:
    """All files below a folder that are neither hidden nor links to somewhere else."""
    def refuse(error: OSError) -> None:
        raise error

    try:
        own = folder.resolve()
        found = []
        for place, folders, names in os.walk(folder, onerror=refuse):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [file for name in names if not name.startswith(".")
                      and (file := Path(place, name)).is_file()
                      and file.resolve().is_relative_to(own)]
    except OSError as error:
        raise ParameterError(f"{error.filename or folder} cannot be read: {error.strerror}") from error
    return sorted(found)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from error
