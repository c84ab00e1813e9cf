import random
from math import hypot

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from qafd.errors import ParameterError
from qafd.reasons import UNSTATED
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.layout import layout, majorize, separate
from qafd.view.placement import freeze, place_beside, spread


def named(graph):
    return [f"n{v}" for v in graph], [(f"n{u}", f"n{v}") for u, v in graph.edges]


def distance(at, u, v):
    return float(np.hypot(at[u][0] - at[v][0], at[u][1] - at[v][1]))


@pytest.fixture(scope="module")
def graph():
    return nx.powerlaw_cluster_graph(60, 2, 0.5, seed=3)


@pytest.mark.parametrize("graph", [
    *(nx.barabasi_albert_graph(size, 1, seed=1) for size in (2, 7, 60, 500)),
    *map(nx.star_graph, (99, 245, 398))], ids=len)  # leaves that are all alike
def test_every_node_lies_inside_the_frame(graph):
    ids, edges = named(graph)
    at = np.array(list(layout(ids, edges, aspect=1.6).values()))
    assert at.shape == (len(graph), 2)
    assert at.min() >= 0
    assert at[:, 0].max() <= 1.6
    assert at[:, 1].max() <= 1


def test_the_order_of_nodes_and_edges_does_not_matter(graph):
    ids, edges = named(graph)
    before = layout(ids, edges)
    mixed = random.Random(5)
    mixed.shuffle(ids)
    mixed.shuffle(edges)
    ignored = [*edges[:5], ("n0", "n0"), ("n0", "elsewhere"), ("elsewhere", "n1")]
    assert layout([*ids, ids[0]], [(v, u) for u, v in edges] + ignored) == before


def test_names_that_have_room_do_not_lie_on_each_other():
    ids, edges = named(nx.path_graph(12))
    at = np.array(list(layout(ids, edges, labels=dict.fromkeys(ids, "x" * 15)).values())) * 540 / 1.45
    apart = np.abs(at[:, None] - at[None])[np.triu_indices(12, 1)]
    assert ((apart[:, 0] > 10 + 6.2 * 15 - 2) | (apart[:, 1] > 36 - 2)).all()


def test_a_path_is_drawn_as_a_straight_horizontal_line():
    at = layout(list("abcde"), [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("d", "e", 1)])
    steps = np.diff([at[node] for node in "abcde"], axis=0)
    assert np.abs(steps[:, 1]).max() < 0.02
    assert steps[:, 0] == pytest.approx(np.full(4, steps[:, 0].mean()), rel=0.02)


def test_components_lie_apart():
    ids, edges = named(nx.disjoint_union_all([nx.cycle_graph(8), nx.path_graph(4),
                                              nx.complete_graph(5), nx.empty_graph(3)]))
    at = layout(ids, edges)
    boxes = [np.array([at[f"n{v}"] for v in part]) for part in
             (range(8), range(8, 12), range(12, 17), [17], [18], [19])]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = np.maximum(a.min(0) - b.max(0), b.min(0) - a.max(0))
            assert apart.max() > 0


def test_majorization_reproduces_distances_that_fit_the_plane():
    points = np.random.default_rng(2).normal(size=(25, 2))
    exact = np.linalg.norm(points[:, None] - points[None], axis=2)
    drawn = majorize(exact, points + np.random.default_rng(3).normal(size=(25, 2)), 500, 1e-9)
    assert np.linalg.norm(drawn[:, None] - drawn[None], axis=2) == pytest.approx(exact, abs=0.02)


def stress(distance, points):
    """Mean of ((d - |p_u - p_v|) / d)^2 over pairs, at the scale of the points that is best."""
    upper = np.triu_indices(len(points), 1)
    ratio = cdist(points, points)[upper] / distance[upper]
    return float(np.mean((1 - ratio * ratio.sum() / (ratio @ ratio)) ** 2))


@pytest.mark.parametrize(("size", "mean"), [(20, 2), (60, 2), (150, 3)], ids=str)
def test_less_stress_than_the_layouts_of_networkx(size, mean):
    graph = nx.powerlaw_cluster_graph(size, mean, 0.5, seed=size)
    for u, v in graph.edges:
        graph[u][v]["length"] = np.sqrt((graph.degree[u] + graph.degree[v]) / 2)
    wanted = np.array(nx.floyd_warshall_numpy(graph, weight="length"))
    spring = nx.spring_layout(graph, seed=0)
    drawn = majorize(wanted, np.array([spring[v] for v in graph]))
    assert stress(wanted, drawn) < 0.85 * stress(wanted, np.array([spring[v] for v in graph]))


def test_overlapping_boxes_move_apart_along_the_shorter_way():
    moved = separate(np.array([[50.0, 50], [60, 50]]), np.array([[40.0, 10], [40, 10]]),
                     np.array([200.0, 100]))
    assert moved[:, 0] == pytest.approx([50, 60])
    assert moved[1, 1] - moved[0, 1] == pytest.approx(10, abs=0.6)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf")], ids=str)
def test_an_impossible_aspect_is_refused(wrong):
    with pytest.raises(ParameterError, match="aspect is"):
        layout(["a"], [], aspect=wrong)


@given(st.dictionaries(st.integers(0, 99).map(str), st.tuples(st.floats(0, 2), st.floats(0, 1)),
                       max_size=12), st.floats(0.5, 3))
def test_a_spread_layout_keeps_who_is_left_of_and_above_whom(positions, aspect):
    wide = spread(positions, aspect)
    assert wide.keys() == positions.keys()
    for axis, size in ((0, aspect), (1, 1.0)):
        assert all(0 <= place[axis] <= size for place in wide.values())
        order = sorted(positions, key=lambda node: positions[node][axis])
        places = [wide[node][axis] for node in order]
        assert places == sorted(places)


FROZEN = {"a": (0.2, 0.5), "b": (0.6, 0.5)}


def node(name, importance=1.0, state="saturated", seed=False):
    return RetrievedNode(name, name, "entity", importance, 1.0, state, UNSTATED, seed=seed)


def test_late_nodes_stand_beside_the_mean_of_their_neighbors():
    placed = place_beside(FROZEN, [node("late")], [("late", "a"), ("b", "late"), ("late", "a")], 1.4)
    x, y = placed["late"]
    assert hypot(x - 0.4, y - 0.5) == pytest.approx(0.07)
    assert {n: placed[n] for n in FROZEN} == FROZEN


def test_a_late_node_stands_still_whatever_else_is_late():
    edges = [("late", "a"), ("other", "late"), ("other", "b")]
    alone = place_beside(FROZEN, [node("late")], edges, 1.4)
    among = place_beside(FROZEN, [node("other"), node("late")], [*edges, ("a", "late")], 1.4)
    assert among["late"] == alone["late"]


def test_one_layout_holds_the_foremost_nodes_of_every_retrieval():
    def retrieval(*names):
        return Retrieval("q", "x", {}, (), tuple(node(n, 9.0 - i) for i, n in enumerate(names)),
                         tuple(RetrievedEdge(u, v, "relation", 1.0, 1.0)
                               for u, v in zip(names, names[1:], strict=False)))

    positions, nodes = freeze([retrieval("a", "b", "c"), retrieval("b", "d", "e")], {"a"}, 2, 1.4)
    assert [n.id for n in nodes] == ["a", "b", "d"]
    assert positions.keys() == {"a", "b", "d"}
    assert all(0 <= x <= 1.4 and 0 <= y <= 1 for x, y in positions.values())
