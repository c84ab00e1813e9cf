"""Tests of qafd.graph."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.errors import ParameterError
from qafd.graph import Graph, kind_bit, kind_names


@pytest.fixture
def square():
    """a - b - c - d - a, with kinds; passage d."""
    return Graph.build(["a", "b", "c", "d"], [0, 1, 2, 3], [1, 2, 3, 0], [0.1, 0.2, 0.3, 0.4],
                       ["relation", "synonym", "mention", "mention"],
                       kinds=["entity", "entity", "entity", "passage"], tokens=[0, 2, 3, 50])


def neighbors(graph, row):
    frontier = graph.expand(np.array([row]))
    return dict(zip(frontier.neighbors.tolist(), frontier.similarity.tolist(), strict=True))


def test_expand_lists_the_edges_of_each_node_in_turn(square):
    frontier = square.expand(np.array([2, 0]))
    assert frontier.counts.tolist() == [2, 2]
    assert frontier.neighbors.tolist() == [1, 3, 1, 3]
    assert frontier.similarity.tolist() == [0.2, 0.3, 0.1, 0.4]


def test_self_loops_vanish_and_parallel_edges_keep_the_largest_similarity_and_all_kinds():
    graph = Graph.build(["a", "b"], [0, 0, 1], [0, 1, 0], [9.0, 0.5, 0.7],
                        ["relation", "relation", "synonym"])
    assert neighbors(graph, 0) == {1: 0.7}
    assert neighbors(graph, 1) == {0: 0.7}
    assert kind_names(int(graph.edge_kinds[0])) == ("relation", "synonym")


def test_strengths_of_a_directed_multigraph_add_up_over_both_directions():
    G = nx.MultiDiGraph()
    G.add_edge("a", "b", w=1.0)
    G.add_edge("a", "b", w=2.0)
    G.add_edge("b", "a", w=4.0)
    assert neighbors(Graph.from_networkx(G, "w"), 0) == {1: 7.0}


def test_a_layer_keeps_the_rows_and_only_edges_of_its_kinds(square):
    layer = square.layer({"relation", "synonym"})
    assert layer.ids == square.ids
    assert layer.degree.tolist() == [1, 2, 1, 0]
    assert square.layer(["synonym", "relation"]) is layer


def test_a_layer_without_a_kind_drops_edges_that_are_of_other_kinds_too():
    bits = [kind_bit("mention"), kind_bit("mention") | kind_bit("term")]
    graph = Graph.build("abc", [0, 1], [1, 2], None, np.array(bits, np.uint8))
    assert graph.layer({"mention"}).degree.tolist() == [1, 2, 1]
    assert graph.layer({"mention"}, {"term"}).degree.tolist() == [1, 1, 0]
    assert graph.layer(without={"term"}).degree.tolist() == [1, 1, 0]


def test_capacities_are_degree_one_or_tokens_of_at_least_one(square):
    assert square.capacity("degree").tolist() == [2, 2, 2, 2]
    assert square.capacity("unit").tolist() == [1, 1, 1, 1]
    assert square.capacity("tokens").tolist() == [1, 2, 3, 50]


def test_component_capacities_add_up_over_components():
    graph = Graph.build("abcde", [0, 2], [1, 3])
    by_row = graph.component_capacity("degree")[graph.component]
    assert by_row.tolist() == [2, 2, 2, 2, 0]


@pytest.mark.parametrize(("fields", "message"), [
    ({"ids": ["a", "a"]}, "twice"),
    ({"source_rows": [0], "target_rows": [2]}, "outside the 2 nodes"),
    ({"source_rows": [0], "target_rows": [1], "similarity": [0.0]}, "positive"),
    ({"source_rows": [0], "target_rows": [1], "similarity": [np.nan]}, "positive"),
    ({"source_rows": [0], "target_rows": [1], "edge_kinds": "friend"}, "not an edge kind"),
    ({"source_rows": [0], "target_rows": [1], "edge_kinds": ["mention"] * 2}, "2 edge kinds"),
    ({"source_rows": [0, 1], "target_rows": [1]}, "do not make a list of edges"),
    ({"names": ["a"]}, "1 names were given for 2 nodes"),
    ({"vectors": np.zeros((3, 4), np.float32)}, "vectors of shape"),
])
def test_a_malformed_graph_is_refused_with_the_reason(fields, message):
    with pytest.raises(ParameterError, match=message):
        Graph.build(**{"ids": ["a", "b"], **fields})


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20),
       st.randoms(use_true_random=False))
def test_edges_in_any_order_and_direction_make_the_same_graph(edges, random):
    other = [pair if random.random() < 0.5 else pair[::-1] for pair in edges]
    random.shuffle(other)
    one, two = (Graph.build("abcdefg", [u for u, _ in e], [v for _, v in e])
                for e in (edges, other))
    assert one.indptr.tolist() == two.indptr.tolist()
    assert one.neighbors.tolist() == two.neighbors.tolist()


def test_a_graph_with_other_tokens_forgets_what_was_computed_from_the_first(square):
    square.prepare()
    other = replace(square, tokens=square.tokens + 100)
    assert other.total_capacity("tokens") == pytest.approx(4 * 100 + 55)
    assert other.component_capacity("tokens").tolist() == [455.0]
    assert other.layer({"mention"}).tokens.tolist() == [100, 102, 103, 150]
    assert square.total_capacity("tokens") == pytest.approx(56)
