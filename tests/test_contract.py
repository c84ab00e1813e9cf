"""What every retrieval method promises, run over METHODS."""

import json

import numpy as np
import pytest

from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN
from qafd.graph import Graph
from qafd.reasons import ReasonKind, reason
from qafd.records import Keyword, QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import SATURATED, Corpus
from qafd.retrieve.pagerank import PRESETS as PAGERANKS
from qafd.retrieve.qafd import LAYERS, PRESETS, FlowDiffusion, _nodes, importance_of
from qafd.retrieve.seeds import Passages, Seeds
from qafd.wording.reasons import word_cause, word_reason
from tests.tiny import tiny_corpus

CASES = [pytest.param(method(), id=name) for name, method in METHODS.items()]
CASES += [pytest.param(method, id=f"pagerank-{name}") for name, method in PAGERANKS.items()]
CASES += [pytest.param(preset.method, id=f"preset-{name}") for name, preset in PRESETS.items()]


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def library(order):
    """24 entities and 8 passages, each passage mentioning 4 entities; rows in a given order."""
    rng = np.random.default_rng(7)
    n = 32
    kinds = np.array(["entity"] * 24 + ["passage"] * 8)
    vectors = unit(rng.normal(size=(n, 16)).astype(np.float32) + 0.5)
    mentions = [(int(e), p) for p in range(24, 32)
                for e in rng.choice(23, 4, replace=False)]  # entity 23 stays isolated
    relations = [(int(a), int(b)) for a, b in rng.integers(0, 23, (30, 2)) if a != b]
    place = np.argsort(order)
    ends = [(place[u], place[v]) for u, v in mentions + relations]
    graph = Graph.build([f"id{i:02}" for i in order], [u for u, _ in ends], [v for _, v in ends],
                        np.full(len(ends), 0.5),
                        ["mention"] * len(mentions) + ["relation"] * len(relations),
                        names=[f"name {i}" for i in order], kinds=kinds[order], vectors=vectors[order],
                        name_vectors=vectors[order], tokens=np.full(n, 10))
    return tiny_corpus(graph, lambda ids: [f"text of name {int(i[2:]) % 8}" for i in ids])


def plan(text="what is name 3"):
    """A plan of two keywords, none of which is a name of the library."""
    rng = np.random.default_rng(3)
    words = unit(rng.normal(size=(3, 16)).astype(np.float32))
    return QueryPlan(text, (Keyword("name 3", "low"), Keyword("what", "high")), words[0],
                     words[1:])


@pytest.fixture(scope="module")
def shelves():
    return library(np.arange(32))


@pytest.fixture(scope="module", params=CASES)
def method(request):
    return request.param


@pytest.fixture(scope="module")
def retrieval(method, shelves):
    return method.retrieve(shelves, plan())


def test_seeds_are_among_the_nodes_and_say_so(retrieval):
    assert retrieval.seeds
    assert {n.id for n in retrieval.nodes if n.seed} == set(retrieval.seeds)


def test_nodes_are_ranked_and_edges_stay_among_them(retrieval):
    importance = [n.importance for n in retrieval.nodes]
    ids = {n.id for n in retrieval.nodes}
    scores = [p.score for p in retrieval.ranking]
    assert importance == sorted(importance, reverse=True)
    assert min(importance) >= 0
    assert {end for e in retrieval.edges for end in (e.source, e.target)} <= ids
    assert min((e.flow for e in retrieval.edges), default=0) >= 0
    assert scores == sorted(scores, reverse=True)
    assert all(word_reason(n.reason) for n in retrieval.nodes)


def test_what_is_retrieved_has_a_reason_that_brings_it(retrieval):
    for node in retrieval.nodes:
        if node.state == SATURATED:
            assert node.reason.brings
            assert word_cause([node.reason]).startswith("it ")


def test_the_same_question_brings_the_same_result(method, shelves, retrieval):
    first, second = retrieval.to_dict(), method.retrieve(shelves, plan()).to_dict()
    del first["work"], second["work"]
    assert first == second


def test_the_order_of_nodes_does_not_matter(method, retrieval):
    one = retrieval
    other = method.retrieve(library(np.random.default_rng(1).permutation(32)), plan())
    assert {n.id: n.importance for n in one.nodes} == pytest.approx(
        {n.id: n.importance for n in other.nodes}, rel=1e-6, abs=1e-9)
    assert {p.id: p.score for p in one.ranking} == pytest.approx(
        {p.id: p.score for p in other.ranking}, rel=1e-5, abs=1e-6)


def test_a_retrieval_says_what_it_was_asked_and_how_and_becomes_json(method, retrieval):
    assert METHODS[retrieval.method] is type(method)
    assert type(method)(**retrieval.params) == method
    assert retrieval.query == plan().question
    assert json.loads(retrieval.to_json())["nodes"][0]["id"] == retrieval.nodes[0].id


