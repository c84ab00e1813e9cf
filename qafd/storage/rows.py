"""The records that a workspace hands out, and the packing of records into columns, with checks."""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qafd.arrays import ByteRows, TextBlock, to_bytes
from qafd.edits import Edit
from qafd.errors import ParameterError, StoreError
from qafd.reading.text.plaintext import label, storable
from qafd.records import Chunk, Description, Edge, Extraction, Node, Nodes, Vectors, node_id


class DocumentNameError(StoreError):
    """A file's documents cannot be distinguished by name."""


@dataclass(frozen=True)
class WorkspacePlace:
    """Place of a workspace.

    Parameters
    ----------
    url : str
        For `open_workspace`.
    name : str
        What people call it.
    id : str
        Of no other workspace, and the same by whatever name it is reached; what is computed of a
        workspace is kept under this and the version of the graph.
    written : str
        How it is written in a command; without any password.
    log : Path
        The file in which workers complain.
    columns : Path, optional
        The file in which `qafd.graph_cache` may keep the graph as columns; gone with what is erased.
    """

    url: str
    name: str
    id: str
    written: str
    log: Path
    columns: Path | None = None


@dataclass(frozen=True)
class Job:
    """An upload or another change, and how far its indexing has come.

    `state` is "queued", "running", "paused" (the disk is full), "done", "failed" or
    "cancelled"; `stage`, `done`, `total` and `current` are those of `qafd.ingest.Progress`, or
    "building layers", texts to embed and the layer at work.
    """

    id: int
    state: str
    stage: str
    done: int
    total: int
    current: str
    error: str
    created_at: str
    started_at: str | None
    finished_at: str | None


@dataclass(frozen=True)
class File:
    """A file the user gave, and how far it has come.

    `status` is "queued", "parsing", "extracting", "done", "failed" or "cancelled"; `error` says
    why it failed, `notices` what was left out of it; `passages` counts the passages of its
    documents, `extracted` those that are in the log.
    """

    name: str
    status: str
    error: str
    notices: tuple[str, ...]
    size: int
    documents: int
    passages: int
    extracted: int
    added_at: str
    deleted_at: str | None


@dataclass(frozen=True)
class Contents:
    """Contribution of a file to the current graph.

    `pages` is 0 where its format has none; `entities` counts those that its passages mention, also
    where other files do, `relations` those that one of its sentences states; `tokens` is the length
    of its passages. All but the pages are 0 while the file is not in the graph.
    """

    pages: int = 0
    entities: int = 0
    relations: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class DocumentRow:
    """A document of a file without its text; `pages` is 0 where the format has none."""

    name: str
    source: str
    title: str
    kind: str
    characters: int
    pages: int
    passages: int
    extracted: int
    names: int
    deleted_at: str | None


@dataclass(frozen=True)
class Log:
    """The live extraction log at one moment, in the order of document names and offsets.

    `extractions[i]` belongs to `chunks[i]`, as it was read; see `qafd.edits.apply_edits`.
    """

    revision: int
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """A sentence that mentions a node, at `start:end` of its document's text.

    `mentions` are the offsets of the names in that sentence, also within the document.
    """

    node: str
    chunk: str
    document: str
    title: str
    text: str
    start: int
    end: int
    page: int | None
    heading: str
    mentions: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Head:
    """Metadata of a document; `pages` is 0 if its format has none.

    `original` is True if the bytes of its file are stored; after reading, only those of PDFs are.
    """

    name: str
    source: str
    title: str
    kind: str
    characters: int
    passages: int
    pages: int
    deleted_at: str | None
    original: bool


@dataclass(frozen=True)
class UnreadRow:
    """A passage, the `number`-th of its document, that the model did not read as it should be.

    `reason` is why, "" where only the `status` of the last call is known; see `Call`.
    """

    document: str
    number: int
    chunk: str
    page: int | None
    reason: str
    status: str


