"""The child process: one request on standard input, one reply on standard output."""

import base64
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from qafd.errors import ParseError
from qafd.reading.formats import Limits, read, read_grids
from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.graphs import read_graph_files
from qafd.reading.formats.pdf import draw_page
from qafd.reading.text import cut
from qafd.records import Assertion, Description, Document, Mark, Mention
from qafd.sandbox import limit

_FORBIDDEN = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.chown", "os.truncate", "shutil.", "urllib.",
)  # fmt: skip
_READERS = {  # modules and the bytes of files that they read
    "docx": (b"word/document.xml",), "openpyxl": (b"xl/workbook.xml",), "pptx": (b"ppt/presentation.xml",),
    "lxml.etree": (b"<", b"\n#", b"\n=", b".. "),
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Answer a JSON line {"name", "limits"} followed by the file's bytes.

    The reply is {"documents", "notices"} or {"error"}, one sentence. With "sizes",
    those of the files that follow one another, it is {"graph"}, in node-link JSON; with "page" and
    "quotes" it is {"image"}, that page of a PDF as PNG in base64; with "tables" it is {"tables"}, the name,
    the columns and the rows of each.
    """
    request = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**request["limits"])
    data = sys.stdin.buffer.read()
    os.environ["OPENPYXL_DEFUSEDXML"] = "False"  # twice as slow; `repack` refuses entities
    # Loaded before writing is forbidden, so that Python can keep their compiled form.
    if "sizes" in request and b"PAR1" in data:
        importlib.import_module("pyarrow.parquet")
    if "page" in request:
        importlib.import_module("pypdfium2")
        importlib.import_module("PIL.Image").init()
    elif b"%PDF-" in data[:1024]:
        importlib.import_module("pypdfium2")
    for module, marks in _READERS.items():
        if any(mark in data for mark in marks):
            importlib.import_module(module)
    confine(limits)
    if "page" in request:
        reply = answer_page(data, request["page"], request["quotes"], limits)
    elif "sizes" in request:
        reply = answer_graph(list(_cut(data, request["sizes"])), limits)
    elif "tables" in request:
        reply = answer_tables(request["name"], data, limits)
    else:
        reply = answer(request["name"], data, limits)
    sys.stdout.buffer.write(reply)
    sys.stdout.buffer.flush()
    os._exit(0)


def answer(name: str, data: bytes, limits: Limits) -> bytes:
    """Return the encoded reply to a file."""
    def documents() -> dict[str, Any]:
        drafts, notices = read(name, data, limits)
        return {"documents": list(map(_document, drafts)), "notices": notices}
    return _guard(documents, limits)


def answer_graph(files: Sequence[bytes], limits: Limits) -> bytes:
    """Return the encoded reply to files that hold a graph together."""
    return _guard(lambda: {"graph": read_graph_files(files, limits).plain()}, limits)


def answer_tables(name: str, data: bytes, limits: Limits) -> bytes:
    """Return the encoded reply to a file whose tables are wanted as rows."""
    return _guard(lambda: {"tables": [
        (title, *grid.as_rows()) for title, grid in read_grids(name, data, limits)]}, limits)


def answer_page(data: bytes, page: int, quotes: Sequence[str], limits: Limits) -> bytes:
    """Return the encoded reply to a request to draw a page of a PDF."""
    return _guard(lambda: {
        "image": base64.b64encode(draw_page(data, page, quotes)).decode()}, limits)


def _cut(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield data[at:at + size]
        at += size


def _document(draft: DocumentDraft) -> dict[str, Any]:
    document = Document(draft.name, draft.title, draft.kind, draft.text,
                        tuple(Mark(*mark) for mark in draft.marks))
    fields: dict[str, Any] = {
        "name": draft.name, "title": draft.title, "kind": draft.kind, "text": draft.text,
        "marks": draft.marks, "passages": cut(document)}
    if draft.given is not None:
        given = draft.given
        fields["given"] = [given.sentences, _values(given.mentions), _values(given.assertions),
                           _values(given.descriptions)]
    return fields


def _values(records: Sequence[Mention | Assertion | Description]) -> list[list[Any]]:
    return [list(vars(record).values()) for record in records]


def _guard(work: Callable[[], dict[str, Any]], limits: Limits) -> bytes:
    try:
        return _encode(work())
    except ParseError as mendable:
        error = mendable
    except MemoryError:
        error = ParseError(f"Reading the file takes more than {limits.memory_bytes >> 20} MB "
                           "of memory; split it or save it in a simpler form.")
    except Exception as damage:  # noqa: BLE001 parsers raise nearly every type on damaged files
        error = ParseError(f"The file is damaged ({type(damage).__name__}); open it in the "
                           "program it comes from, save it again and retry.")
    return _encode({"error": str(error)})


def _encode(reply: dict[str, Any]) -> bytes:
    return json.dumps(reply, ensure_ascii=False).encode()


def confine(limits: Limits) -> None:
    """Remove the rights that a parser does not need from this process, as far as the system can."""
    sys.addaudithook(_refuse)
    limit(limits.memory_bytes, limits.cpu_seconds)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN) or (event == "open" and _writes(arguments[2])):
        raise PermissionError(f"a parser may not {event}")


def _writes(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & _WRITING)
