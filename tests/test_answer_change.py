"""What becomes of an answer when a part of the library is covered up."""

from collections.abc import Sequence

import pytest

from qafd.answer import Answer, Citation, Sentence
from qafd.answer.change import AnswerChange
from qafd.retrieve.base import RetrievedPassage


def answer(*texts: str, document: str = "a.md", best: float = 0.8) -> Answer:
    """An answer of sentences that stand one after another in a document, the first the best."""
    passage = RetrievedPassage("p", "c", document, "A", "", 1.0, 0, 99)
    at: Sequence[int] = [10 * "abcdefgh".index(text[0]) for text in texts]
    return Answer(tuple(Sentence(text, 1, best, start, start + 9, best=i == 0)
                        for i, (text, start) in enumerate(zip(texts, at, strict=True))),
                  (Citation(1, "A", "a.md", passage),), best)


@pytest.mark.parametrize(("before", "after", "left", "came"), [
    (answer("a", "b"), answer("a", "b"), "", ""), (answer("a", "b"), answer("b", "a"), "", ""),
    (answer("a", "b"), answer("a", "c"), "b", "c"), (answer("a", "b", "c"), answer("c"), "ab", ""),
    (answer("a"), answer("a", document="b.md"), "a", "a"),
    (answer("a", "b"), answer("c", best=0.1), "ab", "c"),
], ids=["same", "order", "one", "best", "place", "all"])
def test_a_change_has_the_sentences_that_leave_and_come(
        before: Answer, after: Answer, left: str, came: str) -> None:
    change = AnswerChange.of(before, after)
    assert "".join(s.text for s, _ in change.left) == left
    assert "".join(s.text for s, _ in change.came) == came
