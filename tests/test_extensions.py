"""Methods, readers and exporters of other packages: the example package is installed and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from qafd import extensions
from qafd.extensions import load_extensions

ROOT = Path(__file__).parents[1]
CHECKS = """
from qafd.testing import check_exporter, check_method, check_reader
check_method("nearest")
check_reader("org", b"* Ports\\n[[http://a.b][Lisbon]] is a port.", "Lisbon is a port.")
check_exporter("names")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment in which the example package is installed."""
    target, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source")
    shutil.copytree(ROOT / "examples" / "qafd-example", source, dirs_exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation",
                    "--no-index", "--target", str(target), str(source)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(ROOT)])}


def run(environment, *arguments):
    return subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True,
                          text=True).stdout


def test_the_example_package_keeps_the_contract(installed):
    run(installed, "-c", CHECKS)


def test_the_command_line_uses_what_a_package_adds(installed, tmp_path):
    file, db = tmp_path / "ports.org", str(tmp_path / "ports.db")
    file.write_text("* Ports\nLisbon is a port. Ferries leave [[http://a.b][Porto]] at noon.\n")
    run(installed, "-m", "qafd", "index", str(file), "--db", db)
    found = json.loads(run(installed, "-m", "qafd", "query", "Which port has ferries?", "--method", "nearest",
                           "--db", db, "--json"))
    assert found["method"] == "nearest"
    assert "Ferries leave Porto at noon." in found["passages"][0]["text"]
    names = run(installed, "-m", "qafd", "export", "Which port has ferries?", "--format", "names", "--db", db)
    assert "Ports" in names.splitlines()


class Point:
    """An entry point of a package that is broken, or fine."""

    value = "package:thing"

    def __init__(self, error=None):
        self.error = error

    def load(self):
        """Give the thing, or raise."""
        if self.error:
            raise self.error
        return "thing"


def test_what_cannot_be_loaded_or_has_our_name_is_left_out_with_a_warning(monkeypatch, caplog):
    points = {"fine": Point(), "qafd": Point(), "broken": Point(ImportError("no numpy"))}
    monkeypatch.setattr(extensions, "find_extensions", lambda _: points)
    assert load_extensions("qafd.methods", ["qafd"]) == {"fine": "thing"}
    assert [("qafd of" in text, "ImportError: no numpy" in text) for text in caplog.messages] == [
        (True, False), (False, True)]


def test_nothing_is_looked_for_when_the_package_is_imported():
    code = "import sys, qafd; print('importlib.metadata' in sys.modules)"
    assert run(dict(os.environ), "-c", code).strip() == "False"
