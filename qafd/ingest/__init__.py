"""Files to graph: parse, chunk, extract, embed, log, assemble; stops and resumes anywhere."""

import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from qafd.assemble import Reading, assemble
from qafd.child import ForkServer
from qafd.edits import apply_edits, connect_by_hand
from qafd.errors import BusyError, MissingKeyError, ModelError, ParseError, SpendingCapError
from qafd.ingest.engine import Batch, BatchExtractor, Engine, Models, Readings
from qafd.ingest.reader import NO_KEYS, Keys, Local, ModelChoice, chosen, engine_of, extractor_of
from qafd.models import Recorded
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.models.estimate import NO_READING, RunPlan, plan_embedding
from qafd.pace import silent
from qafd.reading.formats.graphs.passages import given_for
from qafd.reading.names import LocalExtractor
from qafd.reading.parsing import ALONE, CHILD, Ask, parse_with_notices
from qafd.reading.text import count_tokens
from qafd.records import Chunk, Extraction, Vectors
from qafd.storage import Workspace, open_workspace
from qafd.storage.rows import DocumentNameError, clean_name, embedding_key, now, vector_keys

Item = TypeVar("Item")

_ENDS = re.compile(r"[.!?](?=\s|$)")

WAIT_SECONDS = 0.3
BATCH = 16  # passages a child reads at a time
VECTORS = 64  # passages or names whose vectors are computed and stored at a time
GROWTH = 4  # the graph is assembled anew when the log has grown by this factor


@dataclass(frozen=True)
class Progress:
    """How far the indexing has come.

    `stage` is "parsing" (of `total` files), "extracting" (of `total` passages known so far),
    "assembling", "embedding" (of `total` vectors that were missing) or "comparing names" (of
    `total`); `current` names the file or kind of text at work.
    """

    stage: str
    done: int
    total: int
    current: str = ""


def never() -> bool:
    """Do not stop."""
    return False


def index(
    path: str | os.PathLike[str], sources: Iterable[tuple[str, bytes]] = (), *,
    extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder,
    progress: Callable[[Progress], None] = silent, stopped: Callable[[], bool] = never,
    processes: int = 2, keys: Keys = NO_KEYS, run: str = "", patient: bool = False,
) -> tuple[str, ...]:
    """Take files into a workspace and bring its graph up to date; returns the files at work.

    Also finishes what an earlier run left undone. A file that cannot be read is marked
    "failed" with one sentence and harms no other.

    Parameters
    ----------
    sources : iterable of (name, bytes)
    extractor, embedder : callable
        Make the models. With `processes` > 1 every child makes its own, so they must be
        importable from a module.
    stopped : callable
        Asked between passages; True ends the run, and unfinished files are "cancelled".
    processes : int
        How many read passages; 1 reads in this process.
    keys : mapping of str to str
        Address to API key, for the models that the workspace is read with (`qafd.ingest.reader`).
    run : str
        The name of this run in the ledger of calls.
    patient : bool
        Where another process is indexing, wait until it has taken in these files too.

    Raises
    ------
    BusyError
        Another process is indexing the workspace; it will take in these files too.
    EmbedderMismatchError
        It was indexed with another embedding model.
    DiskFullError, ModelError
        What was logged before stays; call again to resume.
    """
    with open_workspace(path) as store:
        given = []
        for name, data in sources:
            store.files.add(name, data)
            given.append(clean_name(name))
        done: list[str] = []
        with ExitStack() as held, Local(extractor, embedder, processes) as local:
            while True:
                try:
                    held.enter_context(store.queue.lease())
                    break
                except BusyError:
                    if not patient or stopped():
                        raise
                done = given  # some of them, if not all, by the other one
                files = [file for file in store.files.all() if file.name in given]
                progress(Progress("extracting", sum(file.extracted for file in files),
                                  sum(file.passages for file in files), "another process reads"))
                time.sleep(WAIT_SECONDS)
            engine: Engine | None = None
            # again, for what others add or delete meanwhile
            while not stopped() and ((names := _claim(store)) or store.graph.stale):
                engine = engine or engine_of(
                    chosen(store), store, keys, run or f"index {now()}", local)
                extend(store, names, engine, progress, stopped)
                done = [*done, *names]
        return tuple(dict.fromkeys(done))


