"""Every page without a browser: on the sample, on empty, one-node and edgeless workspaces."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from clicks import page, press, shown
from streamlit.testing.v1 import AppTest

from qafd.app.escaping import said
from qafd.app.workspaces import path_of
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.qafd import PRESETS

ROOT = Path(__file__).parents[1]
PAGES = ["explore", "evaluate", "graph", "runs", "documents", "settings"]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_runs_on_the_sample(name: str, home: Path) -> None:
    app = page(name)
    assert not app.error


def test_the_first_picture_loads_no_other_page_and_no_library_that_it_does_not_need(
        home: Path) -> None:
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
                "numba", "networkx", "openai", "pandas", "pyvis", "spacy", "sqlite_utils"}
    assert not unwanted & set(run.stdout.split())


def test_explore_says_what_was_retrieved_and_that_it_is_exact(home: Path) -> None:
    text = shown(page("explore"))
    assert "of 1" in text
    assert "nodes retrieved" in text
    assert "exact (checked)" in text


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
    assert not app.error


def test_an_empty_workspace_says_what_is_missing_and_offers_it(home: Path) -> None:
    KnowledgeGraph.open(home / "fresh.db")
    app = page("explore", ws="fresh")
    assert "This workspace is empty" in shown(app)
    assert [link.proto.label for link in app.get("page_link")] == ["Add documents"]


@pytest.mark.parametrize(("question", "expected"), [
    ("xyzzy plugh frotz", "No name in the question is known"),
    ("Wo wurde der Gründer der Firma mit dem Apfel im Jahre 1955 geboren?", "English"),
    ("Steve Jobs " * 1000, "only the first 1,500"),
])
def test_unusual_questions_are_answered_with_a_notice(
        question: str, expected: str, home: Path) -> None:
    app = page("explore", q=question)
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
    app.radio(key="preset").set_value("paper").run()
    assert app.slider(key="paper_seeds").value == 40
    assert not app.exception


def test_the_preset_of_the_paper_retrieves_something_of_a_single_document(home: Path) -> None:
    KnowledgeGraph.open(home / "tiny.db").add_text(
        "ada.txt", "Ada Lovelace met Charles Babbage in London. Charles Babbage worked with "
        "Joseph Clement. Joseph Clement was born in Cumbria. Ada Lovelace married William King.")
    app = page("explore", ws="tiny", q="Whom did Ada Lovelace meet?", preset="As in the paper")
    found = re.search(r"(\d+) of (\d+) nodes retrieved", shown(app))
    assert found is not None
    assert 0 < int(found[1]) < int(found[2])


def test_the_mass_ends_where_all_is_full_and_a_link_may_go_beyond(home: Path) -> None:
    app = page("explore", preset="As in the paper")
    mass = app.slider(key="paper_mass")
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    question = "Introduce Steve Jobs's products in Apple."

    def retrieved(alpha: float) -> int:
        found = knowledge.retrieve(question, replace(PRESETS["paper"].method, mass=alpha))
        return sum(n.state == "saturated" for n in found.nodes)

    assert 0 < retrieved(mass.value) < retrieved(mass.max) == retrieved(100.0)
    assert retrieved(mass.max - 0.1) < retrieved(mass.max)
    linked = page("explore", preset="As in the paper", paper_mass="50")
    assert linked.slider(key="paper_mass").value == 50.0
    assert not linked.toast


def test_the_preset_of_the_paper_is_the_same_in_app_and_python(home: Path) -> None:
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


def test_the_mass_of_the_paper_follows_the_seeds_until_it_is_moved(home: Path) -> None:
    app = page("explore", preset="As in the paper")
    mass, seeds = app.slider(key="paper_mass"), app.slider(key="paper_seeds")
    # Each seed is full of its own mass at 1; a quarter of the way from there to the end.
    assert mass.value == pytest.approx(1 + (mass.max - 1) / 4, abs=0.011)
    graph = KnowledgeGraph.sample("apple-amazon", home).graph
    assert seeds.max == (graph.kinds == "entity").sum()
    seeds.set_value(seeds.max).run()
    # Where every name is a seed, all is full at 1.
    assert app.slider(key="paper_mass").max == pytest.approx(1.0)
    assert app.slider(key="paper_mass").value == pytest.approx(1.0)


@pytest.mark.parametrize("rule", ["volume", "paper-literal"])
@pytest.mark.parametrize("preset", ["paper", "tokens"])
def test_presets_show_a_picture_by_the_rules_that_refuse_too_much(
        preset: str, rule: str, home: Path) -> None:
    app = page("explore", preset=PRESETS[preset].label, **{f"{preset}_rule": rule})
    assert not app.error
    assert "nodes retrieved" in shown(app)
    slider = app.slider(key=f"{preset}_mass_{rule}")
    slider.set_value(slider.max).run()
    assert not app.error
    assert "nodes retrieved" in shown(app)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", "a\x00b", ".hidden", "x" * 61])
def test_a_workspace_name_cannot_be_a_path(name: str, home: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be a workspace name"):
        path_of(name)


def test_changing_the_workspace_starts_its_question_and_parameters_anew(home: Path) -> None:
    KnowledgeGraph(home / "tiny.db").add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    app = page("explore", q="Which cities lie on the Amazon?", best_mass="60")
    app.selectbox(key="ws").set_value("tiny").run()
    assert not app.exception
    assert app.text_input(key="q").value == ""
    assert app.slider(key="best_mass").max < 60
    app.selectbox(key="ws").set_value("apple-amazon").run()
    assert app.text_input(key="q").value == "Introduce Steve Jobs's products in Apple."
    assert app.slider(key="best_mass").value == 30.0


def test_an_unknown_workspace_in_a_link_is_said_and_the_others_offered(home: Path) -> None:
    KnowledgeGraph.open(home / "mine_2.db")
    app = page("explore", ws="nobody-made-this", q="Who taught the finder of lanthanum?")
    assert app.error[0].value.replace("\\", "").startswith(
        "There is no workspace 'nobody-made-this' here")
    offered = [button.label.replace("\\", "") for button in app.button
               if (button.key or "").startswith("instead ")]
    assert offered == ["apple-amazon", "songbook", "elements", "mine_2"]
    app.button(key="instead elements").click().run()
    assert not app.error
    assert app.selectbox(key="ws").value == "elements"
    assert app.text_input(key="q").value == "Who taught the finder of lanthanum?"
    assert "nodes retrieved" in shown(app)


def test_the_workspace_that_the_box_shows_can_be_chosen_instead(home: Path) -> None:
    app = page("explore", ws="gone", q="Which cities lie on the Amazon?")
    press(app, "apple\\-amazon")
    assert not app.error
    assert "nodes retrieved" in shown(app)


@pytest.mark.parametrize(("given", "expected"), [
    ("this graph has no embeddings", "This graph has no embeddings"),
    ("broken.db is no workspace", "broken.db is no workspace"),
    ("'x' is 5", "'x' is 5"), ("50 units of mass", "50 units of mass")])
def test_an_error_begins_with_a_capital_unless_with_a_name(given: str, expected: str) -> None:
    assert said(ParameterError(given)).replace("\\", "") == expected


def test_documents_says_what_is_a_sample_and_makes_a_workspace(home: Path) -> None:
    app = page("documents", ws="songbook")
    assert "songbook is a sample: what you add here becomes part of your copy" in shown(app)
    next(t for t in app.text_input if t.label == "New workspace").set_value("mine")
    press(app, "Create")
    assert app.selectbox(key="ws").value == "mine"
    assert "is a sample" not in shown(app)
    assert "No documents yet" in shown(app)


@pytest.mark.parametrize(("rule", "label"), [
    ("volume", "Source mass alpha"), ("source-degree", "Source mass alpha"),
    ("source-unit", "Source mass alpha"), ("path", "Source mass alpha"),
    ("budget", "Source mass (fills at most this many nodes)")])
def test_every_source_rule_has_a_control_in_its_own_words_and_works(
        rule: str, label: str, home: Path) -> None:
    app = page("explore")
    app.selectbox(key="best_rule").set_value(rule).run()
    assert not app.exception
    assert label in [slider.label for slider in app.slider]
    assert "nodes retrieved" in shown(app)


def test_keyword_seeding_is_labeled_as_algorithm_1(home: Path) -> None:
    app = page("explore")
    app.selectbox(key="best_seeding").set_value("keywords").run()
    assert "Seeds N" in [slider.label for slider in app.slider]


def test_the_status_line_counts_the_tokens_of_what_was_retrieved(home: Path) -> None:
    app = page("explore")
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    graph = knowledge.graph
    full = [n for n in knowledge.retrieve("Introduce Steve Jobs's products in Apple.").nodes
            if n.state == "saturated"]
    tokens = sum(int(graph.tokens[graph.row[n.id]]) for n in full)
    assert f"{len(full)} of {len(graph)} nodes retrieved" in shown(app)
    assert f"· {tokens:,} tokens ·" in shown(app)


def test_notices_of_plan_and_retrieval_are_shown_once(home: Path) -> None:
    app = page("explore", q="xyzzy plugh frotz")
    assert shown(app).count("No name in the question") == 1


def test_code_of_the_view_names_the_mass_that_was_used(home: Path) -> None:
    app = page("explore", tab="Code", best_mass="12")
    assert "mass=12.0" in app.code[0].value
    assert "--mass 12" in app.code[1].value


@pytest.fixture
def two_files(home: Path) -> KnowledgeGraph:
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    knowledge.add_text("bad.pdf", "%PDF-1.4 nothing")
    return knowledge


def states(knowledge: KnowledgeGraph) -> dict[str, tuple[str, bool]]:
    with knowledge.store() as store:
        return {f.name: (f.status, f.deleted_at is not None) for f in store.files.all()}


def test_delete_undo_and_retry_do_what_they_say(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    from qafd.app.documents.listing import apply

    started: list[Path] = []
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda path, _: started.append(path))
    apply(two_files, "delete", ["ada.txt"])
    assert states(two_files)["ada.txt"] == ("done", True)
    apply(two_files, "undo", ["ada.txt"])
    assert states(two_files)["ada.txt"] == ("done", False)
    assert states(two_files)["bad.pdf"][0] == "failed"
    apply(two_files, "retry", ["bad.pdf"])
    assert states(two_files)["bad.pdf"][0] == "queued"
    assert started == [two_files.path] * 3


def test_undo_without_a_choice_brings_back_what_was_deleted_last(
        two_files: KnowledgeGraph, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    with two_files.store() as store:
        store.documents.delete("bad.pdf")
        store.documents.delete("ada.txt")
    app = page("documents", ws="mine")
    app.button(key="undo").click().run()
    assert states(two_files)["ada.txt"] == ("done", False)
    assert states(two_files)["bad.pdf"][1]


def test_undo_without_a_choice_brings_back_all_that_were_deleted_together(
        two_files: KnowledgeGraph, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qafd.app.documents.listing import apply

    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    apply(two_files, "delete", ["bad.pdf", "ada.txt"])
    page("documents", ws="mine").button(key="undo").click().run()
    assert not any(deleted for _, deleted in states(two_files).values())


def test_pasting_twice_under_one_name_keeps_both_texts(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    for text in ("Grace Hopper met Howard Aiken.", "Alan Turing met Max Newman."):
        app = page("documents", ws="mine")
        app.text_area[0].set_value(text)
        next(b for b in app.button if b.label == "Add the text").click().run()
    assert {"note.txt", "note (2).txt"} <= states(two_files).keys()


def test_pasting_under_a_name_that_is_another_when_cleaned_replaces_nothing(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    app = page("documents", ws="mine")
    next(box for box in app.text_input if box.label == "Name").set_value("ada\u200b.txt")
    app.text_area[0].set_value("Grace Hopper met Howard Aiken.")
    press(app, "Add the text")
    assert {"ada.txt", "ada (2).txt"} <= states(two_files).keys()
    with two_files.store() as store:
        assert store.documents.get("ada.txt").text == "Ada Lovelace met Charles Babbage in London."


def test_two_uploads_of_one_name_are_kept_apart_and_it_is_said(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    app = page("documents", ws="mine")
    app.get("file_uploader")[0].set_value([
        ("notes.txt", b"Grace Hopper met Howard Aiken.", "text/plain"),
        ("notes.txt", b"Alan Turing met Max Newman.", "text/plain")])
    press(app, "Add to the graph")
    assert {"notes.txt", "notes (2).txt"} <= states(two_files).keys()
    assert any("kept apart as notes.txt, notes (2).txt" in toast.value.replace("\\", "")
               for toast in app.toast)


def test_one_file_is_spoken_of_as_one(
        home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    one = KnowledgeGraph.open(home / "one.db")
    one.add_text("ada.txt", "Ada Lovelace met Charles Babbage.")
    app = page("documents", ws="one")
    # The title and two persons are names of the passage; the persons also met.
    assert "1 file · 1 passage · 3 entities · 4 edges · read by" in shown(app)
    app.text_area[0].set_value("Grace Hopper met Howard Aiken.")
    press(app, "Add the text")
    assert any(toast.value.startswith("1 file taken in") for toast in app.toast)


def test_wiping_needs_the_name_and_leaves_nothing(two_files: KnowledgeGraph) -> None:
    app = page("settings", ws="mine")
    wipe = next(b for b in app.button if b.label == "Wipe this workspace")
    assert wipe.disabled
    app.text_input(key="wipe_name").set_value("mine").run()
    next(b for b in app.button if b.label == "Wipe this workspace").click().run()
    assert not app.exception
    assert states(two_files) == {}
    assert len(two_files.graph) == 0


def test_removing_needs_the_name_and_leaves_no_file(two_files: KnowledgeGraph) -> None:
    app = page("settings", ws="mine")
    assert next(b for b in app.button if b.label == "Remove this workspace").disabled
    app.text_input(key="wipe_name").set_value("mine").run()
    press(app, "Remove this workspace")
    assert not app.error
    assert not two_files.path.exists()
    assert "Removed mine for good" in shown(app)
    assert app.selectbox(key="ws").value == "apple-amazon"


def test_what_a_worker_writes_to_is_not_removed(two_files: KnowledgeGraph) -> None:
    app = page("settings", ws="mine")
    app.text_input(key="wipe_name").set_value("mine").run()
    with two_files.store() as store, store.queue.lease():
        press(app, "Remove this workspace")
    assert "is indexing mine.db" in app.error[0].value.replace("\\", "")
    assert two_files.path.exists()


def test_samples_and_the_named_file_are_not_offered_for_removal(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QAFD_DB", str(two_files.path))
    for name in ("mine", "songbook"):
        labels = [b.label for b in page("settings", ws=name).button]
        assert "Wipe this workspace" in labels
        assert "Remove this workspace" not in labels


def test_a_new_workspace_says_the_name_it_got(home: Path) -> None:
    app = page("settings")
    app.text_input[0].set_value("Vellmar  Bridge")
    press(app, "Create")
    assert "Made Vellmar-Bridge" in shown(app)
    press(app, "Create")
    assert not app.error
    assert "Made Vellmar-Bridge" in shown(app)
    assert app.selectbox(key="ws").value == "Vellmar-Bridge"


def test_people_read_importance_relative_to_the_largest_and_x_in_the_table(home: Path) -> None:
    app = page("explore", tab="Table")
    table = app.dataframe[0].value
    top = table["x"].max()
    assert list(table["importance"]) == pytest.approx([x / top for x in table["x"]])
    names = dict(zip(table["name"], table["importance"], strict=True))
    read = re.findall(r"<td[^>]*>([^<]+)</td><td[^>]*>([\d.]+)%</td>", shown(app))
    assert len(read) > 3
    assert {name: float(share) for name, share in read} == pytest.approx(
        {name: 100 * names[name] for name, _ in read}, rel=5e-3)


def test_the_table_has_the_words_of_the_picture_for_states(home: Path) -> None:
    states = set(page("explore", tab="Table").dataframe[0].value["state"])
    assert {"full: retrieved", "touched, not full"} <= states
    assert states <= {"full: retrieved", "touched, not full", "not touched"}


def test_deleted_files_are_not_counted_and_have_no_progress(two_files: KnowledgeGraph) -> None:
    with two_files.store() as store:
        store.documents.delete("ada.txt")
    assert "1 file, graph revision" in shown(page("settings", ws="mine"))
    assert "read" not in page("documents", ws="mine").dataframe[0].value  # nothing is left to read
    with two_files.store() as store:
        store.files.hold([("late.txt", b"Grace Hopper met Howard Aiken.")])
    table = page("documents", ws="mine").dataframe[0].value.set_index("file")
    assert table["read"].dropna().to_dict() == {"late.txt": 0}  # the others never will be
    assert table["state"].tolist() == ["deleted", "failed", "not begun"]


def test_work_left_by_a_dead_worker_is_taken_up_at_the_next_visit(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    from qafd.ingest.jobs import enqueue

    started: list[Path] = []
    monkeypatch.setattr("qafd.app.workspaces.start_worker",
                        lambda path, _: started.append(path))
    with two_files.store() as store:
        enqueue(store, [("late.txt", b"Grace Hopper met Howard Aiken.")])
    AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert started == [two_files.path]


def test_explore_says_that_documents_are_still_being_read(
        two_files: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    from qafd.ingest.jobs import enqueue

    monkeypatch.setattr("qafd.app.workspaces.start_worker", lambda *_: None)
    asked = {"ws": two_files.path.stem, "q": "Whom did Ada Lovelace meet?"}
    assert "still being read" not in shown(page("explore", **asked))
    with two_files.store() as store:
        enqueue(store, [("late.txt", b"Grace Hopper met Howard Aiken.")])
    assert "still being read" in shown(page("explore", **asked))


def test_a_link_that_asks_for_what_a_page_does_not_have_is_answered():
    app = page("explore", best_mass="9999", ramp="red", best_b="0.5", preset="paper")
    told = app.toast[0].value.replace("\\", "")
    assert "best_mass=9999, ramp=red and preset=paper, which this page cannot show" in told
    app.run()
    assert not app.toast


@pytest.mark.parametrize("query", [
    {}, {"best_mass": "20", "ramp": "viridis", "contract": "false"}, {"preset": "As in the paper"},
    {"ws": "nowhere"}, {"elsewhere": "x"}])
def test_a_link_that_a_page_can_show_needs_no_words(query):
    assert not page("explore", **query).toast
