"""Why a node holds what it holds: its mass balance, in numbers and in one sentence."""

from dataclasses import dataclass

from qafd.errors import ParameterError
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedNode


@dataclass(frozen=True)
class Balance:
    """Conservation at one node: injected + sum of inflows - sum of outflows = held.

    `inflows` and `outflows` are (node id, mass) pairs, largest first; `error` is what is
    missing to equality, in units of mass (rounding only: below 1e-9 of the mass moved).
    """

    node: RetrievedNode
    injected: float
    inflows: tuple[tuple[str, float], ...]
    outflows: tuple[tuple[str, float], ...]

    @property
    def came(self) -> float:
        """The sum of the inflows."""
        return sum(flow for _, flow in self.inflows)

    @property
    def went(self) -> float:
        """The sum of the outflows."""
        return sum(flow for _, flow in self.outflows)

    @property
    def error(self) -> float:
        """Injected plus inflows minus outflows minus the mass held."""
        return self.injected + (self.came - self.went) - self.node.mass


def mass_balance(retrieval: Retrieval, node_id: str) -> Balance:
    """The mass balance of one node, from the flows of a retrieval (m = Delta - L x).

    Raises
    ------
    ParameterError
        When the retrieval never touched the node.
    """
    node = next((n for n in retrieval.nodes if n.id == node_id), None)
    if node is None:
        raise ParameterError(
            f"the node {node_id!r} was not touched by this retrieval; "
            "raise the source mass or choose one of its nodes")
    inflows = [(e.source, e.flow) for e in retrieval.edges if e.target == node_id and e.flow > 0]
    outflows = [(e.target, e.flow) for e in retrieval.edges if e.source == node_id and e.flow > 0]
    return Balance(node, node.source, _largest_first(inflows), _largest_first(outflows))


def _largest_first(flows: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(flows, key=lambda pair: (-pair[1], pair[0])))


def balance_sentence(balance: Balance, names: dict[str, str], most: int = 3) -> str:
    """The balance in words, e.g. "holds 1.00 of 1: 0.46 from Steve Jobs, 0.2 went on to iPad".

    At most `most` neighbors are named on each side; the rest is summed. Numbers are rounded to
    three digits; `Balance` has them in full.
    """
    node = balance.node
    name = node.name
    if node.brought_by:
        # Each subquery's diffusion has buckets of its own; the sum of several need not be full.
        name += f" (filled by subquery {' and '.join(str(k + 1) for k in node.brought_by)})"
    head = {
        SATURATED: f"{node.name} is full: it holds {node.mass:.3g} of {node.capacity:.3g}",
        WET: f"{node.name} is touched, not full: it holds {node.mass:.3g} of {node.capacity:.3g}",
    }.get(node.state, f"{node.name} took no mass")
    parts = []
    if balance.injected > 0:
        parts.append(f"{balance.injected:.3g} injected by the question")
    parts += _named(balance.inflows, names, most, "from")
    gone = _named(balance.outflows, names, most, "to")
    if gone:
        parts.append("of which " + ", ".join(gone) + " went on")
    return (head + (": " + ", ".join(parts) if parts else "")).rstrip(".") + "."


def _named(flows: tuple[tuple[str, float], ...], names: dict[str, str], most: int,
           word: str) -> list[str]:
    shown = [f"{flow:.3g} {word} {names.get(v, v)}" for v, flow in flows[:most]]
    rest = flows[most:]
    if rest:
        shown.append(f"{sum(f for _, f in rest):.3g} {word} {len(rest)} "
                     f"other{'s' * (len(rest) != 1)}")
    return shown
