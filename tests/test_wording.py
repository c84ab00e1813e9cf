"""Lists and counts read as people write them; errors survive a copy between processes."""

import copy

import pytest

from qafd.errors import BusyError
from qafd.wording import count, join_some, join_words


@pytest.mark.parametrize(("number", "words"), [(0, "0 nodes"), (1, "1 node"), (1200, "1,200 nodes")])
def test_one_is_singular_and_all_else_plural(number, words):
    assert count(number, "node") == words


def test_a_list_has_an_and_before_its_last():
    assert [join_words(list("abc")[:size]) for size in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_cut_list_never_hides_a_single_name():
    names = list("abcde")
    assert join_some(names[:4]) == "a, b, c and d"
    assert join_some(names) == "a, b, c and 2 more"


def test_an_error_is_the_same_after_a_copy():
    error = copy.copy(BusyError("a worker writes"))
    assert (type(error), str(error)) == (BusyError, "a worker writes")
