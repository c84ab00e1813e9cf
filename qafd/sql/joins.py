"""The shortest joins between tables."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.sql.schema import Join, Schema

if TYPE_CHECKING:
    import networkx

FAR = 1.6  # length of a join to a table that is not retrieved; others have 1


def join_tree(schema: Schema, tables: Sequence[str], retrieved: Mapping[str, float],
              asked: Collection[str] = ()) -> tuple[tuple[Join, ...], tuple[str, ...]]:
    """Joins that connect tables, each the nearest to those before it; and tables that none does.

    Of two joins between the same tables the one whose columns are `asked` for, by label, or that is
    more important is taken, of equals the declared one.
    """
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(table.name for table in schema.tables)
    for join in sorted(schema.joins, key=lambda j: (
            -max(retrieved.get(a, 0.0) + (a in asked) for a, _ in j.pairs), j.inferred)):
        if join.table != join.target and not graph.has_edge(join.table, join.target):
            near = join.table in retrieved and join.target in retrieved
            graph.add_edge(join.table, join.target, join=join, length=1.0 if near else FAR)
    reached, tree, lost = [tables[0]], list[Join](), []
    for table in tables[1:]:
        way = _way(graph, reached, table)
        if way is None:
            lost.append(table)
            continue
        for u, v in zip(way, way[1:], strict=False):
            tree.append(graph.edges[u, v]["join"])
            reached.append(v)
    return tuple(tree), tuple(lost)


def _way(graph: "networkx.Graph", reached: Sequence[str], table: str) -> list[str] | None:
    """The shortest way from a reached table to another, one name when it is reached."""
    import networkx

    try:
        _, way = networkx.multi_source_dijkstra(graph, list(reached), table, weight="length")
    except networkx.NetworkXNoPath:
        return None
    return list(way)
