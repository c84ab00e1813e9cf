"""The graph of a workspace as it is read, in part or row by row."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qafd.records import BY_MODEL, Description, Edge, Node, Nodes, Vectors, node_id
from qafd.storage.relational.base import NUMBERS, Part, meta, to_json, to_json_numbers
from qafd.storage.relational.log import description_of
from qafd.storage.rows import (
    BY_HAND,
    EDGE_KINDS,
    MENTION,
    RELATION,
    SYNONYM,
    EntityRow,
    NameCount,
    WholeRow,
    hash_number,
    texts,
    unpack_places,
    unpack_sentences,
    unpack_vectors,
)

if TYPE_CHECKING:
    from qafd.graph import Graph
    from qafd.storage.relational.graph_loader import GraphPart


class SqlGraph(Part):
    """Reader of the tables of nodes and edges."""

    @property
    def version(self) -> str:
        """Names one state of one graph; never the same for two, also after a wipe."""
        return self.version_at(self.revision)

    def version_at(self, revision: int) -> str:
        """Names the graph of this revision, see `version`."""
        return f"{self._meta('id')}-{revision}"

    @property
    def revision(self) -> int:
        """Counts the versions of the graph; 0 is the empty one."""
        return self._number("graph_revision")

    @property
    def stale(self) -> bool:
        """True if the log has changed since the graph was assembled."""
        with self._file.snapshot():
            return self._number("assembled") < self._number("log_revision")

    def read(self) -> "Graph":
        """The knowledge graph, stamped with its revision; rows are sorted by id."""
        from qafd.storage.relational.graph_loader import load_graph  # loads much that few need

        with self._file.reading() as connection:
            return load_graph(connection)

    def read_part(self, nodes: Nodes) -> "GraphPart":
        """Some nodes by number, shape (k,), and their edges, see `load_part`."""
        from qafd.storage.relational.graph_loader import load_part

        with self._file.reading() as connection:
            return load_part(connection, nodes)

    def has(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are nodes."""
        return {row[0] for row in self._rows(
            f"SELECT id FROM nodes WHERE number IN {NUMBERS}", to_json_numbers(ids))}

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""
        with self._file.reading() as connection:
            rows = connection.execute(
                f"SELECT {NODE} WHERE nodes.number IN {NUMBERS}", (to_json_numbers(ids),))
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
                (to_json_numbers(ids), EDGE_KINDS.index(kind) if kind else -1)).fetchall()
            passages = {passage for row in rows if row[2] != MENTION
                        for passage, _ in unpack_places(row[6])}
            chunks = dict(connection.execute(
                f"SELECT number, key FROM nodes WHERE number IN {NUMBERS}",
                (to_json(passages),)))
            return tuple(edge_of(row, chunks) for row in rows)

    def labels(self, ids: Iterable[str]) -> dict[frozenset[str], str]:
        """Return the labels of the relations between these nodes, by their two ends."""
        id_of = {hash_number(node): node for node in ids}
        with self._file.snapshot() as connection:
            # The + keeps SQLite from looking up each pair of nodes, 16 s for 5,000.
            rows = connection.execute(
                "WITH wanted AS (SELECT CAST(value AS BIGINT) AS number FROM json_each(?)) "
                f"SELECT source, target, label FROM edges WHERE kind IN ({RELATION}, {BY_HAND}) "
                "AND label <> '' AND source IN (SELECT number FROM wanted) "
                "AND +target IN (SELECT number FROM wanted) "
                f"ORDER BY kind = {BY_HAND}, source, target, label",
                (to_json(id_of),))
            return {frozenset((id_of[source], id_of[target])): label for source, target, label in rows}

    def entity_names(self, keys: Iterable[str] | None = None) -> tuple[list[str], Vectors]:
        """The keys of all entities or of some, in order, and the vectors of their names, (k, d)."""
        wanted = () if keys is None else (to_json_numbers(node_id("entity", key) for key in keys),)
        scope = f"kind = 'entity' AND number IN {NUMBERS}" if wanted else "kind = 'entity'"
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT nodes.key, embeddings.vectors FROM nodes "
                f"JOIN embeddings ON embeddings.id = nodes.vectors WHERE {scope} ORDER BY nodes.key",
                wanted).fetchall()
            dimension = int(meta(connection, "dimension", "0"))
            return [row[0] for row in rows], unpack_vectors([row[1] for row in rows], dimension)

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
                    "SELECT source, target, kind, label, similarity, count, evidence FROM edges "
                    "ORDER BY source, target, kind, label",
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


def edge_of(row: Sequence[Any], chunks: Mapping[int, str]) -> Edge:
    """The edge in a row of `EDGE`; `chunks` are the passages of its evidence by their nodes' numbers."""
    source, target, kind, similarity, label, count, evidence, key = row
    texts((source, target, label))
    if kind == MENTION:
        places = tuple((key, at) for at in unpack_sentences(evidence))
    else:
        places = tuple((chunks[passage], at) for passage, at in unpack_places(evidence))
    return Edge(source, target, EDGE_KINDS[kind], similarity, label, count, places)


