"""Erasing a document for good: what goes with it, what stays, and no byte of it in the file."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from qafd.engine import BatchExtractor
from qafd.extract import LocalExtractor
from qafd.index import bring_up_to_date
from qafd.models import LocalEmbedder, PassageEmbedder
from qafd.reader import NO_KEYS, Keys, Local, chosen, engine_of
from qafd.store import Store, now
from qafd.view.panel import counted

STAYS = ("Other documents stay, with every name that they have too, even where they say the same. "
         "Questions you asked or wrote for Evaluate, edits by hand with their names and notes, and "
         "what models have cost stay. Backups, exports and bundles that you made hold what they "
         "held.")
"""What erasing does not touch, for people."""


@dataclass(frozen=True)
class Footprint:
    """What goes with a file or a document: counts; `runs` of the history."""

    name: str
    documents: int
    passages: int
    replies: int
    runs: int

    @property
    def sentence(self) -> str:
        """What would go, for people."""
        return f"Erasing {self.name} removes {self._goes} There is no undo."

    @property
    def past(self) -> str:
        """What went, for people."""
        return f"Erased {self.name}: {self._goes}"

    @property
    def _goes(self) -> str:
        counts = ((self.documents, "document"), (self.passages, "passage"))
        what = " and ".join(counted(*count) for count in counts if count[0]) or "its file"
        replies = f", {counted(self.replies, 'reply')} of models" if self.replies else ""
        runs = (f", {counted(self.runs, 'kept run')} that quote it or name what only it names"
                if self.runs else "")
        return (f"{what}: text, vectors and what was found in it{replies}{runs}, all derived "
                "layers, and copies made before upgrades.")


def footprint(store: Store, name: str) -> Footprint:
    """What `erase` would remove.

    Raises
    ------
    StoreError
        There is none of that name, or its file waits to be read.
    """
    with store.snapshot() as connection:
        names = store.documents_of(name)
        quoting = set(store.quoting(names))
        passages = sum(connection.execute(
            "SELECT count(*) FROM chunks WHERE document = ?", (one,)).fetchone()[0]
            for one in names)
        replies = sum(document in names or (question != "" and purpose != "plan")
                      for document, question, purpose in connection.execute(
            "SELECT document, question, purpose FROM llm_calls WHERE reply != ''"))
        runs = sum(row[0] in quoting for row in connection.execute(
            "SELECT id FROM runs WHERE deleted_at IS NULL"))
    return Footprint(name, len(names), passages, replies, runs)


def erase(
    path: str | os.PathLike[str], names: Iterable[str], *,
    extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, keys: Keys = NO_KEYS,
) -> tuple[Footprint, ...]:
    """Remove files or documents for good, and make the graph and the file anew without them.

    Afterwards their text is neither in the workspace nor in what SQLite keeps beside it. What a
    file system or a disk remembers of overwritten files is beyond this.

    Returns
    -------
    tuple of Footprint
        What went with each.

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
    with Store.open(path) as store, store.lease():
        gone = tuple(footprint(store, name) for name in dict.fromkeys(names))
        engine = engine_of(replace(chosen(store), model=""), store, keys, f"erase {now()}",
                           Local(extractor, embedder))
        with store.transaction():
            for one in gone:
                store.purge(one.name)
        try:
            bring_up_to_date(store, engine)
        except BaseException:  # Ctrl-C too: the old graph quotes it
            store.drop_graph()
            raise
        finally:
            store.scrub()
    return gone