def _claim(store: Workspace) -> tuple[str, ...]:
    """The unfinished files; where nothing is to do, the lease is given back in the same breath.

    Otherwise a file that is added while the run ends would wait for nobody.
    """
    with store.transaction():
        names = tuple(file.name for file in store.files.all()
                      if file.status in ("queued", "parsing", "extracting")
                      and file.deleted_at is None)
        if not names and not store.graph.stale:
            store.queue.give_back_lease()
    return names


def refresh(
    path: str | os.PathLike[str], *, extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder, keys: Keys = NO_KEYS,
) -> None:
    """Bring the graph up to date after a deletion or an undo, in this process.

    Another process may be indexing meanwhile: a graph of an older log never replaces one of
    a newer log.
    """
    with open_workspace(path) as store:
        if store.graph.stale:
            bring_up_to_date(store, engine_of(
                replace(chosen(store), model=""), store, keys, f"refresh {now()}",
                Local(extractor, embedder)))


def plan(path: str | os.PathLike[str], sources: Iterable[tuple[str, bytes]] = (),
         choice: ModelChoice | None = None, anew: bool = False) -> RunPlan:
    """What the endpoints of a workspace would cost for all that is not read, and for new files.

    Nothing is changed and no call is made. Files that cannot be read cost nothing.

    Parameters
    ----------
    choice : ModelChoice, optional
        By default the workspace's own.
    anew : bool
        All vectors are to be computed again.
    """
    with TemporaryDirectory() as folder, open_workspace(Path(folder, "plan.db")) as aside, \
            open_workspace(path if Path(path).exists() else aside.path) as store:
        choice = choice or chosen(store)
        extractor = extractor_of(choice, store, Recorded([], choice.model))
        name = extractor.name if choice.model else store.log.extractor
        files = [f.name for f in store.files.all() if f.deleted_at is None]
        passages = {c.id: c for f in files for c in store.log.pending(f, name)}
        for new, data in (*store.files.unread(), *sources):
            aside.files.add(new, data)
        added = [file.name for file in aside.files.all()]
        given = {c.id: c for f in files for c in store.log.given(f, name).values()}
        for file in added:
            _parse(aside, file)
            passages |= {c.id: c for c in aside.log.pending(file, name)}
            given |= {c.id: c for c in aside.log.given(file, name).values()}
        planned = (extractor.plan(passages.values(), choice.in_flight) if choice.model
                   else NO_READING)
        if not choice.embedder:
            return planned
        known = dict(_embeddable(store, choice.embedder, anew))
        sizes = [size for size in known.values() if size is not None]
        sizes += [(len(_ENDS.findall(c.text)) or 1, count_tokens(f"{c.title}\n{c.text}"))
                  for c in (passages | given).values() if c.id not in known]
        return replace(planned, embedding=plan_embedding(
            store.path, choice.embedder, choice.embed_rate, sizes, len({*files, *added})))


