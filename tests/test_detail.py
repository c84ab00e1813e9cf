"""The card of a node: what it says of nodes that no sentence names."""

from pathlib import Path

import pytest
from clicks import page, shown

from qafd.app.explore.node import quoted
from qafd.knowledge import KnowledgeGraph
from qafd.storage.rows import Evidence

RECORDS = """\
{"id": "1", "title": "Nordlys", "text": "A small ship left Bergen with Ivar Aasen in 1850."}
{"id": "2", "title": "Ivar Aasen", "text": "Ivar Aasen wrote about Bergen and its dialects."}
{"id": "3", "title": "12", "text": "it rained, and it rained again."}
"""


@pytest.fixture
def unnamed(home: Path) -> KnowledgeGraph:
    """A workspace in which only a title names the ship, and one passage names nothing."""
    knowledge = KnowledgeGraph(home / "ship.db")
    knowledge.add_text("ship.jsonl", RECORDS)
    return knowledge


def test_every_node_has_a_card(unnamed: KnowledgeGraph) -> None:
    for row, node in enumerate(unnamed.graph.ids):
        app = page("explore", ws="ship", q="Which ship left Bergen?", node=node)
        assert unnamed.graph.names[row] in shown(app)


def test_a_name_that_only_a_title_has_shows_the_text_below_it(unnamed: KnowledgeGraph) -> None:
    rows = [row for row, kind in enumerate(unnamed.graph.kinds) if kind == "entity"]
    node = next(unnamed.graph.ids[row] for row in rows if unnamed.graph.names[row] == "Nordlys")
    assert unnamed.evidence([node]) == ()
    text = shown(page("explore", ws="ship", q="Which ship left Bergen?", node=node))
    assert "it stands in the title of" in text
    assert "A small ship left Bergen" in text
    assert "it stands in the title of" in shown(page("graph", ws="ship", find="Nordlys"))


def test_the_columns_of_a_row_are_apart() -> None:
    text = "name: Ada\nborn: 1815"
    row = Evidence("n", "c", "staff.csv", "", text, 40, 40 + len(text), None, "", ((46, 49),))
    assert "name: <mark>Ada</mark> · born: 1815<br>" in quoted(row)
    wrapped = Evidence("n", "c", "d.txt", "", "Ada was\nborn.", 0, 13, None, "", ())
    assert "Ada was born.<br>" in quoted(wrapped)


def test_a_passage_without_names_shows_its_text(unnamed: KnowledgeGraph) -> None:
    graph = unnamed.graph
    node = next(i for i in graph.ids if not unnamed.evidence([i])
                and graph.kinds[graph.row[i]] == "passage")
    text = shown(page("explore", ws="ship", q="Did it rain?", node=node))
    assert "No name was found in this passage" in text
    assert "it rained, and it rained again." in text


def test_with_nothing_chosen_the_card_begins_with_the_answer(unnamed: KnowledgeGraph) -> None:
    said = shown(page("explore", ws="ship", q="Which ship left Bergen?", tab="Code"))
    assert "A small ship left Bergen with Ivar Aasen in 1850." in said
    assert "Nordlys" in said
    none = shown(page("explore", ws="ship", q="What do penguins eat for breakfast?", tab="Code"))
    assert "ot in these documents" in none


def test_the_card_names_words_that_no_passage_has(unnamed: KnowledgeGraph) -> None:
    said = shown(page("explore", ws="ship", q="Which salary had Ivar Aasen in Bergen?", tab="Code"))
    assert "No passage read here has the word salary; they may say it otherwise" in said
