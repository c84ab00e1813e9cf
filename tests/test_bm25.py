from math import log

import numpy as np
import pytest

from qafd.reading.text.bm25 import Bm25, words

TEXTS = ["red apple red", "green apple", "a long river runs far away"]


def test_scores_follow_the_formula():
    bm25 = Bm25.build(TEXTS)
    mean = (3 + 2 + 6) / 3
    idf = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / mean))
    assert bm25.contributions(["red"]) == pytest.approx(np.array([[expected], [0], [0]]))


@pytest.mark.parametrize("texts", [[], ["", ""]], ids=["no passages", "empty passages"])
def test_nothing_to_search_scores_nothing(texts):
    assert Bm25.build(texts).contributions(["apple"]).tolist() == [[0.0]] * len(texts)


@pytest.mark.parametrize(("text", "found"), [
    ("The U.S. and STRASSE, stra\u00dfe", ["the", "u", "s", "and", "strasse", "strasse"]),
    ("Jos\u00e9 Guimar\u00e3es", ["jose", "guimaraes"]),
    ("20260105_11:00 MAX_size", ["20260105", "11", "00", "max", "size"])])
def test_words_have_neither_capitals_nor_accents_nor_underscores(text, found):
    assert words(text) == found


def test_forms_of_a_word_are_counted_together_and_a_passage_once():
    index = Bm25.build(["cats and a cat", "a cat", "cattle", "rowing boats", "they row", "a boat"])
    assert index.spread_forms(["cats", "cat", "row", "boats", "bird"]).tolist() == [2, 2, 2, 2, 0]
