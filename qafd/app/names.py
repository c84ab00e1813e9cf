"""The host names under which the app answers, as a protection against DNS rebinding."""

import socket
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
WRONG_NAME = ("Nothing answers under this name here. Start the server with --name and the "
              "name that visitors use.")


class OwnNames:
    """ASGI middleware that answers under the names of the app only.

    A page of another site can make the name of its own site point at this machine and would then
    read the app in a visitor's browser. No name can do so to an address of digits: those pass.

    Parameters
    ----------
    app : ASGI application
    names : collection of str
        The names that visitors use, next to "localhost" and this machine's.
    any_name : bool
    True if every name passes, as behind a proxy of unknown name. Only an app that asks for
        a password may do so: the browser has no session of it under a stranger's name.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = (), any_name: bool = False) -> None:
        self._app, self._any = app, any_name
        self._given = {name.lower() for name in names}
        self._names = {"localhost", socket.gethostname().lower(), *self._given}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(raw=scope["headers"])
        host = _split(f"{scope.get('scheme', 'http')}://{headers.get('host', '')}")
        is_own = host is not None and self._is_own(host.hostname or "")
        if is_own and host and scope["type"] == "websocket":
            is_own = self._is_from_here(headers.get("origin"), host)
        if is_own:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await JSONResponse({"error": WRONG_NAME}, 421)(scope, receive, send)

    def _is_own(self, name: str) -> bool:
        return self._any or name.rstrip(".") in self._names or _is_digits(name)

    def _is_from_here(self, origin: str | None, host: SplitResult) -> bool:
        """Return True if a page of the app opened a websocket; only browsers name a page."""
        if origin is None:
            return True
        page = _split(origin)
        if page is None:
            return False
        # A proxy may name another host to the app than visitors do.
        return (page.hostname, _port(page)) == (host.hostname, _port(host, page.scheme)) \
            or page.hostname in self._given


def _split(address: str) -> SplitResult | None:
    """Split an address; None if it has no host or an invalid port."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  raises where there is none
    except ValueError:
        return None
    return parts if parts.hostname else None


def _port(parts: SplitResult, scheme: str = "") -> int | None:
    """Return the port of an address, else that of its scheme, which a proxy may have changed."""
    return parts.port or PORTS.get(scheme or parts.scheme)


def _is_digits(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True

