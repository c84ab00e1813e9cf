"""Starting the app."""

import argparse
import os
import re
import socket
import sys
from pathlib import Path

from qafd.cli.common import Commands, command
from qafd.errors import ParameterError


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    for name, summary in (("demo", "start the app on its sample"), ("app", "start the app")):
        app = command(commands, name, _app, summary, db=name == "app", as_json=False)
        if name == "demo":
            app.set_defaults(db=None)
        app.add_argument("--port", type=port, default=os.environ.get("PORT", "8501"))
        app.add_argument("--host", default="127.0.0.1")
        app.add_argument("--frames", type=origin, metavar="ORIGIN",
                         help="another site, as https://school.example, that may show the app in "
                         "a frame; its own always may")
        app.add_argument("--i-know", action="store_true",
                         help="allow a public host although the app has no login; with "
                         "QAFD_PASSWORD set it has one")


def port(text: str) -> int:
    """A port to listen on, from 1 to 65535."""
    if not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; choose one from 1 to 65535")
    return int(text)


def origin(text: str) -> str:
    """A site, as the header that lets it frame the app names it."""
    if not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"{text} is no origin; name it as https://school.example")
    return text


def _app(arguments: argparse.Namespace) -> int:
    """Start Streamlit in this process's place, on loopback unless a public host is insisted on."""
    from qafd.package import app_file

    if arguments.host not in ("127.0.0.1", "localhost", "::1") and not os.environ.get(
            "QAFD_PASSWORD"):
        open_to_all = f"{arguments.host} can be reached by others and the app has no login"
        if not arguments.i_know:
            raise ParameterError(f"{open_to_all}; set QAFD_PASSWORD to ask for a shared password, "
                                 "put it behind a proxy that asks for one, or add --i-know")
        print(f"qafd: warning: {open_to_all}: whoever reaches it reads and changes every "
              "workspace; QAFD_PASSWORD sets a shared password", file=sys.stderr)
    script = app_file()
    os.environ.pop("QAFD_DB", None)
    if arguments.db is not None:
        os.environ["QAFD_DB"] = str(Path(arguments.db).absolute())
    _check_free(arguments.host, arguments.port)
    print(f"QAFD Explorer: http://{arguments.host}:{arguments.port}", file=sys.stderr, flush=True)
    os.chdir(script.parent)  # where Streamlit looks for its configuration
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(script.parent), os.environ.get("PYTHONPATH")]))
    os.execv(sys.executable, [
        sys.executable, "-P", "-m", "qafd.app.serve", str(script),
        "--server.port", str(arguments.port), "--server.address", arguments.host,
        "--frames", arguments.frames or ""])


def _check_free(host: str, port: int) -> None:
    """Raise ParameterError where another program listens at the port: the link would be its."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ParameterError(f"port {port} of {host} cannot be used ({error.strerror}); choose "
                             f"another, such as --port {port + 1}") from None
