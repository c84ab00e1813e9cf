"""Turn a model's records into the log entry of a passage, as far as the passage confirms them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from qafd.models.prompts import ENTITY_TYPES, Records
from qafd.reading.text import canonical, words_of
from qafd.reading.text.scripts import form_of, same
from qafd.records import (
    BY_MODEL,
    GUESS,
    Assertion,
    Chunk,
    Description,
    Extraction,
    Mention,
    type_of,
)

ABOVE = ("title", "heading")
OWN = {*ABOVE, "term", "propn"}  # kinds with a meaning in the log
WORDS_OF_A_LABEL = 4
MOST_LETTERS = 100
TYPES_OF_MODELS = {"ORG": "ORGANIZATION", "GPE": "PLACE", "LOC": "PLACE", "FAC": "PLACE",
                   "WORK_OF_ART": "WORK", "LAW": "WORK"}
"""Types of the tagger to those of `ENTITY_TYPES` that mean the same."""

Place = tuple[int, int]


class _Ground:
    """A passage with the mentions that the local rules find in it, and those of a model's names."""

    def __init__(self, chunk: Chunk, local: Extraction) -> None:
        self._chunk, self._local = chunk, local
        self._words = [(_stem(word), start, end) for word, start, end in words_of(chunk.text)]
        self.mentions: list[Mention] = []
        for mention in local.mentions:
            kind, guess = mention.kind.rstrip(GUESS), GUESS * mention.kind.endswith(GUESS)
            self.mentions.append(replace(mention, kind=TYPES_OF_MODELS.get(kind, kind) + guess))
        self._keys: dict[str, str] = {}
        self.longer: set[str] = set()  # names of which the passage has a part alone

    def find(self, name: str, kind: str) -> str:
        """Return the key under which the passage has a name, and add its mentions; "" if it has none."""
        said = canonical(name)
        if said not in self._keys:
            self._keys[said] = self._find(name, said, kind)
        return self._keys[said]

    def sentences(self, key: str) -> set[int]:
        """Return the sentences that mention a key."""
        return {mention.sentence for mention in self.mentions
                if mention.key == key and mention.kind not in ABOVE}

    def _find(self, name: str, said: str, kind: str) -> str:
        places = [*find_places(name, self._words)]
        places += [place for place in find_places(said, self._words)
                   if not any(_overlap(place, other) for other in places)]
        key = said
        if places:
            key = next((mention.key for mention in self.mentions
                        if (mention.start, mention.end) == places[0] and mention.kind != "term"), said)
        elif not any(mention.key == said for mention in self.mentions):
            key = self._part(said, kind)
            if key:
                self.longer.add(said)
        for place in places:
            self._mention(key, place, kind)
        return key

    def _part(self, said: str, kind: str) -> str:
        """Return the key of a shorter name of the same type that begins or ends this one; "" without one."""
        words = said.split()
        parts = []
        for mention in self.mentions:
            own, known = mention.key.split(), type_of(mention.kind)
            if kind != "OTHER" and known in (kind, "PROPN") and own in (words[:len(own)], words[-len(own):]):
                parts.append(mention.key)
        return max(parts, key=len, default="")

    def _mention(self, key: str, place: Place, kind: str) -> None:
        """Note a name at a place; a mention of the rules there that is the same gets the model's type.

        What the rules read as no name or as a term is marked, see `BY_MODEL`.
        """
        start, end = place
        for at, mention in enumerate(self.mentions):
            same = mention.key == key or mention.kind == "term" and (mention.start, mention.end) == place
            if same and mention.kind not in ABOVE and _overlap((mention.start, mention.end), place):
                if mention.kind == "term" or mention.kind.endswith(BY_MODEL):
                    kind += BY_MODEL
                elif kind == "OTHER":
                    kind = mention.kind
                # without an article before the name, with the last word of a company after it
                start, end = max(start, mention.start), max(end, mention.end)
                self.mentions[at] = Mention(key, self._chunk.text[start:end], start, end, mention.sentence,
                                            kind)
                return
        starts = [start for start, _ in self._local.sentences] or [0]
        sentence = max(0, int(np.searchsorted(starts, start, side="right")) - 1)
        self.mentions.append(Mention(key, self._chunk.text[start:end], start, end, sentence,
                                     kind + BY_MODEL))


def ground(chunk: Chunk, local: Extraction, records: Records, extractor: str,
           types: Sequence[str] = ENTITY_TYPES) -> Extraction:
    """The log entry of a chunk: its local reading, and what a model's records add to it.

    A name of the model must occur in the chunk, word by word up to case, punctuation, possessive
    and a plural s (letter by letter without spaces, see `qafd.reading.text.scripts`), or be its
    title or heading. Where it does not, a name of the same type in the passage may begin or end it:
    then the passage's spelling is taken, and the description keeps the model's. Both ends of a relation
    must be such names. Equal records become one, their different descriptions stay.
    """
    found = _Ground(chunk, local)
    allowed = {kind.upper() for kind in types} - {kind.upper() for kind in OWN}
    said: dict[Description, None] = {}
    for entity in records.entities:
        kind = entity.kind.upper() if entity.kind.upper() in allowed else "OTHER"
        key = found.find(entity.source, kind)
        if key:
            longer = canonical(entity.source) in found.longer
            text = f"{entity.source}: {entity.text}" if longer else entity.text
            said[Description(key, kind=kind, text=text)] = None
    assertions: dict[frozenset[str], Assertion] = {}
    for relation in records.relations:
        source, target = found.find(relation.source, "OTHER"), found.find(relation.target, "OTHER")
        if not source or not target or source == target:
            continue
        if local.sentences:
            at, there = found.sentences(source), found.sentences(target)
            words = relation.keywords[0].split() if relation.keywords else []
            assertions.setdefault(frozenset((source, target)), Assertion(
                source, target, min(at & there or at | there, default=0), " ".join(words[:WORDS_OF_A_LABEL])))
        said[replace(relation, source=source, target=target)] = None
    if records.keywords:
        said[Description(keywords=records.keywords)] = None
    rest = [assertion for assertion in local.assertions
            if frozenset((assertion.source, assertion.target)) not in assertions]
    mentions = sorted(found.mentions, key=lambda m: (m.sentence, m.start, m.end, m.kind, m.key))
    return Extraction(chunk.id, extractor, local.sentences, tuple(mentions),
                      (*assertions.values(), *rest), tuple(said))


def _overlap(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def find_places(key: str, text: Sequence[tuple[str, int, int]]) -> Iterator[Place]:
    """Find the places of the words of a key in a text, (word, start, end), from the left, without overlap."""
    wanted = [_stem(word) for word, _, _ in words_of(key)]
    if not any(character.isalnum() for character in key) or not 2 <= len(key) <= MOST_LETTERS:
        return
    at = 0
    while wanted and at + len(wanted) <= len(text):
        some = text[at:at + len(wanted)]
        words = [word for word, _, _ in some]
        if same(words, wanted):
            yield some[0][1] + len(words[0]) - len(wanted[0]), some[-1][2]
            at += len(wanted)
        else:
            at += 1


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else form_of(word)
