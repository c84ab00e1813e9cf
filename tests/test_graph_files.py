"""Files that hold a graph are refused as documents: their markup is nobody's prose."""

import io
import json

import networkx as nx
import pytest

from qafd.errors import ParseError
from qafd.export import graphml, node_link
from qafd.parsing import parse
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode

PAIR = nx.Graph([("Ada Lovelace", "Charles Babbage")])
OWN = Retrieval(
    "Who met Ada?", "qafd", {}, ("a",),
    tuple(RetrievedNode(i, name, "entity", 1.0, 1.0, "saturated", "It is near.")
          for i, name in (("a", "Ada Lovelace"), ("b", "Charles Babbage"))),
    (RetrievedEdge("a", "b", "relation", 1.0, 1.0, "met"),))


def gexf() -> str:
    out = io.BytesIO()
    nx.write_gexf(PAIR, out)
    return out.getvalue().decode()


@pytest.mark.parametrize(("name", "text", "kind"), [
    ("g.graphml", graphml(OWN), "GraphML"),
    ("g.graphml", "\n".join(nx.generate_graphml(PAIR)), "GraphML"),
    ("g.xml", "\ufeff<!-- by hand --><GraphML/>", "GraphML"),
    ("g.txt", '<?xml version="1.0"?><y:graphml xmlns:y="u"/>', "GraphML"),
    ("g.gexf", gexf(), "GEXF"),
    ("g.json", json.dumps(node_link(OWN)), "node-link JSON"),
    ("pasted", json.dumps(nx.node_link_data(PAIR, edges="links"), indent=1), "node-link JSON"),
])
def test_a_graph_is_refused_with_what_to_do_instead(name: str, text: str, kind: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse(name, text.encode())
    assert str(refused.value).startswith(f"The file is a graph ({kind}), not a text")
    assert "qafd.diffuse" in str(refused.value)


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
