"""A workspace for other programs: the commands mcp and serve."""

import os
from pathlib import Path

from qafd.cli import DONE
from qafd.cli.command import note
from qafd.cli.models import ModelRequest
from qafd.cli.starting import LOOPBACK, check_free
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph

VARIABLE = "QAFD_TOKEN"


def mcp(knowledge: KnowledgeGraph, asked: ModelRequest) -> int:
    from qafd.serving.mcp import make_server, mend_input

    asked.read_for(knowledge)
    server = make_server(knowledge)
    mend_input()
    server.run("stdio")
    return DONE


def serve(knowledge: KnowledgeGraph, port: int, host: str, name: tuple[str, ...],
          token_file: Path | None, otel: str | None, asked: ModelRequest) -> int:
    from qafd.serving.http import ignore, make_app, make_server
    from qafd.serving.spans import record_spans

    asked.read_for(knowledge)
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
