"""A fresh process with limits, in which code may touch a stranger's bytes; both ends of its pipe.

It has no secrets in its environment and loads nothing of the package but what it names.
"""

import contextlib
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

# A bare package in place of qafd/__init__.py, which may import far more than a child needs.
_MAIN = """
import importlib, sys, types
package = types.ModuleType("qafd")
package.__path__ = [sys.argv[1]]
sys.modules["qafd"] = package
sys.path[:] = sys.argv[3:]
importlib.import_module(sys.argv[2]).main()
"""
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True)
class Reply:
    """What a child wrote; `code` is minus the signal that ended it, `late` that its time was up."""

    content: bytes
    code: int
    late: bool


def ask(module: str, request: bytes, most: int, seconds: float) -> Reply:
    """What `main` of a module writes when it reads a request; the child dies with this call.

    Parameters
    ----------
    module : str
        It reads all of standard input before it writes, so that no pipe can block both.
    most : int
        Bytes of the reply that are read.
    seconds : float
        Until it is killed, its start included.
    """
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", _MAIN, str(Path(__file__).parent), module, *sys.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ})
    assert child.stdin is not None
    assert child.stdout is not None
    clock = threading.Timer(seconds, child.kill)
    clock.daemon = True
    clock.start()
    try:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(request)
            child.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        content = child.stdout.read(most)
        late = clock.finished.is_set()
    finally:
        clock.cancel()
        child.kill()
        child.stdout.close()
        code = child.wait()
    return Reply(content, code, late)


def limit(memory: int, seconds: int | None = None) -> None:
    """Let this process write no file and take so much memory (bytes) and computing time at most."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is what remains
        return
    limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if seconds is not None:
        limits[resource.RLIMIT_CPU] = seconds
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (allowed, hard))
