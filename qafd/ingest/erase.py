"""Erasing a document for good: what goes with it, what stays, and no byte of it in the file."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from qafd.errors import BusyError
from qafd.ingest.engine import BatchExtractor
from qafd.ingest.reader import NO_KEYS, Keys, Local, engine_of, read_choice
from qafd.ingest.update import GraphUpdate
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.reading.names import LocalExtractor
from qafd.storage import Location, Workspace, open_workspace
from qafd.storage.rows import now


@dataclass(frozen=True)
class Footprint:
    """Counts of the data removed with files or documents; `runs` of the history."""

    names: tuple[str, ...]
    documents: int
    passages: int
    replies: int
    runs: int


def measure_footprint(store: Workspace, names: Iterable[str]) -> Footprint:
    """Count the data that `erase` would remove.

    Raises
    ------
    StoreError
        There is none of a name, or its file waits to be read.
    """
    names = tuple(dict.fromkeys(names))
    with store.snapshot():
        documents = set().union(*map(store.documents.names_of, names))
        quoting = set(store.documents.quoting(documents))
        passages = sum(row.passages for row in store.documents.all() if row.name in documents)
        replies = store.ledger.replies(documents)
        runs = sum(row.id in quoting for row in store.runs.history())
    return Footprint(names, len(documents), passages, replies, runs)


def erase(
    location: Location, names: Iterable[str], *,
    extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, keys: Keys = NO_KEYS,
) -> Footprint:
    """Remove files or documents for good, and make the graph and the file again without them.

    Afterwards their text is neither in the workspace nor in what SQLite, upgrades and workers keep
    next to it. What a file system or a disk remembers of overwritten files is beyond this.

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
        The graph could not be made again. It is empty; everything else is done.
    """
    with open_workspace(location) as store:
        if store.lease.writer is not None:
            raise BusyError(f"Process {store.lease.writer} is indexing {store.place.name}, so "
                            "nothing was erased; do it again when that has ended, or cancel "
                            "its jobs.")
        with store.lease.hold():
            return _erase(store, names, keys, Local(extractor, embedder))


def _erase(store: Workspace, names: Iterable[str], keys: Keys, local: Local) -> Footprint:
    gone = measure_footprint(store, names)
    engine = engine_of(replace(read_choice(store), model=""), store, keys, f"erase {now()}", local)
    store.documents.purge(*gone.names)
    try:
        GraphUpdate(store, engine).run()
    except BaseException:  # Ctrl-C too: the old graph quotes it
        store.assembly.drop()
        raise
    finally:
        store.scrub()
    return gone
