"""Results that all sessions of the app share."""

from threading import Barrier, Thread

import pytest

from qafd.app.session import SharedResults


class Counted:
    """Computes a value, and counts how often."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return self.times


def test_a_result_is_computed_once_for_all_that_ask_at_the_same_time():
    shared, compute, begin = SharedResults(), Counted(), Barrier(8)
    found = []

    def ask():
        begin.wait()
        found.append(shared.get("mass", ("w", "1"), compute))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, compute.times) == ([1] * 8, 1)


def test_results_of_the_two_versions_used_last_are_kept_of_each_workspace():
    shared, compute, other = SharedResults(), Counted(), Counted()
    shared.get("other", ("v", "1"), other)
    for version in ("1", "2", "1", "3"):
        shared.get(f"first of {version}", ("w", version), compute)
    assert compute.times == 3
    shared.get("first of 1", ("w", "1"), compute)
    assert compute.times == 3
    shared.get("first of 2", ("w", "2"), compute)
    shared.get("other", ("v", "1"), other)
    assert (compute.times, other.times) == (4, 1)


def test_the_results_used_last_are_kept():
    shared, compute = SharedResults(most=2), Counted()
    for name in ("a", "b", "a", "c", "a"):
        shared.get(name, ("w", "1"), compute)
    assert compute.times == 3
    shared.get("b", ("w", "1"), compute)
    assert compute.times == 4


def test_a_result_that_failed_is_computed_again():
    shared, compute = SharedResults(), Counted()

    def fail():
        raise ValueError("no such node")

    with pytest.raises(ValueError, match="node"):
        shared.get("a", ("w", "1"), fail)
    assert shared.get("a", ("w", "1"), compute) == 1
