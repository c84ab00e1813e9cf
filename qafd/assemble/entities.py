"""The entities of a log: the names that passages claim, what they say of each key, and which keys are
entities by it."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from qafd.reading.text import NameIndex, canonical, count_tokens, title_of_file
from qafd.records import (
    BY_MODEL,
    Chunk,
    Extraction,
    Floats,
    Mention,
    Node,
    Nodes,
    Vectors,
    node_id,
    type_of,
)

if TYPE_CHECKING:
    from qafd.models.embedder import PassageEmbedder

NUMBERING = 3  # characters that a line with a name alone may have beside it


class Alias(dict[str, str]):
    """The key that each key stands for in a passage; "" if it is not an entity there.

    `names` has the names of entities that an edit split off, by key.
    """

    names: Mapping[str, str] = MappingProxyType({})


def alias_in(document: Mapping[str, str], extraction: Extraction) -> Alias:
    """Return the aliases of a passage: those of its document, after edits that split entities."""
    split = {key: canonical(name) for key, name in extraction.split.items()}
    alias = Alias(split)
    for key, other in document.items():
        alias[key] = split.get(other, other)
    alias.names = {canonical(name): name for name in extraction.split.values()}
    return alias


@dataclass(frozen=True)
class Reading:
    """A chunk, what was extracted from it, and its vectors.

    `vector` has shape (d,), `sentences` shape (s, d): one unit row for each sentence of the
    extraction, pooled in the context of the passage.
    """

    chunk: Chunk
    extraction: Extraction
    vector: Vectors = field(repr=False)
    sentences: Vectors = field(repr=False)


def read(chunk: Chunk, extraction: Extraction, embedder: "PassageEmbedder") -> Reading:
    """The chunk with its vectors: one pass over title and text gives them all."""
    above = f"{chunk.title}\n" if chunk.title else ""
    spans = [(len(above) + start, len(above) + end) for start, end in extraction.sentences]
    vector, sentences = embedder.embed_spans(above + chunk.text, spans)
    return Reading(chunk, extraction, vector, sentences)


def log_order(reading: Reading) -> tuple[str, int, str]:
    """Return the sort key of a reading in the log: document, then position."""
    return reading.chunk.document, reading.chunk.start, reading.chunk.id


_LOWER = re.compile(r"\b[^\W\d_A-Z]\w*")


@dataclass
class Claims:
    """The keys that a passage claims to be names, by what else is needed to make them entities.

    `sure` ones need nothing, a `lone` proper noun must never be written small, terms need two
    sentences (those of this passage are here). A title that is but a file's name claims nothing.
    """

    sure: set[str] = field(default_factory=set)
    lone: set[str] = field(default_factory=set)
    terms: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))


class ClaimedNames:
    """The claims of all passages of a log: they decide which keys are names, to be searched in all texts."""

    def __init__(self) -> None:
        self._claimed = Claims()
        self._sentences: Counter[str] = Counter()
        self._small: set[str] = set()

    def add(self, chunk: Chunk, extraction: Extraction, alias: Alias) -> None:
        """Add what a passage claims."""
        claims = claims_of(chunk, extraction, alias)
        self._claimed.sure |= claims.sure
        self._claimed.lone |= claims.lone
        self._sentences.update({key: len(some) for key, some in claims.terms.items()})
        self._small.update(small_words(chunk.text))

    def names(self) -> set[str]:
        """The keys that are names by the claims of all."""
        twice = {key for key, many in self._sentences.items() if many > 1}
        return self._claimed.sure | twice | (self._claimed.lone - self._small)


def claims_of(chunk: Chunk, extraction: Extraction, alias: Alias) -> Claims:
    """Collect the claims of a passage, with the aliases of its document resolved."""
    claims = Claims()
    for mention in extraction.mentions:
        key = alias.get(mention.key, mention.key)
        if not key:
            continue
        if mention.kind == "heading" or _certain(mention, chunk):
            claims.sure.add(key)
        elif mention.kind == "term":
            claims.terms[key].add(mention.sentence)
        elif mention.kind != "title":
            claims.lone.add(key)
    return claims


def _certain(mention: Mention, chunk: Chunk) -> bool:
    if mention.kind == "title":
        return chunk.title != title_of_file(chunk.document)
    return mention.kind not in ("heading", "term") and (
        mention.kind != "PROPN" or " " in mention.key)


def small_words(text: str) -> list[str]:
    """The words of a text that begin without a capital."""
    return _LOWER.findall(text)


def aliases_of(extractions: Iterable[Extraction]) -> dict[str, str]:
    """Of one document: keys to the key they stand for in it."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for extraction in extractions:
        for mention in extraction.mentions:
            own = canonical(mention.name)
            if own != mention.key:
                spelled[own].add(mention.key)
            words = mention.key.split()
            if type_of(mention.kind) == "PERSON" and 1 < len(words) < 5:
                spelled[words[-1]].add(mention.key)
    return {name: next(iter(keys)) for name, keys in spelled.items() if len(keys) == 1}


