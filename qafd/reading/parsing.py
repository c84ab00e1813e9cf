"""Files to documents, each in a child process with limits.

A parser is the first code that touches a stranger's bytes. It runs in a fresh process
without secrets in its environment, that may neither write files nor open connections, with
limits on memory, CPU, time and output; whatever happens there is a `ParseError` here.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from qafd.errors import ParseError
from qafd.reading.formats import ENDINGS, Limits
from qafd.reading.formats.draft import SUPPORTED
from qafd.reading.formats.graphs.graph import IMPORTED, ImportedGraph, graph_of
from qafd.reading.formats.graphs.tables import read_node_link
from qafd.reading.text import passages
from qafd.records import GIVEN, Assertion, Chunk, Description, Document, Extraction, Mark, Mention
from qafd.sandbox import ChildReply, ask

__all__ = ["CHILD", "ENDINGS", "SUPPORTED", "Limits", "Parsed", "draw_page", "parse",
           "parse_graph", "parse_tables", "parse_with_notices"]

CHILD = "qafd.reading.formats.child"
Ask = Callable[[bytes, int, float], ChildReply]
ALONE: Ask = partial(ask, CHILD)
_SIGXCPU = -24
GRAPH_LIMITS = Limits(input_bytes=200_000_000, memory_bytes=3 << 30, cpu_seconds=120,
                      wall_seconds=180.0)


@dataclass(frozen=True)
class Parsed:
    """The documents of one file, and one sentence for each thing left out or guessed.

    `passages` are those of each document, in their order; `given` has the extraction of a document
    by its name, if the file has one; offsets are those of the document's text.
    """

    documents: tuple[Document, ...]
    passages: tuple[tuple[Chunk, ...], ...]
    notices: tuple[str, ...] = ()
    given: Mapping[str, Extraction] = field(default_factory=dict)


def parse(name: str, data: bytes, limits: Limits = Limits()) -> tuple[Document, ...]:  # noqa: B008
    """Return the documents of a file: one, or one per record of a file of records.

    What the bytes are decides how they are read. The name decides only between kinds of
    plain text and is kept as a label without path tricks; records are "name#id", by their
    id field or row number from 1.

    Parameters
    ----------
    name : str
        The user's name for the file; any text.
    data : bytes
        The whole file, or pasted text in UTF-8.

    Raises
    ------
    ParseError
        One sentence with reason and advice, without the name: empty, too large, of another
        kind, password-protected, scanned, damaged, or beyond one of the limits.
    """
    return parse_with_notices(name, data, limits).documents


def parse_with_notices(name: str, data: bytes, limits: Limits = Limits(),  # noqa: B008
                       ask: Ask = ALONE) -> Parsed:
    """Parse like `parse`, and return notices about pages or records that were left out.

    An imported graph has `GRAPH_LIMITS` at least. `ask` is that of a `qafd.sandbox.ForkServer` of
    `CHILD` where many files are parsed.
    """
    if data.startswith(IMPORTED):
        limits = max(limits, GRAPH_LIMITS, key=lambda one: one.input_bytes)
    if not data:
        raise ParseError("The file is empty; nothing was added.")
    refused = refuse_size(data, limits)
    if refused is not None:
        raise refused
    reply = _ask_child({"name": name[-1000:], "limits": asdict(limits)}, data, limits, ask)
    documents: list[Document] = []
    cuts: list[tuple[Chunk, ...]] = []
    given: dict[str, Extraction] = {}
    for read in reply["documents"]:
        marks = tuple(Mark(*mark) for mark in read["marks"])
        document = Document(read["name"], read["title"], read["kind"], read["text"], marks)
        documents.append(document)
        cuts.append(passages(document, read["passages"]))
        if "given" in read:
            given[document.name] = _extraction(*read["given"])
    return Parsed(tuple(documents), tuple(cuts), tuple(reply["notices"]), given)


def refuse_size(data: bytes, limits: Limits = Limits()) -> ParseError | None:  # noqa: B008
    """Return the error of a file too large to be read or stored, None for one that is not."""
    if data.startswith(IMPORTED):
        limits = max(limits, GRAPH_LIMITS, key=lambda one: one.input_bytes)
    if len(data) <= limits.input_bytes:
        return None
    return ParseError(f"The file has {len(data) / 1e6:.1f} MB, more than "
                      f"{limits.input_bytes / 1e6:g} MB; split it and add the parts.")


def _extraction(sentences: Sequence[Any], mentions: Sequence[Any], assertions: Sequence[Any],
                descriptions: Sequence[Any]) -> Extraction:
    return Extraction(
        "", GIVEN, tuple((start, end) for start, end in sentences),
        tuple(Mention(*one) for one in mentions), tuple(Assertion(*one) for one in assertions),
        tuple(Description(source, target, kind, text, tuple(keywords), strength)
              for source, target, kind, text, keywords, strength in descriptions))


def parse_graph(files: Sequence[bytes], limits: Limits = GRAPH_LIMITS) -> ImportedGraph:
    """Return the graph in one file, or in several that belong together, as GraphRAG's tables do.

    Raises
    ------
    ParseError
        One sentence: no graph, no edges, too large, damaged, or beyond one of the limits.
    """
    data = b"".join(files)
    if len(data) > limits.input_bytes:
        raise ParseError(f"The graph has {len(data) / 1e6:.1f} MB, more than "
                         f"{limits.input_bytes / 1e6:g} MB; import a part of it.")
    reply = _ask_child({"name": "", "limits": asdict(limits), "sizes": [*map(len, files)]}, data,
                       limits)
    return graph_of([read_node_link(reply["graph"])], limits)


def parse_tables(name: str, data: bytes, limits: Limits = Limits()  # noqa: B008
                 ) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the name, the columns and the rows of each table in a workbook or a CSV file.

    Raises
    ------
    ParseError
        The file is neither, damaged, or beyond one of the limits.
    """
    refused = refuse_size(data, limits)
    if refused is not None:
        raise refused
    request = {"name": name[-1000:], "limits": asdict(limits), "tables": True}
    return [(title, columns, rows) for title, columns, rows in _ask_child(request, data, limits)["tables"]]


