"""A question as it is read: by rules, and by a model, of whose reply what is good is taken."""

import json

import numpy as np
import pytest
from local_models import embedder

from qafd.errors import DeadlineError, ParameterError
from qafd.graph import Graph
from qafd.models import Recorded
from qafd.models.prompts_answer import PLAN_SCHEMA, read_plan
from qafd.plan import Planner
from qafd.reading.text import canonical
from qafd.reasons import NoticeKind
from qafd.records import Keyword

NAMES = ["Apple", "Steve Jobs", "iPhone", "Amazon River", "Paper Lanterns", "Gala",
         "operating system", "studio album", "Captain America"]


@pytest.fixture(scope="module")
def planner():
    vectors = embedder().embed([canonical(name) for name in NAMES] + ["a passage"])
    graph = Graph.build([f"n{i}" for i in range(len(NAMES) + 1)], [0, 1], [8, 8], names=[*NAMES, "Title"],
                        kinds=["entity"] * len(NAMES) + ["passage"], vectors=vectors,
                        name_vectors=vectors)
    return Planner(graph, embedder())


def test_vectors_belong_to_the_question_and_its_keywords(planner):
    plan = planner.plan("Who presented the iPhone at Apple?")
    assert np.array_equal(plan.embedding, embedder().embed([plan.question])[0])
    assert np.array_equal(plan.keyword_embeddings,
                          embedder().embed([keyword.text for keyword in plan.keywords]))


def test_keywords_are_embedded_when_a_method_compares_them(planner):
    class Counting:
        name, dimension = embedder().name, embedder().dimension

        def embed(self, texts):
            embedded.extend(texts)
            return embedder().embed(texts)

    embedded = []
    plan = Planner(planner._graph, Counting()).plan("Did Apple sell the iPhone in many shops?")
    assert embedded == [plan.question]
    assert len(plan.keyword_embeddings) == len(plan.keywords) > 1
    assert plan.keyword_embeddings is plan.keyword_embeddings
    assert embedded[1:] == [keyword.text for keyword in plan.keywords]


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


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u202a", "\0"])
def test_characters_that_texts_lose_change_nothing_in_a_question_either(planner, unseen):
    plain = planner.plan("Who presented the iPhone at Apple?")
    plan = planner.plan(f"Who presented the iPh{unseen}one at Ap{unseen}ple?")
    assert (plan.names, plan.keywords, plan.words) == (plain.names, plain.keywords, plain.question)
    assert np.array_equal(plan.embedding, plain.embedding)


def test_long_questions_are_cut_with_a_notice(planner):
    plan = planner.plan("Who founded Apple? " + "Tell me more about it. " * 450)
    assert plan.names == ("apple",)
    assert len(plan.question) > 10_000
    assert NoticeKind.QUESTION_CUT in [notice.kind for notice in plan.notices]


BORN = "Where was the singer of Paper Lanterns born?"
GOOD = json.dumps({
    "high_level_keywords": ["Place of birth", "singers"],
    "low_level_keywords": ["Paper Lanterns", "Mara Delgado"]})


@pytest.mark.parametrize("reply", [
    pytest.param(GOOD, id="bare"),
    pytest.param(f"Sure!\n```json\n{GOOD}\n```\nAnything else?", id="fenced"),
    pytest.param("```json\n" + GOOD, id="unclosed fence"),
])
def test_keywords_and_names_come_from_the_model(reply, songs):
    client = Recorded([reply], name="big")
    plan = songs.plan(BORN, client=client, steps=1)
    assert plan.keywords == (
        Keyword("Paper Lanterns", "low"), Keyword("Mara Delgado", "low"),
        Keyword("Place of birth", "high"), Keyword("singers", "high"))
    assert plan.keyword_embeddings.shape == (4, 384)
    assert plan.names == ("paper lanterns", "mara delgado")
    assert plan.planner == "big"
    assert client.asked[0].schema == PLAN_SCHEMA
    assert client.asked[0].messages[1].content == BORN


@pytest.mark.parametrize("reply", [
    "", "no", "{", "[]", '{"high_level_keywords": []}', json.dumps({
        "high_level_keywords": [], "low_level_keywords": []}),
    json.dumps({"high_level_keywords": [1, None, {}], "low_level_keywords": ["", "..."]}),
    DeadlineError("It took too long."),
])
def test_a_bad_plan_leaves_the_local_one_and_says_so(reply, songs):
    local, plan = songs.plan(BORN), songs.plan(
        BORN, client=Recorded([reply], name="bad"), steps=1)
    assert (plan.keywords, plan.names, plan.planner) == (local.keywords, local.names, "local")
    assert plan.notices[:-1] == local.notices
    assert plan.notices[-1].kind == NoticeKind.READ_WITHOUT


@pytest.mark.parametrize(("value", "keywords"), [
    ({"high_level_keywords": "birth", "low_level_keywords": ["A b"]},
     (Keyword("A b", "low"), Keyword("birth", "high"))),
    ({"low_level_keywords": ["x", "x", "x\n\ty"]}, (Keyword("x", "low"), Keyword("x y", "low"))),
    ({"low_level_keywords": [f"k{i}" for i in range(99)]},
     tuple(Keyword(f"k{i}", "low") for i in range(20))),
])
def test_near_misses_are_read(value, keywords):
    assert read_plan(json.dumps(value)) == keywords
