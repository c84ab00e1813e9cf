from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.graph import Graph
from qafd.records import Keyword, QueryPlan, node_id
from qafd.retrieve.base import Retrieval, RetrievedNode
from qafd.retrieve.seeds import (
    Match,
    Passages,
    first,
    keyword_seeds,
    match,
    passage_counts,
    select_seeds,
)

TEXTS = ["Mill\nthe mill ground corn", "River\nthe river floods", "Ship\na ship on the river",
         "Town\na town", "Field\na field", "Road\na road", "Wood\na wood"]
TITLES = [text.split("\n")[0] for text in TEXTS]
ENTITIES = ["Mill", "River", "Alder"]


@pytest.fixture(scope="module")
def graph():
    """Mill is in passage 0, River in 0, 1 and 2, Alder nowhere; Mill and River are related."""
    ids = [node_id("entity", name.lower()) for name in ENTITIES]
    ids += [node_id("passage", str(i)) for i in range(len(TEXTS))]
    vectors = np.eye(len(ids), 16, dtype=np.float32)
    return Graph.build(ids, [0, 1, 1, 1, 0], [3, 3, 4, 5, 1], names=ENTITIES + TITLES,
                       kinds=["entity"] * 3 + ["passage"] * len(TEXTS),
                       edge_kinds=["mention"] * 4 + ["relation"], vectors=vectors, name_vectors=vectors)


@pytest.fixture(scope="module")
def passages(graph):
    return Passages.build(graph, lambda ids: [
        TEXTS[[node_id("passage", str(i)) for i in range(len(TEXTS))].index(key)] for key in ids])


def plan(question="the river", names=("mill", "river"), toward=4):
    vector = np.zeros(16, np.float32)
    vector[toward] = 1
    return QueryPlan(question, (Keyword("Mill", "low"),), vector, vector[None], tuple(names))


def test_passages_know_the_entity_that_is_their_title(passages, graph):
    assert passages.title.tolist() == [0, 1, -1, -1, -1, -1, -1]
    assert [graph.names[row] for row in passages.rows] == TITLES


def test_the_nearest_sentence_of_a_passage_counts_half_beside_its_own_vector(graph):
    asked = []

    def sentences(ids):
        asked.extend(ids)
        return [np.eye(16, dtype=np.float32)[[8, 4]] if key == node_id("passage", "0")
                else np.zeros((0, 16), np.float32) for key in ids]

    read = Passages.build(graph, lambda _: TEXTS, sentences=sentences)
    near = match(read, plan()).near
    assert near == pytest.approx([0.5 / 1.5, 1, 0, 0, 0, 0, 0])
    assert match(read, plan("mill")).evidence.any()
    assert len(asked) == len(set(asked)), "each passage is read once"


def test_a_match_has_cosines_and_the_score_of_each_word(graph, passages):
    found = match(passages, plan("River, river mill?"))
    assert found.dense.tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert found.by_word.shape == (7, 2)
    assert np.flatnonzero(found.lexical).tolist() == [0, 1, 2]


def test_fusion_adds_half_the_scaled_lexical_score():
    found = Match(np.array([0.2, 0.4, 0.6]), np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 1.0]]))
    assert found.fusion() == pytest.approx([0.5, 0.5, 1 + 0.25])


def test_entities_are_counted_by_their_passages(graph):
    assert passage_counts(graph, np.array([0, 1, 2])).tolist() == [1, 3, 0]


def test_rare_names_take_more_mass(graph, passages):
    asked = plan("the Mill on the River")
    seeds = select_seeds(graph, passages, asked, match(passages, asked))
    rare = np.array([1.0, 1 / log2(4)])
    assert seeds.rows[:2].tolist() == [0, 1]
    assert seeds.shares[:2] == pytest.approx(0.75 * rare / rare.sum())
    assert seeds.certainty == 1


def test_passages_take_mass_by_their_lead_over_the_best_left_out(graph, passages):
    dense = np.array([0.0, 0.8, 0.2, 0.6, 0.5, 1.0, 0.1])
    found = Match(dense, np.zeros((7, 1)))
    seeds = select_seeds(graph, passages, plan(names=()), found, best=3)
    assert seeds.rows.tolist() == passages.rows[[5, 1, 3]].tolist()
    assert seeds.shares == pytest.approx(np.array([0.5, 0.3, 0.1]) / 0.9)


