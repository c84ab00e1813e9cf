"""The graph in tables, replaced by what a new assembly changed."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.records import Edge, Node, Vectors
from qafd.storage.rows import Log, check_finite, texts
from qafd.storage.sqlite.file import Part, bump, meta, set_meta


class SqliteGraph(Part):
    """The tables of nodes, edges and the passages that they are made of."""

    def write(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> bool:
        """Replace the graph by the one made from `log`; True when that changed it."""
        tables = _graph_rows(log, nodes, edges, vectors, name_vectors)
        with self._file.transaction() as connection:
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
        with self._file.snapshot() as connection:
            return {
                table: len(set(rows) ^ set(connection.execute(
                    f"SELECT {', '.join(sum(_GRAPH_TABLES[table], ()))} FROM {table}")))
                for table, rows in _graph_rows(log, nodes, edges, vectors, name_vectors).items()}

    def drop(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""
        with self._file.transaction() as connection:
            for table in _GRAPH_TABLES:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")
            connection.execute("DELETE FROM layers")
            connection.execute("DELETE FROM meta WHERE key = 'sums'")
            bump(connection, "log_revision")

    def altered(self) -> tuple[str, ...]:
        """What is not as the last assembly left it, in words for each table of the graph."""
        with self._file.reading() as connection:
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
        with self._file.snapshot() as connection:
            return f"{meta(connection, 'id')}-{revision}"

    @property
    def revision(self) -> int:
        """Counts the versions of the graph; 0 is the empty one."""
        with self._file.reading() as connection:
            return int(meta(connection, "graph_revision", "0"))

    @property
    def stale(self) -> bool:
        """Whether the log has moved on since the graph was assembled."""
        with self._file.reading() as connection:
            return int(meta(connection, "assembled", "0")) < int(
                meta(connection, "log_revision", "0"))

    def read(self) -> Graph:
        """The knowledge graph, stamped with its revision; rows are sorted by id."""
        with self._file.reading() as connection:
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
                vectors=np.frombuffer(b"".join(fields[4] for fields in rows), "<f4").reshape(shape),
                name_vectors=np.frombuffer(
                    b"".join(fields[5] for fields in rows), "<f4").reshape(shape),
                tokens=[fields[3] for fields in rows], revision=revision)

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT id, kind, key, name, text, tokens FROM nodes "
                "WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
            found = [Node(*row) for row in rows]
            texts(text for n in found for text in (n.id, n.kind, n.key, n.name, n.text))
            return {node.id: node for node in found}

    def edges(self, ids: Iterable[str]) -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end."""
        with self._file.reading() as connection:
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
        with self._file.snapshot() as connection:
            # The + keeps SQLite from looking up each pair of nodes, 16 s for 5,000.
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)) "
                "SELECT source, target, label FROM edges WHERE kind IN ('relation', 'by_hand') "
                "AND label <> '' AND source IN wanted AND +target IN wanted "
                "ORDER BY kind = 'by_hand', source, target, label",
                (json.dumps(list(ids)),))
            return {frozenset(row[:2]): row[2] for row in rows}

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on."""
        total = hashlib.sha256()
        with self._file.snapshot() as connection:
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
