"""Surroundings of the nodes of a picture: neighbors, documents and communities."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.graph import Graph
from qafd.retrieve.layers.communities import partition

NEAR = 200  # neighbors of a node that are looked at


def near(graph: Graph, row: int) -> list[int]:
    """Return the first neighbors of a row; a hub's thousands are not all read."""
    first: list[int] = graph.around(row)[:NEAR].tolist()
    return first


LEVEL = 1


@dataclass(frozen=True)
class Groups:
    """The documents and the community of each node of a picture.

    Parameters
    ----------
    documents, communities : tuple of str
        Their names, those of the most nodes first.
    documents_of : mapping of id to sequence of int
        Indices of the documents of a node, the one with most of its passages first.
    community_of : mapping of id to int
        The index of a node's community; nodes without one are not in it.
    """

    documents: tuple[str, ...]
    communities: tuple[str, ...]
    documents_of: Mapping[str, Sequence[int]]
    community_of: Mapping[str, int]


def group(graph: Graph, ids: Iterable[str], document_of: Mapping[str, str],
          first: Collection[str] = ()) -> Groups:
    """Group some nodes of a graph by documents and communities.

    Parameters
    ----------
    document_of : mapping of id to str
        The documents of the passages among `passages_of` these nodes.
    first : collection of str
        Nodes whose groups come first: there are more groups than colors.
    """
    shown = [node for node in dict.fromkeys(ids) if node in graph.row]
    found: dict[str, list[str]] = {}
    for node in shown:
        names = Counter(document_of[p] for p in passages_of(graph, node) if p in document_of)
        found[node] = sorted(names, key=lambda name: (-names[name], name))
    # By the documents that nodes are colored by, the first of each.
    weights: Counter[str] = Counter()
    for node, documents_here in found.items():
        weights.update(dict.fromkeys(documents_here, 0))
        if documents_here:
            weights[documents_here[0]] += len(shown) if node in first else 1
    documents = sorted(weights, key=lambda name: (-weights[name], name))
    at = {name: i for i, name in enumerate(documents)}
    communities = _communities(graph, shown)
    communities.sort(key=lambda one: (-len({*one[1]} & {*first}), -len(one[1]), one[0]))
    community_of: dict[str, int] = {}
    for i, (_, members) in enumerate(communities):
        community_of |= dict.fromkeys(members, i)
    documents_of = {node: list(map(at.__getitem__, names)) for node, names in found.items()}
    return Groups(tuple(documents), tuple(title for title, _ in communities), documents_of, community_of)


def passages_of(graph: Graph, node: str) -> list[str]:
    """Return the passages of a node: itself, or those that mention it."""
    if graph.kinds[graph.row[node]] == "passage":
        return [node]
    return [graph.ids[row] for row in near(graph, graph.row[node]) if graph.kinds[row] == "passage"]


def _communities(graph: Graph, ids: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Find communities of the edges between some nodes, named by their hubs."""
    inside = {graph.row[node] for node in ids}
    pairs: list[tuple[int, int, int]] = []
    degree: Counter[int] = Counter()
    for row in map(graph.row.__getitem__, ids):
        for other in near(graph, row):
            if other in inside and row < other:
                pairs.append((row, other, 1))
                degree.update((row, other))
    level, _, members = partition(graph, np.array(pairs, np.int64).reshape(-1, 3))
    # The deeper of two levels: one question's nodes are often one community of the coarsest.
    deepest = {row: community for community, row in members.tolist() if level[community] <= LEVEL}
    found: dict[int, list[int]] = {}
    for row, community in deepest.items():
        found.setdefault(community, []).append(row)
    named = []
    for rows in found.values():
        names = [row for row in rows if graph.kinds[row] != "passage"] or rows
        hub = min(names, key=lambda row: (-degree[row], graph.ids[row]))
        named.append((graph.names[hub], graph.ids_of(rows)))
    return named
