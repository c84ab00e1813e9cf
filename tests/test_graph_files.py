"""Files that hold a graph are read as one: their markup is nobody's prose."""

import io
import json

import networkx as nx
import pytest

from qafd.export import graphml, node_link
from qafd.reading.parsing import parse, parse_with_notices
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode

PAIR = nx.Graph([("Ada Lovelace", "Charles Babbage")])
OWN = Retrieval(
    "Who met Ada?", "qafd", {}, ("a",),
    tuple(RetrievedNode(i, name, "entity", 1.0, 1.0, "saturated", given_reason("It is near."))
          for i, name in (("a", "Ada Lovelace"), ("b", "Charles Babbage"))),
    (RetrievedEdge("a", "b", "relation", 1.0, 1.0, "met"),))


def gexf() -> str:
    out = io.BytesIO()
    nx.write_gexf(PAIR, out)
    return out.getvalue().decode()


@pytest.mark.parametrize(("name", "text", "kind"), [
    ("g.graphml", graphml(OWN), "GraphML"),
    ("g.graphml", "\n".join(nx.generate_graphml(PAIR)), "GraphML"),
    ("g.gexf", gexf(), "GEXF"),
    ("g.json", node_link(OWN), "node-link JSON"),
    ("pasted", json.dumps(nx.node_link_data(PAIR, edges="links"), indent=1), "node-link JSON"),
])
def test_a_graph_is_recognized_among_documents(name: str, text: str, kind: str) -> None:
    parsed = parse_with_notices(name, text.encode())
    assert parsed.notices[0].startswith(f"Read as a graph: {kind}, 2 nodes")
    assert [one.title for one in parsed.documents] == ["Ada Lovelace"]
    given = parsed.given[parsed.documents[0].name]
    assert [(a.source, a.target) for a in given.assertions] == [("ada lovelace", "charles babbage")]


@pytest.mark.parametrize(("name", "text"), [
    ("a.html", "<!doctype html><p>In GraphML a file starts with &lt;graphml."),
    ("a.txt", "A file that starts with <graphml is a graph."),
    ("a.xml", "<article><graphml/>About graphs</article>"),
    ("a.json", '{"nodes": "seven", "edges": [], "note": "a graph in words"}'),
    ("a.json", '{"nodes": [{"text": "Ada met Charles."}], "links": []}'),
    ("a.json", '{"nodes": ["Ada"], "edges": [{"from": "Ada", "to": "Charles"}]}'),
])
def test_what_only_speaks_of_graphs_is_read(name: str, text: str) -> None:
    assert parse(name, text.encode())[0].text
