"""The layout of a picture: stress majorization, packed into a landscape frame.

One layout is computed per question, over everything a panel may show, and then frozen:
no slider moves a node. Positions depend on ids, edges and names only, never on their order.
"""
# scipy carries no annotations.
# mypy: allow-untyped-calls

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from scipy.linalg import inv
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from qafd.errors import ParameterError
from qafd.records import Floats, Nodes

Positions = Mapping[str, tuple[float, float]]
Edges = Iterable[tuple[str, str] | tuple[str, str, float]]

FRAME = 540.0
EDGE_PIXELS = 110.0
NODE_PIXELS = (26.0, 24.0)
LABEL_PIXELS = (6.2, 120.0, 36.0)
CLEARANCE = 14.0  # pixels between a node and an edge that is not its own
MOVES = 10  # rounds of moving nodes off edges
LINE_CHECKS = 200_000
FOREMOST = 4.0  # weight of a foremost node, relative to another


def layout(
    node_ids: Iterable[str],
    edges: Edges,
    aspect: float = 1.45,
    labels: Mapping[str, str] | None = None,
    foremost: Collection[str] = (),
) -> Positions:
    """Compute positions in [0, aspect] x [0, 1], y downward, one per distinct node id.

    Every connected component is placed by stress majorization over all pairs (SMACOF with weights
    d^-2), whose time grows with the square of the nodes; components are packed, and nodes are pushed
    apart where names would lie on each other or an edge of others would run through a node, as far
    as the frame has room. benchmarks/layout.py compares it with the layouts of networkx.

    Parameters
    ----------
    edges : iterable of (u, v) or (u, v, length)
        Undirected; loops, repetitions and edges that leave `node_ids` are ignored. The
        length is > 0, by default the square root of the mean degree of both ends, so that
        the neighbors of a hub find room around it.
    aspect : float
        Width of the frame over its height, > 0.
    labels : mapping, optional
        Names to be written next to nodes; room is reserved for them.
    foremost : collection of str, optional
        Nodes that matter more: the frame is stretched where they are, and pressed where they
        are not.

    Raises
    ------
    ParameterError
        When `aspect` is not a positive number.
    """
    if not 0 < aspect < np.inf:
        raise ParameterError(f"aspect is {aspect}; give a positive number such as 1.45")
    ids = sorted(set(node_ids))
    if not ids:
        return {}
    lengths = _lengths(ids, edges)
    count, member = connected_components(lengths, directed=False)
    parts = [np.flatnonzero(member == c) for c in range(count)]
    drawn = [_place_component(lengths[part][:, part]) for part in parts]
    placed = np.empty((len(ids), 2))
    for part, xy in zip(parts, _pack(drawn, aspect), strict=True):
        placed[part] = xy
    frame = np.array([FRAME, FRAME / aspect])
    if foremost:
        placed = magnify(placed, np.array([FOREMOST if node in foremost else 1.0 for node in ids]))
    sizes = _sizes(ids, labels or {}, frame)
    pixels = _fit(placed, sizes, frame, EDGE_PIXELS, 1.4)
    for _ in range(2):
        pixels = _fit(separate(pixels, sizes, frame), sizes, frame, 1.15, 1.1)
    if lengths.nnz * len(ids) <= LINE_CHECKS:
        ends = np.argwhere(np.triu(lengths.toarray()))
        for _ in range(4):
            pixels = leave_lines(separate(pixels, sizes, frame), ends, frame)
    pixels = separate(pixels, sizes, frame, 10)
    return {node: (float(x), float(y)) for node, (x, y) in
            zip(ids, np.round(pixels / frame[1], 5), strict=True)}


