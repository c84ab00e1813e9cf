"""Start Streamlit on the app: `python -m qafd.app.serve app.py --server.port 8501`."""

import argparse
import logging
import sys
import threading
from importlib import import_module

from starlette.middleware import Middleware
from streamlit.runtime.pages_manager import PagesManager
from streamlit.starlette import App

from qafd.app import access, signing
from qafd.app.addresses import Addresses
from qafd.app.headers import Headers
from qafd.app.names import OwnNames
from qafd.errors import ParameterError
from qafd.reading.names.tagger import tagger

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main() -> None:
    """Run the script that the command line names; app.py alone decides which pages there are."""
    # What is cached is cached in memory, with and without a runtime: nobody has to be told.
    logging.getLogger("streamlit.runtime.caching.cache_data_api").addFilter(
        lambda record: "No runtime found" not in record.getMessage())
    import_module("qafd.app.explore")  # before the first visitor waits for it
    # Streamlit would take the folder pages/ for a second navigation until app.py has run once.
    PagesManager.uses_pages_directory = False
    threading.Thread(target=tagger, daemon=True).start()  # nor for what reads the first question
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("--server.port", type=int)
    parser.add_argument("--server.address", default="127.0.0.1")
    parser.add_argument("--frames", default="")
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--oidc")
    options = vars(parser.parse_args())
    script, names, accounts = options.pop("script"), options.pop("name"), options.pop("oidc")
    try:
        password = signing.password()
    except ParameterError as error:
        sys.exit(f"qafd: {error}")
    public = options["server.address"] not in LOOPBACK
    access.shared = public or bool(names or password or accounts)
    around = [Middleware(Headers, frames=options.pop("frames")),
              Middleware(OwnNames, names=names,
                         any_name=public and not names and bool(password or accounts))]
    if password is not None:
        signing.active = True
        around.append(Middleware(signing.PasswordGate, password=password))
    if accounts:
        options["secrets.files"] = [accounts]
    around.append(Middleware(Addresses))
    sys.argv[:] = [script]  # App.run takes the first for what was started
    App(script, middleware=around).run(
        config={name: value for name, value in options.items() if value is not None})


if __name__ == "__main__":
    main()
