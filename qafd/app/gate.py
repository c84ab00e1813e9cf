"""The gate before Streamlit: without a session no route answers.

Pages, websockets, uploads, media, components, static files and metrics are behind it, so nothing of
a workspace is computed for a stranger.
"""

import html
import secrets
from collections.abc import Mapping
from functools import cache, partial
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
