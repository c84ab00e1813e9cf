"""Erasing a document for good: what goes with it, what stays, and no byte of it in the file."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from qafd.errors import BusyError
from qafd.ingest import bring_up_to_date
from qafd.ingest.engine import BatchExtractor
from qafd.ingest.reader import NO_KEYS, Keys, Local, chosen, engine_of
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.reading.names import LocalExtractor
from qafd.storage import Workspace, open_workspace
from qafd.storage.rows import now
from qafd.view.panel import counted

NAMED = 5  # names in a sentence
STAYS = ("Other documents stay, with every name that they have too, even where they say the same. "
         "Questions you asked or wrote for Evaluate, edits by hand with their names and notes, and "
         "what models have cost stay. Backups, exports and bundles that you made hold what they "
         "held.")
"""What erasing does not touch, for people."""


@dataclass(frozen=True)
class Footprint:
    """What goes with files or documents: counts; `runs` of the history."""

    names: tuple[str, ...]
    documents: int
    passages: int
    replies: int
    runs: int

    @property
    def sentence(self) -> str:
        """What would go, for people."""
        return f"Erasing {self._named} removes {self._goes} There is no undo."

    @property
    def past(self) -> str:
        """What went, for people."""
        return f"Erased {self._named}: {self._goes}"

    @property
    def _named(self) -> str:
        more = len(self.names) - NAMED
        return ", ".join(self.names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")

    @property
    def _goes(self) -> str:
        counts = ((self.documents, "document"), (self.passages, "passage"))
        what = " and ".join(counted(*count) for count in counts if count[0]) or "all bytes"
        replies = f", {counted(self.replies, 'reply')} of models" if self.replies else ""
        runs = (f", {counted(self.runs, 'kept run')} that quote them or name what only they name"
                if self.runs else "")
        return (f"{what}: text, vectors and what was found there{replies}{runs}, all derived "
                "layers, and copies made before upgrades.")


def footprint(store: Workspace, names: Iterable[str]) -> Footprint:
    """What `erase` would remove.

    Raises
    ------
    StoreError
        There is none of a name, or its file waits to be read.
    """
    names = tuple(dict.fromkeys(names))
    with store.snapshot() as connection:
        documents = set().union(*map(store.documents.names_of, names))
        quoting = set(store.documents.quoting(documents))
        passages = connection.execute(
            "SELECT count(*) FROM chunks WHERE document IN (SELECT value FROM json_each(?))",
            (json.dumps(list(documents)),)).fetchone()[0]
        replies = sum(document in documents or (question != "" and purpose != "plan")
                      for document, question, purpose in connection.execute(
            "SELECT document, question, purpose FROM llm_calls WHERE reply != ''"))
        runs = sum(row[0] in quoting for row in connection.execute(
            "SELECT id FROM runs WHERE deleted_at IS NULL"))
    return Footprint(names, len(documents), passages, replies, runs)


def erase(
    path: str | os.PathLike[str], names: Iterable[str], *,
    extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, keys: Keys = NO_KEYS,
) -> Footprint:
    """Remove files or documents for good, and make the graph and the file anew without them.

    Afterwards their text is neither in the workspace nor in what SQLite, upgrades and workers keep
    beside it. What a file system or a disk remembers of overwritten files is beyond this.

    Returns
    -------
    Footprint
        What went.

    Raises
    ------
    StoreError
        There is none of a name, or its file waits to be read. Nothing was changed.
    BusyError
        Another process is indexing, and nothing was changed; or one reads an earlier state, which
        therefore stays in the write-ahead log.
    MissingKeyError
        The embedding model needs a key. Nothing was changed.
    ModelError
        The graph could not be made anew. It is empty; everything else is done.
    """
    with open_workspace(path) as store:
        if store.queue.writer is not None:
            raise BusyError(f"Process {store.queue.writer} is indexing {store.path.name}, so nothing was "
                            "erased; do it again when that has ended, or cancel its jobs.")
        with store.queue.lease():
            return _erased(store, names, keys, Local(extractor, embedder))


def _erased(store: Workspace, names: Iterable[str], keys: Keys, local: Local) -> Footprint:
    gone = footprint(store, names)
    engine = engine_of(replace(chosen(store), model=""), store, keys, f"erase {now()}", local)
    store.documents.purge(*gone.names)
    try:
        bring_up_to_date(store, engine)
    except BaseException:  # Ctrl-C too: the old graph quotes it
        store.graph.drop()
        raise
    finally:
        store.scrub()
    return gone
