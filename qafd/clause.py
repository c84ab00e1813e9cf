"""Predicates such as "is one hop from Apple", said of one node or of several."""

import re
from collections.abc import Sequence

_RANK = re.compile(r"(?<=^ranks )\d+(?:st|nd|rd|th)(?= )")


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(
        number % 10, "th")
    return f"{number}{last}"


def ranks(place: int, among: str) -> str:
    """The predicate of what has a place in an order: "ranks 7th by similarity"."""
    return f"ranks {ordinal(place)} {among}"


def gist(predicate: str) -> str:
    """The predicate without its rank: what several nodes may have in common."""
    return _RANK.sub("", predicate)


def clause(predicates: Sequence[str]) -> str:
    """"They are one hop from Apple", "it ranks 7th by similarity", "they rank 7th to 9th ...".

    Parameters
    ----------
    predicates : sequence of str
        One per node, in any order, with the same gist; the verb comes first, in the singular.
    """
    first = predicates[0]
    if len(predicates) == 1:
        return f"it {first}"
    found = sorted((rank[0] for p in predicates if (rank := _RANK.search(p))),
                   key=lambda rank: int(rank[:-2]))
    if found:
        first = _RANK.sub(_together(found), first)
    verb, _, rest = first.partition(" ")
    return f"they {'are' if verb == 'is' else verb.removesuffix('s')} {rest}"


def _together(ranks: Sequence[str]) -> str:
    """Ascending ranks in words: "7th to 9th" only when none of them is missing."""
    if len(ranks) > 2 and int(ranks[-1][:-2]) - int(ranks[0][:-2]) == len(ranks) - 1:
        return f"{ranks[0]} to {ranks[-1]}"
    if len(ranks) > 3:
        return f"between {ranks[0]} and {ranks[-1]}"
    return " and ".join(filter(None, (", ".join(ranks[:-1]), ranks[-1])))
