"""A workspace for other programs: the commands mcp and serve."""

import os
from pathlib import Path

import click

from qafd.cli import DONE
from qafd.cli.command import command, note, with_workspace
from qafd.cli.options import FILE, name_option
from qafd.cli.starting import LOOPBACK, check_free
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph

VARIABLE = "QAFD_TOKEN"


@command(as_json=False)
@with_workspace
def mcp(knowledge: KnowledgeGraph) -> int:
    """Serve a workspace to a program that uses the Model Context Protocol, over stdin and stdout.

    Such a program starts this command itself: give it 'qafd', 'mcp', '--db' and the file. It gets
    nine tools, which only read.
    """
    from qafd.serving.mcp import make_server, mend_input

    server = make_server(knowledge)
    mend_input()
    server.run("stdio")
    return DONE


@command(as_json=False)
@with_workspace
@click.option("--port", type=click.IntRange(1, 65535), default=8601)
@click.option("--host", default="127.0.0.1")
@name_option
@click.option("--token-file", type=FILE, help="File with the token that requests must send, at "
                                              "least 16 characters; or set $QAFD_TOKEN. There is no"
                                              " default token.")
@click.option("--otel", metavar="PLACE", help="Also write each question as a span of OpenTelemetry: to a "
                                              "file of OTLP JSON, or to http(s)://host/v1/traces.")
def serve(knowledge: KnowledgeGraph, port: int, host: str, name: tuple[str, ...],
          token_file: Path | None, otel: str | None) -> int:
    """Serve a workspace to other programs over HTTP, read-only.

    /openapi.json describes them. Requests are not encrypted: put a proxy with TLS in front
    if other machines use it.
    """
    from qafd.serving.http import ignore, make_app, make_server
    from qafd.serving.spans import record_spans

    app = make_app(knowledge, _token(token_file), name, record_spans(otel) if otel else ignore)
    check_free(host, port)
    note(f"http://{host}:{port}/openapi.json")
    if host not in LOOPBACK:
        note(f"{host} can be reached by others, who need the token; put a proxy with TLS before it")
    make_server(app, host, port).run()
    return DONE


def _token(file: Path | None) -> str:
    given = os.environ.pop(VARIABLE, "")  # no child process is to know it
    if file is None:
        if not given:
            raise ParameterError("no token is set; name a file that holds one with --token-file, "
                                 "or set QAFD_TOKEN")
        return given
    try:
        return file.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ParameterError(f"the token file {file} cannot be read ({error})") from error
