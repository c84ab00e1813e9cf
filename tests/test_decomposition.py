"""Paths of a query graph, and a filter that never drops what matches."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qafd.learn.cards import SOUGHT, SUPPLIERS
from qafd.learn.conditions import sift_toy
from qafd.records import QueryCondition
from qafd.retrieve.decomposition import complete_labels, decompose_paths
from qafd.retrieve.dominance import STAGES, StarEmbedding, sift
from qafd.retrieve.matching import match_exactly

SIZE = 12


def conditions_of(query: nx.Graph) -> list[QueryCondition]:
    return [QueryCondition(u, v) for u, v in query.edges]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3), st.integers(1, 2))
def test_the_filter_never_drops_a_match_and_no_stage_lets_more_through(
        seed: int, size: int, pinned: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(SIZE, 0.5, seed=seed)
    query = nx.gnp_random_graph(size, 0.6, seed=seed + 1)
    rows = rng.choice(SIZE, min(pinned, size - 1), replace=False).tolist()
    known = {size - 1 - place: row for place, row in enumerate(rows)}
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}.__getitem__
    conditions = conditions_of(query)
    matches = list(match_exactly(size, conditions, known, around, np.arange(SIZE)))
    completion = complete_labels(decompose_paths(conditions, length), known, around,
                                 np.arange(SIZE))
    embedding = StarEmbedding(rng.standard_normal((SIZE, 5)).astype(np.float32))
    for left in sift(conditions, known, completion, around, embedding, matches):
        kept = [set(left.rows[stage].tolist()) for stage in STAGES]
        for earlier, later in zip(kept, kept[1:], strict=False):
            assert later <= earlier
        assert kept[-1] == {rows[left.node] for rows in matches}


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 2))
def test_paths_cover_every_condition_and_nothing_else(seed: int, size: int, length: int) -> None:
    query = nx.gnp_random_graph(size, 0.5, seed=seed)
    paths = decompose_paths(conditions_of(query), length)
    covered = {edge for path in paths for edge in path.edges}
    assert covered == {frozenset(edge) for edge in query.edges}
    assert all(len(path.edges) <= length for path in paths)


@pytest.mark.parametrize(("edges", "length", "count"), [
    pytest.param([(0, 1), (0, 2), (0, 3), (0, 4)], 1, 4, id="star of single conditions"),
    pytest.param([(0, 1), (0, 2), (0, 3), (0, 4)], 2, 2, id="star in pairs"),
    pytest.param([(0, 1), (1, 2)], 2, 1, id="chain"),
    pytest.param([(0, 1), (1, 2), (2, 0)], 2, 2, id="triangle"),
    pytest.param([], 2, 0, id="nothing")])
def test_no_more_paths_than_needed(edges: list[tuple[int, int]], length: int, count: int) -> None:
    assert len(decompose_paths([QueryCondition(u, v) for u, v in edges], length)) == count


def test_a_negated_condition_is_on_no_path() -> None:
    paths = decompose_paths([QueryCondition(0, 1), QueryCondition(0, 2, negated=True)], 2)
    assert [path.nodes for path in paths] == [(0, 1)]


def test_the_card_ends_with_the_one_that_meets_all_conditions() -> None:
    left = sift_toy(SUPPLIERS, SOUGHT)
    assert list(left) == list(STAGES)
    assert left["exact"] == ["Crown"]


@given(st.integers(0, 10**6))
def test_a_whole_star_dominates_its_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    embedding = StarEmbedding(rng.standard_normal((9, 4)).astype(np.float32))
    whole = rng.choice(9, 6, replace=False)
    part = whole[:int(rng.integers(0, 7))]
    # Eq. (3) with its sign put right
    assert np.maximum(0.0, embedding.embed(part) - embedding.embed(whole)).max() < 1e-6
