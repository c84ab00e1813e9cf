"""What models and files say of entities and relations: in their words, with who wrote it."""

import re
from pathlib import Path

import pytest
from clicks import page, shown
from faults import FaultServer
from streamlit.testing.v1 import AppTest
from tiny import TinyEmbedder, TinyExtractor

from qafd.app.picture import SEPARATOR
from qafd.assemble import node_id
from qafd.curate.descriptions import Remark, remarks
from qafd.ingest import index
from qafd.ingest.imports import ImportedEdge, ImportedGraph, ImportedNode
from qafd.ingest.reader import ModelChoice, choose
from qafd.knowledge import KnowledgeGraph
from qafd.storage import open_workspace

ADA, BOB = node_id("entity", "ada"), node_id("entity", "bob")


def answering(body: dict) -> str:
    """Says the same of Ada everywhere, and something else of Ada and Bob in each passage."""
    passage = body["messages"][1]["content"].split("\n\n", 1)[-1]
    number = "second" if "again" in passage else "first"
    records = ['("entity"<|>Ada<|>person<|>A <b>mathematician</b>.)',
               '("entity"<|>Bob<|>person<|>)',
               f'("relationship"<|>Bob<|>Ada<|>The {number} meeting.<|>meeting, friends<|>7)']
    return "##".join(records) + "<|COMPLETE|>"


pytestmark = pytest.mark.replies(reply=answering)


@pytest.fixture
def read(path: Path, server: FaultServer) -> Path:
    with open_workspace(path) as store:
        choose(store, ModelChoice("org/tiny", server.url))
    index(path, [("a.txt", b"Ada met Bob."), ("b.txt", b"Ada met Bob again.")],
          extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)
    return path


def test_equal_descriptions_are_one_with_the_first_passage(read: Path) -> None:
    with open_workspace(read) as store:
        said = remarks(store, ADA)
        (about,) = said[""]
        assert (about.text, about.model, about.document, about.more) == (
            "A <b>mathematician</b>.", "org/tiny", "a.txt", 1)
        assert (about.author, about.place, about.others) == (
            "Written by org/tiny, of", "a.txt", "and 1 other passage")


def test_a_relation_is_described_at_both_its_ends_with_keywords_and_strength(read: Path) -> None:
    with open_workspace(read) as store:
        assert remarks(store, ADA)[BOB] == remarks(store, BOB)[ADA]
        first, second = remarks(store, ADA)[BOB]
        assert "" not in remarks(store, BOB)
    assert (first.text, second.text) == ("The first meeting.", "The second meeting.")
    assert (first.document, second.document) == ("a.txt", "b.txt")
    assert first.facts == "keywords: meeting, friends · strength 7 of 10"


def test_what_is_said_of_a_name_follows_it_through_edits(read: Path) -> None:
    with open_workspace(read) as store:
        store.edits.add("same", "bob", "Robert")
    index(read, [], extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)
    with open_workspace(read) as store:
        robert = node_id("entity", "robert")
        assert [r.text for r in remarks(store, robert)[ADA]] == [
            "The first meeting.", "The second meeting."]
        assert robert in remarks(store, ADA)
        assert BOB not in remarks(store, ADA)


def test_a_deleted_document_takes_its_descriptions_along(read: Path) -> None:
    with open_workspace(read) as store:
        store.documents.delete("a.txt")
        assert [r.document for r in remarks(store, ADA)[BOB]] == ["b.txt"]


def test_a_file_of_a_graph_is_named_as_the_source(tmp_path: Path) -> None:
    graph = ImportedGraph("a test", (
        ImportedNode("1", "Steve Jobs", description="Sold computers."), ImportedNode("2", "Apple")),
        (ImportedEdge("1", "2", "founded", "In 1976.", 8.0),))
    (tmp_path / "g.json").write_bytes(graph.to_json())
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.import_graph(tmp_path / "g.json", processes=1)
    with knowledge.store() as store:
        said = remarks(store, node_id("entity", "steve jobs"))
    (about,), (relation,) = said[""], said[node_id("entity", "apple")]
    assert (about.text, about.model) == ("Sold computers.", "")
    assert (about.author, about.place, about.others) == (
        "From the file of a graph,", "g.json#1", "")
    # its weight is a multiple of the mean, no strength from 1 to 10
    assert (relation.text, relation.facts) == ("In 1976.", "")


def test_passages_and_local_readings_have_no_remarks(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph(tmp_path / "w.db")
    knowledge.add_text("a.txt", "Ada Lovelace met Charles Babbage in London.")
    with knowledge.store() as store:
        assert [remarks(store, node) for node in (*knowledge.graph.ids, "none")] == [{}] * (
            len(knowledge.graph) + 1)


def test_the_page_of_a_remark_is_told() -> None:
    one = Remark("Text.", "m", "a.pdf", "A", 3, "c", more=2)
    assert (one.place, one.others) == ("a.pdf, page 3", "and 2 other passages")


def test_the_card_shows_them_as_text(home: Path, read: Path) -> None:
    read.rename(home / "read.db")
    app = page("graph", ws="read", find="Ada")
    assert not app.exception
    card = cards(app)
    assert "A &lt;b&gt;mathematician&lt;/b&gt;." in card
    assert re.search("Written by org/tiny, of <a href='documents[^>]*>a.txt</a> and 1 other", card)
    assert "The second meeting." in card
    assert "keywords: meeting, friends" in card
    assert "<b>mathematician" not in shown(app)


def test_explore_shows_them_on_the_cards_of_a_name_and_of_an_edge(home: Path) -> None:
    graph = ImportedGraph("a test", (
        ImportedNode("1", "Steve Jobs", description="Sold <i>computers</i>."),
        ImportedNode("2", "Apple", description="Makes computers.")),
        (ImportedEdge("1", "2", "founded", "In 1976.", 2.0),))
    (home / "g.json").write_bytes(graph.to_json())
    KnowledgeGraph(home / "jobs.db").import_graph(home / "g.json", processes=1)
    jobs, apple = node_id("entity", "steve jobs"), node_id("entity", "apple")
    ask = {"ws": "jobs", "q": "What did Steve Jobs found?"}
    name = page("explore", **ask, node=jobs)
    assert not name.exception
    assert "<i>Sold &lt;i&gt;computers&lt;/i&gt;.</i>" in cards(name)
    assert "From the file of a graph," in cards(name)
    edge = page("explore", **ask, line=SEPARATOR.join((jobs, apple)))
    assert not edge.exception
    assert "<i>In 1976.</i>" in cards(edge)


def cards(app: AppTest) -> str:
    return "\n".join(e.proto.body for e in app.get("html"))
