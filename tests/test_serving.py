"""Other programs get what Python gets: over MCP, over HTTP, and by the retrievers of frameworks."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import httpx2
import jsonschema
import openapi_spec_validator
import pytest
from conftest import free_port
from mcp import Client, StdioServerParameters
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from websockets.sync.client import connect

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import count_tokens
from qafd.retrieve.methods import PAPER
from qafd.retrieve.recorded import read_recording
from qafd.serving import verbs
from qafd.serving.connections import UPLOADS, AppConnection, PatientConnection
from qafd.serving.http import describe, make_app, make_server
from qafd.serving.mcp import replace_half_characters
from qafd.serving.spans import record_spans
from qafd.serving.verbs import VERBS

QUESTION = "Introduce Steve Jobs's products in Apple."
TOKEN = "a-token-of-27-characters-ok"
ASKED = {
    "query": {"question": QUESTION, "limit": 3, "tokens": 300},
    "why": {"question": QUESTION, "node": "Steve Jobs"}, "answer": {"question": QUESTION},
    "neighbors": {"node": "¶ Steve Jobs", "limit": 3}, "paths": {"question": QUESTION, "node": "iPod"},
    "read": {"document": "steve-jobs.md", "start": 10, "tokens": 20}, "documents": {"start": 3, "limit": 2},
    "conditions": {"question": "Which product was introduced by Steve Jobs and Apple?", "limit": 2}}


def wait_for(ask):
    """What a coroutine returns, in a thread of its own: a browser's loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, ask()).result()


def get(apple, path, params=None, body=None, **headers):
    """One request to the interface, with the token unless another authorization is given."""
    async def ask():
        transport = httpx2.ASGITransport(app=make_app(apple, TOKEN))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(
                "GET" if body is None else "POST", path, params=params, content=body,
                headers={"authorization": f"Bearer {TOKEN}"} | headers)
    return wait_for(ask)


def test_retrieve_gives_the_passages_and_entities_of_the_library(apple):
    expected = apple.retrieve(QUESTION)
    reply = verbs.query(apple, QUESTION, limit=3)
    assert [(one.document, one.start, one.score) for one in reply.sources] == [
        (one.document, one.start, one.score) for one in expected.passages[:3]]
    names = [node.name for node in expected.nodes if node.kind == "entity" and node.importance > 0]
    assert [entity.name for entity in reply.entities] == names[:3]
    assert reply.proven


@pytest.mark.parametrize("ask", [
    lambda kg: verbs.query(kg, " "), lambda kg: verbs.query(kg, "a", "none"),
    lambda kg: verbs.query(kg, "a", limit=0), lambda kg: verbs.query(kg, "a", limit=51),
    lambda kg: verbs.explain_why(kg, QUESTION, "Nobody Known"),
    lambda kg: verbs.neighbors(kg, "Nobody Known"), lambda kg: verbs.query(kg, "a", tokens=0),
    lambda kg: verbs.read(kg, "steve-jobs.md", -1), lambda kg: verbs.documents(kg, 0, 51),
    lambda kg: verbs.answer(kg, "a" * 2001), lambda kg: verbs.answer(kg, "who \ud800"),
    lambda kg: verbs.query(kg, "\udfff"),
    lambda kg: verbs.explain_why(kg, QUESTION, "\ud800")],
    ids=["empty", "method", "limit 0", "limit 51", "node", "neighbor", "tokens", "start",
         "documents", "length", "surrogate",
         "surrogate of words", "surrogate of a node"])
def test_what_cannot_be_asked_is_refused(apple, ask):
    with pytest.raises(ParameterError):
        ask(apple)


@pytest.mark.parametrize("verb", VERBS)
def test_http_replies_as_its_description_says(apple, verb):
    reply = get(apple, f"/v1/{verb}", ASKED[verb])
    assert reply.status_code == 200
    assert get(apple, f"/v1/{verb}", body=json.dumps(ASKED[verb]).encode()).json() == reply.json()
    description = get(apple, "/openapi.json").json()
    assert description == describe()
    openapi_spec_validator.validate(description)
    found = description["paths"][f"/v1/{verb}"]["get"]["responses"]["200"]
    schema = found["content"]["application/json"]["schema"]
    jsonschema.validate(reply.json(), schema | {"components": description["components"]})


