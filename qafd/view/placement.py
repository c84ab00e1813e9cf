"""Frozen positions: one layout for all nodes that several retrievals of a question may show."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import cos, pi, sin, sqrt
from zlib import crc32

from qafd.retrieve.base import SATURATED, Retrieval, RetrievedNode
from qafd.view.layout import Positions, layout

DRAWN = 150  # nodes of a picture at most
ASPECT = 1.6  # its width over its height
MARGIN = 0.08  # of a frame, for names
LENS = 3.0  # how much more room the nodes of the first view get than those it leaves out


def select_prominent(retrieval: Retrieval, most: int = DRAWN) -> list[RetrievedNode]:
    """Return the nodes a picture needs first: seeds, full ones, then wet ones."""
    return sorted(retrieval.nodes, key=lambda n: (
        not n.seed, n.state != SATURATED, -n.importance, -n.mass, n.id))[:most]


def freeze(retrievals: Sequence[Retrieval], first: Collection[str], most: int = DRAWN,
           aspect: float = ASPECT) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """Freeze one layout for the `most` prominent nodes of each retrieval, and return these too.

    Nodes seen first, `first`, have the most room: they alone have some for names, and edges
    between two of them are drawn longer than others.
    """
    nodes: dict[str, RetrievedNode] = {}
    degree: Counter[str] = Counter()
    ends: list[tuple[str, str]] = []
    for retrieval in retrievals:
        for node in select_prominent(retrieval, most):
            nodes.setdefault(node.id, node)
        for edge in retrieval.edges:
            degree.update((edge.source, edge.target))
            ends.append((edge.source, edge.target))
    edges = []
    for u, v in ends:
        if u in nodes and v in nodes:
            length = sqrt((degree[u] + degree[v]) / 2)
            edges.append((u, v, LENS * length if u in first and v in first else length))
    names = {node.id: node.name for node in nodes.values()
             if node.kind != "passage" and node.id in first}
    return layout(nodes, edges, aspect=aspect, labels=names, foremost=first), tuple(nodes.values())


def add_new(frozen: Positions, retrieval: Retrieval) -> Positions:
    """Add the prominent nodes of a retrieval to frozen positions that lack them."""
    return place_beside(frozen, select_prominent(retrieval), ((e.source, e.target) for e in retrieval.edges))


def spread(positions: Positions, aspect: float) -> Positions:
    """Stretch positions to a frame of another aspect, which they fill within its margin."""
    if not positions:
        return {}
    xs, ys = zip(*positions.values(), strict=True)
    (x0, x1), (y0, y1) = (min(xs), max(xs)), (min(ys), max(ys))
    across = (1 - 2 * MARGIN) * aspect / max(x1 - x0, 1e-9)
    down = (1 - 2 * MARGIN) / max(y1 - y0, 1e-9)
    return {id: (MARGIN * aspect + across * (x - x0), MARGIN + down * (y - y0))
            for id, (x, y) in positions.items()}


def place_beside(frozen: Positions, nodes: Iterable[RetrievedNode],
           edges: Iterable[tuple[str, str]], aspect: float = ASPECT) -> Positions:
    """Add nodes to frozen positions, next to their neighbors.

    Nothing else moves. A node without a neighbor in the layout is in the middle.
    """
    positions = dict(frozen)
    near: dict[str, set[str]] = {}
    for u, v in edges:
        near.setdefault(u, set()).add(v)
        near.setdefault(v, set()).add(u)
    for node in nodes:
        known = [frozen[n] for n in sorted(near.get(node.id, ())) if n in frozen]
        x = sum(p[0] for p in known) / len(known) if known else aspect / 2
        y = sum(p[1] for p in known) / len(known) if known else 0.5
        # By the id, so that it does not matter what else is shown.
        turn = 2 * pi * crc32(node.id.encode()) / 2**32
        positions.setdefault(node.id, (min(max(x + 0.07 * cos(turn), 0.03), aspect - 0.03),
                                       min(max(y + 0.07 * sin(turn), 0.03), 0.97)))
    return positions
