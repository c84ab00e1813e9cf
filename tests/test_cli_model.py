"""`qafd index` with models behind endpoints: plans, prices, caps and what was spent."""

import json
from dataclasses import replace

import pytest
from test_llm_extract import answering

from qafd.cli import main
from qafd.ingest.reader import choose, read_choice
from qafd.models.cost import Cap, Meter
from qafd.preferences import Preferences, amend
from qafd.storage import open_workspace

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.replies(reply=answering)]
TEXT = "Ada Lovelace met Charles Babbage in London. London is large."


@pytest.fixture
def index(tmp_path, server):
    """The command that reads and embeds one file through the endpoint."""
    file = tmp_path / "ada.txt"
    file.write_text(TEXT)
    return ["index", str(file), "--db", str(tmp_path / "work.db"), "--model", "tiny", "--base-url",
            server.url, "--embed-model", "vectors"]


def test_a_dry_run_says_what_reading_and_embedding_cost_and_calls_nothing(
        index, server, tmp_path, capsys):
    assert main([*index, "--price", "1", "2", "--embed-price", "3", "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passages"], found["calls"]) == (1, [1, 2])
    vectors = found["embedding"]
    assert vectors["cost"] == pytest.approx(3e-6 * vectors["tokens"])
    assert main([*index, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "tiny: 1 passage," in out
    assert "vectors: " in out
    assert server.bodies == []
    assert not (tmp_path / "work.db").exists()


def test_one_cap_stops_both_with_exit_code_4_and_the_same_command_goes_on(
        index, server, tmp_path, capsys):
    assert main([*index, "--max-calls", "2"]) == 4
    assert "cap of 2 calls" in capsys.readouterr().err
    assert len(server.bodies) == 2
    assert main([*index, "--max-calls", "100"]) == 0
    texts = [text for body in server.bodies for text in body.get("input", ())]
    assert len(texts) == len(set(texts))
    with open_workspace(tmp_path / "work.db") as store:
        assert store.vectors.embedder == ("vectors", 4)
        assert [file.status for file in store.files.all()] == ["done"]


def test_other_commands_hold_the_cap_too_also_in_a_workspace_that_stored_none(
        index, server, tmp_path, capsys):
    assert main(index) == 0
    with open_workspace(tmp_path / "work.db") as store:
        choose(store, replace(read_choice(store), cap=Cap()))
    amend(tmp_path / "settings.json", Preferences(), Preferences(most_tokens=1))
    asked = len(server.bodies)
    assert main(["query", "Who met Babbage?", *index[2:4]]) == 4
    assert main(["layers", "--build", "all", *index[2:4]]) == 4
    assert "cap of 1 tokens" in capsys.readouterr().err
    assert len(server.bodies) == asked


def test_the_cap_of_a_day_holds_over_commands(index, server, tmp_path, monkeypatch):
    monkeypatch.setattr(Meter, "shared", None)  # what the command shares ends with the test
    amend(tmp_path / "settings.json", Preferences(), Preferences(day_calls=2))
    assert main(index) == 4
    assert main(index) == 4
    assert len(server.bodies) == 2
    amend(tmp_path / "settings.json", Preferences(), Preferences(day_calls=100))
    assert main(index) == 0
