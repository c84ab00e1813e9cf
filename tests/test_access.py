"""Every way into the app: closed without a session, whatever login was asked for."""

import http.client
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from conftest import served
from streamlit.config import get_option, set_option
from streamlit.testing.v1 import AppTest

from qafd.app import access
from qafd.app.accounts import AccountGate, read_accounts
from qafd.app.gate import (
    COOKIE,
    FREE,
    HEALTH,
    KNOWN_COOKIE,
    LONGEST,
    PasswordGate,
    Sessions,
    VisitorGate,
    take_password,
)
from qafd.app.provider import allow
from qafd.errors import ParameterError

PASSWORD = "open sésame & co"
ROUTES = ("/", "/runs?run=1", "/static/js/index.js", "/_stcore/host-config", "/media/x",
          "/_stcore/upload_file/a/b", "/component/a/b", "/_stcore/bidi-components/a/b",
          "/_stcore/metrics", "/_stcore/script-health-check", "/_stcore/agent/interact",
          "/_stcore/health/", "/_stcore/../settings", "/favicon.png", "/auth/login", "/auth/logout")
METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS")
ACCOUNTS = """
[auth]
redirect_uri = "https://notes.example/oauth2callback"
client_id = "qafd"
client_secret = "hidden"
server_metadata_url = "https://provider.example/.well-known/openid-configuration"

[people]
allowed = ["@school.example"]
"""


class Door:
    """A gate before an application that only says that it was reached, on a clock set by hand."""

    def __init__(self, login="password"):
        self.now = 0.0
        self.reached: list[str] = []
        self.heard: Any = None
        self.gate: VisitorGate = PasswordGate(self._inside, Sessions(), PASSWORD, lambda: self.now)
        if login == "accounts":
            file = Path(tempfile.mkdtemp()) / "accounts.toml"
            file.write_text(ACCOUNTS)
            self.gate = AccountGate(self._inside, Sessions(), read_accounts(file))

    async def _inside(self, scope, receive, send):
        self.reached.append(scope["path"])
        self.heard = receive
        await send({"type": "inside"})

    def hear(self):
        """What an application that was reached and goes on, as websockets do, receives next."""
        with pytest.raises(StopIteration) as heard:
            self.heard().send(None)
        return heard.value.value

    def knock(
            self, path="/", method="GET", body=b"", cookie="", kind="http", address="1.2.3.4",
            scheme="http", port=8501):
        """The first message that comes back, with the text of the second."""
        sent = []
        parts = [body[i:i + 1000] for i in range(0, len(body), 1000)] or [b""]
        sort = "http.request" if kind == "http" else "websocket.receive"
        arriving = iter([{"type": sort, "body": part, "more_body": i < len(parts)}
                         for i, part in enumerate(parts, 1)])

        async def receive():
            return next(arriving)

        async def send(message):
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

    def sign_in(self, password=PASSWORD, path="/", **more):
        return self.knock(path, "POST", f"password={quote_plus(password)}".encode(), **more)


def header(answer, name):
    return next((value.decode() for key, value in answer["headers"] if key == name.encode()), "")


def session(answer):
    return header(answer, "set-cookie").split(";")[0]


@pytest.fixture
def door():
    return Door()


@pytest.mark.parametrize("cookie", ["", "qafd_signed_in_8501=", "qafd_signed_in_8501=made-up",
                                    "_streamlit_user=made-up; qafd_signed_in=made-up"])
@pytest.mark.parametrize("login", ["password", "accounts"])
def test_only_the_health_check_passes_without_a_session(login, cookie):
    door = Door(login)
    for path in ROUTES:
        for method in METHODS:
            assert door.knock(path, method, cookie=cookie)["status"] in (401, 429)
        assert door.knock(path, kind="websocket", cookie=cookie)["type"] == "websocket.close"
    for path in ("/_stcore/stream", HEALTH):
        assert door.knock(path, kind="websocket", cookie=cookie) == {
            "type": "websocket.close", "code": 1008, "text": ""}
    assert door.knock(HEALTH, "POST", cookie=cookie)["status"] in (401, 429)
    assert door.reached == []
    assert door.knock(HEALTH, cookie=cookie)["type"] == "inside"


