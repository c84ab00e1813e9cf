"""What becomes of an answer when a part of the library is covered up."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from clicks import page, shown

from qafd.answer import Answer, Citation, Sentence
from qafd.answer.change import AnswerChange
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.base import RetrievedPassage
from qafd.wording.answers import say_change

ASKED = "Introduce Steve Jobs's products in Apple."


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
    (answer("a", "b"), answer("c", best=0.1), "ab", ""),
    (answer("a", best=0.1), answer("b", best=0.1), "", ""),
], ids=["same", "order", "one", "best", "place", "lost", "neither"])
def test_a_change_has_the_sentences_that_leave_and_come(
        before: Answer, after: Answer, left: str, came: str) -> None:
    change = AnswerChange.of(before, after)
    assert "".join(s.text for s, _ in change.left) == left
    assert "".join(s.text for s, _ in change.came) == came


def test_without_its_document_a_quoted_sentence_leaves_the_answer(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    before = knowledge.answer(ASKED)
    cited = {c.number: c.passage.document for c in before.citations}
    gone = [s.text for s in before.sentences if cited[s.citation] == "steve-jobs.md"]
    loss = knowledge.explain(ASKED).without(documents=["steve-jobs.md"])
    change = AnswerChange.of(before, knowledge.answer(loss.after))
    assert gone
    assert [s.text for s, _ in change.left if _.passage.document == "steve-jobs.md"] == gone
    assert all(c.passage.document != "steve-jobs.md" for _, c in change.came)
    text = shown(page("explore", tab="What if", no_doc="steve-jobs.md"))
    assert say_change(change) in text
    assert all(sentence in text[text.index("Leaves the answer"):] for sentence in gone)
