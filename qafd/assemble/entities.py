"""The entities of a log: what passages say of each key, and which keys are entities by it."""

import json
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from qafd.assemble.claims import Claims, capital_names, claims_of, small_words
from qafd.assemble.readings import Alias, Reading
from qafd.reading.text import NameIndex, canonical, count_tokens
from qafd.records import Chunk, Extraction, Node, Vectors, node_id

NUMBERING = 3  # characters that a line with a name alone may have beside it
DESCRIPTION_LIMIT = 2000  # characters of an entity's merged descriptions


@dataclass
class KeyPart:
    """What one passage says of one key: places are (sentence, start, end).

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
        """Whether the passage mentions the entity, and does not only describe it."""
        return self.titled or bool(self.places)


Parts = Mapping[int, KeyPart]
"""What the passages of a log, by their number in it, say of one key."""


def parts_of(chunk: Chunk, extraction: Extraction, alias: Alias, keys: Container[str],
             index: NameIndex) -> dict[str, KeyPart]:
    """What a passage says of each key: its mentions of known keys, and known names found again."""
    parts: dict[str, KeyPart] = defaultdict(KeyPart)
    for mention in extraction.mentions:
        key = alias.get(mention.key, mention.key)
        if key not in keys:
            continue
        part = parts[key]
        part.names[mention.name] += 1
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
    for part in parts.values():
        for sentence, start, end in part.places:
            first, last = extraction.sentences[sentence]
            part.told |= last - first > end - start + NUMBERING
    return parts


def is_entity(parts: Parts) -> bool:
    """Whether a key with these parts is an entity: a heading must be told by a sentence."""
    if not any(part.holds for part in parts.values()):
        return False
    return (any(part.title or part.told for part in parts.values())
            or not any(part.titled for part in parts.values()))


def find_entities(log: Sequence[Reading], aliases: Mapping[str, Alias]) -> dict[str, dict[int, KeyPart]]:
    """The entities of the log and what each passage says of them, string links included."""
    claimed = Claims()
    sentences: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for reading in log:
        chunk = reading.chunk
        claims = claims_of(chunk, reading.extraction, aliases[chunk.document])
        claimed.sure |= claims.sure
        claimed.filed |= claims.filed
        claimed.lone |= claims.lone
        claimed.concepts |= claims.concepts
        sentences.update({key: len(some) for key, some in claims.terms.items()})
        small.update(small_words(chunk.text))
    files = NameIndex(claimed.filed)
    said: set[str] = set()
    for reading in log:
        said |= {key for key, _, _ in files.find(reading.chunk.text)}
    twice = {key for key, many in sentences.items() if many > 1}
    keys = claimed.sure | said | twice | (claimed.lone - small.keys())
    concepts = claimed.concepts & small.keys()
    index = NameIndex(keys, _small_concepts(log, small, concepts, keys))
    entities: dict[str, dict[int, KeyPart]] = defaultdict(dict)
    for number, reading in enumerate(log):
        alias = aliases[reading.chunk.document]
        for key, part in parts_of(reading.chunk, reading.extraction, alias, keys, index).items():
            entities[key][number] = part
    return {key: parts for key, parts in entities.items() if is_entity(parts)}


def _small_concepts(log: Sequence[Reading], small: Mapping[str, int], titles: set[str],
                    keys: Iterable[str]) -> set[str]:
    """Titles of one word that the texts write small (as often as `small` says) more often than with
    a capital that opens no sentence and no longer name: "Photosynthesis", not "Prince"."""
    if not titles:
        return titles
    index = NameIndex(keys)
    capital: Counter[str] = Counter()
    for reading in log:
        capital.update(capital_names(reading.chunk, reading.extraction, index))
    return {key for key in titles if small[key] > capital[key]}


def entity_node(key: str, parts: Parts, log: Sequence[Reading]) -> Node:
    """The node of a key."""
    names: Counter[str] = Counter()
    said: dict[str, None] = {}
    known = False
    evidence = ""
    for number in sorted(parts):
        part = parts[number]
        names.update(part.names)
        if known or part.names:  # what is said of a name before it is mentioned does not count
            said |= dict.fromkeys(part.said)
        known |= part.holds or bool(part.names)
        if part.places and not evidence:
            start, end = log[number].extraction.sentences[min(part.places)[0]]
            evidence = log[number].chunk.text[start:end]
    # The key must follow from the name: questions are linked by the names a graph carries.
    own = [name for name in names if canonical(name) == key]
    name = min(own, key=lambda n: (-names[n], n)) if own else key
    text = " ".join(said)[:DESCRIPTION_LIMIT] or evidence
    return Node(node_id("entity", key), "entity", key, name, text,
                count_tokens(name) + count_tokens(text))


def passage_node(chunk: Chunk) -> Node:
    """The node of a passage."""
    name = chunk.title or chunk.document
    return Node(node_id("passage", chunk.id), "passage", chunk.id, name, chunk.text,
                count_tokens(chunk.text))


def describe_entity(key: str, parts: Iterable[KeyPart]) -> str:
    """What models say of an entity and of its relations, as one text; "" where none does.

    Its order does not depend on that of the passages.
    """
    texts: set[str] = set()
    for part in parts:
        texts |= {*part.said, *part.related}
    return f"{key}: {' '.join(sorted(texts))}"[:DESCRIPTION_LIMIT] if texts else ""


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


def alignment(keys: Sequence[str], entities: Mapping[str, Parts], log: Sequence[Reading],
              told: Mapping[str, Vectors]) -> Vectors:
    """Unit rows of entities, (k, d): halfway between the passages and the sentences of each.

    The mean of an entity's passages gates best; that of its sentences tells the entities of one
    passage apart. Where models described an entity, `told` has the vector of what they said, shape
    (d,), and the row is halfway between the two.
    """
    first = np.cumsum([0, *(len(reading.sentences) for reading in log)])
    wide: list[tuple[int, int]] = []
    close: list[tuple[int, int]] = []
    for row, key in enumerate(keys):
        parts = {number: part for number, part in entities[key].items() if part.holds}
        wide += [(row, number) for number in sorted(parts, key=lambda n: log[n].chunk.id)]
        for number in sorted(parts):
            sentences = {sentence for sentence, _, _ in parts[number].places}
            close += [(row, int(first[number]) + sentence) for sentence in sorted(sentences)]
    texts = np.stack([reading.vector for reading in log])
    sentences_of_all = np.concatenate([reading.sentences for reading in log])
    rows = _units(_units(_sums(wide, len(keys), texts))
                  + _units(_sums(close, len(keys), sentences_of_all)))
    for row, key in enumerate(keys):
        if key in told:
            rows[row:row + 1] = _units(rows[row:row + 1] + told[key])
    return rows


def _sums(pairs: Sequence[tuple[int, int]], count: int, vectors: Vectors) -> Vectors:
    """Row r is the sum of the vectors paired with r, (count, d)."""
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    ones = np.ones(len(rows), np.float32)
    table = csr_matrix((ones, (rows, columns)), (count, len(vectors)))  # type: ignore[no-untyped-call]
    return np.asarray(table @ vectors)


def _units(rows: Vectors) -> Vectors:
    """Rows scaled to unit length; zero rows stay zero."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.maximum(lengths, 1e-12), np.float32)
