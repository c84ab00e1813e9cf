"""A workspace as a small read-only HTTP interface with OpenAPI: `qafd serve --db notes.db`."""

import hmac
import inspect
import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import asdict
from functools import cache
from typing import Any, get_type_hints

import uvicorn
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qafd import __version__
from qafd.app.middleware import OwnNames
from qafd.errors import ParameterError, QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.serving.connections import PatientConnection
from qafd.serving.verbs import VERBS, say_wrong

Verb = Callable[..., Any]
Record = Callable[[object], None]
LONGEST_BODY = 64_000  # bytes
LEAST_TOKEN = 16  # characters, so that nobody guesses it
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def ignore(_: object) -> None:
    """Record nothing."""


def make_app(knowledge: KnowledgeGraph, token: str, names: Collection[str] = (),
             record: Record = ignore) -> Starlette:
    """Build the interface of a workspace: /v1/<verb> for each of `VERBS`, and /openapi.json.

    Parameters
    ----------
    token : str
        Every request sends it, as "Authorization: Bearer <token>"; at least 16 characters. Only
        /openapi.json and /health answer without it.
    names : collection of str
        Host names that it accepts, next to those of this machine and addresses of digits.
    record : callable
        Called with each reply, see `qafd.serving.spans`.

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
        routes.append(Route(f"/v1/{name}", _make_endpoint(knowledge, verb, token, record),
                            methods=["GET", "POST"]))
    return Starlette(routes=routes, middleware=[Middleware(OwnNames, names=names)],
                     exception_handlers={HTTPException: _refuse_route, Exception: _report_failure})


def _make_endpoint(knowledge: KnowledgeGraph, verb: Verb, token: str, record: Record
                   ) -> Callable[[Request], Awaitable[Response]]:
    expected = f"Bearer {token}".encode()

    def respond(request: Request, body: bytes) -> Response:
        try:
            reply = verb(knowledge, **_read_arguments(request, body, verb))
            record(reply)
            return _reply(asdict(reply))
        except ParameterError as error:
            return _refuse(400, str(error))
        except QafdError as error:
            return _refuse(409, str(error))

    async def check(request: Request) -> Response:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, expected):
            return _refuse(401, ("this workspace needs a token; send it as 'Authorization: "
                                 "Bearer TOKEN'"))
        body = b""
        try:
            async for part in request.stream():
                body += part
                if len(body) > LONGEST_BODY:
                    return _refuse(413, f"the request has more than {LONGEST_BODY:,} bytes; send "
                                   "less")
        except ClientDisconnect:
            return _refuse(400, "the request broke off")
        return await run_in_threadpool(respond, request, body)

    return check


def _read_arguments(request: Request, body: bytes, verb: Verb) -> dict[str, Any]:
    """Read the parameters of the address, or of a body of JSON, each of the type it should have."""
    given: list[tuple[str, Any]] = list(request.query_params.multi_items())
    posted = request.method == "POST"
    if posted:
        given += _read_body(body)
    if len(dict(given)) < len(given):
        raise ParameterError("a parameter is repeated; give each once")
    try:
        return dict(_model_of(verb).model_validate(dict(given), strict=posted))
    except ValidationError as error:
        raise ParameterError(say_wrong(error, _model_of(verb).model_fields)) from None


def _read_body(body: bytes) -> list[tuple[str, Any]]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ParameterError("the body is not an object of JSON; send one such as "
                             '{"question": "..."}')
    return list(value.items())


@cache
def _model_of(verb: Verb) -> type[BaseModel]:
    """Build the model of the parameters of a verb, without the workspace."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(verb).parameters.items():
        if name != "knowledge":
            needed = parameter.default is parameter.empty
            found[name] = parameter.annotation, ... if needed else parameter.default
    return create_model(verb.__name__, __config__=ConfigDict(extra="forbid"), **found)


def _reply(value: Any) -> Response:
    return JSONResponse(value, headers=HEADERS)


def _refuse(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status, headers=HEADERS)


def _refuse_route(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _refuse(status, f"unknown request ({status}); /openapi.json lists all requests")


def _report_failure(_: Request, error: Exception) -> Response:
    return _refuse(500, f"this is a bug in qafd ({type(error).__name__}); its log has more")


def make_server(app: Starlette, host: str, port: int,
                connection: type[PatientConnection] = PatientConnection) -> uvicorn.Server:
    """Build a server whose connections are bounded in time and number."""
    return uvicorn.Server(uvicorn.Config(app, host, port, log_level="warning", http=connection))


def describe() -> dict[str, Any]:
    """Describe the interface as OpenAPI 3.1, made from the verbs and their records."""
    schemas: dict[str, Any] = {"Error": {"type": "object", "required": ["error"],
                                         "properties": {"error": {"type": "string"}}}}
    paths = {f"/v1/{name}": _describe_verb(name, verb, schemas)
             for name, verb in VERBS.items()}
    return {"openapi": "3.1.0",
            "info": {"title": "QAFD Explorer", "version": __version__,
                     "description": "The passages and entities that a graph-based RAG system "
                     "retrieves for a question, and why. All requests read only."},
            "paths": paths, "security": [{"token": []}],
            "components": {"schemas": schemas,
                           "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}}


def _describe_verb(name: str, verb: Verb, schemas: dict[str, Any]) -> dict[str, Any]:
    record = get_type_hints(verb)["return"]
    schema = TypeAdapter(record).json_schema(ref_template="#/components/schemas/{model}",
                                             mode="serialization")
    schemas |= schema.pop("$defs", {})
    schemas[record.__name__] = schema
    body = _model_of(verb).model_json_schema()
    kinds, required = body["properties"], body.get("required", [])
    error = {"description": "One sentence: what happened, why, what to do.",
             "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    found = {"description": inspect.getdoc(record), "content": {"application/json": {
        "schema": {"$ref": f"#/components/schemas/{record.__name__}"}}}}
    shared = {"summary": (inspect.getdoc(verb) or "").partition("\n")[0],
              "responses": {"200": found, **dict.fromkeys(("400", "401", "409", "413"), error)}}
    parameters = [{"name": key, "in": "query", "schema": kind, "required": key in required}
                  for key, kind in kinds.items()]
    return {"get": {"operationId": name, "parameters": parameters, **shared},
            "post": {"operationId": f"{name}_post", **shared, "requestBody": {
                "required": True, "content": {"application/json": {"schema": body}}}}}
