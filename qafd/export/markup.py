"""Writers of graphs: GraphML, GEXF, node-link JSON, from rows of named values.

Rows are written as they are read, so a graph of any size takes the memory of a row. Characters that
XML cannot hold are left out of texts and written as escapes in ids, which have to stay different.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

# What XML 1.0 cannot hold, and the carriage return, which its readers turn into a line feed.
NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
Row = Mapping[str, Any]

_NUMBERS = {
    "page": "int", "count": "int", "degree": "int", "revision": "int", "seed": "boolean", "weight": "double",
    "strength": "double", "flow": "double", "importance": "double", "mass": "double",
    "capacity": "double", "source": "double", "alignment": "double"}
_IN_GEXF = {"int": "integer"}
_BEGUN = "<?xml version='1.0' encoding='utf-8'?>\n"


@dataclass(frozen=True)
class GraphRows:
    """A graph to write.

    Parameters
    ----------
    record, imprint : mapping, str
        Its origin as values, and in a sentence.
    version : str
        The version of qafd that made it.
    node_fields, edge_fields : tuple of str
        The names that rows have, without "id", and without "source" and "target".
    nodes, edges : callable
        Give the rows, without what is empty.
    """

    record: Row
    imprint: str
    version: str
    node_fields: tuple[str, ...]
    edge_fields: tuple[str, ...]
    nodes: Callable[[], Iterable[Row]]
    edges: Callable[[], Iterable[Row]]


def graphml(graph: GraphRows) -> Iterator[str]:
    """Write GraphML, a node or edge a line; "label" is the name, as Gephi, yEd and Cytoscape show it."""
    yield _BEGUN + '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    nodes = ("label", *graph.node_fields)
    for kind, names in (("node", nodes), ("edge", graph.edge_fields), ("graph", tuple(graph.record))):
        for name in names:
            yield (f'<key id="{kind[0]}_{name}" for="{kind}" attr.name="{name}" '
                   f'attr.type="{_NUMBERS.get(name, "string")}"/>\n')
    yield f'<graph edgedefault="directed">\n{_data("g", graph.record)}\n'
    for node in graph.nodes():
        yield f'<node id={_id(node["id"])}>{_data("n", {"label": node["name"], **node}, nodes)}</node>\n'
    for number, edge in enumerate(graph.edges()):
        yield (f'<edge id="e{number}" source={_id(edge["source"])} target={_id(edge["target"])}>'
               f'{_data("e", edge, graph.edge_fields)}</edge>\n')
    yield "</graph>\n</graphml>\n"


def _data(kind: str, row: Row, names: Iterable[str] | None = None) -> str:
    return "".join(f'<data key="{kind}_{name}">{escape(_text(row[name]))}</data>'
                   for name in (row if names is None else names) if name in row)


def gexf(graph: GraphRows) -> Iterator[str]:
    """Write GEXF, Gephi's own format, with the same fields as attributes; its origin is its description."""
    nodes = [name for name in graph.node_fields if name != "name"]
    edges = [name for name in graph.edge_fields if name not in ("label", "weight")]
    yield _BEGUN + ('<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n<meta><creator>qafd '
                    f"{escape(graph.version)}</creator><description>{escape(_text(graph.imprint))}"
                    '</description></meta>\n<graph defaultedgetype="directed" mode="static">\n')
    for kind, names in (("node", nodes), ("edge", edges)):
        yield f'<attributes class="{kind}" mode="static">'
        for number, name in enumerate(names):
            form = _NUMBERS.get(name, "string")
            yield f'<attribute id="{number}" title="{name}" type="{_IN_GEXF.get(form, form)}"/>'
        yield "</attributes>\n"
    yield "<nodes>\n"
    for node in graph.nodes():
        yield f'<node id={_id(node["id"])} label={_quote(node["name"])}>{_values(nodes, node)}</node>\n'
    yield "</nodes>\n<edges>\n"
    for number, edge in enumerate(graph.edges()):
        yield (f'<edge id="{number}" source={_id(edge["source"])} target={_id(edge["target"])} '
               f'label={_quote(edge.get("label", ""))} weight={_quote(edge["weight"])}>'
               f"{_values(edges, edge)}</edge>\n")
    yield "</edges>\n</graph>\n</gexf>\n"


def _values(names: Iterable[str], row: Row) -> str:
    values = [f'<attvalue for="{number}" value={_quote(row[name])}/>'
              for number, name in enumerate(names) if name in row]
    return f"<attvalues>{''.join(values)}</attvalues>"


def node_link(graph: GraphRows) -> Iterator[str]:
    """Write node-link JSON as networkx and D3 read it, a node or edge a line."""
    yield ('{"directed": true, "multigraph": true, "graph": '
           f'{json.dumps(graph.record, ensure_ascii=False, default=str)},\n"nodes": [')
    for number, node in enumerate(graph.nodes()):
        yield ",\n" * (number > 0) + json.dumps(node, ensure_ascii=False)
    yield '],\n"edges": ['
    for number, edge in enumerate(graph.edges()):
        key = f"{edge['kind']} {edge.get('label', '')}".rstrip()
        yield ",\n" * (number > 0) + json.dumps({"key": key, **edge}, ensure_ascii=False)
    yield "]}\n"


def _id(node: str) -> str:
    return quoteattr(NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", node))


def _quote(value: object) -> str:
    return quoteattr(_text(value))


def _text(value: object) -> str:
    """Return a value as text, without the characters that XML cannot hold."""
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, default=str)
    return NOT_XML.sub("", value)
