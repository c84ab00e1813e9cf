"""The files of a workspace for people: their state, their problems, and their documents as they are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qafd.records import Chunk, Mark
from qafd.storage import Workspace
from qafd.storage.rows import File, Head

_STATES = {"queued": "waiting", "parsing": "reading"}


@dataclass(frozen=True)
class FileLine:
    """A file in the list. `read` is the share of its passages that are read, None where none can.

    `doubt` is a notice about how a model read it.
    """

    file: File
    state: str
    read: float | None
    doubt: str = ""

    @property
    def gone(self) -> bool:
        """True if it is deleted."""
        return self.file.deleted_at is not None

    @property
    def happened(self) -> str:
        """All that there is to say of it."""
        return " ".join(filter(None, [self.file.error, self.doubt, *self.file.notices]))

    @property
    def retriable(self) -> bool:
        """True if reading it again could find more."""
        return not self.gone and (self.file.status in ("failed", "cancelled") or bool(self.doubt))


def listing(files: Sequence[File], doubts: Mapping[str, str], working: bool) -> tuple[FileLine, ...]:
    """Build one line for each file; without `working`, begun files count as interrupted."""
    return tuple(FileLine(file, _state(file, working), _read(file), doubts.get(file.name, ""))
                 for file in files)


def _state(file: File, working: bool) -> str:
    if file.deleted_at is not None:
        return "deleted"
    if file.status in ("parsing", "extracting") and not working:
        return "interrupted"
    if file.status == "cancelled" and not file.passages:
        return "not begun"
    return _STATES.get(file.status, file.status)


def _read(file: File) -> float | None:
    if file.deleted_at is not None or (file.status == "failed" and not file.passages):
        return None
    return file.extracted / file.passages if file.passages else float(file.status == "done")


REPLIES = 2  # the latest of a passage


@dataclass(frozen=True)
class Unread:
    """A passage, the `number`-th of its document, why it was not read, and the raw replies.

    The latest reply comes first; it is "" where the endpoint sent nothing that could be read.
    """

    document: str
    number: int
    chunk: str
    page: int | None
    reason: str
    replies: tuple[str, ...]


def unread(store: Workspace, file: str) -> tuple[Unread, ...]:
    """Return the passages of a file that the model did not read, or read in part, in order.

    Raises
    ------
    StoreError
        There is no such file.
    """
    with store.snapshot():
        rows = store.log.unread(file)
        replies = store.ledger.useless_replies([row.chunk for row in rows], REPLIES)
    return tuple(Unread(row.document, row.number, row.chunk, row.page, row.reason or _why(row.status),
                        replies.get(row.chunk, ())) for row in rows)


def _why(status: str) -> str:
    if status == "rejected":
        return "no reply of the model could be used"
    return "the last call to the model failed"


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
