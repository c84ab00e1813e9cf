"""The tables of the graph as assembled: what a new assembly or a change replaces."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import Any

import numpy as np

from qafd.assemble.entities import Gathered
from qafd.records import Chunk, Edge, Nodes, node_id
from qafd.storage.full_assembly import FullAssembly
from qafd.storage.relational.base import (
    NUMBERS,
    Connection,
    Part,
    bump,
    meta,
    set_meta,
    to_json,
    to_json_numbers,
    upsert,
)
from qafd.storage.relational.graph import SqlGraph
from qafd.storage.relational.log import sweep_vectors
from qafd.storage.relational.postings import clear_facts
from qafd.storage.rows import MENTION, PlacedNode, edge_row, hash_number

_Rows = dict[tuple[Any, ...], tuple[Any, ...] | None]
"""Rows of a table by their keys; None for one that is to be gone."""


class SqlAssembly(Part):
    """The tables of nodes, edges, sums and the passages that they are made of, written."""

    def write(self, made: FullAssembly) -> bool:
        """Replace the graph by the one of a whole log; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.
        """
        with self._file.transaction() as connection:
            if int(meta(connection, "assembled", "-1")) >= made.revision:
                return False
            graph = SqlGraph(self._file)
            before = graph.digest()
            for table, rows in _whole_rows(connection, made):
                _replace(connection, table, rows)
            changed = graph.digest() != before
            set_meta(connection, "moved", "")
            self.settle(made.revision, changed)
        return changed

    def differences(self, made: FullAssembly) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""
        differences = {}
        with self._file.snapshot() as connection:
            for table, batches in _whole_rows(connection, made):
                kept = connection.execute(f"SELECT {_columns(table)} FROM {table}")
                differences[table] = len(set().union(*batches) ^ set(kept))
        return differences

    def hubs(self, keys: Iterable[str]) -> dict[str, Gathered]:
        """Return the stored sums of these keys."""
        with self._file.reading() as connection:
            return {key: _hub_of(counts, sums) for key, counts, sums in connection.execute(
                "SELECT key, counts, sums FROM hubs WHERE key IN (SELECT value FROM json_each(?))",
                (to_json(keys),))}

    def put_passages(self, gone: Iterable[str], chunks: Iterable[Chunk]) -> bool:
        """Remove passages by id, and bring others in or up to date.

        True if that changed the table; so do the methods that follow.
        """
        rows: _Rows = {(chunk.id,): _passage_row(chunk) for chunk in chunks}
        for passage in gone:
            rows[passage,] = None
        return self._revise("passages", rows, "id IN (SELECT value FROM json_each(?))",
                     json.dumps([at[0] for at in rows]))

    def put_nodes(self, nodes: Mapping[str, PlacedNode | None]) -> bool:
        """Write the nodes with these ids; None deletes one."""
        rows: _Rows = dict.fromkeys((hash_number(key),) for key in nodes)
        with self._file.transaction() as connection:
            for row in _node_rows(connection, [node for node in nodes.values() if node]):
                rows[row[:1]] = row
            return self._revise("nodes", rows, f"number IN {NUMBERS}", to_json_numbers(nodes))

    def put_hubs(self, hubs: Mapping[str, Gathered | None]) -> bool:
        """Write the sums of these keys; None deletes them."""
        rows: _Rows = dict.fromkeys((key,) for key in hubs)
        rows |= {(key,): _hub_row(key, hub) for key, hub in hubs.items() if hub}
        return self._revise("hubs", rows, "key IN (SELECT value FROM json_each(?))", to_json(hubs))

    def put_mentions(self, sources: Iterable[str], edges: Iterable[Edge]) -> bool:
        """Write all edges that lead from some entities to passages, without the factors of their nodes."""
        return self._revise("edges", _edge_rows(edges), f"kind = {MENTION} AND source IN {NUMBERS}",
                            to_json_numbers(sources))

    def put_pairs(self, pairs: Iterable[tuple[str, str]], edges: Iterable[Edge]) -> bool:
        """Write all edges between the two nodes of each pair; mentions without the factors of their
        nodes."""
        both = [(hash_number(low), hash_number(high)) for low, high in pairs]
        return self._revise("edges", _edge_rows(edges),
                            "(source, target) IN (SELECT CAST(json_extract(value, '$[0]') AS BIGINT), "
                            "  CAST(json_extract(value, '$[1]') AS BIGINT) FROM json_each(?))",
                            json.dumps([*both, *((high, low) for low, high in both)]))

    def _revise(self, table: str, rows: _Rows, scope: str, asked: str) -> bool:
        """Let these rows, by their keys, be those of a table in a scope; True if others were there."""
        key, _ = _GRAPH_TABLES[table]
        with self._file.transaction() as connection:
            old = {row[:len(key)]: row for row in connection.execute(
                f"SELECT {_columns(table)} FROM {table} WHERE {scope}", (asked,))}
            gone = [at for at in old if rows.get(at) is None]
            fresh = [row for at, row in rows.items() if row is not None and old.get(at) != row]
            replaced = [old[row[:len(key)]] for row in fresh if row[:len(key)] in old]
            connection.executemany(_delete(table), gone)
            connection.executemany(_upsert(table), fresh)
            _note_moved(connection, table, [*(old[at] for at in gone), *replaced, *fresh])
            return bool(gone or fresh)

    def read_moved(self) -> tuple[int, Nodes]:
        """Return a revision of the graph, and the numbers of the nodes that have changed since.

        The change is in their rows, vectors or edges. If changes are unknown, as after a whole
        assembly, it returns -1 and none.
        """
        kept = json.loads(self._meta("moved") or "{}")
        return kept.get("since", -1), np.array(kept.get("numbers", ()), np.int64)

    def follow(self, revision: int, most: int) -> None:
        """Record the nodes that change from now on, up to `most`, if the graph still has this revision."""
        with self._file.transaction() as connection:
            if int(meta(connection, "graph_revision", "0")) == revision:
                set_meta(connection, "moved", json.dumps({"since": revision, "most": most, "numbers": []}))

    def settle(self, revision: int, changed: bool) -> None:
        """Note that the graph is that of this revision of the log, and whether that changed it."""
        with self._file.transaction() as connection:
            set_meta(connection, "assembled", str(revision))
            sweep_vectors(connection)
            self._file.index_words(connection)
            if changed:
                bump(connection, "graph_revision")

    def drop(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it again."""
        with self._file.transaction() as connection:
            for table in _GRAPH_TABLES:
                connection.execute(f"DELETE FROM {table}")
            sweep_vectors(connection)
            self._file.index_words(connection, anew=True)
            connection.execute("DELETE FROM layers")
            set_meta(connection, "moved", "")
            clear_facts(connection)
            bump(connection, "log_revision")