def majorize(distance: Floats, start: Floats, rounds: int = 300, rtol: float = 1e-5) -> Floats:
    """Find points of shape (n, 2) whose distances approximate `distance` of shape (n, n).

    SMACOF: every round solves one weighted Laplacian system (inverted once), so the stress
    never grows; ends when a round lowers it by less than `rtol` of itself. `distance` is
    finite, symmetric, and positive off the diagonal.
    """
    n = len(distance)
    inverse = 1 / (distance + np.eye(n)) * (1 - np.eye(n))
    weight = inverse**2
    laplacian = np.diag(weight.sum(axis=1)) - weight
    # A product with the inverse is several times faster than two triangular solves.
    solve = inv(laplacian[1:, 1:])
    points, last = start - start[0], np.inf
    for _ in range(rounds):
        gap = _distances(points)
        now = float((weight * (distance - gap) ** 2).sum())
        if last - now <= rtol * now:
            break
        last = now
        pull = np.divide(inverse, gap, out=np.zeros_like(gap), where=gap > 0)
        right = (np.diag(pull.sum(axis=1)) - pull) @ points
        points = np.vstack([np.zeros((1, 2)), solve @ right[1:]])
    return np.asarray(points)


def magnify(points: Floats, weights: Floats) -> Floats:
    """Stretch each axis of points (n, 2) where those of large weights (n,) are.

    The order of points on an axis stays. An axis is halfway to one on which the room of every
    point is its weight.
    """
    moved = np.empty_like(points)
    for axis in (0, 1):
        order = np.argsort(points[:, axis], kind="stable")
        low, high = points[order[0], axis], points[order[-1], axis]
        heavy = weights[order]
        share = (np.cumsum(heavy) - heavy / 2) / heavy.sum()
        moved[order, axis] = (points[order, axis] + low + share * (high - low)) / 2
    return moved


def separate(centers: Floats, sizes: Floats, frame: Floats, rounds: int = 80) -> Floats:
    """Move the centers of boxes of given sizes apart within [0, frame] while they overlap.

    All arrays in pixels; `centers` and `sizes` of shape (n, 2), `frame` of shape (2,). Each
    round moves every overlapping pair apart along the axis where they overlap less. Boxes
    that do not fit still overlap in the end.
    """
    from scipy.spatial import KDTree  # which a question that draws nothing need not load

    grid = np.maximum(sizes.max(axis=0), 1e-9)
    low, high = sizes / 2, np.maximum(frame - sizes / 2, sizes / 2)
    moved = np.clip(centers, low, high)
    for _ in range(rounds):
        close = KDTree(moved / grid).query_pairs(1.0, p=np.inf, output_type="ndarray")
        u, v = close[np.lexsort(close.T[::-1])].T
        apart = moved[v] - moved[u]
        overlap = (sizes[u] + sizes[v]) / 2 - np.abs(apart)
        hit = (overlap > 0.5).all(axis=1)
        if not hit.any():
            break
        u, v, apart, overlap = u[hit], v[hit], apart[hit], overlap[hit]
        narrow = overlap.argmin(axis=1)[:, None] == np.arange(2)
        step = 0.3 * np.where(apart < 0, -1.0, 1.0) * overlap * narrow
        np.add.at(moved, v, step)
        np.add.at(moved, u, -step)
        moved = np.clip(moved, low, high)
    return moved


def leave_lines(points: Floats, ends: Nodes, frame: Floats) -> Floats:
    """Move points off the edges of others, which would seem to pass through them.

    `points` (n, 2) in pixels, `ends` (e, 2) rows of points. Each round moves a point that is
    nearer than `CLEARANCE` to an edge it does not belong to a third of the missing way.
    """
    other = (ends[:, :1] != np.arange(len(points))) & (ends[:, 1:] != np.arange(len(points)))
    moved = points.copy()
    for _ in range(MOVES):
        start, along = moved[ends[:, 0]], moved[ends[:, 1]] - moved[ends[:, 0]]
        length = np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-9)
        unit = along / length[:, None]
        offset = moved[None, :, :] - start[:, None, :]
        reach = np.einsum("env,ev->en", offset, unit)
        side = offset[:, :, 1] * unit[:, :1] - offset[:, :, 0] * unit[:, 1:]
        missing = CLEARANCE - np.abs(side)
        near = other & (missing > 0) & (reach > 0) & (reach < length[:, None])
        if not near.any():
            break
        step = np.where(near, np.where(side < 0, -1.0, 1.0) * missing / 3, 0.0)
        normal = np.column_stack([-unit[:, 1], unit[:, 0]])
        crowd = np.maximum(near.sum(axis=0), 1)[:, None]
        moved = np.clip(moved + step.T @ normal / crowd, 0, frame)
    return moved


