"""Answers of methods against known ones: measures, a blind judge, caps, and no call paid twice."""

import json
import re
import shutil

import pytest
from faults import serving

from qafd.cli import main
from qafd.evaluate.gold import Question
from qafd.evaluate.measures import measures
from qafd.evaluate.written import (
    CORRECT,
    Answered,
    AnswerResult,
    AnswerScore,
    Writing,
    answer_all,
    mark_correct,
)
from qafd.knowledge import KnowledgeGraph
from qafd.models import Recorded
from qafd.models.cost import Cap, Meter, Metered
from qafd.models.prompts_answer import ABSENT, EMPOWERMENT, PAPER
from qafd.retrieve.external import ForeignMethod
from qafd.retrieve.methods import read_methods

WRITING = Writing(3000, "short", 500)
QUESTIONS = (Question("1", "Who founded the mill of Lindau?", (), ("Ada Brenner", "Brenner")),
             Question("2", "Where was Ada Brenner born?", (), ("Ulm",)),
             Question("3", "Tell me about Lindau.", ()))


@pytest.fixture(scope="module")
def mill(tmp_path_factory):
    """A workspace of one text; each test gets a copy."""
    path = tmp_path_factory.mktemp("mill") / "a.db"
    KnowledgeGraph(path).add_text(
        "mill.txt", "Ada Brenner founded the mill of Lindau. She was born in Ulm.")
    return path


@pytest.fixture
def knowledge(mill, tmp_path):
    return KnowledgeGraph(shutil.copy(mill, tmp_path))


def metered(knowledge, replies, cap=None):
    model = Recorded(replies)
    return Metered(model, knowledge.url, Meter(cap), purpose="answer"), model


def test_measures_are_1_for_the_known_answer_and_0_for_another():
    known = ["the golden lamp of Cordouan", "lamp"]
    for name, measure in measures().items():
        assert measure("the golden lamp of Cordouan", known) == pytest.approx(1, abs=0.01), name
        assert measure("nothing", known) == 0, name
    assert {"bleu", "rouge_l", "meteor"} <= set(measures())


@pytest.mark.parametrize(("measure", "expected"), [
    ("bleu_1", 3 / 4), ("bleu_2", (3 / 4 * 2 / 3) ** 0.5), ("rouge_1", 3 / 4), ("rouge_2", 2 / 3)])
def test_runs_of_one_and_two_words_are_counted(measure, expected):
    # three of four words and two of three pairs are those of the known answer, of equal length
    found = measures()[measure]("red old mill burned", ["old mill burned down"])
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_model_answers_once_and_equal_requests_are_not_paid_again(knowledge):
    methods = read_methods("vector", knowledge.graph)
    client, model = metered(knowledge, ["Brenner [1]", ABSENT, "A town [1]"])
    found = answer_all(knowledge, QUESTIONS, methods, client, WRITING)
    score = found.scores[0]
    assert len(model.asked) == 3
    assert [answer.withheld for answer in score.answers] == [False, True, False]
    assert score.means["contains"].mean == 0.5  # of the two with a known answer
    assert score.means["exact_match"].mean == 0.5  # the mark of its citation is no word of it
    assert score.answers[2].measured == {}
    again, unasked = metered(knowledge, [])
    assert answer_all(knowledge, QUESTIONS, methods, again, WRITING).scores == found.scores
    assert unasked.asked == []


def test_a_cap_ends_between_questions_and_keeps_those_that_are_done(knowledge):
    client, _ = metered(knowledge, ["Brenner [1]", "Ulm [1]"], Cap(calls=1))
    found = answer_all(knowledge, QUESTIONS, read_methods("vector", knowledge.graph), client, WRITING)
    assert len(found.questions) == len(found.scores[0].answers) == 1
    assert "cap" in found.stopped


def test_a_method_that_refuses_a_question_has_not_answered_it(knowledge):
    methods = read_methods("vector", knowledge.graph)
    refusing = {**methods, "mine": ForeignMethod("mine", lambda _: 1 / 0)}
    found = answer_all(knowledge, QUESTIONS, refusing, None, WRITING)
    assert [score.errors for score in found.scores] == [0, len(QUESTIONS)]
    assert found.scores[1].means["f1"].mean == 0


def test_the_judge_sees_equal_answers_once_without_names_and_in_both_orders(knowledge):
    def score(name, *texts):
        return AnswerScore(name, name, tuple(Answered(text, text == ABSENT) for text in texts), {})

    result = AnswerResult(QUESTIONS[:1], (score("m1", "Brenner"), score("m2", "Brenner"),
                                          score("m3", "Voss"), score("m4", ABSENT)), "m")

    class Judge(Recorded):
        def complete(self, messages, **options):
            shown = re.findall("^(Brenner|Voss)$", messages[-1].content, re.M)
            self._replies = iter([json.dumps({"correct": [one == "Brenner" for one in shown]})])
            orders.append(shown)
            return super().complete(messages, **options)

    orders = []
    model = Judge([])
    marked = mark_correct(result, Metered(model, knowledge.url, Meter(), purpose="judge"), 2)
    assert [score.means[CORRECT].mean for score in marked.scores] == [1, 1, 0, 0]
    assert sorted(orders[0]) == ["Brenner", "Voss"]
    assert orders[1] == orders[0][::-1]
    assert not re.search(r"\bm[1-4]\b", "".join(call.messages[-1].content for call in model.asked))


def test_the_command_writes_judges_and_is_resumed_for_nothing(knowledge, tmp_path, capsys):
    def reply(body):
        text = body["messages"][-1]["content"]
        count = len(re.findall(r"^=====\w+ response \d+$", text, re.M))
        if "Right answer" in text:
            return json.dumps({"correct": [True] * count})
        if count:
            criteria = EMPOWERMENT if "logical coherence" in body["messages"][0]["content"] else PAPER
            return json.dumps({"grades": [{c.name: c.highest / 2 for c in criteria}] * count})
        return "Ada Brenner [1]"

    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "Who founded the mill of Lindau?", "answer": "Ada Brenner"}\n')
    with serving(reply) as server:
        command = ["eval", "answers", "--questions", str(file), "--db", str(tmp_path / "a.db"),
                   "--model", "tiny", "--base-url", server.url, "--judge", "both", "--plan", "rules",
                       "--json"]
        assert main([*command[:-1], "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["calls"] == 6  # 2 answers, 2 rounds of 2 judgings
        assert server.bodies == []
        assert main(command) == 0
        first = json.loads(capsys.readouterr().out)
        paid = len(server.bodies)
        assert main(command) == 0
        again = json.loads(capsys.readouterr().out)
        assert (len(server.bodies), again) == (paid, first)
        assert main([*command, "--judge-model", "other"]) == 0
        capsys.readouterr()
        assert {body["model"] for body in server.bodies[paid:]} == {"other"}
        assert main(["empowerment" if word == "both" else word for word in command]) == 0
        graded = json.loads(capsys.readouterr().out)
        before = len(server.bodies)
        assert main([*command[:-1], "--methods", "vector,qafd,ego,pagerank,path,community,bm25"]) == 2
        assert len(server.bodies) == before  # refused before anything is paid
        capsys.readouterr()
    assert paid <= 6
    assert first["methods"]["qafd"]["means"]["correct"]["mean"] == 1
    assert first["grades"]["opinions"][0]["overall"]["mean"] == 50
    assert list(graded["grades"]["opinions"][0]["criteria"]) == ["logical coherence", "informational value"]
    assert "correct" not in graded["methods"]["qafd"]["means"]
