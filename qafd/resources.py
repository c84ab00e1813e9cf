"""The files next to the code, in the wheel or in a checkout, and the folder of the app's own."""

import os
import tomllib
from functools import cache
from pathlib import Path


@cache
def root() -> Path:
    """Return the folder of app.py, pages/ and assets/."""
    package = Path(__file__).resolve().parent
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent


def assets() -> Path:
    """Return the folder of the samples, the logo, and the picture's script and style."""
    return root() / "assets"


def app_file() -> Path:
    """Return the app's entry point."""
    return root() / "app.py"


@cache
def lexicon(file: str, name: str) -> frozenset[str]:
    """Return a list of words that a rule needs; each file of assets/lexicons names its source and licence."""
    words = tomllib.loads((assets() / "lexicons" / f"{file}.toml").read_text("utf-8"))
    return frozenset(words[name].split())


def home() -> Path:
    """Return the folder of the app's workspaces and settings: $QAFD_HOME, else .qafd in the user's home."""
    return Path(os.environ.get("QAFD_HOME") or Path.home() / ".qafd")
