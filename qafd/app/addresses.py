"""The script in the head of every page: the address of the app, and its history."""

import json
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qafd.app.pages import FIRST, PAGES
from qafd.resources import assets


class Addresses:
    """ASGI middleware for links into the app.

    Streamlit's script takes /compare for the folder of another app and asks there first, which
    logs a 404 in the console. The added script names the app's address and avoids this. The first
    page has no address of its own: a link to it redirects to the root.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        names = "|".join(map(re.escape, PAGES))
        place = f"location.pathname.replace(/\\/(?:{names})\\/?$/, {json.dumps('/')})"
        history = (assets() / "history.js").read_text(encoding="utf-8")
        self._script = (f"<script>window.__streamlit={{BACKEND_BASE_URL:location.origin+{place}}}\n"
                        f"{history}</script>").encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the app's address to a page."""
        name = scope.get("path", "").rstrip("/").rpartition("/")[2]
        if scope["type"] != "http" or name and name not in PAGES:
            await self._app(scope, receive, send)
        elif name == FIRST:
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
        """Return a sender that adds the script to pages, and sends everything else unchanged."""
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
            page = bytes(body).replace(b"<head>", b"<head>" + self._script, 1)
            headers = MutableHeaders(scope=start)
            del headers["etag"]
            headers["content-length"] = str(len(page))
            await send(start)
            await send({"type": "http.response.body", "body": page})

        return send_page


def _is_page(message: Message) -> bool:
    kind = Headers(raw=message.get("headers", [])).get("content-type", "")
    return message["status"] == 200 and kind.startswith("text/html")
