"""The names of a passage to its assertions, and the acronyms that it spells out."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from qafd.records import Assertion, Mention
from qafd.text import canonical

CROWD = 8  # entities of a sentence beyond which only neighbors are linked

_ACRONYM = re.compile(r"\s*\((?:the\s+|or\s+)?[\"'\u201c]?([A-Z][\w.&\-]{1,9})[\"'\u201d]?\)")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de"))

Placed = tuple[Mention, int, int]
"""A mention and where it begins and ends, in tokens or characters."""


def acronyms(text: str, mentions: Sequence[Mention]) -> dict[str, str]:
    """Keys of the acronyms that the chunk spells out as "X (Y)", to the key of X."""
    renamed = {}
    for mention in mentions:
        found = _ACRONYM.match(text, mention.end)
        if found is None:
            continue
        letters = "".join(letter for letter in found.group(1) if letter.isalpha()).casefold()
        words = re.findall(r"\w+", mention.key)
        full = "".join(word[0] for word in words)
        short = "".join(word[0] for word in words if word not in _SMALL)
        if len(letters) > 1 and letters in (full, short):
            renamed[canonical(found.group(1))] = mention.key
    return renamed


def with_key(mention: Mention, renamed: Mapping[str, str]) -> Mention:
    """The mention under the key that an acronym stands for."""
    return replace(mention, key=renamed.get(mention.key, mention.key))


def assertions(named: Sequence[Placed], label: Callable[[int, int], str]) -> Iterator[Assertion]:
    """Relations between the names of each sentence.

    Parameters
    ----------
    label : callable
        The words for a relation, from where the first name ends and the second begins.
    """
    by_sentence: dict[int, dict[str, tuple[int, int]]] = {}
    for mention, first, last in named:
        by_sentence.setdefault(mention.sentence, {}).setdefault(mention.key, (first, last))
    for sentence, places in by_sentence.items():
        pairs = combinations(places, 2) if len(places) <= CROWD else pairwise(places)
        for source, target in pairs:
            yield Assertion(source, target, sentence,
                            label(places[source][1], places[target][0]))
