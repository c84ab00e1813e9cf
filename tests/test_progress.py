"""Tests of qafd.cli.progress: a log hears how far a long command is, a quick one says nothing."""

from qafd.cli import progress
from qafd.cli.progress import ProgressLine
from qafd.ingest.progress import Progress
from qafd.pace import Pace


def test_a_quick_command_writes_nothing_to_a_log(capsys):
    with ProgressLine() as quick:
        quick.show(Progress("parsing", 1, 2, "a.txt"))
    assert capsys.readouterr().err == ""


def test_a_terminal_says_how_long_it_still_takes(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "Pace", lambda: Pace(lambda: now[0]))
    with ProgressLine(lambda: 100.0) as watched:
        for done in range(7):
            watched("parsing", done, 9, "a.txt")
            watched("extracting", 10 * done, 200, "a.txt")
            now[0] += 2
    lines = [part.strip() for part in capsys.readouterr().err.split("\r")]
    # The first second is not asked about; 240 of 300 are left at 10 in 2 s.
    assert lines[-3] == "extracting 60/200 a.txt, about 50 s left"
    assert [line for line in lines if line.startswith("parsing")] == ["parsing 0/9 a.txt"]


def test_a_terminal_has_one_line_that_is_cleared_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with ProgressLine() as watched:
        watched("tree", 1, 2)
        watched("tree", 2, 2)
    assert [part.strip() for part in capsys.readouterr().err.split("\r")] == [
        "", "tree 1/2", "tree 2/2", "", ""]
