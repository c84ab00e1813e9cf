"""Two embedding models on the same documents: neighbors, gates and what each retrieves."""

from dataclasses import dataclass

import numpy as np

from qafd.explain.paths import shown
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.lab.gatehouse import GateFlow, gates
from qafd.models.embedder import Embedder
from qafd.plan import Planner
from qafd.records import Nodes, Vectors
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import FlowDiffusion

NEAREST = 10
DRAWN = 1000  # nodes that are asked for their neighbors


@dataclass(frozen=True)
class NeighborShare:
    """The share of a node's nearest nodes in one model that are among its nearest in another."""

    id: str
    name: str
    kind: str
    share: float


@dataclass(frozen=True, eq=False)
class Side:
    """What the question retrieves with one model, and the gates that its diffusion read."""

    model: str
    retrieval: Retrieval
    gates: tuple[GateFlow, ...]


def neighbors_kept(one: Graph, other: Graph, rng: np.random.Generator, nearest: int = NEAREST,
                   most: int = DRAWN) -> tuple[NeighborShare, ...]:
    """Recall of neighbors, of `most` nodes that both graphs have, drawn at random; least first.

    Neighbors are the nodes of the largest cosines, equal ones by row. Both graphs have vectors.
    """
    shared = [(row, other.row[node]) for row, node in enumerate(one.ids) if node in other.row]
    if len(shared) < 2:
        return ()
    rows = np.array(shared, np.int64).T  # (2, n)
    asked = np.sort(rng.permutation(len(shared))[:most])
    k = min(nearest, len(shared) - 1)
    found = []
    for graph, place in zip((one, other), rows, strict=True):
        assert graph.vectors is not None
        found.append(_nearest(graph.vectors[place], asked, k))
    kept = [NeighborShare(one.ids[row], shown(one, row), str(one.kinds[row]),
                 len(np.intersect1d(a, b)) / k)
            for row, a, b in zip(rows[0][asked].tolist(), *found, strict=True)]
    return tuple(sorted(kept, key=lambda node: (node.share, node.id)))


def _nearest(vectors: Vectors, asked: Nodes, k: int) -> Nodes:
    """Rows of the k nearest to each asked row, itself left out, shape (a, k)."""
    found = np.empty((len(asked), k), np.int64)
    for first in range(0, len(asked), 100):
        some = asked[first:first + 100]
        cosines = vectors[some] @ vectors.T
        cosines[np.arange(len(some)), some] = -np.inf
        found[first:first + 100] = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return found


def side(knowledge: KnowledgeGraph, graph: Graph, embedder: Embedder, question: str,
         method: FlowDiffusion) -> Side:
    """The question read, retrieved and gated with one model's graph; not taken apart."""
    plan = Planner(graph, embedder).plan(question)
    problem = method.problem(knowledge.corpus(graph, ()), plan)
    return Side(embedder.name, knowledge.retrieve(plan, method, graph=graph),
                gates(problem, problem.solve()))
