"""Edges by hand: what diffusions make of them, and that undoing leaves no trace."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clicks import page, press, shown

from qafd import export
from qafd.assemble import Assembly, node_id
from qafd.cli import main
from qafd.curate.entities import entity
from qafd.curate.neighbors import Neighbor, added, disconnect, neighbors
from qafd.doctor import doctor
from qafd.edits import STRENGTH, Edit, connect_by_hand, edges_by_hand
from qafd.errors import ParameterError, StoreError
from qafd.graph import kind_names
from qafd.ingest import refresh
from qafd.knowledge import KnowledgeGraph
from qafd.records import Edge, Node
from qafd.retrieve import METHODS
from qafd.storage import open_workspace
from qafd.storage.sqlite import opening, schema, tables
from qafd.wording.explanations import say_path

TEXTS = {
    "chess.md": "IBM built the Deep Blue computer in New York. Feng-hsiung Hsu worked at IBM.",
    "firm.md": "Thomas Watson led the company in Endicott. Charles Flint met Thomas Watson.",
    "moon.md": "Margaret Hamilton wrote software in Cambridge."}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("built") / "edges.db")
    for name, text in TEXTS.items():
        knowledge.add_text(name, text)
    with knowledge.store() as store:
        store.compact()
    return knowledge.path.read_bytes()


@pytest.fixture
def graph(built: bytes, tmp_path: Path) -> KnowledgeGraph:
    (tmp_path / "edges.db").write_bytes(built)
    return KnowledgeGraph.open(tmp_path / "edges.db")


def near(knowledge: KnowledgeGraph, name: str) -> dict[str, Neighbor]:
    with knowledge.store() as store:
        return {one.name: one for one in neighbors(store, entity(store, name))}


def digest(knowledge: KnowledgeGraph) -> str:
    with knowledge.store() as store:
        return store.graph.digest()


def kinds(knowledge: KnowledgeGraph, one: str, other: str) -> tuple[str, ...]:
    """The kinds of the edge between two entities in the graph that diffusions read."""
    graph = knowledge.graph
    u, v = (next(row for row, found in enumerate(graph.names)
                 if found == name and graph.kinds[row] == "entity") for name in (one, other))
    at = graph.entry(u, v)
    return () if at is None else kind_names(int(graph.edge_kinds[at]))


def importance(knowledge: KnowledgeGraph, question: str, name: str, **params: object) -> float:
    return next((node.importance for node in knowledge.retrieve(question, **params).nodes
                 if node.name == name and node.kind == "entity"), 0.0)


def made(*edits: tuple[str, str, str, str]) -> list[Edit]:
    return [Edit(i, action, key, name, "", None, label)
            for i, (action, key, name, label) in enumerate(edits)]


def test_a_later_edit_of_a_pair_counts_more():
    cut = ("cut", "a", "b", "")
    assert edges_by_hand(made(("join", "a", "b", "x"), cut)) == ({}, {frozenset("ab")})
    joined, gone = edges_by_hand(made(cut, ("join", "b", "a", "x"), ("join", "b", "c", "")))
    assert (set(joined), gone) == ({("b", "a", "x"), ("b", "c", "")}, {frozenset("ab")})


def test_edges_follow_an_entity_through_its_names():
    joined, gone = edges_by_hand(made(
        ("join", "a", "b", "x"), ("cut", "a", "c", ""), ("same", "a", "D", "")))
    assert (set(joined), gone) == ({("d", "b", "x")}, {frozenset("dc")})
    assert edges_by_hand(made(("join", "a", "b", "x"), ("same", "a", "B", ""))) == ({}, set())


@pytest.mark.parametrize("params", [{}, {"layer": "entities", "seeds": 0, "mass": 3}])
def test_an_added_edge_carries_flow_on_either_layer(graph, params):
    question = "Where did Margaret Hamilton work?"
    assert importance(graph, question, "Thomas Watson", **params) == 0
    graph.connect("margaret hamilton", "Thomas Watson", "admired", "her letters")
    assert kinds(graph, "Margaret Hamilton", "Thomas Watson") == ("relation", "by_hand")
    assert importance(graph, question, "Thomas Watson", **params) > 0
    (edge,) = (e for e in graph.retrieve(question, **params).edges if e.label == "admired")
    assert edge.kind == "relation"
    with graph.store() as store:
        assert [e.similarity for e in store.graph.edges([edge.source]) if e.label == "admired"] == [
            STRENGTH] * 2


def test_a_removed_edge_is_gone_and_stays_away(graph):
    assert "relation" in kinds(graph, "Charles Flint", "Thomas Watson")
    graph.disconnect("Thomas Watson", "charles flint")
    assert kinds(graph, "Charles Flint", "Thomas Watson") == ()
    graph.add_text("more.md", "Charles Flint hired Thomas Watson in 1914.")
    assert kinds(graph, "Charles Flint", "Thomas Watson") == ()
    with graph.store() as store:
        store.graph.drop()
    refresh(graph.path)
    assert kinds(graph, "Charles Flint", "Thomas Watson") == ()
    assert "Charles Flint" not in near(graph, "Thomas Watson")


def test_undoing_gives_back_the_graph_that_was(graph):
    before = digest(graph)
    numbers = [graph.connect("IBM", "Thomas Watson", "was led by"),
               graph.disconnect("Thomas Watson", "Charles Flint"),
               graph.disconnect("IBM", "Thomas Watson"),
               graph.connect("Thomas Watson", "Charles Flint", "hired")]
    assert kinds(graph, "Charles Flint", "Thomas Watson") == ("relation", "by_hand")
    assert kinds(graph, "IBM", "Thomas Watson") == ()
    for number in numbers:
        assert digest(graph) != before
        graph.undo_edit(number)
    assert digest(graph) == before
    assert all(edit.undone_at for edit in graph.edits)
    with pytest.raises(StoreError, match="no edit 1"):
        graph.undo_edit(numbers[0])


def test_an_edit_waits_while_no_document_has_its_entity(graph, tmp_path):
    graph.connect("IBM", "Margaret Hamilton", "hired")
    graph.disconnect("Thomas Watson", "Charles Flint")
    edited = digest(graph)
    with graph.store() as store:
        for name in ("moon.md", "firm.md"):
            store.documents.delete(name)
    graph.undo_edit(graph.rename("IBM", "Big Blue"))
    alone = KnowledgeGraph.open(tmp_path / "alone.db")
    alone.add_text("chess.md", TEXTS["chess.md"])
    assert digest(graph) == digest(alone)
    assert "Margaret Hamilton" not in near(graph, "IBM")
    with graph.store() as store:
        for name in ("moon.md", "firm.md"):
            store.documents.undo(name)
    graph.undo_edit(graph.rename("IBM", "Big Blue"))
    assert digest(graph) == edited


def test_the_order_of_documents_leaves_no_trace_in_an_edited_graph(graph, tmp_path):
    graph.connect("IBM", "Thomas Watson", "was led by", "the archive")
    graph.disconnect("Thomas Watson", "Charles Flint")
    other = KnowledgeGraph.open(tmp_path / "other.db")
    for name in reversed(TEXTS):
        other.add_text(name, TEXTS[name])
    other.disconnect("Charles Flint", "Thomas Watson")
    other.connect("IBM", "Thomas Watson", "was led by", "hearsay")
    assert digest(graph) == digest(other)
    assert all(check.ok for check in doctor(graph.path, deep=True))


def test_an_edge_of_the_documents_keeps_its_sentences_when_it_is_added_too(graph):
    (said,) = near(graph, "Charles Flint")["Thomas Watson"].labels
    label = said.strip("→← ")
    ends = (("Charles Flint", "Thomas Watson") if said.endswith("→")
            else ("Thomas Watson", "Charles Flint"))
    graph.connect(*ends, label)
    both = near(graph, "Charles Flint")["Thomas Watson"]
    assert (both.labels, both.sentences, len(both.joined)) == ((said,), 1, 1)
    assert both.evidence == "Charles Flint met Thomas Watson."


def test_neighbors_say_what_they_rest_on(graph):
    graph.connect("IBM", "Thomas Watson", "was led by", "the archive")
    graph.connect("Charles Flint", "IBM", "founded")
    there = near(graph, "IBM")
    assert list(there)[:2] == ["Charles Flint", "Thomas Watson"]
    assert there["Thomas Watson"].labels == ("was led by →",)
    assert there["Charles Flint"].labels == ("← founded",)
    assert there["Thomas Watson"].joined[0].note == "the archive"
    assert (there["Deep Blue"].sentences, there["Deep Blue"].joined) == (1, ())
    assert there["Deep Blue"].evidence == "IBM built the Deep Blue computer in New York."


def test_a_merged_entity_keeps_the_edges_of_both(graph):
    graph.connect("Margaret Hamilton", "Charles Flint", "met")
    number = graph.rename("Charles Flint", "Thomas Watson")
    assert near(graph, "Thomas Watson")["Margaret Hamilton"].labels == ("← met",)
    graph.undo_edit(number)
    assert near(graph, "Charles Flint")["Margaret Hamilton"].labels == ("← met",)


def test_what_cannot_be_connected_or_removed_says_why(graph):
    for refused, why in (
            (lambda: graph.connect("IBM", "Nobody"), "no entity called 'Nobody'"),
            (lambda: graph.connect("IBM", "ibm"), "connected to itself"),
            (lambda: graph.disconnect("IBM", "Margaret Hamilton"), "no edge joins"),
            (lambda: graph.disconnect("Nobody", "IBM"), "no entity called 'Nobody'")):
        with pytest.raises(ParameterError, match=why):
            refused()
    graph.connect("IBM", "Thomas Watson", "was\nled  by")
    with pytest.raises(ParameterError, match="like this already"):
        graph.connect("IBM", "Thomas Watson", "was led by")
    graph.disconnect("IBM", "Thomas Watson")
    with pytest.raises(ParameterError, match="no edge joins"):
        graph.disconnect("Thomas Watson", "IBM")


def test_a_workspace_of_the_schema_before_keeps_its_edits(tmp_path):
    path = tmp_path / "old.db"
    with closing(opening.connect(path)) as connection:
        schema.migrate(connection, path, tables.STEPS[:5])
        connection.execute("INSERT INTO edits VALUES (3, 'hide', 'a', '', 'then', NULL)")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO edits VALUES (4, 'join', 'a', 'b', 'then', NULL)")
    with open_workspace(path) as store:
        assert store.edits.all() == (Edit(3, "hide", "a", "", "then"),)
        assert store.edits.add("join", "a", "b", "x", "y") == 4
        assert (store.edits.all()[1].label, store.edits.all()[1].note) == ("x", "y")
        with pytest.raises(sqlite3.IntegrityError):
            store.edits.add("else", "a")


def test_a_workspace_from_before_types_by_hand_keeps_its_edits(tmp_path):
    path = tmp_path / "old.db"
    with closing(opening.connect(path)) as connection:
        schema.migrate(connection, path, tables.STEPS[:6])
        connection.execute(
            "INSERT INTO edits VALUES (3, 'join', 'a', 'b', 'then', 'later', 'met', 'why')")
    with open_workspace(path) as store:
        assert store.edits.add("type", "a", "PERSON") == 4
        assert store.edits.all()[0] == Edit(3, "join", "a", "b", "then", "later", "met", "why")


def test_an_edge_by_hand_is_told_where_a_sentence_would_be_quoted(graph):
    graph.connect("Margaret Hamilton", "Thomas Watson", "admired", "her letters. Added by hand.")
    explanation = graph.explain("Where did Margaret Hamilton work?")
    (inflow,) = (one for one in explanation.why("Thomas Watson").inflows
                 if one.name == "Margaret Hamilton")
    today = graph.edits[0].made_at[:10]
    said = (f"Margaret Hamilton — admired → Thomas Watson. Added by hand, {today}: "
            "her letters. Added by hand.")
    assert (inflow.sentences, inflow.added, inflow.kind) == ((), said, "relation")
    assert "Margaret Hamilton — admired (added by hand) → Thomas Watson" in {
        say_path(path) for path in explanation.paths(20).paths}
    with graph.store() as store:
        watson = next(i for i, text in added(store, inflow.id).items() if text == said)
        assert added(store, watson) == {inflow.id: said}
    graph.rename("Thomas Watson", "T. J. Watson")
    with graph.store() as store:
        (words,) = added(store, inflow.id).values()
    assert words.startswith("Margaret Hamilton — admired → T. J. Watson.")


def test_exports_and_answers_take_an_edge_without_a_sentence(graph):
    graph.connect("Margaret Hamilton", "Thomas Watson", "admired", "<b>&")
    question = "Where did Margaret Hamilton work?"
    for method in METHODS:
        if not METHODS[method].needs:
            graph.retrieve(question, method)
    found = graph.retrieve(question)
    assert "admired" in export.edges_csv(found)
    assert "admired" in export.graphml(found)
    assert "admired" in graph.draft(found).messages[-1].content
    assert graph.answer(found).sentences
    without = graph.explain(found).what_if(graph.explain(found).change(
        edges=[("Margaret Hamilton", "Thomas Watson")]))
    assert "Thomas Watson" in {node.name for node in without.lost}


def test_the_command_line_adds_removes_and_undoes(graph, capsys):
    db = ["--db", str(graph.path)]
    assert main(["edit", "--connect", "IBM", "Thomas Watson", "--label", "was led by",
                 "--note", "the archive", *db]) == 0
    assert "join    ibm  ->  thomas watson  (was led by)  (the archive)" in capsys.readouterr().out
    assert main(["entities", "--near", "IBM", "watson", *db]) == 0
    assert "was led by →" in capsys.readouterr().out
    assert main(["why", "What did IBM build?", "Thomas Watson", *db]) == 0
    assert "IBM — was led by → Thomas Watson. Added by hand" in capsys.readouterr().out
    assert main(["edit", "--disconnect", "Thomas Watson", "IBM", "--json", *db]) == 0
    edits = json.loads(capsys.readouterr().out)
    assert [(edit["action"], edit["label"]) for edit in edits] == [("join", "was led by"),
                                                                   ("cut", "")]
    assert main(["entities", "--near", "IBM", "watson", *db]) == 3
    assert main(["edit", "--undo", "2", *db]) == 0
    assert main(["entities", "--near", "IBM", "watson", "--json", *db]) == 0
    capsys.readouterr()
    assert main(["edit", "--disconnect", "IBM", "Margaret Hamilton", *db]) == 2
    assert "no edge joins" in capsys.readouterr().err
    assert main(["edit", "--note", "why", *db]) == 2


def test_the_page_connects_removes_and_takes_it_back(graph, home):
    (home / "edges.db").write_bytes(graph.path.read_bytes())
    knowledge = KnowledgeGraph.open(home / "edges.db")
    app = page("graph", ws="edges", find="Margaret Hamilton")
    choice, label, note = (
        next(one for one in found if one.label == name) for found, name in (
            (app.selectbox, "Connect to"), (app.text_input, "How it is related to that"),
            (app.text_input, "Note")))
    choice.set_value("Thomas Watson")
    label.set_value("<i>admired")
    note.set_value("_letters_")
    press(app, "Connect")
    refresh(knowledge.path)
    assert "by_hand" in kinds(knowledge, "Margaret Hamilton", "Thomas Watson")
    app = page("graph", ws="edges", find="Margaret Hamilton")
    assert "&lt;i&gt;admired → <b>Thomas Watson</b>" in shown(app)
    press(app, "Remove")
    refresh(knowledge.path)
    assert kinds(knowledge, "Margaret Hamilton", "Thomas Watson") == ()
    with knowledge.store() as store:
        store.documents.delete("firm.md")
    refresh(knowledge.path)
    app = page("graph", ws="edges", part="Edits")
    assert "No edge joins “Margaret Hamilton” and “thomas watson”" in shown(app)
    assert "waits until a document names “thomas watson”" in shown(app)
    press(app, "Undo")
    assert [edit.undone_at is None for edit in knowledge.edits] == [True, False]


def test_explore_tells_of_an_edge_by_hand(graph, home):
    graph.connect("Margaret Hamilton", "Thomas Watson", "admired", "<b>letters")
    (home / "edges.db").write_bytes(graph.path.read_bytes())
    node = next(i for i, name in zip(graph.graph.ids, graph.graph.names, strict=True)
                if name == "Thomas Watson")
    app = page("explore", ws="edges", q="Where did Margaret Hamilton work?", node=node, tab="Why")
    said = "Margaret Hamilton — admired → Thomas Watson. Added by hand"
    assert shown(app).count(said) == 2  # in the card and under its inflow
    assert "&lt;b&gt;letters" in shown(app)


def test_what_was_removed_is_not_listed_before_the_graph_has_followed(graph):
    with graph.store() as store:
        flint = entity(store, "Charles Flint")
        disconnect(store, "Thomas Watson", "Charles Flint")
        assert "Thomas Watson" not in {one.name for one in neighbors(store, flint)}
        with pytest.raises(ParameterError, match="no edge joins"):
            disconnect(store, "Charles Flint", "Thomas Watson")


@pytest.mark.parametrize(("similarity", "stronger"), [(0.7, 0.7), (0.2, STRENGTH)])
def test_an_edge_by_hand_never_weakens_that_of_the_documents(similarity, stronger):
    a, b = (Node(node_id("entity", key), "entity", key, key) for key in "ab")
    said = Edge(a.id, b.id, "relation", similarity, "met", 2, (("chunk", 0), ("chunk", 3)))
    nothing = np.zeros((2, 0), np.float32)
    found = connect_by_hand(Assembly((a, b), (said,), nothing, nothing), made(("join", "a", "b", "met")))
    assert set(found.edges) == {replace(said, similarity=stronger),
                                Edge(a.id, b.id, "by_hand", STRENGTH, "met")}


def test_the_label_by_hand_is_the_one_that_is_drawn(graph):
    for ends in (("Charles Flint", "Thomas Watson"), ("Thomas Watson", "Charles Flint")):
        number = graph.connect(*ends, "aardvark")
        with graph.store() as store:
            ids = [entity(store, name).id for name in ends]
            assert store.graph.labels(ids) == {frozenset(ids): "aardvark"}
        graph.undo_edit(number)
