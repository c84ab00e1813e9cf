"""Packing of records into columns: keys, numbers and bytes, with checks."""

import hashlib
import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from qafd.arrays import ByteRows, TextBlock, to_bytes
from qafd.errors import ParameterError
from qafd.records import Chunk, Edge, Extraction, Nodes, Vectors, node_id

Packed = npt.NDArray[np.int8]
"""Rows of vectors, each in proportion to its largest number; see `pack_vectors`."""

KINDS = ("word", "pair", "key", "part", "term", "sentences")
"""The kinds of facts; a row has the number of one."""

EDGE_KINDS = ("by_hand", "extracted", "mention", "relation", "synonym")
"""The kinds of edges; a row has the number of one."""

BY_HAND, MENTION, RELATION, SYNONYM = map(EDGE_KINDS.index, ("by_hand", "mention", "relation", "synonym"))

SENTENCE = np.dtype(">u4")

DIGITS = 15  # of 4 bits, of an id in its number
_DIGITS = np.full(256, -1)
_DIGITS[list(b"0123456789abcdef")] = np.arange(16)

_PLACE = struct.Struct(">qI")  # the number of a passage's node, and that of a sentence

EdgeRow = tuple[int, int, int, str, float, int, bytes]
"""A row of the table of edges: numbers of nodes and kind, label, similarity, count and evidence."""


def checksum(*content: object) -> str:
    """96 bits of the SHA-256 of records, texts and numbers; `qafd doctor` finds by it what a disk changed."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def texts(values: Iterable[object]) -> None:
    """Refuse what is no text where a table has one, since SQLite holds any value in any column.

    Raises
    ------
    TypeError
        With the first such value.
    """
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{str(value)[:40]} where a text should be")


def hash_number(name: str) -> int:
    """Return the number of a node's id or a vector's key in tables: its first 60 bits, in the same order.

    -1 for what is neither. Among a million two have one number with a probability of 4e-7.
    """
    try:
        return int(name[:DIGITS], 16)
    except ValueError:
        return -1


def hash_numbers(names: Sequence[str]) -> Nodes:
    """Return the numbers of nodes' ids, shape (n,), as `hash_number` has them."""
    if not isinstance(names, TextBlock) or (np.diff(names.bounds) < DIGITS).any():
        return np.fromiter(map(hash_number, names), np.int64, len(names))
    digits = _DIGITS[names.data[names.bounds[:-1, None] + np.arange(DIGITS)]]
    if (digits < 0).any():
        return np.fromiter(map(hash_number, names), np.int64, len(names))
    return digits @ (16 ** np.arange(DIGITS - 1, -1, -1))


def pack_evidence(edge: Edge) -> bytes:
    """The sentences of an edge; of a mention their numbers alone, since its target is their passage."""
    if edge.kind == "mention":
        sentences = [at for _, at in edge.evidence]
        return struct.pack(f">{len(sentences)}I", *sentences)
    return b"".join(_PLACE.pack(hash_number(node_id("passage", chunk)), at)
                    for chunk, at in edge.evidence)


def edge_row(edge: Edge) -> EdgeRow:
    """The row of an edge."""
    return (hash_number(edge.source), hash_number(edge.target), EDGE_KINDS.index(edge.kind), edge.label,
            edge.similarity, edge.count, pack_evidence(edge))


def unpack_places(evidence: bytes) -> list[tuple[int, int]]:
    """The places of an edge that is no mention: the number of the passage's node, and the sentence."""
    return list(_PLACE.iter_unpack(evidence))


def unpack_sentences(evidence: bytes) -> tuple[int, ...]:
    """The numbers of the sentences of a mention."""
    return struct.unpack(f">{len(evidence) // 4}I", evidence)


def embedding_key(model: str, text: str) -> str:
    """Return the key of the vector of a text: a hash of the model's name and the text."""
    return hashlib.sha256(f"{model}|{text}".encode()).hexdigest()[:24]


def passage_key(model: str, title: str, text: str, sentences: Iterable[tuple[int, int]]) -> str:
    """Return the key of the vectors of a passage and its sentences, 1 + s rows.

    All of them depend on the whole passage and its title.
    """
    spans = " ".join(f"{start}-{end}" for start, end in sentences)
    return embedding_key(model, f"passage {spans}\n{title}\n{text}")


def key_of(model: str, chunk: Chunk, extraction: Extraction) -> str:
    """Return the key of the vectors of a passage and its sentences."""
    return passage_key(model, chunk.title, chunk.text, extraction.sentences)


def pack_vectors(rows: Vectors) -> list[bytes]:
    """Unit rows, (k, d), as they are kept: 8-bit integers in proportion to the largest number.

    Their length is not kept, since it is 1. Packing what was unpacked gives the same bytes.
    """
    return [row.tobytes() for row in to_bytes(rows)]


def unpack_vectors(kept: Sequence[bytes], dimension: int) -> Vectors:
    """Unit rows, (k, d), the same bits on every machine; zeros stay zeros.

    Raises
    ------
    ValueError
        One of them has another length.
    """
    for row in kept:
        if len(row) != dimension:
            raise ValueError(f"a vector has {len(row)} numbers instead of {dimension}")
    return unpack_rows(kept, dimension)


def unpack_rows(kept: Sequence[bytes], dimension: int) -> Vectors:
    """As `unpack_vectors`, where each may be several rows, one after the other.

    Raises
    ------
    ValueError
        Their length is that of no whole number of rows.
    """
    return ByteRows.of(np.frombuffer(b"".join(kept), np.int8).reshape(-1, dimension))[:]


def check_finite(vectors: Vectors) -> None:
    """Refuse NaN and infinity, which SQLite would store and cosines would spread.

    Raises
    ------
    ParameterError
        With the number of bad rows.
    """
    bad = int((~np.isfinite(vectors)).any(axis=-1).sum()) if vectors.size else 0
    if bad:
        raise ParameterError(f"{bad} of {len(vectors)} embeddings hold NaN or infinity and are "
                             "not stored; the embedding model or its file is broken.")
