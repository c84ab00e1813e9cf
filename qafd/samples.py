"""The sample workspaces that come with the package, and the questions to ask them."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from qafd.errors import OlderSchemaError, ParameterError, StoreError
from qafd.resources import assets
from qafd.storage import open_workspace

SAMPLES = {
    "apple-amazon": "Apple and Amazon: two names, four things",
    "songbook": "Songbook: lives and works, several hops apart",
    "elements": "Elements: who found them, and who taught whom",
}
EXAMPLES = {
    "apple-amazon": ("Introduce Steve Jobs's products in Apple.",
                     "Which cultivar gave the Macintosh its name?",
                     "Which river meets the Amazon near Manaus?",
                     "Which products did Apple bring out?"),
    "songbook": ("Where was the singer of Paper Lanterns born?",
                 "Who founded the prize that Salt Road won?",
                 "Which studio recorded the music for the film by Teodor Halvorsen?"),
    "elements": ("Where was the successor of J. J. Thomson born?",
                 "In whose house did the finder of lanthanum live?",
                 "Which village gave its name to four elements?"),
}


def sample_file(name: str) -> Path:
    """Return the bundled file of a sample, which is read only."""
    return assets() / "samples" / f"{name}.db"


def copy_sample(name: str, folder: Path) -> Path:
    """Return the user's own copy of a sample, which may be changed; make it if there is none.

    A copy that an older version of qafd made is renamed to NAME.old.db, and a new one is made.

    Raises
    ------
    ParameterError
        There is no sample of this name.
    StoreError
        The folder cannot be written.
    """
    if name not in SAMPLES:
        raise ParameterError(f"there is no sample {name!r}; choose {', '.join(SAMPLES)}")
    path = folder / f"{name}.db"
    if path.exists() and _is_outdated(path):
        path.replace(folder / f"{name}.old.db")
        _is_outdated.cache_clear()
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder) as aside:
                copy = Path(aside) / path.name
                shutil.copyfile(sample_file(name), copy)
                with open_workspace(copy) as store:
                    store.renew()
                    store.compact()
                copy.replace(path)
        except OSError as error:
            raise StoreError(f"The sample {name} cannot be copied into {folder} "
                             f"({error.strerror}); make that folder writable, or choose "
                             "another one with QAFD_HOME.") from error
    return path


@cache
def _is_outdated(path: Path) -> bool:
    """Return True if an older version of qafd wrote a workspace; looked up once in a process."""
    try:
        with open_workspace(path, read_only=True):
            return False
    except OlderSchemaError:
        return True
    except StoreError:
        return False  # opening it raises the error with its remedy
