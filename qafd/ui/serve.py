"""Start Streamlit on the app: `python -m qafd.ui.serve app.py --server.port 8501`."""

import sys
import threading

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import cli

import qafd.ui.explore  # noqa: F401  loaded before the first visitor waits for it
from qafd import kernel


def main() -> None:
    """Run the script that the command line names; app.py alone decides which pages there are."""
    # Streamlit would take the folder pages/ for a second navigation until app.py has run once.
    PagesManager.uses_pages_directory = False
    # Compiling or loading takes seconds of processor time that the first visitors need.
    patience = threading.Timer(30, kernel.warm)
    patience.daemon = True
    patience.start()
    sys.argv[:1] = ["streamlit", "run"]
    cli.main()


if __name__ == "__main__":
    main()
