"""Conservation at one node: its inflow, its outflow, and the mass it holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qafd.errors import ParameterError
from qafd.retrieve.base import Retrieval, RetrievedNode
from qafd.view.panel import shown_name

Flows = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Balance:
    """Injected + sum of inflows - sum of outflows = held.

    `inflows` and `outflows` are (node id, mass) pairs, largest first; `names` has the names of
    these nodes as they are shown; `error` is the difference of both sides, in units of mass
    (rounding only: below 1e-9 of the mass moved).
    """

    node: RetrievedNode
    injected: float
    inflows: Flows
    outflows: Flows
    names: Mapping[str, str]

    @property
    def came(self) -> float:
        """Sum of the inflows."""
        return sum(flow for _, flow in self.inflows)

    @property
    def went(self) -> float:
        """Sum of the outflows."""
        return sum(flow for _, flow in self.outflows)

    @property
    def reached(self) -> float:
        """All that reached the node: injected and inflows."""
        return self.injected + self.came

    @property
    def error(self) -> float:
        """Injected plus inflows minus outflows minus the mass held."""
        return self.injected + (self.came - self.went) - self.node.mass


def mass_balance(retrieval: Retrieval, node_id: str) -> Balance:
    """Return the mass balance of one node, from the flows of a retrieval (m = Delta - L x).

    Raises
    ------
    ParameterError
        When the retrieval never touched the node.
    """
    nodes = {node.id: node for node in retrieval.nodes}
    if node_id not in nodes:
        raise ParameterError(f"the node {node_id!r} was not touched by this retrieval; raise "
                             "the source mass or choose one of its nodes")
    inflows = [(e.source, e.flow) for e in retrieval.edges if e.target == node_id and e.flow > 0]
    outflows = [(e.target, e.flow) for e in retrieval.edges if e.source == node_id and e.flow > 0]
    names = {near: shown_name(nodes[near]) for near, _ in inflows + outflows}
    node = nodes[node_id]
    return Balance(node, node.source, _largest_first(inflows), _largest_first(outflows), names)


def _largest_first(flows: Iterable[tuple[str, float]]) -> Flows:
    return tuple(sorted(flows, key=lambda pair: (-pair[1], pair[0])))
