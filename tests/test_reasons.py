"""Reasons and notices, and how they are said."""

import re

import pytest

from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, reason
from qafd.runs.stored import plain_of, record_of
from qafd.wording.reasons import word_cause, word_notice, word_reason, word_seed

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
