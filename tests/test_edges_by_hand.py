"""Edges by hand: what diffusions make of them, and that undoing leaves no trace."""

from dataclasses import replace
from pathlib import Path

import pytest

from qafd.curate.entities import entity
from qafd.curate.neighbors import neighbors
from qafd.edits import STRENGTH, Edit, connect_by_hand, edges_by_hand
from qafd.errors import StoreError
from qafd.graph import kind_names
from qafd.ingest import index, refresh
from qafd.knowledge import KnowledgeGraph
from qafd.records import Edge, node_id

TEXTS = {
    "chess.md": "IBM built the Deep Blue computer in New York. Feng-hsiung Hsu worked at IBM.",
    "firm.md": "Thomas Watson led the company in Endicott. Charles Flint met Thomas Watson.",
    "moon.md": "Margaret Hamilton wrote software in Cambridge."}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("built") / "edges.db")
    index(knowledge.url, [(name, text.encode()) for name, text in TEXTS.items()], processes=1)
    with knowledge.store() as store:
        store.compact()
    return Path(knowledge.place.written).read_bytes()


@pytest.fixture
def graph(built, tmp_path):
    (tmp_path / "edges.db").write_bytes(built)
    return KnowledgeGraph.open(tmp_path / "edges.db")


def near(knowledge, name):
    with knowledge.store() as store:
        return {one.name: one for one in neighbors(store, entity(store, name))}


def digest(knowledge):
    with knowledge.store() as store:
        return store.graph.digest()


def kinds(knowledge, one, other):
    """The kinds of the edge between two entities in the graph that diffusions read."""
    graph = knowledge.graph
    u, v = (next(row for row, found in enumerate(graph.names)
                 if found == name and graph.kinds[row] == "entity") for name in (one, other))
    at = graph.entry(u, v)
    return () if at is None else kind_names(int(graph.edge_kinds[at]))


def importance(knowledge, question, name, **params):
    return next((node.importance for node in knowledge.retrieve(question, **params).nodes
                 if node.name == name and node.kind == "entity"), 0.0)


def made(*edits):
    return [Edit(i, action, key, name, "", None, label)
            for i, (action, key, name, label) in enumerate(edits)]


def test_a_later_edit_of_a_pair_counts_more():
    cut = ("cut", "a", "b", "")
    assert edges_by_hand(made(("join", "a", "b", "x"), cut)) == ({}, {frozenset("ab")})
    joined, gone = edges_by_hand(made(cut, ("join", "b", "a", "x"), ("join", "b", "c", "")))
    assert (set(joined), gone) == ({("b", "a", "x"), ("b", "c", "")}, {frozenset("ab")})


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
        store.assembly.drop()
    refresh(graph.url)
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


@pytest.mark.parametrize(("similarity", "stronger"), [(0.7, 0.7), (0.2, STRENGTH)])
def test_an_edge_by_hand_never_weakens_that_of_the_documents(similarity, stronger):
    a, b = (node_id("entity", key) for key in "ab")
    said = Edge(a, b, "relation", similarity, "met", 2, (("chunk", 0), ("chunk", 3)))
    edit = made(("join", "a", "b", "met"))
    assert set(connect_by_hand([said], "ab", edit)) == {
        replace(said, similarity=stronger), Edge(a, b, "by_hand", STRENGTH, "met")}
    assert connect_by_hand([said], "a", edit) == [said]
