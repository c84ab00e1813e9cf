"""The files of a workspace for people: their state, their contents, their problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qafd.storage import Workspace
from qafd.storage.rows import File

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
