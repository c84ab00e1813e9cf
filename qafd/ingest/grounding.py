"""A model's records to the log entry of a passage, as far as the passage bears them out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from qafd.models.prompts import ENTITY_TYPES, Records
from qafd.reading.text import canonical, words_of
from qafd.reading.text.scripts import form_of, same
from qafd.records import Assertion, Chunk, Description, Extraction, Mention

OWN = {"term", "title", "heading", "propn"}  # kinds with a meaning in the log
WORDS_OF_A_LABEL = 4
LONG_ENOUGH = 5  # letters of a name that may differ from the passage's by one
MOST_LETTERS = 100

Place = tuple[int, int]


@dataclass(frozen=True)
class Grounded:
    """The log entry, and the names that the passage spells otherwise, each with its spelling."""

    extraction: Extraction
    near: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        """Return True if any entity of the model occurs in the passage."""
        return any(said.source for said in self.extraction.descriptions)


@dataclass
class _Ground:
    """A passage, and what was found in it: sentences by key, mentions, what is stated of them."""

    chunk: Chunk
    local: Extraction
    mentions: list[Mention]
    sentences: dict[str, set[int]]
    spelled: dict[str, str] = field(default_factory=dict)
    """Keys as the model spells them to those of the passage."""
    said: dict[Description, None] = field(default_factory=dict)

    def sentence_at(self, start: int) -> int:
        starts = [start for start, _ in self.local.sentences] or [0]
        return max(0, int(np.searchsorted(starts, start, side="right")) - 1)


def ground(chunk: Chunk, local: Extraction, records: Records, extractor: str,
           types: Sequence[str] = ENTITY_TYPES) -> Grounded:
    """The log entry of a chunk from a model's records.

    An entity must occur in the chunk, word by word up to case, punctuation, possessive and a
    plural s (letter by letter without spaces, see `qafd.reading.text.scripts`), or be its title or
    heading; where it does not, one letter may differ, and the passage's spelling is taken. A
    relation must join two such entities. Equal records become one, their different descriptions
    stay.
    """
    above = [m for m in local.mentions if m.kind in ("title", "heading")]
    found = _Ground(chunk, local, above, {mention.key: set() for mention in above})
    _ground_entities(found, records.entities, {kind.upper() for kind in types})
    assertions = _ground_relations(found, records.relations)
    if records.keywords:
        found.said[Description(keywords=records.keywords)] = None
    mentions = sorted(found.mentions, key=lambda m: (m.sentence, m.start, m.end, m.kind, m.key))
    extraction = Extraction(chunk.id, extractor, local.sentences, tuple(mentions),
                            tuple(assertions), tuple(found.said))
    near = [(model, own) for model, own in found.spelled.items() if model != own]
    return Grounded(extraction, tuple(near))


def _ground_entities(found: _Ground, entities: Sequence[Description], allowed: set[str]) -> None:
    text = [(_stem(word), start, end) for word, start, end in words_of(found.chunk.text)]
    placed: set[str] = set()
    for entity in entities:
        said = canonical(entity.source)
        kind = entity.kind.upper()
        if kind not in allowed or kind.lower() in OWN:
            kind = "OTHER"
        if said not in found.spelled and said not in found.sentences:
            _find(found, said, text)
        key = found.spelled.get(said, said)
        if key not in found.sentences:
            continue
        if key not in placed:
            placed.add(key)
            _mention(found, key, kind, text)
        found.said[Description(key, kind=kind, text=entity.text)] = None


def _find(found: _Ground, said: str, text: Sequence[tuple[str, int, int]]) -> None:
    """Note the key under which a name is in the passage, if it is."""
    if next(find_places(said, text), None) is not None:
        found.sentences[said] = set()
        return
    near = next(find_places(said, text, near=True), None)
    if near is not None:
        own = canonical(found.chunk.text[near[0]:near[1]])
        found.sentences.setdefault(own, set())
        found.spelled[said] = own


def _mention(found: _Ground, key: str, kind: str, text: Sequence[tuple[str, int, int]]) -> None:
    for start, end in find_places(key, text):
        sentence = found.sentence_at(start)
        found.sentences[key].add(sentence)
        found.mentions.append(Mention(key, found.chunk.text[start:end], start, end, sentence, kind))


def _ground_relations(found: _Ground, relations: Sequence[Description]) -> list[Assertion]:
    assertions: dict[tuple[str, str], Assertion] = {}
    for relation in relations:
        source, target = canonical(relation.source), canonical(relation.target)
        source, target = found.spelled.get(source, source), found.spelled.get(target, target)
        at, there = found.sentences.get(source), found.sentences.get(target)
        if source == target or at is None or there is None:
            continue
        if found.local.sentences:
            sentence = min(at & there or at | there, default=0)
            words = relation.keywords[0].split() if relation.keywords else []
            label = " ".join(words[:WORDS_OF_A_LABEL])
            assertions.setdefault((source, target), Assertion(source, target, sentence, label))
        found.said[replace(relation, source=source, target=target)] = None
    return list(assertions.values())


def find_places(key: str, text: Sequence[tuple[str, int, int]], near: bool = False
                ) -> Iterator[Place]:
    """Find the places of the words of a key in a text, from the left, without overlap.

    Parameters
    ----------
    text : sequence of (word, start, end)
    near : bool
        One letter of all may be another, missing or too many.
    """
    wanted = [_stem(word) for word, _, _ in words_of(key)]
    if not any(character.isalnum() for character in key) or not 2 <= len(key) <= MOST_LETTERS:
        return
    if near and len(key) < LONG_ENOUGH:
        return
    at = 0
    while wanted and at + len(wanted) <= len(text):
        some = text[at:at + len(wanted)]
        words = [word for word, _, _ in some]
        if near and _differ_by_one(" ".join(words), " ".join(wanted)):
            yield some[0][1], some[-1][2]
            at += len(wanted)
        elif not near and same(words, wanted):
            yield some[0][1] + len(words[0]) - len(wanted[0]), some[-1][2]
            at += len(wanted)
        else:
            at += 1


def _differ_by_one(one: str, other: str) -> bool:
    """Return True if one letter differs, is missing or is extra; digits must be the same."""
    if abs(len(one) - len(other)) > 1:
        return False
    begin = 0
    for a, b in zip_longest(one, other):
        if a != b:
            break
        begin += 1
    rest, left = one[begin:], other[begin:]
    if (rest[:1] + left[:1]).isalpha():
        return rest[1:] in (left, left[1:]) or rest == left[1:]
    return False


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else form_of(word)
