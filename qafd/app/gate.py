"""The gate before Streamlit: without a session no route answers; sessions open by a shared password."""

import hashlib
import hmac
import html
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import ip_address, ip_network
from math import ceil
from pathlib import Path
from urllib.parse import parse_qs, quote

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qafd.errors import ParameterError
from qafd.resources import assets

COOKIE = "qafd_signed_in"
SIGN_OUT = "/sign-out"
HEALTH = "/_stcore/health"  # reports that the server runs, for monitoring
HEADERS = {
    "cache-control": "no-store", "x-frame-options": "DENY", "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin", "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"}


class Sessions:
    """The open sessions of a server, in memory; they end with the server or by signing out."""

    def __init__(self) -> None:
        self._people: dict[str, str] = {}

    def open(self, person: str) -> str:
        """Open a session and return its random id."""
        session = secrets.token_urlsafe(32)
        self._people[session] = person
        return session

    def close(self, session: str) -> None:
        self._people.pop(session, None)

    def __contains__(self, session: str) -> bool:
        return session in self._people

    def person_of(self, cookies: Mapping[str, str]) -> str | None:
        """Return the person of the session that cookies name, None without one."""
        found = [self._people[value] for name, value in cookies.items()
                 if name.startswith(COOKIE) and value in self._people]
        return found[0] if found else None


class VisitorGate:
    """ASGI middleware that passes on requests of open sessions only.

    Parameters
    ----------
    app : ASGI application
    sessions : Sessions
        The cookie with a session's id is hidden from scripts and ends with the browser.

    `admit` of a subclass answers everybody else. Signing out also ends a session's websockets.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        session = read_cookies(scope).get(cookie_name(COOKIE, scope), "")
        if scope["type"] != "http" and session not in self._sessions:
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http" and scope["path"] == SIGN_OUT:
            self._sessions.close(session)
            answer = await self.sign_out()
            answer.delete_cookie(cookie_name(COOKIE, scope), httponly=True, samesite="lax")
            await answer(scope, receive, send)
        elif session in self._sessions:
            await self._app(scope, partial(self._receive, session, receive), send)
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
        else:
            await self.admit(scope, receive, send)

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has no session."""
        raise NotImplementedError

    async def sign_out(self) -> Response:
        """Return the answer to a person who signs out."""
        return RedirectResponse("/", 303)

    def enter(self, scope: Scope, person: str, place: str, secure: bool = False) -> Response:
        """Open a session for a person and redirect to a place in the app."""
        answer = RedirectResponse(place, 303, HEADERS)
        answer.set_cookie(cookie_name(COOKIE, scope), self._sessions.open(person), httponly=True,
                          samesite="lax", secure=secure or is_encrypted(scope))
        return answer

    async def _receive(self, session: str, receive: Receive) -> Message:
        """Return the next message of a session; a websocket closes when the session ends."""
        message = await receive()
        if session in self._sessions or not message["type"].startswith("websocket."):
            return message
        return {"type": "websocket.disconnect", "code": 1008}


def local_place(path: str, query: str) -> str:
    """Return a place in this app; "//host" would be another host."""
    place = "/" + quote(path.lstrip("/\\"))
    return f"{place}?{query}" if query else place


def is_encrypted(scope: Scope) -> bool:
    return scope["scheme"] in ("https", "wss")


def read_cookies(scope: Scope) -> dict[str, str]:
    return Request({**scope, "type": "http"}).cookies


def cookie_name(cookie: str, scope: Scope) -> str:
    """Return a cookie's name with the port: browsers send the cookies of all ports of a host."""
    return f"{cookie}_{scope['server'][1]}"


def sign_in_page(status: int, fields: str, message: str = "") -> Response:
    """Build the page that asks a visitor to sign in."""
    page = _template().replace("FIELDS", fields).replace("MESSAGE", html.escape(message))
    return HTMLResponse(page, status, HEADERS)


@cache
def _template() -> str:
    return (assets() / "sign-in.html").read_text("utf-8")


VARIABLE = "QAFD_PASSWORD"
FILE_VARIABLE = "QAFD_PASSWORD_FILE"
KNOWN_COOKIE = "qafd_known"
LONGEST = 4096  # bytes of a form
FREE = 5  # wrong tries of one network before the next one has to wait
MOST = 60.0  # the longest wait in seconds
FORGOTTEN = 3600.0  # seconds without a wrong try after which the count restarts
REMEMBERED = 10_000  # networks whose wrong tries are remembered
YEAR = 365 * 24 * 3600
FIELDS = """<form method="post" action="">
<label for="password">Password of this app</label>
<input id="password" name="password" type="password" autocomplete="current-password"
  autofocus required>
<p role="alert">MESSAGE</p>
<button>Sign in</button>
</form>"""


def wants_password() -> bool:
    """Return True if the environment sets a password, even an unreadable one."""
    return VARIABLE in os.environ or FILE_VARIABLE in os.environ


