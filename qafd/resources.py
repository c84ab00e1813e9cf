"""Paths of the files next to the code, in the wheel or in a checkout."""

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
