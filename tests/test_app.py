"""Every page without a browser: on the sample, on empty, one-node and edgeless workspaces."""

import subprocess
import sys
from pathlib import Path

import pytest
from clicks import page, press
from streamlit.testing.v1 import AppTest

from qafd.app.workspaces import location_of
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.samples import EXAMPLES
from qafd.storage import place_of, size_of

ROOT = Path(__file__).parents[1]


def test_the_first_picture_loads_no_other_page_and_no_library_that_it_does_not_need(home):
    code = """import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
assert app.get("bidi_component") and not app.exception
print(*sys.modules)"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    pages = ("compare", "evaluate", "lab", "learn", "documents", "settings", "graph", "runs",
             "database")
    unwanted = {*(f"qafd.app.{name}" for name in pages), "qafd.lab.sweep", "qafd.learn.cards",
                "numba", "networkx", "openai", "pandas", "pyvis"}
    assert not unwanted & set(run.stdout.split())


def test_an_error_that_the_user_can_mend_is_one_sentence(home):
    (home / "broken.db").write_bytes(b"no database at all" * 100)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["ws"] = "broken"
    app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "broken.db" in app.error[0].value.replace("\\", "")


def test_the_preset_of_the_paper_is_the_same_in_app_and_python(home):
    app = page("explore", ws="songbook", preset="As in the paper")
    knowledge = KnowledgeGraph.sample("songbook", home)
    question = app.text_input(key="q").value
    for params in (knowledge.retrieve(question, "qafd-paper").params,
                   knowledge.explain(question, method="qafd-paper").retrieval.params,
                   knowledge.compare(question, ("qafd-paper", "qafd")).retrievals[
                       "qafd-paper"].params):
        assert params["mass"] == app.slider(key="paper_mass").value
        assert params["seeds"] == app.slider(key="paper_seeds").value
    assert params["seeds"] == (knowledge.graph.kinds == "entity").sum() // 2


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", "a\x00b", ".hidden", "x" * 61, " "])
def test_a_workspace_name_cannot_be_a_path(name, home):
    with pytest.raises(ParameterError, match="cannot be a workspace name"):
        location_of(name)


@pytest.mark.parametrize(("title", "name"), [
    ("R & D", "R & D"), ("  Ärzte  in Köln ", "Ärzte in Köln"), ("AC/DC: live?", "AC-DC- live-"),
    ("...a", "a"), ("x" * 80, "x" * 60)])
def test_any_title_becomes_the_name_of_a_workspace(title, name, home):
    app = page("settings")
    next(box for box in app.text_input if box.label == "New workspace").set_value(title)
    press(app, "Create")
    assert app.sidebar.selectbox[0].value == name
    assert size_of(location_of(name))


def test_changing_the_workspace_starts_its_question_and_parameters_anew(home):
    KnowledgeGraph(home / "tiny.db").add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    app = page("explore", q="Which cities lie on the Amazon?", best_mass="60")
    app.selectbox(key="ws").set_value("tiny").run()
    assert not app.exception
    assert app.text_input(key="q").value == ""
    app.text_input(key="q").set_value("Who met Charles Babbage?").run()
    assert app.slider(key="best_mass").max < 60
    app.selectbox(key="ws").set_value("apple-amazon").run()
    assert app.text_input(key="q").value == EXAMPLES["apple-amazon"][0]
    assert app.slider(key="best_mass").value == 30.0


@pytest.fixture
def two_files(home):
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    knowledge.add_text("bad.pdf", "%PDF-1.4 nothing")
    return knowledge


def states(knowledge):
    with knowledge.store() as store:
        return {f.name: (f.status, f.deleted_at is not None) for f in store.files.all()}


def test_delete_undo_and_retry_do_what_they_say(two_files, monkeypatch):
    from qafd.app.documents.listing import apply

    started = []
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda path, _: started.append(path))
    apply(two_files, "delete", ["ada.txt"])
    assert states(two_files)["ada.txt"] == ("done", True)
    apply(two_files, "undo", ["ada.txt"])
    assert states(two_files)["ada.txt"] == ("done", False)
    assert states(two_files)["bad.pdf"][0] == "failed"
    apply(two_files, "retry", ["bad.pdf"])
    assert states(two_files)["bad.pdf"][0] == "queued"
    assert started == [two_files.url] * 3


def test_pasting_twice_under_one_name_keeps_both_texts(two_files, monkeypatch):
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    for text in ("Grace Hopper met Howard Aiken.", "Alan Turing met Max Newman."):
        app = page("documents", ws="mine")
        app.text_area[0].set_value(text)
        next(b for b in app.button if b.label == "Add the text").click().run()
    assert {"note.txt", "note (2).txt"} <= states(two_files).keys()


def test_wiping_needs_the_name_and_leaves_nothing(two_files):
    app = page("settings", ws="mine")
    wipe = next(b for b in app.button if b.label == "Wipe this workspace")
    assert wipe.disabled
    app.text_input(key="wipe_name").set_value("mine").run()
    next(b for b in app.button if b.label == "Wipe this workspace").click().run()
    assert not app.exception
    assert states(two_files) == {}
    assert len(two_files.graph) == 0


def test_what_a_worker_writes_to_is_not_removed(two_files):
    app = page("settings", ws="mine")
    app.text_input(key="wipe_name").set_value("mine").run()
    with two_files.store() as store, store.lease.hold():
        press(app, "Remove this workspace")
    assert "is indexing mine" in app.error[0].value.replace("\\", "")
    assert size_of(two_files.url)


def test_samples_and_the_named_file_are_not_offered_for_removal(two_files, monkeypatch):
    monkeypatch.setenv("QAFD_DB", two_files.url.removeprefix("sqlite:///"))
    for name in ("mine", "songbook"):
        labels = [b.label for b in page("settings", ws=name).button]
        assert "Wipe this workspace" in labels
        assert "Remove this workspace" not in labels


def test_work_left_by_a_dead_worker_is_taken_up_at_the_next_visit(two_files, monkeypatch):
    from qafd.ingest.jobs import enqueue

    started = []
    monkeypatch.setattr("qafd.app.workspaces.start_worker",
                        lambda path, _: started.append(path))
    with two_files.store() as store:
        enqueue(store, [("late.txt", b"Grace Hopper met Howard Aiken.")])
    AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert [place_of(one).url for one in started] == [two_files.url]
