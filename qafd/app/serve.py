"""Start Streamlit on the app: `python -m qafd.app.serve app.py --server.port 8501`."""

import argparse
import logging
import sys
import threading
from importlib import import_module
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.config import get_option
from streamlit.runtime.pages_manager import PagesManager
from streamlit.starlette import App
from uvicorn.config import HTTP_PROTOCOLS

from qafd.app import access
from qafd.app.accounts import AccountGate, read_accounts
from qafd.app.gate import PasswordGate, Sessions, take_password, wants_password
from qafd.app.middleware import Addresses, Compression, OwnNames, SafeHeaders
from qafd.app.pages import PAGES
from qafd.errors import ParameterError
from qafd.models.embedder import local_embedder

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main() -> None:
    """Run the script that the command line names; app.py alone lists the pages."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("--server.port", type=int)
    parser.add_argument("--server.address", default="127.0.0.1")
    parser.add_argument("--frames", default="")
    parser.add_argument("--name", action="append", default=[])
    parser.add_argument("--oidc", type=Path)
    options = vars(parser.parse_args())
    script, names, file = options.pop("script"), options.pop("name"), options.pop("oidc")
    try:
        gate = _choose_gate(file)
    except ParameterError as error:
        sys.exit(f"qafd: {error}")
    _prepare()
    public = options["server.address"] not in LOOPBACK
    access.shared = public or bool(names or gate)
    around = [Middleware(Compression), Middleware(SafeHeaders, frames=options.pop("frames")),
              Middleware(OwnNames, names=names, any_name=public and not names and bool(gate))]
    around += [gate] if gate else []
    around.append(Middleware(Addresses, pages=list(PAGES)))
    # Streamlit lets uvicorn choose the protocol by this name, and passes no other.
    HTTP_PROTOCOLS["auto"] = "qafd.serving.connections:AppConnection"
    sys.argv[:] = [script]  # App.run reads the script from here
    App(script, middleware=around).run(
        config={name: value for name, value in options.items() if value is not None})


def _choose_gate(file: Path | None) -> Middleware | None:
    """Return the gate that asks visitors to sign in, None if no login is requested.

    Raises
    ------
    ParameterError
        The requested login cannot be read, or two are requested.
    """
    wanted = wants_password()
    typed = take_password()
    if file is None and (reason := access.find_unmet_login(get_option("secrets.files"))):
        raise ParameterError(reason)
    if file is not None and wanted:
        raise ParameterError("both a shared password and accounts (--oidc) are set; choose "
                             "one of them")
    sessions = Sessions()
    if file is not None:
        gate = Middleware(AccountGate, sessions=sessions, accounts=read_accounts(file))
    elif typed is not None:
        gate = Middleware(PasswordGate, sessions=sessions, password=typed)
    else:
        return None
    access.sessions = sessions
    return gate


def _prepare() -> None:
    """Load slow modules before the first visitor needs them."""
    # Streamlit warns that its cache is in memory without a runtime; it is in memory with one too.
    logging.getLogger("streamlit.runtime.caching.cache_data_api").addFilter(
        lambda record: "No runtime found" not in record.getMessage())
    import_module("qafd.app.explore")
    # Streamlit would take the folder pages/ for a second navigation until app.py has run once.
    PagesManager.uses_pages_directory = False
    threading.Thread(target=_load_model, daemon=True).start()


def _load_model() -> None:
    local_embedder().embed(["a question"])


if __name__ == "__main__":
    main()
