"""Mass balances, against sums made by hand."""

import pytest

from qafd.errors import ParameterError
from qafd.explain import mass_balance
from qafd.knowledge import KnowledgeGraph
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


def test_an_untouched_node_is_refused_with_a_remedy() -> None:
    with pytest.raises(ParameterError, match="not touched .* raise the source mass"):
        mass_balance(PATH, "nowhere")


def test_every_node_of_a_real_retrieval_balances(tmp_path_factory: pytest.TempPathFactory) -> None:
    sample = KnowledgeGraph.sample("songbook", tmp_path_factory.mktemp("home"))
    retrieval = sample.retrieve("Where was the singer of Paper Lanterns born?")
    moved = sum(n.source for n in retrieval.nodes)
    assert max(abs(mass_balance(retrieval, n.id).error) for n in retrieval.nodes) <= 1e-9 * moved
