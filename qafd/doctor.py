"""The doctor: what is wrong with a workspace, found without changing it."""

import hashlib
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from qafd.assemble import Reading, assemble
from qafd.edits import apply_edits, connect_by_hand
from qafd.errors import StoreError
from qafd.records import Check, Vectors
from qafd.storage import Workspace
from qafd.storage.rows import checksum, embedding_key, vector_keys
from qafd.storage.sqlite import SqliteWorkspace, opening, schema, tables
from qafd.storage.sqlite.file import WorkspaceFile
from qafd.storage.sqlite.log import CHUNK
from qafd.storage.sqlite.runs import plan_holds

SQLITE = (3, 37, 0)
REBUILD = "rebuild the graph (`qafd index --rebuild`)"
GROWN = "The log has grown since the graph was assembled; `qafd index` brings it up to date."


def doctor(path: str | os.PathLike[str] | None = None, deep: bool = False) -> list[Check]:
    """Check the installation and, if one is named, a workspace; nothing is written or mended.

    Parameters
    ----------
    deep : bool
        Also make the graph anew from the log and compare: some seconds per thousand passages.
    """
    checks = [_sqlite()]
    if path is None:
        return checks
    place = Path(path)
    if not place.is_file():
        return [*checks, Check("file", False, f"There is no workspace at {place}.")]
    checks.append(_space(place))
    try:
        with closing(opening.connect(place, read_only=True)) as connection:
            found = schema.check_version(connection, place)
            checks.append(_schema(found))
            if found != len(tables.STEPS):
                return checks
            store = SqliteWorkspace(WorkspaceFile(connection, place))
            for look in LOOKS if not deep else (*LOOKS, _graph_anew, _search_anew):
                with _damage_is_a_finding(look, checks):
                    checks.append(look(store))
    except StoreError as error:
        checks.append(Check("file", False, str(error)))
    return checks


@contextmanager
def _damage_is_a_finding(look: Callable[[Workspace], Check], checks: list[Check]) -> Iterator[None]:
    # A damaged page surfaces as any of these, wherever it is read.
    try:
        yield
    except (StoreError, sqlite3.DatabaseError, UnicodeDecodeError, ValueError, TypeError,
            LookupError, zlib.error) as error:
        checks.append(Check(
            look.__name__.strip("_").replace("_", " "), False,
            f"This cannot be read ({error}); restore a backup."))


def _sqlite() -> Check:
    wanted = ".".join(map(str, SQLITE))
    return Check("sqlite", sqlite3.sqlite_version_info >= SQLITE,
                 f"SQLite {sqlite3.sqlite_version}; {wanted} or newer is needed.")


def _space(path: Path) -> Check:
    size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    free = shutil.disk_usage(path.parent).free
    return Check("disk", free >= 2 * size,
                 f"{free / 1e6:,.0f} MB are free beside a workspace of {size / 1e6:,.1f} MB; "
                 "twice its size is wanted for upgrades and backups.")


def _schema(found: int) -> Check:
    newest = len(tables.STEPS)
    return Check("schema", found == newest, f"Schema {found} of {newest}." if found == newest else
                 f"Schema {found} of {newest}; the next command that writes brings it up to date, "
                 "after a backup.")


def _pages(store: Workspace) -> Check:
    with store.snapshot() as connection:
        faults = schema.unsound(connection)
    return _verdict("pages", faults, "SQLite finds all pages, indexes and references sound",
                    "restore a backup")


