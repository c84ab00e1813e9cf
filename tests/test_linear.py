"""LinearRAG's activation and walk against numbers worked out by hand."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from qafd.graph import Graph
from qafd.records import Keyword, QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.linear import TriGraph
from qafd.retrieve.seeds import Passages

ASKED = np.array([1, 0, 0], np.float32)


def toward(*cosines):
    """Unit rows with these cosines to the question."""
    return np.array([(x, math.sqrt(1 - x * x), 0) for x in cosines], np.float32)


# Entities a, b, c are rows 0 to 2, passages p and r rows 3 and 4. Sentence 0 (cosine 3/4) has a
# and b, sentence 1 (cosine 1/2) has a alone, sentence 2 (cosine 4/5) has b and c. p has a twice
# and b once, r has b and c once each; p is nearer to the question than r.
@pytest.fixture
def corpus():
    names = np.eye(3, dtype=np.float32)[[2, 1, 1, 0, 0]]
    graph = Graph.build("abcpr", kinds=["entity"] * 3 + ["passage"] * 2,
                        source_rows=[0, 1, 1, 2], target_rows=[3, 3, 4, 4],
                        edge_kinds="mention", vectors=toward(0, 0, 0, 0.75, 0.25),
                        name_vectors=names)
    sentences = Sentences(
        np.array([3, 3, 4]), np.array([0, 1, 0]), ("a b.", "a.", "b c."),
        toward(0.75, 0.5, 0.8), np.array([[0, 0], [0, 1], [1, 0], [2, 1], [2, 2]]),
        np.array([[3, 0, 2], [3, 1, 1], [4, 1, 1], [4, 2, 1]]))
    return Corpus(graph, Passages.build(graph, lambda ids: [""] * len(ids)),
                  {"sentences": sentences})


def plan(*levels):
    """A question whose keywords are all the name of entity a."""
    vectors = np.array([[0, 0, 1]] * len(levels), np.float32).reshape(-1, 3)
    return QueryPlan("q", tuple(Keyword("a", level) for level in levels), ASKED, vectors)


def run(corpus, *levels, **knobs):
    return TriGraph(**knobs).retrieve(corpus, plan(*levels))


def test_the_walk_solves_the_page_rank_equation_of_the_method(corpus):
    # Bonuses: p has a twice (level 1) and b once (level 2), r has b once and c once (level 3).
    bonus = {3: math.log(3) * 1 + math.log(2) * 0.75 / 2,
             4: math.log(2) * 0.75 / 2 + math.log(2) * 0.6 / 3}
    restart = np.array([1.75, 1.35, 0.6,
                        0.05 * (1.5 * 1 + math.log1p(bonus[3])),
                        0.05 * (1.5 * 0 + math.log1p(bonus[4]))])
    restart /= restart.sum()
    weights = np.zeros((5, 5))
    for (passage, entity), c in {(3, 0): F(2, 3), (3, 1): F(1, 3), (4, 1): F(1, 2),
                                 (4, 2): F(1, 2)}.items():  # Eq. (2) of FlowRAG
        weights[passage, entity] = weights[entity, passage] = float(c)
    walk = weights / weights.sum(axis=0)
    expected = np.linalg.solve(np.eye(5) - 0.5 * walk, 0.5 * restart)
    found = {n.id: n.importance for n in run(corpus, "low").nodes if n.kind != "sentence"}
    assert found == pytest.approx(dict(zip("abcpr", expected, strict=True)), abs=1e-8)


def test_without_a_named_thing_the_walk_starts_at_the_passages(corpus):
    retrieval = run(corpus, "high", damping=0.0)
    assert [p.id for p in retrieval.ranking] == ["p", "r"]
    assert retrieval.seeds == ("p", "r")
    # damping 0 stays at the restart: minmax(3/4, 1/4) = (1, 0)
    assert {n.id: n.importance for n in retrieval.nodes if n.importance} == pytest.approx({"p": 1})
