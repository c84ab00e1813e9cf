"""RAPTOR's collapsed tree on four passages and three summaries, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import toward

from qafd.graph import Graph
from qafd.reasons import ReasonKind
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, WET, Corpus
from qafd.retrieve.layers.tree import Tree
from qafd.retrieve.seeds import Passages
from qafd.retrieve.tree import CollapsedTree


# Summary 0 is above p and q, summary 1 above q, r and s, summary 2 above both.
@pytest.fixture
def corpus():
    vectors = toward(0.9, 0.3, 0.4, 0.2)
    graph = Graph.build("pqrs", names=["P", "Q", "R", "S"], kinds=["passage"] * 4, vectors=vectors,
                        name_vectors=vectors, tokens=[100] * 4)
    tree = Tree(
        np.array([1, 1, 2]),
        np.array([[0, 0], [0, 1], [1, 1], [1, 2], [1, 3], [2, 0], [2, 1], [2, 2], [2, 3]]),
        np.array([[2, 0], [2, 1]]), np.array([50, 50, 50]), ("P, Q", "R, S", "all"),
        ("of P", "of R", "of all"), toward(0.35, 0.7, 0.1))
    return Corpus(graph, Passages.build(graph, lambda ids: [""] * len(ids)), {"tree": tree})


def run(corpus, budget):
    return CollapsedTree(budget=budget).retrieve(
        corpus, QueryPlan("q", (), np.array([1, 0], np.float32), np.zeros((0, 2), np.float32)))


# In order: P .9 (100 tokens), of R .7 (150), R .4 (250), of P .35 (300), Q .3 (400), ...
@pytest.mark.parametrize(("budget", "taken"), [
    (50, {"P"}), (149, {"P"}), (150, {"P", "Summary of R, S"}),
    (250, {"P", "Summary of R, S", "R"}),
    (399, {"P", "Summary of R, S", "R", "Summary of P, Q"})])
def test_the_nearest_are_taken_until_the_budget_is_spent(corpus, budget, taken):
    retrieval = run(corpus, budget)
    assert {n.name for n in retrieval.nodes if n.state == SATURATED} == taken


def test_a_passage_is_ranked_by_itself_or_the_best_summary_taken_above_it(corpus):
    # "of R" (.7) lifts Q, R and S, which follow in the order of their own cosines.
    assert [(p.id, round(p.score, 3)) for p in run(corpus, 250).ranking] == [
        ("p", 0.9), ("r", 0.7), ("q", 0.7), ("s", 0.7)]
    assert [(p.id, round(p.score, 3)) for p in run(corpus, 100).ranking] == [
        ("p", 0.9), ("r", 0.4), ("q", 0.3), ("s", 0.2)]


def test_what_lies_below_a_summary_taken_is_touched_and_ranked_and_says_below_which(corpus):
    tree = replace(corpus.layers["tree"], vectors=toward(0.7, 0.35, 0.1))
    retrieval = run(replace(corpus, layers={"tree": tree}), 150)
    assert {n.name: n.state for n in retrieval.nodes} == {
        "P": SATURATED, "Summary of P, Q": SATURATED, "Q": WET}
    reasons = {n.name: n.reason for n in retrieval.nodes}
    assert (reasons["Q"].kind, reasons["Q"].values["title"]) == (ReasonKind.BELOW_SUMMARY, "P, Q")
    assert reasons["P"].values == pytest.approx({"place": 1, "cosine": 0.9})
    assert [(p.id, p.score) for p in retrieval.ranking] == [
        (id, pytest.approx(score)) for id, score in (("p", 0.9), ("q", 0.7), ("r", 0.4), ("s", 0.2))]


def test_edges_lead_to_the_parts_and_carry_the_cosine_that_ranks(corpus):
    """Q is below two summaries, the last of which only joins others: nothing is ranked by it."""
    tree, retrieval = corpus.layers["tree"], run(corpus, 1000)
    names = {tree.id(corpus.graph, at): at for at in range(3)}
    assert {(names[e.source], names.get(e.target, e.target)): e.flow for e in retrieval.edges} == (
        pytest.approx({(0, "p"): 0.35, (0, "q"): 0.0, (1, "q"): 0.7, (1, "r"): 0.7, (1, "s"): 0.7,
                       (2, 0): 0.0, (2, 1): 0.0}))
