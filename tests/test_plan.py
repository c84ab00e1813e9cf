
import numpy as np
import pytest
from local_models import embedder

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.plan import Planner
from qafd.reading.text import canonical
from qafd.reasons import NoticeKind

NAMES = ["Apple", "Steve Jobs", "iPhone", "Amazon River", "Paper Lanterns", "Gala",
         "operating system", "studio album", "Captain America"]


@pytest.fixture(scope="module")
def planner():
    vectors = embedder().embed([canonical(name) for name in NAMES] + ["a passage"])
    graph = Graph.build(
        [f"n{i}" for i in range(len(NAMES) + 1)], [*NAMES, "Title"],
        ["entity"] * len(NAMES) + ["passage"], [0, 1], [8, 8],
        vectors=vectors, name_vectors=vectors)
    return Planner(graph, embedder())


def test_vectors_belong_to_the_question_and_its_keywords(planner):
    plan = planner.plan("Who presented the iPhone at Apple?")
    assert np.array_equal(plan.embedding, embedder().embed([plan.question])[0])
    assert np.array_equal(plan.keyword_embeddings,
                          embedder().embed([keyword.text for keyword in plan.keywords]))


def test_no_keyword_comes_twice(planner):
    plan = planner.plan("Did Apple sell the Apple iPhone, or did Steve Jobs of Apple?")
    forms = [canonical(keyword.text) for keyword in plan.keywords]
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize(("question", "why"), [
    ("", "is empty"), ("   ", "is empty"), ("\n\t", "is empty"),
    ("?!", r"\?!. has no letter"), ("\u2026", "has no letter")])
def test_a_question_without_a_word_is_refused(planner, question, why):
    with pytest.raises(ParameterError, match=why):
        planner.plan(question)


def test_long_questions_are_cut_with_a_notice(planner):
    plan = planner.plan("Who founded Apple? " + "Tell me more about it. " * 450)
    assert plan.names == ("apple",)
    assert len(plan.question) > 10_000
    assert NoticeKind.QUESTION_CUT in [notice.kind for notice in plan.notices]
