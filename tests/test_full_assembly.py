"""The whole graph: every node and edge leaves, and what leaves comes back."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest

from qafd.cli import main
from qafd.errors import ParameterError
from qafd.export.formats import FORMATS, write_graph
from qafd.export.whole import DRAWN, html, whole
from qafd.ingest.imports import ImportedEdge, ImportedGraph, ImportedNode
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import canonical

TEXT = ("=Sum Apple Inc. was founded by Steve Jobs. Steve Jobs met Steve Wozniak in Cupertino. "
        "Steve Wozniak designed the Apple I.")


APPLES = ("Granny Smith grows in Wellington. Fuji grows in Aomori. Jeff Bezos met Steve Jobs in Seattle. "
          "Steve Jobs founded Twitch.")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Two documents with an edge by hand, a renamed name and a hidden one."""
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("home") / "apples.db")
    knowledge.add_text("apple.txt", TEXT)
    knowledge.add_text("apples.txt", APPLES)
    knowledge.rename("Granny Smith", "-Granny & <Smith>")
    knowledge.connect("Fuji", "Jeff Bezos", "eaten by", "a guess")
    knowledge.hide("Twitch")
    return knowledge


def exported(knowledge, form):
    file = io.BytesIO()
    with knowledge.store() as store, whole(store) as graph:
        write_graph(graph, form, file)
    return file.getvalue()


def entities_and_relations(knowledge):
    """The keys of all entities, and the relations between them with their labels."""
    whole = knowledge.to_networkx()
    keys = {node: canonical(values["name"]) for node, values in whole.nodes(data=True)
            if values["kind"] == "entity"}
    return set(keys.values()), {(keys[u], fields.get("label", ""), keys[v])
                                for u, v, fields in whole.edges(data=True) if fields["kind"] == "relation"}


@pytest.mark.parametrize("form", ["graphml", "gexf", "json", "csv"])
def test_entities_and_relations_of_an_export_come_back_and_passages_are_counted(
        sample, tmp_path, form):
    file = tmp_path / FORMATS[form].file_named("graph")
    file.write_bytes(exported(sample, form))
    again = KnowledgeGraph(tmp_path / "again.db")
    again.add_graph(file, processes=1)
    assert entities_and_relations(again) == entities_and_relations(sample)
    with again.store() as store:
        notices = " ".join(store.files.all()[0].notices)
    passages = sum(kind == "passage" for kind in sample.graph.kinds)
    assert f"Left out: {passages} passages; copy the workspace to keep them." in notices


def test_other_libraries_read_the_same_graph(sample, tmp_path):
    graph = sample.to_networkx()
    for form, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        file = tmp_path / f"graph.{form}"
        file.write_bytes(exported(sample, form))
        back = read(file)
        assert set(back) == set(graph)
        assert Counter(back.edges()) == Counter(graph.edges())
    linked = nx.node_link_graph(json.loads(exported(sample, "json")), edges="edges")
    assert dict(linked.nodes(data=True)) == dict(graph.nodes(data=True))
    assert nx.utils.edges_equal(linked.edges(keys=True, data=True),
                                graph.edges(keys=True, data=True))
    assert linked.graph == graph.graph


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A graph of another program, a text about the same names, and an edge by hand."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "g.json").write_bytes(ImportedGraph("a test", (
        ImportedNode("1", "Steve Jobs", "founder", "Steve Jobs sold computers."),
        ImportedNode("2", "Apple Inc.", "firm"), ImportedNode("3", "Atari")), (
        ImportedEdge("1", "2", "founded", "In 1976.", 8.0),
        ImportedEdge("1", "3", "worked at", weight=2.0))).to_json())
    knowledge = KnowledgeGraph(folder / "w.db")
    knowledge.add_graph(folder / "g.json", processes=1)
    knowledge.add_text("a.txt", MET)
    knowledge.connect("Atari", "Apple Inc.", "rival of", "a guess")
    return knowledge


MET = "Steve Jobs met Tim Cook. Atari paid Steve Jobs. Atari grew."