def test_who_comes_back_from_no_errand_is_not_let_in():
    door = Door("accounts")
    for query in ("", "?code=1", "?code=1&state=2", "?error=denied", "?state=2&code=1&place=/"):
        assert door.knock(f"/oauth2callback{query}")["status"] == 502
    assert door.reached == []


BROKEN = {
    "empty": "",
    "no TOML": "[auth",
    "section misspelled": ACCOUNTS.replace("[auth]", "[auht]"),
    "list misspelled": ACCOUNTS.replace("[people]", "[peopel]"),
    "one section more": ACCOUNTS + "[peopel]",
    "list missing": ACCOUNTS.partition("[people]")[0],
    "key misspelled": ACCOUNTS.replace("allowed", "alowed"),
    "setting misspelled": ACCOUNTS.replace("client_id", "client"),
    "id empty": ACCOUNTS.replace('"qafd"', '""'),
    "secret a number": ACCOUNTS.replace('"hidden"', "5"),
    "provider in the clear": ACCOUNTS.replace("https://provider", "http://provider"),
    "callback without path": ACCOUNTS.replace("/oauth2callback", "/"),
    "section a text": "auth = 'x'\npeople = 'y'",
} | {f"allowed = {entry}": ACCOUNTS.replace('["@school.example"]', entry) for entry in (
    '"@school.example"', "[]", '["@"]', '[""]', '[" "]', "[1]", "true", '["school.example"]',
    '["@school.example", ""]', '["@school.example "]', '["a@b@school.example"]', '["* "]')}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_of_accounts_is_refused(text, tmp_path):
    file = tmp_path / "accounts.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match="accounts.toml"):
        read_accounts(file)


@pytest.mark.parametrize("broken", ["missing", "a folder", "not UTF-8"])
def test_a_file_of_accounts_that_cannot_be_read_is_refused(broken, tmp_path):
    file = tmp_path / "accounts.toml"
    if broken == "a folder":
        file.mkdir()
    elif broken == "not UTF-8":
        file.write_bytes(ACCOUNTS.encode("utf-16"))
    with pytest.raises(ParameterError, match="cannot be read"):
        read_accounts(file)


@pytest.mark.parametrize(("claims", "admitted"), [
    ({"email": "ada@school.example", "email_verified": True}, True),
    ({"email": "ADA@School.Example", "email_verified": True}, True),
    ({"email": "ada@school.example"}, False),
    ({"email": "ada@school.example", "email_verified": False}, False),
    ({"email": "ada@school.example", "email_verified": "false"}, False),
    ({"email": "ada@school.example", "email_verified": "true"}, False),
    ({"email": "ada@school.example", "email_verified": 1}, False),
    ({"email": "ada@evil.school.example", "email_verified": True}, False),
    ({"email": "ada@school.example.evil", "email_verified": True}, False),
    ({"email": "ada@\u017fchool.example", "email_verified": True}, False),
    ({"email": "@school.example@evil", "email_verified": True}, False),
    ({"email": "", "email_verified": True}, False),
    ({"email": ["@school.example"], "email_verified": True}, False),
    ({"email_verified": True, "sub": "@school.example"}, False),
    ({}, False),
])
def test_an_account_enters_by_an_address_that_its_provider_verified(claims, admitted, tmp_path):
    file = tmp_path / "accounts.toml"
    file.write_text(ACCOUNTS)
    assert read_accounts(file).admit(claims) == admitted
    file.write_text(ACCOUNTS.replace("@school.example", "*"))
    assert read_accounts(file).admit(claims)


def test_the_password_opens_every_route_for_its_session_only(door):
    cookie = session(door.sign_in())
    assert door.knock("/media/x", cookie=cookie)["type"] == "inside"
    assert door.knock("/_stcore/stream", kind="websocket", cookie=cookie)["type"] == "inside"
    assert door.knock(cookie=cookie[:-1])["status"] == 401
    for made in ("", cookie.partition("=")[2].partition(".")[0] + ".made-up"):
        assert door.knock(cookie=f"{cookie.partition('=')[0]}={made}")["status"] == 401
    assert Door().knock(cookie=cookie)["status"] == 401
    assert session(door.sign_in()) != cookie