def take_password() -> str | None:
    """Remove the password from the environment, so that child processes do not see it.

    Raises
    ------
    ParameterError
        The password is empty, or the file that QAFD_PASSWORD_FILE names cannot be read.
    """
    password = os.environ.pop(VARIABLE, None)
    file = os.environ.pop(FILE_VARIABLE, None)
    source = VARIABLE
    if file is not None:
        source = f"the password file {file!r}"
        try:
            password = Path(file).read_text("utf-8").strip("\r\n")
        except (OSError, ValueError) as error:
            raise ParameterError(f"{source} cannot be read ({error})") from error
    if password is not None and not password.strip():
        raise ParameterError(f"{source} is empty; write a password into it, or unset it to start "
                             "without a login")
    return password


@dataclass
class _Tries:
    """Wrong tries of one network, and the moments of the last one and of the next allowed."""

    wrong: int = 0
    last: float = 0.0
    until: float = 0.0


class PasswordGate(VisitorGate):
    """ASGI middleware that asks for a password once per browser session.

    Parameters
    ----------
    app : ASGI application
    sessions : Sessions
    password : str
        Not empty.
    clock : callable
        A clock in seconds that never goes back.

    After five wrong tries a network (an address, or the first 64 bits of an IPv6 address) waits 1,
    2, 4, ... 60 seconds before its next try is checked. Tries of other networks do not count. A
    browser that signed in before has a signed cookie and waits for its own wrong tries only, so
    nobody else in its network can lock it out. Behind a proxy on this machine the address is the
    one in X-Forwarded-For: the proxy must write this header, not pass it on.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, password: str,
                 clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(app, sessions)
        self._clock = clock
        self._expected = _digest(password)
        # The key depends only on the password, so known browsers survive a restart.
        key = hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=b"qafd known browser",
                             n=2**14, r=8, p=1)
        self._browsers = URLSafeSerializer(key, KNOWN_COOKIE)
        self._tries: dict[str, _Tries] = {}

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Show the form, or check the password that it sent."""
        if scope["method"] == "POST":
            answer = self._check(scope, await _read_form(receive))
        else:
            answer = sign_in_page(401, FIELDS)
        await answer(scope, receive, send)

    def _check(self, scope: Scope, body: bytes | None) -> Response:
        """Sign in with the right password; count a wrong one."""
        known = cookie_name(KNOWN_COOKIE, scope)
        browser = self._read_browser(read_cookies(scope).get(known, ""))
        source = f"browser {browser}" if browser else _network(scope)
        now = self._clock()
        wait = self._tries_of(source, now).until - now
        if wait > 0:
            seconds = ceil(wait)
            return sign_in_page(429, FIELDS, "Too many wrong tries: wait "
                                f"{seconds} second{'s' if seconds > 1 else ''}.")
        if body is None or not hmac.compare_digest(_digest(_password_in(body)), self._expected):
            self._count(source, now)
            return sign_in_page(401, FIELDS, "This is not the password.")
        self._tries.pop(source, None)
        answer = self.enter(
            scope, "", local_place(scope["path"], scope["query_string"].decode("latin-1")))
        answer.set_cookie(known, str(self._browsers.dumps(browser or secrets.token_urlsafe(16))),
                          max_age=YEAR, httponly=True, samesite="lax", secure=is_encrypted(scope))
        return answer

    def _read_browser(self, cookie: str) -> str:
        """Return the id in a cookie that this server signed, "" for any other."""
        try:
            return str(self._browsers.loads(cookie))
        except BadSignature:
            return ""

    def _tries_of(self, source: str, now: float) -> _Tries:
        tries = self._tries.get(source, _Tries())
        return _Tries() if now - tries.last > FORGOTTEN else tries

    def _count(self, source: str, now: float) -> None:
        """Count a wrong try of a network or browser."""
        if source not in self._tries and len(self._tries) >= REMEMBERED:
            del self._tries[next(iter(self._tries))]
        wrong = self._tries_of(source, now).wrong + 1
        beyond = wrong - FREE
        wait = min(2.0 ** min(beyond, 10), MOST) if beyond >= 0 else 0.0
        self._tries[source] = _Tries(wrong, now, now + wait)


def _digest(text: str) -> bytes:
    """Hash a text, so that comparing takes the same time for all."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _password_in(body: bytes) -> str:
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return fields.get("password", [""])[0]


def _network(scope: Scope) -> str:
    """Return the address of a client, or its first 64 bits (one household) for IPv6."""
    address = (scope.get("client") or ("",))[0]
    try:
        version = ip_address(address).version
        return str(ip_network((address, 64), strict=False)) if version == 6 else address
    except ValueError:
        return str(address)


async def _read_form(receive: Receive) -> bytes | None:
    """Read a form; return None if it is longer than `LONGEST` or was broken off."""
    body = b""
    while len(body) <= LONGEST:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body if len(body) <= LONGEST else None
    return None
