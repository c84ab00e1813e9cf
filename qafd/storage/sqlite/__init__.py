"""The store: documents and the log of extractions in, the knowledge graph out, in one SQLite file.

The graph is a pure function of the live log: which passages exist and what was extracted from
them. Whatever happened before (crashes, deletions, other orders) leaves no trace in it.
"""

import hashlib
import json
import secrets
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from qafd.errors import ParameterError, StoreError
from qafd.graph import Graph
from qafd.reading.text.plaintext import storable
from qafd.records import Chunk, Edge, Keyword, Node, QueryPlan, Vectors
from qafd.storage.sqlite.files import FileStore
from qafd.storage.sqlite.log import CHUNK, LogStore
from qafd.storage.sqlite.rows import (
    DocumentNameError,
    DocumentRow,
    Evidence,
    File,
    LayerRow,
    Log,
    SavedRetrieval,
    check_finite,
    checksum,
    clean_name,
    embedding_key,
    texts,
    vector_keys,
)
from qafd.storage.sqlite.search import SearchStore
from qafd.storage.sqlite.workspace import bump, meta, now, set_meta

__all__ = [
    "DocumentNameError", "DocumentRow", "Evidence", "File", "LayerRow", "Log", "SavedRetrieval",
    "Store", "checksum", "clean_name", "embedding_key", "now", "plan_holds", "vector_keys",
]


