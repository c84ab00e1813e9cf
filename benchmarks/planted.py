"""The synthetic graph of the solver's benchmarks: power-law degrees, planted clusters, vectors.

Degrees follow a power law with exponent 2.5 between 4 and 300; four fifths of a node's edges end
in its own cluster of about 150 nodes. A node's vector is its cluster's center plus noise, centers
share topics, and edges carry the clipped cosine of their ends.
"""

from dataclasses import dataclass

import numpy as np

from qafd.flow.weights import clip
from qafd.graph import Graph

CLUSTER = 150
DIMENSIONS = 384


@dataclass(frozen=True)
class Planted:
    """A graph, its clusters, and queries with their seeds (top nodes by cosine)."""

    graph: Graph
    cluster: np.ndarray
    queries: np.ndarray
    seeds: np.ndarray


def planted(n: int, queries: int = 20, seeds: int = 40, dimensions: int = DIMENSIONS,
            seed: int = 0) -> Planted:
    """A planted graph of n nodes; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    clusters = max(1, n // CLUSTER)
    cluster = rng.integers(0, clusters, n)
    degree = np.minimum(4.0 * (1.0 - rng.random(n)) ** (-1 / 1.5), min(300.0, n / 4)).astype(int)
    inner = rng.binomial(degree, 0.8)
    u, v = [], []
    for stubs, group in ((inner, cluster), (degree - inner, np.zeros(n, np.int64))):
        node = np.repeat(np.arange(n), stubs)
        node = node[np.lexsort((rng.random(len(node)), group[node]))]
        node = node[: len(node) // 2 * 2]
        u.append(node[::2])
        v.append(node[1::2])
    source, target = np.concatenate(u), np.concatenate(v)
    topics = rng.standard_normal((max(2, clusters // 20), dimensions), np.float32)
    center = topics[rng.integers(0, len(topics), clusters)]
    center = center + rng.standard_normal(center.shape, np.float32)
    vectors = np.empty((n, dimensions), np.float32)
    for first in range(0, n, 100_000):
        part = slice(first, min(first + 100_000, n))
        block = center[cluster[part]]
        block += rng.standard_normal(block.shape, np.float32)
        vectors[part] = block / np.linalg.norm(block, axis=1, keepdims=True)
    cosine = np.empty(len(source))
    for first in range(0, len(source), 200_000):
        part = slice(first, first + 200_000)
        cosine[part] = np.einsum("ij,ij->i", vectors[source[part]], vectors[target[part]])
    graph = Graph.build([str(i) for i in range(n)], source, target, clip(cosine), vectors=vectors)
    asked = center[rng.integers(0, clusters, queries)]
    asked = asked + 0.5 * rng.standard_normal(asked.shape, np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    top = np.array([np.argsort(-(vectors @ q), kind="stable")[:seeds] for q in asked])
    return Planted(graph, cluster, asked, top)
