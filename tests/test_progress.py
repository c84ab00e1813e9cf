"""Tests of qafd.cli.progress: a log hears how far a long command is, a quick one says nothing."""

from qafd.cli.progress import ProgressLine
from qafd.ingest.progress import Progress


def test_a_quick_command_writes_nothing_to_a_log(capsys):
    with ProgressLine() as quick:
        quick.show(Progress("parsing", 1, 2, "a.txt"))
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_is_cleared_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with ProgressLine() as watched:
        watched("tree", 1, 2)
        watched("tree", 2, 2)
    assert [part.strip() for part in capsys.readouterr().err.split("\r")] == [
        "", "tree 1/2", "tree 2/2", "", ""]
