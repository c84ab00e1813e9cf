"""Words put right, against comparing with every known word."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from qafd.graph import Graph
from qafd.models.embedder import LocalEmbedder
from qafd.plan import Planner
from qafd.plan.spelling import SHORT, Vocabulary, common_words, is_english, right_word
from qafd.reasons import NoticeKind

WORDS = ("tramline", "tramlines", "trainline", "gearwheel", "gearwheels", "quernstone", "querns", "oxbow")
COUNTS = dict(zip(WORDS, (3, 9, 5, 2, 1, 4, 7, 6), strict=True))


def spread(words):
    return np.array([COUNTS.get(word, 0) for word in words])


VOCABULARY = Vocabulary({*COUNTS, "mill"}.__contains__, spread)


def by_comparing_all(typed):
    """The word of the passages that is one slip away, not by another ending, and in most of them."""
    near = [word for word in WORDS if OSA.distance(typed, word) == 1
            and not word.startswith(typed) and not typed.startswith(word)]
    return min(near, key=lambda word: (-COUNTS[word], word), default="")


@given(st.sampled_from([word for word in WORDS if len(word) > SHORT]), st.data())
def test_a_word_with_slips_is_the_one_that_comparing_all_finds(word, data):
    letters = list(word)
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(letters) - 2))
        change = data.draw(st.sampled_from(("exchange", "leave out", "put in", "change")))
        if change == "exchange":
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        elif change == "leave out":
            del letters[at]
        else:
            letters[at:at + (change == "change")] = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    typed = "".join(letters)
    assume(typed not in COUNTS and len(typed) >= SHORT and not is_english(typed))
    found, wanted = right_word(typed, spread), by_comparing_all(typed)
    if wanted:
        assert found == wanted
    else:  # no passage has one: it may be an English word
        assert not found or found in common_words()
        assert not found or OSA.distance(typed, found) == 1


@pytest.mark.parametrize("typed", [
    "kettle", "finders", "oiled", "outage", "insured", "tapped", "oxbw",
    "tramlne2", "Tramlne", "querens "])
def test_common_short_and_other_words_stay(typed):
    assert right_word(typed, spread) == ""


def plan(name, question):
    """The plan of a question about a graph with this name alone."""
    graph = Graph.build(["e:1"], names=[name], kinds=["entity"])
    return Planner(graph, LocalEmbedder(), vocabulary=VOCABULARY).plan(question)


def test_a_question_is_read_with_its_words_put_right_and_says_so():
    right, slipped = (plan("Mill", f"Which {word} turns the Mill?") for word in ("gearwheel", "gaerwheel"))
    assert slipped.words == right.words
    assert slipped.question == "Which gaerwheel turns the Mill?"
    assert np.array_equal(slipped.embedding, right.embedding)
    (told,) = [one for one in slipped.notices if one.kind == NoticeKind.WORD_ALIKE]
    assert told.values == {"name": "gaerwheel", "other": "gearwheel"}
    assert not [one for one in right.notices if one.kind == NoticeKind.WORD_ALIKE]


def test_a_word_put_right_is_said_where_no_name_is_known():
    told = [one.kind for one in plan("Mill", "how is the gaerwheel oiled").notices]
    assert told == [NoticeKind.WORD_ALIKE]


def test_a_name_that_is_known_only_when_a_word_is_put_right_is_no_unknown_one():
    found = plan("Gearwheel Square", "Did Ada Quoll see the gaerwheel square?")
    assert found.names == ("gearwheel square",)
    told = {one.kind for one in found.notices}
    assert NoticeKind.WORD_ALIKE in told
    assert NoticeKind.NO_NAME_KNOWN not in told


@pytest.mark.parametrize("question", ["Wo lebte der Mann, und wann?", "¿Quién descubrió el germanio?"])
def test_words_of_other_languages_stay(question):
    assert plan("Mill", question).words == question