def _lengths(ids: Sequence[str], edges: Edges) -> csr_array:
    row = {node: i for i, node in enumerate(ids)}
    given: dict[tuple[int, int], float] = {}
    for u, v, *stated in edges:
        if u in row and v in row and u != v:
            pair = min(row[u], row[v]), max(row[u], row[v])
            given[pair] = min(*stated, given.get(pair, np.inf), np.inf)
    pairs = np.array(sorted(given), dtype=np.int64).reshape(-1, 2)
    degree = np.bincount(pairs.ravel(), minlength=len(ids))
    length = np.array([given[a, b] for a, b in pairs.tolist()])
    length = np.where(np.isinf(length), np.sqrt(degree[pairs].mean(axis=1)), length)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    return csr_array((np.tile(length, 2), (ends[:, 0], ends[:, 1])), shape=(len(ids),) * 2)


def _place_component(lengths: csr_array) -> Floats:
    n = lengths.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    distance = shortest_path(lengths, directed=False)
    points = majorize(distance, _classical(distance) + 0.01 * distance.mean() * _spiral(n))
    return _landscape(points - points.mean(axis=0), lengths)


def _classical(distance: Floats) -> Floats:
    """Return the two leading principal coordinates of a distance matrix (classical scaling)."""
    square = distance**2
    mean = square.mean(axis=0)
    gram = -(square - mean[:, None] - mean[None, :] + mean.mean()) / 2
    # All eigenvectors: LAPACK's search for the last two finds none when many values are equal.
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0)))[:, :-3:-1])


def _spiral(n: int) -> Floats:
    """Return distinct unit offsets, so that nodes with equal distances start at different points."""
    turn = 2.399963 * np.arange(n)
    return np.column_stack([np.cos(turn), np.sin(turn)])


def _landscape(points: Floats, lengths: csr_array) -> Floats:
    """Turn the principal axis horizontal, the best connected node left of and above the center."""
    turned = points @ np.linalg.svd(points, full_matrices=False)[2].T
    hub = turned[int(np.argmax(np.diff(lengths.indptr)))]
    return np.asarray(turned * np.where(hub > 1e-9, -1.0, 1.0))


def _pack(drawn: Sequence[Floats], aspect: float) -> list[Floats]:
    """Pack components in rows, the highest first, into a frame of about this aspect."""
    boxes = np.array([np.ptp(xy, axis=0) + 1.0 for xy in drawn])
    width = max(boxes[:, 0].max(), np.sqrt(aspect * boxes.prod(axis=1).sum()))
    packed = list(drawn)
    x = y = height = 0.0
    for c in np.lexsort((-boxes[:, 0], -boxes[:, 1])).tolist():
        if x + boxes[c, 0] > width:
            x, y, height = 0.0, y + height, 0.0
        packed[c] = drawn[c] - drawn[c].min(axis=0) + [x, y]
        x, height = x + boxes[c, 0], max(height, boxes[c, 1])
    return packed


def _sizes(ids: Sequence[str], labels: Mapping[str, str], frame: Floats) -> Floats:
    """Return the pixels to reserve for each node with its name; smaller for too many nodes."""
    letter, widest, high = LABEL_PIXELS
    sizes = np.array([
        (max(NODE_PIXELS[0], min(widest, 10 + letter * len(labels[node]))), high)
        if labels.get(node) else NODE_PIXELS for node in ids])
    return np.asarray(sizes * min(1.0, np.sqrt(0.5 * frame.prod() / sizes.prod(axis=1).sum())))


def _fit(points: Floats, sizes: Floats, frame: Floats, most: float, skew: float) -> Floats:
    """Scale points up by at most `most`, centered, one axis at most `skew` times the other."""
    low, high = points.min(axis=0), points.max(axis=0)
    first, last = points.argmin(axis=0), points.argmax(axis=0)
    room = frame - (sizes[first, [0, 1]] + sizes[last, [0, 1]]) / 2
    scale = np.minimum(room / np.maximum(high - low, 1e-9), most)
    scale = np.minimum(scale, skew * scale.min())
    return np.asarray((points - (low + high) / 2) * scale + frame / 2)


def _distances(points: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(points, points))
