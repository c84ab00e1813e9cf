"""The commands runs and replay, and the forms of a run that query, export and verify know."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from lxml import etree
from lxml import html as lxml_html

from qafd.cli import main
from qafd.export.formats import FORMATS, OF_RETRIEVAL
from qafd.knowledge import KnowledgeGraph
from qafd.runs.formats import RUN_FORMATS

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("home")).place.written
    assert main(["query", QUESTION, "--db", path, "--keep", "large", "--json"]) == 0
    assert main(["query", QUESTION, "--db", path, "--mass", "12", "--keep", "--json"]) == 0
    return path


@pytest.fixture
def ids(db: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Of the large and of the small run."""
    capsys.readouterr()
    assert main(["runs", "--db", db, "--json"]) == 0
    small, large = json.loads(capsys.readouterr().out)["runs"]
    assert (large["note"], small["note"], small["params"]["mass"]) == ("large", "", 12)
    return large["id"], small["id"]


def test_a_bundle_is_written_verified_and_replayed(
        db: str, ids: tuple[str, str], tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.zip"
    assert main(["runs", ids[1], "--format", "bundle", "--out", str(out), "--db", db]) == 0
    assert main(["verify", str(out)]) == 0
    assert "as they were written" in capsys.readouterr().out
    assert main(["replay", str(out), "--db", db]) == 0
    assert capsys.readouterr().out.startswith("Equal")
    assert main(["replay", ids[0], "--db", db, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["equal"] is True


def test_a_bundle_is_put_into_the_history_of_another_workspace_when_it_holds(
        db: str, ids: tuple[str, str], path: Path, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    bundle, changed = tmp_path / "run.zip", tmp_path / "changed.zip"
    assert main(["runs", ids[1], "--db", db, "--format", "bundle", "--out", str(bundle)]) == 0
    KnowledgeGraph.open(path)
    assert main(["runs", "--add", str(bundle), "--db", str(path), "--json"]) == 0
    row, = json.loads(capsys.readouterr().out)["runs"]
    assert (row["question"], row["params"]["mass"]) == (QUESTION, 12)
    with zipfile.ZipFile(bundle) as given, zipfile.ZipFile(changed, "w") as made:
        for name in given.namelist():
            made.writestr(name, given.read(name) + b"\n" * (name == "report.md"))
    assert main(["runs", "--add", str(changed), "--db", str(path)]) == 1
    assert "does not hold and is not kept: report.md is not" in capsys.readouterr().err
    assert main(["runs", "--db", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 1


def test_a_replay_that_differs_fails_and_says_why(
        db: str, ids: tuple[str, str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    KnowledgeGraph.open(path).add_text("a.txt", "Steve Jobs founded Apple with Steve Wozniak.")
    bundle = path.with_name("run.zip")
    assert main(["runs", ids[1], "--format", "bundle", "--out", str(bundle), "--db", db]) == 0
    assert main(["replay", str(bundle), "--db", str(path)]) == 1
    out = capsys.readouterr().out
    assert "Not equal" in out
    assert "graph revision" in out


CONTENTS = {
    "application/xml": etree.fromstring, "application/json": json.loads,
    "application/zip": lambda data: zipfile.ZipFile(io.BytesIO(data)).testzip(),
    "text/csv": lambda data: list(csv.DictReader(io.StringIO(data.decode())))[1]["made_by"],
    "text/html": lxml_html.document_fromstring, "text/markdown": lambda data: data.decode().index("# ")}


@pytest.mark.parametrize("name", [*OF_RETRIEVAL, *RUN_FORMATS])
def test_every_format_writes_what_its_media_type_says(name: str, db: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["export", QUESTION, "--format", name, "--out", str(out), "--db", db]) == 0
    assert b"Steve Jobs" in out.read_bytes() or name == "bundle"
    CONTENTS[(FORMATS.get(name) or RUN_FORMATS[name]).mime](out.read_bytes())


@pytest.mark.parametrize(("arguments", "code"), [
    (["runs", "a", "b", "c"], 2), (["runs", "--note", "x"], 2), (["runs", "--delete"], 2),
    (["runs", "a", "b", "--format", "report"], 2), (["runs", "zzz"], 1),
    (["replay", "no-such-file"], 1)], ids=str)
def test_wrong_usage_is_one_sentence(
        arguments: list[str], code: int, db: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main([*arguments, "--db", db]) == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
