"""The card of a node: what it says of nodes that no sentence names."""

from pathlib import Path

import pytest
from clicks import page, shown

from qafd.knowledge import KnowledgeGraph

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
