"""Facts of one passage about one name, and their text form."""

import json
from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import numpy as np

from qafd.assemble.readings import Alias
from qafd.reading.text import NameIndex
from qafd.records import Chunk, Extraction

NUMBERING = 3  # characters that a line with a name alone may have beside it


@dataclass
class KeyPart:
    """Facts of one passage about one key; places are (sentence, start, end).

    `names` are the spellings of its mentions, `said` the different descriptions in order, `related`
    those of relations that it is an end of. `named`
    is False for a term, which no mention of another kind has; `titled` is True where the key is
    the passage's title or heading, `title` where it is the title; `told` where a sentence says
    the name and more: headings stand in a text as lines too.
    """

    places: set[tuple[int, int, int]] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    named: bool = False
    titled: bool = False
    title: bool = False
    told: bool = False
    related: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Return True if the passage mentions the entity and does not only describe it."""
        return self.titled or bool(self.places)


Parts = Mapping[int, KeyPart]
"""What the passages of a log, by their number in it, say of one key."""


def parts_of(chunk: Chunk, extraction: Extraction, alias: Alias, keys: Container[str],
             index: NameIndex) -> dict[str, KeyPart]:
    """Collect the facts of a passage about each key: its mentions, and known names found in its text."""
    parts: dict[str, KeyPart] = defaultdict(KeyPart)
    for mention in extraction.mentions:
        key = alias.get(mention.key, mention.key)
        if key not in keys:
            continue
        part = parts[key]
        part.names[alias.names.get(key, mention.name)] += 1
        part.named |= mention.kind != "term"
        if mention.kind in ("title", "heading"):
            part.titled = True
            part.title |= mention.kind == "title"
        else:
            part.places.add((mention.sentence, mention.start, mention.end))
    for described in extraction.descriptions:
        if not described.text:
            continue
        part = parts[alias.get(described.source, described.source)]
        about = [part.said]
        if described.target:
            about = [part.related, parts[alias.get(described.target, described.target)].related]
        for texts in about:
            if described.text not in texts:
                texts.append(described.text)
    starts = [start for start, _ in extraction.sentences]
    for found, start, end in index.find(chunk.text, starts):
        sentence = int(np.searchsorted(starts, start, side="right")) - 1
        parts[alias.get(found, found)].places.add((max(sentence, 0), start, end))
    parts.pop("", None)
    for part in parts.values():
        for sentence, start, end in part.places:
            first, last = extraction.sentences[sentence]
            part.told |= last - first > end - start + NUMBERING
    return parts


NO_PLACES = "[[],"
"""What a packed part begins with that has the name in no sentence."""


def pack_part(part: KeyPart) -> str:
    """A part as text."""
    signs = [int(sign) for sign in (part.named, part.titled, part.title, part.told)]
    return json.dumps([sorted(part.places), part.names, part.said, *signs, part.related],
                      ensure_ascii=False, separators=(",", ":"))


def unpack_part(body: str) -> KeyPart:
    """The part that `pack_part` made this text of."""
    places, names, said, named, titled, title, told, related = json.loads(body)
    return KeyPart({tuple(place) for place in places}, Counter(names), said, bool(named),
                   bool(titled), bool(title), bool(told), related)
