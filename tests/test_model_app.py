"""Documents and Settings with models behind a loopback endpoint: plan, meter, ledger, vectors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from clicks import page, shown
from faults import FaultServer, serving

from qafd.knowledge import KnowledgeGraph
from qafd.reader import Choice, choose

ROOT = Path(__file__).parents[1]
KEY = "sk-CANARY-0123456789"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    for name in ("QAFD_DB", "OPENAI_API_KEY", "OPENAI_BASE_URL", "QAFD_MODEL", "QAFD_EMBED_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)
    return tmp_path


@pytest.fixture
def embedded(home: Path, server: FaultServer) -> KnowledgeGraph:
    """A workspace whose vectors came from the endpoint."""
    knowledge = KnowledgeGraph.open(home / "mine.db")
    with knowledge.store() as store:
        choose(store, Choice(embedder="vectors", embedder_url=server.url))
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London. London is large.")
    return knowledge


def test_a_workspace_embedded_by_an_endpoint_is_opened_and_asked(
        embedded: KnowledgeGraph, server: FaultServer) -> None:
    before = len(server.bodies)
    app = page("explore", ws="mine", q="Whom did Ada Lovelace meet?", tab="Answer")
    assert not app.error
    assert "Ada Lovelace met Charles Babbage" in shown(app)
    asked = [body["input"] for body in server.bodies[before:]]
    assert len(asked) == 1  # its dimension is known and costs no call
    assert asked[0][0] == "Whom did Ada Lovelace meet?"
    assert "vectors, 4 dimensions" in shown(page("settings", ws="mine"))


def test_python_finds_the_embedder_of_a_workspace_by_itself(embedded: KnowledgeGraph) -> None:
    assert KnowledgeGraph.open(embedded.path).plan("Who met Ada?").embedding.shape == (4,)


def test_another_number_of_dimensions_is_refused_with_the_remedy(
        embedded: KnowledgeGraph, server: FaultServer) -> None:
    server.dimension = 5
    app = page("explore", ws="mine", q="Whom did Ada Lovelace meet?")
    assert "5 numbers where it gave 4 before" in shown(app)
    assert "qafd index --re-embed" in shown(app)
