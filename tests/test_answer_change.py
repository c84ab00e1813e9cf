"""What becomes of an answer when a part of the library is covered up."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from clicks import page, shown

from qafd.answer import Answer, Citation, Sentence
from qafd.answer.change import AnswerChange
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.base import RetrievedPassage

ASKED = "Introduce Steve Jobs's products in Apple."


def answer(*texts: str, document: str = "a.md", best: float = 0.8) -> Answer:
    """An answer of sentences that stand one after another in a document, the first the best."""
    passage = RetrievedPassage("p", "c", document, "A", "", 1.0, 0, 99)
    at: Sequence[int] = [10 * "abcdefgh".index(text[0]) for text in texts]
    return Answer(tuple(Sentence(text, 1, best, start, start + 9, best=i == 0)
                        for i, (text, start) in enumerate(zip(texts, at, strict=True))),
                  (Citation(1, "A", "a.md", passage),), best)


@pytest.mark.parametrize(("before", "after", "said"), [
    (answer("a", "b"), answer("a", "b"), "The answer stays the same."),
    (answer("a", "b"), answer("b", "a"),
     "The answer has the same sentences, but another one comes first."),
    (answer("a", "b"), answer("a", "c"),
     "The answer changes: 1 of its 2 sentences leaves and 1 comes."),
    (answer("a", "b", "c"), answer("c"),
     "The answer changes: 2 of its 3 sentences leave, the best one among them."),
    (answer("a"), answer("a", document="b.md"),
     "The answer changes: its only sentence leaves and 1 comes."),
    (answer("a", "b", "c"), answer("a", "c", "b"), "The answer stays the same."),
    (answer("a", "b"), answer("b", "c"),
     "The answer changes: 1 of its 2 sentences leaves, the best one among them, and 1 comes."),
    (answer("a"), answer("a", "b", "c"), "The answer changes: 2 come."),
    (answer("a", best=0.1), answer("a"), "Now there is an answer."),
    (answer("a", best=0.1), answer("b", best=0.1), "There is no answer, as before."),
], ids=["same", "order", "one", "best", "place", "order of the rest", "best and new", "more",
        "now", "neither"])
def test_a_change_of_the_answer_is_one_sentence(before: Answer, after: Answer, said: str) -> None:
    assert AnswerChange.of(before, after).sentence == said


def test_a_lost_answer_says_how_near_the_best_sentence_is() -> None:
    found = AnswerChange.of(answer("a", "b"), answer("c", best=0.1))
    assert found.sentence.startswith("The answer is lost. ")
    assert "0.10" in found.sentence
    # What is shown only because nothing answers did not come into the answer.
    assert [s.text for s, _ in found.left] == ["a", "b"]
    assert not found.came


@pytest.mark.parametrize(("best", "near"), [(0.27, True), (0.1, False), (0.8, False)])
def test_an_answer_that_is_nearly_near_enough_is_perhaps_one(best: float, near: bool) -> None:
    assert answer("a", best=best).perhaps is near
    assert answer("a", best=best).absence.startswith("Perhaps") is near


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
    assert change.sentence in text
    assert all(sentence in text[text.index("Leaves the answer"):] for sentence in gone)


def test_what_the_answer_does_not_rest_on_can_be_taken_out(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    explanation = knowledge.explain(ASKED)
    cited = {c.passage.document for c in knowledge.answer(ASKED).citations}
    spare = next(name for name in explanation.documents if name not in cited and AnswerChange.of(
        knowledge.answer(ASKED), knowledge.answer(explanation.without(documents=[name]).after)
    ).sentence == "The answer stays the same.")
    assert "<b>The answer stays the same.</b>" in shown(
        page("explore", tab="What if", no_doc=spare))
