"""GraphRAG's selection of communities on a graph of two communities, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import toward

from qafd.graph import Graph
from qafd.reasons import ReasonKind
from qafd.records import QueryPlan, node_id
from qafd.retrieve.base import Corpus
from qafd.retrieve.community import CommunityReports
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.seeds import Passages


# Communities 0 (a, b) and 1 (c, d, e) on level 0; 1 splits into 2 (c, d) and 3 (e).
# Passages: p mentions a and c, q mentions c and d, r mentions e.
@pytest.fixture
def corpus():
    names = "abcdepqr"
    ids = [node_id("entity", name) for name in "abcde"] + list("pqr")
    vectors = toward(0.1, 0.2, 0.9, 0.8, 0.3, 0.5, 0.4, 0.6)
    mentions = [(0, 5), (2, 5), (2, 6), (3, 6), (4, 7)]
    relations = [(0, 1), (2, 3), (3, 4), (1, 2)]
    graph = Graph.build(ids, [u for u, _ in mentions + relations], [v for _, v in mentions + relations],
                        names=names, kinds=["entity"] * 5 + ["passage"] * 3,
                        edge_kinds=["mention"] * 5 + ["relation"] * 4, vectors=vectors,
                        name_vectors=vectors)
    communities = Communities(
        np.array([0, 0, 1, 1]), np.array([-1, -1, 1, 1]),
        np.array([[0, 0], [0, 1], [1, 2], [1, 3], [1, 4], [2, 2], [2, 3], [3, 4]]),
        ("A", "C", "CD", "E"), ("A.", "C.", "CD.", "E."), toward(0.7, 0.5, 0.4, 0.6))
    return Corpus(graph, Passages.build(graph, lambda ids: [""] * len(ids)),
                  {"communities": communities})


def run(corpus, *names, **knobs):
    nothing = np.zeros((0, 2), np.float32)
    return CommunityReports(**knobs).retrieve(
        corpus, QueryPlan("q", (), np.array([1, 0], np.float32), nothing, names))


def names_of(retrieval):
    return {n.name for n in retrieval.nodes}


def test_local_takes_the_community_of_most_of_the_nearest_entities_whole(corpus):
    # Nearest are c (.9) and d (.8): both in community 1 on level 0, in 2 on level 1.
    coarse = run(corpus, entities=2, communities=1, level=0)
    fine = run(corpus, entities=2, communities=1, level=1)
    assert names_of(coarse) == {"c", "d", "e"}
    assert names_of(fine) == {"c", "d"}
    assert {n.name for n in fine.nodes if n.seed} == {"c", "d"}
    importance = {n.name: n.importance for n in coarse.nodes}
    assert importance == pytest.approx({"c": 0.9, "d": 0.8, "e": 0.5})  # its report's similarity
    reason = next(n.reason for n in coarse.nodes if n.name == "e")
    assert (reason.kind, reason.values["community"]) == (ReasonKind.IN_COMMUNITY, 1)
    assert reason.also[0].values == {"count": 2}


def test_global_takes_the_communities_with_the_nearest_reports(corpus):
    # On level 1 the choice is 0 (.7), 2 (.4) and 3 (.6).
    retrieval = run(corpus, selection="global", communities=2, level=1)
    assert names_of(retrieval) == {"a", "b", "e"}
    assert retrieval.seeds == ()
    assert not any(node.reason.also for node in retrieval.nodes)
    assert [p.id for p in retrieval.ranking] == ["p", "r"]


def test_passages_follow_the_entities_then_their_neighbors(corpus):
    # c comes first: q mentions it and its neighbor d, p mentions no neighbor of it, r is d's none.
    assert [(p.id, p.score) for p in run(corpus, entities=1).ranking] == [("q", 1), ("p", 0.5)]
    assert [p.id for p in run(corpus, "e", entities=2).ranking] == ["r", "q", "p"]
    assert [p.id for p in run(corpus, "d", entities=2).ranking] == ["q", "p"]


def test_an_entity_of_no_community_is_retrieved_alone_with_its_place(corpus):
    found = corpus.layers["communities"]
    inside = found.members[found.members[:, 1] != 3]  # d is left out
    retrieval = run(replace(corpus, layers={"communities": replace(found, members=inside)}),
                    entities=2, communities=1, level=0)
    reasons = {n.name: n.reason for n in retrieval.nodes}
    assert {name: reason.kind for name, reason in reasons.items()} == {
        "c": ReasonKind.IN_COMMUNITY, "d": ReasonKind.NEAR_ENTITY, "e": ReasonKind.IN_COMMUNITY}
    assert reasons["d"].values == {"place": 2}
    assert reasons["d"].also[0].kind is ReasonKind.COMMUNITY_LEFT_OUT
    assert reasons["e"].also[0].values == {"count": 1}
    assert reasons["e"].values["place"] == 1


def test_local_counts_the_entities_of_every_community(corpus):
    # Named are a and b of community 0, nearest is c of community 1.
    retrieval = run(corpus, "a", "b", entities=3, communities=1, level=0)
    assert names_of(retrieval) == {"a", "b", "c"}
    assert [node.name for node in retrieval.nodes if node.reason.kind is ReasonKind.NEAR_ENTITY] == ["c"]