@dataclass(frozen=True)
class WholeRow:
    """A node with the place of the passage that it is; an entity has none."""

    node: Node
    document: str = ""
    title: str = ""
    page: int | None = None


@dataclass(frozen=True)
class PlacedNode:
    """A node, where its vectors and its text are kept, and the factor of all its mention edges.

    `passage` is the id of the one that has its text, "" where none has it; `vectors` is the key of that
    of its name, or of those of a passage, `said` of that of what models say of it, "" where none
    does. What a question is compared with follows from these.
    """

    node: Node
    passage: str
    vectors: str
    said: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class EntityRow:
    """An entity, in how many passages it is, and how many relations it has."""

    node: Node
    passages: int
    relations: int


@dataclass(frozen=True)
class NameCount:
    """Number of passages with a name, under its key and with its kind; see `Mention`."""

    key: str
    name: str
    kind: str
    count: int


@dataclass(frozen=True)
class RunRow:
    """A saved run without its body. `exact` is None for methods that give no certificate."""

    id: str
    made_at: str
    question: str
    method: str
    params: Mapping[str, Any]
    revision: int
    nodes: int
    tokens: int
    exact: bool | None
    note: str


@dataclass(frozen=True)
class LayerRow:
    """A derived layer that is kept: the version of the graph and of the builder it is from."""

    name: str
    version: str
    builder: int
    built_at: str
    size: int


PassageFacts = Mapping[tuple[str, str], str]
"""Of one passage: kind and term to the body."""

SEARCHED = 20  # passages that a search finds
MOST_WORDS = 100  # words and phrases that are looked for
Parts = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hit:
    """A passage that was found; `score` >= 0, larger is better.

    `parts` is the part of its text with most of the words, in pieces: the words themselves, with
    True, and the text between them.
    """

    chunk: Chunk
    score: float
    parts: Parts


@dataclass(frozen=True)
class Found:
    """The best of `total` passages with all words, or with some where none has all.

    `said` is a sentence when this is not all that was asked for, else "".
    """

    hits: tuple[Hit, ...]
    total: int
    said: str = ""


BY = ("chunk", "document", "question", "run", "model", "purpose")
"""What the ledger can be summed by."""


@dataclass(frozen=True)
class Call:
    """One call. `status` is "ok", "rejected" (paid, but of no use) or "failed".

    `key` is a hash of everything that was sent; `cost` is in dollars, None without a price.
    `chunk`, `document` and `question` say what it was for.
    """

    key: str
    purpose: str
    model: str
    status: str
    reply: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False
    cut: bool = False
    cost: float | None = None
    seconds: float = 0.0
    chunk: str = ""
    document: str = ""
    question: str = ""
    run: str = ""


@dataclass(frozen=True)
class Total:
    """A sum over calls; `estimated` where some of the tokens are, `unpriced` counts calls."""

    what: str
    calls: int
    tokens_in: int
    tokens_out: int
    estimated: bool
    cost: float
    unpriced: int
    seconds: float


@dataclass(frozen=True)
class Said:
    """A description and the passage that it rests on.

    `model` wrote it, "" where the file of a graph had it.
    """

    description: Description
    chunk: str
    document: str
    title: str
    page: int | None
    model: str


class SentenceName(NamedTuple):
    """A name that a sentence has: the entity that it means, its words and its type."""

    node: str
    text: str
    type: str


