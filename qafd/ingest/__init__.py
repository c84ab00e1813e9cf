"""Files to graph: parse, chunk, extract, embed, log, assemble; stops and resumes anywhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from qafd.errors import BusyError, MissingKeyError, ModelError, ParseError, SpendingCapError
from qafd.graph_cache import keep_columns
from qafd.ingest.engine import Batch, BatchExtractor, Engine, Models, Progress, Readings, never
from qafd.ingest.llm_extract import group_passages
from qafd.ingest.reader import (
    NO_KEYS,
    Keys,
    Local,
    ModelChoice,
    engine_of,
    extractor_of,
    read_choice,
)
from qafd.ingest.update import GraphUpdate
from qafd.models import Recorded
from qafd.models.cost import NO_READING, EmbeddingPlan, RunPlan
from qafd.models.embedder import LocalEmbedder, PassageEmbedder
from qafd.reading.formats.graphs.passages import given_for
from qafd.reading.names import LocalExtractor
from qafd.reading.parsing import (
    ALONE,
    CHILD,
    Ask,
    parse_with_notices,
    refuse_size,
)
from qafd.reading.text import count_tokens
from qafd.records import Chunk
from qafd.sandbox import ForkServer
from qafd.storage import Location, Workspace, open_workspace, size_of
from qafd.storage.rows import DocumentNameError, clean_name, key_of, now
from qafd.time_left import ignore_progress

WAIT_SECONDS = 0.3
BATCH = 16  # passages a child reads at a time
GROWTH = 4  # the graph is assembled anew when the log has grown by this factor


def index(
    location: Location, sources: Iterable[tuple[str, bytes]] = (), *,
    extractor: Callable[[], BatchExtractor] = LocalExtractor,
    embedder: Callable[[], PassageEmbedder] = LocalEmbedder,
    progress: Callable[[Progress], None] = ignore_progress, stopped: Callable[[], bool] = never,
    processes: int | str = 2, keys: Keys = NO_KEYS, run: str = "", patient: bool = False,
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
    processes : int or str
        How many read passages; 1 reads in this process. Or the address of a Dask scheduler whose
        workers read them, as dask://host:8786.
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
    with open_workspace(location) as store:
        given: list[str] = []
        refused: list[str] = []
        for name, data in sources:
            store.files.add(name, data)
            (given if refuse_size(data) is None else refused).append(clean_name(name))
        done = refused
        with ExitStack() as held, Local(extractor, embedder, processes) as local:
            if _take_lease(held, store, given, lambda: patient and not stopped(), progress):
                done = [*refused, *given]  # some of them, if not all, by the other one
            engine: Engine | None = None
            # again, for what others add or delete meanwhile
            while not stopped() and ((names := _claim(store)) or store.graph.stale):
                engine = engine or engine_of(
                    read_choice(store), store, keys, run or f"index {now()}", local)
                extend(store, names, engine, progress, stopped)
                done = [*done, *names]
            if not stopped():
                keep_columns(store)
        return tuple(dict.fromkeys(done))


def _take_lease(held: ExitStack, store: Workspace, names: Sequence[str], patient: Callable[[], bool],
                progress: Callable[[Progress], None]) -> bool:
    """Take the lease of a workspace; return True if another process had it and may have read some
    files.

    Raises
    ------
    BusyError
        Another process has it, and nobody is patient any more.
    """
    waited = False
    while True:
        try:
            held.enter_context(store.lease.hold())
            return waited
        except BusyError:
            if not patient():
                raise
        waited = True
        files = [file for file in store.files.all() if file.name in names]
        progress(Progress("extracting", sum(file.extracted for file in files),
                          sum(file.passages for file in files), "another process reads"))
        time.sleep(WAIT_SECONDS)


def _claim(store: Workspace) -> tuple[str, ...]:
    """Return the unfinished files; if there are none, release the lease in the same transaction.

    Otherwise a file that is added while the run ends would wait for nobody.
    """
    with store.transaction():
        names = tuple(file.name for file in store.files.all()
                      if file.status in ("queued", "parsing", "extracting")
                      and file.deleted_at is None)
        if not names and not store.graph.stale:
            store.lease.give_back()
    return names


def refresh(location: Location, keys: Keys = NO_KEYS) -> None:
    """Bring the graph up to date after a deletion or an undo, in this process.

    Another process may be indexing meanwhile: a graph of an older log never replaces one of
    a newer log.
    """
    with open_workspace(location) as store:
        if store.graph.stale:
            GraphUpdate(store, engine_of(
                replace(read_choice(store), model=""), store, keys, f"refresh {now()}",
                Local(LocalExtractor, LocalEmbedder))).run()


def plan(location: Location, sources: Iterable[tuple[str, bytes]] = (),
         choice: ModelChoice | None = None, anew: bool = False) -> RunPlan:
    """Estimate the cost of the endpoints of a workspace for unread passages and new files.

    Nothing is changed and no call is made. Files that cannot be read cost nothing.

    Parameters
    ----------
    choice : ModelChoice, optional
        By default the workspace's own.
    anew : bool
        All vectors are to be computed again.
    """
    with TemporaryDirectory() as folder, open_workspace(Path(folder, "plan.db")) as aside, \
            open_workspace(aside.place.url if size_of(location) is None else location) as store:
        choice = choice or read_choice(store)
        extractor = extractor_of(choice, store, Recorded([], choice.model))
        name = extractor.name if choice.model else store.log.extractor
        files = [f.name for f in store.files.all() if f.deleted_at is None]
        for new, data in (*store.files.unread(), *sources):
            aside.files.add(new, data)
        added = [file.name for file in aside.files.all()]
        for file in added:
            _parse(aside, file)
        passages: dict[str, Chunk] = {}
        given: dict[str, Chunk] = {}
        for place, names in ((store, files), (aside, added)):
            for file in names:
                passages |= {c.id: c for c in place.log.pending(file, name)}
                given |= {c.id: c for c in place.log.given(file, name).values()}
        groups = group_passages(list(passages.values()), choice.together)
        planned = extractor.plan(groups, choice.in_flight) if choice.model else NO_READING
        if not choice.embedder:
            return planned
        tokens = 3 * _count_unembedded(store, choice.embedder, anew, (passages | given).values())
        rate = choice.embed_rate
        return replace(planned, embedding=EmbeddingPlan(tokens, None if rate is None else rate.of(tokens, 0)))


def _count_unembedded(store: Workspace, model: str, anew: bool, unread: Iterable[Chunk]) -> int:
    """Count the tokens of the passages, read or not, whose vectors are not stored."""
    log = store.log.read()
    pairs = list(zip(log.chunks, log.extractions, strict=True))
    keys = [key_of(model, *pair) for pair in pairs]
    missing = store.vectors.missing(keys)
    needed = [chunk for chunk, key in zip(log.chunks, keys, strict=True) if anew or key in missing]
    known = {chunk.id for chunk in log.chunks}
    needed += [chunk for chunk in unread if chunk.id not in known]
    return sum(count_tokens(f"{chunk.title}\n{chunk.text}") for chunk in needed)


def extend(
    store: Workspace, names: Sequence[str], engine: Engine,
    progress: Callable[[Progress], None] = ignore_progress, stopped: Callable[[], bool] = never,
) -> None:
    """Read these files into the log, passage by passage, and assemble the graph.

    The graph is assembled at the end, and before each time the log has grown fourfold, so that the
    first picture comes after the first passages.
    """
    models = engine.models
    failures: defaultdict[str, list[ModelError]] = defaultdict(list)
    names = _stamp(store, models, names)
    tally = Tally()
    assembled = store.log.count_assembled()
    read, before = 0, -1  # passages of this run, and what the log had before it once that matters
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
            _close(store, source, failures.get(source, ()))
        progress(Progress("extracting", tally.done, tally.total, source))
        read += len(chunks)
        # not shortly before the end, where it is done anyway
        to_come = tally.total - tally.done + tally.files
        if to_come <= assembled:
            continue
        before = store.log.count() - read if before < 0 else before
        logged = before + read
        if logged >= GROWTH * assembled and to_come * GROWTH > logged:
            GraphUpdate(store, engine, progress, stopped, final=False).run()
            assembled, given_up = logged, stopped()
    else:
        if not failures:
            store.log.use_extractor(models.extractor)
    progress(Progress("assembling", tally.done, tally.total))
    # what was read before a cancellation shall be seen; a graph alone can wait
    seen = tally.total and stopped() and not given_up
    GraphUpdate(store, engine, progress, never if seen else stopped).run()
    for error in chain.from_iterable(failures.values()):
        if isinstance(error, (SpendingCapError, MissingKeyError)):
            raise error


def _stamp(store: Workspace, models: Models, names: Sequence[str]) -> Sequence[str]:
    """Record the models that read, and return the files to read: all if another model read them."""
    store.vectors.stamp(models.embedder, models.dimension)
    if not store.log.extractor:
        store.log.use_extractor(models.extractor)
    elif store.log.extractor != models.extractor:
        # The old graph stays until every passage has been read by the new extractor.
        names = list(dict.fromkeys([*names, *(file.name for file in store.files.all())]))
        store.files.read_again(names)
    return names


def _close(store: Workspace, source: str, failures: Sequence[ModelError]) -> None:
    """Note how the reading of a file ended."""
    if not failures:
        store.files.finish(source)
        return
    often = Counter(str(error) for error in failures).most_common(1)[0][0]
    many = f"{len(failures)} passages were" if len(failures) > 1 else "1 passage was"
    store.files.fail(source, f"{many} not read by the model: {often} Retry reads only what is missing.")


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
            store.log.take_over(name, extractor)
            chunks = store.log.pending(name, extractor)
            if not chunks:
                store.files.finish(name)
            tally.total += len(chunks)
            tally.left[name] = len(chunks)
            tally.files = len(names) - number
            for i in range(0, len(chunks), BATCH):
                yield name, chunks[i:i + BATCH]


def _parse(store: Workspace, name: str, ask: Ask = ALONE) -> None:
    data = store.files.claim(name)
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
    """Write what was read of a batch, all of it or nothing."""
    doubts = readings.doubts or ("",) * len(chunks)
    with store.transaction():
        for passage, extraction, vectors, doubt in zip(
                chunks, readings.extractions, readings.vectors, doubts, strict=True):
            key = key_of(models.embedder, passage, extraction)
            store.log.put(passage, extraction, {key: vectors}, doubt)


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
    """Remove files or documents for good, and rebuild the graph and the file without them.

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
