"""The commands of docs/experiments.md on tiny data with a fake endpoint."""

import json
import re
import sqlite3
from statistics import fmean, stdev

import pytest
from faults import serving

from qafd.cli import main
from qafd.knowledge import KnowledgeGraph
from qafd.models.prompts_answer import EMPOWERMENT, PAPER

ASKED = "Who founded the mill of Lindau?"
BOOK = "Ada Brenner founded the mill of Lindau. She was born in Ulm."


def reply(body):
    """A model that plans, answers, writes SQL, and grades by the highest possible."""
    system, user = (message["content"] for message in body["messages"][:2])
    criteria = EMPOWERMENT if EMPOWERMENT[0].name in system else PAPER
    count = len(re.findall(r"^=====\w+ response \d+$", user, re.M))
    if count:
        number = int(re.findall(r"end of round (\d+)", user)[-1])
        return json.dumps({"grades": [{one.name: one.highest / number for one in criteria}] * count})
    if "high_level_keywords" in system:
        return json.dumps({"high_level_keywords": ["founding"], "low_level_keywords": ["Lindau"]})
    if '"questions"' in system:
        return '{"questions": []}'
    if "SELECT" in system:
        return "SELECT name FROM singer"
    return "Ada Brenner [1]" if "14 words" in system else "Ada Brenner founded the mill of Lindau [1]."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A workspace, questions in the forms of the data sets, and a database."""
    made = tmp_path_factory.mktemp("papers")
    mill = KnowledgeGraph(made / "mill.db")
    mill.add_text("mill.txt", BOOK)
    mill.build_layers(["sentences"])
    known = {"question": ASKED, "answer": "Ada Brenner"}
    files = {"facts": known | {"conditions": 1}, "hotpot": known | {
        "context": [["Mill", [BOOK]]], "supporting_facts": [["Mill", 0]]}, "squality": {
        "document": BOOK, "questions": [{"question_text": ASKED, "responses": [
            {"response_text": "Ada Brenner founded the mill of Lindau."}]}]},
        "ultradomain": {"input": ASKED, "context": BOOK, "answers": ["Ada Brenner"]}}
    for name, record in files.items():
        (made / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    (made / "dev.json").write_text(json.dumps([
        {"question": "List the names of singers.", "query": query} for query in (
            "SELECT name FROM singer ORDER BY id DESC", "SELECT name FROM singer WHERE id > 0",
            "SELECT count(*) FROM singer")]))
    with sqlite3.connect(made / "concert.sqlite") as database:
        database.executescript("CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT);"
                               "INSERT INTO singer VALUES (1, 'Ada'), (2, 'Bo');")
    database.close()
    return made


def mean(method, *measures):
    return lambda found: [found["methods"][method]["means"][one]["mean"] for one in measures]


def grade(found):
    first, *others = found["grades"]["opinions"]
    return first["overall"]["mean"], first["deviation"], len(first["criteria"]), 1 + len(others)


def graded(rounds, criteria, methods):
    """Return what `grade` reads where the grades of round k are 1/k of the highest."""
    marks = [100 / number for number in range(1, rounds + 1)]
    return pytest.approx(fmean(marks)), pytest.approx(stdev(marks)), criteria, methods


ANSWERS = "eval answers --methods qafd,vector --questions "
COMMANDS = {
    "QAFD-RAG 1: grades side by side": (ANSWERS + "ultradomain.jsonl --judge grades", grade, graded(2, 5, 2)),
    "QAFD-RAG 1, 5: seven methods, each alone, five rounds": (
        "eval answers --methods qafd,pagerank,ego,path,vector,lexical,fusion --questions ultradomain.jsonl "
        "--judge grades --alone --rounds 5", grade, graded(5, 5, 7)),
    "QAFD-RAG 2: overlap": (
        ANSWERS + "squality.jsonl --length paragraphs",
        mean("qafd", "bleu_1", "bleu_2", "rouge_1", "rouge_2", "meteor"),
        [1, 1, 1, 1, pytest.approx(1 - 0.5 / 6 ** 3)]),  # METEOR: one run of six words, without "the"
    "QAFD-RAG 3: phrases": (
        "eval answers --methods qafd,qafd:multihop --questions hotpot.jsonl --length phrase --plan model",
        mean("qafd:multihop", "exact_match", "f1"), [1, 1]),
    "QAFD-RAG 3: sentences": (ANSWERS + "hotpot.jsonl", mean("qafd", "exact_match"), [0]),
    "QAFD-RAG 4: SQL": ("eval sql concert.sqlite dev.json --db {folder}/mill.db",
                        lambda found: (found["accuracy"], found["answered"]), (pytest.approx(1 / 3), 1)),
    "SG-RAG 2: conditions": ("eval exact facts.jsonl --db {folder}/mill.db --methods exact",
                             lambda found: found["all"][0]["hit_1"], 1),
    "SG-RAG 17: empowerment": (
        "eval answers --db {folder}/mill.db --methods exact,qafd --questions facts.jsonl "
        "--judge empowerment --alone",
        grade, graded(2, 2, 2)),
    "FlowRAG 2, 3; QAFD-RAG 6, 7: recall, settings": (
        "eval retrieval --questions hotpot.jsonl --methods flowrag,flow_path(macro=off),qafd:paper",
        lambda found: [one["recall@5"] for one in found["methods"].values()], [1, 1, 1]),
    "FlowRAG 1: answers": (ANSWERS + "hotpot.jsonl --methods flowrag", mean("flowrag", "contains"), [1]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_a_paper_is_made_by_its_command(name, folder, monkeypatch, capsys):
    command, read, expected = COMMANDS[name]
    monkeypatch.chdir(folder)
    with serving(reply) as server:
        arguments = command.format(folder=folder).split()
        if not command.startswith(("eval exact", "eval retrieval")):
            arguments += ["--model", "tiny", "--base-url", server.url]
        assert main([*arguments, "--json", *["-"] * command.startswith("eval retrieval")]) == 0
        plans = sum("high_level_keywords" in json.dumps(body) for body in server.bodies)
    assert read(json.loads(capsys.readouterr().out)) == expected
    assert bool(plans) == command.startswith("eval answers")
