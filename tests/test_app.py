"""Every page without a browser: on the sample, on empty, one-node and edgeless workspaces."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.ui.workspace import path_of

ROOT = Path(__file__).parents[1]
PAGES = ["explore", "documents", "settings"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    monkeypatch.delenv("QAFD_DB", raising=False)
    monkeypatch.chdir(ROOT)
    return tmp_path


def page(name: str, **query: str) -> AppTest:
    """One page, run once with these query parameters."""
    app = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def shown(app: AppTest) -> str:
    """All the text of a page."""
    kinds = ("title", "subheader", "markdown", "caption", "info", "warning", "error", "html")
    return "\n".join(str(getattr(e, "body", None) or e.value)
                     for kind in kinds for e in app.get(kind))


@pytest.mark.parametrize("name", PAGES)
def test_every_page_runs_on_the_sample(name: str, home: Path) -> None:
    app = page(name)
    assert not app.exception
    assert not app.error


def test_explore_says_what_was_retrieved_and_that_it_is_exact(home: Path) -> None:
    text = shown(page("explore"))
    assert "of 1" in text
    assert "nodes retrieved" in text
    assert "exact, gap" in text


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("documents", [
    pytest.param({}, id="empty"),
    pytest.param({"empty.txt": ""}, id="one-empty-document"),
    pytest.param({"plain.txt": "nothing here has a name, so it goes."}, id="one-node"),
    pytest.param({"a.txt": "nothing here has a name, so it goes.",
                  "b.txt": "here it goes again without any of them."}, id="edgeless"),
])
def test_every_page_works_on_small_workspaces(
        name: str, documents: dict[str, str], home: Path) -> None:
    knowledge = KnowledgeGraph.open(home / "small.db")
    for file, text in documents.items():
        knowledge.add_text(file, text)
    app = page(name, ws="small", q="who goes there?")
    assert not app.exception
    assert not app.error


def test_an_empty_workspace_says_what_is_missing_and_offers_it(home: Path) -> None:
    KnowledgeGraph.open(home / "fresh.db")
    app = page("explore", ws="fresh")
    assert "This workspace is empty" in shown(app)
    assert [button.label for button in app.button] == ["Add documents"]


@pytest.mark.parametrize(("question", "expected"), [
    ("xyzzy plugh frotz", "No name in the question is known"),
    ("Wo wurde der Gründer der Firma mit dem Apfel im Jahre 1955 geboren?", "English"),
    ("Steve Jobs " * 1000, "only the first 1,500"),
])
def test_unusual_questions_are_answered_with_a_notice(
        question: str, expected: str, home: Path) -> None:
    app = page("explore", q=question)
    assert not app.exception
    assert expected in shown(app)


def test_an_empty_question_asks_for_one_and_offers_some(home: Path) -> None:
    KnowledgeGraph.open(home / "mine.db")
    KnowledgeGraph(home / "mine.db").add_text(
        "a.txt", "Ada Lovelace met Charles Babbage in London. Ada Lovelace wrote notes.")
    app = page("explore", ws="mine")
    assert "Ask a question" in shown(app)
    offered = [button for button in app.button if "Ada Lovelace" in button.label]
    offered[0].click().run()
    assert "nodes retrieved" in shown(app)


def test_an_error_that_the_user_can_mend_is_one_sentence(home: Path) -> None:
    (home / "broken.db").write_bytes(b"no database at all" * 100)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["ws"] = "broken"
    app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "broken.db" in app.error[0].value.replace("\\", "")


def test_a_link_restores_question_preset_and_mass(home: Path) -> None:
    app = page("explore", q="Which cities lie on the Amazon?", best_mass="12")
    assert app.text_input(key="q").value == "Which cities lie on the Amazon?"
    assert app.slider(key="best_mass").value == 12.0


def test_each_preset_keeps_its_own_values(home: Path) -> None:
    app = page("explore")
    assert app.slider(key="best_seeds").value == 5
    app.segmented_control(key="preset").set_value("paper").run()
    assert app.slider(key="paper_mass").value == 50.0
    assert app.slider(key="paper_seeds").value == 40
    assert not app.exception


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", "a\x00b", ".hidden", "x" * 61])
def test_a_workspace_name_cannot_be_a_path(name: str, home: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be a workspace name"):
        path_of(name)
