"""The child process: one request on standard input, one reply on standard output."""

import contextlib
import importlib
import json
import os
import sys
from typing import Any

from qafd.errors import ParseError
from qafd.formats import Limits, read

_FORBIDDEN = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.chown", "os.truncate", "shutil.", "urllib.",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Answer a JSON line {"name", "limits"} followed by the file's bytes.

    The reply is {"documents", "notices"} or {"error"}.
    """
    request = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**request["limits"])
    data = sys.stdin.buffer.read()
    # Loaded before writing is forbidden, so that Python can keep their compiled form.
    if b"%PDF-" in data[:1024]:
        importlib.import_module("pypdf")
    elif data.startswith(b"PK") or b"<" in data[:4096]:
        importlib.import_module("lxml.etree")
    confine(limits)
    sys.stdout.buffer.write(answer(request["name"], data, limits))
    sys.stdout.buffer.flush()
    os._exit(0)


def answer(name: str, data: bytes, limits: Limits) -> bytes:
    """The encoded reply to a file."""
    reply: dict[str, Any]
    try:
        drafts, notices = read(name, data, limits)
        documents = [
            {"name": d.name, "title": d.title, "kind": d.kind, "text": d.text, "marks": d.marks}
            for d in drafts
        ]
        return _encoded({"documents": documents, "notices": notices})
    except ParseError as error:
        reply = {"error": str(error)}
    except MemoryError:
        reply = {
            "error": f"Reading the file takes more than {limits.memory_bytes >> 20} MB of memory; "
            "split it or save it in a simpler form."
        }
    except Exception as error:  # noqa: BLE001 parsers raise nearly every type on damaged files
        reply = {
            "error": f"The file is damaged ({type(error).__name__}); open it in the program it "
            "comes from, save it again and retry."
        }
    return _encoded(reply)


def _encoded(reply: dict[str, Any]) -> bytes:
    return json.dumps(reply, ensure_ascii=False).encode()


def confine(limits: Limits) -> None:
    """Take away from this process what a parser does not need, as far as the system can."""
    sys.addaudithook(_refuse)
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is what remains
        return
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (allowed, hard))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN) or (event == "open" and _writes(arguments[2])):
        raise PermissionError(f"a parser may not {event}")


def _writes(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & _WRITING)
