"""Scale: support, touched nodes and solve time on synthetic graphs of growing size."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.flow.solver import solve
from qafd.flow.weights import Gates, Weights, clip
from qafd.graph import Graph

CLUSTER = 150
DIMENSIONS = 32
DEGREE = 8


@dataclass(frozen=True)
class Size:
    """Medians over some questions on a graph of `nodes` nodes and `edges` edges.

    `support` and `touched` count nodes; `milliseconds` is processor time of one solve.
    """

    nodes: int
    edges: int
    support: float
    touched: float
    milliseconds: float


def clustered(n: int, rng: np.random.Generator) -> Graph:
    """A graph of n nodes in clusters of about 150, mean degree about 8, with vectors.

    Four fifths of the edges stay inside a cluster; vectors are the cluster's center plus noise,
    and edges carry the clipped cosine of their ends.
    """
    clusters = max(1, n // CLUSTER)
    cluster = np.sort(rng.integers(0, clusters, n))
    first, last = np.searchsorted(cluster, cluster), np.searchsorted(cluster, cluster, "right")
    u = np.repeat(np.arange(n), DEGREE // 2)
    inside = rng.random(len(u)) < 0.8
    v = np.where(inside, rng.integers(first[u], last[u]), rng.integers(0, n, len(u)))
    vectors = rng.standard_normal((clusters, DIMENSIONS), np.float32)[cluster]
    vectors += rng.standard_normal(vectors.shape, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = np.einsum("ij,ij->i", vectors[u], vectors[v]).astype(np.float64)
    return Graph.build([str(i) for i in range(n)], source_rows=u, target_rows=v,
                       similarity=clip(cosine), vectors=vectors)


def scale(sizes: Sequence[int], mass: float, seeds: int, variant: str,
          questions: int = 5,
          progress: Callable[[float], object] = lambda _: None) -> tuple[Size, ...]:
    """One row per size: the same mass and number of seeds on ever larger graphs.

    A question is the vector of a random node with noise; its seeds are the nearest nodes, and
    capacities are 1.
    """
    weights = Weights.named(variant)
    rows = []
    for done, n in enumerate(sizes, 1):
        rng = np.random.default_rng([0, n])
        graph = clustered(n, rng)
        assert graph.vectors is not None
        found = []
        for node in rng.integers(0, n, questions):
            asked = graph.vectors[node] + 0.1 * rng.standard_normal(DIMENSIONS).astype(np.float32)
            asked = (asked / np.linalg.norm(asked)).astype(np.float32)
            nearest = np.argsort(-(graph.vectors @ asked), kind="stable")[:seeds]
            began = time.process_time()
            diffusion = solve(graph, Gates(weights, asked), nearest,
                              np.full(len(nearest), mass / max(len(nearest), 1)))
            spent = 1000 * (time.process_time() - began)
            found.append((len(diffusion.support), len(diffusion.rows), spent))
        middle = np.median(np.array(found, np.float64), axis=0)
        rows.append(Size(n, graph.edge_count, *middle.tolist()))
        progress(done / len(sizes))
    return tuple(rows)
