"""Frozen positions and what is put beside them."""

from math import hypot

import pytest

from qafd.reasons import UNSTATED
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.placement import freeze, place_beside

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
