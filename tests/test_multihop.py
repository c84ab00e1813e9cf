"""Tests of qafd.retrieve.multihop against an exact solution and a dense walk."""

from dataclasses import replace

import numpy as np
import pytest

from qafd.flow.weights import Gates, Similarity, Weights
from qafd.graph import Graph
from qafd.reasons import ReasonKind
from qafd.records import QueryPlan
from qafd.retrieve.multihop import LAYER, MultiHop
from tests.oracles import dense_weights, rational_solution, toward
from tests.tiny import tiny_corpus

BORN = "Where was the singer of Paper Lanterns born?"
# Cosines of the names and passages with the question; two facts, a - b and c - d.
NEAR = {"a": 0.9, "b": 0.7, "c": 0.3, "d": 0.1, "p": 0.8, "q": 0.2, "r": 0.4}
EDGES = [("a", "b", "relation"), ("c", "d", "relation"), ("a", "p", "mention"), ("b", "p", "mention"),
         ("c", "q", "mention"), ("d", "r", "mention"), ("b", "c", "synonym"), ("a", "r", "mention")]


@pytest.fixture(scope="module")
def corpus():
    names = list(NEAR)
    vectors = toward(*NEAR.values())
    ends = [(names.index(u), names.index(v)) for u, v, _ in EDGES]
    graph = Graph.build(names, [u for u, _ in ends], [v for _, v in ends], None,
                        [kind for *_, kind in EDGES], names=names, kinds=["entity"] * 4 + ["passage"] * 3,
                        vectors=vectors, name_vectors=vectors)
    return tiny_corpus(graph, lambda ids: ids)


@pytest.fixture(scope="module")
def plan(corpus):
    asked = toward(1.0)[0]
    return QueryPlan("what is a", (), asked, asked[None, :])


def scores_of(retrieval):
    return {passage.id: passage.score for passage in retrieval.ranking}


@pytest.mark.parametrize(("alpha", "facts"), [(2.0, 1), (2.0, 2), (6.0, 1)])
def test_a_passage_scores_two_steps_that_return_halfway_and_its_own_x(corpus, plan, alpha, facts):
    graph = corpus.graph
    gates = Gates(Weights.of_variant("hybrid"), plan.embedding, similarity=Similarity("shift"))
    weight = dense_weights(graph.layer(LAYER), gates)
    # By hand: both ends of a fact have its cosine over the number of their passages.
    fact = {"a": 0.8, "b": 0.8} | ({"c": 0.2, "d": 0.2} if facts == 2 else {})
    passages = {"a": 2, "b": 1, "c": 1, "d": 1}
    share = np.zeros(len(NEAR))
    for i, name in enumerate(NEAR):
        if name in fact:
            share[i] = fact[name] / passages[name]
        if name in "pqr":
            share[i] = 0.05 * (NEAR[name] - 0.2) / 0.6
    share /= share.sum()
    degree = np.array([sum(name in edge[:2] for edge in EDGES) for name in NEAR], float)
    sink = degree * 10 / degree.sum()
    matrix = np.zeros((7, 7))
    for (u, v), w in weight.items():
        matrix[u, v] = matrix[v, u] = w
    x = np.array(rational_solution(weight, alpha * share, sink)[0], float)
    step = matrix / matrix.sum(axis=0)
    walk = share
    for _ in range(2):
        walk = (share + step @ walk) / 2
    expected = walk + 0.2 * x
    found = MultiHop(alpha=alpha, facts=facts, pushes=100_000).retrieve(corpus, plan)
    assert scores_of(found) == pytest.approx(
        {name: expected[i] for i, name in enumerate(NEAR) if name in "pqr"}, rel=1e-4)


def test_seeds_are_the_ends_of_the_nearest_facts_and_passages(corpus, plan):
    found = MultiHop(facts=1).retrieve(corpus, plan)
    reasons = {node.id: node.reason for node in found.nodes}
    assert set(found.seeds) == {"a", "b", "p", "r"}
    assert reasons["a"].kind == reasons["b"].kind == ReasonKind.FACT_END
    assert (reasons["a"].values["name"], reasons["a"].values["place"]) == ("b", 1)
    assert reasons["p"].kind == ReasonKind.NEAR_BY_MEANING
    without = replace(MultiHop(facts=1), passage_weight=0.0).retrieve(corpus, plan)
    assert set(without.seeds) == {"a", "b"}


def test_the_preset_of_the_paper_finds_both_hops(songs):
    found = songs.retrieve(BORN, "qafd-multihop")
    assert found.method == "multihop"
    assert found.params["alpha"] == 2.0
    titles = {passage.title for passage in found.passages[:5]}
    assert titles >= {"Paper Lanterns (song)", "Mara Delgado"}