def _embeddable(store: Workspace, model: str, anew: bool
                ) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Every passage of the log with its sentences and tokens, None where its vectors are stored."""
    log = store.log.read()
    pairs = list(zip(log.chunks, log.extractions, strict=True))
    keys = [_keys(model, *pair) for pair in pairs]
    missing = store.vectors.missing(key for some in keys for key in some)
    for (passage, extraction), some in zip(pairs, keys, strict=True):
        wanted = anew or not missing.isdisjoint(some)
        yield passage.id, (len(extraction.sentences), count_tokens(
            f"{passage.title}\n{passage.text}")) if wanted else None


def extend(
    store: Workspace, names: Sequence[str], engine: Engine,
    progress: Callable[[Progress], None] = silent, stopped: Callable[[], bool] = never,
) -> None:
    """Bring these files into the log, passage by passage, and the graph up to date.

    The graph is assembled when the log is four times what the graph was made from, so that the
    first picture comes after the first passages, and at the end.
    """
    models = engine.models
    failures: defaultdict[str, list[ModelError]] = defaultdict(list)
    store.vectors.stamp(models.embedder, models.dimension)
    if not store.log.extractor:
        store.log.use_extractor(models.extractor)
    elif store.log.extractor != models.extractor:
        # The old graph stays until every passage has been read by the new extractor.
        names = list(dict.fromkeys([*names, *(file.name for file in store.files.all())]))
        store.files.reopen(names)
    tally = Tally()
    logged, assembled = store.log.counts()
    given_up = False  # an assembly in between, which no later one shall make up for
    for (source, chunks), readings in engine.read_all(
            _batches(store, names, models.extractor, tally, progress)):
        if stopped():
            store.files.cancel(names)
            break
        _log(store, models, chunks, readings)
        if readings.failed:
            failures[source] += readings.failed
        if tally.count(source, len(chunks) + len(readings.failed)):
            if source in failures:
                store.files.fail(source, _unread(failures[source]))
            else:
                store.files.finish(source)
        progress(Progress("extracting", tally.done, tally.total, source))
        logged += len(chunks)
        # not shortly before the end, where it is done anyway
        to_come = tally.total - tally.done + tally.files
        if logged >= GROWTH * assembled and to_come * GROWTH > logged:
            bring_up_to_date(store, engine, progress, stopped)
            assembled, given_up = logged, stopped()
    else:
        if not failures:
            store.log.use_extractor(models.extractor)
    progress(Progress("assembling", tally.done, tally.total))
    # what was read before a cancellation shall be seen; a graph alone can wait
    seen = tally.total and stopped() and not given_up
    bring_up_to_date(store, engine, progress, never if seen else stopped)
    for error in (error for some in failures.values() for error in some):
        if isinstance(error, (SpendingCapError, MissingKeyError)):
            raise error


def _unread(failures: Sequence[ModelError]) -> str:
    often = Counter(str(error) for error in failures).most_common(1)[0][0]
    many = f"{len(failures)} passages were" if len(failures) > 1 else "1 passage was"
    return f"{many} not read by the model: {often} Retry reads only what is missing."


class _StoppedError(Exception):
    """The assembly was told to end between two batches of vectors or of names."""


def bring_up_to_date(
    store: Workspace, engine: Engine, progress: Callable[[Progress], None] = silent,
    stopped: Callable[[], bool] = never,
) -> bool:
    """Assemble the graph of the log as it is now; True when that changed the graph.

    Vectors that are not stored are computed, so this also completes a change of the embedder.
    They are stored batch by batch: what ends this run, the next one goes on after the last.
    """
    if not store.graph.stale:
        return False
    log = store.log.read()
    if not log.chunks:
        nothing = np.zeros((0, engine.models.dimension), np.float32)
        return store.graph.write(log, (), (), nothing, nothing)
    pairs = list(zip(log.chunks, apply_edits(log.extractions, log.edits), strict=True))

    def compared(done: int, total: int) -> None:
        if stopped():
            raise _StoppedError
        progress(Progress("comparing names", done, total))

    try:
        assembly = connect_by_hand(
            assemble(_readings(store, engine, pairs, progress, stopped),
                     lambda names: _named(store, engine, names, progress, stopped), compared),
            log.edits)
    except _StoppedError:
        return False
    return store.graph.write(
        log, assembly.nodes, assembly.edges, assembly.alignment, assembly.names)


@dataclass
class Tally:
    """Passages read so far, known so far, and still to come for each file; files not parsed yet."""

    done: int = 0
    total: int = 0
    files: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def count(self, source: str, passages: int) -> bool:
        """Count passages as done; True when they were the last of their file."""
        self.done += passages
        self.left[source] -= passages
        return not self.left[source]


def _batches(
    store: Workspace, names: Sequence[str], extractor: str, tally: Tally,
    progress: Callable[[Progress], None],
) -> Iterator[Batch]:
    """The passages still to read, file after file; a file is parsed when its turn comes."""
    with ForkServer(CHILD) as parser:
        for number, name in enumerate(names, 1):
            progress(Progress("parsing", number - 1, len(names), name))
            _parse(store, name, parser.ask)
            store.log.adopt(name, extractor)
            chunks = store.log.pending(name, extractor)
            if not chunks:
                store.files.finish(name)
            tally.total += len(chunks)
            tally.left[name] = len(chunks)
            tally.files = len(names) - number
            for i in range(0, len(chunks), BATCH):
                yield name, chunks[i:i + BATCH]


def _parse(store: Workspace, name: str, ask: Ask = ALONE) -> None:
    data = store.files.begin(name)
    if data is None:
        return
    try:
        parsed = parse_with_notices(name, data, ask=ask)
        passages = list(zip(parsed.documents, parsed.passages, strict=True))
        if not any(chunks for _, chunks in passages):
            raise ParseError("The file holds no text; nothing was added.")
        with store.transaction():  # a passage without what is given for it would be read
            stored = store.documents.put(name, passages, parsed.notices)
            for document, chunks in passages if stored else ():
                if given := parsed.given.get(document.name):
                    for number, one in enumerate(chunks):
                        store.log.give(one, given_for(given, one, opening=not number))
    except (ParseError, DocumentNameError) as error:
        store.files.fail(name, str(error))


def _log(store: Workspace, models: Models, chunks: Sequence[Chunk], readings: Readings) -> None:
    keys = [embedding_key(models.embedder, name) for name in readings.names]
    store.vectors.put(dict(zip(keys, readings.name_vectors, strict=True)))
    doubts = readings.doubts or ("",) * len(chunks)
    for passage, extraction, vectors, doubt in zip(
            chunks, readings.extractions, readings.vectors, doubts, strict=True):
        store.log.put(passage, extraction, dict(zip(
            _keys(models.embedder, passage, extraction), vectors, strict=True)), doubt)


def _keys(model: str, passage: Chunk, extraction: Extraction) -> list[str]:
    return vector_keys(model, passage.title, passage.text, extraction.sentences)


def _readings(
    store: Workspace, engine: Engine, pairs: Sequence[tuple[Chunk, Extraction]],
    progress: Callable[[Progress], None], stopped: Callable[[], bool],
) -> list[Reading]:
    keys = [_keys(engine.models.embedder, *pair) for pair in pairs]
    stored = store.vectors.get(key for some in keys for key in some)
    missing = [i for i, some in enumerate(keys) if not all(key in stored for key in some)]

    def embed(rows: Sequence[int]) -> dict[str, Vectors]:
        read = engine.reread([pairs[i] for i in rows])
        return {key: vector for i, vectors in zip(rows, read, strict=True)
                for key, vector in zip(keys[i], vectors, strict=True)}

    stored |= _filled(store, missing, embed, [len(keys[i]) for i in missing], "sentences",
                      progress, stopped)
    return [
        Reading(passage, extraction, stored[some[0]],
                np.array([stored[key] for key in some[1:]]).reshape(-1, engine.models.dimension))
        for (passage, extraction), some in zip(pairs, keys, strict=True)]


def _named(
    store: Workspace, engine: Engine, names: Sequence[str], progress: Callable[[Progress], None],
    stopped: Callable[[], bool],
) -> Vectors:
    keys = {name: embedding_key(engine.models.embedder, name) for name in names}
    stored = store.vectors.get(keys.values())
    missing = [name for name in keys if keys[name] not in stored]

    def embed(some: Sequence[str]) -> dict[str, Vectors]:
        return dict(zip([keys[name] for name in some], engine.embed(some), strict=True))

    stored |= _filled(store, missing, embed, [1] * len(missing), "names", progress, stopped)
    return np.array([stored[keys[name]] for name in names])


def _filled(
    store: Workspace, missing: Sequence[Item], embed: Callable[[Sequence[Item]], dict[str, Vectors]],
    sizes: Sequence[int], what: str, progress: Callable[[Progress], None],
    stopped: Callable[[], bool],
) -> dict[str, Vectors]:
    """The vectors of what is missing, each batch stored before the next one is computed."""
    found: dict[str, Vectors] = {}
    for at in range(0, len(missing), VECTORS):
        if stopped():
            raise _StoppedError
        progress(Progress("embedding", sum(sizes[:at]), sum(sizes), what))
        fresh = embed(missing[at:at + VECTORS])
        store.vectors.put(fresh)
        found |= fresh
    return found
