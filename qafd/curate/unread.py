"""Passages that were not read as they should be: by a model, with its replies, or by no rules."""

import json
from collections import defaultdict
from dataclasses import dataclass

from qafd.edits import MENTION_KINDS
from qafd.errors import StoreError
from qafd.reading.names.languages import OTHER, language_of
from qafd.storage import Workspace

REPLIES = 2  # the latest of a passage
NAMED = 3  # files of a notice that it names


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
    """The passages of a file that the model did not read, or not in whole, in order.

    Raises
    ------
    StoreError
        There is no such file.
    """
    with store.snapshot() as connection:
        if not connection.execute("SELECT 1 FROM files WHERE name = ?", (file,)).fetchone():
            raise StoreError(f"There is no file called {file[:200]!r} in this workspace.")
        rows = connection.execute(
            "WITH called AS (SELECT chunk, status, model, max(id) FROM llm_calls "
            "  WHERE chunk != '' AND purpose = 'extract' GROUP BY chunk) "
            "SELECT document, chunks.position + 1, chunks.id, page, coalesce(reason, "
            "  CASE called.status WHEN 'rejected' THEN 'no reply of the model could be used' "
            "  ELSE 'the last call to the model failed' END) "
            "FROM chunks JOIN documents ON documents.name = document "
            "JOIN files ON files.name = source LEFT JOIN called ON called.chunk = chunks.id "
            "LEFT JOIN (extractions JOIN doubts ON doubts.extraction = extractions.id) "
            "  ON extractions.chunk = chunks.id AND extractor = ? "
            "WHERE source = ? AND (reason IS NOT NULL OR files.status = 'failed' "
            "  AND called.status != 'ok' AND NOT EXISTS (SELECT 1 FROM extractions AS own "
            "    WHERE own.chunk = chunks.id "
            "    AND substr(own.extractor, 1, length(called.model) + 1) = called.model || '/')) "
            "ORDER BY documents.position, chunks.position", (store.log.extractor, file)).fetchall()
        replies: dict[str, tuple[str, ...]] = {}
        for chunk, reply in connection.execute(
                "SELECT chunk, reply FROM llm_calls WHERE status != 'ok' AND purpose = 'extract' "
                "AND chunk IN (SELECT value FROM json_each(?)) ORDER BY id DESC",
                (json.dumps([row[2] for row in rows]),)):
            replies[chunk] = (*replies.get(chunk, ()), reply)[:REPLIES]
    return tuple(Unread(*(*row, replies.get(row[2], ()))) for row in rows)


def nameless(store: Workspace) -> str:
    """One sentence on the files in languages of which no rules tell the names, "" for none.

    Korean, Thai, Arabic and the languages of India are such, until a model has read them. A file
    is in one where most of its passages are and none has a name.
    """
    marks = ", ".join("?" * len(MENTION_KINDS))
    found: defaultdict[str, list[bool]] = defaultdict(list)
    named = set()
    with store.snapshot() as connection:
        if connection.execute(
                "SELECT 1 FROM llm_calls WHERE purpose = 'extract' "
                "AND substr(?, 1, length(model) + 1) = model || '/'",
                (store.log.extractor,)).fetchone():
            return ""
        rows = connection.execute(
            "SELECT source, iif(EXISTS (SELECT 1 FROM mentions "
            "  WHERE mentions.extraction = live.extraction "
            f"  AND mentions.kind NOT IN ({marks})), NULL, live.text) "
            "FROM live JOIN documents ON documents.name = live.document "
            "ORDER BY documents.rowid, live.position", MENTION_KINDS)
        for file, text in rows:
            if text is None:
                named.add(file)
            elif file not in named:
                found[file].append(language_of(text) == OTHER)
    files = [file for file, other in found.items()
             if file not in named and 2 * sum(other) > len(other)]
    if not files:
        return ""
    some = ", ".join(files[:NAMED])
    more = len(files) - NAMED
    some += f" and {more} more file{'s' * (more > 1)}" if more > 0 else ""
    return (f"Only titles connect {some}: names in such a language are read by a language model "
            "only, so choose one in Settings and read the documents anew with it.")
