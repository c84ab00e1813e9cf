"""The shared password of an app that a team uses: without it no route answers.

It stands before Streamlit, not in a page: pages, their websocket, uploads, media, components and
static files all come after it, so nothing of a workspace is computed for a stranger.
"""

import hashlib
import hmac
import html
import os
import secrets
import time
from collections.abc import Callable
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
from qafd.wording import count_words

VARIABLE = "QAFD_PASSWORD"
FILE_VARIABLE = "QAFD_PASSWORD_FILE"
COOKIE = "qafd_signed_in"
KNOWN_COOKIE = "qafd_known"
SIGN_OUT = "/sign-out"
OPEN = "/_stcore/health"  # says that the server runs, for those who watch it
LONGEST = 4096  # bytes of what a form may send
FREE = 5  # wrong tries of one network, after which its next has to wait
FREE_IN_ALL = 100  # wrong tries of all networks, after which those of new browsers have to wait
MOST = 60.0  # seconds that a try waits at most for those of its network
MOST_IN_ALL = 2.0  # and for those of others
FORGOTTEN = 3600.0  # seconds without a wrong try, after which tries are counted anew
REMEMBERED = 10_000  # networks whose wrong tries are remembered
YEAR = 365 * 24 * 3600
IN_ALL = "in all"
HEADERS = {
    "cache-control": "no-store", "x-frame-options": "DENY", "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin", "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"}
active = False  # whether this process asks for the password


def password() -> str | None:
    """The password of the environment, taken out of it: no child process is to know it.

    Raises
    ------
    ParameterError
        The file that QAFD_PASSWORD_FILE names cannot be read or has no password.
    """
    typed = os.environ.pop(VARIABLE, None)
    file = os.environ.pop(FILE_VARIABLE, None)
    if not file:
        return typed or None
    try:
        words = Path(file).read_text("utf-8").strip("\r\n")
    except (OSError, ValueError) as error:
        raise ParameterError(f"the password file {file} cannot be read ({error})") from error
    if not words:
        raise ParameterError(f"the password file {file} is empty; write the password into it")
    return words


def is_unasked() -> bool:
    """Whether a password is set, and this server was started so that nobody asks for it."""
    return bool(os.environ.get(VARIABLE) or os.environ.get(FILE_VARIABLE))


@dataclass
class _Tries:
    """Wrong tries of one network, and the moments of the last one and of the next allowed."""

    wrong: int = 0
    last: float = 0.0
    until: float = 0.0