def test_without_passages_the_names_take_all():
    graph = Graph.build([node_id("entity", name) for name in ("mill", "river")], [0], [1],
                        names=["Mill", "River"])
    passages = Passages.build(graph, lambda _: [])
    asked = plan("the Mill on the River")
    seeds = select_seeds(graph, passages, asked, match(passages, asked))
    assert seeds.rows.tolist() == [0, 1]
    assert seeds.shares.sum() == pytest.approx(1)


def test_a_name_without_an_edge_in_the_layer_leaves_its_mass_to_the_others(graph, passages):
    asked = plan("the Mill on the River")
    found = match(passages, asked)
    layer = Graph.build(graph.ids, [0], [len(graph) - 1], None, "mention", names=graph.names,
                        kinds=graph.kinds)
    seeds = select_seeds(graph, passages, asked, found, layer=layer)
    assert seeds.rows[0] == 0
    assert 1 not in seeds.rows
    assert seeds.shares.sum() == pytest.approx(1)
    nothing = Graph.build(graph.ids)
    assert set(select_seeds(graph, passages, asked, found, layer=nothing).rows) <= set(passages.rows)


@given(st.lists(st.sampled_from(["mill", "river", "alder", "gone"]), unique=True),
       st.floats(0, 1), st.integers(1, 9))
def test_shares_are_never_negative_and_add_up(graph, passages, names, share, best):
    asked = plan(names=names)
    seeds = select_seeds(graph, passages, asked, match(passages, asked),
                         entity_share=share, best=best)
    assert len(seeds.rows) == len(seeds.shares) == len(seeds.reasons)
    assert seeds.shares.min() >= 0
    assert seeds.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(("sources", "share", "unsure"), [
    ({"entity": 0.0, "passage": 6.0}, 0, True), ({"entity": 1.0, "passage": 3.0}, 0.25, True),
    ({"entity": 3.0, "passage": 1.0}, 0.75, False), ({"entity": 0.0}, None, False),
    ({}, None, True)], ids=str)
def test_a_retrieval_is_unsure_without_sure_names_or_without_anything(sources, share, unsure):
    nodes = tuple(RetrievedNode(kind, kind, kind, 1.0, 1.0, "saturated", source=source)
                  for kind, source in sources.items())
    retrieval = Retrieval("?", "qafd", {}, (), nodes, ())
    assert (retrieval.named_share, retrieval.unsure) == (share, unsure)


def test_keyword_seeds_of_a_large_graph_are_those_of_all_cosines():
    rng = np.random.default_rng(5)
    # Clusters, as names have them: the nearest lie well apart from the rest.
    vectors = rng.normal(size=(200, 64))[rng.integers(0, 200, 20_500)]
    vectors = vectors + 0.3 * rng.normal(size=(20_500, 64))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    kinds = np.where(rng.random(20_500) < 0.1, "passage", "entity")
    graph = Graph.build([str(i) for i in range(20_500)], kinds=kinds, vectors=vectors,
                        name_vectors=vectors)
    asked = QueryPlan("?", (Keyword("one", "low"), Keyword("two", "low")), vectors[7],
                      vectors[[7, 9_000]])
    for layer in ("passages", "entities"):
        scores = (vectors @ asked.keyword_embeddings.T).max(axis=1)
        if layer == "entities":
            scores[kinds == "passage"] = -2
        wanted = np.lexsort((np.arange(20_500), -scores))[:20]
        assert keyword_seeds(graph, asked, 20, layer).rows.tolist() == wanted.tolist()


def test_a_keyword_seed_is_told_with_the_keyword_nearest_to_it():
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    graph = Graph.build(list("abcd"), kinds=["entity"] * 4, vectors=vectors, name_vectors=vectors)
    asked = QueryPlan("?", (Keyword("one", "low"), Keyword("two", "low")), vectors[0], vectors[:2])
    found = keyword_seeds(graph, asked, 3)
    assert found.rows.tolist() == [0, 1, 2]
    assert [one.values["word"] for one in found.reasons] == ["one", "two", "two"]
    assert [one.values["score"] for one in found.reasons] == pytest.approx([1, 1, 0.8])


@given(st.integers(0, 2**32), st.integers(0, 3000), st.integers(0, 20), st.integers(1, 1000))
def test_the_first_are_those_of_a_whole_order(seed, many, count, distinct):
    scores = np.random.default_rng(seed).integers(0, distinct, many).astype(np.float64)
    assert first(scores, count).tolist() == np.argsort(-scores, kind="stable")[:count].tolist()
