"""Compression of the app's scripts and styles, which are most of a first visit's bytes."""

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

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
