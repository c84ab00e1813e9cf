"""The rows that the store hands out, and the keys and checks of what goes in."""

import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qafd.errors import ParameterError, StoreError
from qafd.reading.text.plaintext import label, storable
from qafd.records import Chunk, Extraction, Vectors


class DocumentNameError(StoreError):
    """A file's documents cannot be told apart by name."""


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


PAGES = ("(SELECT coalesce(max(json_extract(value, '$[1]')), 0) "
         "FROM json_each(documents.marks))")
"""The pages of a row of documents, the last by its marks: a passage may span several."""


@dataclass(frozen=True)
class Contents:
    """What a file brings into the graph as it is now.

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
class Edit:
    """What somebody said of an entity, by its key; in force until `undone_at`.

    `action` is "same" (what is called `key` is the entity called `name`, which may only spell it
    differently), "apart" (it is not the entity with the key `name`), "hide" (it is none), "join" (a
    relation `label` leads from it to the entity with the key `name`, says `note`), "cut" (no edge
    between the two that was there before) or "type" (`name` is its type, as a tagger would say).
    """

    id: int
    action: str
    key: str
    name: str
    made_at: str
    undone_at: str | None = None
    label: str = ""
    note: str = ""

    def holds(self, action: str) -> bool:
        """Whether it says this, and is in force."""
        return self.action == action and self.undone_at is None


@dataclass(frozen=True)
class Log:
    """The live extraction log at one moment, in the order of document names and offsets.

    `extractions[i]` belongs to `chunks[i]`, as it was read; see `qafd.storage.sqlite.edits.edited`.
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
class LayerRow:
    """A derived layer that is kept: the version of the graph and of the builder it is from."""

    name: str
    version: str
    builder: int
    built_at: str
    size: int


@dataclass(frozen=True)
class SavedRetrieval:
    """A stored retrieval: everything that is needed to draw it again."""

    id: str
    created_at: str
    revision: int
    sha256: str
    retrieval: dict[str, Any]
    plan: dict[str, Any]
    layout: dict[str, Any]
    run: dict[str, Any] = field(default_factory=dict)


def checksum(*content: object) -> str:
    """SHA-256 of records, texts and numbers; `qafd doctor` finds by it what a disk changed."""
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()


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


def embedding_key(model: str, text: str) -> str:
    """Where the vector of a text is kept: a hash of the model's name and the text."""
    return hashlib.sha256(f"{model}|{text}".encode()).hexdigest()


def vector_keys(
    model: str, title: str, text: str, sentences: Iterable[tuple[int, int]]
) -> list[str]:
    """Where the vectors of a passage and then of its sentences are kept, 1 + s keys.

    All of them depend on the whole passage and its title.
    """
    whole = f"{title}\n{text}"
    return [embedding_key(model, f"passage\n{whole}"),
            *(embedding_key(model, f"sentence {start}-{end}\n{whole}") for start, end in sentences)]

def clean_name(name: str) -> str:
    """A file's name as it can be stored: a label, never a path.

    Raises
    ------
    ParameterError
        Nothing is left of it, or nothing but dots and slashes.
    """
    clean = "".join(c for c in storable(name) if c.isprintable()).strip()[:255]
    # documents are called by the label, which for names of dots would be one and the same
    if not clean or label(clean) == "document" not in clean:
        raise ParameterError(f"{name!r} is no name for a file; rename the file.")
    return clean


def check_finite(vectors: Vectors) -> None:
    """Refuse NaN and infinity, which SQLite would store and cosines would spread.

    Raises
    ------
    ParameterError
        With the number of bad rows.
    """
    bad = int((~np.isfinite(vectors)).any(axis=-1).sum()) if vectors.size else 0
    if bad:
        raise ParameterError(
            f"{bad} of {len(vectors)} embeddings hold NaN or infinity and are not stored; "
            "the embedding model or its file is broken.")

def unpacked(body: bytes) -> dict[str, Any]:
    """The retrieval, plan and layout in a stored body."""
    unpacked: dict[str, Any] = json.loads(zlib.decompress(body))
    return unpacked
