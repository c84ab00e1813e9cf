"""The folder of the app's workspaces and settings."""

import os
from pathlib import Path


def home() -> Path:
    """Return the folder of the workspaces: $QAFD_HOME, else .qafd in the user's home."""
    return Path(os.environ.get("QAFD_HOME") or Path.home() / ".qafd")
