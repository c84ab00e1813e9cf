"""The table of formats in which a retrieval or the whole graph is written as a file.

A format is one entry of `FORMATS` and the functions that write it; the command line, the buttons of
the app and the tests follow from it.
"""

import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import BinaryIO, Generic, TypeVar

from qafd import export
from qafd.errors import ParameterError
from qafd.export import markup, whole
from qafd.export.whole import Whole
from qafd.extensions import EXPORTERS, load_extensions
from qafd.retrieve.base import Retrieval

ZIP = "application/zip"
Exported = TypeVar("Exported")


@dataclass(frozen=True)
class ExportFormat(Generic[Exported]):
    """A format of files.

    Parameters
    ----------
    label, meaning : str
        The button in the app, and its help; a format without label has no button.
    mime : str
        Its media type.
    file : str
        The name of a file of it in the app.
    written_by : callable, optional
        Writer of the file of a retrieval.
    graph : mapping of str to callable
        The files of the whole graph with the pieces of their text; several are packed into one.
    """

    label: str
    meaning: str
    mime: str
    file: str
    written_by: Callable[[Exported], str | bytes] | None = None
    graph: Mapping[str, Callable[[Whole], Iterable[str]]] = field(default_factory=dict)

    def write(self, what: Exported) -> str | bytes:
        """Write the content of a file."""
        assert self.written_by is not None, self.label
        return self.written_by(what)

    def file_named(self, stem: str) -> str:
        """Return the name of a file of this format that is not the one of Explore."""
        return stem + PurePath(self.file).suffix


FORMATS: dict[str, ExportFormat[Retrieval]] = {
    "nodes.csv": ExportFormat(
        "Nodes CSV", "Importance is the dual variable x; divided by its maximum it is the percentage shown "
                     "here. Alignment is the similarity to the question.",
        "text/csv", "nodes.csv", export.nodes_csv),
    "edges.csv": ExportFormat("Edges CSV", "", "text/csv", "edges.csv", export.edges_csv),
    "passages.csv": ExportFormat("", "", "text/csv", "passages.csv", export.passages_csv),
    "graphml": ExportFormat(
        "GraphML", "For Gephi, Cytoscape, yEd, networkx.", "application/xml", "retrieval.graphml",
        export.graphml, {"graph.graphml": lambda graph: markup.graphml(graph.rows())}),
    "gexf": ExportFormat(
        "GEXF", "Gephi's own format.", "application/xml", "retrieval.gexf", export.gexf,
        {"graph.gexf": lambda graph: markup.gexf(graph.rows())}),
    "json": ExportFormat(
        "Node-link JSON", "For D3 and networkx.", "application/json", "retrieval.json", export.node_link,
        {"graph.json": lambda graph: markup.node_link(graph.rows())}),
    "csv": ExportFormat(
        "CSV", "Two tables in a zip file, for spreadsheets.", ZIP, "graph.zip",
        graph={"nodes.csv": whole.nodes_csv, "edges.csv": whole.edges_csv}),
    "html": ExportFormat(
        "Offline HTML", "A picture that needs no network, for example to send by mail.", "text/html",
        "retrieval.html", export.html, {"graph.html": whole.html}),
}
FORMATS |= load_extensions(EXPORTERS, FORMATS)
OF_RETRIEVAL = {name: each for name, each in FORMATS.items() if each.written_by}
OF_GRAPH = {name: each for name, each in FORMATS.items() if each.graph}


def write_graph(graph: Whole, name: str, file: BinaryIO) -> None:
    """Write a graph in one of the formats `OF_GRAPH`.

    Raises
    ------
    ParameterError
        There is no such format, or more nodes than a page can draw.
    """
    if name not in OF_GRAPH:
        raise ParameterError(f"a graph is not written as {name!r}; choose from "
                             f"{', '.join(OF_GRAPH)}")
    parts = OF_GRAPH[name].graph
    if len(parts) == 1:
        for pieces in parts.values():
            for text in pieces(graph):
                file.write(text.encode())
        return
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, pieces in parts.items():
            # without a time of its own, equal graphs are equal files
            info = zipfile.ZipInfo(entry)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as part:
                for text in pieces(graph):
                    part.write(text.encode())
