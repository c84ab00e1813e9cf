"""The time that is left: from measured speed, nothing too early, no jumping numbers."""

import math

import pytest

from qafd.pace import Pace, rounded


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def steady(pace: Pace, clock: Clock, seconds: int, speed: float = 2.0, total: float = 200) -> None:
    """A note each second while `speed` is done per second."""
    begun = pace.share * total
    for second in range(1, seconds + 1):
        clock.now += 1
        pace.note(begun + speed * second, total)


def test_nothing_is_said_before_it_is_measured(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 200)
    steady(pace, clock, 4)
    assert pace.left == ""
    steady(pace, clock, 1)
    assert pace.left == "about 2 min left"  # 190 at 2 per second are 95 s


def test_few_reports_say_nothing_however_long_they_took(clock: Clock) -> None:
    pace = Pace(clock)
    for done in (0, 16, 32, 48):
        pace.note(done, 500)
        clock.now += 30
    assert pace.left == ""
    pace.note(64, 500)
    assert pace.left == "about 14 min left"  # 436 at 64 in 120 s are 817 s


def test_what_came_before_the_first_note_does_not_count_as_speed(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(1000, 1100)
    for done in range(1001, 1011):
        clock.now += 1
        pace.note(done, 1100)
    assert pace.left == "about 2 min left"  # 90 at 1 per second


def test_it_counts_down_between_notes(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 100)
    steady(pace, clock, 10, 2.0, 100)
    assert pace.left == "about 40 s left"
    clock.now += 11
    assert pace.left == "about 30 s left"
    clock.now += 100
    assert pace.left == "a few seconds left"


def test_a_small_change_of_speed_does_not_make_it_jump(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 1000)
    said = []
    for second in range(1, 200):
        clock.now += 1
        if second % 3 == 0:  # in batches, as passages are read
            pace.note(5 * second + (-4, 4)[second % 2], 1000)
        said.append(pace.left)
    values = [int(text.split()[1]) * (60 if "min" in text else 1)
              for text in said if text.startswith("about")]
    assert len(values) > 100
    assert values == sorted(values, reverse=True)


def test_a_changed_speed_is_noticed(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 400)
    steady(pace, clock, 10, 10.0, 400)
    assert pace.left == "about 30 s left"
    steady(pace, clock, 90, 1.0, 400)
    assert pace.left == "about 2 min left"  # 190 in 100 s; 210 are left


def test_a_speed_that_has_grown_is_noticed(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 400)
    steady(pace, clock, 10, 1.0, 400)
    assert pace.left == "about 6 min left"
    steady(pace, clock, 10, 20.0, 400)
    assert pace.left == "about 20 s left"  # 210 in 20 s; 190 are left


def test_an_unknown_total_says_nothing_and_a_grown_one_counts(clock: Clock) -> None:
    pace = Pace(clock)
    for done in range(10):
        pace.note(done, math.inf)
        clock.now += 1
    assert pace.left == ""
    pace.note(10, 110)
    assert pace.left == "about 2 min left"  # 100 at 1 per second


def test_less_done_than_before_begins_anew(clock: Clock) -> None:
    pace = Pace(clock)
    pace.note(0, 100)
    steady(pace, clock, 10, 2.0, 100)
    pace.note(0, 5000)
    assert pace.left == ""
    assert pace.share == 0


@pytest.mark.parametrize(("seconds", "words"), [
    (-3, "a few seconds left"), (9, "a few seconds left"), (10, "about 10 s left"),
    (44, "about 40 s left"), (54, "about 50 s left"), (56, "about 1 min left"),
    (89, "about 1 min left"), (150, "about 2 min left"), (3300, "about 0.9 h left"),
    (5400, "about 1.5 h left"), (86_400, "about 24 h left"),
])
def test_it_is_said_no_finer_than_it_is_known(seconds: float, words: str) -> None:
    assert rounded(seconds) == words
