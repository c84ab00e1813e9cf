"""HTTP headers that limit the sources of a page, and the sites that may frame it."""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Streamlit's page has an inline script, its styles are inline, and its components are blobs. No
# chart of the app compiles functions, as those of Vega and WebGL would.
_POLICY = (
    "default-src 'self'", "script-src 'self' 'unsafe-inline' blob:",
    "style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:", "font-src 'self' data:",
    "media-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'",
    "base-uri 'self'", "form-action 'self'")


class Headers:
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