def now() -> str:
    """The time as text, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def clean_name(name: str) -> str:
    """A file's name as it can be stored: a label, never a path.

    Raises
    ------
    ParameterError
        Nothing is left of it, or nothing but dots and slashes.
    """
    clean = "".join(c for c in storable(name.replace("\0", "")) if c.isprintable()).strip()[:255]
    # documents are called by the label, which for names of dots would be one and the same
    if not clean or label(clean) == "document" not in clean:
        raise ParameterError(f"{name!r} cannot be the name of a file; rename the file.")
    return clean


class Aspect(StrEnum):
    """Aspect that is examined; its comment lists the values of its diagnosis."""

    FILE = "file"
    DISK = "disk"  # size, free
    PAGES = "pages"
    TABLES = "tables"
    TEXTS = "texts"
    LOG = "log"
    PASSAGES = "passages"  # passages, or grown
    SEARCH = "search"
    VECTORS = "vectors"
    JOBS = "jobs"
    RUNS = "runs"
    GRAPH_ANEW = "graph anew"  # grown
    SEARCH_ANEW = "search anew"


class FaultKind(StrEnum):
    """Kind of fault; its comment lists the values it has."""

    MISSING_FILE = "missing_file"  # place
    REFUSED = "refused"  # error
    LITTLE_SPACE = "little_space"
    UNREADABLE = "unreadable"  # error
    UNSOUND = "unsound"  # error
    OTHER_DEFINITION = "other_definition"  # table
    CHANGED_DOCUMENT = "changed_document"  # document
    CHANGED_PASSAGE = "changed_passage"  # passage, document
    MISPLACED_PASSAGE = "misplaced_passage"  # passage, document
    CHANGED_EXTRACTION = "changed_extraction"  # passage
    SHOWN_PASSAGE = "shown_passage"  # passage, document
    MISSING_PASSAGE = "missing_passage"  # passage, document
    NOT_INDEXED = "not_indexed"  # passage
    LOOSE_ENTRY = "loose_entry"  # entry
    WRONG_LENGTH = "wrong_length"  # key, size, dimension
    CHANGED_VECTOR = "changed_vector"  # key
    LOST_VECTORS = "lost_vectors"  # node
    MISSING_VECTORS = "missing_vectors"  # many
    DEAD_JOB = "dead_job"  # job
    PAUSED_JOB = "paused_job"  # job
    NO_JOB = "no_job"  # file
    DAMAGED_RUN = "damaged_run"  # key
    DAMAGED_VECTORS = "damaged_vectors"
    DIFFERENT_ROWS = "different_rows"  # many, table
    OTHER_INDEX = "other_index"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, with its values."""

    kind: FaultKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Diagnosis:
    """Faults of one aspect, if any; the values are those of the `Aspect`."""

    aspect: Aspect
    faults: tuple[Fault, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


def fault(kind: FaultKind, **values: Any) -> Fault:
    """A fault from its values."""
    return Fault(kind, values)


Packed = npt.NDArray[np.int8]
"""Rows of vectors, each in proportion to its largest number; see `pack_vectors`."""

KINDS = ("word", "pair", "key", "part", "term", "sentences")
"""The kinds of facts; a row has the number of one."""

EDGE_KINDS = ("by_hand", "", "mention", "relation", "synonym")
"""The kinds of edges; a row has the number of one, and none has 1."""

BY_HAND, MENTION, RELATION, SYNONYM = map(EDGE_KINDS.index, ("by_hand", "mention", "relation", "synonym"))

SENTENCE = np.dtype(">u4")

DIGITS = 15  # of 4 bits, of an id in its number
_DIGITS = np.full(256, -1)
_DIGITS[list(b"0123456789abcdef")] = np.arange(16)

_PLACE = struct.Struct(">qI")  # the number of a passage's node, and that of a sentence

EdgeRow = tuple[int, int, int, str, float, int, bytes]
"""A row of the table of edges: numbers of nodes and kind, label, similarity, count and evidence."""


def checksum(*content: object) -> str:
    """Return 96 bits of the SHA-256 of some values, by which `qafd doctor` finds damaged rows."""
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
    numbers: Nodes = digits @ (16 ** np.arange(DIGITS - 1, -1, -1))
    return numbers


def pack_evidence(edge: Edge) -> bytes:
    """Return the sentences of an edge; for a mention only their numbers, since its target is their
    passage."""
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
    """Return the places of an edge other than a mention: numbers of passages' nodes, and of sentences."""
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