class PasswordGate:
    """ASGI middleware that asks for a password once per browser session.

    Parameters
    ----------
    app : ASGI application
    password : str
        Not empty.
    clock : callable
        Seconds that never go back.

    A session is a signed random id in a cookie that scripts cannot read; it ends with the browser,
    the server, or `SIGN_OUT`, which ends its websockets too. After five wrong tries a network (an
    address, or the first 64 bits of one of IPv6) waits 1, 2, 4, ... 60 seconds before the next one
    is looked at, and after 100 wrong tries in all so do all networks together, up to 2 seconds. A
    browser that has signed in before has a second signed cookie and waits for its own wrong tries
    only, so nobody else can lock it out. Behind a proxy on this machine the address is the one that
    X-Forwarded-For names: the proxy has to write it, not to pass it on.
    """

    def __init__(self, app: ASGIApp, password: str,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._clock = app, clock
        self._expected = _digest(password)
        self._sessions = URLSafeSerializer(secrets.token_bytes(32), COOKIE)
        # Another server with this password, or this one started anew, knows its browsers.
        key = hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=b"qafd known browser",
                             n=2**14, r=8, p=1)
        self._browsers = URLSafeSerializer(key, KNOWN_COOKIE)
        self._open: set[str] = set()
        self._tries: dict[str, _Tries] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        session = _signed(self._sessions, _cookies(scope).get(_name(COOKIE, scope)))
        asked = scope["type"], scope["path"]
        if asked == ("http", SIGN_OUT):
            self._open.discard(session)
            answer: Response = RedirectResponse("/", 303)
            answer.delete_cookie(_name(COOKIE, scope), httponly=True, samesite="lax")
            await answer(scope, receive, send)
        elif session in self._open:
            await self._app(scope, partial(self._received, session, receive), send)
        elif asked == ("http", OPEN):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["method"] == "POST":
            await self._answer(scope, await _body(receive))(scope, receive, send)
        else:
            await _ask(401)(scope, receive, send)

    async def _received(self, session: str, receive: Receive) -> Message:
        """What a session sends next; a websocket of one that was signed out is over."""
        message = await receive()
        if session in self._open or not message["type"].startswith("websocket."):
            return message
        return {"type": "websocket.disconnect", "code": 1008}

    def _answer(self, scope: Scope, body: bytes | None) -> Response:
        """Sign in, or say why not."""
        browser = _signed(self._browsers, _cookies(scope).get(_name(KNOWN_COOKIE, scope)))
        counted = [f"browser {browser}"] if browser else [_network(scope), IN_ALL]
        now = self._clock()
        wait = max(self._tries_of(one, now).until for one in counted) - now
        if wait > 0:
            return _ask(429, count_words(
                ceil(wait), "Too many wrong tries: wait {number} second.",
                "Too many wrong tries: wait {number} seconds."))
        if body is None or not hmac.compare_digest(_digest(_given(body)), self._expected):
            for one in counted:
                self._count(one, now)
            return _ask(401, "This is not the password.")
        self._tries.pop(counted[0], None)
        session = secrets.token_urlsafe(32)
        self._open.add(session)
        # One slash: "//host" would be another host.
        place = "/" + quote(scope["path"].lstrip("/\\"))
        query = scope["query_string"].decode("latin-1")
        answer = RedirectResponse(f"{place}?{query}" if query else place, 303, HEADERS)
        put = partial(answer.set_cookie, httponly=True, samesite="lax",
                      secure=scope["scheme"] in ("https", "wss"))
        put(_name(COOKIE, scope), self._sessions.dumps(session))
        put(_name(KNOWN_COOKIE, scope), self._browsers.dumps(browser or secrets.token_urlsafe(16)),
            max_age=YEAR)
        return answer

    def _tries_of(self, one: str, now: float) -> _Tries:
        tries = self._tries.get(one, _Tries())
        return _Tries() if now - tries.last > FORGOTTEN else tries

    def _count(self, one: str, now: float) -> None:
        """Count a wrong try of a network or browser, or of all."""
        if one not in self._tries and len(self._tries) >= REMEMBERED:
            del self._tries[next(name for name in self._tries if name != IN_ALL)]
        wrong = self._tries_of(one, now).wrong + 1
        beyond = wrong - (FREE_IN_ALL if one == IN_ALL else FREE)
        most = MOST_IN_ALL if one == IN_ALL else MOST
        wait = min(2.0 ** min(beyond, 10), most) if beyond >= 0 else 0.0
        self._tries[one] = _Tries(wrong, now, now + wait)


def _digest(text: str) -> bytes:
    """Of equal length for all texts, so that comparing takes the same time."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _given(body: bytes) -> str:
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return fields.get("password", [""])[0]


def _signed(serializer: URLSafeSerializer, cookie: str | None) -> str:
    """What a cookie of ours says, "" for none and for one that somebody else made."""
    try:
        return str(serializer.loads(cookie or ""))
    except BadSignature:
        return ""


def _network(scope: Scope) -> str:
    """Where a request comes from: an address, or the 64 bits that one house has of IPv6."""
    address = (scope.get("client") or ("",))[0]
    try:
        version = ip_address(address).version
        return str(ip_network((address, 64), strict=False)) if version == 6 else address
    except ValueError:
        return str(address)


def _cookies(scope: Scope) -> dict[str, str]:
    return Request({**scope, "type": "http"}).cookies


def _name(cookie: str, scope: Scope) -> str:
    """Browsers send the cookies of all ports of a host, where another app may listen."""
    return f"{cookie}_{scope['server'][1]}"


async def _body(receive: Receive) -> bytes | None:
    """What a form sent; None when it is longer than a form is, or was broken off."""
    body = b""
    while len(body) <= LONGEST:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body if len(body) <= LONGEST else None
    return None


def _ask(status: int, wrong: str = "") -> Response:
    """The form that asks for the password; it sends to its own address, with its query."""
    form = _form()
    for place, words in (("PASSWORD", "Password of this app"), ("BUTTON", "Sign in"),
                         ("WRONG", wrong)):
        form = form.replace(place, html.escape(words))
    return HTMLResponse(form, status, HEADERS)


@cache
def _form() -> str:
    return (assets() / "sign-in.html").read_text("utf-8")
