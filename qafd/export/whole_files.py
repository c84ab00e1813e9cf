"""The whole graph of a workspace as a file: GraphML, GEXF, node-link JSON, CSV, a page.

Rows are written as they are read, so a graph of any size takes the memory of a row, except for
the page. `qafd.ingest.imports.read_graph` reads the same entities, passages and relations
from these files.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from xml.sax.saxutils import escape, quoteattr

from qafd import export
from qafd.errors import ParameterError
from qafd.export import cell, xml
from qafd.export.whole import EDGE_FIELDS, NODE_FIELDS, Whole, WholeEdge, WholeNode, list_fields
from qafd.reasons import given_reason
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.layout import layout
from qafd.view.panel import panel_data
from qafd.wording.counts import count

BESIDE = ("by_hand", "extracted")  # edges that stand beside a relation, which is drawn
DRAWN = 300  # nodes that a page draws at most
LINES = 1000  # of a table that are written at a time

_NUMBERS = {"page": "int", "count": "int", "weight": "double", "strength": "double"}
_IN_GEXF = {"int": "integer", "double": "double"}
_BEGUN = "<?xml version='1.0' encoding='utf-8'?>\n"


def graphml(graph: Whole) -> Iterator[str]:
    """Write GraphML, a node or edge a line, with the fields of `qafd.export.whole.WholeEdge`."""
    yield _BEGUN + '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for kind, names in (("node", NODE_FIELDS[1:]), ("edge", EDGE_FIELDS[2:])):
        for name in names:
            yield (f'<key id="{kind[0]}_{name}" for="{kind}" attr.name="{name}" '
                   f'attr.type="{_NUMBERS.get(name, "string")}"/>\n')
    for name in graph.record:
        yield f'<key id="g_{name}" for="graph" attr.name="{name}" attr.type="string"/>\n'
    yield '<graph edgedefault="directed">\n'
    yield _data("g", graph.record) + "\n"
    for node in graph.nodes():
        yield (f"<node id={quoteattr(node.id)}>"
               f"{_data('n', list_fields(node, NODE_FIELDS[1:]))}</node>\n")
    for number, edge in enumerate(graph.edges()):
        yield (f'<edge id="e{number}" source={quoteattr(edge.source)} '
               f"target={quoteattr(edge.target)}>"
               f"{_data('e', list_fields(edge, EDGE_FIELDS[2:]))}</edge>\n")
    yield "</graph>\n</graphml>\n"


def _data(kind: str, values: Mapping[str, object]) -> str:
    return "".join(f'<data key="{kind}_{name}">{_text(value)}</data>'
                   for name, value in values.items())


def _text(value: object) -> str:
    # readers of XML turn a carriage return into a line feed
    return escape(xml(str(value)), {"\r": "&#13;"})


def gexf(graph: Whole) -> Iterator[str]:
    """Write GEXF, Gephi's own format, with the same fields as attributes."""
    own = {"node": [name for name in NODE_FIELDS if name not in ("id", "name")],
           "edge": [name for name in EDGE_FIELDS[2:] if name not in ("label", "weight")]}
    about = "; ".join(f"{name} {value}" for name, value in graph.record.items())
    yield _BEGUN + ('<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n<meta><creator>'
                    f"qafd {graph.made_by.qafd}</creator><description>{_text(about)}"
                    '</description></meta>\n<graph defaultedgetype="directed" mode="static">\n')
    for kind, names in own.items():
        yield f'<attributes class="{kind}" mode="static">' + "".join(
            f'<attribute id="{number}" title="{name}" '
            f'type="{_IN_GEXF.get(_NUMBERS.get(name, ""), "string")}"/>'
            for number, name in enumerate(names)) + "</attributes>\n"
    yield "<nodes>\n"
    for node in graph.nodes():
        yield (f"<node id={quoteattr(node.id)} label={_quote_attribute(node.name)}>"
               f"{_values(own['node'], list_fields(node, NODE_FIELDS))}</node>\n")
    yield "</nodes>\n<edges>\n"
    for number, edge in enumerate(graph.edges()):
        yield (f'<edge id="{number}" source={quoteattr(edge.source)} '
               f'target={quoteattr(edge.target)} label={_quote_attribute(edge.label)} '
               f'weight="{edge.weight!r}">{_values(own["edge"], list_fields(edge, EDGE_FIELDS))}'
               "</edge>\n")
    yield "</edges>\n</graph>\n</gexf>\n"


