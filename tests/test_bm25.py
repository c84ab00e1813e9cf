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


def test_a_word_in_fewer_passages_counts_more():
    table = Bm25.build(TEXTS).contributions(["green", "apple"])
    assert table[1, 0] > table[1, 1] > 0


@pytest.mark.parametrize("texts", [[], ["", ""]], ids=["no passages", "empty passages"])
def test_nothing_to_search_scores_nothing(texts):
    assert Bm25.build(texts).contributions(["apple"]).tolist() == [[0.0]] * len(texts)


def test_words_are_casefolded():
    assert words("The U.S. and STRASSE, stra\u00dfe") == [
        "the", "u", "s", "and", "strasse", "strasse"]


def test_accents_do_not_matter():
    assert words("Jos\u00e9 Guimar\u00e3es") == ["jose", "guimaraes"]
    assert Bm25.build(["Jos\u00e9 is here", "nobody is"]).contributions(["jose"])[:, 0].argmax() == 0


def test_an_underscore_parts_two_words():
    assert words("20260105_11:00 MAX_size") == ["20260105", "11", "00", "max", "size"]
