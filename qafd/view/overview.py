"""The map of a workspace before any question: thousands of names, joined where they share passages."""
# scipy carries no annotations.
# mypy: allow-untyped-calls

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from graspologic_native import leiden  # type: ignore[attr-defined]  # it is, without a stub
from scipy.fft import irfft2, rfft2
from scipy.sparse import csr_array

from qafd.graph import Graph, kind_bit
from qafd.reading.text.scripts import is_written_small
from qafd.records import Floats, Nodes
from qafd.view.layout import layout
from qafd.view.panel import NAME_LENGTH, clean
from qafd.view.placement import ASPECT

DRAWN = 5_000
FEW = 150  # names up to which there is room to write them all
NEAREST = 4  # edges that a name may ask for
SEED = 5
COARSE = 0.3  # resolution of the communities, so that most names are in the largest ones
COLORED = 8  # communities that have a color and a name
GRID = 96  # cells of the field of repulsion, along each side
ROUNDS = 200
SMOOTHING = 40  # rounds of averaging over neighbors, by which the layout begins
APART, TOGETHER = 0.05, 0.2  # repulsion of all nodes, and pull to the middle, beside springs of 1
FASTEST, SLOWEST = 0.03, 0.001  # steps of the first and the last round, of the frame's side


@dataclass(frozen=True, eq=False)
class Overview:
    """The names of a map, those in the most passages first, and its edges.

    Parameters
    ----------
    ids, names : sequence of str, length n
    passages : ndarray of int, shape (n,)
        Number of passages of each name.
    community : ndarray of int, shape (n,)
        0 is the largest; by the Leiden algorithm.
    places : ndarray, shape (n, 2)
        In [0, 1] x [0, 1], y downward.
    u, v : ndarray of int, shape (e,)
        The ends of each edge, u < v; most shared passages first.
    shared : ndarray of int, shape (e,)
        Number of passages that both ends are in.
    """

    ids: Sequence[str]
    names: Sequence[str]
    passages: Nodes
    community: Nodes
    places: Floats
    u: Nodes
    v: Nodes
    shared: Nodes

    def __len__(self) -> int:
        return len(self.ids)


def overview(graph: Graph, most: int = DRAWN) -> Overview:
    """Return a map of the `most` names in the most passages, ties by id.

    A name is joined to the 4 that go with it best by shared passages over the geometric mean of both
    numbers (Ochiai's coefficient), so that no hub is joined to all. Names that share no passage with
    another one of them are left out while others remain, and so are terms in lower case.
    """
    rows, within = _most_mentioned(graph, most)
    u, v, shared = _join_nearest(within)
    joined = np.unique(np.concatenate([u, v]))
    if len(joined):
        place = np.searchsorted(joined, np.arange(len(rows)))
        rows, within, u, v = rows[joined], within[joined], place[u], place[v]
    passages = np.diff(within.indptr).astype(np.int64)
    order = np.argsort(-shared, kind="stable")
    u, v, shared = u[order], v[order], shared[order]
    ids, names = graph.ids_of(rows.tolist()), [graph.names[row] for row in rows.tolist()]
    places = _place_few(ids, names, u, v) if len(ids) <= FEW else place_names(len(ids), u, v)
    return Overview(ids, names, passages, find_communities(len(ids), u, v, shared), places, u, v, shared)


def _most_mentioned(graph: Graph, most: int) -> tuple[Nodes, csr_array]:
    """Return rows of names, and which passages each is in, shape (n, passages)."""
    passage, entity = (np.flatnonzero(graph.kinds == kind) for kind in ("passage", "entity"))
    named = np.array([not is_written_small(graph.names[row]) for row in entity], bool)
    entity = entity[named] if named.any() else entity
    column = np.full(len(graph), -1)
    column[passage] = np.arange(len(passage))
    found = graph.expand(entity)
    mentions = ((found.edge_kinds & kind_bit("mention")) > 0) & (column[found.neighbors] >= 0)
    owner = np.repeat(np.arange(len(entity)), found.counts)[mentions]
    within = csr_array((np.ones(len(owner), np.int64), (owner, column[found.neighbors[mentions]])),
                       shape=(len(entity), len(passage)))
    best = np.lexsort((entity, -np.diff(within.indptr)))[:most]
    return entity[best], within[best]


def _join_nearest(within: csr_array) -> tuple[Nodes, Nodes, Nodes]:
    """Return the ends of the edges and the passages they share, for each name those to its nearest."""
    together = (within @ within.T).tocoo()
    u, v = (np.asarray(ends, np.int64) for ends in together.coords)
    apart = u != v
    u, v, shared = u[apart], v[apart], together.data[apart]
    passages = np.diff(within.indptr)
    order = np.lexsort((v, -shared / np.sqrt(passages[u] * passages[v]), u))
    rank = np.arange(len(order)) - np.searchsorted(u[order], u[order])
    near = order[rank < NEAREST]
    ends = np.column_stack([np.minimum(u[near], v[near]), np.maximum(u[near], v[near]), shared[near]])
    return tuple(np.unique(ends, axis=0).T)


