"""Answer tab, subqueries and the model settings, without a browser, on a loopback endpoint."""

import json
import re
from pathlib import Path

import pytest
from clicks import page, press, shown
from faults import FaultServer

from qafd.app.provider import from_
from qafd.knowledge import KnowledgeGraph
from qafd.models.prompts_answer import PAPER
from qafd.preferences import Preferences, load, save

ROOT = Path(__file__).parents[1]
KEY = "sk-CANARY-0123456789"
WRITTEN = "She was born in **Valparaíso** [2]. Nobody knows more [77]. ![x](http://evil/x)"


def reply(body: dict[str, object]) -> str:
    """What a good model says to each of the prompts."""
    system = str(body["messages"][0]["content"])  # type: ignore[index]
    if "high_level_keywords" in system:
        return json.dumps({"high_level_keywords": ["birthplace"], "subqueries": [
            "Who is the singer of Paper Lanterns?", "Where was Mara Delgado born?"],
            "low_level_keywords": ["Mara Delgado"]})
    if "grades" in system:
        return json.dumps({"grades": [{c.name: 60 for c in PAPER}] * 2})
    return '{"word": "yes"}' if "word" in system else WRITTEN


pytestmark = pytest.mark.replies(reply=reply)


@pytest.fixture
def modeled(home: Path, server: FaultServer) -> FaultServer:
    save(home / "settings.json", Preferences("custom", server.url, "tiny"))
    return server


def test_without_a_model_the_tab_quotes_and_says_where_models_are_set(home: Path) -> None:
    text = shown(page("explore", ws="songbook", tab="Answer"))
    assert "Extractive" in text
    assert "<mark>" in text
    assert "No language model is set" in text


@pytest.mark.parametrize("tab", ["Answer", "Passages"])
def test_a_passage_keeps_its_lines(tab: str, home: Path) -> None:
    KnowledgeGraph(home / "mine.db").add_text(
        "list.txt", "item: Oak beams\nprice: 185\n\nitem: Roof <i>slates</i>\nprice: 42.50")
    text = shown(page("explore", ws="mine", tab=tab, q="What is the price of oak beams?"))
    assert "item: Oak beams<br>price: 185" in text
    assert "<br>item: Roof &lt;i&gt;slates&lt;/i&gt;<br>price: 42.50" in text.replace(" <mark>", "")


def test_the_bold_sentence_and_its_source_say_the_same_similarity(home: Path) -> None:
    question = "Where was the singer of Paper Lanterns born?"
    answer = KnowledgeGraph.sample("songbook", home).answer(question)
    text = shown(page("explore", ws="songbook", tab="Answer", q=question))
    best = f"{answer.best:.2f}"
    assert f"The sentence in bold has a similarity of {best}; an answer needs 0.31." in text
    first = [f"{s.similarity:.2f}" for s in answer.sentences if s.citation == 1]
    assert first[0] == best
    assert f"similarity {', '.join(first)} ·" in text
    assert "Best similarity" not in text


FILLER = "Rain fell on the quay and the gulls sat on the roofs of the old sheds. "


def test_the_passages_mark_what_is_near_and_fold_what_is_long(home: Path) -> None:
    knowledge = KnowledgeGraph(home / "mine.db")
    long = FILLER * 9 + "Ada Byron was born in London. " + FILLER.strip()
    knowledge.add_text("long.txt", long)
    knowledge.add_text("short.txt", "Ada Byron was born in London in 1815.")
    text = shown(page("explore", ws="mine", tab="Passages", q="Where was Ada Byron born?"))
    assert text.count("<details") == 1
    assert text.count("<mark>Ada Byron was born in London.</mark>") == 2
    assert text.count("<mark>Ada Byron was born in London in 1815.</mark>") == 1
    assert "<mark>Rain" not in text
    assert f"All {len(long):,} characters" in text
    assert text.count(FILLER.strip()) > 10  # the beginning again, and all of it


def test_of_each_passage_two_sentences_are_marked_at_most(home: Path) -> None:
    text = shown(page("explore", ws="apple-amazon", tab="Passages"))
    marks = [passage.count("<mark>") for passage in text.split("open in document")[1:]]
    assert max(marks) == 2
    assert sum(marks) < 2 * len(marks)


def test_each_passage_says_what_its_score_is_the_sum_of(home: Path) -> None:
    text = shown(page("explore", ws="apple-amazon", tab="Passages"))
    for passage in text.split("open in document")[:-1]:
        score = float(re.findall(r"score (\d+\.\d\d)", passage)[-1])
        after = text.split(passage)[1]
        bar = after.split("max-width:26em")[1].split("</small>")[0]
        parts = [float(part) for part in re.findall(r" (\d\.\d\d)<", bar)]
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", bar)]
        assert sum(parts) == pytest.approx(score, abs=0.03)
        assert [w / sum(widths) for w in widths] == pytest.approx(
            [p / sum(parts) for p in parts], abs=0.02)
    assert "named in the first 0.40" in text


