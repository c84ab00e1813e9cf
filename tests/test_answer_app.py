"""The answer, further questions and the model settings, without a browser, on a loopback endpoint."""

import json
import re

import pytest
from clicks import page, press, shown

from qafd.answer import Answer, Sentence
from qafd.app.explore.answer import quote_html
from qafd.app.provider import from_
from qafd.knowledge import KnowledgeGraph
from qafd.models import CallSettings
from qafd.models.cost import Price
from qafd.models.prompts_answer import PAPER
from qafd.preferences import Preferences, amend

KEY = "sk-CANARY-0123456789"
WRITTEN = "She was born in **Valparaíso** [2]. Nobody knows more [77]. ![x](http://evil/x)"


def reply(body):
    """What a good model says to each of the prompts."""
    system = str(body["messages"][0]["content"])  # type: ignore[index]
    if "high_level_keywords" in system:
        return json.dumps({"high_level_keywords": ["birthplace"], "low_level_keywords": ["Mara Delgado"]})
    if '"questions"' in system:
        return json.dumps({"questions": ["Where did Mara Delgado live?"]})
    if "rewrite the follow-up" in system:
        return "Which prize did Salt Road win?"
    if "verdicts" in system:
        return json.dumps({"verdicts": ["contradicted"]})
    if "grades" in system:
        return json.dumps({"grades": [{c.name: 60 for c in PAPER}] * 2})
    return '{"word": "yes"}' if "word" in system else WRITTEN


pytestmark = pytest.mark.replies(reply=reply)


@pytest.fixture
def modeled(home, server):
    amend(home / "settings.json", Preferences(), Preferences("custom", server.url, "tiny"))
    return server


def test_the_model_answers_first_and_is_paid_for_once(modeled):
    text = shown(page("explore", ws="songbook"))
    assert re.search(r"<b><span class='name'[^>]*>Valparaíso</span></b>", text)
    assert "Written by tiny" in text
    assert "class='quoted'" not in text
    assert 'title="There is no source 77."' in text
    assert "cites sources that do not exist: 77" in text
    assert 'src="http' not in text
    assert "http://evil/x" not in text
    assert "id='source-2'" in text
    assert "Then asked: Where did Mara Delgado live?" in text
    assert len(modeled.bodies) == 3
    again = page("explore", ws="songbook")
    assert "Written by tiny" in shown(again)
    assert len(modeled.bodies) == 3


def test_the_statements_are_checked_at_a_button_and_paid_for_once(modeled):
    app = page("explore", ws="songbook")
    before = len(modeled.bodies)
    assert "contradict" not in shown(app)
    press(app, "Check the statements")
    assert "its sources contradict “She was born in Valparaíso”" in shown(app)
    assert "its sources contradict" in shown(page("explore", ws="songbook"))
    assert len(modeled.bodies) == before + 1


def test_quotes_have_their_numbers_and_the_asked_cell_of_a_row_is_marked():
    html = quote_html(Answer((Sentence("Town: Bodo\nHead: <b>Per</b>", 1, 0.9, 0, 9, best=True, asked=1),
                              Sentence("It <b>rains</b>.", 1, 0.5, 9, 12)), (), 0.9))
    row, quote = html.split("<p class='quoted'>")
    assert re.findall("<mark>(.*?)</mark>", row) == ["&lt;b&gt;Per&lt;/b&gt;"]
    assert row.count("[1]") == quote.count("[1]") == 1
    assert "It &lt;b&gt;rains&lt;/b&gt;." in quote


def test_rules_read_the_question_when_the_switch_is_off(modeled):
    text = shown(page("explore", ws="songbook", model_reads="false"))
    assert "Written by tiny" in text
    assert "Then asked" not in text
    assert len(modeled.bodies) == 1


def test_compare_asks_the_same_further_question_of_every_method(modeled):
    app = page("compare", ws="songbook")
    assert not app.error
    assert len(modeled.bodies) == 2


def test_the_expected_cost_is_next_to_the_most_that_a_call_may_have(modeled, home):
    calls = CallSettings(reply_tokens=1000)
    amend(home / "settings.json", Preferences(), Preferences(
        "custom", modeled.url, "tiny", answers=False, calls=calls, prices=(("tiny", Price(0.0, 10.0)),)))
    short = shown(page("explore", ws="songbook", model_reads="false"))
    assert "80 out, at most 1,000 out ($0.0008, at most $0.0100)" in short
    assert "400 out, at most 1,000 out ($0.0040" in shown(
        page("explore", ws="songbook", length="Paragraphs", model_reads="false"))
    assert modeled.bodies == []