def find_communities(n: int, u: Nodes, v: Nodes, weight: Nodes) -> Nodes:
    """Return the community of each of n nodes, shape (n,), 0 the largest; ties by their first nodes."""
    edges = [(str(a), str(b), float(count))
             for a, b, count in zip(u.tolist(), v.tolist(), weight.tolist(), strict=True)]
    found = leiden(edges, resolution=COARSE, seed=SEED)[1] if edges else {}
    raw = np.array([found.get(str(node), -1 - node) for node in range(n)], np.int64)
    _, first, own, size = np.unique(raw, return_index=True, return_inverse=True, return_counts=True)
    return np.asarray(np.argsort(np.lexsort((first, -size)))[own])


def _place_few(ids: Sequence[str], names: Sequence[str], u: Nodes, v: Nodes) -> Floats:
    """Place nodes as in the picture of a question, with room for all names."""
    edges = [(ids[a], ids[b]) for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    placed = layout(ids, edges, ASPECT, dict(zip(ids, names, strict=True)))
    places = np.array([placed[id] for id in ids]).reshape(-1, 2) / (ASPECT, 1.0)
    return _fill_frame(places)


def _fill_frame(places: Floats) -> Floats:
    """Stretch places to [0, 1] x [0, 1]."""
    low, high = places.min(axis=0, initial=np.inf), places.max(axis=0, initial=-np.inf)
    return np.asarray((places - low) / np.maximum(high - low, 1e-9))


def place_names(n: int, u: Nodes, v: Nodes) -> Floats:
    """Place n nodes in [0, 1] x [0, 1], joined ones near each other, in time n log n a round.

    Every edge is a spring, and every node repels all others by the inverse of the distance; the sum
    of that is read from a grid, a convolution by the fast Fourier transform. The layout begins with
    random numbers that are averaged over neighbors, the slow directions of a random walk.

    Returns
    -------
    places : ndarray, shape (n, 2)
        The same for the same graph.
    """
    if n < 2:
        return np.full((n, 2), 0.5)
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    adjacency = csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    degree = np.maximum(adjacency.sum(axis=1), 1.0)[:, None]
    places = np.random.default_rng(SEED).normal(size=(n, 2))
    for _ in range(SMOOTHING):
        places = (places + (adjacency @ places) / degree) / 2
        places = np.linalg.qr(places - places.mean(axis=0))[0]
    places = _spread_evenly(places)
    kernel = _repulsion()
    for step in np.geomspace(FASTEST, SLOWEST, ROUNDS):
        pull = (adjacency @ places - degree * places) / np.sqrt(degree)
        force = pull + APART * _read_field(kernel, places) / n + TOGETHER * (0.5 - places)
        length = np.linalg.norm(force, axis=1, keepdims=True)
        places = np.clip(places + force * (step / np.maximum(length, 0.1)), 0.0, 1.0)
    # The middle of a map with hubs is crowded.
    return (_fill_frame(places) + _spread_evenly(places)) / 2


def _spread_evenly(places: Floats) -> Floats:
    """Return each coordinate as its place among all, in (0, 1)."""
    return np.asarray((np.argsort(np.argsort(places, axis=0), axis=0) + 0.5) / len(places))


def _repulsion() -> Floats:
    """Return the transform of the force d / |d|^2 between two cells, both directions, over twice the grid."""
    offset = (np.arange(2 * GRID) + GRID) % (2 * GRID) - GRID
    dx, dy = np.meshgrid(offset / GRID, offset / GRID, indexing="ij")
    square = dx**2 + dy**2 + (0.5 / GRID)**2
    return np.asarray(rfft2(np.stack([dx / square, dy / square])))


def _read_field(kernel: Floats, places: Floats) -> Floats:
    """Return the repulsion at each place, shape (n, 2), between the four cells around it."""
    at = places * (GRID - 1)
    low = np.minimum(at.astype(np.int64), GRID - 2)
    part = at - low
    corners = [(np.array([x, y]), np.abs(1 - x - part[:, 0]) * np.abs(1 - y - part[:, 1]))
               for x in (0, 1) for y in (0, 1)]
    density = np.zeros((2 * GRID, 2 * GRID))
    for corner, share in corners:
        np.add.at(density, tuple((low + corner).T), share)
    field = irfft2(rfft2(density) * kernel, s=(2 * GRID, 2 * GRID))
    return np.asarray(sum(share[:, None] * field[:, *(low + corner).T].T for corner, share in corners))


def map_data(drawn: Overview, caption: str, selected: str | None) -> dict[str, Any]:
    """Return a map as JSON values for its component."""
    members = np.bincount(drawn.community)[:COLORED]
    hubs = [int(np.flatnonzero(drawn.community == at)[0]) for at in range(len(members))]
    return {
        "ids": list(drawn.ids), "names": [clean(name, NAME_LENGTH) or "…" for name in drawn.names],
        "passages": drawn.passages.tolist(), "community": drawn.community.tolist(),
        "places": np.rint(drawn.places * 10_000).astype(int).tolist(),
        "edges": [drawn.u.tolist(), drawn.v.tolist(), drawn.shared.tolist()],
        "communities": [{"title": clean(drawn.names[hub], 24), "count": count}
                        for hub, count in zip(hubs, members.tolist(), strict=True) if count > 1],
        "caption": caption, "selected": selected}