_GRAPH_TABLES = {
    "passages": (("id",), ("document", "title", "text", "start", '"end"', "page", "heading")),
    "nodes": (("number",), ("id", "kind", "key", "name", "text", "passage", "place", "size", "tokens",
                            "vectors", "said", "scale")),
    "edges": (("source", "target", "kind", "label"), ("similarity", "count", "evidence")),
    "hubs": (("key",), ("counts", "sums")),
}


def _columns(table: str) -> str:
    return ", ".join(sum(_GRAPH_TABLES[table], ()))


def _whole_rows(connection: Connection, made: FullAssembly
                ) -> Iterator[tuple[str, Iterator[Sequence[tuple[Any, ...]]]]]:
    """The rows of each table of the graph in batches; nodes refer to passages, which come first."""
    yield "passages", (list(map(_passage_row, some)) for some in made.passages())
    yield "nodes", (list(_node_rows(connection, some)) for some in made.nodes())
    yield "edges", iter(made.edges())
    yield "hubs", (list(starmap(_hub_row, some.items())) for some in made.hubs())


def _passage_row(c: Chunk) -> tuple[Any, ...]:
    return c.id, c.document, c.title, c.text, c.start, c.end, c.page, c.heading


def _node_rows(connection: Connection, nodes: Sequence[PlacedNode]) -> Iterator[tuple[Any, ...]]:
    """Return rows with the numbers of vectors for their keys, and the place of a text that a passage has."""
    keys = {one.vectors for one in nodes} | {one.said for one in nodes if one.said}
    at = dict(connection.execute(f"SELECT key, id FROM embeddings WHERE key IN {NUMBERS}",
                                 (to_json_numbers(keys),)))
    quoted_from = to_json({one.passage for one in nodes})
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


def _edge_rows(edges: Iterable[Edge]) -> _Rows:
    rows: _Rows = {}
    for edge in edges:
        row = edge_row(edge)
        rows[row[:4]] = row
    return rows


def _note_moved(connection: Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Note the nodes that changed rows of a table are about, while they are followed."""
    kept = json.loads(meta(connection, "moved") or "{}")
    if not kept:
        return
    if table == "passages":  # the name of each passage of a document depends on the others
        chunks = connection.execute(
            "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))",
            (to_json({row[1] for row in rows}),))
        numbers = {hash_number(node_id("passage", chunk)) for chunk, *_ in (*chunks, *rows)}
    elif table == "hubs":
        numbers = {hash_number(node_id("entity", row[0])) for row in rows}
    else:
        numbers = set(chain.from_iterable(row[:2] if table == "edges" else row[:1] for row in rows))
    kept["numbers"] = sorted(numbers.union(kept["numbers"]))
    few = len(kept["numbers"]) <= kept["most"]
    set_meta(connection, "moved", json.dumps(kept) if few else "")


def _delete(table: str) -> str:
    """The statement that removes the row of a key."""
    return f"DELETE FROM {table} WHERE {' AND '.join(f'{column} = ?' for column in _GRAPH_TABLES[table][0])}"


def _upsert(table: str) -> str:
    key, rest = _GRAPH_TABLES[table]
    return (f"{upsert(table, key, rest)} "
            f"WHERE ({', '.join(f'{table}.{column}' for column in rest)}) "
            f"IS NOT ({', '.join(f'excluded.{column}' for column in rest)})")


def _replace(connection: Connection, table: str, rows: Iterable[Sequence[tuple[Any, ...]]]) -> None:
    """Replace the rows of the table by these, given in batches."""
    key, rest = _GRAPH_TABLES[table]
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
    connection.executemany(_delete(table), gone)
