"""Tests of qafd.cli.meter: a log hears how far a long command is, a quick one says nothing."""

from qafd.cli import meter
from qafd.cli.meter import Meter
from qafd.index import Progress


def test_a_quick_command_writes_nothing_to_a_log(capsys):
    with Meter() as quick:
        quick.show(Progress("parsing", 1, 2, "a.txt"))
    assert capsys.readouterr().err == ""


def test_a_long_command_writes_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(meter, "EVERY", 0.0)
    with Meter() as long:
        long.show(Progress("parsing", 1, 2, "a\nb.txt"))
        long("tree", 2, 2)
    assert capsys.readouterr().err == "parsing 1/2 a b.txt\ntree 2/2\n"


def test_a_terminal_has_one_line_that_is_cleared_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Meter() as watched:
        watched("tree", 1, 2)
        watched("tree", 2, 2)
    assert [part.strip() for part in capsys.readouterr().err.split("\r")] == [
        "", "tree 1/2", "tree 2/2", "", ""]
