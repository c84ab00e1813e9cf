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
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import parse_qs, quote

import streamlit as st

from qafd.view.panel import counted

VARIABLE = "QAFD_PASSWORD"
COOKIE = "qafd_signed_in"
SIGN_OUT = "/sign-out"
OPEN = "/_stcore/health"  # says that the server runs, for those who watch it
LONGEST = 4096  # bytes of what a form may send
FREE = 5  # wrong tries, after which the next has to wait
MOST = 60.0  # seconds that it waits at most
KNOWN = 10_000  # addresses whose wrong tries are remembered
active = False  # whether this process asks for the password

Scope = dict[str, Any]
Receive = Callable[[], Any]
Send = Callable[[dict[str, Any]], Any]


def password() -> str | None:
    """The password of the environment, taken out of it: no child process is to know it."""
    return os.environ.pop(VARIABLE, None) or None


def refuse_unasked() -> None:
    """Stop a page when a password is set and this server was started so that nobody asks for it."""
    if os.environ.get(VARIABLE):
        st.error(f"{VARIABLE} is set, and this server does not ask for it: start it with "
                 "'qafd app' instead of 'streamlit run'.")
        st.stop()


def signing_settings() -> None:
    """Whether visitors are asked for a password, and the way out."""
    st.subheader("Access")
    if active:
        st.write("Visitors are asked for the shared password; it is kept until the browser closes.")
        st.html(f"<a href='{SIGN_OUT}' target='_self'>Sign out</a>")
    else:
        st.caption(f"Whoever reaches this address can use the app. Set {VARIABLE} before "
                   "'qafd app' to ask for a shared password.")


@dataclass
class _Tries:
    wrong: int = 0
    until: float = 0.0


class Gate:
    """ASGI middleware that asks for a password once per browser session.

    Parameters
    ----------
    app : ASGI application
    password : str
        Not empty.
    clock : callable
        Seconds that never go back.

    A session is a random token in a cookie that scripts cannot read; it ends with the browser, the
    server, or `SIGN_OUT`, which ends its websockets too. After five wrong tries an address waits
    1, 2, 4, ... 60 seconds before the next one is looked at. Behind a proxy on this machine the
    address is the one that X-Forwarded-For names: the proxy has to write it, not to pass it on.
    """

    def __init__(self, app: Any, password: str, clock: Callable[[], float] = time.monotonic):
        self._app, self._clock = app, clock
        self._expected = _digest(password)
        self._tokens: set[str] = set()
        self._tries: dict[str, _Tries] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        token, asked = _token(scope), (scope["type"], scope["path"])
        if asked == ("http", SIGN_OUT):
            self._tokens.discard(token)
            await _redirect(send, "/", _cookie(scope, "", "; Max-Age=0"))
        elif token in self._tokens:
            await self._app(scope, partial(self._received, token, receive), send)
        elif asked == ("http", OPEN):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["method"] == "POST":
            await self._answer(scope, await _body(receive), send)
        else:
            await _ask(send, 401)

    async def _received(self, token: str, receive: Receive) -> dict[str, Any]:
        """What a session sends next; a websocket of one that was signed out is over."""
        message: dict[str, Any] = await receive()
        if token in self._tokens or not message["type"].startswith("websocket."):
            return message
        return {"type": "websocket.disconnect", "code": 1008}

    async def _answer(self, scope: Scope, body: bytes | None, send: Send) -> None:
        """Sign in, or say why not."""
        address = (scope.get("client") or ("",))[0]
        tries, now = self._tries.get(address, _Tries()), self._clock()
        if now < tries.until:
            seconds = counted(ceil(tries.until - now), "second")
            await _ask(send, 429, f"Too many wrong tries: wait {seconds}.")
        elif body is None or not hmac.compare_digest(_digest(_given(body)), self._expected):
            if address not in self._tries and len(self._tries) >= KNOWN:
                del self._tries[next(iter(self._tries))]
            wrong = tries.wrong + 1
            wait = min(2.0 ** (wrong - FREE), MOST) if wrong >= FREE else 0.0
            self._tries[address] = _Tries(wrong, now + wait)
            await _ask(send, 401, "This is not the password.")
        else:
            self._tries.pop(address, None)
            token = secrets.token_urlsafe(32)
            self._tokens.add(token)
            # One slash: "//host" would be another host.
            place = "/" + quote(scope["path"].lstrip("/\\"))
            query = scope["query_string"].decode("latin-1")
            await _redirect(send, f"{place}?{query}" if query else place, _cookie(scope, token))


def _digest(text: str) -> bytes:
    """Of equal length for all texts, so that comparing takes the same time."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _given(body: bytes) -> str:
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return fields.get("password", [""])[0]


def _token(scope: Scope) -> str:
    """The token of the session, "" without one."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            for part in value.decode("latin-1").split(";"):
                key, _, content = part.strip().partition("=")
                if key == _name(scope):
                    return str(content)
    return ""


def _name(scope: Scope) -> str:
    """Of the cookie: browsers send those of all ports of a host, where another app may listen."""
    return f"{COOKIE}_{scope['server'][1]}"


def _cookie(scope: Scope, token: str, more: str = "") -> str:
    secure = "; Secure" if scope["scheme"] in ("https", "wss") else ""
    return f"{_name(scope)}={token}; Path=/; HttpOnly; SameSite=Lax{secure}{more}"


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


async def _redirect(send: Send, place: str, cookie: str) -> None:
    await _reply(send, 303, b"", ("location", place), ("set-cookie", cookie))


async def _ask(send: Send, status: int, wrong: str = "") -> None:
    await _reply(send, status, FORM.replace("WRONG", html.escape(wrong)).encode())


async def _reply(send: Send, status: int, body: bytes, *headers: tuple[str, str]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in (
            ("content-type", "text/html; charset=utf-8"), ("content-length", str(len(body))),
            ("cache-control", "no-store"), ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"),
            ("content-security-policy",
             "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"), *headers)]})
    await send({"type": "http.response.body", "body": body})


# An empty action sends it to this very address, with its query.
FORM = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>QAFD Explorer</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center;
  font: 1rem/1.5 system-ui, sans-serif;
  color: light-dark(#23231f, #f0efea); background: light-dark(#fff, #161614); }
form { width: min(20rem, calc(100vw - 3rem)); display: grid; gap: .6rem; }
h1 { margin: 0 0 .4rem; font-size: 1.4rem; }
p { margin: 0; color: light-dark(#b3001e, #ff9aa8); }
p:empty { display: none; }
input, button { padding: .55rem .75rem; border-radius: .5rem; font: inherit; }
input { border: 1px solid #8888; color: inherit; background: light-dark(#f6f6f4, #211f1c); }
button { border: 0; cursor: pointer; color: light-dark(#fff, #161614);
  background: light-dark(#c9304a, #ff7f93); }
</style>
<form method="post" action="">
<h1>QAFD Explorer</h1>
<label for="password">Password of this app</label>
<input id="password" name="password" type="password" autocomplete="current-password"
  autofocus required>
<p role="alert">WRONG</p>
<button>Sign in</button>
</form>
</html>
"""
