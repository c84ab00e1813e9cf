"""The command line, run as a user runs it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from qafd.cli import main
from qafd.cli.commands import EVIDENCE, EXPORTS, compare, qafd
from qafd.cli.inquiry import NAMES
from qafd.export.formats import FORMATS
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.compare import BUDGET, DEFAULT
from qafd.retrieve.evidence import LEVELS
from qafd.retrieve.methods import PAPER
from qafd.storage.rows import BY

Run = Callable[..., "subprocess.CompletedProcess[str]"]
QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def qafd(*arguments, stdin=""):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QAFD")}
        return subprocess.run(
            [sys.executable, "-m", "qafd", *map(str, arguments)], input=stdin, text=True,
            capture_output=True, cwd=elsewhere, env=environment, timeout=120)
    return qafd


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return Path(KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("home")).place.written)


def test_index_status_docs_delete_and_undo(run, tmp_path):
    db = tmp_path / "w.db"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ada.txt").write_text("Ada Lovelace met Charles Babbage in London.")
    (tmp_path / "docs" / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    result = run("index", tmp_path / "docs", "--db", db, "--json")
    assert result.returncode == 1, "one of two files cannot be read"
    assert "bad.pdf" in result.stderr
    status = json.loads(result.stdout)
    assert (status["files"], status["failed"], status["documents"]) == (2, 1, 1)
    again = json.loads(run("index", tmp_path / "docs" / "ada.txt", "--db", db, "--json").stdout)
    assert again["digest"] == status["digest"]
    assert run("docs", "--db", db, "--delete", "ada.txt").returncode == 0
    assert json.loads(run("status", "--db", db, "--json").stdout)["entities"] == 0
    assert run("docs", "--db", db, "--undo", "ada.txt").returncode == 0
    copy = tmp_path / "copy.db"
    assert run("backup", copy, "--db", db).returncode == 0
    assert json.loads(run("status", "--db", copy, "--json").stdout)["digest"] == status["digest"]


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["query", "x"], 2, "add --db FILE"),
    (["query", "x", "--db", "/nowhere.db"], 2, "there is no workspace at /nowhere.db"),
    (["query", "x", "--db", "SAMPLE", "--method", "magic"], 2, "there is no method 'magic'"),
    (["query", "x", "--db", "SAMPLE", "--method", "qafd(mass=-3)"], 2, "mass is -3.0"),
    (["query", "x", "--db", "SAMPLE", "--method", "ego(mass=3)"], 2, "no parameter 'mass'; choose mode, "),
    (["query", "x", "--db", "SAMPLE", "--method", "ego,qafd"], 2, "names 2 methods"),
    (["export", "x", "--db", "SAMPLE", "--format", "csv"], 2, "a question cannot be written as csv"),
    (["query", " ", "--db", "SAMPLE"], 2, "The question is empty"),
    (["query", "\N{PARROT}", "--db", "SAMPLE"], 2, "no letter or digit"),
    (["whatif", "Who founded Apple?", "--db", "SAMPLE"], 2, "nothing changes"),
    (["app", "--host", "0.0.0.0"], 2, "the app has no login"),
    (["index", "--db", "/nowhere/new.db"], 2, "name files or folders"),
    (["answer", "x", "--db", "SAMPLE", "--max-cost", "nan", "--model", "m", "--base-url",
      "http://127.0.0.1:9/v1"], 2, "give 0 or more"),
    (["verify", "/nowhere.json"], 1, "/nowhere.json cannot be read: No such file"),
])
def test_wrong_usage_is_one_sentence_on_stderr(arguments, code, message, alone, sample, capsys):
    assert main([str(sample) if a == "SAMPLE" else a for a in arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"x", b"x" * 300])
def test_a_file_that_is_no_workspace_keeps_its_bytes(content, run, tmp_path):
    file = tmp_path / "notes.db"
    file.write_bytes(content)
    result = run("status", "--db", file)
    assert (result.returncode, result.stdout) == (1 if content else 2, "")
    assert "workspace" in result.stderr
    assert file.read_bytes() == content


@pytest.mark.skipif(os.name != "posix", reason="streams are closed by a shell")
@pytest.mark.parametrize(("closed", "arguments", "code", "says"), [
    (">&-", "query 'Who is Steve Jobs?'", 0, ""), ("2>&-", "query 'Who is Steve Jobs?'", 0, None),
    ("2>&-", "query ''", 2, None), ("<&- >&- 2>&-", "status", 0, None),
    ("<&-", "query -", 2, "the standard input, which is closed"),
    ("<&-", "index - --db new.db", 2, "the standard input, which is closed"),
    ("<&-", "verify -", 2, "the standard input, which is closed")])
def test_closed_streams_are_no_reason_to_fail(closed, arguments, code, says, sample, tmp_path):
    ended = subprocess.run(
        f"{sys.executable} -m qafd {arguments} {closed}", shell=True, cwd=tmp_path,
        env={**os.environ, "QAFD_DB": str(sample), "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended.stderr
    assert says is None or (says in ended.stderr and ended.stderr.count("\n") == bool(says))
    assert not (tmp_path / "new.db").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("arguments", [("query", "-"), ("verify", "-")])
def test_an_interrupted_command_ends_without_a_traceback(arguments, sample):
    code = """import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
class Typed:
    buffer = property(lambda self: self)
    def read(self):
        os.kill(os.getpid(), signal.SIGINT)
        return b""
sys.stdin = Typed()
from qafd.cli import main
sys.exit(main())"""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60,
        env={**os.environ, "QAFD_DB": str(sample), "PYTHONPATH": str(Path(__file__).parents[1])})
    assert (run.returncode, run.stderr) == (130, "")


def test_no_help_loads_numpy_and_all_of_them_name_what_their_commands_take(run):
    assert set(NAMES.split(", ")) == {*METHODS, PAPER}
    assert EXPORTS.split(", ") == list(FORMATS)
    assert EVIDENCE == LEVELS
    defaults = {option.name: option.default for option in compare.params}
    assert (defaults["methods"], defaults["budget"]) == (",".join(DEFAULT), BUDGET)
    by = next(option for option in qafd.commands["ledger"].params if option.name == "by")
    assert set(by.type.choices) == set(BY)
    asked = """import sys
from qafd.cli import main
from qafd.cli.commands import evaluation, qafd
for name in qafd.commands:
    assert main([name, "--help"]) == 0
for name in evaluation.commands:
    assert main(["eval", name, "--help"]) == 0
print("numpy" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("kilobytes", [100_000, 600_000])
@pytest.mark.parametrize("command", ["query Apple", "index app.py"])
def test_too_little_memory_is_refused_before_libraries_crash_in_it(sample, command, kilobytes):
    limited = f"ulimit -v {kilobytes}; exec '{sys.executable}' -m qafd {command} --db '{sample}'"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (f"qafd: this process may use {kilobytes // 1024} MB of memory, which is too "
                           "little; allow it 1,024 MB (ulimit -v 1048576)\n")