@pytest.mark.parametrize("tokens", [1, 30, 100, 400])
def test_replies_keep_their_number_of_tokens(apple, tokens):
    sources = verbs.query(apple, QUESTION, limit=50, tokens=tokens).sources
    assert sources
    assert sum(count_tokens(source.text) for source in sources) <= tokens
    whole = verbs.query(apple, QUESTION, limit=50).sources
    assert [source.id for source in sources] == [source.id for source in whole[:len(sources)]]
    assert len(whole) > len(sources)


def test_a_document_is_read_part_by_part(apple):
    with apple.store() as store:
        text = store.documents.get("steve-jobs.md").text
    parts, start = [], 0
    while start is not None:
        part = verbs.read(apple, "steve-jobs.md", start, 40)
        assert count_tokens(part.text) <= 40
        parts.append(part.text)
        start = part.next
    assert "".join(parts) == text
    assert len(parts) > 2


def test_documents_are_listed_page_by_page(apple):
    first = verbs.documents(apple, 0, 10)
    rest = verbs.documents(apple, first.next or 0, 10)
    names = [one.name for one in (*first.documents, *rest.documents)]
    assert (len(names), rest.next) == (first.total, None)
    assert names == sorted(set(names))


def test_neighbors_share_passages_and_paths_lead_to_a_node(apple):
    near = verbs.neighbors(apple, "steve jobs", 5)
    assert (near.node, near.neighbors[0].name) == ("Steve Jobs", "Apple")
    shared = [one.passages for one in near.neighbors]
    assert shared == sorted(shared, reverse=True)
    found = verbs.paths(apple, QUESTION, "iPod", 2).paths
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert all(one.path.endswith("iPod") for one in found)


@pytest.mark.parametrize(("path", "params", "headers", "status"), [
    ("/v1/answer", {"question": "a"}, {"authorization": ""}, 401),
    ("/v1/answer", {"question": "a"}, {"authorization": f"Bearer {TOKEN}x"}, 401),
    ("/v1/answer", {"question": "a"}, {"host": "evil.example"}, 421),
    ("/v1/answer", {}, {}, 400),
    ("/v1/answer", {"question": "a", "more": "b"}, {}, 400),
    ("/v1/query", {"question": "a", "limit": "two"}, {}, 400),
    ("/v1/query", {"question": "a", "limit": "9" * 400}, {}, 400),
    ("/v1/erase", {}, {}, 404)],
    ids=["no token", "wrong token", "strange name", "nothing", "unknown", "word", "huge", "verb"])
def test_http_refuses_by_status_in_one_sentence(apple, path, params, headers, status):
    reply = get(apple, path, params, **headers)
    assert reply.status_code == status
    assert list(reply.json()) == ["error"]


@pytest.mark.parametrize(("body", "status"), [
    (b"", 400), (b"[]", 400), (b"{", 400), (b"[" * 60_000, 400), (b'{"question": 5}', 400),
    (b'{"question": "a", "limit": true}', 400), (b'{"question": "a", "limit": 1.5}', 400),
    (b'{"question": "\\ud800"}', 400), (b'{"question": "a", "limit": 51}', 400),
    (b'{"question": "' + b"a" * 64_000 + b'"}', 413)])
def test_http_refuses_a_body_that_it_cannot_read(apple, body, status):
    reply = get(apple, "/v1/query", body=body)
    assert reply.status_code == status
    assert list(reply.json()) == ["error"]


def test_http_refuses_what_the_workspace_cannot_answer(path):
    knowledge = KnowledgeGraph.open(path)
    path.write_bytes(b"no workspace any more" * 500)
    reply = get(knowledge, "/v1/query", {"question": "Apple"})
    assert reply.status_code == 409
    assert list(reply.json()) == ["error"]


