"""Graphs from other programs: their files found, read in a child process, and made one file.

That file is node-link JSON with everything that was understood. It is a document of the
workspace like any other: hashed, replaced, deleted, restored.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from qafd.errors import ParameterError
from qafd.reading.formats.graphs import GRAPH_ENDINGS
from qafd.reading.formats.graphs.graph import (
    ImportedEdge,
    ImportedGraph,
    ImportedNode,
    ImportedText,
)
from qafd.reading.parsing import GRAPH_LIMITS, parse_graph

__all__ = ["GRAPH_ENDINGS", "ImportedEdge", "ImportedGraph", "ImportedNode", "ImportedText",
           "files_of", "read_graph"]

_GRAPHRAG = ("entities.parquet", "relationships.parquet", "text_units.parquet")  # the first two make a graph
_LIGHTRAG = ("graph_chunk_entity_relation.graphml", "kv_store_text_chunks.json")  # so does the first


def read_graph(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
) -> tuple[str, ImportedGraph]:
    """Return a name for the graph in some files, and the graph.

    Parameters
    ----------
    paths : path or iterable of paths
        A GraphML, GEXF, JSON, CSV or Parquet file; several that belong together, as a table of
        edges and one of nodes; or a folder that GraphRAG or LightRAG wrote. For a file of those
        two, the others that belong to it are taken from its folder.

    Raises
    ------
    ParameterError
        A path does not exist or cannot be read, or a folder holds no such graph.
    ParseError
        The files hold no graph, no edges, or too much.
    """
    files = files_of([paths] if isinstance(paths, (str, os.PathLike)) else paths)
    try:
        data = [_beginning(file) for file in files]
    except OSError as error:
        raise ParameterError(f"{error.filename} cannot be read: {error.strerror}") from error
    graph = note_missing([file.name for file in files], parse_graph(data))
    return name_of([file.absolute() for file in files]), graph


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(GRAPH_LIMITS.input_bytes + 1)  # a device may have no end


def note_missing(names: Sequence[str], graph: ImportedGraph) -> ImportedGraph:
    """The graph of some files, with a notice if GraphRAG's texts are not among them."""
    notice = "There is no table text_units, so descriptions become the passages."
    _, relations, texts = _GRAPHRAG
    bare = relations in names and texts not in names
    return replace(graph, notices=(*graph.notices, notice)) if bare else graph


def name_of(files: Sequence[PurePath]) -> str:
    """Name a graph in the workspace: its first file, with the folder if the file name is a standard one."""
    first = next((file for file in files if file.suffix == ".graphml"), files[0])
    known = first.name in (*_GRAPHRAG, *_LIGHTRAG)
    return f"{first.parent.name}/{first.name}".lstrip("/") if known else first.name


def files_of(paths: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """The files that some paths stand for, each once."""
    found: dict[Path, None] = {}
    for given in paths:
        path = Path(given)
        if not os.fspath(given) or not os.path.exists(path):
            raise ParameterError(f"there is no file or folder {os.fspath(given)!r}")
        found |= dict.fromkeys(_in_folder(path) if path.is_dir() else _beside(path))
    if not found:
        raise ParameterError("no file is named; name one or more files of a graph")
    return tuple(found)


def _in_folder(folder: Path) -> list[Path]:
    for place in (folder, folder / "output"):
        for kind, needed in ((_GRAPHRAG, 2), (_LIGHTRAG, 1)):
            if all((place / name).is_file() for name in kind[:needed]):
                return _find_present(place, kind)
    raise ParameterError(f"{folder} holds neither GraphRAG's entities.parquet and "
                         "relationships.parquet nor LightRAG's "
                         "graph_chunk_entity_relation.graphml; name the files of the graph")


def _beside(path: Path) -> list[Path]:
    """A file and those that belong to it."""
    kind = next((kind for kind in (_GRAPHRAG, _LIGHTRAG) if path.name in kind), ())
    return [path, *(file for file in _find_present(path.parent, kind) if file != path)]


def _find_present(folder: Path, kind: Sequence[str]) -> list[Path]:
    """The files of a program that are in a folder."""
    return [folder / name for name in kind if (folder / name).is_file()]
