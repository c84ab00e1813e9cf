"""A question read by a model: what is taken from its reply, and what happens to a bad one."""

import json

import pytest

from qafd.errors import DeadlineError
from qafd.knowledge import KnowledgeGraph
from qafd.models import Recorded
from qafd.models.prompts_answer import PLAN_SCHEMA, read_plan
from qafd.reasons import NoticeKind
from qafd.records import Keyword

BORN = "Where was the singer of Paper Lanterns born?"
GOOD = json.dumps({
    "high_level_keywords": ["Place of birth", "singers"],
    "low_level_keywords": ["Paper Lanterns", "Mara Delgado"],
    "subqueries": ["Who sings Paper Lanterns?", "Where was Mara Delgado born?"]})


@pytest.mark.parametrize("reply", [
    pytest.param(GOOD, id="bare"),
    pytest.param(f"Sure!\n```json\n{GOOD}\n```\nAnything else?", id="fenced"),
    pytest.param("```json\n" + GOOD, id="unclosed fence"),
])
def test_keywords_names_and_subqueries_come_from_the_model(
        reply: str, songs: KnowledgeGraph) -> None:
    client = Recorded([reply], name="big")
    plan = songs.plan(BORN, subqueries=True, client=client)
    assert plan.keywords == (
        Keyword("Paper Lanterns", "low"), Keyword("Mara Delgado", "low"),
        Keyword("Place of birth", "high"), Keyword("singers", "high"))
    assert plan.keyword_embeddings.shape == (4, 384)
    assert plan.names == ("paper lanterns", "mara delgado")
    assert [part.question for part in plan.subqueries] == [
        "Who sings Paper Lanterns?", "Where was Mara Delgado born?"]
    assert plan.planner == "big"
    assert client.asked[0].schema == PLAN_SCHEMA
    assert client.asked[0].messages[1].content == BORN


@pytest.mark.parametrize("reply", [
    "", "no", "{", "[]", '{"high_level_keywords": []}', json.dumps({
        "high_level_keywords": [], "low_level_keywords": [], "subqueries": []}),
    json.dumps({"high_level_keywords": [1, None, {}], "low_level_keywords": ["", "..."],
                "subqueries": 3}),
    DeadlineError("It took too long."),
])
def test_a_bad_plan_leaves_the_local_one_and_says_so(
        reply: str | DeadlineError, songs: KnowledgeGraph) -> None:
    local, plan = songs.plan(BORN), songs.plan(BORN, client=Recorded([reply], name="bad"))
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
def test_near_misses_are_read(value: object, keywords: tuple[Keyword, ...]) -> None:
    assert read_plan(json.dumps(value)) == (keywords, ())


@pytest.mark.parametrize(("parts", "kept"), [
    (["one?"], 0), (["one?", "one?"], 0), (["one?", "two?"], 2), (["?", "two?"], 0),
    ([f"{i}?" for i in range(9)], 4), ("one?", 0)])
def test_one_subquery_is_none_and_four_are_the_most(parts: object, kept: int) -> None:
    _, found = read_plan(json.dumps({"low_level_keywords": ["x"], "subqueries": parts}))
    assert len(found) == kept
