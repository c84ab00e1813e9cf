"""The names of a passage to its entry in the log: their relations, and the meaning of acronyms."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Extraction, Mention

CROWD = 8  # entities of a sentence beyond which only neighbors are linked

_ACRONYM = re.compile(r"\s*\((?:the\s+|or\s+)?[\"'\u201c]?([A-Z][\w.&\-]{1,9})[\"'\u201d]?\)")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de"))


def names_something(key: str) -> bool:
    """Return True if a key can be a name: 2 to 100 characters, letters among them."""
    return 2 <= len(key) <= 100 and any(letter.isalpha() for letter in key)


def entry_of(
    chunk: Chunk, extractor: str, sentences: Sequence[tuple[int, int]],
    named: Sequence[Mention], terms: Sequence[Mention],
    label: Callable[[Mention, Mention], str], names: Callable[[str], bool] = names_something,
) -> Extraction:
    """Return the entry of the extraction log for a chunk, whose title and heading are names too.

    Parameters
    ----------
    terms : sequence of Mention
        Entry without relations and acronyms.
    label : callable
        The words for the relation of two mentions of a sentence, "" if there are none.
    names : callable
        Whether the key of a title or heading can be a name.
    """
    renamed = _acronyms(chunk.text, named)
    named = [replace(one, key=renamed.get(one.key, one.key)) for one in named]
    mentions = [*named, *terms]
    for kind, name in (("title", chunk.title), ("heading", chunk.heading)):
        key = canonical(name)
        if names(key):
            mentions.append(Mention(key, name, 0, 0, 0, kind))
    mentions.sort(key=lambda m: (m.sentence, m.start, m.end, m.kind))
    return Extraction(chunk.id, extractor, tuple(sentences), tuple(mentions),
                      tuple(_assertions(named, label)))


def _acronyms(text: str, named: Sequence[Mention]) -> dict[str, str]:
    """Return keys of the acronyms that the chunk spells out as "X (Y)", to the key of X."""
    renamed = {}
    for mention in named:
        found = _ACRONYM.match(text, mention.end)
        if found is None:
            continue
        letters = "".join(filter(str.isalpha, found[1])).casefold()
        words = re.findall(r"\w+", mention.key)
        full = "".join(word[0] for word in words)
        short = "".join(word[0] for word in words if word not in _SMALL)
        if len(letters) > 1 and letters in (full, short):
            renamed[canonical(found[1])] = mention.key
    return renamed


def _assertions(named: Sequence[Mention], label: Callable[[Mention, Mention], str]
                ) -> Iterator[Assertion]:
    """Yield relations between the names of each sentence."""
    by_sentence: dict[int, dict[str, Mention]] = {}
    for mention in named:
        by_sentence.setdefault(mention.sentence, {}).setdefault(mention.key, mention)
    for sentence, first in by_sentence.items():
        mentions = first.values()
        pairs = combinations(mentions, 2) if len(first) <= CROWD else pairwise(mentions)
        for source, target in pairs:
            yield Assertion(source.key, target.key, sentence, label(source, target))
