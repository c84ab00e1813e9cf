"""Tests of qafd.retrieve.united: parts add up, opposite flows cancel, and who retrieved a node is told."""

import pytest

from qafd.retrieve.base import RetrievedEdge
from qafd.retrieve.united import net_edges, unite

QUESTION = "Introduce Steve Jobs's products in Apple."


def edge(source, target, flow, weight):
    return RetrievedEdge(source, target, "relation", flow, weight)


def test_opposite_flows_cancel_and_the_largest_weight_stays():
    found = net_edges([[edge("a", "b", 0.5, 1.0), edge("b", "c", 0.2, 2.0)],
                       [edge("b", "a", 0.8, 3.0), edge("b", "c", 0.1, 0.5)], [edge("d", "c", 0.0, 1.0)]])
    assert [(e.source, e.target, e.weight) for e in found] == [
        ("b", "a", 3.0), ("b", "c", 2.0), ("c", "d", 1.0)]
    assert [e.flow for e in found] == pytest.approx([0.3, 0.3, 0.0])


def test_mass_is_neither_made_nor_lost_and_numbers_are_sums(apple):
    parts = apple.retrieve(QUESTION, diffusions="each").parts
    whole = unite(parts)
    assert len(parts) > 3
    balance = {node.id: node.source for node in whole.nodes}
    for flowing in whole.edges:
        balance[flowing.source] -= flowing.flow
        balance[flowing.target] += flowing.flow
    for node in whole.nodes:
        own = [one for part in parts for one in part.nodes if one.id == node.id]
        assert balance[node.id] == pytest.approx(node.mass, abs=1e-9)
        assert node.mass == pytest.approx(sum(one.mass for one in own))
        assert node.capacity == sum(one.capacity for one in own)
        assert node.brought_by == tuple(
            number for number, part in enumerate(parts)
            if any(one.id == node.id and one.importance > 0 for one in part.nodes))
    assert whole.certificate["support"] == len(whole.retrieved)
    assert whole.certificate["rounds"] == sum((part.certificate or {})["rounds"] for part in parts)
