"""The time that is left, from measured speed, and the line of a command that takes long."""

import math

import pytest

from qafd.cli.progress import ProgressLine
from qafd.ingest.engine import Progress
from qafd.time_left import TimeLeft


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def steady(pace, clock, seconds, speed=2.0, total=200):
    """A note each second while `speed` is done per second."""
    begun = pace.share * total
    for second in range(1, seconds + 1):
        clock.now += 1
        pace.note(begun + speed * second, total)


def test_nothing_is_said_before_it_is_measured(clock):
    pace = TimeLeft(clock)
    pace.note(0, 200)
    steady(pace, clock, 4)
    assert pace.left is None
    steady(pace, clock, 1)
    assert pace.left == pytest.approx(95)  # 190 at 2 per second


def test_an_unknown_total_says_nothing_and_a_grown_one_counts(clock):
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


def test_a_terminal_shows_each_stage_with_what_waits_and_is_cleared(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    waiting = iter([math.inf, 30.0])
    with ProgressLine(lambda: next(waiting)) as watched:
        watched("parsing", 1, 2, "a.txt")
        watched("extracting", 9, 10)
        watched("parsing", 2, 2, "b.txt")
        assert watched._bar.desc == "extracting"
        assert watched._bar.total is None
        watched("extracting", 12, 20)
        assert (watched._bar.n, watched._bar.total) == (12, 50)
    written = capsys.readouterr().err
    assert "parsing:" in written
    assert "b.txt" not in written
    assert written.rsplit("\r", 2)[1].strip() == ""
