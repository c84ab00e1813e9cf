"""Examination of the content of a workspace, without changing it."""

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator

from qafd.errors import StoreError
from qafd.storage.full_assembly import assemble_stored
from qafd.storage.relational.base import Connection
from qafd.storage.relational.log import CHUNK
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import (
    Aspect,
    Diagnosis,
    Fault,
    FaultKind,
    checksum,
    embedding_key,
    fault,
    key_of,
)

Look = Callable[[Workspace, Connection], Iterator[Fault]]
Looks = tuple[tuple[Aspect, Look], ...]


def look_at(aspect: Aspect, look: Look, store: Workspace, damage: type[Exception]) -> Diagnosis:
    """Return the faults of one check; `damage` is the error that the engine raises for unreadable data."""
    # A damaged page surfaces as any of these, wherever it is read.
    try:
        if aspect in (Aspect.PASSAGES, Aspect.GRAPH_ANEW) and store.graph.stale:
            return Diagnosis(aspect, values={"grown": True})
        with store.snapshot() as connection:
            return Diagnosis(aspect, tuple(look(store, connection)))
    except (StoreError, damage, UnicodeDecodeError, ValueError, TypeError,
            LookupError, zlib.error, struct.error) as error:
        return Diagnosis(aspect, (fault(FaultKind.UNREADABLE, error=error),))


def _texts(_: Workspace, connection: Connection) -> Iterator[Fault]:
    texts = {}
    for name, title, kind, text, marks, stamped in connection.execute(
            "SELECT name, title, kind, text, marks, sha256 FROM documents"):
        texts[name] = text
        if checksum(title, kind, text, marks) != stamped:
            yield fault(FaultKind.CHANGED_DOCUMENT, document=name)
    for key, document, text, start, end, stamped in connection.execute(
            'SELECT id, document, text, start, "end", sha256 FROM chunks'):
        if checksum(text) != stamped:
            yield fault(FaultKind.CHANGED_PASSAGE, passage=key, document=document)
        elif texts[document][start:end] != text:
            yield fault(FaultKind.MISPLACED_PASSAGE, passage=key, document=document)


def _log(store: Workspace, connection: Connection) -> Iterator[Fault]:
    """Entries of the log against their checksums, which cover sentences, names and relations."""
    stamped = dict(connection.execute("SELECT live.id, extractions.sha256 FROM live "
                                      "JOIN extractions ON extractions.id = extraction"))
    for one in store.log.read().extractions:
        if checksum(one, *one.descriptions) != stamped[one.chunk]:
            yield fault(FaultKind.CHANGED_EXTRACTION, passage=one.chunk)


def _passages(_: Workspace, connection: Connection) -> Iterator[Fault]:
    """Passages of the graph against the live log, as far as the graph claims to be that new."""
    live = set(connection.execute(f"SELECT {CHUNK} FROM live"))
    shown = set(connection.execute(f"SELECT {CHUNK} FROM passages"))
    for row in shown - live:
        yield fault(FaultKind.SHOWN_PASSAGE, passage=row[0], document=row[1])
    for row in live - shown:
        yield fault(FaultKind.MISSING_PASSAGE, passage=row[0], document=row[1])


def _vectors(store: Workspace, connection: Connection) -> Iterator[Fault]:
    name, dimension = store.vectors.embedder
    for row, checksum_of, vectors in connection.execute("SELECT id, checksum, vectors FROM embeddings"):
        if not dimension or len(vectors) % dimension:
            yield fault(FaultKind.WRONG_LENGTH, key=row, size=len(vectors), dimension=dimension)
        elif zlib.crc32(vectors) != checksum_of:
            yield fault(FaultKind.CHANGED_VECTOR, key=row)
    for (node,) in connection.execute(
            "SELECT id FROM nodes WHERE vectors NOT IN (SELECT id FROM embeddings) "
            "OR said NOT IN (SELECT id FROM embeddings)"):
        yield fault(FaultKind.LOST_VECTORS, node=node)
    if not store.graph.stale:
        missing = len(store.vectors.missing(_find_needed(store, connection, name)))
        if missing:
            yield fault(FaultKind.MISSING_VECTORS, many=missing)


def _find_needed(store: Workspace, connection: Connection, model: str) -> Iterator[str]:
    """The keys of all vectors that the graph is made of."""
    log = store.log.read()
    for chunk, extraction in zip(log.chunks, log.extractions, strict=True):
        yield key_of(model, chunk, extraction)
    for (key,) in connection.execute("SELECT key FROM nodes WHERE kind = 'entity'").fetchall():
        yield embedding_key(model, key)


def _jobs(store: Workspace, _: Connection) -> Iterator[Fault]:
    idle = store.lease.writer is None
    for job in store.queue.open():
        if job.state == "running" and idle:
            yield fault(FaultKind.DEAD_JOB, job=job.id)
        elif job.state == "paused":
            yield fault(FaultKind.PAUSED_JOB, job=job.id)
    for file in store.queue.files(0) if idle else ():
        yield fault(FaultKind.NO_JOB, file=file)


def _runs(_: Workspace, connection: Connection) -> Iterator[Fault]:
    for key, body, digest in connection.execute("SELECT id, body, sha256 FROM runs"):
        if hashlib.sha256(zlib.decompress(body)).hexdigest() != digest:
            yield fault(FaultKind.DAMAGED_RUN, key=key)


def _graph_anew(store: Workspace, connection: Connection) -> Iterator[Fault]:
    """Nodes, edges and vectors against a fresh assembly of the log from the stored vectors."""
    if any(True for _ in _vectors(store, connection)):
        yield fault(FaultKind.DAMAGED_VECTORS)
        return
    for table, many in store.assembly.differences(assemble_stored(store)).items():
        if many:
            yield fault(FaultKind.DIFFERENT_ROWS, many=many, table=table)


LOOKS: Looks = (
    (Aspect.TEXTS, _texts), (Aspect.LOG, _log), (Aspect.PASSAGES, _passages),
    (Aspect.VECTORS, _vectors), (Aspect.JOBS, _jobs),
    (Aspect.RUNS, _runs))
DEEP: Looks = ((Aspect.GRAPH_ANEW, _graph_anew),)
