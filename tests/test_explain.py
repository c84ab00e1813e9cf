"""Mass balances, against sums made by hand."""

import pytest

from qafd.explain.edges import mass_balance
from qafd.reasons import UNSTATED
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode

# A path a - b - c with unit weights and capacities; 2.5 units enter at a. Then x_b = 0.5,
# x_a = 2, a sends 1.5 to b, b sends 0.5 to c, which stays wet.
PATH = Retrieval(
    "q", "qafd", {}, ("a",),
    (RetrievedNode("a", "Alpha", "entity", 2.0, 1.0, "saturated", UNSTATED, 1.0, 2.5, 1, True),
     RetrievedNode("b", "Beta", "entity", 0.5, 1.0, "saturated", UNSTATED, 1.0, 0.0, 2),
     RetrievedNode("c", "Gamma", "entity", 0.0, 0.5, "wet", UNSTATED, 1.0, 0.0, 1)),
    (RetrievedEdge("a", "b", "relation", 1.5, 1.0), RetrievedEdge("b", "c", "relation", 0.5, 1.0)))


def test_inflow_minus_outflow_is_what_the_node_holds() -> None:
    balance = mass_balance(PATH, "b")
    assert balance.inflows == (("a", 1.5),)
    assert balance.outflows == (("c", 0.5),)
    assert balance.error == 0.0


def test_a_wrong_flow_shows_as_an_error_of_the_balance() -> None:
    broken = Retrieval("q", "qafd", {}, ("a",), PATH.nodes, PATH.edges[:1])
    assert mass_balance(broken, "b").error == pytest.approx(0.5)