def test_a_session_is_of_the_browser_and_hidden_from_scripts(door):
    parts = header(door.sign_in(), "set-cookie").split("; ")
    assert set(parts[1:]) == {"Path=/", "HttpOnly", "SameSite=lax"}
    assert "Secure" in header(door.sign_in(scheme="https"), "set-cookie").split("; ")


def test_signing_out_ends_the_session(door):
    cookie = session(door.sign_in())
    answer = door.knock("/sign-out", cookie=cookie)
    assert (answer["status"], header(answer, "location")) == (303, "/")
    assert header(answer, "set-cookie").startswith(f'{COOKIE}_8501=""; ')
    assert "Max-Age=0" in header(answer, "set-cookie")
    assert door.knock(cookie=cookie)["status"] == 401


def test_signing_out_closes_the_tabs_that_are_open(door):
    cookie = session(door.sign_in())
    door.knock("/_stcore/stream", kind="websocket", cookie=cookie)
    assert door.hear()["type"] == "websocket.receive"
    door.knock("/_stcore/stream", kind="websocket", cookie=cookie)
    heard = door.heard
    door.knock("/sign-out", cookie=cookie)
    door.heard = heard
    assert door.hear() == {"type": "websocket.disconnect", "code": 1008}


def test_two_apps_of_one_host_keep_their_sessions_apart(door):
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
def test_a_link_keeps_what_it_asks_and_leads_nowhere_else(asked, then, door):
    answer = door.sign_in(path=asked)
    assert (answer["status"], header(answer, "location")) == (303, then)


@pytest.mark.parametrize("password", [
    "", "open sesame & co", PASSWORD + " ", PASSWORD.upper(), "x" * (LONGEST - 10)])
def test_another_password_does_not_open(password, door):
    answer = door.sign_in(password)
    assert (answer["status"], header(answer, "set-cookie")) == (401, "")
    assert "This is not the password." in answer["text"]


def test_a_form_that_is_none_does_not_open(door):
    right = f"password={quote_plus(PASSWORD)}"
    for body in (b"", b"\xff\xfe", b"password", f"{right}&x={'y' * LONGEST}".encode(),
                 f"password=no&{right}".encode(), b"&" * LONGEST):
        assert door.knock("/", "POST", body, address=str(len(body)))["status"] == 401
    assert door.sign_in()["status"] == 303


def test_wrong_tries_wait_longer_and_longer_and_the_right_one_too(door):
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


def test_the_addresses_of_one_house_count_as_one(door):
    for i in range(FREE):
        door.sign_in("no", address=f"2001:db8:1:2::{i:x}")
    assert door.sign_in("no", address="2001:db8:1:2:ffff::1")["status"] == 429
    assert door.sign_in("no", address="2001:db8:1:3::1")["status"] == 401


def test_guesses_from_many_networks_do_not_delay_the_right_password(door):
    for i in range(300):
        assert door.sign_in("no", address=f"10.0.{i // 250}.{i % 250}")["status"] == 401
    assert door.sign_in(address="9.9.9.9")["status"] == 303


def known(answer):
    """The cookie of a browser that has signed in."""
    return next(value.decode().split(";")[0] for name, value in answer["headers"]
                if name == b"set-cookie" and value.startswith(KNOWN_COOKIE.encode()))


def test_a_browser_that_knew_the_password_is_not_locked_out_by_others(door):
    browser = known(door.sign_in())
    for _ in range(FREE + 1):
        door.sign_in("no")
    assert door.sign_in()["status"] == 429
    assert door.sign_in(cookie=browser)["status"] == 303
    for _ in range(FREE):
        assert door.sign_in("no", cookie=browser)["status"] == 401
    assert door.sign_in(cookie=browser)["status"] == 429
    assert door.sign_in(cookie=browser + "x", address="7.7.7.7")["status"] == 303


def test_the_form_says_nothing_of_the_address_and_loads_nothing(door):
    answer = door.knock("/<script>alert(1)</script>?ws=secret")
    assert "script" not in answer["text"]
    assert "secret" not in answer["text"]
    assert "src=" not in answer["text"]
    assert header(answer, "content-security-policy").startswith("default-src 'none'")
    assert header(answer, "cache-control") == "no-store"


