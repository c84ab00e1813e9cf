"""Lists, counts, reasons and notices read as people write them; errors survive a copy."""

import copy
import re

import pytest

from qafd.errors import BusyError
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, reason
from qafd.runs.stored import plain_of, record_of
from qafd.wording import count, join_some, join_words
from qafd.wording.reasons import word_cause, word_notice, word_reason, word_seed


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


NUMBERS = ("place", "count", "score", "cosine", "similarity", "share", "energy", "meaning",
           "weight", "lexical", "level", "community", "met", "wanted", "confidence", "filled", "least")


def full(kind):
    """A reason of this kind with every value that any kind has."""
    values = dict.fromkeys(NUMBERS, 2)
    return Reason(kind, values | {
        "text": "Some text", "name": "Apple Inc.", "word": "apple", "title": "Apple",
        "first": "A", "last": "C", "way": ("A", "B.", "C"), "words": ("a", "b"),
        "diffusions": (1, 2)})


@pytest.mark.parametrize("kind", ReasonKind)
def test_every_kind_of_reason_can_be_said(kind):
    sentence = word_reason(full(kind))
    assert re.search(r"\w", sentence)
    assert not re.search(r"[{}]|\.\.", sentence)
    assert word_seed(full(kind))
    assert re.search(r"\w", word_cause([full(kind)]))


@pytest.mark.parametrize("kind", NoticeKind)
def test_every_kind_of_notice_can_be_said(kind):
    numbers = dict.fromkeys(("count", "met", "wanted", "seeds", "room", "poured", "done", "asked",
                             "few", "missing", "all", "read", "similarity", "total", "share", "results"), 2)
    values = {"text": "Some text", "name": "Apple", "names": ("Apple",), "words": ("a", "b"),
              "model": "m", "part": "App", "other": "Apples", **numbers}
    assert re.search(r"\w", word_notice(Notice(kind, values)))


def test_a_reason_comes_back_from_what_is_kept_of_it():
    told = reason(ReasonKind.ON_PATH, reason(ReasonKind.BROUGHT_BY, diffusions=(1, 2)),
                  first="A", last="B", way=("A", "B"), place=1, score=0.5)
    assert record_of(Reason, plain_of(told), "reason") == told
