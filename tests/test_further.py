"""Further questions: asked by a model after it read passages, and retrieved together with the first."""

import json
from dataclasses import replace

import pytest

from qafd.errors import DeadlineError, ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.models import Recorded
from qafd.models.prompts_answer import FURTHER_SCHEMA
from qafd.reasons import NoticeKind, ReasonKind
from qafd.retrieve.base import RankedPassage
from qafd.retrieve.united import weave
from qafd.runs.verify import FindingKind, seal, verify
from qafd.view.drawing import Drawing
from qafd.view.panel import panel_data
from qafd.view.placement import freeze

FIRST = "Where was the singer of Paper Lanterns born?"
NEXT = "Who founded the prize that Salt Road won?"
KEYWORDS = json.dumps({"high_level_keywords": ["birthplace"], "low_level_keywords": ["Paper Lanterns"]})


def ask(*questions):
    return json.dumps({"questions": questions})


@pytest.fixture(scope="module")
def united(songs):
    return songs.retrieve(songs.plan(FIRST, further=[NEXT]), mass=24.0)


def test_every_retrieved_node_says_which_diffusion_brought_it(united):
    for node in united.nodes:
        brought = tuple(k for k, part in enumerate(united.parts)
                        if any(n.id == node.id and n.state == "saturated" for n in part.nodes))
        assert node.brought_by == brought
        told = [one for one in node.reason.also if one.kind is ReasonKind.BROUGHT_BY]
        assert bool(told) == bool(brought)
    assert {(0,), (1,)} <= {node.brought_by for node in united.nodes}


def test_seeds_of_further_questions_are_drawn_as_such(united):
    own, further = (set(part.seeds) for part in united.parts)
    drawing, places = Drawing(contract=False), freeze([united], ())[0]
    drawn = panel_data([united], drawing, positions=places)
    later = {drawn["nodes"][node["n"]]["id"] for node in drawn["panels"][0]["nodes"] if node.get("later")}
    assert later == further - own
    assert replace(united, further=()).later_seeds == set()


def test_each_question_has_all_the_mass(united):
    assert [sum(n.source for n in part.nodes) for part in united.parts] == pytest.approx([24, 24])


def test_a_union_proves_itself_part_by_part(united):
    stored = seal(united.to_dict())
    assert verify(stored).ok
    stored["parts"][1]["nodes"][0]["mass"] *= 1.01
    wrong = verify(stored).findings
    assert {finding.part for finding in wrong} == {0, 2}
    assert wrong[-1].kind is FindingKind.DIFFERS


@pytest.mark.parametrize(("lists", "woven"), [
    (["abcde"], "abcde"), (["abcde", ""], "abcde"), (["abcde", "xy"], "abcxdye"),
    (["abcde", "xay", "uv"], "abcxudveyw"[:-1]), (["a", "xyz"], "axyz"), (["", "xy"], "xy")])
def test_the_first_three_stay_and_then_the_lists_take_turns(lists, woven):
    ranked = [[RankedPassage(letter, 1.0) for letter in one] for one in lists]
    assert "".join(passage.id for passage in weave(ranked)) == woven


@pytest.mark.parametrize("method", ["qafd", "fusion", "pagerank"])
def test_every_method_weaves_what_it_finds_for_each_question(method, songs):
    found = songs.retrieve(songs.plan(FIRST, further=[NEXT]), method)
    alone = [songs.retrieve(question, method).ranking for question in (FIRST, NEXT)]
    assert [p.id for p in found.ranking] == [p.id for p in weave(alone)][:len(found.ranking)]
    assert found.ranking[3].id == next(
        p.id for p in alone[1] if p.id not in {q.id for q in alone[0][:3]})
    assert [p.id for p in found.passages] == [p.id for p in found.ranking]
    assert found.further == (NEXT,)


