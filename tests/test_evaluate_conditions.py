"""Marks of answers to questions with several conditions, and how they are averaged."""

import json

import pytest

from qafd.cli import main
from qafd.errors import ParameterError, ParseError
from qafd.evaluate.conditions import (
    FactualQuestion,
    FactualResult,
    FactualTrial,
    evaluate_conditions,
    evaluate_deleted,
    read_factual_questions,
)
from qafd.knowledge import KnowledgeGraph, check_conditions, draft_answer
from qafd.models.prompts_answer import EXACT, answer_messages
from qafd.retrieve.exact import ExactMatches

KNOWN = {"Ada Holt": ("Chile", "Peru", "Norway"), "Ben Crane": ("Chile", "Peru"),
         "Cid Marsh": ("Norway",)}
QUESTIONS = (FactualQuestion("Who was in Chile, Peru and Norway?", ("Ada Holt",)),
             FactualQuestion("Who was in Chile and Peru?", ("Ada Holt", "Ben Crane")))

CONDITIONS = [part for text in ("Chile", "Peru", "not Norway") for part in ("--condition", text)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("conditions")


@pytest.fixture(scope="module")
def knowledge(folder):
    names = [*KNOWN, "Chile", "Peru", "Norway"]
    graph = {"nodes": [{"id": name, "name": name} for name in names], "edges": [
        {"source": person, "target": place, "label": "was in"}
        for person, places in KNOWN.items() for place in places]}
    file = folder / "people.json"
    file.write_text(json.dumps(graph))
    knowledge = KnowledgeGraph.open(folder / "people.qafd")
    knowledge.add_graph(file, processes=1)
    knowledge.build_layers(["sentences"])
    return knowledge


def test_who_meets_all_conditions_stands_first_and_equals_together(knowledge):
    result = evaluate_conditions(knowledge, QUESTIONS, {"exact": ExactMatches()})
    three, two = result.trials["exact"]
    assert (three.conditions, three.hit_1, three.precision, three.recall) == (3, 1, 1, 1)
    assert (two.conditions, two.hit_5) == (2, 1)
    assert [score.questions for size in result.sizes for score in result.scores(size)] == [1, 1]


def test_a_condition_met_by_a_relation_says_what_the_relation_is_called(knowledge):
    answer, = check_conditions(knowledge, knowledge.retrieve(QUESTIONS[0].text, "exact"))
    assert [(row.level, row.label) for row in answer.rows] == [("relation", "was in")] * 3


def test_a_deleted_relation_is_a_condition_less(knowledge):
    whole, _, _, none = evaluate_deleted(
        knowledge, QUESTIONS[:1], "exact", ExactMatches(evidence="relation"))
    assert (whole.hit_1, none.hit_1) == (1, 0)


def test_answers_that_no_workspace_has_are_refused(knowledge):
    with pytest.raises(ParameterError):
        evaluate_conditions(knowledge, [FactualQuestion("Who was in Chile?", ("Zoe",))], {})


def test_means_are_over_the_questions_of_a_size():
    trials = (FactualTrial(2, 1, 1, 1.0, 1.0, 5), FactualTrial(3, 0, 1, 0.0, 0.0, 7),
              FactualTrial(3, 1, 1, 0.5, 1.0, 9))
    result = FactualResult({"m": trials})
    score, = result.scores(3)
    assert (score.questions, score.hit_1, score.precision, score.recall) == (2, 0.5, 0.25, 0.5)
    assert score.f1 == pytest.approx(1 / 3)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"question": "Who?"}', b'{"question": 1, "answer": "A"}',
                                  b'{"question": "Who?", "answer": []}', b"nothing"])
def test_files_without_questions_and_answers_are_refused(data):
    with pytest.raises(ParseError):
        read_factual_questions(data)


def test_each_condition_is_shown_by_a_sentence_of_a_document(knowledge):
    answer, = check_conditions(knowledge, knowledge.retrieve(QUESTIONS[0].text, "exact"))
    assert (answer.name, answer.met, answer.wanted) == ("Ada Holt", 3, 3)
    assert all("Ada Holt" in row.sentence and row.name in row.sentence and "Ada Holt" in row.document
               for row in answer.rows)


def test_the_command_prints_the_table_of_conditions(knowledge, folder, capsys):
    asked = ["exact", QUESTIONS[1].text, "--db", str(folder / "people.qafd")]
    assert knowledge.graph
    assert main([*asked, *CONDITIONS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [answer["name"] for answer in found["answers"]] == ["Ben Crane"]
    assert main([*asked, "--condition", "Atlantis"]) == 2


# --- answers that a model writes from a table of conditions ---

ASKED = "Who was in Chile and Norway?"


def test_a_model_is_shown_each_candidate_with_its_conditions_and_the_passages_that_show_them(
        knowledge):
    found = knowledge.retrieve("Who was in Chile, Peru and Norway?", "exact")
    draft = draft_answer(knowledge, found)
    assert draft.messages == answer_messages(draft.question, draft.context.text, prompt=EXACT)
    line = next(line for line in draft.context.text.splitlines() if "meets 3 of 3" in line)
    assert line.startswith("Ada Holt")
    assert all(name in line for name in KNOWN["Ada Holt"])
    assert "[1]" in line
    assert {source.passage.document for source in draft.context.sources}


@pytest.mark.usefixtures("alone")
@pytest.mark.replies(reply=lambda _: "Ada Holt was in Chile [1].")
def test_the_command_pays_once_for_an_answer(knowledge, server, capsys):
    db = knowledge.place.written
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
def test_without_a_reply_the_answers_are_listed_and_the_failure_is_said(knowledge, server, capsys):
    assert main(["exact", "Who was in Peru and Norway?", "--db", knowledge.place.written, "--model",
                 "tiny", "--base-url", server.url]) == 1
    streams = capsys.readouterr()
    assert "Ada Holt" in streams.out
    assert "429" in streams.err
