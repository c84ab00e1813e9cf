"""What is read of a text as the question."""

import pytest

from qafd.graph import Graph
from qafd.models.embedder import LocalEmbedder
from qafd.plan import Planner
from qafd.reasons import NoticeKind

AROUND = ("Hello! {}", "Good evening. {} Thank you very much!",
          "I hope you can help me. I have been looking for hours. {} Have a nice day.")


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(Graph.build(["e:mill", "p:1"], ["Mill", "Notes"], ["entity", "passage"]), LocalEmbedder())


@pytest.mark.parametrize("around", AROUND)
def test_what_stands_around_a_question_is_not_read(around: str, planner: Planner) -> None:
    question = "Which bell rings before noon?"
    assert planner.plan(around.format(question)).words == question


@pytest.mark.parametrize("text", [
    "I know the Mill. Who owns it?", "Tell me about the lock gate. Be brief.", "The lock gate",
    "When was the lock gate rebuilt? How many oars does the ferry carry?"])
def test_questions_sentences_with_a_known_name_and_texts_that_do_not_ask_stay(
        text: str, planner: Planner) -> None:
    assert planner.plan(text).words == text


def test_a_plan_is_that_of_the_question_and_says_so(planner: Planner) -> None:
    plain, polite = planner.plan("Who owns the Mill?"), planner.plan("Hi! Who owns the Mill? Many thanks.")
    assert (polite.words, polite.names) == (plain.words, plain.names)
    assert polite.question == "Hi! Who owns the Mill? Many thanks."
    assert (polite.embedding == plain.embedding).all()
    (told,) = [one for one in polite.notices if one.kind == NoticeKind.READ_IN_PART]
    assert told.values == {"text": "Who owns the Mill?"}
    assert not [one for one in plain.notices if one.kind == NoticeKind.READ_IN_PART]


def test_of_a_graph_without_passages_all_is_asked() -> None:
    planner = Planner(Graph.build(["e:mill"], ["Mill"], ["entity"]), LocalEmbedder())
    assert planner.plan("Who owns the Mill? List all names.").words == "Who owns the Mill? List all names."
