"""The app's own server: its headers let nothing be loaded from elsewhere, and files arrive compressed."""

import asyncio
import gzip
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import served
from starlette.responses import Response

from qafd.app.middleware import Compression, SafeHeaders
from qafd.cli import main


def answered(frames="", host=b"x:8501", kind="http", own=()):
    """What becomes of the first message of an application with some headers of its own."""
    sent = []

    async def inside(scope, receive, send):
        await send({"type": f"{kind}.response.start", "status": 200, "headers": list(own)})

    async def send(message):
        sent.append(message)

    with pytest.raises(StopIteration):  # nothing in it waits for anything
        SafeHeaders(inside, frames)({"type": kind, "headers": [(b"host", host)]}, None, send).send(None)
    return sent[0]


def headers(answer):
    assert len({name for name, _ in answer["headers"]}) == len(answer["headers"])
    return {name.decode(): value.decode() for name, value in answer["headers"]}


def policy(answer):
    said = [part.split() for part in headers(answer)["content-security-policy"].split("; ")]
    return {name: places for name, *places in said}


def test_nothing_is_loaded_from_or_sent_to_another_host():
    allowed = {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:",
               "ws://x:8501", "wss://x:8501"}
    said = policy(answered())
    assert {place for places in said.values() for place in places} == allowed
    assert said["default-src"] == said["base-uri"] == said["form-action"] == ["'self'"]
    assert said["object-src"] == ["'none'"]
    assert headers(answered())["referrer-policy"] == "no-referrer"
    assert headers(answered())["x-content-type-options"] == "nosniff"


def test_only_the_own_site_frames_the_app_unless_another_is_named():
    assert policy(answered())["frame-ancestors"] == ["'self'"]
    assert headers(answered())["x-frame-options"] == "SAMEORIGIN"
    site = "https://school.example"
    assert policy(answered(site))["frame-ancestors"] == ["'self'", site]
    assert "x-frame-options" not in headers(answered(site))  # it could not name one


@pytest.mark.parametrize("host", [b"x; script-src *", b"x y", b"", b"\xe9, *"])
def test_a_host_that_is_none_says_nothing_in_the_policy(host):
    assert policy(answered(host=host))["connect-src"] == ["'self'"]


def test_headers_that_are_there_and_websockets_stay_as_they_are():
    own = ((b"Content-Security-Policy", b"default-src 'none'"), (b"content-type", b"text/html"))
    said = answered(own=own)["headers"]
    assert said[:2] == list(own)
    assert [name for name, _ in said].count(b"content-security-policy") == 0
    assert answered(kind="websocket")["headers"] == []


@pytest.mark.parametrize("site", ["*", "school.example", "https://a.example; script-src *",
                                  "https://a.example/path", "'unsafe-inline'"])
def test_a_frame_is_of_a_site_that_is_named_whole(site, capsys):
    assert main(["demo", "--frames", site]) == 2
    assert "write it as https://school.example" in capsys.readouterr().err


@pytest.mark.browser
@pytest.mark.parametrize("password", ["", "open sésame & co"], ids=["open", "with a password"])
def test_a_running_app_sends_the_headers_on_every_route(password, tmp_path):
    site = "https://school.example"
    with served(("qafd", "demo", "--frames", site, "--port"), tmp_path,
                QAFD_HOME=str(tmp_path),
                **({"QAFD_PASSWORD": password} if password else {})) as url:
        for route in ("/", "/settings", "/_stcore/health", "/_stcore/host-config", "/media/none"):
            try:
                answer = urllib.request.urlopen(url + route, timeout=10)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["referrer-policy"] in ("no-referrer", "same-origin")
                refused = "'none'" in (said := answer.headers["content-security-policy"])
                assert site in said or (password and refused)


TEXT = b"let mass = 1;\n" * 500


def answer(path, encoding="gzip"):
    """The headers and the body that a browser gets."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path,
             "headers": [(b"accept-encoding", encoding.encode())]}

    async def serve():
        await Compression(Response(TEXT))(scope, receive, send)

    with ThreadPoolExecutor(1) as pool:  # a browser's loop may run in this thread
        pool.submit(asyncio.run, serve()).result()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message["body"] for message in sent[1:])


@pytest.mark.parametrize("path", ["/static/js/index.js", "/static/css/index.css"])
def test_a_file_is_sent_smaller_and_arrives_whole(path):
    headers, body = answer(path)
    assert headers["content-encoding"] == "gzip"
    assert len(body) < len(TEXT) / 10
    assert gzip.decompress(body) == TEXT


@pytest.mark.parametrize(("path", "encoding"), [
    ("/explore", "gzip"), ("/static/media/font.woff2", "gzip"), ("/static/js/index.js", "identity")])
def test_anything_else_is_sent_as_it_is(path, encoding):
    headers, body = answer(path, encoding)
    assert "content-encoding" not in headers
    assert body == TEXT
