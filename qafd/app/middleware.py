"""ASGI middleware around Streamlit: own host names, headers, compression, and the address of the app."""

import json
import re
import socket
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qafd.resources import assets

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
WRONG_NAME = ("This server does not answer under this host name. Start it with --name and the name that "
              "visitors use.")


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


# Streamlit's page has an inline script, its styles are inline, and its components are blobs. No
# chart of the app compiles functions, as those of Vega and WebGL would.
_POLICY = (
    "default-src 'self'", "script-src 'self' 'unsafe-inline' blob:",
    "style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:", "font-src 'self' data:",
    "media-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'",
    "base-uri 'self'", "form-action 'self'")


class SafeHeaders:
    """ASGI middleware that adds the headers to every answer that does not have them.

    Parameters
    ----------
    app : ASGI application
    frames : str
        The origin of another site that may show the app in a frame, "" for none.
    """

    def __init__(self, app: ASGIApp, frames: str = "") -> None:
        self._app, self._frames = app, frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its answer."""
        async def add_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = list(message.get("headers", ()))
                names = {bytes(name).lower() for name, _ in present}
                message = {**message, "headers": present + [
                    header for header in self._headers(scope) if header[0] not in names]}
            await send(message)

        await self._app(scope, receive, add_headers if scope["type"] == "http" else send)

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        # Not every browser counts websockets as 'self'.
        sockets = f" ws://{host} wss://{host}" if re.fullmatch(r"[\w.:\[\]-]+", host) else ""
        policy = "; ".join((*_POLICY, f"connect-src 'self'{sockets}",
                            f"frame-ancestors 'self' {self._frames}".rstrip()))
        headers = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
                   "content-security-policy": policy}
        if not self._frames:
            headers["x-frame-options"] = "SAMEORIGIN"
        return [(name.encode(), value.encode("ascii")) for name, value in headers.items()]


ENDINGS = (".js", ".css", ".svg", ".json")
LEVEL = 6  # the highest takes three times as long for 1 % less


class Compression:
    """ASGI middleware that compresses files, but neither pages nor a visitor's input.

    A compressed answer that has both a secret and text of a stranger could give the secret away by
    its length. Fonts and pictures are compressed already.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._compressed = app, GZipMiddleware(app, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; compress a file that gets smaller by it."""
        file = scope["type"] == "http" and scope["path"].endswith(ENDINGS)
        await (self._compressed if file else self._app)(scope, receive, send)


ICONS = "MaterialSymbols-Rounded."
_PRELOADED_FONT = re.compile(rb'<link\s+rel="preload"[^>]*\sas="font"[^>]*>')


class Addresses:
    """ASGI middleware for links into the app.

    Streamlit's script takes /compare for the folder of another app and asks there first, which
    logs a 404 in the console. The added script names the app's address and avoids this. The first
    page has no address of its own: a link to it redirects to the root.

    On a slow line fonts would hold up the scripts that draw the first picture. So the font of icons, with
    4,000 of which the app uses 100, is replaced by `assets/icons.woff2`, and the font of the text is
    loaded when the first text needs it.

    Parameters
    ----------
    app : ASGI application
    pages : sequence of str
        Their names, that of the first page first.
    """

    def __init__(self, app: ASGIApp, pages: Sequence[str]) -> None:
        self._app, self._pages = app, pages
        names = "|".join(map(re.escape, pages))
        place = f"location.pathname.replace(/\\/(?:{names})\\/?$/, {json.dumps('/')})"
        history = (assets() / "history.js").read_text(encoding="utf-8")
        self._script = (f"<script>window.__streamlit={{BACKEND_BASE_URL:location.origin+{place}}}\n"
                        f"{history}</script>").encode()
        self._skeleton = (assets() / "skeleton.html").read_bytes()
        # The name has Streamlit's version and not ours: browsers have to ask again.
        self._icons = FileResponse(assets() / "icons.woff2", headers={"cache-control": "no-cache"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the app's address and a skeleton to a page."""
        name = scope.get("path", "").rstrip("/").rpartition("/")[2]
        if scope["type"] == "http" and name.startswith(ICONS):
            await self._icons(scope, receive, send)
        elif scope["type"] != "http" or name and name not in self._pages:
            await self._app(scope, receive, send)
        elif name == self._pages[0]:
            query = scope.get("query_string", b"").decode("latin-1")
            up = "../" if scope["path"].endswith("/") else "./"
            await RedirectResponse(f"{up}?{query}" if query else up, 307)(scope, receive, send)
        else:
            # A compressed page, or one in the browser's cache, cannot be changed.
            headers = MutableHeaders(raw=list(scope["headers"]))
            for name in ("accept-encoding", "if-none-match", "if-modified-since"):
                del headers[name]
            await self._app({**scope, "headers": headers.raw}, receive, self._add_script(send))

    def _add_script(self, send: Send) -> Send:
        """Return a sender that adds script and skeleton to pages, and sends everything else unchanged."""
        start: Message = {}
        body = bytearray()

        async def send_page(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
                return
            if not start or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            page = _PRELOADED_FONT.sub(b"", bytes(body))
            page = page.replace(b"<head>", b"<head>" + self._script, 1)
            # React puts the app in its place; the script that does so takes seconds on a slow line.
            page = page.replace(b'<div id="root">', b'<div id="root">' + self._skeleton, 1)
            headers = MutableHeaders(scope=start)
            del headers["etag"]
            headers["content-length"] = str(len(page))
            await send(start)
            await send({"type": "http.response.body", "body": page})

        return send_page


def _is_page(message: Message) -> bool:
    kind = Headers(raw=message.get("headers", [])).get("content-type", "")
    return message["status"] == 200 and kind.startswith("text/html")
