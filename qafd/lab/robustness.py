"""Robustness: how often each node returns when all embeddings are jittered."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.paths import row_name
from qafd.flow.weights import Similarity
from qafd.graph import Graph
from qafd.records import Floats, QueryPlan, Vectors
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import FlowDiffusion
from qafd.time_left import ignore_progress

LARGEST = 20_000  # nodes whose embeddings are jittered in well under a second


@dataclass(frozen=True)
class Return:
    """A node and the share of draws in which it was retrieved; `usual` without any noise."""

    id: str
    name: str
    kind: str
    share: float
    usual: bool


def returns(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion, noise: float, draws: int,
            rng: np.random.Generator,
            progress: Callable[[float], object] = ignore_progress) -> tuple[Return, ...]:
    """List every node that was retrieved at least once, the most frequent first.

    Seeds, gates and stored similarities are computed again in each draw, from embeddings to which
    a random vector of about `noise` times their length was added. A stored similarity is changed
    by the factor by which H of its two ends changes, so that without noise it stays as it is.

    Parameters
    ----------
    noise : float
        At least 0; 0.2 turns an embedding by about 11 degrees.
    draws : int
        At least 1.

    Raises
    ------
    ParameterError
        When the graph has no embeddings or more nodes than `LARGEST`.
    """
    graph = corpus.graph
    if noise < 0 or draws < 1:
        raise ParameterError(f"{draws} draws with noise {noise} make no experiment; choose at "
                             "least 1 draw and a noise of at least 0")
    if graph.vectors is None:
        raise ParameterError("this graph has no embeddings to jitter")
    if len(graph) > LARGEST:
        raise ParameterError(f"jittering the embeddings of {len(graph):,} nodes takes too "
                             f"long; the limit is {LARGEST:,}")
    usual = set(method.problem(corpus, plan).solve().support.tolist())
    h = Similarity(method.similarity, gamma=method.gamma)
    known = graph.vectors[:]
    before = h(_cosines(graph, known))
    count: Counter[int] = Counter()
    for i in range(draws):
        vectors = jitter(known, noise, rng)
        names = graph.name_vectors
        if names is not None and method.seeding == "keywords":
            names = jitter(names[:], noise, rng)
        shaken = replace(
            graph, vectors=vectors, name_vectors=names,
            similarity=graph.similarity * h(_cosines(graph, vectors)) / before)
        asked = replace(plan, embedding=jitter(plan.embedding[None, :], noise, rng)[0],
                        keyword_vectors=jitter(plan.keyword_embeddings, noise, rng))
        problem = method.problem(
            replace(corpus, graph=shaken, passages=corpus.passages.of(shaken)), asked)
        count.update(problem.solve().support.tolist())
        progress((i + 1) / draws)
    return tuple(sorted(
        (Return(graph.ids[row], row_name(graph, row), str(graph.kinds[row]), count[row] / draws,
                row in usual) for row in usual | set(count)),
        key=lambda r: (-r.share, not r.usual, r.name, r.id)))


def jitter(vectors: Vectors, noise: float, rng: np.random.Generator) -> Vectors:
    """Return unit rows with a random vector of length about `noise` added to each."""
    moved = vectors + rng.standard_normal(vectors.shape, np.float32) * np.float32(
        noise / np.sqrt(max(vectors.shape[1], 1)))
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    return (moved / np.where(length > 0, length, 1)).astype(np.float32)


def _cosines(graph: Graph, vectors: Vectors) -> Floats:
    """Return the cosine of the two ends of each stored edge, both ways, shape (2 |E|,)."""
    ends = vectors[graph.starts], vectors[graph.neighbors]
    return np.asarray(np.einsum("ij,ij->i", *ends), np.float64)
