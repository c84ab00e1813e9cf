"""All of a workspace, row by row: what exports and lists of everything read."""

from collections.abc import Collection, Iterator

from qafd.edits import MENTION_KINDS
from qafd.records import Description, Edge, Node
from qafd.storage.packing import MENTION, RELATION, SYNONYM, hash_number
from qafd.storage.relational.base import Part, to_json
from qafd.storage.relational.graph import EDGE, TEXT, edge_of
from qafd.storage.relational.log import description_of
from qafd.storage.rows import EntityRow, NameCount, WholeRow


class SqlListing(Part):
    """Statements that read whole tables."""

    def size(self) -> tuple[int, int]:
        """Return the numbers of nodes and edges of the graph."""
        return tuple(self._row("SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges)"))

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
            "SELECT key, name, mentions.kind, count(*) FROM live "
            "JOIN mentions USING (extraction) WHERE CAST(?1 AS TEXT) IS NULL OR "
            "key IN (SELECT value FROM json_each(?1)) GROUP BY 1, 2, 3",
            None if keys is None else to_json(keys)))

    def kinds(self) -> tuple[str, ...]:
        """The kinds of names in the live log, the most frequent first."""
        return tuple(row[0] for row in self._rows(
            "SELECT mentions.kind FROM live JOIN mentions USING (extraction) "
            "GROUP BY 1 ORDER BY count(*) DESC, 1"))

    def descriptions(self) -> Iterator[Description]:
        """Yield the descriptions of entities and relations in the live log, in the order of documents."""
        with self._file.snapshot() as connection:
            for row in connection.execute(
                    "SELECT source, target, descriptions.kind, descriptions.text, keywords, strength "
                    "FROM descriptions JOIN live USING (extraction) "
                    "ORDER BY live.document, live.position, descriptions.position"):
                yield description_of(row)

    def nameless(self) -> Iterator[tuple[str, str | None]]:
        """For each passage its file and its text, None in the place of one that has a name."""
        marks = ", ".join("?" * len(MENTION_KINDS))
        with self._file.snapshot() as connection:
            yield from connection.execute(
                "SELECT source, CASE WHEN EXISTS (SELECT 1 FROM mentions "
                "  WHERE mentions.extraction = live.extraction "
                f"  AND mentions.kind NOT IN ({marks})) THEN NULL ELSE live.text END "
                "FROM live JOIN documents ON documents.name = live.document "
                "ORDER BY documents.rowid, live.position", MENTION_KINDS)
