"""The list of files: what each is said to be, and files that came or went meanwhile."""

import pytest

from qafd.curate.files import listing
from qafd.storage.rows import File


def file(status="done", passages=4, extracted=4, error="", deleted=False):
    return File("a.txt", status, error, ("Cut.",), 9, 1, passages, extracted, "now",
                "then" if deleted else None)


def line(one, working=True, doubt=""):
    return listing([one], {"a.txt": doubt}, working)[0]


@pytest.mark.parametrize(("one", "working", "state", "read"), [
    (file(), True, "done", 1.0),
    (file("queued", 0, 0), False, "waiting", 0.0),
    (file("parsing", 0, 0), True, "reading", 0.0),
    (file("parsing", 0, 0), False, "interrupted", 0.0),
    (file("extracting", 4, 1), True, "extracting", 0.25),
    (file("extracting", 4, 1), False, "interrupted", 0.25),
    (file("cancelled", 4, 1), False, "cancelled", 0.25),
    (file("cancelled", 0, 0), False, "not begun", 0.0),
    (file("failed", 4, 3), False, "failed", 0.75),
    (file("failed", 0, 0), False, "failed", None),
    (file("done", 0, 0), False, "done", 1.0),
    (file(deleted=True), True, "deleted", None)])
def test_the_state_says_what_is_going_on(one, working, state, read):
    assert (line(one, working).state, line(one, working).read) == (state, read)


@pytest.mark.parametrize(("one", "doubt", "again"), [
    (file(), "", False), (file(), "In part.", True), (file("failed"), "", True),
    (file("cancelled"), "", True), (file("failed", deleted=True), "In part.", False)])
def test_what_failed_was_stopped_or_is_doubted_can_be_read_again(one, doubt, again):
    assert line(one, doubt=doubt).retriable is again
