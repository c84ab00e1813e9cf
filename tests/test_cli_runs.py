"""The commands runs and replay, and the formats of a retrieval."""

import csv
import io
import json

import pytest
from lxml import etree
from lxml import html as lxml_html

from qafd.cli import main
from qafd.export.formats import FORMATS, OF_RETRIEVAL
from qafd.knowledge import KnowledgeGraph

QUESTION = "Who founded Apple?"


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("home")).place.written
    assert main(["query", QUESTION, "--db", path, "--keep", "large", "--json"]) == 0
    assert main(["query", QUESTION, "--db", path, "--method", "qafd(mass=12)", "--keep", "--json"]) == 0
    return path


@pytest.fixture
def ids(db, capsys):
    """Of the large and of the small run."""
    capsys.readouterr()
    assert main(["runs", "--db", db, "--json"]) == 0
    small, large = json.loads(capsys.readouterr().out)["runs"]
    assert (large["note"], small["note"], small["params"]["mass"]) == ("large", "", 12)
    return large["id"], small["id"]


def write_json(db, key, file, capsys):
    capsys.readouterr()
    assert main(["runs", key, "--json", "--db", db]) == 0
    file.write_text(capsys.readouterr().out, "utf-8")
    return file


def test_a_run_is_written_verified_and_replayed(db, ids, tmp_path, capsys):
    file = write_json(db, ids[1], tmp_path / "run.json", capsys)
    assert main(["verify", str(file)]) == 0
    assert main(["replay", str(file), "--db", db, "--json"]) == 0
    assert main(["replay", ids[0], "--db", db]) == 0
    assert main(["runs", *ids, "--db", db, "--json"]) == 0
    *_, compared = capsys.readouterr().out.split("\nEqual")
    found = json.loads(compared.partition("\n")[2])
    assert {name: values[1] for name, values in found["settings"].items()} == {"mass": 12}
    assert found["lost"]
    assert not found["gained"]


def test_a_run_is_noted_deleted_and_restored(db, ids, capsys):
    def change(*arguments):
        assert main(["runs", *arguments, "--db", db]) == 0
        capsys.readouterr()
        assert main(["runs", "--db", db, "--json"]) == 0
        return {row["id"]: row["note"] for row in json.loads(capsys.readouterr().out)["runs"]}

    large, small = ids
    assert change(small, "--note", "half") == {large: "large", small: "half"}
    assert change(large, "--delete") == {small: "half"}
    assert change("--undo") == {large: "large", small: "half"}
    assert change(small, "--note", "") == {large: "large", small: ""}


def test_a_file_is_saved_in_another_workspace_if_it_holds(db, ids, path, tmp_path, capsys):
    file = write_json(db, ids[1], tmp_path / "run.json", capsys)
    KnowledgeGraph.open(path)
    assert main(["runs", "--add", str(file), "--db", str(path), "--json"]) == 0
    row, = json.loads(capsys.readouterr().out)["runs"]
    assert (row["question"], row["params"]["mass"]) == (QUESTION, 12)
    obj = json.loads(file.read_text("utf-8"))
    obj["nodes"][0]["mass"] *= 2
    file.write_text(json.dumps(obj), "utf-8")
    assert main(["verify", str(file)]) == 1
    assert main(["runs", "--add", str(file), "--db", str(path)]) == 1
    assert "failed its check" in capsys.readouterr().err
    assert main(["runs", "--db", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 1


def test_a_replay_that_differs_fails_and_names_the_difference(db, ids, path, tmp_path, capsys):
    KnowledgeGraph.open(path).add_text("a.txt", "Steve Jobs founded Apple with Steve Wozniak.")
    file = write_json(db, ids[1], tmp_path / "run.json", capsys)
    assert main(["replay", str(file), "--db", str(path)]) == 1
    out = capsys.readouterr().out
    assert "Not equal" in out
    assert "graph revision" in out


CONTENTS = {
    "application/xml": etree.fromstring, "application/json": json.loads,
    "text/csv": lambda data: list(csv.DictReader(io.StringIO(data.decode())))[1]["made_by"],
    "text/html": lxml_html.document_fromstring}


@pytest.mark.parametrize("name", OF_RETRIEVAL)
def test_every_format_writes_what_its_media_type_says(name, db, tmp_path):
    out = tmp_path / "out"
    assert main(["export", QUESTION, "--format", name, "--out", str(out), "--db", db]) == 0
    assert b"Steve Jobs" in out.read_bytes()
    CONTENTS[FORMATS[name].mime](out.read_bytes())


@pytest.mark.parametrize(("arguments", "code"), [
    (["runs", "a", "b", "c"], 2), (["runs", "--note", "x"], 2), (["runs", "--delete"], 2),
    (["runs", "zzz"], 1),
    (["replay", "no-such-file"], 1)], ids=str)
def test_wrong_usage_is_one_sentence(arguments, code, db, capsys):
    capsys.readouterr()
    assert main([*arguments, "--db", db]) == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
