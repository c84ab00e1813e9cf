"""The Runs page: what was kept is shown as it was, without a solver."""

import json
import re

import pytest
from clicks import page, shown

from qafd.evaluate import evaluate
from qafd.evaluate.collection import saved_questions
from qafd.knowledge import KnowledgeGraph
from qafd.runs import list_runs, save_run
from qafd.runs.difference import record_run
from qafd.runs.file import read_run, write_run
from qafd.runs.imported import read_columns, read_marks, refuse_place

QUESTION = "Introduce Steve Jobs's products in Apple."
OTHER = "Which cultivar gave the Macintosh its name?"
PAINTED = "[data-painted]"


def keep_one(knowledge, note="", **params):
    plan = knowledge.plan(QUESTION)
    run = record_run(knowledge, knowledge.retrieve(plan, **params), plan, note=note)
    with knowledge.store() as store:
        return save_run(store, run)


@pytest.fixture
def knowledge(home):
    return KnowledgeGraph.sample("apple-amazon", home)


def test_a_run_of_an_earlier_graph_says_what_is_gone_and_is_drawn(home):
    knowledge = KnowledgeGraph.open(home / "mine.db")
    knowledge.add_text("a.txt", "Steve Jobs led Apple. Steve Jobs met Jony Ive in Cupertino.")
    knowledge.add_text("b.txt", "Gala is an apple cultivar. It grows in Ontario.")
    key = keep_one(knowledge, mass=8.0)
    with knowledge.store() as store:
        store.documents.delete("a.txt")
    from qafd.ingest import index
    index(knowledge.url, processes=1)
    app = page("runs", ws="mine", run=key)
    found = re.search(r"Made on an earlier graph\. (\d+) of its (\d+) nodes are not in this graph",
                      shown(app))
    assert 0 < int(found[1]) <= int(found[2])
    assert app.get("bidi_component")


def test_a_file_is_saved_and_shown_and_a_changed_one_is_refused(home):
    sample = KnowledgeGraph.sample("apple-amazon", home)
    plan = sample.plan(QUESTION)
    text = write_run(record_run(sample, sample.retrieve(plan, mass=12.0), plan, note="from them"))
    fresh = KnowledgeGraph.open(home / "fresh.db")
    app = page("runs", ws="fresh")
    app.get("file_uploader")[0].set_value(
        ("run.json", text.replace('"mass": ', '"mass": 1').encode(), "application/json")).run()
    assert "failed its check" in app.error[0].value
    app.get("file_uploader")[0].set_value(("run.json", text.encode(), "application/json")).run()
    assert not app.exception
    assert not app.error
    with fresh.store() as store:
        row, = list_runs(store)
    assert (row.question, row.note) == (QUESTION, "from them")
    assert "Made in another workspace." in shown(app)
    assert app.get("bidi_component")


def test_two_runs_are_compared_as_lists(knowledge):
    keys = [keep_one(knowledge, mass=mass) for mass in (12.0, 30.0)]
    app = page("runs", run=keys)
    assert "Only the second run retrieves" in shown(app)
    assert "mass 12 → 30" in shown(app)


@pytest.mark.browser
def test_a_run_is_kept_seen_again_and_downloaded(browser, app_url, app_home, tmp_path):
    context = browser.new_context(viewport={"width": 1280, "height": 1200}, accept_downloads=True)
    view = context.new_page()
    view.goto(f"{app_url}/?best_mass=12")
    view.wait_for_selector(PAINTED, timeout=30_000)
    view.get_by_role("button", name="Save this run").click()
    view.get_by_label("Note").fill("from a browser")
    view.get_by_role("button", name="Save", exact=True).click()
    link = view.get_by_role("link", name="See it in Runs")
    link.wait_for()
    link.click()
    view.get_by_role("heading", name=QUESTION).wait_for()
    view.get_by_text("from a browser").first.wait_for()
    with view.expect_download() as download:
        view.get_by_role("button", name="JSON").click()
    download.value.save_as(tmp_path / "run.json")
    assert read_run((tmp_path / "run.json").read_bytes()).note == "from a browser"
    # the controls of Explore have moved on since: the link wins
    view.get_by_role("link", name="Explore").first.click()
    view.get_by_role("button", name="Which river meets the Amazon near Manaus?").click()
    view.get_by_text("The Rio Negro").first.wait_for()
    view.get_by_role("link", name="Runs").click()
    view.get_by_role("heading", name="Runs").wait_for()
    canvas = view.get_by_test_id("stDataFrame").first
    canvas.wait_for()
    canvas.click(position={"x": 16, "y": 52})
    view.get_by_role("link", name="Open in Explore").click()
    view.get_by_text(re.compile(r"\d+ of \d+ nodes retrieved")).wait_for()
    assert view.get_by_label("Question", exact=True).input_value() == QUESTION
    context.close()


def recorded(sample):
    """Two questions of another system: one with the flow's passages, one with others; and a broken line."""
    own = [passage.text for passage in sample.retrieve(QUESTION).passages[:5]]
    lines = [{"question": QUESTION, "answer": "The iPod.", "results": own},
             {"question": OTHER, "results": [own[0], "Penguins breed."]}]
    return "\n".join([*map(json.dumps, lines), "{broken"]).encode()


def test_another_system_is_imported_marked_and_compared(home, knowledge):
    app = page("runs")
    app.text_input(key="foreign name").set_value("mine")
    app.get("file_uploader")[0].set_value(("mine.jsonl", recorded(knowledge), "application/jsonl")).run()
    assert not app.exception
    told = shown(app)
    assert "2 questions of mine saved, with 7 results." in told
    assert "Not in this workspace: 1 result." in told
    assert "Left out: 1 record" in told
    frame = app.dataframe[0].value
    assert list(frame["same as the flow"]) == sorted(frame["same as the flow"])
    with knowledge.store() as store:
        keys = {row.question: row.id for row in list_runs(store)}
    app = page("runs", run=keys[OTHER])
    assert "Which passage answers?" in shown(app)
    buttons = [button for button in app.button if button.key and button.key.startswith("mark ")]
    assert len(buttons) > 2
    app.button(key=buttons[1].key).click().run()
    assert [button.label for button in app.button if button.key and button.key.startswith("mark ")
            ].count("Answers") == 1
    assert list(read_marks(knowledge)) == [OTHER]
    app = page("compare", q=OTHER, methods=["qafd", "mine"])
    told = shown(app) + " ".join(html.proto.body for html in app.get("html"))
    assert "Passages that mine misses" in told
    assert "the graph reaches it over" in told
    methods = read_columns(knowledge, "qafd,mine", refuse_place)
    result = evaluate(knowledge, saved_questions(knowledge), methods)
    assert [score.recall_5.mean for score in result.scores] == [1.0, 0.0]
    app = page("evaluate", gold="Write", measure=["qafd", "mine"])
    assert any(button.label == "Measure 1 question, 2 methods" for button in app.button)
    app = page("evaluate", gold="Write", measure=["qafd", "mine=/etc/passwd"])
    assert "cannot be asked from this page" in app.error[0].value
