"""Conditions read by a model: what is taken of its reply, and what happens to a bad one."""

import json
from pathlib import Path

import pytest
from faults import Body, FaultServer

from qafd.cli import main
from qafd.errors import DeadlineError, MalformedReplyError
from qafd.knowledge import KnowledgeGraph, draft_answer, read_conditions
from qafd.models import Recorded
from qafd.models.prompts_conditions import exact_messages, read_query
from qafd.reasons import ReasonKind

KNOWN = {"Ada Holt": ("Chile", "Peru", "Norway"), "Ben Crane": ("Chile", "Peru"),
         "Cid Marsh": ("Norway",)}
ASKED = "Who was in Chile and Norway?"


def graph_of(nodes: list[tuple[str, str]], edges: list[tuple[str, str, bool]]) -> str:
    """A reply with nodes as (id, label) and edges as (source, target, negated)."""
    return json.dumps({
        "nodes": [{"id": one, "label": label, "description": "a person"} for one, label in nodes],
        "edges": [{"source": one, "target": other, "relation": "was in", "negated": negated}
                  for one, other, negated in edges]})


GOOD = graph_of([("n1", "Chile"), ("n2", "UNK"), ("n3", "Norway")],
                [("n1", "n2", False), ("n2", "n3", True)])


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    folder = tmp_path_factory.mktemp("conditions")
    names = [*KNOWN, "Chile", "Peru", "Norway"]
    file = folder / "people.json"
    file.write_text(json.dumps({
        "nodes": [{"id": name, "name": name} for name in names],
        "edges": [{"source": person, "target": place, "label": "was in"}
                  for person, places in KNOWN.items() for place in places]}))
    knowledge = KnowledgeGraph.open(folder / "people.qafd")
    knowledge.add_graph(file, processes=1)
    knowledge.build_layers(["sentences"])
    return knowledge


def answers(people: KnowledgeGraph, reply: str) -> tuple[set[str], int]:
    """Who meets the conditions that a model read, and how many notices its plan has."""
    plan = read_conditions(people, people.plan(ASKED), Recorded([reply], name="big"))
    found = people.retrieve(plan, "exact", evidence="relation")
    return {node.name for node in found.nodes if node.reason.kind is ReasonKind.MEETS}, len(
        plan.notices)


def test_the_graph_of_a_model_is_matched_also_where_it_negates(people: KnowledgeGraph) -> None:
    assert answers(people, GOOD) == ({"Ben Crane"}, 0)
    assert answers(people, f"Sure:\n```json\n{GOOD}\n```") == ({"Ben Crane"}, 0)


@pytest.mark.parametrize("reply", [
    "", "no", "[]", "{}", json.dumps({"nodes": [], "edges": []}),
    graph_of([("n1", "Chile")], []),
    graph_of([("n1", "Chile"), ("n2", "Norway")], [("n1", "n2", False)]),
    graph_of([("n1", "UNK"), ("n1", "Norway")], [("n1", "n1", False)]),
    graph_of([("n1", "UNK"), ("n2", "Norway")], [("n1", "n3", False)]),
    graph_of([("n1", "UNK"), ("n2", "Atlantis")], [("n1", "n2", False)]),
    graph_of([("n1", "UNK"), ("n2", "")], [("n1", "n2", False)]),
    GOOD.replace("true", '"yes"'), GOOD.replace('"n1"', "1"), GOOD.replace('"Chile"', "null"),
    DeadlineError("It took too long."),
])
def test_a_bad_graph_leaves_the_rules_and_says_so(
        reply: str | DeadlineError, people: KnowledgeGraph) -> None:
    local = people.plan(ASKED)
    plan = read_conditions(people, local, Recorded([reply], name="bad"))
    assert (plan.conditions, len(plan.notices)) == (None, len(local.notices) + 1)
    assert {node.name for node in people.retrieve(plan, "exact").nodes} >= {"Ada Holt"}


def test_a_name_of_the_question_that_the_graph_lacks_is_left_out_and_kept_as_unread(
        people: KnowledgeGraph) -> None:
    reply = graph_of([("a", "UNK"), ("b", "Chile"), ("c", "Atlantis")],
                     [("a", "b", False), ("a", "c", False)])
    plan = read_conditions(people, people.plan("Who was in Chile and Atlantis?"), Recorded([reply]))
    assert plan.conditions is not None
    assert [node.text for node in plan.conditions.nodes[1:]] == ["Chile"]
    assert plan.conditions.unread == ("Atlantis",)


def test_conditions_point_away_from_the_answer_and_say_something_about_it() -> None:
    read = read_query(graph_of(
        [("k", "Chile"), ("u", "UNK"), ("v", "UNK"), ("l", "Norway"), ("w", "UNK")],
        [("k", "v", False), ("v", "u", False), ("k", "l", False), ("w", "l", False)]))
    assert [(one.source, one.target) for one in read.conditions] == [(0, 1), (1, 2)]
    assert [node.key for node in read.nodes] == ["", "", "chile"]
    assert set(read.unread) == {"Norway", "a person"}


def test_a_graph_without_a_condition_on_the_answer_is_malformed() -> None:
    with pytest.raises(MalformedReplyError):
        read_query(graph_of([("a", "UNK"), ("b", "Chile"), ("c", "Peru")], [("b", "c", False)]))


def test_a_model_is_shown_each_candidate_with_its_conditions_and_the_passages_that_show_them(
        people: KnowledgeGraph) -> None:
    found = people.retrieve("Who was in Chile, Peru and Norway?", "exact")
    draft = draft_answer(people, found)
    assert draft.messages == exact_messages(draft.question, draft.context.text)
    line = next(line for line in draft.context.text.splitlines() if "meets 3 of 3" in line)
    assert line.startswith("Ada Holt")
    assert all(name in line for name in KNOWN["Ada Holt"])
    assert "[1]" in line
    assert {source.passage.document for source in draft.context.sources}


def reply_to(body: Body) -> str:
    return GOOD if "response_format" in body else "Ben Crane was in Chile [1]."


@pytest.mark.usefixtures("alone")
@pytest.mark.replies(reply=reply_to)
def test_the_command_pays_once_for_reading_and_once_for_the_answer(
        people: KnowledgeGraph, server: FaultServer, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    db = people.place.written
    asked = ["exact", ASKED, "--db", db, "--model", "tiny", "--base-url", server.url,
             "--evidence", "relation", "--json"]
    for _ in range(2):
        assert main(asked) == 0
        found = json.loads(capsys.readouterr().out)
        assert [one["name"] for one in found["answers"]] == ["Ben Crane"]
        assert [one["number"] for one in found["written"]["citations"]] == [1]
    assert len(server.bodies) == 2
    assert main(["ledger", "--by", "purpose", "--db", db, "--json"]) == 0
    spent = {total["what"]: total["calls"] for total in json.loads(capsys.readouterr().out)}
    assert spent == {"plan": 1, "answer": 1}


@pytest.mark.usefixtures("alone")
@pytest.mark.replies(reply=reply_to, fault=lambda *_: "429 for a day")
def test_without_a_reply_the_rules_answer_and_the_failure_is_said(
        people: KnowledgeGraph, server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exact", "Who was in Peru and Norway?", "--db", people.place.written, "--model",
                 "tiny", "--base-url", server.url]) == 1
    streams = capsys.readouterr()
    assert "Ada Holt" in streams.out
    assert "tiny" in streams.err
