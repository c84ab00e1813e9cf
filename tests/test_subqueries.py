"""Complex questions taken apart, and the union of what their parts retrieve."""


import numpy as np
import pytest
from local_models import embedder

from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.plan import Planner
from qafd.reading.text import canonical
from qafd.reasons import ReasonKind
from qafd.retrieve.base import Retrieval
from qafd.runs.verify import FindingKind, seal, verify

NAMES = ["Ada Lovelace", "Charles Babbage", "Paper Lanterns", "Salt Road", "Simon and Garfunkel"]
BOTH = "Where was the singer of Paper Lanterns born and who founded the prize that Salt Road won?"


@pytest.fixture(scope="module")
def planner() -> Planner:
    vectors = embedder().embed([canonical(name) for name in NAMES])
    return Planner(Graph.build([f"n{i}" for i in range(len(NAMES))], NAMES,
                               ["entity"] * len(NAMES), vectors=vectors, name_vectors=vectors),
                   embedder())


def test_each_part_is_a_plan_with_its_own_names_and_vector(planner: Planner) -> None:
    plan = planner.plan("Where was Ada Lovelace born and where did she die?", subqueries=True)
    assert [part.names for part in plan.subqueries] == [("ada lovelace",)] * 2
    assert np.array_equal(plan.subqueries[1].embedding,
                          embedder().embed(["Where did Ada Lovelace die?"])[0])


@pytest.fixture(scope="module")
def united(songs: KnowledgeGraph) -> Retrieval:
    return songs.retrieve(BOTH, subqueries="on", mass=24.0)


def test_the_union_is_the_sum_of_its_parts(united: Retrieval) -> None:
    assert len(united.parts) == 2
    for node in united.nodes:
        versions = [n for part in united.parts for n in part.nodes if n.id == node.id]
        assert node.mass == pytest.approx(sum(n.mass for n in versions))
        assert node.importance == pytest.approx(sum(n.importance for n in versions))
    assert {n.id for n in united.nodes} == {n.id for part in united.parts for n in part.nodes}


def test_mass_is_conserved_at_every_node_of_the_union(united: Retrieval) -> None:
    for node in united.nodes:
        came = sum(e.flow for e in united.edges if e.target == node.id)
        went = sum(e.flow for e in united.edges if e.source == node.id)
        assert node.source + came - went == pytest.approx(node.mass, abs=1e-9)


def test_every_retrieved_node_says_which_subquery_brought_it(united: Retrieval) -> None:
    for node in united.nodes:
        brought = tuple(k for k, part in enumerate(united.parts)
                        if any(n.id == node.id and n.state == "saturated" for n in part.nodes))
        assert node.brought_by == brought
        told = [one for one in node.reason.also if one.kind is ReasonKind.BROUGHT_BY]
        assert bool(told) == bool(brought)
    assert {(0,), (1,)} <= {node.brought_by for node in united.nodes}


def test_the_budget_is_divided_among_the_parts(united: Retrieval) -> None:
    assert [sum(n.source for n in part.nodes) for part in united.parts] == pytest.approx([12, 12])


def test_a_union_proves_itself_part_by_part(united: Retrieval) -> None:
    stored = seal(united.to_dict())
    assert verify(stored).ok
    stored["parts"][1]["nodes"][0]["mass"] *= 1.01
    wrong = verify(stored).findings
    assert {finding.part for finding in wrong} == {0, 2}
    assert wrong[-1].kind is FindingKind.DIFFERS


def test_a_simple_question_is_retrieved_as_without_subqueries(songs: KnowledgeGraph) -> None:
    question = "Who is the singer of Paper Lanterns?"
    on, off = (songs.retrieve(question, subqueries=choice) for choice in ("on", "off"))
    assert (on.nodes, on.parts, on.passages) == (off.nodes, (), off.passages)