def _values(names: list[str], values: Mapping[str, object]) -> str:
    return "<attvalues>" + "".join(
        f'<attvalue for="{number}" value={_quote_attribute(values[name])}/>'
        for number, name in enumerate(names) if name in values) + "</attvalues>"


def _quote_attribute(value: object) -> str:
    return quoteattr(xml(str(value)))


def node_link(graph: Whole) -> Iterator[str]:
    """Write node-link JSON as networkx and D3 read it, a node or edge a line."""
    yield ('{"directed": true, "multigraph": true, "graph": '
           f'{json.dumps(graph.record, ensure_ascii=False)},\n"nodes": [')
    for number, node in enumerate(graph.nodes()):
        yield ",\n" * (number > 0) + json.dumps(list_fields(node, NODE_FIELDS), ensure_ascii=False)
    yield '],\n"edges": ['
    for number, edge in enumerate(graph.edges()):
        yield ",\n" * (number > 0) + json.dumps(
            {**list_fields(edge, EDGE_FIELDS), "key": edge.key}, ensure_ascii=False)
    yield "]}\n"


def nodes_csv(graph: Whole) -> Iterator[str]:
    """Write the nodes as a table."""
    return _lines(NODE_FIELDS, graph.nodes(), _stamp(graph))


def edges_csv(graph: Whole) -> Iterator[str]:
    """Write the edges as a table."""
    return _lines(EDGE_FIELDS, graph.edges(), _stamp(graph))


def _lines(columns: tuple[str, ...], rows: Iterable[WholeNode] | Iterable[WholeEdge],
           made_by: str) -> Iterator[str]:
    """Write a table as CSV, some lines at a time; no text can be run as a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow((*columns, "made_by"))
    values = attrgetter(*columns)
    left = iter(rows)
    while some := list(islice(left, LINES)):
        writer.writerows([*map(cell, values(row)), made_by] for row in some)
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def _stamp(graph: Whole) -> str:
    return f"qafd {graph.made_by.qafd}, workspace {graph.made_by.workspace}"


def _drawn_edge(e: WholeEdge) -> RetrievedEdge:
    label = f"{e.label or e.kind} · {e.by_hand}" if e.by_hand else e.label or e.kind
    return RetrievedEdge(e.source, e.target, e.kind, 0.0, e.weight, label)


def html(graph: Whole) -> Iterator[str]:
    """Write a picture of a graph of up to `DRAWN` nodes, else raise ParameterError."""
    if graph.node_count > DRAWN:
        raise ParameterError(f"a page draws at most {DRAWN} nodes and the graph has "
                             f"{graph.node_count:,}; export GraphML or GEXF and open it in "
                             "Gephi or Cytoscape, or export a retrieval as html")
    edges = [edge for edge in graph.edges() if edge.kind not in BESIDE]
    degree = Counter(end for edge in edges for end in (edge.source, edge.target))
    nodes = tuple(sorted((RetrievedNode(n.id, n.name, n.kind, float(degree[n.id]), 0.0, SATURATED,
                                        given_reason(n.description), degree=degree[n.id])
                          for n in graph.nodes()), key=lambda n: (-n.importance, n.id)))
    drawn = Retrieval("", "graph", {}, (), nodes, tuple(map(_drawn_edge, edges)), made_by=graph.made_by)
    labels = {n.id: n.name[:40] for n in nodes}
    kinds = Counter(n.kind for n in nodes)
    size = f"{count(kinds['entity'], 'entity')}, {count(kinds['passage'], 'passage')}"
    foremost = ", ".join(n.name[:40] for n in nodes[:3])
    yield export.page(
        panel_data([drawn], Drawing(thickness="weight", limit=DRAWN, measures=("edges", "weight")),
                   positions=layout(labels, [(e.source, e.target) for e in edges], labels=labels),
                   look=Look([Caption("All that the graph has", "",
                                      f"{size}, {count(len(edges), 'edge')}",
                                      f"{size}; most edges: {foremost}.")])),
        "Knowledge graph", graph.made_by.qafd, json.dumps(graph.record), _word_origin(graph))


def _word_origin(graph: Whole) -> str:
    made = graph.made_by
    return (f"Made by qafd {made.qafd} · workspace {made.workspace}, revision {graph.revision} · "
            f"vectors by {made.embedder or 'unknown'} · entities by {made.extractor or 'unknown'}")