@pytest.mark.parametrize(("sent", "replies"), [
    (b"", 0), (b"GET /health HTT", 0), (b"POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
    b"Bearer " + TOKEN.encode() + b"\r\nContent-Length: 9\r\n\r\n{", 0),
    (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea", 1)],
    ids=["nothing", "half a head", "half a body", "half a second head"])
def test_a_request_that_does_not_end_loses_its_connection(apple, sent, replies):
    class Impatient(PatientConnection):
        head = body = 0.05

    with running(make_app(apple, TOKEN), Impatient) as port, \
            socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        received = b""
        while part := connection.recv(10_000):
            received += part
    assert received.count(b"HTTP/1.1 ") == replies


@pytest.mark.parametrize(("path", "reads", "ends"), [
    (UPLOADS, True, False), (UPLOADS, False, True), ("/", True, True), ("/", False, True)],
    ids=["upload", "refused upload", "half a form", "refused form"])
def test_only_an_upload_that_is_taken_has_long_to_arrive(path, reads, ends):
    class Impatient(AppConnection):
        head = body = 0.05

    async def reply(request):
        return Response(str(len(await request.body()) if reads else 0))

    app = Starlette(routes=[Route("/{rest:path}", reply, methods=["PUT"])])
    with running(app, Impatient) as port, \
            socket.create_connection(("127.0.0.1", port), timeout=10 if ends else 0.5) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf".encode())
        if ends:
            while connection.recv(10_000):
                pass
        else:
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.sendall(b" more")
            assert connection.recv(10_000).startswith(b"HTTP/1.1 200")


def test_a_websocket_outlives_the_time_for_a_head():
    class Impatient(AppConnection):
        head = 0.1

    async def greet(websocket):
        await websocket.accept()
        while await websocket.receive_text() != "end":
            await websocket.send_text("here")

    with running(Starlette(routes=[WebSocketRoute("/", greet)]), Impatient) as port, \
            connect(f"ws://127.0.0.1:{port}/") as websocket:
        began = monotonic()
        while monotonic() < began + 3 * Impatient.head:
            websocket.send("are you there?")
            assert websocket.recv() == "here"
        websocket.send("end")


@contextmanager
def running(app, connection):
    """The port of a server while a block lasts."""
    port = free_port()
    server = make_server(app, "127.0.0.1", port, connection)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        yield port
    finally:
        server.should_exit = True
        thread.join()


def with_client(apple, ask):
    """Let a client ask `qafd mcp`, started as other programs start it."""
    async def run():
        arguments = ["-m", "qafd", "mcp", "--db", apple.place.written]
        async with Client(StdioServerParameters(
                command=sys.executable, args=arguments, cwd=Path(__file__).parents[1])) as client:
            await ask(client)
    wait_for(run)


@pytest.mark.parametrize(("sent", "expected"), [
    (rb'"a \ud800 b"', rb'"a \ufffd b"'), (rb'"\uDFFF"', rb'"\ufffd"'), (rb'"\\ud800"', rb'"\\ud800"'),
    (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'), (rb'"\ud800\n"', rb'"\ufffd\n"')],
    ids=["high", "low", "backslash", "pair", "before an escape"])
def test_half_characters_are_replaced_and_all_else_stays(sent, expected):
    assert replace_half_characters(sent) == expected


def test_mcp_answers_a_request_with_half_a_character(apple):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call",
             "params": {"name": "query", "arguments": {"question": "river \ud800"}}}]
    with subprocess.Popen([sys.executable, "-m", "qafd", "mcp", "--db", apple.place.written],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        for message in sent:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        server.stdin.flush()
        replies = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    assert replies[1]["id"] == 2
    assert replies[1]["result"]["structuredContent"]["sources"]


def rounded(value):
    """JSON values with six digits of each number: the compiled solver adds in another order."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def test_mcp_gives_what_the_verbs_give_and_tells_errors(apple):
    expected = {name: get(apple, f"/v1/{name}", arguments).json()
                for name, arguments in ASKED.items()}

    async def ask(client):
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(VERBS)
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        for tool in tools:
            assert all(value.get("description") for value in tool.input_schema["properties"].values())
        (query,) = (tool for tool in tools if tool.name == "query")
        assert {"qafd", "pagerank", PAPER} <= set(query.input_schema["properties"]["method"]["enum"])
        for name, arguments in ASKED.items():
            reply = await client.call_tool(name, arguments)
            assert not reply.is_error
            assert rounded(reply.structured_content) == rounded(expected[name])
        for wrong, named in (({"question": "a", "method": "none"}, "none"), ({}, "question"),
                             ({"question": "a", "limit": "many"}, "limit")):
            refused = await client.call_tool("query", wrong)
            assert refused.is_error
            assert named in refused.content[0].text
            assert "\n" not in refused.content[0].text

    with_client(apple, ask)


def test_langchain_gets_the_passages_in_their_order(apple):
    from qafd.serving.langchain import LangChainRetriever

    documents = LangChainRetriever(knowledge=apple, k=3).invoke(QUESTION)
    assert [one.metadata["number"] for one in documents] == [1, 2, 3]
    assert [(one.metadata["file"], one.metadata["id"]) for one in documents] == [
        (passage.document, passage.chunk) for passage in apple.retrieve(QUESTION).passages[:3]]
    assert {"heading", "page", "title"} <= documents[0].metadata.keys()
    assert [one.page_content for one in documents] == [
        passage.text for passage in apple.retrieve(QUESTION).passages[:3]]


def test_llama_index_gets_the_passages_in_their_order(apple):
    from qafd.serving.llama_index import LlamaIndexRetriever

    nodes = LlamaIndexRetriever(apple, k=3).retrieve(QUESTION)
    assert [(one.node.get_content(), one.score) for one in nodes] == [
        (passage.text, passage.score) for passage in apple.retrieve(QUESTION).passages[:3]]


def test_spans_of_questions_are_written_and_read_again(apple, tmp_path):
    file = tmp_path / "spans.jsonl"
    record = record_spans(str(file))
    reply = verbs.query(apple, QUESTION, limit=3)
    for each in (reply, verbs.answer(apple, QUESTION), verbs.documents(apple)):
        record(each)
    assert len(file.read_text("utf-8").splitlines()) == 2  # a list of documents is no question
    (found,) = read_recording(file.read_bytes(), "spans").found
    assert found.question == QUESTION
    assert [(one["id"], one["content"], one["score"]) for one in found.results] == [
        (source.id, source.text, source.score) for source in reply.sources]
    (scope,) = json.loads(file.read_text("utf-8").splitlines()[0])["resourceSpans"][0]["scopeSpans"]
    assert len(bytes.fromhex(scope["spans"][0]["traceId"])) == 16
    with pytest.raises(ParameterError, match="cannot be written"):
        record_spans(str(tmp_path / "none" / "spans.jsonl"))


def test_the_server_records_only_what_it_answers(apple):
    seen = []

    async def ask():
        transport = httpx2.ASGITransport(app=make_app(apple, TOKEN, record=seen.append))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1",
                                      headers={"authorization": f"Bearer {TOKEN}"}) as client:
            for limit in (2, 0):
                await client.get("/v1/query", params={"question": QUESTION, "limit": limit})
    wait_for(ask)
    assert [type(reply) for reply in seen] == [verbs.RetrievalReply]


def test_what_is_no_request_and_one_connection_too_many_get_json(apple):
    class Few(PatientConnection):
        most = 1

    replies = []
    with running(make_app(apple, TOKEN), Few) as port, \
            socket.create_connection(("127.0.0.1", port), timeout=30) as first, \
            socket.create_connection(("127.0.0.1", port), timeout=30) as second:
        first.sendall(b"\x00\r\n\r\n")
        for connection in (second, first):
            data = b""
            while part := connection.recv(10_000):
                data += part
            replies.append(data)
    assert [int(reply.split()[1]) for reply in replies] == [503, 400]
    for reply in replies:
        assert list(json.loads(reply.partition(b"\r\n\r\n")[2])) == ["error"]
