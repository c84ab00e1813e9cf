"""Passages that a model did not read as it should, with its replies."""

from dataclasses import dataclass

from qafd.storage import Workspace

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
