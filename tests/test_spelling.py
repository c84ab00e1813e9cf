"""Words put right, against comparing with every known word."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from qafd.graph import Graph
from qafd.models.embedder import LocalEmbedder
from qafd.plan import Planner
from qafd.plan.spelling import BASE, ENDINGS, SHORT, common_words, right_word
from qafd.reading.text.slips import slips_between
from qafd.reasons import NoticeKind

WORDS = ("tramline", "tramlines", "trainline", "gearwheel", "gearwheels", "quernstone", "querns", "oxbow")
COUNTS = dict(zip(WORDS, (3, 9, 5, 2, 1, 4, 7, 6), strict=True))


def spread(words):
    return np.array([COUNTS.get(word, 0) for word in words])


def by_comparing_all(typed: str) -> str:
    """The word of the passages that is one slip away, not by another ending, and in most of them."""
    near = [word for word in WORDS if slips_between(typed, word) == 1
            and not word.startswith(typed) and not typed.startswith(word)]
    return min(near, key=lambda word: (-COUNTS[word], word), default="")


def is_english(word: str) -> bool:
    return any(word.endswith(ending) and word[:len(word) - len(ending)] in common_words()
               and len(word) - len(ending) >= (BASE if ending else 0) for ending in ("", *ENDINGS))


@given(st.sampled_from([word for word in WORDS if len(word) > SHORT]), st.data())
def test_a_word_with_slips_is_the_one_that_comparing_all_finds(word: str, data: st.DataObject) -> None:
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
    assume(typed not in COUNTS)
    found = right_word(typed, spread)
    wanted = "" if is_english(typed) or len(typed) < SHORT else by_comparing_all(typed)
    if wanted or is_english(typed):
        assert found == wanted
    else:  # no passage has one: it may be an English word
        assert not found or found in common_words()
        assert not found or slips_between(typed, found) == 1


@pytest.mark.parametrize("typed", ["kettle", "finder", "arguers", "oxbw", "tramlne2", "Tramlne", "querens "])
def test_common_short_and_other_words_stay(typed: str) -> None:
    assert right_word(typed, spread) == ""


def test_a_question_is_read_with_its_words_put_right_and_says_so() -> None:
    graph = Graph.build(["e:mill"], ["Mill"], ["entity"])
    planner = Planner(graph, LocalEmbedder(), heard=lambda word: word in COUNTS or word == "mill",
                      spread=spread)
    right, slipped = (planner.plan(f"Which {word} turns the Mill?") for word in ("gearwheel", "gaerwheel"))
    assert slipped.words == right.words
    assert slipped.question == "Which gaerwheel turns the Mill?"
    assert np.array_equal(slipped.embedding, right.embedding)
    (told,) = [one for one in slipped.notices if one.kind == NoticeKind.WORD_ALIKE]
    assert told.values == {"name": "gaerwheel", "other": "gearwheel"}
    assert not [one for one in right.notices if one.kind == NoticeKind.WORD_ALIKE]
