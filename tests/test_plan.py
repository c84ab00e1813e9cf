import re

import numpy as np
import pytest
from local_models import embedder

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.plan import READ, Planner
from qafd.reading.text import canonical

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


def texts(plan, level):
    return [keyword.text for keyword in plan.keywords if keyword.level == level]


def test_names_of_the_graph_are_found_in_the_question(planner):
    plan = planner.plan("Introduce Steve Jobs's products in Apple.")
    assert plan.names == ("steve jobs", "apple")
    assert texts(plan, "low")[:2] == ["Steve Jobs", "Apple"]
    assert "products" in " ".join(texts(plan, "high"))


def test_vectors_belong_to_the_question_and_its_keywords(planner):
    plan = planner.plan("Who presented the iPhone at Apple?")
    assert np.array_equal(plan.embedding, embedder().embed([plan.question])[0])
    assert np.array_equal(plan.keyword_embeddings,
                          embedder().embed([keyword.text for keyword in plan.keywords]))


def test_no_keyword_comes_twice(planner):
    plan = planner.plan("Did Apple sell the Apple iPhone, or did Steve Jobs of Apple?")
    forms = [canonical(keyword.text) for keyword in plan.keywords]
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(planner, question):
    with pytest.raises(ParameterError, match="question is empty"):
        planner.plan(question)


@pytest.mark.parametrize("question", ["?!", "\u2026"])
def test_a_question_of_marks_alone_is_refused_with_them(planner, question):
    with pytest.raises(ParameterError, match=re.escape(f"\u201c{question}\u201d has no letter")):
        planner.plan(question)


def test_a_misspelled_name_stands_for_the_nearest_one(planner):
    assert "steve jobs" in planner.plan("Where was Steven Jobs born?").names


def test_a_single_unknown_word_stands_for_no_longer_name(planner):
    assert planner.plan("Which ship did Captain sail?").names == ()


def test_a_name_is_found_with_other_accents_and_dashes_than_it_has():
    names = ["Beyonc\u00e9", "Rose", "Ros\u00e9", "1979\u201380 European Cup", "European Cup"]
    vectors = embedder().embed([canonical(name) for name in names])
    graph = Graph.build([*"abcde"], names, ["entity"] * 5, vectors=vectors, name_vectors=vectors)
    planner = Planner(graph, embedder())
    assert planner.plan("Was Beyonce on tour?").names == ("beyonc\u00e9",)
    assert planner.plan("Was B\u00e9yonc\u00e9 on tour?").names == ("beyonc\u00e9",)
    assert planner.plan("Did she drink Ros\u00e9?").names == ("ros\u00e9",)
    assert planner.plan("Did she like Rose?").names == ("rose",)
    assert planner.plan("Who won the 1979-80 European Cup?").names == (
        "1979\u201380 european cup",)


def test_what_stands_for_an_unknown_name_is_said(planner):
    assert planner.plan("Where was Steven Jobs born?").notices == (
        "\u201cSteven Jobs\u201d is no name in these documents; Steve Jobs stands for it "
        "(spelled alike).",)


def test_what_is_compared_with_texts_has_the_right_spelling(planner):
    plan = planner.plan("Where was Steven Jobs born?")
    assert (plan.question, plan.words) == ("Where was Steven Jobs born?",
                                           "Where was Steve Jobs born?")
    assert np.array_equal(plan.embedding, embedder().embed(["Where was Steve Jobs born?"])[0])
    right = planner.plan("Where was Steve Jobs born?")
    assert right.read == ""
    assert (plan.keywords, plan.names) == (right.keywords, right.names)
    assert np.array_equal(plan.keyword_embeddings, right.keyword_embeddings)


def test_an_unknown_name_beside_known_ones_is_said(planner):
    assert planner.plan("Was Apple founded in Reykjavik?").notices == (
        "\u201cReykjavik\u201d is no name in these documents.",)
    assert planner.plan("Did Steve Jobs present the iPhone?").notices == ()


def test_many_unknown_names_are_counted(planner):
    cities = ["Reykjavik", "Oslo", "Helsinki", "Tallinn", "Vilnius", "Warsaw"]
    notices = planner.plan(f"Did Apple have shops in {', '.join(cities)} and Prague?").notices
    assert len(notices) == 5
    assert notices[0] == "\u201cReykjavik\u201d is no name in these documents."
    assert notices[-1] == "3 more names of the question are none in these documents."


def test_a_person_of_whom_a_part_is_known_is_said_to_be_unknown(planner):
    plan = planner.plan("Where was Apple Johnson born?")
    assert plan.names == ("apple",)
    assert plan.notices == (
        "\u201cApple Johnson\u201d is no name in these documents, only Apple is.",)


def test_unknown_names_are_said_to_be_unknown(planner):
    plan = planner.plan("When did the Battle of Xzqvw end?")
    assert plan.names == ()
    assert "No name in the question is known" in " ".join(plan.notices)


def test_nothing_is_said_to_be_unknown_in_an_empty_graph():
    plan = Planner(Graph.build([]), embedder()).plan("Who founded Apple?")
    assert plan.names == ()
    assert plan.notices == ()


def test_terms_count_only_when_no_name_is_there(planner):
    assert planner.plan("Which operating system has the iPhone?").names == ("iphone",)
    assert planner.plan("What is an operating system?").names == ("operating system",)


def test_small_letters_are_enough_when_the_question_has_no_capital(planner):
    assert planner.plan("who sold apple").names == ("apple",)
    assert "apple" not in planner.plan("Did Steve Jobs eat an apple?").names


def test_long_questions_are_cut_with_a_notice(planner):
    plan = planner.plan("Who founded Apple? " + "Tell me more about it. " * 450)
    assert plan.names == ("apple",)
    assert len(plan.question) > 10_000
    assert any(f"only the first {READ:,} are read" in notice for notice in plan.notices)


@pytest.mark.parametrize("question", [
    "\u8c01\u521b\u7acb\u4e86\u82f9\u679c\u516c\u53f8\uff1f",
    "Wer hat eigentlich damals zuerst Telefone dieser Art verkauft?",
])
def test_other_languages_get_a_notice(planner, question):
    plan = planner.plan(question)
    assert any("does not look English" in notice for notice in plan.notices)
    assert plan.embedding.shape == (384,)


@pytest.mark.parametrize("question", ["《。》是什么书？", "『・』とは何ですか"])
def test_marks_alone_are_no_name_in_any_language(planner, question):
    assert not [k for k in planner.plan(question).keywords if not canonical(k.text)]


def test_an_english_question_gets_no_notice(planner):
    assert planner.plan("Which cities lie on the Amazon River?").notices == ()


def test_the_same_question_has_the_same_plan(planner):
    one, two = (planner.plan("Where was the singer of Paper Lanterns born?") for _ in range(2))
    assert (one.keywords, one.names, one.notices) == (two.keywords, two.names, two.notices)
    assert np.array_equal(one.embedding, two.embedding)


def test_a_misspelled_word_that_no_passage_has_is_read_as_the_name(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "firms.db")
    knowledge.add_text("firms.md", "# Firms\n\nHydralis was founded by Claire Dumont. Aquapor, a "
                       "firm in Osaka, was led by Tomas Berglund. Aquapors are no fish.")
    for asked, read in (("Who founded Hidralis?", "Who founded Hydralis?"),
                        ("who leads aquapour", "who leads aquapor")):
        plan = knowledge.plan(asked)
        assert plan.read == read
        assert len(plan.names) == 1
    assert knowledge.plan("Who saw Aquapors?").read == ""
