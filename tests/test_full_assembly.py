"""The whole graph: every node and edge leaves, and what leaves comes back."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter

import networkx as nx
import pytest

from qafd.cli import main
from qafd.export.formats import FORMATS, write_graph
from qafd.export.whole import whole
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


def test_evidence_points_at_a_sentence_that_says_so(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("apple.txt", TEXT)
    graph = knowledge.to_networkx()
    ids = {fields["name"]: i for i, fields in graph.nodes(data=True) if fields["kind"] == "entity"}
    edge = next(f for s, t, f in graph.edges(data=True) if f["kind"] == "relation"
                and {s, t} == {ids["Steve Jobs"], ids["Steve Wozniak"]})
    passage, _, number = edge["evidence"].rpartition(":")
    assert graph.nodes[passage]["text"] == TEXT
    assert graph.nodes[passage]["document"] == "apple.txt"
    assert int(number) == 1


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


def test_hostile_names_do_nothing_in_any_format(tmp_path):
    bad = ["=HYPERLINK(1)", "<script>alert(1)</script>", "a\"b'c&d", "]]>", "x\x00y\x0bz"]
    graph = ImportedGraph("a test", tuple(ImportedNode(str(i), name) for i, name in enumerate(bad)),
                          tuple(ImportedEdge("0", str(i), name)
                                for i, name in enumerate(bad) if i))
    (tmp_path / "g.json").write_bytes(graph.to_json())
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_graph(tmp_path / "g.json", processes=1)
    names = {f["name"] for _, f in knowledge.to_networkx().nodes(data=True)}
    for form, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        (tmp_path / f"o.{form}").write_bytes(exported(knowledge, form))
        key = {"graphml": "name", "gexf": "label"}[form]
        assert {f[key] for _, f in read(tmp_path / f"o.{form}").nodes(data=True)} == names
    assert b"<script>alert" not in exported(knowledge, "html")
    assert b",=HYPERLINK" not in zipfile.ZipFile(io.BytesIO(exported(knowledge, "csv"))).read(
        "nodes.csv")


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
from qafd.export.whole import whole
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