def test_a_question_without_any_known_word_is_no_error(method, shelves):
    nothing = QueryPlan("zebra?", (), np.zeros(16, np.float32), np.zeros((0, 16), np.float32))
    retrieval = method.retrieve(shelves, nothing)
    ids = {node.id for node in retrieval.nodes}
    assert set(retrieval.seeds) <= ids
    assert min((node.importance for node in retrieval.nodes), default=0) >= 0
    assert ids or retrieval.notices


def test_a_seed_without_neighbors_is_no_error(method, shelves):
    alone = shelves.graph.vectors[[23, 23]]  # type: ignore[index]
    asked = QueryPlan("name 23", (Keyword("name 23", "low"), Keyword("name 23", "high")),
                      alone[0], alone)
    retrieval = method.retrieve(shelves, asked)
    assert retrieval.nodes
    if "id23" in retrieval.seeds:
        assert not any("id23" in (edge.source, edge.target) for edge in retrieval.edges)


def test_an_empty_graph_gives_an_empty_retrieval(method):
    vectors = np.zeros((0, 16), np.float32)
    graph = Graph.build([], vectors=vectors, name_vectors=vectors)
    retrieval = method.retrieve(tiny_corpus(graph, lambda _: []), plan())
    assert (retrieval.nodes, retrieval.edges, retrieval.ranking) == ((), (), ())


def test_a_graph_without_edges_keeps_its_seeds(method):
    vectors = unit(np.ones((2, 16), np.float32))
    graph = Graph.build(["e", "p"], names=["name 3", "p"], kinds=["entity", "passage"], vectors=vectors,
                        name_vectors=vectors, tokens=[1, 1])
    retrieval = method.retrieve(tiny_corpus(graph, lambda _: ["name 3"]), plan())
    assert retrieval.seeds
    assert set(retrieval.seeds) <= {n.id for n in retrieval.nodes}
    assert not [e for e in retrieval.edges if {e.source, e.target} <= set(graph.ids)]
    if isinstance(method, FlowDiffusion):
        assert {n.state for n in retrieval.nodes} == {"dry"}


# A star: hub 0 with leaves 1 and 2; mass enters at leaf 1. Flow runs 1 -> 0 -> 2.
def star():
    vectors = unit(np.ones((3, 16), np.float32))
    graph = Graph.build(["a", "b", "c"], [0, 0], [1, 2], [1.0, 0.5], ["relation", "synonym"],
                        names=["hub", "in", "out"], kinds=["entity"] * 3, vectors=vectors,
                        name_vectors=vectors, tokens=[1, 1, 1])
    return Corpus(graph, Passages.build(graph, lambda _: []))


def test_edges_carry_the_kind_they_have_in_the_graph():
    method = FlowDiffusion(mass=2.5, seeds=1, seeding="keywords", layer="entities",
                           variant="plain")
    kinds = {frozenset((e.source, e.target)): e.kind
             for e in method.retrieve(star(), plan()).edges}
    assert kinds == {frozenset("ab"): "relation", frozenset("ac"): "synonym"}


NAMED = reason(ReasonKind.NAMED)


def test_the_reason_names_where_the_largest_part_came_from():
    # Leaves shed what they cannot hold: 0.2 from "narrow", 0.6 from "wide" into the hub.
    graph = Graph.build(["a", "b", "c"], [0, 0], [1, 2], names=["hub", "narrow", "wide"],
                        kinds=["entity"] * 3)
    diffusion = solve(graph, PLAIN, np.array([1, 2]), np.array([1.2, 1.6]))
    seeds = Seeds(np.array([1, 2]), np.array([0.5, 0.5]), (NAMED, NAMED))
    reasons = {n.name: n.reason for n in _nodes(graph, diffusion, seeds)}
    assert reasons == {"hub": reason(ReasonKind.TOUCHED_FROM, name="wide"), "narrow": NAMED,
                       "wide": NAMED}


def test_passages_outside_the_diffusion_are_ranked_by_their_entities():
    shelf = library(np.arange(32))
    graph, passages = shelf.graph, shelf.passages
    preset = PRESETS["paper"].method
    importance = importance_of(graph, solve(
        graph.layer(*LAYERS["entities"]), PLAIN, np.array([0, 1, 2]), np.array([3.0, 3.0, 3.0])),
        preset.layer)
    mentioned = graph.layer({"mention"})
    for row in passages.rows.tolist():
        around = mentioned.expand(np.array([row]))
        assert importance[row] == pytest.approx(
            float((importance[around.neighbors] * around.similarity).sum()))