def draw_page(data: bytes, page: int, quotes: Sequence[str] = (),
              limits: Limits = Limits()) -> bytes:  # noqa: B008
    """Return a page of a PDF, from 1, as a PNG of about 1,000 pixels across, with quotes marked on it.

    Raises
    ------
    ParseError
        No PDF, no such page, damaged, or beyond one of the limits.
    """
    request = {"limits": asdict(limits), "page": page, "quotes": list(quotes)}
    return base64.b64decode(_ask_child(request, data, limits)["image"])


def _ask_child(request: dict[str, Any], data: bytes, limits: Limits,
               ask: Ask = ALONE) -> dict[str, Any]:
    """Return the reply of a fresh child; it dies with this call in any case."""
    most = 4 * limits.text_characters + 4000 * min(limits.pieces, limits.text_characters)
    reply = ask(json.dumps(request).encode() + b"\n" + data, most + 1, limits.wall_seconds)
    if reply.late:
        raise ParseError(f"Reading the file took more than {limits.wall_seconds:g} s; split it "
                         "or save it in a simpler form.")
    if reply.code == _SIGXCPU:
        raise ParseError(f"Reading the file took more than {limits.cpu_seconds} s of computing "
                         "time; split it or save it in a simpler form.")
    try:
        answer: dict[str, Any] = json.loads(reply.content)
    except ValueError:
        raise ParseError(f"The reader broke down on this file (exit code {reply.code}), so it "
                         "is probably damaged; save it again or in another form.") from None
    if "error" in answer:
        raise ParseError(answer["error"])
    return answer
