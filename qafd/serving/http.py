"""A workspace as a small read-only HTTP interface with OpenAPI: `qafd serve --db notes.db`."""

import hmac
import inspect
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qafd import __version__
from qafd.app.names import OwnNames
from qafd.errors import ParameterError, QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.serving import verbs

Verb = Callable[..., Any]
VERBS: dict[str, Verb] = {"search": verbs.search_passages, "retrieve": verbs.retrieve,
                          "why": verbs.explain_why, "answer": verbs.answer}
LEAST_TOKEN = 16  # characters, so that nobody guesses it
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def make_app(knowledge: KnowledgeGraph, token: str, names: Collection[str] = ()) -> Starlette:
    """The interface of a workspace: GET /v1/<verb> for each of `VERBS`, and /openapi.json.

    Parameters
    ----------
    token : str
        What every request has to bring, as "Authorization: Bearer <token>"; at least 16
        characters. Only /openapi.json and /health answer without it.
    names : collection of str
        The names under which it answers, beside those of this machine and addresses of digits.

    Raises
    ------
    ParameterError
        The token is too short.
    """
    if len(token) < LEAST_TOKEN:
        raise ParameterError(f"the token has {len(token)} characters; choose one with at least "
                             f"{LEAST_TOKEN}")
    description = describe()
    routes = [Route("/health", lambda _: _reply({"status": "ok"})),
              Route("/openapi.json", lambda _: _reply(description))]
    for name, verb in VERBS.items():
        routes.append(Route(f"/v1/{name}", _endpoint(knowledge, verb, token)))
    return Starlette(routes=routes, middleware=[Middleware(OwnNames, names=names)])


def _endpoint(knowledge: KnowledgeGraph, verb: Verb, token: str) -> Callable[[Request], Response]:
    expected = f"Bearer {token}".encode()

    def respond(request: Request) -> Response:  # in a thread of its own, since it is no coroutine
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, expected):
            return _refuse(401, ("this workspace asks for a token; send it as 'Authorization: "
                                 "Bearer TOKEN'"))
        try:
            return _reply(asdict(verb(knowledge, **_read_arguments(request, verb))))
        except ParameterError as error:
            return _refuse(400, str(error))
        except QafdError as error:
            return _refuse(409, str(error))

    return respond


def _read_arguments(request: Request, verb: Verb) -> dict[str, str | int]:
    """The parameters of the address, each of the type that the verb wants."""
    wanted = _parameters(verb)
    arguments: dict[str, str | int] = {}
    for name, text in request.query_params.multi_items():
        if name not in wanted or name in arguments:
            raise ParameterError(f"the parameter {name!r} is not expected here, or not twice; "
                                 f"there are {', '.join(wanted)}")
        if wanted[name].annotation is not int:
            arguments[name] = text
        elif text.isascii() and text.isdecimal() and len(text) < 10:
            arguments[name] = int(text)
        else:
            raise ParameterError(f"{name} is {text!r}; give a whole number")
    for name, parameter in wanted.items():
        if parameter.default is parameter.empty and name not in arguments:
            raise ParameterError(f"the parameter {name!r} is missing; add it to the address")
    return arguments


def _parameters(verb: Verb) -> dict[str, inspect.Parameter]:
    """Those of a verb, without the workspace."""
    found = dict(inspect.signature(verb).parameters)
    del found["knowledge"]
    return found


def _reply(value: Any) -> Response:
    return JSONResponse(value, headers=HEADERS)


def _refuse(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status, headers=HEADERS)


def describe() -> dict[str, Any]:
    """The interface in the words of OpenAPI 3.1, made from the verbs and their records."""
    schemas: dict[str, Any] = {"Error": {"type": "object", "required": ["error"],
                                         "properties": {"error": {"type": "string"}}}}
    paths = {f"/v1/{name}": {"get": _describe_verb(name, verb, schemas)}
             for name, verb in VERBS.items()}
    return {"openapi": "3.1.0",
            "info": {"title": "QAFD Explorer", "version": __version__,
                     "description": "What a graph-based RAG system retrieves for a question, and "
                     "why. All requests read only."},
            "paths": paths, "security": [{"token": []}],
            "components": {"schemas": schemas,
                           "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}}


def _describe_verb(name: str, verb: Verb, schemas: dict[str, Any]) -> dict[str, Any]:
    record = get_type_hints(verb)["return"]
    schema = TypeAdapter(record).json_schema(ref_template="#/components/schemas/{model}",
                                             mode="serialization")
    schemas |= schema.pop("$defs", {})
    schemas[record.__name__] = schema
    parameters = []
    for key, parameter in _parameters(verb).items():
        kind: dict[str, Any] = {"type": "integer" if parameter.annotation is int else "string"}
        if parameter.default is not parameter.empty:
            kind["default"] = parameter.default
        parameters.append({"name": key, "in": "query", "schema": kind,
                           "required": parameter.default is parameter.empty})
    error = {"description": "One sentence: what, why, what to do.",
             "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    found = {"description": inspect.getdoc(record), "content": {"application/json": {
        "schema": {"$ref": f"#/components/schemas/{record.__name__}"}}}}
    summary = (inspect.getdoc(verb) or "").partition("\n")[0]
    return {"operationId": name, "summary": summary, "parameters": parameters,
            "responses": {"200": found, "400": error, "401": error, "409": error}}
