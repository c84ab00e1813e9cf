"""The command import, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def qafd(*arguments: object) -> "subprocess.CompletedProcess[str]":
    environment = {k: v for k, v in os.environ.items() if not k.startswith("QAFD")}
    return subprocess.run(
        [sys.executable, "-m", "qafd", *map(str, arguments)], text=True, env=environment,
        capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "edges.csv"
    path.write_text("from,to,relation,year\nAda,Engine,described,1843\nBabbage,Engine,built,\n")
    return path


def test_import_prints_what_it_took_in_and_the_graph_can_be_asked(
        table: Path, tmp_path: Path) -> None:
    done = qafd("import", table, "--db", tmp_path / "w.db", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["name"], said["nodes"], said["edges"], said["passages"]) == ("edges.csv", 3, 2, 2)
    assert "Attributes that were not read: year." in said["notices"]
    found = qafd("query", "Who described the Engine?", "--db", tmp_path / "w.db", "--json")
    assert "Ada" in {node["name"] for node in json.loads(found.stdout)["nodes"]}


def test_what_is_no_graph_fails_and_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("prose")
    refused = qafd("import", tmp_path / "a.txt", "--db", tmp_path / "w.db")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "needs a column source" in refused.stderr
    assert qafd("import", tmp_path / "b.txt", "--db", tmp_path / "w.db").returncode == 2
    assert not (tmp_path / "w.db").exists()
