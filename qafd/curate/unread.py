"""Passages that were not read as they should be: by a model, with its replies, or by no rules."""

from collections import defaultdict
from dataclasses import dataclass

from qafd.reading.names.languages import OTHER, language_of
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


def find_nameless(store: Workspace) -> tuple[str, ...]:
    """Return the files in languages without rules for names.

    Korean, Thai, Arabic and the languages of India are such, until a model has read them. A file
    is in one where most of its passages are and none has a name.
    """
    found: defaultdict[str, list[bool]] = defaultdict(list)
    named = set()
    with store.snapshot():
        if store.ledger.has_read(store.log.extractor):
            return ()
        for file, text in store.listing.nameless():
            if text is None:
                named.add(file)
            elif file not in named:
                found[file].append(language_of(text) == OTHER)
    return tuple(file for file, other in found.items()
                 if file not in named and 2 * sum(other) > len(other))
