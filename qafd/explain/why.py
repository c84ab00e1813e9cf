"""Reasons for a node's mass: balance, seeds, ways, and the sentences behind its inflow."""

from dataclasses import dataclass

from qafd.curate.neighbors import EdgeByHand
from qafd.explain.balance import Balance
from qafd.explain.paths import Paths
from qafd.reasons import Reason
from qafd.storage.rows import Evidence


@dataclass(frozen=True)
class SeedShare:
    """A seed, its part of a node's mass, between 0 and 1, and the reason why it is a seed."""

    id: str
    name: str
    share: float
    reason: Reason


@dataclass(frozen=True)
class Inflow:
    """Mass from one neighbor over an edge of a kind, and the sentences that join them.

    `share` is its part of all that reached the node. A name may be in a title alone, and names
    that are alike need no sentence. `added` are the edges that were added by hand,
    which no sentence states.
    """

    id: str
    name: str
    mass: float
    share: float
    weight: float
    kind: str
    sentences: tuple[Evidence, ...]
    added: tuple[EdgeByHand, ...] = ()


@dataclass(frozen=True)
class Why:
    """Reasons for the mass of a touched node.

    `balance` adds up to rounding. The shares of `seeds` add up to 1, the paths of `ways` with their
    rest to the mass held. Where a question has subqueries, all numbers are sums over the diffusions
    in `parts`; flows of different diffusions are added, not netted.
    """

    id: str
    name: str
    balance: Balance
    seeds: tuple[SeedShare, ...]
    ways: Paths
    inflows: tuple[Inflow, ...]
    parts: tuple["WhyPart", ...] = ()

    @property
    def full(self) -> bool:
        """True if the node is retrieved."""
        return self.balance.node.state == "saturated"


@dataclass(frozen=True)
class WhyPart:
    """The result of one subquery's diffusion, numbered from 1, at a node; None without mass."""

    number: int
    question: str
    why: Why | None

    @property
    def full(self) -> bool:
        """True if this subquery retrieves the node."""
        return self.why is not None and self.why.balance.node.importance > 0
