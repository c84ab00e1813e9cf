"""GraphML and GEXF to rows, by an event parser that admits no entities."""

from typing import Any
from xml.parsers import expat

from qafd.errors import ParseError
from qafd.reading.formats.graphs.graph import Rows


def read_markup(text: str) -> Rows:
    """Return the nodes and edges of a GraphML or GEXF text, as yEd, Gephi and networkx write it.

    Raises
    ------
    ParseError
        It is damaged, or declares entities, which could expand without end.
    """
    reader = _MarkupReader()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(text.lstrip().encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise ParseError(f"The {reader.rows.format} is damaged in line {error.lineno}; export "
                         "the graph again.") from None
    return reader.rows


def _refuse(*_: Any) -> None:
    raise ParseError("The XML declares entities, which can hide a bomb; export the graph again "
                     "without them.")


class _MarkupReader:
    """Collects rows; both formats have nodes and edges with attributes that are declared before."""

    def __init__(self) -> None:
        self.rows = Rows("XML")
        self._names: dict[tuple[str, str], str] = {}  # class of element and id of its attribute
        self._kind = ""
        self._open: list[dict[str, Any]] = []
        self._key = ""
        self._text: list[str] = []

    def start(self, tag: str, values: dict[str, str]) -> None:
        """Begin an element."""
        tag = tag.rpartition(":")[2].lower()
        if tag in ("graphml", "gexf"):
            self.rows.format = {"graphml": "GraphML", "gexf": "GEXF"}[tag]
        elif tag == "key":
            name = values.get("attr.name") or values.get("yfiles.type") or values.get("id", "")
            about = values.get("for", "all")
            for kind in ("node", "edge") if about == "all" else (about,):
                self._names[kind, values.get("id", "")] = name
        elif tag == "attributes":
            self._kind = values.get("class", "")
        elif tag == "attribute":
            self._names[self._kind, values.get("id", "")] = values.get("title", "")
        elif tag in ("node", "edge"):
            self._begin(tag, dict(values))
        elif tag == "attvalue":
            self._put(values.get("for") or values.get("id") or "", values.get("value", ""))
        elif tag in ("data", "nodelabel", "edgelabel"):
            self._key = values.get("key", "") if tag == "data" else "label"
            self._text = []

    def _begin(self, tag: str, row: dict[str, Any]) -> None:
        """Begin a node or an edge; the id of an edge is ignored."""
        if tag == "node":
            self.rows.nodes.append(row)
        else:
            row.pop("id", None)
            self.rows.edges.append(row)
        self.rows.check()
        self._open.append(row)

    def end(self, tag: str) -> None:
        """End an element."""
        tag = tag.rpartition(":")[2].lower()
        if tag in ("node", "edge") and self._open:
            self._open.pop()
        elif tag in ("data", "nodelabel", "edgelabel") and self._key:
            self._put(self._key, "".join(self._text))
            self._key = ""

    def characters(self, text: str) -> None:
        """Add the text between two tags."""
        if self._key:
            self._text.append(text)

    def _put(self, key: str, value: str) -> None:
        if self._open and value.strip():
            row = self._open[-1]
            kind = "edge" if "target" in row else "node"
            row.setdefault(self._names.get((kind, key), key).strip().lower(), value.strip())