def _tables(store: Workspace) -> Check:
    """Every table as a new workspace would have it, and readable; others do not matter."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        schema.migrate(fresh, Path("fresh"))
        query = "SELECT name, sql FROM sqlite_master"
        with store.snapshot() as connection:
            found = dict(connection.execute(query))
            faults = [f"{name} is not defined as it should be"
                      for name, sql in fresh.execute(query) if found.get(name) != sql]
            for table in () if faults else tables.TEXTUAL:
                for _ in connection.execute(f"SELECT * FROM {table}"):
                    pass  # text that is none raises
    return _verdict("tables", faults, "Every table is defined as it should be", "restore a backup")


def _mode(store: Workspace) -> Check:
    with store.snapshot() as connection:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "wal":
        return Check("log mode", True, "The write-ahead log is on.")
    return Check("log mode", mode == "delete", "The write-ahead log is off: the file has not been "
                 "opened for writing yet, or its file system does not support it.")


def _texts(store: Workspace) -> Check:
    faults = []
    with store.snapshot() as connection:
        texts = {}
        for name, title, kind, text, marks, stamped in connection.execute(
                "SELECT name, title, kind, text, marks, sha256 FROM documents"):
            texts[name] = text
            if checksum(title, kind, text, marks) != stamped:
                faults.append(f"{name} is not as it was stored")
        for key, document, text, start, end, stamped in connection.execute(
                'SELECT id, document, text, start, "end", sha256 FROM chunks'):
            if checksum(text) != stamped:
                faults.append(f"passage {key} of {document} is not as it was stored")
            elif texts[document][start:end] != text:
                faults.append(f"passage {key} is not at its place in {document}")
    return _verdict("texts", faults, "Every document and passage is as it was stored",
                    "delete and add that document again")


def _log(store: Workspace) -> Check:
    """Spans inside their passages, sentences that exist, entries as they were stored."""
    with store.snapshot() as connection:
        faults = [f"{what} of passage {key} lies outside of it" for what, key in connection.execute(
            "WITH entry AS (SELECT extractions.id, chunk, length(text) AS size, "
            "  (SELECT count(*) FROM sentences WHERE extraction = extractions.id) AS many "
            "  FROM extractions JOIN chunks ON chunks.id = chunk) "
            "SELECT 'sentence ' || position, chunk FROM sentences "
            "  JOIN entry ON entry.id = extraction "
            'WHERE NOT (0 <= start AND start <= "end" AND "end" <= size) '
            "UNION ALL SELECT 'the name ' || name, chunk FROM mentions "
            "  JOIN entry ON entry.id = extraction "
            'WHERE NOT (0 <= start AND start <= "end" AND "end" <= size '
            "  AND 0 <= sentence AND sentence < max(many, 1)) "
            "UNION ALL SELECT 'the relation ' || label, chunk FROM assertions "
            "  JOIN entry ON entry.id = extraction "
            "WHERE NOT (0 <= sentence AND sentence < many)")]
        stamped = dict(connection.execute(
            "SELECT live.id, extractions.sha256 FROM live "
            "JOIN extractions ON extractions.id = extraction"))
        faults += [f"what was found in passage {extraction.chunk} is not as it was stored"
                   for extraction in store.log.read().extractions
                   if checksum(extraction, *extraction.descriptions) != stamped[extraction.chunk]]
    return _verdict("log", faults, "Every extraction fits its passage",
                    "delete and add that document again")


def _passages(store: Workspace) -> Check:
    """Passages of the graph against the live log, as far as the graph claims to be that new."""
    with store.snapshot() as connection:
        if store.graph.stale:
            return Check("passages", True, GROWN)
        live, shown = (set(connection.execute(f"SELECT {CHUNK} FROM {table}"))
                       for table in ("live", "passages"))
    faults = [f"passage {row[0]} of {row[1]} is shown but deleted or changed"
              for row in shown - live]
    faults += [f"passage {row[0]} of {row[1]} is missing from the graph" for row in live - shown]
    return _verdict("passages", faults, f"The graph has the {len(live)} passages of the log",
                    REBUILD)


def _edges(store: Workspace) -> Check:
    with store.snapshot() as connection:
        faults = list(store.graph.altered())
        faults += [f"an edge leads to node {row[0]}, which does not exist"
                  for row in connection.execute(
            "SELECT source FROM edges WHERE source NOT IN (SELECT id FROM nodes) "
            "UNION SELECT target FROM edges WHERE target NOT IN (SELECT id FROM nodes)")]
        faults += [f"the passage node {row[0]} has no passage" for row in connection.execute(
            "SELECT id FROM nodes WHERE kind = 'passage' AND key NOT IN (SELECT id FROM passages)")]
        faults += [f"passage {row[0]} has no node" for row in connection.execute(
            "SELECT id FROM passages WHERE id NOT IN ("
            "  SELECT key FROM nodes WHERE kind = 'passage')")]
        faults += [f"an edge of {row[0]} rests on passage {row[1]}, which is not in the graph"
                   for row in connection.execute(
            "SELECT DISTINCT source, json_extract(value, '$[0]') AS passage "
            "FROM edges, json_each(evidence) WHERE passage NOT IN (SELECT id FROM passages)")]
    return _verdict("graph", faults, "The graph is as it was assembled; every edge joins two "
                    "nodes and rests on passages", REBUILD)


def _search(store: Workspace) -> Check:
    with store.snapshot() as connection:
        faults = [f"passage {row[0]} is not in the search index" for row in connection.execute(
            "SELECT id FROM passages WHERE rowid NOT IN (SELECT id FROM passages_fts_docsize)")]
        faults += [f"entry {row[0]} of the search index has no passage"
                   for row in connection.execute(
            "SELECT id FROM passages_fts_docsize WHERE id NOT IN (SELECT rowid FROM passages)")]
    return _verdict("search", faults, "Every passage is in the search index", REBUILD)


def _vectors(store: Workspace) -> Check:
    with store.snapshot() as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        model, dimension = meta.get("embedder", ""), int(meta.get("dimension", "0"))
        earlier = meta.get("earlier_embedder", model), store.vectors.earlier[1]
        faults = [f"vector {key[:12]} is of {other} ({size}), not of {model} ({dimension})"
                  for key, other, size in connection.execute(
            "SELECT key, model, dimension FROM embeddings "
            "WHERE NOT (model = ? AND dimension = ? OR model = ? AND dimension = ?) "
            "OR length(vector) != 4 * dimension", (model, dimension, *earlier))]
        for what, size, query, values in (
                ("the vector {} in embeddings", dimension,
                 "SELECT key, vector FROM embeddings WHERE model = ?", (model,)),
                ("the earlier vector {} in embeddings", earlier[1],
                 "SELECT key, vector FROM embeddings WHERE model = ? AND model != ?",
                 (earlier[0], model)),
                ("the vector {} in nodes", dimension, "SELECT id, vector FROM nodes", ()),
                ("the name_vector {} in nodes", dimension,
                 "SELECT id, name_vector FROM nodes", ())):
            faults += _bad_vectors(connection.execute(query, values).fetchall(), size, what)
        if not store.graph.stale and (missing := len(store.vectors.missing(_needed(store, model)))):
            faults.append(f"{missing} vectors that the graph was made of are missing")
    return _verdict("vectors", faults, "Every vector has its length and is of unit norm",
                    "embed the workspace anew (`qafd index --re-embed`)")


def _needed(store: Workspace, model: str) -> Iterator[str]:
    """The keys of all vectors that the graph is made of."""
    log = store.log.read()
    for chunk, extraction in zip(log.chunks, log.extractions, strict=True):
        yield from vector_keys(model, chunk.title, chunk.text, extraction.sentences)
    with store.snapshot() as connection:
        for (key,) in connection.execute("SELECT key FROM nodes WHERE kind = 'entity'"):
            yield embedding_key(model, key)


def _bad_vectors(rows: Sequence[tuple[str, bytes]], dimension: int, what: str) -> Iterator[str]:
    for key, blob in rows:
        vector = np.frombuffer(blob, "<f4").astype(np.float64)
        if len(vector) != dimension:
            yield f"{what.format(key[:12])} has {len(vector)} numbers, not {dimension}"
        elif not np.isfinite(vector).all():
            yield f"{what.format(key[:12])} holds NaN or infinity"
        elif abs(float(np.linalg.norm(vector)) - 1) > 1e-3:
            yield f"{what.format(key[:12])} has the norm {np.linalg.norm(vector):.3g}, not 1"


def _waiting(store: Workspace) -> Check:
    with store.snapshot() as connection:
        idle = store.queue.writer is None
        faults = [f"job {row[0]} was left by a process that ended" for row in connection.execute(
            "SELECT id FROM jobs WHERE state = 'running'") if idle]
        faults += [f"job {row[0]} is paused, since the disk was full" for row in connection.execute(
            "SELECT id FROM jobs WHERE state = 'paused'")]
        faults += [f"{row[0]} waits for no job" for row in connection.execute(
            "SELECT name FROM files WHERE status IN ('queued', 'parsing', 'extracting') "
            "AND deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM jobs "
            "  WHERE id = files.job AND state IN ('queued', 'running', 'paused'))") if idle]
    return _verdict("jobs", faults, "No job is stuck", "run `qafd index` to go on")


def _retrievals(store: Workspace) -> Check:
    with store.snapshot() as connection:
        faults = [f"the stored retrieval {key} is damaged" for key, body, digest in
                  connection.execute("SELECT id, body, sha256 FROM retrievals")
                  if hashlib.sha256(zlib.decompress(body)).hexdigest() != digest]
    return _verdict("retrievals", faults, "Every stored retrieval is as it was saved",
                    "ask the question again")


def _plans(store: Workspace) -> Check:
    """Plans without a checksum are from before there were any, and never used."""
    with store.snapshot() as connection:
        faults = [f"the kept plan of {row[0]!r} is damaged" for row in connection.execute(
                      "SELECT question, body, embedding, keyword_embeddings FROM plans")
                  if "sha256" in str(row[1]) and not plan_holds(*row)]
    return _verdict("plans", faults, "Every kept plan is as it was saved",
                    "its question is read anew when it is asked")


def _graph_anew(store: Workspace) -> Check:
    """Nodes, edges and vectors against a fresh assembly of the log from the stored vectors."""
    with store.snapshot() as connection:
        if store.graph.stale:
            return Check("graph anew", True, GROWN)
        if not _vectors(store).ok:
            return Check("graph anew", False, "The graph cannot be made anew from damaged vectors; "
                         "embed the workspace anew (`qafd index --re-embed`).")
        model = dict(connection.execute("SELECT key, value FROM meta")).get("embedder", "")
        log = store.log.read()
        readings = []
        for chunk, extraction in zip(log.chunks, apply_edits(log.extractions, log.edits), strict=True):
            rows = _stored(store, vector_keys(
                model, chunk.title, chunk.text, extraction.sentences))
            readings.append(Reading(chunk, extraction, rows[0], rows[1:]))
        if readings:
            made = connect_by_hand(assemble(readings, lambda names: _stored(
                store, [embedding_key(model, name) for name in names])), log.edits)
            found = store.graph.differences(log, made.nodes, made.edges, made.alignment, made.names)
        else:
            nothing = np.zeros((0, 0), np.float32)
            found = store.graph.differences(log, (), (), nothing, nothing)
    faults = [f"{many} rows of {table} differ" for table, many in found.items() if many]
    return _verdict("graph anew", faults, "The graph is the one that the log gives", REBUILD)


def _search_anew(store: Workspace) -> Check:
    """The search index, word by word, against a fresh one over the same passages."""
    with store.snapshot() as connection, closing(sqlite3.connect(":memory:")) as fresh:
        fresh.execute("CREATE VIRTUAL TABLE passages_fts USING fts5 ("
                      f"title, text, content='', tokenize='{tables.WORDS}')")
        fresh.executemany(
            "INSERT INTO passages_fts (rowid, title, text) VALUES (?, ?, ?)",
            connection.execute("SELECT rowid, title, text FROM passages ORDER BY rowid"))
        same = _instances(connection) == _instances(fresh) and all(
            _matches(connection, word) == _matches(fresh, word)
            for (word,) in fresh.execute("SELECT DISTINCT term FROM temp.words").fetchall())
    return _verdict("search anew", [] if same else ["the search index is not that of the passages"],
                    "The search index is the one that the passages give", REBUILD)


def _instances(connection: sqlite3.Connection) -> str:
    connection.execute("CREATE VIRTUAL TABLE temp.words "
                       "USING fts5vocab ('main', 'passages_fts', 'instance')")
    total = hashlib.sha256()
    for row in connection.execute(
            "SELECT term, doc, col, offset FROM temp.words ORDER BY 1, 2, 3, 4"):
        total.update(repr(row).encode())
    return total.hexdigest()


def _matches(connection: sqlite3.Connection, word: str) -> list[tuple[int, float]]:
    # an index can be damaged so that it lists all words and still finds some of them nowhere
    return connection.execute(
        "SELECT rowid, bm25(passages_fts) FROM passages_fts WHERE passages_fts MATCH ? "
        "ORDER BY rowid", (f'"{word}"',)).fetchall()


def _stored(store: Workspace, keys: Sequence[str]) -> Vectors:
    found = store.vectors.get(keys)
    missing = [key for key in keys if key not in found]
    if missing:
        raise StoreError(f"{len(missing)} vectors that the graph was made of are missing")
    return np.array([found[key] for key in keys])


def _verdict(name: str, faults: Sequence[str], fine: str, remedy: str) -> Check:
    if not faults:
        return Check(name, True, f"{fine}.")
    more = f" ({len(faults)} such findings)" if len(faults) > 1 else ""
    return Check(name, False, f"{faults[0][0].upper()}{faults[0][1:]}{more}; {remedy}.")


LOOKS: tuple[Callable[[Workspace], Check], ...] = (
    _pages, _tables, _mode, _texts, _log, _passages, _edges, _search, _vectors, _waiting,
    _retrievals, _plans)
