"""A passage with what was found in it and its vectors, as the log has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from qafd.reading.text import canonical
from qafd.records import Chunk, Extraction, Vectors

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
