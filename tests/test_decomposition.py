"""Paths of a query graph, and a filter that never drops what matches."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qafd.learn.cards import SOUGHT, SUPPLIERS
from qafd.records import QueryCondition
from qafd.retrieve.decomposition import complete_labels, decompose_paths
from qafd.retrieve.matching import match_exactly

SIZE = 12


def conditions_of(query: nx.Graph) -> list[QueryCondition]:
    return [QueryCondition(u, v) for u, v in query.edges]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3), st.integers(1, 2))
def test_completion_never_drops_a_match(seed: int, size: int, pinned: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(SIZE, 0.5, seed=seed)
    query = nx.gnp_random_graph(size, 0.6, seed=seed + 1)
    rows = rng.choice(SIZE, min(pinned, size - 1), replace=False).tolist()
    known = {size - 1 - place: row for place, row in enumerate(rows)}
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}.__getitem__
    conditions = conditions_of(query)
    completion = complete_labels(decompose_paths(conditions, length), known, around, np.arange(SIZE))
    for match in match_exactly(size, conditions, known, around, np.arange(SIZE)):
        for node, candidates in completion.candidates.items():
            assert match[node] in candidates


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


def test_one_supplier_of_the_card_meets_all_conditions() -> None:
    lists = [set(SUPPLIERS.neighbors(name)) for name in SOUGHT]
    assert set.intersection(*lists) == {"Crown"}
    assert min(map(len, lists)) > 1
