"""The diffusion of the authors' released code, which is not problem (5): a preset to compare with."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from qafd.flow.reference import RELEASED, Pushing, push_freely
from qafd.flow.weights import Gates, Similarity, Weights
from qafd.graph import Graph
from qafd.reasons import NoticeKind, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, Work, knob, params_of, passages_ranked
from qafd.retrieve.seeds import keyword_seeds, match
from qafd.retrieve.subgraph import (
    edges,
    entries_among,
    foremost_of,
    nodes,
    number_places,
    rank_passages,
    score_by_mentions,
)

HELD = 10.0  # capacity of all nodes together
SURE = 1.7  # factor of the mass: 1 plus the confidence that its question answering gives each seed
LAYER = frozenset({"relation", "synonym"})


@dataclass(frozen=True)
class ReleasedCode(Method):
    """Pushes from one seed at a time that stop after 500, even with excess left.

    The repository of QAFD-RAG at its release: similarity (1 + cosine) / 2, Eq. (2c) over the weight
    stored with an edge, capacities in proportion to degrees that sum to 10, alpha times 10 times
    1.7 of mass on a seed, so far more than all nodes hold; x begins as two steps of a lazy walk and
    rises by `step` times the increase by a push of Algorithm 2. Importance is the sum over the seeds.

    There is no certificate: nothing converges, and x belongs to no flow. Deviations: the node with
    most excess is pushed instead of a random one, so that a question has one answer; the weight
    stored with an edge is the similarity of its ends where no file has one; passages are ranked
    by the entities they mention, where the code hands its clusters to a model.
    """

    label: ClassVar[str] = "QAFD, released code"
    idea: ClassVar[str] = ("500 pushes from each seed, most of the mass left where it was poured: "
                           "what the authors' code does")
    source: ClassVar[str] = "QAFD-RAG, its released code"

    alpha: float = knob(50.0, 0.1, 1000.0, help="Source mass of each seed, in multiples of 1.7 times "
                        "what all nodes hold together.")
    seeds: int = knob(40, 1, 200, help="How many entities nearest to the keywords are seeds.")
    pushes: int = knob(RELEASED.most_pushes, 1, 5000, help="Pushes after which a seed's diffusion stops.")
    step: float = knob(0.2, 0.01, 1.0, advanced=True, help="Share of a push's gain that x rises by.")
    nodes: int = knob(60, 1, 500, help="How many of the most important nodes are retrieved.")
    top: int = passages_ranked()

    def fit_to(self, graph: Graph) -> Self:
        """Return the method with fewer seeds and nodes in a small graph."""
        entities = graph.count("entity")
        return self.fewer("seeds", entities // 2).fewer("nodes", len(graph) / 4)

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the most important nodes over all seeds, without flow, and passages ranked."""
        graph, layer = corpus.graph, corpus.graph.layer(LAYER)
        seeds = keyword_seeds(graph, plan, self.seeds, "entities")
        gates = Gates(Weights.of_variant("hybrid"), plan.embedding, similarity=Similarity("shift"))
        pushing = Pushing("largest", RELEASED.epsilon, int(self.pushes))
        x = np.zeros(len(graph))
        sink = np.maximum(layer.degree, 1).astype(np.float64)
        sink *= HELD / sink.sum() if len(sink) else 1.0
        for row in seeds.rows.tolist():
            warm, begun = begin_walk(layer, row)
            x[warm] += begun
            if layer.degree[row]:
                trace = push_freely(layer, gates, np.array([row]), np.array([self.alpha * HELD * SURE]), sink,
                                    pushing)
                x[trace.rows] += self.step * trace.x
        why = dict(zip(seeds.rows.tolist(), seeds.reasons, strict=True))
        rows, reached = foremost_of(graph, x, self.nodes, why)
        place = number_places(graph, rows, x)
        reasons = []
        for row in rows.tolist():
            told = reason(ReasonKind.PUSHED_TO, place=place[row], score=float(x[row]))
            reasons.append(replace(why[row], also=(told,)) if row in why else told)
        found, scores = score_by_mentions(corpus, match(corpus.passages, plan).dense, x)
        return Retrieval(
            query=plan.question, method="released", params=params_of(self),
            seeds=graph.ids_of(seeds.rows.tolist()),
            nodes=nodes(layer, plan, rows, x[rows], reasons, seeds=set(why)),
            edges=edges(layer, entries_among(layer, rows)),
            ranking=rank_passages(graph, found[:self.top], scores[:self.top]),
            work=Work(reached, layer.edge_count, int(self.pushes) * len(why)),
            notices=() if len(why) or not len(graph) else (notice(NoticeKind.NO_SEED),),
            revision=graph.revision)


def begin_walk(layer: Graph, row: int) -> tuple[Nodes, Floats]:
    """Return the first x: two steps of a lazy walk, each half at the seed and half one step on."""
    x = {row: 1.0}
    for _ in range(2):
        onward = {row: 0.5}
        for node, held in x.items():
            around = layer.around(node).tolist()
            for other in around:
                onward[other] = onward.get(other, 0.0) + held / len(around) / 2
        x = onward
    begun: Floats = np.array(list(x.values()), np.float64)
    return np.array(list(x), np.int64), begun
