"""The graph in tables, replaced by what a new assembly changed."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from qafd.assemble import Assembly
from qafd.assemble.gathered import Gathered
from qafd.graph import Graph
from qafd.records import Chunk, Edge, Node, Vectors, node_id
from qafd.storage.diagnosis import Fault, FaultKind, fault
from qafd.storage.relational.loading import load_graph
from qafd.storage.relational.part import (
    NUMBERS,
    Connection,
    Part,
    bump,
    listed,
    meta,
    set_meta,
    upsert,
)
from qafd.storage.relational.postings import clear_facts
from qafd.storage.relational.vectors import sweep_vectors
from qafd.storage.rows import (
    BY_HAND,
    EDGE_KINDS,
    MENTION,
    RELATION,
    EdgeRow,
    Log,
    PlacedNode,
    edge_row,
    embedding_key,
    hash_number,
    key_of,
    texts,
    unpack_places,
    unpack_sentences,
    unpack_vectors,
)

_Rows = dict[tuple[Any, ...], tuple[Any, ...] | None]
"""Rows of a table by their keys; None for one that is to be gone."""


class WholeRows(Protocol):
    """The graph of a whole log in batches, each of which memory holds; see `qafd.ingest.whole`."""

    @property
    def revision(self) -> int:
        """Of the log."""

    def passages(self) -> Iterable[Sequence[Chunk]]: ...

    def nodes(self) -> Iterable[Sequence[PlacedNode]]: ...

    def edges(self) -> Iterable[Sequence[EdgeRow]]: ...

    def hubs(self) -> Iterable[Mapping[str, Gathered]]: ...


class SqlGraph(Part):
    """The tables of nodes, edges and the passages that they are made of."""

    def write(self, made: WholeRows) -> bool:
        """Replace the graph by the one of a whole log; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.
        """
        with self._file.transaction() as connection:
            if int(meta(connection, "assembled", "-1")) >= made.revision:
                return False
            before, sums = _kept_sums(connection), Sums()
            for table, rows in _whole_rows(connection, made):
                sums[table] = _replace(connection, table, rows)
            changed = before != sums
            set_meta(connection, "row_sums", json.dumps(sums))
            self.settle(made.revision, changed)
        return changed

    def differences(self, log: Log, made: Assembly) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""
        differences = {}
        with self._file.snapshot() as connection:
            for table, rows in _graph_rows(connection, log, made):
                kept = connection.execute(f"SELECT {_columns(table)} FROM {table}")
                differences[table] = len(set(rows) ^ set(kept))
        return differences

    def put_passages(self, gone: Iterable[str], chunks: Iterable[Chunk]) -> None:
        """Remove passages by id, and bring others in or up to date."""
        rows: _Rows = {(chunk.id,): _passage_row(chunk) for chunk in chunks}
        for passage in gone:
            rows[passage,] = None
        self._revise("passages", rows, "id IN (SELECT value FROM json_each(?))",
                     json.dumps([at[0] for at in rows]))

    def has(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are nodes."""
        return {row[0] for row in self._rows(
            f"SELECT id FROM nodes WHERE number IN {NUMBERS}", _numbers(ids))}

    def hubs(self, keys: Iterable[str]) -> dict[str, Gathered]:
        """The sums that are kept of some of these keys."""
        with self._file.reading() as connection:
            return {key: _hub_of(counts, sums) for key, counts, sums in connection.execute(
                "SELECT key, counts, sums FROM hubs WHERE key IN (SELECT value FROM json_each(?))",
                (listed(keys),))}

    def entity_names(self, keys: Iterable[str] | None = None) -> tuple[list[str], Vectors]:
        """The keys of all entities or of some, in order, and the vectors of their names, (k, d)."""
        wanted = () if keys is None else (_numbers(node_id("entity", key) for key in keys),)
        scope = f"kind = 'entity' AND number IN {NUMBERS}" if wanted else "kind = 'entity'"
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT nodes.key, embeddings.vectors FROM nodes "
                f"JOIN embeddings ON embeddings.id = nodes.vectors WHERE {scope} ORDER BY nodes.key",
                wanted).fetchall()
            dimension = int(meta(connection, "dimension", "0"))
            return [row[0] for row in rows], unpack_vectors([row[1] for row in rows], dimension)

    def put_nodes(self, nodes: Mapping[str, PlacedNode | None]) -> None:
        """Let these be the nodes with these ids; None where there is none."""
        rows: _Rows = dict.fromkeys((hash_number(key),) for key in nodes)
        with self._file.transaction() as connection:
            for row in _node_rows(connection, [node for node in nodes.values() if node]):
                rows[row[:1]] = row
            self._revise("nodes", rows, f"number IN {NUMBERS}", _numbers(nodes))

    def put_hubs(self, hubs: Mapping[str, Gathered | None]) -> None:
        """Let these be the sums of these keys; None where none are kept."""
        rows: _Rows = dict.fromkeys((key,) for key in hubs)
        rows |= {(key,): _hub_row(key, hub) for key, hub in hubs.items() if hub}
        self._revise("hubs", rows, "key IN (SELECT value FROM json_each(?))",
                     listed(hubs))

    def put_mentions(self, sources: Iterable[str], edges: Iterable[Edge]) -> None:
        """Let these be all edges that lead from some entities to passages, without the factors of
        their nodes."""
        self._revise("edges", _edge_rows(edges), f"kind = {MENTION} AND source IN {NUMBERS}",
                     _numbers(sources))

    def put_pairs(self, pairs: Iterable[tuple[str, str]], edges: Iterable[Edge]) -> None:
        """Let these be all edges between the two nodes of each pair; those of mentions without the
        factors of their nodes."""
        both = [(hash_number(low), hash_number(high)) for low, high in pairs]
        self._revise("edges", _edge_rows(edges),
                     "(source, target) IN (SELECT CAST(json_extract(value, '$[0]') AS BIGINT), "
                     "  CAST(json_extract(value, '$[1]') AS BIGINT) FROM json_each(?))",
                     json.dumps([*both, *((high, low) for low, high in both)]))

    def _revise(self, table: str, rows: _Rows, scope: str, asked: str) -> None:
        """Let these rows, by their keys, be those of a table in a scope, and keep its sums."""
        key, rest = _GRAPH_TABLES[table]
        with self._file.transaction() as connection:
            old = {row[:len(key)]: row for row in connection.execute(
                f"SELECT {_columns(table)} FROM {table} WHERE {scope}", (asked,))}
            gone = [at for at in old if rows.get(at) is None]
            fresh = [row for at, row in rows.items() if row is not None and old.get(at) != row]
            if not gone and not fresh:
                return
            sums = _kept_sums(connection)
            count, total = sums[table]
            change = sum(map(_hashed, fresh)) - sum(_hashed(old[at]) for at in gone)
            change -= sum(_hashed(old[row[:len(key)]]) for row in fresh if row[:len(key)] in old)
            count += sum(row[:len(key)] not in old for row in fresh) - len(gone)
            sums[table] = count, f"{(int(total, 16) + change) % _ROUND:x}"
            set_meta(connection, "row_sums", json.dumps(sums))
            connection.executemany(
                f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in key)}",
                gone)
            connection.executemany(_upsert(table), fresh)

    def settle(self, revision: int, changed: bool) -> None:
        """Note that the graph is that of this revision of the log, and whether that changed it."""
        with self._file.transaction() as connection:
            set_meta(connection, "assembled", str(revision))
            sweep_vectors(connection)
            self._file.index_words(connection)
            if changed:
                bump(connection, "graph_revision")
                connection.execute("DELETE FROM plans")  # they name nodes of the old graph

    def sums(self) -> str:
        """Of each table of the graph the rows and the sum of their hashes; "" where none is kept."""
        with self._file.snapshot() as connection:
            return json.dumps(_kept_sums(connection))

    def drop(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""
        with self._file.transaction() as connection:
            for table in _GRAPH_TABLES:
                connection.execute(f"DELETE FROM {table}")
            sweep_vectors(connection)
            self._file.index_words(connection, anew=True)
            connection.execute("DELETE FROM layers")
            connection.execute("DELETE FROM meta WHERE key = 'row_sums'")
            clear_facts(connection)
            bump(connection, "log_revision")

    def altered(self) -> tuple[Fault, ...]:
        """What is not as the last assembly left it, for each table of the graph.

        Nothing is known of a graph from before assemblies kept counts and checksums.
        """
        with self._file.reading() as connection:
            kept = json.loads(meta(connection, "row_sums", "{}"))
            found = _sums(connection) if kept else {}
            faults = []
            for table, (rows, digest) in kept.items():
                if found[table][0] != rows:
                    faults.append(fault(FaultKind.OTHER_COUNT, table=table, found=found[table][0],
                                        assembled=rows))
                elif found[table][1] != digest:
                    faults.append(fault(FaultKind.OTHER_ROWS, table=table))
            return tuple(faults)

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
            return load_graph(connection)

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""
        with self._file.reading() as connection:
            rows = connection.execute(
                f"SELECT {NODE} WHERE nodes.number IN {NUMBERS}", (_numbers(ids),))
            found = [Node(*row) for row in rows]
            for node in found:
                texts((node.id, node.kind, node.key, node.name, node.text))
            return {node.id: node for node in found}

    def edges(self, ids: Iterable[str], kind: str = "") -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end, of one kind or of all."""
        with self._file.reading() as connection:
            rows = connection.execute(
                "WITH wanted AS (SELECT CAST(value AS BIGINT) AS number FROM json_each(?1)) "
                f"SELECT {EDGE} WHERE (source IN (SELECT number FROM wanted) "
                "  OR target IN (SELECT number FROM wanted)) AND ?2 IN (-1, edges.kind) "
                "ORDER BY source, target, edges.kind, label",
                (_numbers(ids), EDGE_KINDS.index(kind) if kind else -1)).fetchall()
            passages = {passage for row in rows if row[2] != MENTION
                        for passage, _ in unpack_places(row[6])}
            chunks = dict(connection.execute(
                f"SELECT number, key FROM nodes WHERE number IN {NUMBERS}",
                (listed(passages),)))
            return tuple(edge_of(row, chunks) for row in rows)

    def labels(self, ids: Iterable[str]) -> dict[frozenset[str], str]:
        """What the relations between these nodes are called, by their two ends."""
        id_of = {hash_number(node): node for node in ids}
        with self._file.snapshot() as connection:
            # The + keeps SQLite from looking up each pair of nodes, 16 s for 5,000.
            rows = connection.execute(
                "WITH wanted AS (SELECT CAST(value AS BIGINT) AS number FROM json_each(?)) "
                f"SELECT source, target, label FROM edges WHERE kind IN ({RELATION}, {BY_HAND}) "
                "AND label <> '' AND source IN (SELECT number FROM wanted) "
                "AND +target IN (SELECT number FROM wanted) "
                f"ORDER BY kind = {BY_HAND}, source, target, label",
                (listed(id_of),))
            return {frozenset((id_of[source], id_of[target])): label for source, target, label in rows}

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on.

        Two workspaces with the same live documents have the same digest, whatever happened
        to them; neither times nor row numbers enter it.
        """
        total = hashlib.sha256()
        with self._file.snapshot() as connection:
            for query in (
                    'SELECT id, document, title, heading, page, start, "end", text '
                    "FROM passages ORDER BY id",
                    f"SELECT nodes.id, kind, nodes.key, name, {TEXT}, tokens, scale, own.vectors, "
                    "told.vectors FROM nodes LEFT JOIN passages ON passages.rowid = nodes.passage "
                    "JOIN embeddings AS own ON own.id = nodes.vectors "
                    "LEFT JOIN embeddings AS told ON told.id = said ORDER BY number",
                    f"SELECT {_columns('edges')} FROM edges ORDER BY source, target, kind, label",
                    'SELECT live.id, m.key, m.name, m.start, m."end", m.sentence, m.kind '
                    "FROM live JOIN mentions AS m USING (extraction) "
                    "ORDER BY live.id, m.position"):
                total.update(query.encode())
                for row in connection.execute(query):
                    total.update(repr(row).encode("utf-8", "surrogatepass"))
        return total.hexdigest()


TEXT = "coalesce(substr(passages.text, place + 1, size), nodes.text)"
"""The text of a node, which a passage has where it is a passage or a sentence of one."""
NODE = (f"nodes.id, kind, key, name, {TEXT}, tokens FROM nodes "
        "LEFT JOIN passages ON passages.rowid = nodes.passage")
"""The columns of a node, and where they are."""
EDGE = (f"heads.id, tails.id, edges.kind, CASE edges.kind WHEN {MENTION} THEN similarity * heads.scale "
        "ELSE similarity END, label, count, evidence, tails.key FROM edges "
        "LEFT JOIN nodes AS heads ON heads.number = source "
        "LEFT JOIN nodes AS tails ON tails.number = target")
"""The columns of an edge, with the factor that all mention edges of its entity have, and where they are."""

_GRAPH_TABLES = {
    "passages": (("id",), ("document", "title", "text", "start", '"end"', "page", "heading")),
    "nodes": (("number",), ("id", "kind", "key", "name", "text", "passage", "place", "size", "tokens",
                            "vectors", "said", "scale")),
    "edges": (("source", "target", "kind", "label"), ("similarity", "count", "evidence")),
    "hubs": (("key",), ("counts", "sums")),
}


Sums = dict[str, tuple[int, str]]
"""Of each table of the graph: how many rows it has, and the sum of their hashes as text."""
_ROUND = 1 << 256


def _sums(connection: Connection) -> Sums:
    """The number of rows of each table of the graph, and the sum of their SHA-256.

    A sum does not depend on their order, and a changed row changes it by what it was and is.
    """
    return {table: _sum(connection.execute(f"SELECT {_columns(table)} FROM {table}"))
            for table in _GRAPH_TABLES}


def _sum(rows: Iterable[Sequence[Any]], count: int = 0, total: str = "0") -> tuple[int, str]:
    """How many rows there are, and the sum of their hashes; added to those of others."""
    whole = int(total, 16)
    for row in rows:
        count += 1
        whole += _hashed(row)
    return count, f"{whole % _ROUND:x}"


def _kept_sums(connection: Connection) -> Sums:
    """The sums that are kept; made where an upgrade of the tables dropped them."""
    kept = meta(connection, "row_sums")
    if not kept:
        return _sums(connection)
    return {table: (rows, total) for table, (rows, total) in json.loads(kept).items()}


def _hashed(row: Sequence[Any]) -> int:
    parts = [value if isinstance(value, bytes) else f"{value!r}\n".encode("utf-8", "surrogatepass")
             for value in row]
    return int.from_bytes(hashlib.sha256(b"".join(parts)).digest())


def _columns(table: str) -> str:
    return ", ".join(sum(_GRAPH_TABLES[table], ()))


def _graph_rows(connection: Connection, log: Log, made: Assembly
                ) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """The rows of each table of the graph; nodes refer to passages, which are to be written first."""
    yield "passages", list(map(_passage_row, log.chunks))
    model = meta(connection, "embedder")
    passages = {chunk.id: key_of(model, chunk, extraction)
                for chunk, extraction in zip(log.chunks, log.extractions, strict=True)}
    placed = []
    for node, scale in zip(made.nodes, made.scales.tolist(), strict=True):
        if node.kind == "passage":
            placed.append(PlacedNode(node, node.key, passages[node.key], "", scale))
        else:
            said = made.said.get(node.key, "")
            placed.append(PlacedNode(node, made.told_in.get(node.key, ""), embedding_key(model, node.key),
                                     embedding_key(model, said) if said else "", scale))
    yield "nodes", list(_node_rows(connection, placed))
    yield "edges", list(map(edge_row, made.edges))
    yield "hubs", [_hub_row(key, hub) for key, hub in made.hubs.items()]


def _whole_rows(connection: Connection, made: WholeRows
                ) -> Iterator[tuple[str, Iterator[Sequence[tuple[Any, ...]]]]]:
    """The rows of each table of the graph in batches; nodes refer to passages."""
    yield "passages", (list(map(_passage_row, some)) for some in made.passages())
    yield "nodes", (list(_node_rows(connection, some)) for some in made.nodes())
    yield "edges", iter(made.edges())
    yield "hubs", ([_hub_row(key, hub) for key, hub in some.items()] for some in made.hubs())


def _passage_row(c: Chunk) -> tuple[Any, ...]:
    return c.id, c.document, c.title, c.text, c.start, c.end, c.page, c.heading


def _node_rows(connection: Connection, nodes: Sequence[PlacedNode]) -> Iterator[tuple[Any, ...]]:
    """Rows with the numbers of vectors in the place of their keys, and of a text that a passage has
    where it is in there."""
    keys = {key for one in nodes for key in (one.vectors, one.said) if key}
    at = dict(connection.execute(f"SELECT key, id FROM embeddings WHERE key IN {NUMBERS}",
                                 (_numbers(keys),)))
    quoted_from = listed({one.passage for one in nodes})
    passages = {key: (number, text) for key, number, text in connection.execute(
        "SELECT id, rowid, text FROM passages WHERE id IN (SELECT value FROM json_each(?))",
        (quoted_from,))}
    for one in nodes:
        n = one.node
        passage, whole = passages.get(one.passage, (None, ""))
        place = whole.find(n.text)
        quoted = (n.text, None, None, None) if place < 0 or passage is None else (
            "", passage, place, len(n.text))
        said = at[hash_number(one.said)] if one.said else None
        yield (hash_number(n.id), n.id, n.kind, n.key, n.name, *quoted, n.tokens,
               at[hash_number(one.vectors)], said, one.scale)


def _hub_row(key: str, hub: Gathered) -> tuple[Any, ...]:
    counts = [hub.passages, hub.named, hub.told, hub.titled, hub.title,
              dict(sorted(hub.names.items())), hub.first, hub.evidence]
    sums = np.concatenate([hub.wide, hub.close]).astype("<i8")
    return key, json.dumps(counts, ensure_ascii=False), sums.tobytes()


def _hub_of(counts: str, sums: bytes) -> Gathered:
    passages, named, told, titled, title, names, first, evidence = json.loads(counts)
    wide, close = np.frombuffer(sums, "<i8").astype(np.int64).reshape(2, -1)
    return Gathered(passages, named, told, titled, title, Counter(names), wide, close,
                    first and tuple(first), evidence)


def edge_of(row: Sequence[Any], chunks: Mapping[int, str]) -> Edge:
    """The edge in a row of `EDGE`; `chunks` are the passages of its evidence by their nodes' numbers."""
    source, target, kind, similarity, label, count, evidence, key = row
    texts((source, target, label))
    if kind == MENTION:
        places = tuple((key, at) for at in unpack_sentences(evidence))
    else:
        places = tuple((chunks[passage], at) for passage, at in unpack_places(evidence))
    return Edge(source, target, EDGE_KINDS[kind], similarity, label, count, places)


def _numbers(ids: Iterable[str]) -> str:
    """For `NUMBERS`."""
    return json.dumps([hash_number(node) for node in ids])


def _edge_rows(edges: Iterable[Edge]) -> _Rows:
    rows: _Rows = {}
    for edge in edges:
        row = edge_row(edge)
        rows[row[:4]] = row
    return rows


def _upsert(table: str) -> str:
    key, rest = _GRAPH_TABLES[table]
    return (f"{upsert(table, key, rest)} "
            f"WHERE ({', '.join(f'{table}.{column}' for column in rest)}) "
            f"IS NOT ({', '.join(f'excluded.{column}' for column in rest)})")


def _replace(connection: Connection, table: str, rows: Iterable[Sequence[tuple[Any, ...]]]
             ) -> tuple[int, str]:
    """Make the table hold exactly these rows, which come in batches; their number and sum."""
    key, rest = _GRAPH_TABLES[table]
    sums = 0, "0"
    if table == "passages":  # they keep their numbers, which nodes and facts have
        gone = set(connection.execute(f"SELECT {', '.join(key)} FROM {table}"))
        statement = _upsert(table)
    else:
        gone = set()
        connection.execute(f"DELETE FROM {table}")
        statement = (f"INSERT INTO {table} ({_columns(table)}) "
                     f"VALUES ({', '.join('?' * (len(key) + len(rest)))})")
    for some in rows:
        connection.executemany(statement, some)
        gone.difference_update(row[:len(key)] for row in some)
        sums = _sum(some, *sums)
    connection.executemany(
        f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in key)}", gone)
    return sums
