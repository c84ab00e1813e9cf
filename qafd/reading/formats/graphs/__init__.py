"""Files that hold a graph: GraphML, GEXF, node-link JSON, tables, those of GraphRAG."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, Limits
from qafd.reading.formats.graphs.graph import ImportedGraph, Rows, graph_of
from qafd.reading.formats.graphs.passages import drafts_of
from qafd.reading.formats.graphs.tables import (
    read_delimited,
    read_json_graph,
    read_markup,
    read_parquet,
)
from qafd.reading.formats.packages import packed_files
from qafd.reading.text.plaintext import decode

__all__ = ["GRAPH_ENDINGS", "draft_graph", "read_graph_files", "refuse_graph"]

_OTHERS = ((re.compile(r"(?:(?:#|comment|creator|version)[^\n]*\n)*graph\s*\[", re.I), "GML"),
           (re.compile(r"(?:%[^\n]*\n)*\*vertices\s+\d", re.I), "Pajek's format"))
GRAPH_ENDINGS = ("graphml", "gexf", "json", "jsonl", "csv", "tsv", "parquet", "zip")


def read_graph_files(files: Sequence[bytes], limits: Limits) -> ImportedGraph:
    """Return the graph of one file, or of several that belong together.

    Raises
    ------
    ParseError
        One of them holds no graph, or together they have no edges.
    """
    parts = chain.from_iterable(_unpack(data, limits) for data in files)
    return graph_of([_rows(part, limits) for part in parts], limits)


def draft_graph(rows: Rows, name: str, limits: Limits, notices: list[str]) -> list[DocumentDraft]:
    """Return the documents of a graph among other files, and notices that say it was read as one."""
    graph = graph_of([rows], limits)
    notices.append(f"Read as a graph: {graph.summary}.")
    notices += graph.notices
    return drafts_of(graph, name, limits, notices)


def refuse_graph(text: str) -> None:
    """Raise ParseError for a graph in GML or Pajek's format, with the way to one that can be read."""
    for pattern, what in _OTHERS:
        if pattern.match(text.lstrip()[:2000]):
            raise ParseError(f"The file is a graph in {what}, which cannot be read; open it in Gephi, "
                             "save it as GraphML and add that.")


def _unpack(data: bytes, limits: Limits) -> Iterable[bytes]:
    """Return the files in a zip file, or the file itself."""
    return packed_files(data, limits) if data.startswith(b"PK\x03\x04") else (data,)


def _rows(data: bytes, limits: Limits) -> Rows:
    if data.startswith(b"PAR1"):
        return read_parquet(data)
    try:
        text, _ = decode(data)
    except ValueError:
        raise ParseError("The file is binary and no Parquet table, so it holds no graph that can "
                         "be read; export it as GraphML.") from None
    if not text.strip("\ufeff \t\r\n"):
        raise ParseError("The file is empty; export the graph again.")
    refuse_graph(text)
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        return read_markup(text.lstrip("\ufeff"))
    return read_json_graph(text) if start in ("{", "[") else read_delimited(text, limits)
