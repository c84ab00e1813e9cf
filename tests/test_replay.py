"""Replay: the same workspace gives the same result, another one says what is different and why."""

from dataclasses import replace

import pytest

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.runs.difference import record_run, replay_run
from qafd.runs.file import read_run, write_run
from qafd.wording.runs import say_replay

TEXTS = {"a.txt": "Ada Lovelace met Charles Babbage in London. Ada Lovelace wrote notes.",
         "b.txt": "Charles Babbage drew the Analytical Engine. It was never built in London.",
         "c.txt": "Grace Hopper met Howard Aiken in Harvard. Grace Hopper wrote a compiler."}


def indexed(path, names):
    knowledge = KnowledgeGraph.open(path)
    for name in names:
        knowledge.add_text(name, TEXTS[name])
    return knowledge


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory):
    return indexed(tmp_path_factory.mktemp("first") / "work.db", TEXTS)


@pytest.fixture(scope="module")
def run(knowledge):
    plan = knowledge.plan("Who met Charles Babbage?")
    run = record_run(knowledge, knowledge.retrieve(plan, mass=4.0), plan)
    return read_run(write_run(run).encode())


def test_the_same_workspace_gives_an_equal_result(run, knowledge):
    found = replay_run(run, knowledge)
    assert found.equal
    assert found.deviation == 0
    assert len(say_replay(found)) == 1


def test_another_workspace_of_the_same_documents_gives_an_equal_result(run, tmp_path):
    found = replay_run(run, indexed(tmp_path / "other.db", reversed(TEXTS)))
    assert found.equal
    assert not found.difference.settings


def test_a_workspace_without_a_document_says_that_the_graph_differs(run, tmp_path):
    found = replay_run(run, indexed(tmp_path / "less.db", ["b.txt", "c.txt"]))
    assert not found.equal
    assert "graph" in found.difference.settings
    again = {n.id for n in found.run.retrieved}
    assert {c.id for c in found.difference.lost} == {n.id for n in run.retrieved} - again
    assert found.missing > 0
    assert len(say_replay(found)) == 3


def test_another_number_is_noticed(run, knowledge):
    first = run.retrieval.nodes[0]
    nodes = (replace(first, importance=first.importance * (1 + 1e-6)), *run.retrieval.nodes[1:])
    found = replay_run(replace(run, retrieval=replace(run.retrieval, nodes=nodes)), knowledge)
    assert not found.equal
    assert found.deviation == pytest.approx(1e-6, rel=1e-3)
    assert not found.difference.settings
    assert len(say_replay(found)) == 2


def test_a_number_within_rounding_is_not(run, knowledge):
    first = run.retrieval.nodes[0]
    nodes = (replace(first, importance=first.importance * (1 + 1e-12)), *run.retrieval.nodes[1:])
    assert replay_run(replace(run, retrieval=replace(run.retrieval, nodes=nodes)), knowledge).equal


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"method": "magic"}, "magic"), ({"params": {"power": 3}}, "power"),
    ({"params": {"mass": "much"}}, "much"), ({"params": {"variant": "worse"}}, "worse")], ids=str)
def test_what_this_version_cannot_do_is_refused_by_name(changes, sentence, run, knowledge):
    with pytest.raises(ParameterError, match=sentence):
        replay_run(replace(run, retrieval=replace(run.retrieval, **changes)), knowledge)
