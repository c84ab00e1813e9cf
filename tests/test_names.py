"""The app answers under its own names only, and only its own pages open its websocket."""

import http.client

import pytest
from conftest import served

from qafd.app.middleware import OwnNames


def answer(host, names=(), origin=None, kind="http", any_name=False, scheme="http"):
    """What becomes of a request: "inside", the status of a refusal, or the kind of a message."""
    sent = []

    async def inside(scope, receive, send):
        await send({"type": "inside"})

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    scope = {"type": kind, "path": "/", "method": "GET", "scheme": scheme, "headers": headers}
    with pytest.raises(StopIteration):  # nothing in it waits for anything
        OwnNames(inside, names, any_name)(scope, None, send).send(None)  # type: ignore[arg-type]
    return sent[0].get("status", sent[0]["type"])


@pytest.mark.parametrize("host", [
    "127.0.0.1:8501", "localhost:8501", "LOCALHOST", "[::1]:8501", "192.168.1.5:8501"])
def test_digits_and_localhost_are_names_of_the_app(host):
    assert answer(host) == "inside"


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:8501", "localhost.evil.example", "127.0.0.1.evil.example",
    "", ":8501", "127.0.0.1:x", "[::1", "evil.example@127.0.0.1.evil.example"])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_name_of_somebody_else_is_refused_on_every_route(host, kind):
    assert answer(host, kind=kind) in (421, "websocket.close")


def test_a_name_that_was_given_is_one_of_the_app():
    assert answer("notes.example", ("Notes.example",)) == "inside"
    assert answer("notes.example:443", ("notes.example",)) == "inside"
    assert answer("other.example", ("notes.example",)) == 421
    assert answer("other.example", any_name=True) == "inside"


@pytest.mark.parametrize(("host", "origin", "passes"), [
    ("127.0.0.1:8501", None, True),
    ("127.0.0.1:8501", "http://127.0.0.1:8501", True),
    ("127.0.0.1:8501", "http://127.0.0.1:9999", False),
    ("127.0.0.1:8501", "http://127.0.0.1", False),
    ("127.0.0.1:8501", "http://evil.example:8501", False),
    ("127.0.0.1:8501", "null", False),
    ("localhost:8501", "http://127.0.0.1:8501", False),
    ("127.0.0.1:8501", "https://notes.example", True),
    ("notes.example", "https://notes.example", True),
])
def test_a_websocket_is_opened_by_a_page_of_the_same_host_and_port(host, origin, passes):
    said = answer(host, ("notes.example",), origin, "websocket")
    assert said == ("inside" if passes else "websocket.close")


def test_a_websocket_behind_a_proxy_of_another_scheme_has_the_port_of_the_scheme():
    assert answer("10.0.0.1", (), "https://10.0.0.1", "websocket", scheme="ws") == "inside"


@pytest.mark.browser
def test_a_running_app_answers_a_rebound_name_nowhere(tmp_path):
    with served(("qafd", "demo", "--name", "notes.example", "--port"), tmp_path,
                QAFD_HOME=str(tmp_path)) as url:
        def status(route, host, **more):
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
            connection.request("GET", route, headers={"Host": host, **more})
            try:
                return connection.getresponse().status
            finally:
                connection.close()

        for route in ("/", "/_stcore/health", "/_stcore/host-config", "/settings"):
            assert status(route, "evil.example") == 421
            assert status(route, "notes.example") == 200
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw=="}
        host = url.removeprefix("http://")
        assert status("/_stcore/stream", host, Origin="http://127.0.0.1:1", **upgrade) == 403
        assert status("/_stcore/stream", host, Origin=url, **upgrade) == 101
