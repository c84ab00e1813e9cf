"""Files that hold a graph are read as one: their markup is nobody's prose."""

import io
import json

import networkx as nx
import pytest

from qafd.errors import ParseError
from qafd.export import graphml, node_link
from qafd.reading.parsing import parse, parse_graph, parse_with_notices
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode

PAIR = nx.Graph([("Ada Lovelace", "Charles Babbage")])
OWN = Retrieval(
    "Who met Ada?", "qafd", {}, ("a",),
    tuple(RetrievedNode(i, name, "entity", 1.0, 1.0, "saturated", given_reason("It is near."))
          for i, name in (("a", "Ada Lovelace"), ("b", "Charles Babbage"))),
    (RetrievedEdge("a", "b", "relation", 1.0, 1.0, "met"),))

VIS = [{"id": 0, "label": "Ada Lovelace"}, {"id": 1, "label": "Charles Babbage"}]
CYTOSCAPE = [{"data": {"id": "a", "name": "Ada Lovelace"}}, {"data": {"id": "b", "name": "Charles Babbage"}},
             {"data": {"id": "e", "source": "a", "target": "b", "interaction": "met"}}]
NEO4J = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ada Lovelace"}},
    {"type": "node", "id": "1", "labels": ["Person"], "properties": {"name": "Charles Babbage"}},
    {"type": "relationship", "id": "7", "label": "MET", "properties": {"weight": 2},
     "start": {"id": "0", "labels": ["Person"]}, "end": {"id": "1", "labels": ["Person"]}}]


def gexf():
    out = io.BytesIO()
    nx.write_gexf(PAIR, out)
    return out.getvalue().decode()


@pytest.mark.parametrize(("name", "text", "kind"), [
    ("g.graphml", graphml(OWN), "GraphML"),
    ("g.graphml", "\n".join(nx.generate_graphml(PAIR)), "GraphML"),
    ("g.gexf", gexf(), "GEXF"),
    ("g.json", node_link(OWN), "node-link JSON"),
    ("vis.json", json.dumps({"nodes": VIS, "edges": [{"from": 0, "to": 1}]}), "vis.js"),
    ("cyto.json", json.dumps({"elements": {"nodes": CYTOSCAPE[:2], "edges": CYTOSCAPE[2:]}}), "Cytoscape"),
    ("cyto.json", json.dumps({"elements": CYTOSCAPE}), "Cytoscape"),
    ("neo4j.json", "\n".join(map(json.dumps, NEO4J)), "Neo4j JSON"),
    ("neo4j.json", json.dumps(NEO4J), "Neo4j JSON"),
    ("pasted", json.dumps(nx.node_link_data(PAIR, edges="links"), indent=1), "node-link JSON"),
])
def test_a_graph_is_recognized_among_documents(name, text, kind):
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
def test_what_only_speaks_of_graphs_is_read(name, text):
    assert parse(name, text.encode())[0].text


@pytest.mark.parametrize("files", [
    ["id:ID(Person),name:string,:LABEL\n0,Ada Lovelace,Person\n1,Charles Babbage,Person\n",
     ":START_ID(Person),:END_ID(Person),:TYPE,weight:float\n0,1,MET,2\n"],
    ["_id,_labels,name,_start,_end,_type,weight\n0,:Person,Ada Lovelace,,,,\n"
     "1,:Person,Charles Babbage,,,,\n,,,0,1,MET,2\n"],
    ["\n".join(map(json.dumps, NEO4J))],
], ids=["neo4j-admin", "apoc csv", "apoc json"])
def test_names_labels_and_weights_of_neo4j_are_read(files):
    graph = parse_graph([text.encode() for text in files])
    names = {node.id: node.name for node in graph.nodes}
    edge, = graph.edges
    assert (names[edge.source], edge.label, names[edge.target], edge.weight) == (
        "Ada Lovelace", "MET", "Charles Babbage", 2.0)
    assert {node.kind.strip(":") for node in graph.nodes} == {"Person"}


@pytest.mark.parametrize("text", [
    'Creator "x"\ngraph\n[\n  node [ id 1 label "Ada" ]\n]', "*Vertices 2\n1 \"Ada\"\n*Edges\n1 2\n"])
def test_gml_and_pajek_are_refused_with_the_way(text):
    for read in (lambda: parse("g.txt", text.encode()), lambda: parse_graph([text.encode()])):
        with pytest.raises(ParseError, match="save it as GraphML"):
            read()


def test_a_name_that_is_cut_is_counted():
    graph = parse_graph([json.dumps({"nodes": [{"id": 0, "name": "Ada " * 40}, {"id": 1, "name": "Bea"}],
                                     "edges": [{"source": 0, "target": 1}]}).encode()])
    assert "Names that were cut to 100 characters: 1." in graph.notices
