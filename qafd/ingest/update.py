"""The graph updated with its log, vectors that are missing computed on the way."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from qafd.ingest.engine import Engine, Progress, never
from qafd.ingest.incremental import (
    MOST,
    SHARE,
    MissingNamesError,
    MissingVectorsError,
    take_in,
)
from qafd.ingest.postings import begin_anew, changed_documents
from qafd.records import Chunk, Extraction, Vectors
from qafd.storage import Workspace
from qafd.storage.full_assembly import SLICE, FullAssembly, LogSlice, PackedLog, vectors_of
from qafd.storage.rows import embedding_key, key_of
from qafd.time_left import ignore_progress

VECTORS = 64  # passages or names whose vectors are computed and stored at a time
Item = TypeVar("Item")


class _StoppedError(Exception):
    """The assembly had to end between two batches of vectors or of names."""


@dataclass(frozen=True)
class GraphUpdate:
    """An assembly of the graph; `stopped` is asked between batches, True ends it unfinished.

    Vectors that are not stored are computed, so this also completes a change of the embedder.
    They are stored batch by batch, so that the next run continues after the last stored batch.
    Between two parts of a run (not `final`) no facts are kept, since the next part is most of the
    log. Of a whole log about `at_once` passages are in memory at a time.
    """

    store: Workspace
    engine: Engine
    progress: Callable[[Progress], None] = ignore_progress
    stopped: Callable[[], bool] = never
    final: bool = True
    at_once: int = SLICE

    def run(self) -> bool:
        """Assemble the graph of the log as it is now; True when that changed the graph."""
        if not self.store.graph.stale:
            return False
        try:
            changed = self._follow()
            return self._assemble_all() if changed is None else changed
        except _StoppedError:
            return False

    def _follow(self) -> bool | None:
        """Rebuild what the last changes touch, see `qafd.ingest.incremental`; None if that is most of the
        graph."""
        store, model = self.store, self.engine.models.embedder
        while True:
            with store.snapshot():
                documents = changed_documents(store, store.edits.all())
                if documents is None or store.vectors.embedder[0] != model:
                    return None
                log = store.log.read(documents)
                if len(log.chunks) > min(MOST, store.log.count_assembled() / SHARE):
                    return None
            # Their vectors are stored by it, and most of the names', which would end the change.
            missing = self._without_vectors(PackedLog(log.revision, log.edits, model).add(log))
            self._embed_passages(missing, 0, sum(map(_size_of, missing)))
            mentions = chain.from_iterable(extraction.mentions for extraction in log.extractions)
            self._embed_names(sorted({mention.key for mention in mentions}))
            try:
                with _without_collecting(), store.transaction():
                    if store.log.revision == log.revision:
                        return take_in(store, model, documents, log)
            except MissingNamesError as error:
                self._embed_names(error.names)
            except MissingVectorsError:
                return None

    def _assemble_all(self) -> bool:
        store = self.store
        log = self._read_log()
        with _without_collecting():
            made = FullAssembly(log, partial(vectors_of, store), self._embed_names,
                                self._report_compared, self._go_on)
            with store.transaction():
                changed = store.assembly.write(made)
                if self.final and store.log.revision == log.revision:
                    begin_anew(store, made)
                else:  # what is changed meanwhile is not told apart from what this graph has
                    store.postings.clear()
        store.count_anew()
        return changed

    def _read_log(self) -> PackedLog:
        """The log as it is now, all vectors of its passages stored."""
        store = self.store
        sizes: list[int] = []  # of the texts of passages without vectors
        with store.snapshot():
            log = PackedLog(store.log.revision, store.edits.all(), self.engine.models.embedder)
            for part in store.log.slices(self.at_once):
                self._go_on()
                sizes += map(_size_of, self._without_vectors(log.add(part)))
        done = 0
        for some in log if sizes else ():
            missing = self._without_vectors(some)
            self._embed_passages(missing, sum(sizes[:done]), sum(sizes))
            done += len(missing)
        return log

    def _without_vectors(self, some: LogSlice) -> list[tuple[Chunk, Extraction]]:
        """The passages whose vectors are not stored."""
        missing = self.store.vectors.missing(some.keys)
        pairs = zip(some.keys, some.chunks, some.raws, strict=True)
        return [(chunk, extraction) for key, chunk, extraction in pairs if key in missing]

    def _report_compared(self, done: int, total: int) -> None:
        self._go_on()
        self.progress(Progress("comparing names", done, total))

    def _go_on(self) -> None:
        if self.stopped():
            raise _StoppedError

    def _embed_passages(self, missing: Sequence[tuple[Chunk, Extraction]], done: int, total: int) -> None:
        model = self.engine.models.embedder

        def embed(some: Sequence[tuple[Chunk, Extraction]]) -> dict[str, Vectors]:
            vectors: dict[str, Vectors] = {}
            for pair, rows in zip(some, self.engine.reread(some), strict=True):
                vectors[key_of(model, *pair)] = rows
            return vectors

        self._fill(missing, embed, list(map(_size_of, missing)), "sentences", done, total)

    def _embed_names(self, names: Sequence[str]) -> Vectors:
        model = self.engine.models.embedder
        keys = {name: embedding_key(model, name) for name in names}
        unknown = self.store.vectors.missing(keys.values())
        missing = [name for name in names if keys[name] in unknown]

        def embed(some: Sequence[str]) -> dict[str, Vectors]:
            return dict(zip([keys[name] for name in some], self.engine.embed(some), strict=True))

        self._fill(missing, embed, [1] * len(missing), "names", 0, len(missing))
        stored = self.store.vectors.get(keys.values())
        return np.array([stored[keys[name]] for name in names])

    def _fill(self, missing: Sequence[Item], embed: Callable[[Sequence[Item]], dict[str, Vectors]],
              sizes: Sequence[int], what: str, done: int, total: int) -> None:
        """Compute and store what is missing, each batch stored before the next one is computed."""
        for at in range(0, len(missing), VECTORS):
            self._go_on()
            self.progress(Progress("embedding", done + sum(sizes[:at]), total, what))
            self.store.vectors.put(embed(missing[at:at + VECTORS]))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Pause the search for cycles of objects: records have none, and it takes longer than the work.

    That is so for all threads of the process meanwhile, which a worker has to itself.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _size_of(pair: tuple[Chunk, Extraction]) -> int:
    """Return the number of texts of a passage that have vectors."""
    return 1 + len(pair[1].sentences)
