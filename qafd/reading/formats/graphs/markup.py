"""GraphML and GEXF to rows."""

from typing import TYPE_CHECKING

from lxml import etree

from qafd.errors import ParseError
from qafd.reading.formats.graphs.graph import Rows
from qafd.reading.formats.page import parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_VALUES = ("data", "attvalue", "NodeLabel", "EdgeLabel")  # the last two of yEd


def read_markup(text: str) -> Rows:
    """Return the nodes and edges of a GraphML or GEXF text, as yEd, Gephi and networkx write it.

    Raises
    ------
    ParseError
        It is damaged, or declares entities, which could expand without end.
    """
    try:
        root = parse_xml(text.strip().encode("utf-8", "replace"))
    except etree.XMLSyntaxError as error:
        raise ParseError(f"The graph is damaged in line {error.lineno}; export it again.") from None
    form = {"graphml": "GraphML", "gexf": "GEXF"}
    rows = Rows(form.get(etree.QName(root).localname.lower(), "XML"))
    names = _attribute_names(root)
    for element in root.iter("{*}node", "{*}edge"):
        kind = etree.QName(element).localname
        row = dict(element.attrib)
        if kind == "edge":
            row.pop("id", None)
        (rows.nodes if kind == "node" else rows.edges).append(row)
        rows.check()
        for name, value in _values_of(element):
            if value.strip():
                row.setdefault(names.get((kind, name), name).strip().lower(), value.strip())
    return rows


def _attribute_names(root: "_Element") -> dict[tuple[str, str], str]:
    """Return the name of each attribute by the kind of element and its id."""
    names: dict[tuple[str, str], str] = {}
    for key in root.iter("{*}key"):
        identity = key.get("id", "")
        about = key.get("for", "all")
        for kind in ("node", "edge") if about == "all" else (about,):
            names[kind, identity] = key.get("attr.name") or key.get("yfiles.type") or identity
    for group in root.iter("{*}attributes"):
        for attribute in group:
            names[group.get("class", ""), attribute.get("id", "")] = attribute.get("title", "")
    return names


def _values_of(element: "_Element") -> list[tuple[str, str]]:
    """Return the ids and values of the attributes of a node or an edge, without those of nodes in it."""
    found = []
    for value in element.iter(*(f"{{*}}{name}" for name in _VALUES)):
        if next(value.iterancestors("{*}node", "{*}edge")) is not element:
            continue
        name = etree.QName(value).localname
        if name == "attvalue":
            found.append((value.get("for") or value.get("id") or "", value.get("value", "")))
        elif name == "data":
            found.append((value.get("key", ""), value.text or ""))
        else:
            found.append(("label", value.text or ""))
    return found