def test_rows_have_descriptions_strengths_evidence_and_notes(mixed):
    with mixed.store() as store, whole(store) as graph:
        nodes = {node.id: node for node in graph.nodes()}
        edges = {(nodes[e.source].name, nodes[e.target].name, e.key): e for e in graph.edges()}
    named = {node.name: (node.type, node.text, node.description) for node in nodes.values()
             if node.kind == "entity"}
    assert named == {
        "Steve Jobs": ("FOUNDER", "", "Steve Jobs sold computers."), "Tim Cook": ("PERSON?", MET[:24], ""),
        "Apple Inc.": ("FIRM", "Steve Jobs — founded — Apple Inc.: In 1976.", ""),
        "Atari": ("ORG?", MET[25:47], "")}  # named twice so in the text, and once NODE in the graph
    (text,) = (node for node in nodes.values() if node.document == "a.txt")
    assert (text.kind, text.text, text.title) == ("passage", MET, "a")
    # Strengths are over their geometric mean, of 8 and 2.
    founded = edges["Steve Jobs", "Apple Inc.", "relation founded"]
    paid = edges["Atari", "Steve Jobs", "relation paid"]
    assert (founded.description, founded.strength) == ("In 1976.", 2)
    assert (paid.description, paid.strength) == ("", 0.5)
    assert f"{text.id}:1" in paid.evidence.split()
    assert edges["Steve Jobs", "a", "mention"].evidence == f"{text.id}:0 {text.id}:1"
    by_hand = edges["Atari", "Apple Inc.", "by_hand rival of"].by_hand
    assert by_hand.endswith(": a guess")
    assert {key[2]: edge.by_hand for key, edge in edges.items() if edge.by_hand} == {
        "by_hand rival of": by_hand, "relation rival of": by_hand}


def test_a_picture_of_the_whole_graph_has_every_edge_once_unless_it_is_large(mixed):
    with mixed.store() as store, whole(store) as graph:
        drawn = "".join(html(replace(graph, node_count=DRAWN)))
        with pytest.raises(ParameterError, match="at most 300 nodes"):
            next(html(replace(graph, node_count=DRAWN + 1)))
        edges = [edge for edge in graph.edges() if edge.kind != "by_hand"]
    assert f"4 entities, 2 passages, {len(edges)} edges" in drawn
    assert drawn.count("rival of \\u00b7 Added by hand") == 1
    assert "founded \\u00b7" not in drawn


def test_no_cell_of_a_table_is_a_formula(sample):
    archive = zipfile.ZipFile(io.BytesIO(exported(sample, "csv")))
    assert archive.namelist() == ["nodes.csv", "edges.csv"]
    tables = {name: list(csv.reader(io.StringIO(archive.read(name).decode(), newline="")))
              for name in archive.namelist()}
    cells = [cell for rows in tables.values() for row in rows for cell in row]
    assert "'-Granny & <Smith>" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    graph = sample.to_networkx()
    assert [len(rows) - 1 for rows in tables.values()] == [len(graph), graph.number_of_edges()]
    assert {row[-1].startswith("qafd ") for rows in tables.values() for row in rows[1:]} == {True}


def test_the_command_writes_the_whole_graph(sample, tmp_path, capfd):
    db = sample.place.written
    out = tmp_path / "g.zip"
    assert main(["export", "--graph", "--db", db, "--format", "csv", "--out", str(out)]) == 0
    assert out.read_bytes() == exported(sample, "csv")
    assert main(["export", "--graph", "--db", db, "--format", "json"]) == 0
    assert capfd.readouterr().out.encode() == exported(sample, "json")
    assert main(["export", "--graph", "Why?", "--db", db, "--format", "json"]) == 2
    assert main(["export", "--db", db, "--format", "json"]) == 2
    assert main(["export", "Why?", "--db", db, "--format", "csv"]) == 2
    assert main(["export", "--graph", "--db", db, "--format", "report"]) == 2
    assert "graphml" in capfd.readouterr().err


def test_memory_does_not_grow_with_the_graph(tmp_path):
    code = """
import resource, sys
from qafd.records import node_id
from qafd.storage import open_workspace
from qafd.storage.rows import RELATION, hash_number
from qafd.export.formats import write_graph
from qafd.export.whole import DRAWN, html, whole
def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_workspace(sys.argv[1]) as store:
    with store.transaction() as c:
        ids = [node_id("entity", str(i)) for i in range(8000)]
        numbers = [hash_number(i) for i in ids]
        c.executemany("INSERT INTO nodes VALUES (?, ?, 'entity', ?, ?, ?, NULL, NULL, NULL, 1, 1, "
                      "NULL, 1)",
                      ((n, i, i, i, "word " * 60)
                       for n, i in zip(numbers, ids, strict=True)))
        c.executemany("INSERT INTO edges VALUES (?, ?, ?, '', 1, 1, x'')",
                      ((numbers[i], numbers[(i + j) % 8000], RELATION)
                       for i in range(8000) for j in (1, 2, 3)))
    before = most()
    with whole(store) as graph, open(sys.argv[2], "wb") as file:
        for form in ("graphml", "json"):
            write_graph(graph, form, file)
    print((most() - before) // 1024)
"""
    grown = subprocess.run([sys.executable, "-c", code, tmp_path / "w.db", tmp_path / "out"],
                           check=True, capture_output=True, text=True).stdout
    assert (tmp_path / "out").stat().st_size > 9_000_000
    assert int(grown) < 12  # MB
