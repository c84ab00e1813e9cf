"""A log that does not fit in memory: packed, and gone through slice by slice."""

import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from qafd.assemble.claims import aliases_of
from qafd.assemble.readings import Alias, alias_in
from qafd.edits import Edit, apply_edits
from qafd.records import Chunk, Extraction
from qafd.storage.packing import key_of
from qafd.storage.rows import Log

SLICE = 4000  # passages, about, that are in memory at a time


class LogSlice:
    """Whole documents of a log, their passages in its order.

    Attributes
    ----------
    chunks : sequence of Chunk
    keys : sequence of str
        Where the vectors of each passage are kept.
    """

    def __init__(self, chunks: Sequence[Chunk], keys: Sequence[str],
                 raws: Callable[[], Sequence[Extraction]], edits: Sequence[Edit]) -> None:
        self.chunks, self.keys, self._raws, self._edits = chunks, keys, raws, edits

    @cached_property
    def raws(self) -> Sequence[Extraction]:
        """Readings of the passages."""
        return self._raws()

    def passages(self) -> Iterator[tuple[Chunk, Extraction, Alias]]:
        """Each passage with what it states as edits let it be understood, and what keys stand for in its
        document."""
        extractions = apply_edits(self.raws, self._edits)
        documents: dict[str, list[Extraction]] = {}
        for chunk, extraction in zip(self.chunks, extractions, strict=True):
            documents.setdefault(chunk.document, []).append(extraction)
        aliases = {document: aliases_of(some) for document, some in documents.items()}
        for chunk, extraction in zip(self.chunks, extractions, strict=True):
            yield chunk, extraction, alias_in(aliases[chunk.document], extraction)


class PackedLog:
    """The live log at one moment, packed in slices, which come in its order each time.

    Parameters
    ----------
    model : str
        The embedding model.
    """

    def __init__(self, revision: int, edits: Sequence[Edit], model: str) -> None:
        self.revision, self.edits, self.model = revision, edits, model
        self._packed: list[tuple[bytes, bytes]] = []

    def add(self, log: Log) -> LogSlice:
        """Add the documents that come next."""
        pairs = sorted(zip(log.chunks, log.extractions, strict=True),
                       key=lambda pair: (pair[0].document, pair[0].start, pair[0].id))
        chunks, raws = [chunk for chunk, _ in pairs], [extraction for _, extraction in pairs]
        keys = [key_of(self.model, *pair) for pair in pairs]
        self._packed.append((pack((chunks, keys)), pack(raws)))
        return LogSlice(chunks, keys, lambda: raws, self.edits)

    def __iter__(self) -> Iterator[LogSlice]:
        for heads, raws in self._packed:
            chunks, keys = unpack(heads)
            yield LogSlice(chunks, keys, partial(unpack, raws), self.edits)


def pack(content: object) -> bytes:
    """Content of this process as few bytes."""
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)


def unpack(packed: bytes) -> Any:
    """Restore the object that `pack` packed in this process."""
    return pickle.loads(zlib.decompress(packed))  # noqa: S301
