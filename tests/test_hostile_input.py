"""Names and arguments that were written to hurt: no traceback, no link, no markup."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from qafd.app.escaping import plain
from qafd.cli import main
from qafd.errors import ParameterError
from qafd.evaluate import evaluate
from qafd.evaluate.gold import Question
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS

# Where the extended autolinks of GitHub's markdown begin, also in text that was escaped.
AUTOLINK = re.compile(r"https?://|www\.|[\w.+-]+@[\w-]+\.", re.IGNORECASE)


@pytest.fixture(scope="module")
def curie(tmp_path_factory):
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("curie") / "one.db")
    knowledge.add_text("a.txt", "Marie Curie lived in Paris.")
    return knowledge


@pytest.mark.parametrize("text", [
    "http://canary.invalid/x", "HTTPS://canary.invalid", "see www.canary.invalid now",
    "write to somebody@canary.invalid", "![](http://canary.invalid/x.png)"])
def test_addresses_in_plain_text_do_not_become_links(text):
    read = re.sub(r"\\(.)", r"\1", plain(text))
    assert not AUTOLINK.search(read)
    assert read.replace("\u2060", "") == text


@pytest.mark.parametrize("arguments", [
    ["layers", "--build", "x" * 5000], ["compare", "Who?", "--methods", "x" * 5000],
    ["query", "Who?", "--method", f"qafd(seeds={'9' * 4000})"]])
def test_long_wrong_arguments_are_cut_in_the_sentence(arguments, curie, capsys):
    assert main([*arguments, "--db", curie.place.written]) == 2
    assert len(capsys.readouterr().err) < 400


@pytest.mark.parametrize("command", [
    ["query"], ["answer"], ["compare"], ["paths"], ["export", "--format", "json"],
    ["export", "--format", "html"]])
def test_a_question_that_is_no_utf_8_is_read_with_its_bytes_replaced(command, curie, capfd):
    assert main([command[0], "Where did Marie Curie \udcff live?", *command[1:],
                 "--db", curie.place.written]) == 0
    assert "Marie Curie" in capfd.readouterr().out


def test_halves_of_characters_in_texts_and_questions_of_the_library_are_replaced(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "one.db")
    knowledge.add_text("a\ud800.txt", "Marie Curie \ud800 lived in Paris.")
    retrieval = knowledge.retrieve("Where did Marie Curie \ud800 live?")
    assert retrieval.query == "Where did Marie Curie ? live?"
    assert [passage.text for passage in retrieval.passages] == ["Marie Curie ? lived in Paris."]


@pytest.mark.parametrize("name", ["one.db", "two.db", "link.db", "hard.db", "one.db-wal"])
@pytest.mark.parametrize("command", [
    ["export", "Who?", "--format", "json", "--out"],
    ["eval", "retrieval", "--questions", "q.json", "--json"]])
def test_no_output_is_written_over_a_workspace(command, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for file in ("one.db", "two.db"):
        KnowledgeGraph.open(tmp_path / file).store().close()
    Path("link.db").symlink_to("one.db")
    Path("hard.db").hardlink_to("two.db")
    Path("q.json").write_text('{"question": "Who?", "gold": ["a.txt"]}')
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert main([*command, name, "--db", "one.db"]) == 2
    assert f"{name} belongs to a workspace" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["q.json", "link.json", "p.json", "new.db"])
def test_no_measurement_is_written_over_what_it_reads(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("q.json").write_text('{"question": "Who?", "gold": ["a"]}')
    Path("p.json").write_text('{"id": "a", "title": "A", "text": "Marie Curie lived in Paris."}')
    Path("link.json").symlink_to("q.json")
    assert main(["eval", "retrieval", "--questions", "q.json", "--passages", "p.json",
                 "--db", "new.db", "--json", f"./{name}"]) == 2
    assert "is read by this command" in capsys.readouterr().err
    assert Path("q.json").read_text().startswith('{"question"')
    assert not Path("new.db").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", [["layers"], ["paths", "Who?"]])
def test_output_that_cannot_be_written_is_one_sentence(command, curie):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "qafd", *command, "--db", curie.place.written],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "No space left" in ended.stderr


@pytest.mark.parametrize("questions", [[], [Question("1", "Where?", ())], [
    Question("1", "Where?", ("a.txt",)), Question("2", "Where?", ())]])
def test_questions_without_gold_are_refused(questions, curie):
    with pytest.raises(ParameterError, match="no gold passages"):
        evaluate(curie, questions, {"lexical": METHODS["lexical"]()})


def test_arguments_of_another_type_are_refused_with_a_sentence(curie):
    with pytest.raises(ParameterError, match="not bytes"):
        curie.add_text("a.txt", b"Marie Curie")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="list of names"):
        curie.compare("Who lived in Paris?", "qafd")
