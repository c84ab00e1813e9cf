"""The neighbors of a node beyond the touched ones, for a closer look around it."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from qafd.graph import Graph
from qafd.reasons import ReasonKind, reason
from qafd.retrieve.base import DRY, Retrieval, RetrievedEdge, RetrievedNode
from qafd.wording import count

MOST = 12  # new neighbors of one node
NEAR = 200  # neighbors of a node that are looked at


def with_neighbors(retrieval: Retrieval, graph: Graph, opened: Iterable[str],
                   through_passages: bool) -> Retrieval:
    """Add to a retrieval the foremost neighbors of some nodes, which no mass reached.

    Parameters
    ----------
    through_passages : bool
        Take the nodes that share passages with a node instead of the passages.
    """
    nodes = {node.id: node for node in retrieval.nodes}
    touched, edges = set(nodes), list(retrieval.edges)
    for node in opened:
        for row, shared in new_neighbors(graph, node, touched, through_passages):
            other = graph.ids[row]
            nodes.setdefault(other, RetrievedNode(
                other, graph.names[row], str(graph.kinds[row]), 0.0, 0.0, DRY,
                reason(ReasonKind.UNREACHED)))
            label = count(shared, "shared passage")
            edges.append(RetrievedEdge(node, other, "relation", 0.0, 0.0,
                                       label if through_passages else ""))
    return replace(retrieval, nodes=tuple(nodes.values()), edges=tuple(edges))


def new_neighbors(graph: Graph, node: str, known: Collection[str],
                  through_passages: bool) -> list[tuple[int, int]]:
    """Return the rows and frequencies of a node's foremost neighbors that are not known."""
    if node not in graph.row:
        return []
    found = _neighbors(graph, graph.row[node], through_passages)
    new = [row for row in found if graph.ids[row] not in known]
    new.sort(key=lambda row: (-found[row], graph.ids[row]))
    return [(row, found[row]) for row in new[:MOST]]


def _neighbors(graph: Graph, row: int, through_passages: bool) -> Counter[int]:
    """Count the rows joined to a row, or sharing passages with it."""
    found: Counter[int] = Counter()
    for other in near(graph, row):
        if not through_passages:
            found[other] += 1
        elif graph.kinds[other] == "passage":
            found.update(far for far in near(graph, other) if graph.kinds[far] != "passage")
    del found[row]
    return found


def near(graph: Graph, row: int) -> list[int]:
    """Return the first neighbors of a row; a hub's thousands are not all read."""
    first: list[int] = graph.around(row)[:NEAR].tolist()
    return first