def test_the_password_leaves_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("QAFD_PASSWORD", "x")
    assert take_password() == "x"
    assert take_password() is None
    file = tmp_path / "secret"
    file.write_text("of the file\n")
    monkeypatch.setenv("QAFD_PASSWORD_FILE", str(file))
    assert take_password() == "of the file"
    assert "QAFD_PASSWORD_FILE" not in os.environ


@pytest.mark.parametrize("text", [None, "", "\n", "  \n", "\udcff"])
def test_a_password_that_cannot_be_read_is_refused(text, tmp_path, monkeypatch):
    file = tmp_path / "secret"
    if text is not None:
        file.write_text(text, errors="surrogateescape")
    monkeypatch.setenv("QAFD_PASSWORD_FILE", str(file))
    with pytest.raises(ParameterError):
        take_password()
    monkeypatch.setenv("QAFD_PASSWORD", text if text and text != "\udcff" else "")
    with pytest.raises(ParameterError, match="is empty"):
        take_password()


@pytest.mark.parametrize(("secrets", "variables", "options", "reason"), [
    ("", {"QAFD_PASSWORD": ""}, [], "is empty"),
    ("", {"QAFD_PASSWORD": "x"}, ["--oidc", "good.toml"], "choose one"),
    ("", {"QAFD_PASSWORD_FILE": "none"}, [], "cannot be read"),
    ("", {}, ["--oidc", "none.toml"], "cannot be read"),
    ("", {}, ["--oidc", "bad.toml"], "[auth]"),
    (ACCOUNTS, {}, [], "asks for a login"),
    (ACCOUNTS, {"QAFD_PASSWORD": "x"}, [], "asks for a login"),
    ("[auth", {}, [], "it may ask for a login"),
])
def test_the_server_does_not_start_with_a_login_that_it_cannot_check(
        secrets, variables, options, reason, tmp_path):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(secrets)
    (tmp_path / "good.toml").write_text(ACCOUNTS)
    (tmp_path / "bad.toml").write_text("[other]")
    done = subprocess.run(
        [sys.executable, "-m", "qafd.app.serve", "app.py", *options], cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), **variables}, capture_output=True, text=True,
        check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("qafd: ")
    assert reason in done.stderr


def test_private_addresses_are_not_free_where_others_may_come_by_a_proxy(home, monkeypatch):
    monkeypatch.setattr(access, "shared", True)
    with pytest.raises(ParameterError):
        allow("http://127.0.0.1:11434/v1")
    monkeypatch.setenv("QAFD_ALLOW_CUSTOM_BASE_URL", "1")
    allow("http://127.0.0.1:11434/v1")


@pytest.mark.parametrize("asked", ["QAFD_PASSWORD", "QAFD_PASSWORD_FILE", "secrets", "broken"])
def test_a_server_that_does_not_ask_for_a_login_shows_nothing(asked, home, tmp_path, monkeypatch):
    file, before = tmp_path / "secrets.toml", get_option("secrets.files")
    set_option("secrets.files", [str(file)])
    if asked.startswith("QAFD"):
        monkeypatch.setenv(asked, "")
    else:
        file.write_text(ACCOUNTS if asked == "secrets" else "[auth")
    app = AppTest.from_file(str(Path(__file__).parents[1] / "app.py"), default_timeout=60).run()
    set_option("secrets.files", before)
    assert len(app.error) == 1
    assert not app.sidebar
    assert not list(home.glob("*.db"))


def test_a_public_host_without_password_is_refused_or_warned_of(tmp_path):
    def start(*more, **env):
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
def guarded(tmp_path_factory):
    home = tmp_path_factory.mktemp("guarded")
    with served(("qafd", "demo", "--port"), home, QAFD_HOME=str(home),
                QAFD_PASSWORD=PASSWORD) as url:
        yield url


@pytest.mark.browser
def test_a_running_app_answers_nothing_before_the_password(guarded):
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
def test_a_link_is_opened_after_signing_in_and_stays_open(browser, guarded):
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
    other.goto(f"{guarded}/settings?group=This+app")
    other.get_by_role("link", name="Sign out").click()
    other.get_by_label("Password").wait_for()
    view.reload()
    view.get_by_label("Password").wait_for()
    context.close()
