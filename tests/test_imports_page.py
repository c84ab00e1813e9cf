"""The tab Graph file of the page Documents."""

from pathlib import Path

import pytest
from clicks import page, press, shown

from qafd.knowledge import KnowledgeGraph

EDGES = b"from,to,relation,year\nAda,Engine,described,1843\nBabbage,Engine,built,\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeGraph:
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    return KnowledgeGraph.open(tmp_path / "mine.db")


def test_a_graph_is_shown_before_it_is_added_and_then_waits_for_the_worker(
        mine: KnowledgeGraph) -> None:
    app = page("documents", ws="mine")
    app.get("file_uploader")[-1].set_value([("edges.csv", EDGES, "text/csv")]).run()
    assert "CSV, 3 nodes (none with a description), 2 edges (all with a label" in shown(app)
    assert "Attributes that were not read: year." in shown(app)
    press(app, "Add the graph")
    assert not app.exception
    assert not any(button.label == "Add the graph" for button in app.button)
    with mine.store() as store:
        assert [(file.name, file.status) for file in store.files.all()] == [("edges.csv", "queued")]
        (_, data), = store.files.unread()
    assert data.startswith(b'{"graph": {"format": "CSV"')
