"""The time that is left, from measured speed, and the line of a command that takes long."""

import math

import pytest

from qafd.cli.progress import ProgressLine
from qafd.ingest.engine import Progress
from qafd.time_left import TimeLeft


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def steady(pace: TimeLeft, clock: Clock, seconds: int, speed: float = 2.0, total: float = 200) -> None:
    """A note each second while `speed` is done per second."""
    begun = pace.share * total
    for second in range(1, seconds + 1):
        clock.now += 1
        pace.note(begun + speed * second, total)


def test_nothing_is_said_before_it_is_measured(clock: Clock) -> None:
    pace = TimeLeft(clock)
    pace.note(0, 200)
    steady(pace, clock, 4)
    assert pace.left is None
    steady(pace, clock, 1)
    assert pace.left == pytest.approx(95)  # 190 at 2 per second


def test_an_unknown_total_says_nothing_and_a_grown_one_counts(clock: Clock) -> None:
    pace = TimeLeft(clock)
    for done in range(10):
        pace.note(done, math.inf)
        clock.now += 1
    assert pace.left is None
    pace.note(10, 110)
    assert pace.left == pytest.approx(100, rel=0.1)  # 100 at 1 per second


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


def test_passages_are_counted_with_those_of_files_that_wait(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    waiting = iter([math.inf, 30.0, 0.0])
    monkeypatch.setattr("qafd.cli.progress.ASKED", 0.0)
    with ProgressLine(lambda: next(waiting)) as watched:
        for total in (10, 20, 50):
            watched("extracting", 9, total)
    assert [part.strip() for part in capsys.readouterr().err.split("\r")] == [
        "", "extracting 9 passages", "extracting 9 of about 50 passages", "extracting 9/50 passages", "", ""]


def test_no_line_is_longer_than_the_terminal_is_wide(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    with ProgressLine() as watched:
        watched("extracting", 9, 50, "a/long/name/of/a/file.txt")
    assert max(map(len, capsys.readouterr().err.split("\r"))) < 30
