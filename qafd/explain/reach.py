"""Passages that the flow reached, the evidence for each, and the graph's additions to search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from qafd.retrieve.base import SATURATED, RankedPassage, Retrieval, RetrievedPassage
from qafd.view.drawing import share_of

FIRST = 5
"""Passages of a ranking that are compared with those of another."""


class Signal(StrEnum):
    """A kind of evidence that a passage is found by."""

    FLOW = "flow"
    MEANING = "meaning"
    WORDS = "words"


_SIGNALS = {"importance": Signal.FLOW, "meaning": Signal.MEANING, "words": Signal.WORDS,
            "words the first lacks": Signal.WORDS}


def signal_shares(parts: Mapping[str, float]) -> tuple[tuple[Signal, float], ...]:
    """Return the share of each kind of evidence in a passage's score, largest first.

    The shares add up to 1; without parts there are none. The lead that keeps the first passage
    first is no evidence and does not count.
    """
    sums: dict[Signal, float] = {}
    for name, value in parts.items():
        if name in _SIGNALS and value > 0:
            sums[_SIGNALS[name]] = sums.get(_SIGNALS[name], 0.0) + value
    total = sum(sums.values())
    shares = [(signal, share_of(value, total)) for signal, value in sums.items()]
    return tuple(sorted(shares, key=lambda pair: -pair[1]))


def find_reached(retrieval: Retrieval) -> frozenset[str]:
    """Return the ids of the ranked passages that the flow reached.

    A passage is reached when it is full itself, or when a full name gives it importance: its title,
    or, where mass runs over names alone, a name that it mentions.
    """
    full = {node.id for node in retrieval.nodes if node.kind == "passage" and node.state == SATURATED}
    full |= {passage.id for passage in retrieval.ranking if passage.parts.get("importance", 0.0) > 0}
    return frozenset(full)


def put_reached_first(retrieval: Retrieval) -> Retrieval:
    """Return the retrieval with the passages that the flow reached before all others.

    Among those that it reached, and among the others, the order stays.
    """
    if retrieval.method != "qafd":
        return retrieval
    reached = find_reached(retrieval)

    def outside(passage: RankedPassage | RetrievedPassage) -> bool:
        return passage.id not in reached

    return replace(retrieval, ranking=tuple(sorted(retrieval.ranking, key=outside)),
                   passages=tuple(sorted(retrieval.passages, key=outside)))


@dataclass(frozen=True)
class Moved:
    """A passage among the first of one ranking and not of another.

    `place` counts from 1; `elsewhere` is its place in the other ranking, None where that ends before.
    """

    id: str
    place: int
    elsewhere: int | None


@dataclass(frozen=True)
class Added:
    """The passages that the graph adds to the first of a search, and those it removes, best first."""

    gained: tuple[Moved, ...]
    lost: tuple[Moved, ...]


def compare_first(found: Sequence[RankedPassage], searched: Sequence[RankedPassage]) -> Added:
    """Compare the first passages of a retrieval with those of a search without the graph."""
    return Added(_beyond(found, searched), _beyond(searched, found))


def _beyond(ranking: Sequence[RankedPassage], other: Sequence[RankedPassage]) -> tuple[Moved, ...]:
    places = {passage.id: place for place, passage in enumerate(other, 1)}
    moved = []
    for place, passage in enumerate(ranking[:FIRST], 1):
        elsewhere = places.get(passage.id)
        if elsewhere is None or elsewhere > FIRST:
            moved.append(Moved(passage.id, place, elsewhere))
    return tuple(moved)
