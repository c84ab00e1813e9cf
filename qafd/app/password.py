"""The shared password of an app that a team uses."""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from math import ceil
from pathlib import Path
from urllib.parse import parse_qs

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qafd.app.gate import (
    Sessions,
    VisitorGate,
    cookie_name,
    is_encrypted,
    local_place,
    read_cookies,
    sign_in_page,
)
from qafd.errors import ParameterError

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


def is_wanted() -> bool:
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
