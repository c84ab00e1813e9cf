"""The shared password: no route answers before it, wrong tries wait, links keep what they ask."""

import http.client
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from conftest import served
from streamlit.testing.v1 import AppTest

from qafd.app import access, signing
from qafd.app.provider import allow
from qafd.app.signing import (
    COOKIE,
    FREE,
    FREE_IN_ALL,
    KNOWN_COOKIE,
    LONGEST,
    PasswordGate,
)
from qafd.errors import ParameterError

PASSWORD = "open sésame & co"
ROUTES = ("/", "/runs?run=1", "/static/js/index.js", "/_stcore/host-config", "/media/x",
          "/_stcore/upload_file/a/b", "/component/a/b", "/_stcore/bidi-components/a/b",
          "/_stcore/health/", "/_stcore/../settings", "/favicon.png")


class Door:
    """A gate before an application that only says that it was reached, on a clock set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.reached: list[str] = []
        self.heard: Any = None
        self.gate = PasswordGate(self._inside, PASSWORD, lambda: self.now)

    async def _inside(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope["path"])
        self.heard = receive
        await send({"type": "inside"})

    def hear(self) -> Any:
        """What an application that was reached and goes on, as websockets do, receives next."""
        with pytest.raises(StopIteration) as heard:
            self.heard().send(None)
        return heard.value.value

    def knock(self, path: str = "/", method: str = "GET", body: bytes = b"", cookie: str = "",
              kind: str = "http", address: str = "1.2.3.4", scheme: str = "http",
              port: int = 8501) -> Any:
        """The first message that comes back, with the text of the second."""
        sent: list[Any] = []
        parts = [body[i:i + 1000] for i in range(0, len(body), 1000)] or [b""]
        sort = "http.request" if kind == "http" else "websocket.receive"
        arriving = iter([{"type": sort, "body": part, "more_body": i < len(parts)}
                         for i, part in enumerate(parts, 1)])

        async def receive() -> Any:
            return next(arriving)

        async def send(message: Any) -> None:
            sent.append(message)

        place, _, query = path.partition("?")
        # Nothing in it waits for anything, so it needs no event loop; a browser may have one.
        with pytest.raises(StopIteration):
            self.gate({
                "type": kind, "path": place, "query_string": query.encode(), "method": method,
                "scheme": scheme, "client": (address, 1), "server": ("x", port),
                "headers": [(b"host", b"x"), (b"cookie", f"a=b; {cookie}; c=d".encode())]},
                receive, send).send(None)
        return sent[0] | {"text": sent[1]["body"].decode() if len(sent) > 1 else ""}

    def sign_in(self, password: str = PASSWORD, path: str = "/", **more: Any) -> Any:
        return self.knock(path, "POST", f"password={quote_plus(password)}".encode(), **more)


def header(answer: Any, name: str) -> str:
    return next((value.decode() for key, value in answer["headers"] if key == name.encode()), "")


def session(answer: Any) -> str:
    return header(answer, "set-cookie").split(";")[0]


@pytest.fixture
def door() -> Door:
    return Door()


def test_only_the_health_check_passes_without_the_password(door: Door) -> None:
    for path in ROUTES:
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            assert door.knock(path, method)["status"] == 401
    assert door.knock("/_stcore/stream", kind="websocket") == {
        "type": "websocket.close", "code": 1008, "text": ""}
    assert door.knock("/_stcore/health", kind="websocket")["type"] == "websocket.close"
    assert door.reached == []
    assert door.knock("/_stcore/health")["type"] == "inside"


def test_the_password_opens_every_route_for_its_session_only(door: Door) -> None:
    cookie = session(door.sign_in())
    assert door.knock("/media/x", cookie=cookie)["type"] == "inside"
    assert door.knock("/_stcore/stream", kind="websocket", cookie=cookie)["type"] == "inside"
    assert door.knock(cookie=cookie[:-1])["status"] == 401
    assert door.knock(cookie=cookie.partition("=")[0] + "=")["status"] == 401
    assert session(door.sign_in()) != cookie


def test_a_session_is_of_the_browser_and_hidden_from_scripts(door: Door) -> None:
    parts = header(door.sign_in(), "set-cookie").split("; ")
    assert set(parts[1:]) == {"Path=/", "HttpOnly", "SameSite=lax"}
    assert "Secure" in header(door.sign_in(scheme="https"), "set-cookie").split("; ")


def test_signing_out_ends_the_session(door: Door) -> None:
    cookie = session(door.sign_in())
    answer = door.knock("/sign-out", cookie=cookie)
    assert (answer["status"], header(answer, "location")) == (303, "/")
    assert header(answer, "set-cookie").startswith(f'{COOKIE}_8501=""; ')
    assert "Max-Age=0" in header(answer, "set-cookie")
    assert door.knock(cookie=cookie)["status"] == 401


def test_signing_out_closes_the_tabs_that_are_open(door: Door) -> None:
    cookie = session(door.sign_in())
    door.knock("/_stcore/stream", kind="websocket", cookie=cookie)
    assert door.hear()["type"] == "websocket.receive"
    door.knock("/_stcore/stream", kind="websocket", cookie=cookie)
    heard = door.heard
    door.knock("/sign-out", cookie=cookie)
    door.heard = heard
    assert door.hear() == {"type": "websocket.disconnect", "code": 1008}


def test_two_apps_of_one_host_keep_their_sessions_apart(door: Door) -> None:
    first, second = door.sign_in(port=8501), door.sign_in(port=8502)
    both = f"{session(first)}; {session(second)}"
    assert door.knock(cookie=both, port=8501)["type"] == "inside"
    assert door.knock("/sign-out", cookie=both, port=8501)["status"] == 303
    assert door.knock(cookie=both, port=8501)["status"] == 401
    assert door.knock(cookie=both, port=8502)["type"] == "inside"


@pytest.mark.parametrize(("asked", "then"), [
    ("/?q=Who%3F&ws=a&node=1", "/?q=Who%3F&ws=a&node=1"),
    ("/runs", "/runs"),
    ("//evil.example/x?y", "/evil.example/x?y"),
    ("/\\evil.example", "/evil.example"),
    ("/a\r\nSet-Cookie: b", "/a%0D%0ASet-Cookie%3A%20b"),
])
def test_a_link_keeps_what_it_asks_and_leads_nowhere_else(
        asked: str, then: str, door: Door) -> None:
    answer = door.sign_in(path=asked)
    assert (answer["status"], header(answer, "location")) == (303, then)


@pytest.mark.parametrize("password", [
    "", "open sesame & co", PASSWORD + " ", PASSWORD.upper(), "x" * (LONGEST - 10)])
def test_another_password_does_not_open(password: str, door: Door) -> None:
    answer = door.sign_in(password)
    assert (answer["status"], header(answer, "set-cookie")) == (401, "")
    assert "This is not the password." in answer["text"]


def test_a_form_that_is_none_does_not_open(door: Door) -> None:
    right = f"password={quote_plus(PASSWORD)}"
    for body in (b"", b"\xff\xfe", b"password", f"{right}&x={'y' * LONGEST}".encode(),
                 f"password=no&{right}".encode(), b"&" * LONGEST):
        assert door.knock("/", "POST", body, address=str(len(body)))["status"] == 401
    assert door.sign_in()["status"] == 303


def test_wrong_tries_wait_longer_and_longer_and_the_right_one_too(door: Door) -> None:
    for _ in range(FREE):
        assert door.sign_in("no")["status"] == 401
    for wait in (1, 2, 4, 8, 16, 32, 60, 60):
        answer = door.sign_in()
        assert answer["status"] == 429
        assert f"wait {wait} second" in answer["text"]
        door.now += wait - 0.01
        assert door.sign_in()["status"] == 429
        door.now += 0.02
        assert door.sign_in("no")["status"] == 401
    assert door.sign_in(address="5.6.7.8")["status"] == 303
    door.now += 60
    assert door.sign_in()["status"] == 303
    assert door.sign_in("no")["status"] == 401
    assert door.sign_in()["status"] == 303


def test_the_addresses_of_one_house_count_as_one(door: Door) -> None:
    for i in range(FREE):
        door.sign_in("no", address=f"2001:db8:1:2::{i:x}")
    assert door.sign_in("no", address="2001:db8:1:2:ffff::1")["status"] == 429
    assert door.sign_in("no", address="2001:db8:1:3::1")["status"] == 401


def test_tries_of_many_networks_make_others_wait_but_not_for_long(door: Door) -> None:
    for i in range(FREE_IN_ALL + 9):
        door.now += 2
        assert door.sign_in("no", address=f"10.0.{i // 250}.{i % 250}")["status"] == 401
    assert door.sign_in("no", address="9.9.9.9")["status"] == 429
    door.now += 2
    assert door.sign_in(address="9.9.9.9")["status"] == 303


def known(answer: Any) -> str:
    """The cookie of a browser that has signed in."""
    return next(value.decode().split(";")[0] for name, value in answer["headers"]
                if name == b"set-cookie" and value.startswith(KNOWN_COOKIE.encode()))


def test_a_browser_that_knew_the_password_is_not_locked_out_by_others(door: Door) -> None:
    browser = known(door.sign_in())
    for i in range(FREE_IN_ALL + FREE):
        door.sign_in("no", address="1.2.3.4" if i < FREE + 1 else f"10.0.0.{i}")
    assert door.sign_in()["status"] == 429
    assert door.sign_in(cookie=browser)["status"] == 303
    for _ in range(FREE):
        assert door.sign_in("no", cookie=browser)["status"] == 401
    assert door.sign_in(cookie=browser)["status"] == 429
    assert door.sign_in(cookie=browser + "x", address="7.7.7.7")["status"] in (303, 429)


def test_a_cookie_that_somebody_made_opens_nothing(door: Door) -> None:
    cookie = session(door.sign_in())
    assert door.knock(cookie=cookie.partition(".")[0] + ".made-up")["status"] == 401
    assert Door().knock(cookie=cookie)["status"] == 401

def test_the_form_says_nothing_of_the_address_and_loads_nothing(door: Door) -> None:
    answer = door.knock("/<script>alert(1)</script>?ws=secret")
    assert "script" not in answer["text"]
    assert "secret" not in answer["text"]
    assert "src=" not in answer["text"]
    assert header(answer, "content-security-policy").startswith("default-src 'none'")
    assert header(answer, "cache-control") == "no-store"


def test_the_password_leaves_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAFD_PASSWORD", "x")
    assert signing.password() == "x"
    assert "QAFD_PASSWORD" not in os.environ
    monkeypatch.setenv("QAFD_PASSWORD", "")
    assert signing.password() is None


def test_the_password_may_stand_in_a_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    monkeypatch.setenv("QAFD_PASSWORD_FILE", str(file))
    with pytest.raises(ParameterError):
        signing.password()
    file.write_text("of the file\n")
    monkeypatch.setenv("QAFD_PASSWORD_FILE", str(file))
    assert signing.password() == "of the file"
    assert "QAFD_PASSWORD_FILE" not in os.environ


def test_private_addresses_are_not_free_where_others_may_come_by_a_proxy(
        home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "shared", True)
    with pytest.raises(ParameterError):
        allow("http://127.0.0.1:11434/v1")
    monkeypatch.setenv("QAFD_ALLOW_CUSTOM_BASE_URL", "1")
    allow("http://127.0.0.1:11434/v1")

def test_a_server_that_does_not_ask_for_it_shows_nothing(
        home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAFD_PASSWORD", "x")
    app = AppTest.from_file(str(Path(__file__).parents[1] / "app.py"), default_timeout=60).run()
    assert [e.value for e in app.error] == [
        "QAFD\\_PASSWORD is set, and this server does not ask for it: start it with 'qafd app' "
        "instead of 'streamlit run'."]
    assert not app.sidebar
    assert not list(home.glob("*.db"))


def test_a_public_host_without_password_is_refused_or_warned_of(tmp_path: Path) -> None:
    def start(*more: str, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "import os, sys; os.execv = lambda *a: sys.exit(0)\n"
             "from qafd.cli import main; sys.exit(main(sys.argv[1:]))", "app", "--host", "0.0.0.0",
             *more], env={**os.environ, "QAFD_HOME": str(tmp_path), **env}, capture_output=True,
            text=True, check=False)
        return done.stderr

    assert "set QAFD_PASSWORD" in start()
    assert "warning: 0.0.0.0 can be reached by others and the app has no login" in start("--i-know")
    assert "no login" not in start(QAFD_PASSWORD="x")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("guarded")
    with served(("qafd", "demo", "--port"), home, QAFD_HOME=str(home),
                QAFD_PASSWORD=PASSWORD) as url:
        yield url


@pytest.mark.browser
def test_a_running_app_answers_nothing_before_the_password(guarded: str) -> None:
    for route in ROUTES:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(guarded + route, timeout=10)
        refused.value.close()
        assert refused.value.code == 401
    connection = http.client.HTTPConnection(guarded.removeprefix("http://"), timeout=10)
    connection.request("GET", "/_stcore/stream", headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw=="})
    try:
        assert connection.getresponse().status == 403
    finally:
        connection.close()


@pytest.mark.browser
def test_a_link_is_opened_after_signing_in_and_stays_open(browser: Any, guarded: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900})
    view = context.new_page()
    view.goto(f"{guarded}/?ws=songbook&best_mass=12")
    view.get_by_label("Password").fill("wrong")
    view.get_by_role("button", name="Sign in").click()
    view.get_by_text("This is not the password.").wait_for()
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    view.get_by_label("Password").fill(PASSWORD)
    view.keyboard.press("Enter")
    view.locator("[data-painted]").wait_for(timeout=60_000)
    assert view.url == f"{guarded}/?ws=songbook&best_mass=12"
    other = context.new_page()
    other.goto(f"{guarded}/settings")
    other.get_by_role("link", name="Sign out").click()
    other.get_by_label("Password").wait_for()
    view.reload()
    view.get_by_label("Password").wait_for()
    context.close()
