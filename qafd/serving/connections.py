"""Connections of our servers: a time limit for each request, and a bound on their number."""

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

UPLOADS = "/_stcore/upload_file/"  # of Streamlit


class PatientConnection(H11Protocol):
    """A connection that closes when its next request is not whole in time.

    `head`, `body` and `upload` are seconds for the parts of a request; an upload is a body that goes to
    `UPLOADS`. A body that was answered before it came has the time of a head. Beyond `most`
    connections, those of websockets included, new ones are refused.
    """

    head = 10.0
    body = 10.0
    upload = 600.0  # a large file over a slow line
    most = 200
    _limit: asyncio.TimerHandle | None = None
    _awaited = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse("503 Service Unavailable", f"{self.most} connections are open; ask again later")
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no request, as all else is refused: in JSON."""
        self._refuse("400 Bad Request", f"this is no HTTP request ({msg})")

    def _refuse(self, status: str, sentence: str) -> None:
        body = json.dumps({"error": sentence}).encode()
        self.transport.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: "
                             f"{len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._wait_for("")

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Run the clock only while a part of a request is awaited."""
        if self.transport.get_protocol() is not self:  # a websocket by now
            self._wait_for("")
        elif self.cycle is None or self.cycle.response_complete:
            self._wait_for("head")
        elif self.cycle.more_body:
            self._wait_for("upload" if self.scope["path"].startswith(UPLOADS) else "body")
        else:
            self._wait_for("")

    def _wait_for(self, part: str) -> None:
        if part == self._awaited:
            return
        if self._limit is not None:
            self._limit.cancel()
        self._awaited = part
        self._limit = self.loop.call_later(getattr(self, part), self.transport.close) if part else None


class AppConnection(PatientConnection):
    """A connection of the app, whose tabs each hold one for as long as they are open."""

    most = 800
