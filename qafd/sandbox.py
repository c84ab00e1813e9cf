"""A limited child process that reads untrusted files, and both ends of its pipe.

It has no secrets in its environment and loads only the named module of the package. Starting
Python takes longer than reading most files, so a `ForkServer` starts it once, and forks.
"""

import contextlib
import importlib
import io
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

# A bare package in place of qafd/__init__.py, which may import far more than a child needs.
_PACKAGE = """
import importlib, sys, types
package = types.ModuleType("qafd")
package.__path__ = [sys.argv[1]]
sys.modules["qafd"] = package
sys.path[:] = sys.argv[3:]
"""
_SERVE = _PACKAGE + "importlib.import_module('qafd.sandbox').serve(sys.argv[2])"
_ASKED = struct.Struct("<QQd")  # bytes of the request, most bytes of the reply, seconds
_ANSWERED = struct.Struct("<Qi?")  # bytes of the reply, code, late
_GRACE = 5.0  # seconds that a fork server has to end a child whose time is up
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True)
class ChildReply:
    """The reply of a child; `code` is minus the signal that ended it, `late` is True after a timeout."""

    content: bytes
    code: int
    late: bool


def ask(module: str, request: bytes, most: int, seconds: float) -> ChildReply:
    """Return the reply of a module's `main` to a request; the processes end with this call.

    Parameters
    ----------
    module : str
        A module that reads all of standard input before it writes, so that no pipe can block.
    most : int
        The largest reply in bytes.
    seconds : float
        The time limit.
    """
    with ForkServer(module) as server:
        return server.ask(request, most, seconds)


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Start processes inside the block that ignore Ctrl-C, which a terminal sends to all.

    Their parent receives it, and ends them or lets them finish.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # children inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ForkServer:
    """A process that has loaded a module and forks a child for every request.

    Each child is as fresh as the first and as alone, and starts in milliseconds. One request at a
    time; leaving the context ends it.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end()

    def ask(self, request: bytes, most: int, seconds: float) -> ChildReply:
        """See `qafd.sandbox.ask`."""
        if self._server is None:
            self._server = _start(_SERVE, self._module)
        asked = _ASKED.pack(len(request), most, seconds) + request
        head, late = _talk(self._server, asked, _ANSWERED.size, seconds + _GRACE)
        if len(head) < _ANSWERED.size:
            return ChildReply(b"", self._end(), late)
        size, code, late = _ANSWERED.unpack(head)
        assert self._server.stdout is not None
        content = self._server.stdout.read(size)
        if len(content) < size:
            self._end()
        return ChildReply(content, code, late)

    def _end(self) -> int:
        server, self._server = self._server, None
        return 0 if server is None else _end_child(server)


def _start(program: str, module: str) -> subprocess.Popen[bytes]:
    with deaf_to_interrupts():
        return subprocess.Popen(
            [sys.executable, "-I", "-c", program, str(Path(__file__).parent), module, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ})


def _talk(child: subprocess.Popen[bytes], request: bytes, most: int, seconds: float) -> tuple[bytes, bool]:
    """Return at most `most` bytes of a child's reply, and True after a timeout."""
    assert child.stdin is not None
    assert child.stdout is not None
    clock = threading.Timer(seconds, child.kill)
    clock.daemon = True
    clock.start()
    try:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(request)
            child.stdin.flush()
        return child.stdout.read(most), clock.finished.is_set()
    finally:
        clock.cancel()


def _end_child(child: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a child, which is killed."""
    child.kill()
    for pipe in (child.stdin, child.stdout):
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
    return child.wait()


def serve(module: str) -> None:
    """Answer requests as the process of a `ForkServer` until standard input ends."""
    importlib.import_module(module)
    with open(0, "rb", closefd=False) as requests, open(1, "wb", closefd=False) as replies:
        while len(head := requests.read(_ASKED.size)) == _ASKED.size:
            size, most, seconds = _ASKED.unpack(head)
            content, code, late = _fork(module, requests.read(size), most, seconds)
            replies.write(_ANSWERED.pack(len(content), code, late) + content)
            replies.flush()


def _fork(module: str, request: bytes, most: int, seconds: float) -> tuple[bytes, int, bool]:
    """Return the reply, exit code and lateness of a child that answers one request."""
    till = time.monotonic() + seconds
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            # It must not hear the other requests, nor write among the other replies.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writing, 1)
            os.closerange(3, 256)
            sys.stdin = io.TextIOWrapper(io.BytesIO(request))
            importlib.import_module(module).main()
        finally:
            os._exit(1)  # a module that ends by itself has left before
    os.close(writing)
    content, late = bytearray(), False
    while len(content) < most and not late:
        late = not select.select([reading], [], [], max(0.0, till - time.monotonic()))[0]
        part = b"" if late else os.read(reading, min(1 << 20, most - len(content)))
        if not part:
            break
        content += part
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return bytes(content), code, late


def limit(memory: int, seconds: int | None = None) -> None:
    """Let this process write no file and take so much memory (bytes) and computing time at most."""
    limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if seconds is not None:
        limits[resource.RLIMIT_CPU] = seconds
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (allowed, hard))
