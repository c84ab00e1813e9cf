"""The command import."""

import json
from pathlib import Path

import pytest

from qafd.cli import main

pytestmark = pytest.mark.usefixtures("alone")
TABLE = "from,to,relation,year\nAda,Engine,described,1843\nBabbage,Engine,built,\n"


def test_import_prints_what_it_took_in_and_the_graph_can_be_asked(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, db = tmp_path / "edges.csv", str(tmp_path / "w.db")
    table.write_text(TABLE)
    assert main(["import", str(table), "--db", db, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["name"], said["nodes"], said["edges"], said["passages"]) == ("edges.csv", 3, 2, 2)
    assert "Attributes that were not read: year." in said["notices"]
    assert main(["query", "Who described the Engine?", "--db", db, "--json"]) == 0
    assert "Ada" in {node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]}


def test_what_is_no_graph_fails_and_a_missing_file_is_wrong_usage(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("prose")
    db = ["--db", str(tmp_path / "w.db")]
    assert main(["import", str(tmp_path / "a.txt"), *db]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "needs a column source" in refused.err
    assert main(["import", str(tmp_path / "b.txt"), *db]) == 2
    assert not (tmp_path / "w.db").exists()