class Store(LogStore, FileStore, SearchStore):
    """An open workspace file; belongs to the thread that opened it.

    Use as ``with Store.open(path) as store``. Every read method sees one version of the
    workspace, every write method is one transaction.
    """

    # The graph

    def write_graph(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> bool:
        """Replace the graph by the one made from `log`; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.

        Parameters
        ----------
        vectors, name_vectors : ndarray of float32, shape (n, d)
            One row per node: what query similarity and Algorithm 1 are computed from.
        """
        tables = _graph_rows(log, nodes, edges, vectors, name_vectors)
        with self.transaction() as connection:
            if int(meta(connection, "assembled", "-1")) >= log.revision:
                return False
            changed = False
            for table, rows in tables.items():
                gone, written = _replace(connection, table, rows)
                changed |= gone + written > 0
                if table == "passages" and gone:
                    # FTS5 only marks words as deleted until its segments are merged
                    connection.execute(
                        "INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")
            set_meta(connection, "assembled", str(log.revision))
            if changed:
                bump(connection, "graph_revision")
                connection.execute("DELETE FROM plans")  # they name nodes of the old graph
            if changed or not meta(connection, "sums"):
                set_meta(connection, "sums", json.dumps(_sums(connection)))
        return changed

    def differences(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""
        with self.snapshot() as connection:
            return {
                table: len(set(rows) ^ set(connection.execute(
                    f"SELECT {', '.join(sum(_GRAPH_TABLES[table], ()))} FROM {table}")))
                for table, rows in _graph_rows(log, nodes, edges, vectors, name_vectors).items()}

    def drop_graph(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""
        with self.transaction() as connection:
            for table in _GRAPH_TABLES:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")
            connection.execute("DELETE FROM layers")
            connection.execute("DELETE FROM meta WHERE key = 'sums'")
            bump(connection, "log_revision")

    def altered(self) -> tuple[str, ...]:
        """What is not as the last assembly left it, in words for each table of the graph.

        Nothing is known of a graph from before assemblies kept counts and checksums.
        """
        with self.reading() as connection:
            kept = json.loads(meta(connection, "sums", "{}"))
            found = _sums(connection) if kept else {}
            return tuple(
                f"{table} has {found[table][0]} rows, not the {rows} that were assembled"
                if found[table][0] != rows else f"{table} has rows that were not assembled so"
                for table, (rows, digest) in kept.items() if found[table] != (rows, digest))

    @property
    def version(self) -> str:
        """Names one state of one graph; never the same for two, also after a wipe."""
        return self.version_at(self.revision)

    def version_at(self, revision: int) -> str:
        """Names the graph of this revision, see `version`."""
        with self.snapshot() as connection:
            return f"{meta(connection, 'id')}-{revision}"

    @property
    def revision(self) -> int:
        """Counts the versions of the graph; 0 is the empty one."""
        with self.reading() as connection:
            return int(meta(connection, "graph_revision", "0"))

    @property
    def stale(self) -> bool:
        """Whether the log has moved on since the graph was assembled."""
        with self.reading() as connection:
            return int(meta(connection, "assembled", "0")) < int(
                meta(connection, "log_revision", "0"))

    def graph(self) -> Graph:
        """The knowledge graph, stamped with its revision; rows are sorted by id."""
        with self.reading() as connection:
            revision = int(meta(connection, "graph_revision", "0"))
            dimension = int(meta(connection, "dimension", "0"))
            rows = connection.execute(
                "SELECT id, name, kind, tokens, vector, name_vector FROM nodes ORDER BY id"
            ).fetchall()
            edges = connection.execute(
                "SELECT source, target, similarity, kind FROM edges "
                "ORDER BY source, target, kind, label").fetchall()
            texts(text for fields in rows for text in fields[:3])
            row = {fields[0]: i for i, fields in enumerate(rows)}
            shape = (len(rows), dimension)
            return Graph.build(
                [fields[0] for fields in rows], [fields[1] for fields in rows],
                [fields[2] for fields in rows],
                [row[edge[0]] for edge in edges], [row[edge[1]] for edge in edges],
                [edge[2] for edge in edges], [edge[3] for edge in edges],
                np.frombuffer(b"".join(fields[4] for fields in rows), "<f4").reshape(shape),
                np.frombuffer(b"".join(fields[5] for fields in rows), "<f4").reshape(shape),
                [fields[3] for fields in rows], revision)

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""
        with self.reading() as connection:
            rows = connection.execute(
                "SELECT id, kind, key, name, text, tokens FROM nodes "
                "WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
            found = [Node(*row) for row in rows]
            texts(text for n in found for text in (n.id, n.kind, n.key, n.name, n.text))
            return {node.id: node for node in found}

    def edges(self, ids: Iterable[str]) -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end."""
        with self.reading() as connection:
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)) "
                "SELECT source, target, kind, similarity, label, count, evidence FROM edges "
                "WHERE source IN wanted OR target IN wanted "
                "ORDER BY source, target, kind, label", (json.dumps(list(ids)),)).fetchall()
            texts(row[4] for row in rows)
            return tuple(
                Edge(*(*row[:6], tuple((chunk, at) for chunk, at in json.loads(row[6]))))
                for row in rows)

    def labels(self, ids: Iterable[str]) -> dict[frozenset[str], str]:
        """What the relations between these nodes are called, by their two ends."""
        with self.snapshot() as connection:
            # The + keeps SQLite from looking up each pair of nodes, 16 s for 5,000.
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)) "
                "SELECT source, target, label FROM edges WHERE kind IN ('relation', 'by_hand') "
                "AND label <> '' AND source IN wanted AND +target IN wanted "
                "ORDER BY kind = 'by_hand', source, target, label",
                (json.dumps(list(ids)),))
            return {frozenset(row[:2]): row[2] for row in rows}

    def passages(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """The passages of the graph among these chunk ids."""
        with self.reading() as connection:
            rows = connection.execute(
                f"SELECT {CHUNK} FROM passages WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),))
            found = [Chunk(*row) for row in rows]
            texts(text for c in found for text in (c.document, c.title, c.text, c.heading))
            return {chunk.id: chunk for chunk in found}

    def parts(self) -> tuple[Chunk, ...]:
        """The passages, without text, of the documents in the graph that have several; in order."""
        with self.snapshot() as connection:
            return tuple(Chunk(*row) for row in connection.execute(
                "SELECT id, document, title, '', start, \"end\", page, heading FROM passages "
                "WHERE document IN (SELECT document FROM passages GROUP BY document "
                "HAVING count(*) > 1) ORDER BY document, start"))

    def sentences(
        self, ids: Iterable[str]
    ) -> dict[str, tuple[tuple[int, int, Vectors], ...]]:
        """(start, end, vector) of the sentences of these chunks, offsets within the chunk.

        Vectors, shape (d,), are pooled in the context of the passage; a sentence whose vector is
        not stored is left out.
        """
        with self.snapshot() as connection:
            model = meta(connection, "embedder")
            rows = connection.execute(
                'SELECT live.id, live.title, live.text, sentences.start, sentences."end" '
                "FROM live JOIN sentences ON sentences.extraction = live.extraction "
                "WHERE live.id IN (SELECT value FROM json_each(?)) "
                "ORDER BY live.id, sentences.position", (json.dumps(list(ids)),)).fetchall()
            keys = [vector_keys(model, title, text, [(start, end)])[1]
                    for _, title, text, start, end in rows]
            stored = self.vectors(keys)
        found: dict[str, list[tuple[int, int, Vectors]]] = {}
        for (chunk, _, _, start, end), key in zip(rows, keys, strict=True):
            if key in stored:
                found.setdefault(chunk, []).append((start, end, stored[key]))
        return {chunk: tuple(some) for chunk, some in found.items()}

    def evidence(self, ids: Iterable[str]) -> tuple[Evidence, ...]:
        """The sentences that mention these nodes, in the order of documents and offsets."""
        wanted = list(ids)
        pairs: dict[tuple[str, str, int], None] = {}
        for edge in self.edges(wanted):
            if edge.kind == "mention":
                for node in {edge.source, edge.target} & set(wanted):
                    pairs.update({(node, *place): None for place in edge.evidence})
        with self.snapshot() as connection:
            rows = connection.execute(
                "WITH pairs AS (SELECT json_extract(value, '$[0]') AS node, "
                "  json_extract(value, '$[1]') AS chunk, json_extract(value, '$[2]') AS at "
                "  FROM json_each(?1)) "
                "SELECT nodes.id, live.id, live.document, live.title, "
                "  substr(live.text, sentences.start + 1, "
                '    sentences."end" - sentences.start), '
                '  live.start + sentences.start, live.start + sentences."end", '
                "  live.page, live.heading, "
                "  (SELECT json_group_array(json_array("
                '      live.start + mentions.start, live.start + mentions."end")) '
                "   FROM mentions LEFT JOIN json_each(?2) AS merged ON merged.key = mentions.key "
                "   WHERE mentions.extraction = live.extraction "
                "     AND ifnull(merged.value, mentions.key) = nodes.key "
                "     AND mentions.sentence = pairs.at "
                '     AND mentions."end" > mentions.start) '
                "FROM pairs JOIN nodes ON nodes.id = pairs.node "
                "JOIN live ON live.id = pairs.chunk "
                "JOIN sentences ON sentences.extraction = live.extraction "
                "  AND sentences.position = pairs.at "
                "ORDER BY live.document, live.start, sentences.start, nodes.id",
                (json.dumps(list(pairs)), json.dumps(self.merged()))).fetchall()
        return tuple(
            Evidence(*(*row[:9], tuple((start, end) for start, end in json.loads(row[9]))))
            for row in rows)

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on.

        Two workspaces with the same live documents have the same digest, whatever happened
        to them; neither times nor row numbers enter it.
        """
        total = hashlib.sha256()
        with self.snapshot() as connection:
            for query in (
                    'SELECT id, document, title, heading, page, start, "end", text '
                    "FROM passages ORDER BY id",
                    "SELECT * FROM nodes ORDER BY id",
                    "SELECT * FROM edges ORDER BY source, target, kind, label",
                    'SELECT live.id, m.key, m.name, m.start, m."end", m.sentence, m.kind '
                    "FROM live JOIN mentions AS m USING (extraction) "
                    "ORDER BY live.id, m.position"):
                total.update(query.encode())
                for row in connection.execute(query):
                    total.update(repr(row).encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    # Derived layers

    def put_layer(self, name: str, version: str, builder: int, body: bytes) -> None:
        """Keep a layer in the place of an older one of that name; see `qafd.retrieve.layers`."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO layers VALUES (?, ?, ?, ?, ?, ?)",
                (name, version, builder, now(), hashlib.sha256(body).hexdigest(), body))

    def layer_rows(self) -> dict[str, LayerRow]:
        """What layers are kept, by name, whether they fit the graph or not."""
        with self.snapshot() as connection:
            return {row[0]: LayerRow(*row) for row in connection.execute(
                "SELECT name, version, builder, built_at, length(body) FROM layers ORDER BY name")}

    def layer_body(self, name: str) -> bytes:
        """The bytes of a kept layer.

        Raises
        ------
        StoreError
            There is none of that name, or its bytes have changed.
        """
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT sha256, body FROM layers WHERE name = ?", (name,)).fetchone()
        if row is None or hashlib.sha256(row[1]).hexdigest() != row[0]:
            raise StoreError(f"The layer {name!r} of {self.path.name} is missing or damaged; "
                             f"build it again with 'qafd layers --build {name}'.")
        return bytes(row[1])

    # Retrievals

    def save_retrieval(self, retrieval: Mapping[str, Any], plan: Mapping[str, Any],
                       layout: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> str:
        """Store a retrieval for good and return its id.

        Parameters
        ----------
        retrieval, plan, layout, run : mapping of plain JSON values
            `Retrieval.to_dict()`, the query plan, the positions of the drawn nodes, and what else
            `qafd.runs` keeps.
        """
        body = json.dumps({"retrieval": retrieval, "plan": plan, "layout": layout,
                           "run": run or {}}).encode()
        key = secrets.token_hex(6)
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO retrievals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, storable(retrieval["query"]), retrieval["method"],
                 json.dumps(retrieval["params"]), retrieval["revision"], now(),
                 hashlib.sha256(body).hexdigest(), zlib.compress(body)))
        return key

    def load_retrieval(self, key: str) -> SavedRetrieval:
        """A stored retrieval, as it was.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT id, created_at, revision, sha256, body FROM retrievals WHERE id = ?",
                (key,)).fetchone()
        if row is None:
            raise StoreError(f"There is no stored retrieval {key!r} in this workspace.")
        damaged = f"The stored retrieval {key} is damaged; run the question again."
        try:
            body = zlib.decompress(row[4])
        except zlib.error as error:
            raise StoreError(damaged) from error
        if hashlib.sha256(body).hexdigest() != row[3]:
            raise StoreError(damaged)
        return SavedRetrieval(*row[:4], **json.loads(body))

    def save_plan(self, plan: QueryPlan) -> None:
        """Keep a plan, so that its question can be asked again without a model."""
        body = {"keywords": [[k.text, k.level] for k in plan.keywords], "names": plan.names,
                "notices": plan.notices, "read": plan.read}
        vectors = (plan.embedding.astype("<f4").tobytes(),
                   plan.keyword_embeddings.astype("<f4").tobytes())
        question = storable(plan.question)
        body["sha256"] = _plan_sum(question, body, *vectors)
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)",
                               (question, json.dumps(body), *vectors))

    def stored_plan(self, question: str) -> QueryPlan | None:
        """The plan kept for a question; None when the graph has changed since, or the plan has."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT body, embedding, keyword_embeddings FROM plans WHERE question = ?",
                (storable(question),)).fetchone()
        if row is None or not plan_holds(storable(question), *row):
            return None
        body = json.loads(row[0])
        embedding = np.frombuffer(row[1], "<f4")
        return QueryPlan(
            question, tuple(Keyword(*keyword) for keyword in body["keywords"]), embedding,
            np.frombuffer(row[2], "<f4").reshape(-1, len(embedding)), tuple(body["names"]),
            tuple(body["notices"]), read=body.get("read", ""))


def plan_holds(question: str, body: str, embedding: bytes, keywords: bytes) -> bool:
    """Whether a stored plan is as it was saved; one from before plans had checksums is not."""
    try:
        said = json.loads(body)
        return bool(said.pop("sha256") == _plan_sum(question, said, embedding, keywords))
    except (ValueError, TypeError, LookupError, AttributeError):
        return False


def _plan_sum(question: str, body: Mapping[str, Any], embedding: bytes, keywords: bytes) -> str:
    return checksum(question, json.dumps(body, sort_keys=True), embedding, keywords)


_GRAPH_TABLES = {
    "passages": (("id",), ("document", "title", "text", "start", '"end"', "page", "heading")),
    "nodes": (("id",), ("kind", "key", "name", "text", "tokens", "vector", "name_vector")),
    "edges": (("source", "target", "kind", "label"), ("similarity", "count", "evidence")),
}


def _sums(connection: sqlite3.Connection) -> dict[str, tuple[int, str]]:
    """The number of rows and the SHA-256 of each table of the graph."""
    sums = {}
    for table, (key, rest) in _GRAPH_TABLES.items():
        total, count = hashlib.sha256(), 0
        for row in connection.execute(
                f"SELECT {', '.join(key + rest)} FROM {table} ORDER BY {', '.join(key)}"):
            count += 1
            total.update(b"".join([value if isinstance(value, bytes) else
                                   f"{value!r}\n".encode("utf-8", "surrogatepass")
                                   for value in row]))
        sums[table] = count, total.hexdigest()
    return sums


def _graph_rows(log: Log, nodes: Sequence[Node], edges: Sequence[Edge], vectors: Vectors,
                name_vectors: Vectors) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table of the graph, in the order of `_GRAPH_TABLES`."""
    for rows in (vectors, name_vectors):
        if len(rows) != len(nodes):
            raise ParameterError(f"{len(rows)} vectors were given for {len(nodes)} nodes")
        check_finite(rows)
    return {
        "passages": [(c.id, c.document, c.title, c.text, c.start, c.end, c.page, c.heading)
                     for c in log.chunks],
        "nodes": [(n.id, n.kind, n.key, n.name, n.text, n.tokens,
                   vector.astype("<f4").tobytes(), name_vector.astype("<f4").tobytes())
                  for n, vector, name_vector in zip(nodes, vectors, name_vectors, strict=True)],
        "edges": [(e.source, e.target, e.kind, e.label, e.similarity, e.count,
                   json.dumps(e.evidence)) for e in edges],
    }


def _replace(
    connection: sqlite3.Connection, table: str, fresh: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """Make the table hold exactly these rows; how many were removed, and added or changed."""
    key, rest = _GRAPH_TABLES[table]
    columns = ", ".join((*key, *rest))
    old = set(connection.execute(f"SELECT {', '.join(key)} FROM {table}"))
    gone = old - {row[:len(key)] for row in fresh}
    connection.executemany(
        f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in key)}", gone)
    before = connection.total_changes
    connection.executemany(
        f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(key + rest))}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in rest)
        + f" WHERE ({', '.join(f'{table}.{column}' for column in rest)}) "
        f"IS NOT ({', '.join(f'excluded.{column}' for column in rest)})", fresh)
    return len(gone), connection.total_changes - before
