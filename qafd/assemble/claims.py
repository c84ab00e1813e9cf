"""A passage as the log has it, and the names it claims before it is known which are entities."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from qafd.reading.text import canonical, title_of_file
from qafd.records import GUESS, Chunk, Extraction, Mention, Vectors

if TYPE_CHECKING:
    from qafd.models.embedder import PassageEmbedder

class Alias(dict[str, str]):
    """Keys to the key that they stand for in a passage; "" for what is no entity there.

    `names` has the names of entities that an edit split off, by key.
    """

    names: Mapping[str, str] = MappingProxyType({})


def alias_in(document: Mapping[str, str], extraction: Extraction) -> Alias:
    """Return what keys stand for in a passage, by its document and then by the edits that split."""
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
    """Claims of all passages of a log together: the keys that are names, sought in all texts."""

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
            if mention.kind.rstrip(GUESS) == "PERSON" and 1 < len(words) < 5:
                spelled[words[-1]].add(mention.key)
    return {name: next(iter(keys)) for name, keys in spelled.items() if len(keys) == 1}
