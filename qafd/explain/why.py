"""Why a node holds what it holds: balance, seeds, ways, and the sentences behind its inflow."""

from collections.abc import Sequence
from dataclasses import dataclass

from qafd.explain.balance import Balance
from qafd.explain.paths import Paths
from qafd.storage.rows import Evidence


@dataclass(frozen=True)
class SeedShare:
    """A seed, which part of a node's mass it sent, between 0 and 1, and why it is a seed."""

    id: str
    name: str
    share: float
    reason: str


@dataclass(frozen=True)
class Inflow:
    """Mass that came from one neighbor over an edge of a kind, and the sentences that join them.

    `share` is its part of all that reached the node. A name may stand in a title alone, and names
    that are alike need no sentence. `added` stands in the place of sentences where the edge was
    added by hand.
    """

    id: str
    name: str
    mass: float
    share: float
    weight: float
    kind: str
    sentences: tuple[Evidence, ...]
    added: str = ""


@dataclass(frozen=True)
class Why:
    """Why a touched node holds its mass; `summary` says it in one or two sentences.

    `balance` adds up to rounding; `inward` and `outward` are its flows by name. The shares of
    `seeds` add up to 1, the paths of `ways` with their rest to the mass held. Where a question
    has subqueries, all numbers are sums over the diffusions in `parts`; flows of different
    diffusions are added, not netted.
    """

    id: str
    name: str
    summary: str
    sentence: str
    balance: Balance
    seeds: tuple[SeedShare, ...]
    ways: Paths
    inflows: tuple[Inflow, ...]
    inward: tuple[tuple[str, float], ...]
    outward: tuple[tuple[str, float], ...]
    parts: tuple["Part", ...] = ()


@dataclass(frozen=True)
class Part:
    """What the diffusion of one subquery, numbered from 1, left on a node; None when nothing."""

    number: int
    question: str
    why: Why | None


def summary(name: str, state: str, seeds: tuple[SeedShare, ...], ways: Paths, seed: bool) -> str:
    """In words for people who do not know the method."""
    if not seeds or not ways.paths:
        return f"No mass reached {name}."
    first = seeds[0]
    if seed and first.name == name:
        said = f"{name} is a starting point: {first.reason}."
    else:
        verb = "is here" if state == "saturated" else "was reached"
        said = (f"{name} {verb} because mass poured on {first.name} ({first.reason}) flowed to it: "
                f"{ways.paths[0].words}. {first.share:.0%} of what it holds is from "
                f"{first.name}.")
    return said + ("" if state == "saturated" else " It is not full, so it is not retrieved.")


def united_summary(name: str, parts: Sequence[Part]) -> str:
    """Which subqueries brought a node and why, and what the others did there."""
    brought = [part for part in parts if part.why and part.why.balance.node.importance > 0]
    said = [f"Subquery {part.number}, “{part.question}”, brought it. {part.why.summary}"
            for part in brought if part.why]
    if not brought:
        said.append(f"No subquery fills {name}, so it is not retrieved.")
    for part in parts:
        if part not in brought:
            said.append(f"Subquery {part.number} did not reach it." if part.why is None else
                        f"Subquery {part.number} left {part.why.balance.node.mass:.3g} of mass "
                        "on it, which does not fill it.")
    return " ".join(said)