def test_a_written_answer_has_its_sources_and_is_paid_for_once(modeled: FaultServer) -> None:
    app = page("explore", ws="songbook", tab="Answer")
    assert modeled.bodies == []
    press(app, "Write an answer")
    text = shown(app)
    assert "<b>Valparaíso</b>" in text
    assert "Written by tiny" in text
    assert 'title="There is no source 77."' in text
    assert "cites sources that do not exist: 77" in text
    assert 'src="http' not in text
    assert "http://evil/x" not in text
    assert "id='source-2'" in text
    assert len(modeled.bodies) == 1
    again = page("explore", ws="songbook", tab="Answer")
    assert "Written by tiny" in shown(again)
    assert len(modeled.bodies) == 1


def test_prompt_and_context_can_be_read_before_a_call(modeled: FaultServer) -> None:
    text = shown(page("explore", ws="songbook", tab="Answer"))
    assert "Your role: you answer questions" in text
    assert "data begins" in text
    assert "[1] Paper Lanterns (song)" in text


@pytest.mark.parametrize("fault", ["500", "empty"])
def test_a_failing_endpoint_leaves_the_quoted_answer(
        fault: str, modeled: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    modeled.fault = lambda *_: fault
    app = page("explore", ws="songbook", tab="Answer")
    monkeypatch.setattr("time.sleep", lambda _: None)
    press(app, "Write an answer")
    text = shown(app)
    assert "The quoted answer below needs no model." in text
    assert "Extractive" in text
    assert "Written by" not in text


def test_both_answers_are_judged_with_model_and_tokens(modeled: FaultServer) -> None:
    app = page("explore", ws="songbook", tab="Answer")
    press(app, "Write an answer")
    press(app, "Judge")
    text = shown(app)
    assert "Judged by tiny in 4 rounds" in text
    table = next(f.value for f in app.dataframe if "criterion" in f.value)
    assert list(table["written"])[:5] == [60] * 5
    assert list(table["quoted, deviation"])[:5] == [0] * 5


def test_a_model_reads_the_question_when_it_is_asked_to(modeled: FaultServer) -> None:
    app = page("explore", ws="songbook", q="Where was the singer of Paper Lanterns born?")
    assert "Read by" not in shown(app)
    app.toggle(key="model_reads").set_value(True).run()
    assert not app.exception
    assert "Read by tiny. Things: Mara Delgado. Themes: birthplace." in shown(app)


def test_a_plan_that_fails_falls_back_and_says_so(modeled: FaultServer) -> None:
    modeled.reply = lambda _: "no json"
    app = page("explore", ws="songbook", q="Who founded the prize that Salt Road won?",
               model_reads="true")
    assert "The question was read without tiny" in shown(app)


@pytest.mark.parametrize("tab", ["Answer", "Why", "What if", "Certificate"])
def test_subqueries_are_shown_as_layers_on_every_tab(tab: str, home: Path) -> None:
    app = page("explore", ws="songbook", best_subqueries="on", tab=tab,
               q="Where was the singer of Paper Lanterns born?")
    assert "the singer of Paper Lanterns —" in shown(app)
    assert not app.error
    app.segmented_control(key="shown_part").set_value(1).run()
    assert not app.exception
    assert not app.error


def test_the_connection_test_says_what_works(modeled: FaultServer) -> None:
    app = page("settings", ws="songbook")
    press(app, "Test the connection")
    text = shown(app)
    assert "tiny is one of 1 that the endpoint lists" in text
    assert "json_schema" in text
    assert "does not say how much the model can read" in text


def test_the_connection_test_says_what_fails(modeled: FaultServer) -> None:
    modeled.fault = lambda *_: "401"
    app = page("settings", ws="songbook")
    press(app, "Test the connection")
    assert "refuses the API key (401)" in shown(app)


def test_a_typed_key_is_used_and_neither_shown_nor_stored(
        modeled: FaultServer, home: Path) -> None:
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


def test_choosing_a_provider_fills_in_its_address(home: Path) -> None:
    app = page("settings", ws="songbook")
    app.selectbox(key="provider").set_value("ollama").run()
    assert not app.exception
    assert app.text_input(key="url_ollama").value == "http://localhost:11434/v1"
    assert load(home / "settings.json").provider == "ollama"
    app.selectbox(key="provider").set_value("offline").run()
    assert load(home / "settings.json").provider == "offline"


def test_a_public_app_calls_no_address_of_a_visitor(
        modeled: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit

    usual = streamlit.get_option
    monkeypatch.setattr("qafd.app.provider.st.get_option", lambda name: (
        "0.0.0.0" if name == "server.address" else usual(name)))
    app = page("settings", ws="songbook")
    assert app.text_input(key="url_custom").disabled
    press(app, "Test the connection")
    assert "can be reached by others" in shown(app)
    assert modeled.bodies == []


@pytest.mark.parametrize("button", ["Rebuild the graph", "Compute all vectors anew"])
def test_the_graph_is_made_anew_as_a_job(
        button: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
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
    work(knowledge.path, processes=1)
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
def test_the_environment_names_a_model(
        environment: dict[str, str], expected: tuple[str, str, str]) -> None:
    found = from_(environment)
    assert (found.provider, found.base_url, found.model) == expected
