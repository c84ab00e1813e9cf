"""The whole graph: every node and edge leaves, and what leaves comes back."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from qafd.cli import main
from qafd.export.formats import name_graph, write_graph
from qafd.export.whole import whole
from qafd.ingest.imports import ImportedEdge, ImportedGraph, ImportedNode
from qafd.knowledge import KnowledgeGraph
from qafd.storage.packing import MENTION, RELATION, SYNONYM

TEXT = ("=Sum Apple Inc. was founded by Steve Jobs. Steve Jobs met Steve Wozniak in Cupertino. "
        "Steve Wozniak designed the Apple I.")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    """A bundled sample with an edge by hand, a renamed name and a hidden one."""
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("home"))
    knowledge.rename("Granny Smith", "-Granny & <Smith>")
    knowledge.connect("Fuji", "Jeff Bezos", "eaten by", "a guess")
    knowledge.hide("Twitch")
    return knowledge


def exported(knowledge: KnowledgeGraph, form: str, packed: bool = False) -> bytes:
    file = io.BytesIO()
    with knowledge.store() as store, whole(store) as graph:
        write_graph(graph, form, file, packed)
    return file.getvalue()


def content(knowledge: KnowledgeGraph) -> dict[str, set[Any]]:
    """What the tables of a workspace hold, by names and texts instead of ids."""
    with knowledge.store() as store, store.snapshot() as connection:
        def ask(words: str) -> set[Any]:
            return set(connection.execute(words))
        ends = ("FROM edges JOIN nodes AS a ON a.number = source "
                "JOIN nodes AS b ON b.number = target WHERE edges.kind =")
        return {
            "entities": ask("SELECT name FROM nodes WHERE kind = 'entity'"),
            "passages": ask("SELECT title, text FROM passages"),
            "relations": ask(f"SELECT a.name, label, b.name, round(similarity, 5) {ends} "
                             f"{RELATION}"),
            "synonyms": ask(f"SELECT min(a.name, b.name), max(a.name, b.name) {ends} {SYNONYM} "
                            "GROUP BY source, target"),
            "mentions": ask(f"SELECT a.name, b.text {ends} {MENTION}")}


@pytest.mark.parametrize(("form", "packed"), [
    ("graphml", False), ("gexf", True), ("json", False), ("csv", False)])
def test_what_is_exported_comes_back_by_our_own_import(
        sample: KnowledgeGraph, tmp_path: Path, form: str, packed: bool) -> None:
    file = tmp_path / name_graph(form, packed)
    file.write_bytes(exported(sample, form, packed))
    again = KnowledgeGraph(tmp_path / "again.db")
    again.add_graph(file, processes=1)
    before, after = content(sample), content(again)
    # The edge by hand has no sentence: it comes with a line of its own, as in any imported graph.
    line = {("Fuji", "Fuji — eaten by — Jeff Bezos")}
    assert after["entities"] == before["entities"]
    assert after["passages"] - before["passages"] == line
    assert not before["passages"] - after["passages"]
    # It weighs what the names say, as all relations that documents state.
    by_hand = {("Fuji", "eaten by", "Jeff Bezos")}
    assert {r[:3] for r in after["relations"]} == {r[:3] for r in before["relations"]}
    assert {r for r in after["relations"] ^ before["relations"] if r[:3] not in by_hand} == set()
    assert after["synonyms"] == before["synonyms"]
    # Nothing is lost; a surname that stood for a longer name may be found as itself too.
    assert not before["mentions"] - after["mentions"]
    assert len(after["mentions"]) <= len(before["mentions"]) + 3


def test_weights_of_an_imported_graph_survive_a_second_way(tmp_path: Path) -> None:
    graph = ImportedGraph("a test", (
        ImportedNode("1", "Steve Jobs", "person", "Sold computers."), ImportedNode("2", "Apple"),
        ImportedNode("3", "Atari")), (
        ImportedEdge("1", "2", "founded", "In 1976.", 8.0),
        ImportedEdge("1", "3", "directed", weight=2.0)))
    (tmp_path / "g.json").write_bytes(graph.to_json())
    first, second = (KnowledgeGraph(tmp_path / f"{n}.db") for n in "ab")
    first.add_graph(tmp_path / "g.json", processes=1)
    (tmp_path / "h.graphml").write_bytes(exported(first, "graphml"))
    second.add_graph(tmp_path / "h.graphml", processes=1)
    assert content(first)["relations"] == content(second)["relations"]
    said = {(values["name"], values.get("type"), values.get("description"))
            for _, values in second.to_networkx().nodes(data=True) if values["kind"] == "entity"}
    assert ("Steve Jobs", "PERSON", "Sold computers.") in said
    assert "In 1976." in {fields.get("description") for _, _, fields in
                          second.to_networkx().edges(data=True)}


def test_other_libraries_read_the_same_graph(sample: KnowledgeGraph, tmp_path: Path) -> None:
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


def test_evidence_points_at_a_sentence_that_says_so(tmp_path: Path) -> None:
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


def test_no_cell_of_a_table_is_a_formula(sample: KnowledgeGraph) -> None:
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


def test_hostile_names_do_nothing_in_any_format(tmp_path: Path) -> None:
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


def test_the_command_writes_the_whole_graph(
        sample: KnowledgeGraph, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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


def test_memory_does_not_grow_with_the_graph(tmp_path: Path) -> None:
    code = """
import resource, sys
from qafd.records import node_id
from qafd.storage import open_workspace
from qafd.storage.packing import RELATION, hash_number
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
