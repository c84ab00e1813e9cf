"""Exact matching against networkx, and what conditions a question is read to have."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import GraphMatcher

from qafd.plan.query_graph import Condition, read_query_graph
from qafd.retrieve.matching import match_exactly


def oracle(graph: nx.Graph, query: nx.Graph, known: dict[int, int]) -> set[tuple[int, ...]]:
    """All subgraph monomorphisms that map what is known to its row."""
    for row in graph:
        graph.nodes[row]["name"] = row
    for node in query:
        query.nodes[node]["name"] = known.get(node)
    taken = set(known.values())

    def fits(row: dict[str, int], node: dict[str, int | None]) -> bool:
        return row["name"] == node["name"] or node["name"] is None and row["name"] not in taken

    found = GraphMatcher(graph, query, node_match=fits).subgraph_monomorphisms_iter()
    return {tuple(node for _, node in sorted((to, row) for row, to in one.items())) for one in found}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 2))
def test_matching_finds_what_networkx_finds(seed: int, size: int, pinned: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(9, 0.45, seed=seed)
    query = nx.gnp_random_graph(size, 0.6, seed=seed + 1)
    rows = rng.choice(9, min(pinned, size), replace=False).tolist()
    known = dict(enumerate(rows))
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}
    conditions = [Condition(u, v) for u, v in query.edges]
    found = list(match_exactly(size, conditions, known, around.__getitem__, np.arange(9)))
    assert len(found) == len(set(found))
    assert set(found) == oracle(graph, query, known)


@given(st.integers(0, 10**6))
def test_a_negated_condition_removes_what_meets_it(seed: int) -> None:
    graph = nx.gnp_random_graph(9, 0.5, seed=seed)
    around = {row: np.array(sorted(graph[row]), np.int64) for row in graph}
    found = match_exactly(3, [Condition(0, 1), Condition(0, 2, negated=True)], {1: 0, 2: 1},
                          around.__getitem__, np.arange(9))
    assert {rows[0] for rows in found} == set(graph[0]) - set(graph[1]) - {0, 1}


@pytest.mark.parametrize(("question", "names", "conditions"), [
    ("Which film was released in Chile, Peru and Norway?", ["chile", "peru", "norway"],
     [(0, 1, False), (0, 2, False), (0, 3, False)]),
    ("Which film was released in Chile but not in Peru?", ["peru", "chile"],
     [(0, 1, False), (0, 2, True)]),
    ("Who works for the company that built the Alder Bridge?", ["alder bridge"],
     [(0, 1, False), (1, 2, False)]),
    ("Who is the head of the company that built the Alder Bridge?", ["alder bridge"],
     [(0, 1, False), (1, 2, False)]),
    ("Which river is long?", [], [])])
def test_conditions_of_a_question(question, names, conditions) -> None:
    read = read_query_graph(question, names)
    assert [(c.source, c.target, c.negated) for c in read.conditions] == conditions
    assert read.nodes[0].unknown


def test_words_that_several_names_share_are_conditions_on_each() -> None:
    read = read_query_graph("Which film was released in Chile and Peru?", ["chile", "peru"])
    assert [condition.words for condition in read.conditions] == [("film", "released")] * 2


def test_a_name_that_the_question_does_not_write_is_told() -> None:
    assert read_query_graph("Where is it?", ["alder"]).unread == ("alder",)
