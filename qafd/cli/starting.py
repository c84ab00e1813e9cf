"""Starting the app: the commands demo and app."""

import os
import re
import socket
import sys
from pathlib import Path

import click

from qafd.cli.options import db_option, with_options
from qafd.errors import ParameterError
from qafd.package import app_file

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _site(_: click.Context, __: click.Parameter, text: str | None) -> str:
    """A site, as the header that lets it frame the app names it."""
    if text is None:
        return ""
    if not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d+)?", text):
        raise click.BadParameter(f"{text} is no origin; name it as https://school.example")
    return text


def _port(_: click.Context, __: click.Parameter, number: int) -> int:
    if not 1 <= number <= 65535:
        raise click.BadParameter(f"{number} is no port; choose one from 1 to 65535")
    return number


app_options = with_options(
    click.option("--port", type=int, default=8501, envvar="PORT", callback=_port),
    click.option("--host", default="127.0.0.1"),
    click.option("--frames", metavar="ORIGIN", callback=_site,
                 help="Another site, as https://school.example, that may show the app in a frame; "
                 "its own always may."),
    click.option("--i-know", is_flag=True,
                 help="Allow a public host although the app has no login; with QAFD_PASSWORD set "
                 "it has one."))


@click.command()
@app_options
def demo(port: int, host: str, frames: str, i_know: bool) -> None:
    _start(None, port, host, frames, i_know)


@click.command()
@db_option
@app_options
def app(db: Path | None, port: int, host: str, frames: str, i_know: bool) -> None:
    _start(db, port, host, frames, i_know)


def _start(db: Path | None, port: int, host: str, frames: str, i_know: bool) -> None:
    """Start Streamlit in this process's place, on loopback unless a public host is insisted on."""
    if host not in LOOPBACK and not os.environ.get("QAFD_PASSWORD"):
        if not i_know:
            raise ParameterError(
                "{host} can be reached by others and the app has no login; set QAFD_PASSWORD to "
                "ask for a shared password, put it behind a proxy that asks for one, or add "
                "--i-know", host=host)
        print(f"qafd: warning: {host} can be reached by others and the app has no login: whoever "
              "reaches it reads and changes every workspace; QAFD_PASSWORD sets a shared password",
              file=sys.stderr)
    script = app_file()
    os.environ.pop("QAFD_DB", None)
    if db is not None:
        os.environ["QAFD_DB"] = str(db.absolute())
    _check_free(host, port)
    print(f"QAFD Explorer: http://{host}:{port}", file=sys.stderr, flush=True)
    os.chdir(script.parent)  # where Streamlit looks for its configuration
    paths = [str(script.parent)]
    if "PYTHONPATH" in os.environ:
        paths.append(os.environ["PYTHONPATH"])
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.execv(sys.executable, [
        sys.executable, "-P", "-m", "qafd.app.serve", str(script),
        "--server.port", str(port), "--server.address", host, "--frames", frames])


def _check_free(host: str, port: int) -> None:
    """Raise ParameterError where another program listens at the port: the link would be its."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ParameterError("port {port} of {host} cannot be used ({reason}); choose another, "
                             "such as --port {next}", port=port, host=host, reason=error.strerror,
                             next=port + 1) from None
