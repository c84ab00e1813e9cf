"""`qafd answer`, `qafd query` and `qafd doctor --endpoint`, called in this process."""

import json

import pytest

from qafd.cli import main
from qafd.knowledge import KnowledgeGraph
from qafd.models import CallSettings
from qafd.models.cost import Price
from qafd.preferences import Preferences, amend, load

pytestmark = [pytest.mark.usefixtures("alone"),
              pytest.mark.replies(reply=lambda _: "In Valparaíso [2].\x1b[31m And [88].")]
BORN = "Where was the singer of Paper Lanterns born?"
RULES = "--plan", "rules"
ELSEWHERE = "What is the boiling point of tungsten carbide?"


@pytest.fixture
def db(tmp_path):
    return KnowledgeGraph.sample("songbook", tmp_path).place.written


@pytest.mark.parametrize("command", ["answer", "query"])
def test_what_is_not_in_the_documents_is_said_and_exits_with_3(command, db, capsys):
    assert main([command, ELSEWHERE, "--db", db]) == 3
    said = capsys.readouterr().out
    first = said.split("\n")[0]
    assert first.startswith("These documents do not mention ")
    assert "“tungsten carbide”" in first


def test_a_model_writes_and_its_citations_are_resolved(db, server, capsys):
    assert main(["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES]) == 0
    out = capsys.readouterr().out
    assert "In Valparaíso [2].[31m And [88: no such source]." in out
    assert "Written by tiny: 11 tokens sent, 7 received." in out


@pytest.mark.parametrize("fault", ["half body", "400"])
def test_a_model_that_breaks_off_or_fails_leaves_the_quoted_answer_and_exits_with_1(
        fault, db, server, capsys):
    server.fault = lambda *_: fault
    assert main(["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES]) == 1
    streams = capsys.readouterr()
    assert "She was born in Valparaíso" in streams.out
    assert "These sentences are quoted instead." in streams.err


@pytest.mark.parametrize(("verdict", "said"), [
    ("supported", "the sources support each cited statement"),
    ("contradicted", "its sources contradict “In Valparaíso”"),
    ("perhaps", "The statements are not checked.")])
def test_a_model_reads_each_statement_again_on_request(verdict, said, db, server, capsys):
    server.reply = lambda body: (json.dumps({"verdicts": [verdict]}) if "verdicts" in str(body)
                                 else "In Valparaíso [2].")
    asked = ["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES, "--check"]
    assert main(asked) == (1 if verdict == "perhaps" else 0)
    streams = capsys.readouterr()
    assert said in streams.out + streams.err
    assert "Written by tiny" in streams.out
    main(asked)
    assert len(server.bodies) == (3 if verdict == "perhaps" else 2)  # what was read is paid for once


def test_a_written_answer_is_in_the_ledger_and_paid_for_once(db, server, capsys):
    for _ in range(2):
        assert main(["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES]) == 0
    assert len(server.bodies) == 1
    capsys.readouterr()
    assert main(["ledger", "--by", "question", "--db", db, "--json"]) == 0
    total, = json.loads(capsys.readouterr().out)
    assert (total["what"], total["calls"], total["tokens_in"]) == (BORN, 1, 11)


def test_calls_are_made_as_the_settings_say_unless_an_option_does(db, tmp_path, server, capsys):
    amend(tmp_path / "settings.json", Preferences(), Preferences(calls=CallSettings(60.0, 0.5, 400)))
    server.fault = lambda *_: "truncated"
    ask = ["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES, "--json"]
    assert main(ask) == 0
    assert json.loads(capsys.readouterr().out)["written"]["cut"]
    assert main([*ask, "--reply-tokens", "77", "--temperature", "1"]) == 0
    sent = [(body["max_tokens"], body["temperature"]) for body in server.bodies]
    assert sent == [(400, 0.5), (77, 1.0)]


@pytest.mark.parametrize("options", [["--max-tokens", "100"], ["--max-cost", "0"]])
def test_a_cap_stops_before_the_call_quotes_and_exits_with_4(options, db, tmp_path, server, capsys):
    amend(tmp_path / "settings.json", Preferences(), Preferences(prices=(("tiny", Price(1.0, 1.0)),)))
    assert main(["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES,
                 *options]) == 4
    streams = capsys.readouterr()
    assert server.bodies == []
    assert "could exceed the cap" in streams.err
    assert "She was born in Valparaíso" in streams.out


def test_a_price_that_was_named_once_is_that_of_the_model_from_then_on(db, tmp_path, server):
    ask = ["answer", "--db", db, "--model", "tiny", "--base-url", server.url, *RULES]
    assert main([*ask, BORN, "--price", "1000", "2000"]) == 0
    assert load(tmp_path / "settings.json").price("tiny") == Price(1000.0, 2000.0)
    assert main([*ask, "Who wrote Paper Lanterns?", "--max-cost", "0.001"]) == 4
    assert len(server.bodies) == 1


def test_the_key_goes_only_to_the_address_it_was_set_for(db, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    main(["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url, *RULES])
    assert "CANARY" not in server.bodies[0]["key"]
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    main(["answer", "Who wrote Paper Lanterns?", "--db", db, "--model", "tiny"])
    assert server.bodies[1]["key"] == "Bearer sk-CANARY"


def test_doctor_tests_the_endpoint(server, capsys):
    arguments = ["doctor", "--quick", "--endpoint", "--json", "--model", "tiny", "--embed-model",
                 "e", "--base-url", server.url]
    main(arguments)
    found = {check["name"]: check["ok"] for check in json.loads(capsys.readouterr().out)}
    asked = list(found)[list(found).index("models"):]
    assert {name: found[name] for name in asked} == {
        "models": True, "chat": True, "JSON": False, "embeddings": True}


def test_a_model_reads_the_question_under_the_cap_of_the_answer(db, server, capsys):
    asked = ["answer", BORN, "--db", db, "--model", "tiny", "--base-url", server.url]
    server.reply = write_reply
    assert main([*asked, "--plan", "model"]) == 0
    assert len(server.bodies) == 3
    assert "Then asked: Where is Lisbon?" in capsys.readouterr().err
    assert main([*asked, "--steps", "1"]) == 0
    assert "Then asked" not in capsys.readouterr().err
    assert main(["ledger", "--by", "purpose", "--db", db, "--json"]) == 0
    assert {row["what"] for row in json.loads(capsys.readouterr().out)} == {"plan", "answer"}


@pytest.mark.parametrize("command", ["query", "compare"])
def test_a_model_reads_the_question_of_other_commands_unless_told_not_to(
        command, db, server, capsys):
    asked = [command, BORN, "--db", db, "--model", "tiny", "--base-url", server.url, "--json"]
    server.reply = write_reply
    assert main(asked) == 0
    assert "Where is Lisbon?" in capsys.readouterr().out
    assert len(server.bodies) == 2
    for options in RULES, ("--steps", "1"):  # one retrieval leaves nothing to ask further about
        assert main([*asked, *options]) == 0
        assert "Where is Lisbon?" not in capsys.readouterr().out
    assert len(server.bodies) == 2  # the keywords were paid for


def test_a_plan_by_a_model_that_changes_the_seeds_is_answered(db, server, capsys):
    keywords = KEYWORDS.replace("Paper Lanterns", "Valparaíso").replace("birthplace", "harbor towns")
    server.reply = lambda body: keywords if "high_level_keywords" in json.dumps(body) else write_reply(body)
    asked = ["answer", "Who sang it?", "--db", db, "--model", "tiny", "--base-url", server.url,
             "--plan", "model"]
    assert main([*asked, "--prompt"]) == 0
    assert "Valparaíso" in capsys.readouterr().out
    assert main(asked) == 0
    assert "Written by tiny" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--check"], ["--plan", "model"]])
def test_a_check_and_a_plan_by_a_model_need_one(options, db, server):
    assert main(["answer", BORN, "--db", db, *options]) == 2
    assert not server.bodies


KEYWORDS = json.dumps({"high_level_keywords": ["birthplace"], "low_level_keywords": ["Paper Lanterns"]})


def write_reply(body):
    """Return what a good model says to each of the prompts."""
    system = json.dumps(body)
    if "high_level_keywords" in system:
        return KEYWORDS
    return '{"questions": ["Where is Lisbon?"]}' if "look for passages" in system else "Here [1]."
