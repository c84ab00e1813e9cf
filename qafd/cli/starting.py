"""Starting the app: the commands demo and app."""

import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qafd.cli.options import FILE, engine_option, name_option, with_options
from qafd.errors import ParameterError
from qafd.resources import app_file

if TYPE_CHECKING:
    from qafd.storage import Location

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _site(_: click.Context, __: click.Parameter, text: str | None) -> str:
    """Return a site, as the header that lets it frame the app names it."""
    if text is None:
        return ""
    if not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:\d+)?", text):
        raise click.BadParameter(f"{text} is not the origin of a site; write it as https://school.example")
    return text


@dataclass(frozen=True)
class Wishes:
    """Options for serving the app; the fields are those of its commands."""

    port: int
    host: str
    name: tuple[str, ...]
    frames: str
    password_file: Path | None
    oidc: Path | None
    engine: int | str
    i_know: bool


app_options = with_options(
    click.option("--port", type=click.IntRange(1, 65535), default=8501, envvar="PORT"),
    click.option("--host", default="127.0.0.1"),
    click.option("--frames", metavar="ORIGIN", callback=_site,
                 help="Another site that may show the app in a frame, such as "
                      "https://school.example."),
    name_option,
    click.option("--password-file", type=FILE,
                 help="Ask visitors for the password in this file; same as QAFD_PASSWORD."),
    click.option("--oidc", type=FILE,
                 help="Let visitors sign in with accounts of a provider (OpenID Connect). The file "
                 "names it in [auth], and the people in [people]."),
    engine_option,
    click.option("--i-know", is_flag=True,
                 help="Allow a public host without a login. With QAFD_PASSWORD or --oidc this is "
                      "not needed."))


def start(db: "Location | None" = None, **options: Any) -> None:
    """Start Streamlit in this process's place, on loopback unless a public host is insisted on."""
    wishes = Wishes(**options)
    host, port = wishes.host, wishes.port
    for file in filter(None, (wishes.oidc, wishes.password_file)):
        if not file.is_file():
            raise ParameterError(f"there is no file {file}; name an existing file")
    accounts = wishes.oidc and wishes.oidc.absolute()
    if wishes.password_file:
        os.environ["QAFD_PASSWORD_FILE"] = str(wishes.password_file.absolute())
    login = accounts or "QAFD_PASSWORD" in os.environ or "QAFD_PASSWORD_FILE" in os.environ
    if host not in LOOPBACK and not login:
        if not wishes.i_know:
            raise ParameterError(f"{host} can be reached by others and the app has no login; "
                                 "set QAFD_PASSWORD to ask for a shared password, put it "
                                 "behind a proxy that asks for one, or add --i-know")
        print(f"qafd: warning: {host} can be reached by others and the app has no login: anyone who can "
              "reach it can read and change every workspace; QAFD_PASSWORD sets a shared password",
              file=sys.stderr)
    script = app_file()
    os.environ["QAFD_ENGINE"] = str(wishes.engine)
    os.environ.pop("QAFD_DB", None)
    if db is not None:
        os.environ["QAFD_DB"] = db if isinstance(db, str) else os.path.abspath(db)
    check_free(host, port)
    print(f"QAFD Explorer: http://{host}:{port}", file=sys.stderr, flush=True)
    # Each thread would else keep the memory that it freed for itself: 480 MB for eight instead of 330.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    os.chdir(script.parent)  # where Streamlit looks for its configuration
    paths = [str(script.parent)]
    if "PYTHONPATH" in os.environ:
        paths.append(os.environ["PYTHONPATH"])
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    serve = [sys.executable, "-P", "-m", "qafd.app.serve", str(script), "--server.port", str(port),
             "--server.address", host, "--frames", wishes.frames]
    for name in wishes.name:
        serve += ["--name", name]
    if accounts:
        serve += ["--oidc", str(accounts)]
    os.execv(sys.executable, serve)


def check_free(host: str, port: int) -> None:
    """Raise ParameterError where another program listens at the port: the link would be its."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ParameterError(f"port {port} of {host} cannot be used ({error.strerror}); choose "
                             f"another, such as --port {port + 1}") from None
