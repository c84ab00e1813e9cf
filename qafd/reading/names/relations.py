"""The names of a passage to its entry in the log: their relations, and what acronyms stand for."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Extraction, Mention

CROWD = 8  # entities of a sentence beyond which only neighbors are linked

_ACRONYM = re.compile(r"\s*\((?:the\s+|or\s+)?[\"'\u201c]?([A-Z][\w.&\-]{1,9})[\"'\u201d]?\)")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de"))

Placed = tuple[Mention, int, int]
"""A mention and where it begins and ends, in tokens or characters."""


def extraction(chunk: Chunk, extractor: str, sentences: Sequence[tuple[int, int]],
               named: Sequence[Placed], terms: Sequence[Mention],
               names_something: Callable[[str], bool], label: Callable[[int, int], str],
               ) -> Extraction:
    """The entry of the extraction log for a chunk, whose title and heading are names too.

    Parameters
    ----------
    terms : sequence of Mention
        What has neither relations nor acronyms.
    names_something : callable
        Whether a key can be a name.
    label : callable
        The words for a relation, from where the first name ends and the second begins.
    """
    renamed = _acronyms(chunk.text, named)
    named = [(replace(mention, key=renamed.get(mention.key, mention.key)), first, last)
             for mention, first, last in named]
    above = [Mention(key, name, 0, 0, 0, kind)
             for kind, name in (("title", chunk.title), ("heading", chunk.heading))
             if names_something(key := canonical(name))]
    mentions = [*(mention for mention, _, _ in named), *terms, *above]
    mentions.sort(key=lambda m: (m.sentence, m.start, m.end, m.kind))
    return Extraction(chunk.id, extractor, tuple(sentences), tuple(mentions),
                      tuple(_assertions(named, label)))


def _acronyms(text: str, named: Sequence[Placed]) -> dict[str, str]:
    """Keys of the acronyms that the chunk spells out as "X (Y)", to the key of X."""
    renamed = {}
    for mention, _, _ in named:
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


def _assertions(named: Sequence[Placed], label: Callable[[int, int], str]) -> Iterator[Assertion]:
    """Relations between the names of each sentence."""
    by_sentence: dict[int, dict[str, tuple[int, int]]] = {}
    for mention, first, last in named:
        by_sentence.setdefault(mention.sentence, {}).setdefault(mention.key, (first, last))
    for sentence, places in by_sentence.items():
        pairs = combinations(places, 2) if len(places) <= CROWD else pairwise(places)
        for source, target in pairs:
            yield Assertion(source, target, sentence,
                            label(places[source][1], places[target][0]))
