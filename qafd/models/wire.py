"""HTTP with a deadline for every read and write, and only to allowed addresses.

The timeouts of HTTP clients restart with every byte, so that a dripping answer never ends. Here
each operation on the socket, including headers and TLS, gets only the time that the call has left.
A call also has a limit of bytes. A name is resolved once per connection, which then uses the
addresses that were checked.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import monotonic
from typing import Any

import httpcore2
import httpx2

from qafd.errors import ParameterError

Where = Callable[[str], Sequence[str]]


class CallLimits:
    """Limits of one call; `broken` is "", "time" or "size", `refused` the reason of a refusal.

    `heard` is True if anything was received since `on`.

    Parameters
    ----------
    seconds : float
        From now on.
    size : int
        Bytes that may be received.
    """

    def __init__(self, seconds: float, size: int) -> None:
        self.broken = self.refused = ""
        self.heard = False
        self._end, self._size = monotonic() + seconds, size

    @property
    def left(self) -> float:
        """Seconds that are left, >= 0."""
        return max(0.0, self._end - monotonic())

    @contextmanager
    def on(self) -> Iterator[None]:
        """Apply to everything that this thread sends and receives inside the block."""
        self.heard = False
        token = _LIMITS.set(self)
        try:
            yield
        finally:
            _LIMITS.reset(token)

    def timeout(self, asked: float | None = None) -> float:
        """Return the seconds for one operation on a socket; raises if none are left."""
        left = self.left
        if not left:
            self.broken = "time"
            raise httpcore2.ReadTimeout("the deadline has passed")
        return left if asked is None else min(left, asked)

    def count(self, size: int) -> None:
        """Count received bytes; raises if there are too many."""
        self.heard = self.heard or size > 0
        self._size -= size
        if self._size < 0:
            self.broken = "size"
            raise httpcore2.ReadError("the answer is too long")


_LIMITS: ContextVar[CallLimits] = ContextVar("limits")


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        limits = _LIMITS.get()
        received = self._stream.read(max_bytes, limits.timeout(timeout))
        limits.count(len(received))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _LIMITS.get().timeout(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None,
                  timeout: float | None = None) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(
            ssl_context, server_hostname, _LIMITS.get().timeout(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore2.SyncBackend):
    def __init__(self, where: Where) -> None:
        self._where = where

    def connect_tcp(self, host: str, port: int, timeout: float | None = None,
                    local_address: str | None = None,
                    socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
                    ) -> httpcore2.NetworkStream:
        limits = _LIMITS.get()
        try:
            places = self._where(host)
        except ParameterError as error:
            limits.refused = str(error)
            raise httpcore2.ConnectError(limits.refused) from None
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for place in places[:-1]:
            with suppress(httpcore2.ConnectError):
                return _Stream(super().connect_tcp(
                    place, port, limits.timeout(timeout), local_address, socket_options))
        return _Stream(super().connect_tcp(
            places[-1], port, limits.timeout(timeout), local_address, socket_options))


class BoundedTransport(httpx2.HTTPTransport):
    """The usual transport over sockets that obey the `CallLimits` and connect only where allowed."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            httpx2.create_ssl_context(), max_connections=None, max_keepalive_connections=20,
            keepalive_expiry=5.0, network_backend=_Backend(where))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; a compressed answer is refused, since it can expand to any size."""
        response = super().handle_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise httpx2.DecodingError("the answer is compressed although the request excludes that")
        return response


def bounded_client(seconds: float, where: Where) -> httpx2.Client:
    """Return a client that follows no redirect and asks for uncompressed answers.

    `where` maps a host to its allowed addresses, at least one. It raises ParameterError if there
    are none and OSError if the host is unknown.
    """
    return httpx2.Client(transport=BoundedTransport(where), follow_redirects=False, timeout=seconds,
                         headers={"Accept-Encoding": "identity"})