@dataclass
class KeyPart:
    """Facts of one passage about one key; places are (sentence, start, end).

    `names` are the spellings of its mentions, `said` the different descriptions in order, `related`
    those of relations that it is an end of. `named`
    is False for a term, which the rules read as a name nowhere; `titled` is True where the key is
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
"""Mentions and relations of one key in the passages of a log, by their number in it."""


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
        part.named |= mention.kind != "term" and not mention.kind.endswith(BY_MODEL)
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
"""First bytes of a packed part that has the name in no sentence."""


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


HUB = 16  # passages of a name from which its sums are kept
BLOCK = 128  # names whose vectors are summed at once, which fit into a core's cache
STEPS = float(1 << 24)  # in one; numbers of vectors are rounded to such steps before they are added
TERM_FACTOR = 0.1
HUB_EXPONENT = 0.2
TITLE_FACTOR = 4.0
UNTOLD_FACTOR = 0.5  # of a title that no sentence says
DESCRIPTION_LIMIT = 2000  # characters of an entity's merged descriptions

_NOTHING = np.zeros(0, np.int64)

Wholes = NDArray[np.int64]
"""Sums of vectors in steps of 2^-24, whose addition is exact in every order."""

Place = tuple[str, int, str]
"""Position of a passage in the log, see `log_order`."""


@dataclass(slots=True)
class Gathered:
    """Sums over passages that have a name, added in the order of the log.

    `passages` counts them; `named`, `told`, `titled` and `title` count those whose part is so (see
    `KeyPart`), `names` the spellings. `wide` is the sum of the vectors of the passages, `close` that
    of the sentences, both of shape (d,). `first` is where the first passage stands that has
    the name in a sentence, None where none has, and `evidence` is that sentence. `said` is what models
    say of it, and `described` the parts with that; nothing of it is kept for a hub.
    """

    passages: int = 0
    named: int = 0
    told: int = 0
    titled: int = 0
    title: int = 0
    names: Counter[str] = field(default_factory=Counter)
    wide: Wholes = field(default_factory=lambda: _NOTHING, repr=False, compare=False)
    close: Wholes = field(default_factory=lambda: _NOTHING, repr=False, compare=False)
    first: Place | None = None
    evidence: str = ""
    said: dict[str, None] = field(default_factory=dict)
    described: list[KeyPart] = field(default_factory=list)
    known: bool = False

    def add(self, part: KeyPart, chunk: Chunk, extraction: Extraction) -> None:
        """Add what the next passage of the log says."""
        self.names.update(part.names)
        if part.said or part.related:
            self.described.append(part)
        if self.known or part.names:  # what is said of a name before it is mentioned does not count
            self.said |= dict.fromkeys(part.said)
        self.known |= part.holds or bool(part.names)
        if not part.holds:
            return
        self.passages += 1
        for count in _COUNTS:
            setattr(self, count, getattr(self, count) + getattr(part, count))
        if part.places and self.first is None:
            start, end = extraction.sentences[min(part.places)[0]]
            self.first, self.evidence = (chunk.document, chunk.start, chunk.id), chunk.text[start:end]

    def change(self, gone: "Gathered", fresh: "Gathered") -> "Gathered":
        """Return these sums without the `gone` passages and with the `fresh` ones.

        If the first passage is gone, the result has none, and the caller has to look for it.
        """
        names = Counter(self.names)
        names.subtract(gone.names)
        names.update(fresh.names)
        found = Gathered(names=+names, wide=self.wide - gone.wide + fresh.wide,
                         close=self.close - gone.close + fresh.close)
        for count in ("passages", *_COUNTS):
            setattr(found, count, getattr(self, count) - getattr(gone, count) + getattr(fresh, count))
        if fresh.first and (self.first is None or fresh.first <= self.first):
            found.first, found.evidence = fresh.first, fresh.evidence
        elif gone.first is None or gone.first != self.first:
            found.first, found.evidence = self.first, self.evidence
        return found

    @property
    def is_entity(self) -> bool:
        """True if the key is an entity; a heading must occur in a sentence."""
        return self.passages > 0 and bool(self.title or self.told or not self.titled)

    @property
    def is_hub(self) -> bool:
        """True if the sums are stored: many passages and a sentence have the name, and no model described
        it.

        Descriptions need the order of the passages.
        """
        return self.passages > HUB and self.told > 0 and not self.described

    @property
    def text(self) -> str:
        """The text of the node."""
        return " ".join(self.said)[:DESCRIPTION_LIMIT] or self.evidence

    @property
    def scale(self) -> float:
        """The factor that all mention edges of the name have in common."""
        kind = 1.0 if self.named else TERM_FACTOR
        return float(kind / self.passages ** HUB_EXPONENT)

    @property
    def heading(self) -> float:
        """The factor of a mention edge to a passage that has the name as its title or heading.

        That of a long document says little about each of its passages.
        """
        if self.titled > HUB:
            return TERM_FACTOR
        return TITLE_FACTOR if self.told else UNTOLD_FACTOR

    def describe(self, key: str) -> str:
        """Join the model descriptions of an entity and its relations to one text; "" without any.

        Its order does not depend on that of the passages.
        """
        texts: set[str] = set()
        for part in self.described:
            texts |= {*part.said, *part.related}
        return f"{key}: {' '.join(sorted(texts))}"[:DESCRIPTION_LIMIT] if texts else ""


_COUNTS = ("named", "told", "titled", "title")


def gather(parts: Parts, log: Sequence[Reading]) -> Gathered:
    """The sums over all passages of one name; `log` is in its order."""
    found = Gathered()
    wide: list[Vectors] = []
    close: list[Vectors] = []
    for number in sorted(parts):
        part, reading = parts[number], log[number]
        found.add(part, reading.chunk, reading.extraction)
        if part.holds:
            wide.append(reading.vector)
            sentences = {sentence for sentence, _, _ in part.places}
            close += [reading.sentences[at] for at in sentences]
    found.wide, found.close = _sum(wide), _sum(close)
    return found


def align(wide: Wholes | Floats, close: Wholes | Floats, told: Vectors | None = None) -> Vectors:
    """The unit vectors of entities, (..., d): halfway between their passages and their sentences.

    The mean of an entity's passages gates best; that of its sentences tells the entities of one
    passage apart.

    Parameters
    ----------
    wide, close : ndarray, shape (..., d)
        See `Gathered`.
    told : ndarray, shape (..., d), optional
        Vectors of what models write of entities; the rows are halfway to them.
    """
    rows = _unit(_unit(wide / STEPS) + _unit(close / STEPS))
    return rows if told is None else _unit(rows + told)


@dataclass(frozen=True)
class Occurrences:
    """Vectors that are summed for each name: those of its passages and of its sentences.

    `names`, ascending, are their numbers, of which `owner`, ascending, has that of each occurrence, and
    `row` its vector, shape (k,); `close` marks those of sentences.
    """

    names: Nodes
    owner: Nodes
    row: Nodes
    close: NDArray[np.bool_]

    def sums(self, vectors: Callable[[Nodes], Vectors]) -> Iterator[tuple[Nodes, Floats, Floats]]:
        """Names, (b,), with `wide` and `close` of each, (b, d), block after block; `vectors` gives some
        rows."""
        for first in range(0, len(self.names), BLOCK):
            names = self.names[first:first + BLOCK]
            inside = slice(*np.searchsorted(self.owner, (names[0], names[-1] + 1)))
            owner, close = np.searchsorted(names, self.owner[inside]), self.close[inside]
            used, place = np.unique(self.row[inside], return_inverse=True)
            wholes = _steps(vectors(used))
            shape = len(names), len(used)
            wide, near = (csr_matrix(  # type: ignore[no-untyped-call]
                (some.astype(np.float64), (owner, place)), shape) for some in (~close, close))
            yield names, wide @ wholes, near @ wholes


def _steps(rows: Vectors) -> Floats:
    """Rows in whole steps of 2^-24."""
    whole: Floats = np.rint(rows.astype(np.float64) * STEPS)
    return whole


def _sum(vectors: Sequence[Vectors]) -> Wholes:
    """Sum rows in steps; 0 without any."""
    return np.asarray(_steps(np.array(vectors, np.float32)).astype(np.int64).sum(axis=0))


def _unit(rows: Vectors | Floats) -> Vectors:
    """Rows scaled to unit length; zeros stay zeros."""
    wide = np.asarray(rows, np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
    return np.asarray(wide / np.maximum(lengths, 1e-12), np.float32)


def entity_node(key: str, gathered: Gathered) -> Node:
    """The node of a key by its spellings and what is stated of it."""
    names, text = gathered.names, gathered.text
    # The key must follow from the name: questions are linked by the names a graph carries.
    own = [name for name in names if canonical(name) == key]
    name = min(own, key=lambda n: (-names[n], n)) if own else key
    return Node(node_id("entity", key), "entity", key, name, text,
                count_tokens(name) + count_tokens(text))


def passage_node(chunk: Chunk) -> Node:
    """The node of a passage."""
    name = chunk.title or chunk.document
    return Node(node_id("passage", chunk.id), "passage", chunk.id, name, chunk.text,
                count_tokens(chunk.text))