def test_a_follow_up_keeps_the_question_and_answer_before_it(modeled):
    app = page("explore", ws="songbook")
    asked = app.text_input(key="q").value
    app.text_input(key="follow0").set_value("Which prize did it win?").run()
    assert app.text_input(key="q").value == "Which prize did Salt Road win?"
    text = shown(app)
    assert f"<details><summary>{asked}</summary><p>She was born in **Valparaíso** [2]." in text


def test_a_move_of_the_mass_asks_the_model_only_on_request(modeled):
    app = page("explore", ws="songbook", tab="Paths")
    app.slider(key="best_mass").set_value(3.0).run()
    assert len(modeled.bodies) == 3
    assert "Written before the retrieval last changed." in shown(app)
    press(app, "Answer again from the current passages")
    assert len(modeled.bodies) == 4
    assert "before the retrieval last changed" not in shown(app)


def test_a_model_that_answers_on_request_waits_for_the_button(modeled, home):
    amend(home / "settings.json", Preferences(), Preferences("custom", modeled.url, "tiny", answers=False))
    app = page("explore", ws="songbook", model_reads="false")
    assert modeled.bodies == []
    press(app, "Write an answer")
    assert "Written by tiny" in shown(app)
    assert len(modeled.bodies) == 1


def test_a_model_that_fails_leaves_the_quotes_and_is_not_asked_again_by_itself(home):
    amend(home / "settings.json", Preferences(), Preferences("custom", "http://127.0.0.1:1/v1", "tiny",
                                             calls=CallSettings(deadline=1.0)))
    app = page("explore", ws="songbook", tab="Paths")
    assert "The quoted answer needs no model" in app.error[0].value
    assert "class='quoted'" in shown(app)
    app.slider(key="best_mass").set_value(app.slider(key="best_mass").value).run()
    assert not app.error
    assert "Try again" in [button.label for button in app.button]


def test_a_typed_key_is_used_and_neither_shown_nor_stored(modeled, home):
    app = page("settings", ws="songbook")
    app.text_input(key="typed_key").set_value(KEY).run()
    assert app.text_input(key="typed_key").value == ""
    press(app, "Test the connection")
    assert modeled.bodies[-1]["key"] == f"Bearer {KEY}"
    assert KEY not in shown(app)
    assert not [file for file in home.rglob("*") if file.is_file()
                and KEY.encode() in file.read_bytes()]
    app.text_input(key="url_custom").set_value("http://127.0.0.1:1/v1").run()
    press(app, "Test the connection")
    assert "cannot be reached" in shown(app)


def test_a_public_app_calls_no_address_of_a_visitor(modeled, monkeypatch):
    import streamlit

    usual = streamlit.get_option
    monkeypatch.setattr("qafd.app.provider.st.get_option", lambda name: (
        "0.0.0.0" if name == "server.address" else usual(name)))
    app = page("settings", ws="songbook")
    assert app.text_input(key="url_custom").disabled
    press(app, "Test the connection")
    assert "other people can reach this app" in shown(app).lower()
    assert modeled.bodies == []


@pytest.mark.parametrize("button", ["Rebuild the graph", "Compute all vectors again"])
def test_the_graph_is_made_anew_as_a_job(button, home, monkeypatch):
    started = []
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda path, _: started.append(path))
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    with knowledge.store() as store:
        before = store.graph.digest()
    app = page("settings", ws="mine")
    press(app, button)
    assert started
    assert len(knowledge.graph) == 0
    from qafd.ingest.jobs import work
    work(knowledge.url, processes=1)
    with knowledge.store() as store:
        assert store.graph.digest() == before


@pytest.mark.parametrize(("environment", "expected"), [
    ({}, ("offline", "", "")),
    ({"QAFD_MODEL": "m"}, ("offline", "", "")),
    ({"QAFD_MODEL": "m", "OPENAI_API_KEY": "k"}, ("openai", "https://api.openai.com/v1", "m")),
    ({"QAFD_MODEL": "m", "OPENAI_BASE_URL": "http://localhost:11434/v1"},
     ("ollama", "http://localhost:11434/v1", "m")),
    ({"QAFD_MODEL": "m", "OPENAI_BASE_URL": "http://box:9/v1"}, ("custom", "http://box:9/v1", "m")),
])
def test_the_environment_names_a_model(environment, expected):
    found = from_(environment)
    assert (found.provider, found.base_url, found.model) == expected
