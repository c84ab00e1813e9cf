"""Words looked for in passages: what is found, in what order, with what marked and said."""

from math import log

import numpy as np
import pytest
from tiny import tiny_index

from qafd.reading.text.bm25 import Bm25, words
from qafd.storage import open_workspace
from qafd.storage.rows import MOST_WORDS

DOCUMENTS = {
    "lamp.txt": "The lamp was lit. The keeper of the lamp slept.",
    "keeper.txt": "A keeper writes. Café Zoë opened in the Straße beside the crème store.",
    "long.txt": "Nothing is here. " * 30 + "Then a lantern came, the keeper and his lamp. "
                + "Nothing more. " * 30,
    "east.txt": "東京都は日本の首都である。 C++ and F# are languages."}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A workspace that the tests only read."""
    path = tmp_path_factory.mktemp("search") / "work.db"
    tiny_index(path, [(name, text.encode()) for name, text in DOCUMENTS.items()])
    with open_workspace(path) as opened:
        yield opened


def marked(hit):
    return [text for text, on in hit.parts if on]


def test_passages_with_all_words_are_found_and_the_words_marked(store):
    found = store.passages.search("LAMP keeper")
    assert sorted(hit.chunk.document for hit in found.hits) == ["lamp.txt", "long.txt"]
    assert (found.total, found.said) == (2, "")
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    lamp = next(hit for hit in found.hits if hit.chunk.document == "lamp.txt")
    assert marked(lamp) == ["lamp", "keeper", "lamp"]
    assert "".join(text for text, _ in lamp.parts) == DOCUMENTS["lamp.txt"]
    long = next(hit for hit in found.hits if hit.chunk.document == "long.txt")
    assert {"keeper", "lamp"} <= set(marked(long))
    assert len("".join(text for text, _ in long.parts)) < 300


def test_passages_with_some_words_are_found_where_none_has_all_which_is_said(store):
    found = store.passages.search("lamp store")
    assert {hit.chunk.document for hit in found.hits} == {"lamp.txt", "long.txt", "keeper.txt"}
    assert found.said == "No passage has all of these words; these have some."


@pytest.mark.parametrize("text", ["cafe", "CAFÉ", "cafe\u0301", "zoe", "Straße", "straße", "creme"])
def test_accents_and_capitals_do_not_matter(store, text):
    hit, = store.passages.search(text).hits
    assert hit.chunk.document == "keeper.txt"
    assert len(marked(hit)) == 1


def test_words_in_quotation_marks_are_a_phrase(store):
    assert {h.chunk.document for h in store.passages.search('"keeper of the lamp"').hits} == {"lamp.txt"}
    assert store.passages.search('"lamp of the keeper"').hits == ()


@pytest.mark.parametrize(("text", "found"), [
    ('"東京都は日本"', ["東京都は日本"]), ('"東京都は', ["東京都は"]), ('"首都" "東京"', ["首都"]),
    ('"首都 東京"', []), (" " * 1000 + "東京", ["東京"])])
def test_phrases_of_scripts_without_spaces_are_looked_for_without_their_marks(store, text, found):
    assert [mark for hit in store.passages.search(text).hits for mark in marked(hit)] == found


@pytest.mark.parametrize(("text", "marks"), [("東京", ["東京"]), ("C++", ["C"]), ("#", ["#"])])
def test_what_is_no_word_of_the_index_is_found_as_it_is(store, text, marks):
    hit, = store.passages.search(text).hits
    assert (hit.chunk.document, marked(hit)) == ("east.txt", marks)


def test_ten_thousand_words_are_cut_and_the_cut_is_said(store):
    found = store.passages.search("lamp " + " ".join(f"word{n}" for n in range(10_000)))
    assert [hit.chunk.document for hit in found.hits] == ["lamp.txt", "long.txt"]
    assert found.said.endswith(f"Only the first {MOST_WORDS} words were looked for.")


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