class SqlListing(Part):
    """Statements that read whole tables."""

    def size(self) -> tuple[int, int]:
        """Return the numbers of nodes and edges of the graph."""
        return tuple(self._row("SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges)"))

    def count_nodes(self) -> dict[str, int]:
        """Count the nodes of each kind."""
        return dict(self._rows("SELECT kind, count(*) FROM nodes GROUP BY kind"))

    def count_pairs(self) -> int:
        """Count the pairs of nodes with an edge of any kind between them, as `Graph.edge_count` does."""
        low, high = (f"CASE WHEN source {sign} target THEN source ELSE target END" for sign in "<>")
        count: int = self._row(
            f"SELECT count(*) FROM (SELECT DISTINCT {low} AS low, {high} AS high FROM edges) AS pairs")[0]
        return count

    def has_nodes(self, count: int) -> bool:
        """Return True if the graph has at least `count` nodes, one or more."""
        return self._row("SELECT 1 FROM nodes LIMIT 1 OFFSET ?", count - 1) is not None

    def nodes(self) -> Iterator[WholeRow]:
        """All nodes, by id."""
        with self._file.snapshot() as connection:
            for *node, document, title, page in connection.execute(
                    f"SELECT nodes.id, kind, key, name, {TEXT}, tokens, "
                    "  CASE kind WHEN 'passage' THEN coalesce(document, '') ELSE '' END, "
                    "  CASE kind WHEN 'passage' THEN coalesce(title, '') ELSE '' END, "
                    "  CASE kind WHEN 'passage' THEN page END "
                    "FROM nodes LEFT JOIN passages ON passages.rowid = nodes.passage "
                    "ORDER BY number"):
                yield WholeRow(Node(*node), document, title, page)

    def edges(self) -> Iterator[Edge]:
        """All edges, by their ends, kind and label."""
        with self._file.snapshot() as connection:
            chunks = dict(connection.execute("SELECT number, key FROM nodes WHERE kind = 'passage'"))
            for row in connection.execute(
                    f"SELECT {EDGE} ORDER BY source, target, edges.kind, label"):
                yield edge_of(row, chunks)

    def entities(self, only: str = "") -> tuple[EntityRow, ...]:
        """All entities, or the one with this node id."""
        return tuple(EntityRow(Node(*node), passages, relations)
                     for *node, passages, relations in self._rows(
            f"SELECT nodes.id, kind, key, name, {TEXT}, tokens, (SELECT count(*) FROM edges "
            f"    WHERE edges.kind = {MENTION} AND source = number), "
            f"  (SELECT count(*) FROM edges WHERE edges.kind = {RELATION} "
            "    AND (source = number OR target = number)) "
            "FROM nodes LEFT JOIN passages ON passages.rowid = nodes.passage "
            "WHERE kind = 'entity'" + (" AND number = ?" if only else ""),
            *(hash_number(only),) if only else ()))

    def synonyms(self) -> tuple[tuple[str, str], ...]:
        """The keys of the entities whose names are nearly alike in meaning, pair by pair."""
        return tuple(self._rows(
            "SELECT head.key, tail.key FROM edges JOIN nodes AS head ON head.number = source "
            "JOIN nodes AS tail ON tail.number = target "
            f"WHERE edges.kind = {SYNONYM} ORDER BY source, target"))

    def names(self, keys: Collection[str] | None = None) -> tuple[NameCount, ...]:
        """Count the names in the live log, of all keys or of these."""
        return tuple(NameCount(*row) for row in self._rows(
            f"SELECT key, name, rtrim(mentions.kind, '{BY_MODEL}'), count(*) FROM live "
            "JOIN mentions USING (extraction) WHERE CAST(?1 AS TEXT) IS NULL OR "
            "key IN (SELECT value FROM json_each(?1)) GROUP BY 1, 2, 3",
            None if keys is None else to_json(keys)))

    def kinds(self) -> tuple[str, ...]:
        """The kinds of names in the live log, the most frequent first."""
        return tuple(row[0] for row in self._rows(
            f"SELECT rtrim(mentions.kind, '{BY_MODEL}') FROM live JOIN mentions USING (extraction) "
            "GROUP BY 1 ORDER BY count(*) DESC, 1"))

    def descriptions(self) -> Iterator[Description]:
        """Yield the descriptions of entities and relations in the live log, in the order of documents."""
        with self._file.snapshot() as connection:
            for row in connection.execute(
                    "SELECT source, target, descriptions.kind, descriptions.text, keywords, strength "
                    "FROM descriptions JOIN live USING (extraction) "
                    "ORDER BY live.document, live.position, descriptions.position"):
                yield description_of(row)

    def sample(self, most: int) -> tuple[str, ...]:
        """The texts of the first passages of all documents, at most `most`."""
        with self._file.reading() as connection:
            rows = connection.execute("SELECT text FROM live ORDER BY position LIMIT ?", (most,))
            return tuple(row[0] for row in rows)