def test_a_model_reads_five_passages_and_asks_until_it_has_enough(songs):
    client = Recorded([KEYWORDS, ask(NEXT, FIRST), ask()], name="big")
    plan = songs.plan(FIRST, client=client, steps=3)
    assert [one.question for one in plan.further] == [NEXT]
    assert [call.schema for call in client.asked[1:]] == [FURTHER_SCHEMA] * 2
    first, second = (call.messages[1].content for call in client.asked[1:])
    best = songs.retrieve(songs.plan(FIRST)).passages
    assert [passage.text in first for passage in best[:6]] == [True] * 5 + [False]
    assert f"Question: {NEXT}" not in first
    assert second.endswith(f"Question: {FIRST}\nQuestion: {NEXT}")
    assert [one.values["text"] for one in plan.notices if one.kind is NoticeKind.THEN_ASKED] == [NEXT]


@pytest.mark.parametrize(("steps", "calls"), [(1, 1), (2, 2), (3, 3)])
def test_so_many_steps_ask_so_often(steps, calls, songs):
    client = Recorded([KEYWORDS, ask(NEXT), ask("Where is Lisbon?")])
    assert len(songs.plan(FIRST, client=client, steps=steps).further) == steps - 1
    assert len(client.asked) == calls


@pytest.mark.parametrize("steps", [0, 4])
def test_other_numbers_of_steps_are_refused(steps, songs):
    with pytest.raises(ParameterError, match=f"steps is {steps}; choose 1, 2 or 3"):
        songs.plan(FIRST, client=Recorded([KEYWORDS]), steps=steps)


@pytest.mark.parametrize("reply", ["", "no", "[]", DeadlineError("It took too long.")])
def test_a_model_that_fails_asks_nothing_and_says_so(reply, songs):
    plan = songs.plan(FIRST, client=Recorded([KEYWORDS, reply], name="bad"))
    assert (plan.planner, plan.further) == ("bad", ())
    assert plan.notices[-1].kind is NoticeKind.NOT_ASKED_FURTHER


@pytest.mark.parametrize(("questions", "kept"), [
    (["a?", "b?", "c?"], ["a?", "b?"]), ("a?", ["a?"]), (["a?", "a?", "?", 3], ["a?"]), (None, [])])
def test_at_most_two_questions_are_taken(questions, kept, songs):
    client = Recorded([KEYWORDS, json.dumps({"questions": questions})])
    assert [one.question for one in songs.plan(FIRST, client=client).further] == kept


def test_the_reader_of_a_workspace_reads_every_question(songs):
    knowledge = KnowledgeGraph(songs.url)
    knowledge.reader = Recorded([KEYWORDS, ask(NEXT)] * 2, name="big")
    assert knowledge.retrieve(FIRST).further == (NEXT,)
    found = knowledge.compare(FIRST, ["qafd", "vector"]).retrievals
    assert {retrieval.further for retrieval in found.values()} == {(NEXT,)}
    knowledge.reader, knowledge.steps = Recorded([KEYWORDS] * 2), 1
    again = knowledge.retrieve(knowledge.plan(FIRST, further=[NEXT]))
    assert again.further == (NEXT,)
    assert knowledge.retrieve(FIRST).further == ()


def test_an_answer_is_planned_by_its_model(songs):
    client = Recorded([KEYWORDS, ask(NEXT), "She was born in Valparaíso [1]."])
    answer = songs.answer(FIRST, client=client)
    shown = {source.passage.id for source in answer.written.draft.context.sources}
    alone = songs.retrieve(NEXT).passages[0]
    assert alone.id in shown
    by_rules = Recorded(["She was born in Valparaíso [1]."])
    songs.answer(songs.retrieve(FIRST), client=by_rules)
    assert len(by_rules.asked) == 1


def test_a_plan_that_was_retrieved_otherwise_is_refused(songs, united):
    plan = songs.plan(FIRST, further=[NEXT])
    assert songs.explain(united, plan=plan).retrieval is united
    with pytest.raises(ParameterError, match="in other parts than this plan has"):
        songs.explain(united, plan=replace(plan, further=()))
