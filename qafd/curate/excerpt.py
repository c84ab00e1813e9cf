"""A document as it is read: some of its passages in order."""

from dataclasses import dataclass

from qafd.records import Chunk, Mark
from qafd.storage import Workspace
from qafd.storage.rows import Head

SIZE = 40  # passages of an excerpt: some 40,000 characters
BEFORE = 8  # of them before the one that is asked for


@dataclass(frozen=True)
class Passage:
    """The passage with a number, from 1 on; `above` is the text between it and the one before."""

    number: int
    chunk: Chunk
    above: str

@dataclass(frozen=True)
class Excerpt:
    """Some passages of a document that has `document.passages` of them, and where pages begin."""

    document: Head
    passages: tuple[Passage, ...]
    marks: tuple[Mark, ...] = ()

    @property
    def first(self) -> int:
        """The number of its first passage, 1 where there is none."""
        return self.passages[0].number if self.passages else 1

    @property
    def last(self) -> int:
        """The number of its last passage, 0 where there is none."""
        return self.passages[-1].number if self.passages else 0


def read_excerpt(store: Workspace, document: str, first: int = 1, size: int = SIZE) -> Excerpt:
    """Read the passages of a document from a number on, also of deleted documents.

    Raises
    ------
    StoreError
        There is no such document.
    """
    with store.snapshot():
        head = store.documents.head(document)
        first = max(1, min(first, head.passages - size + 1))
        before = max(1, first - 1)
        chunks = store.documents.passages(document, before, first + size - before)
        start = chunks[0].start if chunks and before > 1 else 0
        text, marks = store.documents.part(document, start, chunks[-1].end if chunks else start)
    passages, end = [], start
    for number, chunk in enumerate(chunks, before):
        above = text[end - start:chunk.start - start].strip()
        if number >= first:
            passages.append(Passage(number, chunk, above))
        end = chunk.end
    return Excerpt(head, tuple(passages), marks)


def around(number: int) -> int:
    """Return the start of an excerpt that has a passage near its beginning."""
    return max(1, number - BEFORE)
