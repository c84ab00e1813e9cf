"""Explanations of real questions on the sample, by names, through Python and the command line."""

import json
from dataclasses import replace

import pytest

from qafd.cli import main
from qafd.errors import ParameterError
from qafd.explain.whatif import Effect
from qafd.flow.solver import solve
from qafd.graph import Graph
from qafd.wording.explanations import say_path, say_why, say_why_not

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def told(apple):
    return apple.explain(QUESTION)


def full(explanation):
    return {n.id for n in explanation.retrieval.nodes if n.state == "saturated"}


def test_without_a_document_is_the_solution_of_the_graph_without_its_passages(told):
    graph, problem = told.graph, told.runs[0].problem
    with told.runs[0].open_store() as store:
        chunks = store.passages.get(n.key for n in store.graph.nodes(graph.ids).values())
        gone = {i for i, n in store.graph.nodes(graph.ids).items()
                if n.kind == "passage" and chunks[n.key].document == "steve-jobs.md"}
        kept = [e for e in store.graph.edges(graph.ids) if e.kind in ("mention", "synonym")
                and not {e.source, e.target} & gone]
    assert gone
    row = graph.row
    covered = Graph.build(graph.ids, source_rows=[row[e.source] for e in kept],
                          target_rows=[row[e.target] for e in kept],
                          similarity=[e.similarity for e in kept], vectors=graph.vectors)
    keep = [graph.ids[r] not in gone for r in problem.seeds.rows.tolist()]
    wanted = solve(covered, problem.gates, problem.seeds.rows[keep], problem.mass[keep])
    found = told.without(documents=["steve-jobs.md"])
    after = {n.id for n in found.after.nodes if n.state == "saturated"}
    assert after == {graph.ids[r] for r in wanted.support.tolist()}
    assert {n.id for n in found.lost} == full(told) - after
    assert {n.id for n in found.gained} == after - full(told)
    back = Effect.of(found.after, found.before)
    assert (back.gained, back.gained_passages) == (found.lost, found.lost_passages)
    assert not gone & {p.id for p in found.after.ranking}


def test_a_relation_rests_on_the_only_document_that_states_it(apple):
    told = apple.explain(QUESTION, layer="entities")
    with apple.store() as store:
        edges = [e for e in store.graph.edges(told.graph.ids) if e.kind == "relation"]
        chunks = store.passages.get(c for e in edges for c, _ in e.evidence)
    for name in told.documents:
        change = told.change(documents=[name])
        for u, v in change.edges:
            ends = {told.graph.ids[u], told.graph.ids[v]}
            said = [e for e in edges if {e.source, e.target} == ends]
            assert {chunks[c].document for e in said for c, _ in e.evidence} == {name}
    assert any(told.change(documents=[name]).edges for name in told.documents)


def test_a_retrieval_of_another_method_or_version_is_refused(apple, told):
    with pytest.raises(ParameterError, match="those of flow diffusion"):
        apple.explain(replace(told.retrieval, method="dense"))
    with pytest.raises(ParameterError, match="the graph has changed"):
        apple.explain(replace(told.retrieval, revision=-1))


def run(capsys, apple, *arguments):
    assert main([arguments[0], QUESTION, *arguments[1:], "--db", apple.place.written]) == 0
    return capsys.readouterr().out


def test_the_commands_say_the_same_as_python(capsys, apple, told):
    assert run(capsys, apple, "why", "iPod").splitlines()[0] == say_why(told.why("iPod"))
    absent = json.loads(run(capsys, apple, "why", "Amazon River", "--json"))
    assert absent["retrieved"] is False
    assert absent["sentences"] == say_why_not(told.why_not("Amazon River"))
    paths = json.loads(run(capsys, apple, "paths", "--most", "3", "--json"))
    assert [p["words"] for p in paths["paths"]] == [say_path(p) for p in told.paths(3).paths]
    found = json.loads(run(capsys, apple, "whatif", "--without-document", "steve-jobs.md",
                           "--json"))
    lost = told.without(documents=["steve-jobs.md"]).lost
    assert [n["id"] for n in found["lost"]] == [n.id for n in lost]
    text = run(capsys, apple, "whatif", "--without-document", "steve-jobs.md").splitlines()
    assert text[0] == found["answer"]
    assert sum(line.startswith("no longer in the answer: ") for line in text) == len(
        found["left_answer"]) > 0
    assert "gained:" in run(capsys, apple, "whatif", "--without-edge", "Steve Jobs", "¶ Steve Jobs")
