"""Answers that a model writes from a table of conditions."""

import json

import pytest

from qafd.cli import main
from qafd.knowledge import KnowledgeGraph, draft_answer
from qafd.models.prompts_answer import EXACT, answer_messages

KNOWN = {"Ada Holt": ("Chile", "Peru", "Norway"), "Ben Crane": ("Chile", "Peru"),
         "Cid Marsh": ("Norway",)}
ASKED = "Who was in Chile and Norway?"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
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


def test_a_model_is_shown_each_candidate_with_its_conditions_and_the_passages_that_show_them(
        people):
    found = people.retrieve("Who was in Chile, Peru and Norway?", "exact")
    draft = draft_answer(people, found)
    assert draft.messages == answer_messages(draft.question, draft.context.text, prompt=EXACT)
    line = next(line for line in draft.context.text.splitlines() if "meets 3 of 3" in line)
    assert line.startswith("Ada Holt")
    assert all(name in line for name in KNOWN["Ada Holt"])
    assert "[1]" in line
    assert {source.passage.document for source in draft.context.sources}


@pytest.mark.usefixtures("alone")
@pytest.mark.replies(reply=lambda _: "Ada Holt was in Chile [1].")
def test_the_command_pays_once_for_an_answer(people, server, capsys):
    db = people.place.written
    asked = ["exact", ASKED, "--db", db, "--model", "tiny", "--base-url", server.url,
             "--evidence", "relation", "--json"]
    for _ in range(2):
        assert main(asked) == 0
        found = json.loads(capsys.readouterr().out)
        assert [one["name"] for one in found["answers"]] == ["Ada Holt"]
        assert [one["number"] for one in found["written"]["citations"]] == [1]
    assert len(server.bodies) == 1
    assert main([*asked, "--condition", "Peru"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert [one["name"] for one in answers] == ["Ada Holt", "Ben Crane"]


@pytest.mark.usefixtures("alone")
@pytest.mark.replies(fault=lambda *_: "429 for a day")
def test_without_a_reply_the_answers_are_listed_and_the_failure_is_said(people, server, capsys):
    assert main(["exact", "Who was in Peru and Norway?", "--db", people.place.written, "--model",
                 "tiny", "--base-url", server.url]) == 1
    streams = capsys.readouterr()
    assert "Ada Holt" in streams.out
    assert "429" in streams.err
