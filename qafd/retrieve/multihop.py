"""QAFD-RAG's multi-hop system, which made its tables of multi-hop questions: fact seeds, small alpha."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from qafd.flow.reference import RELEASED, Pushing, push_freely
from qafd.flow.weights import VARIANTS, Gates, Similarity, Weights, clip
from qafd.graph import Graph
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, params_of, passages_ranked
from qafd.retrieve.pagerank import entry_weights, strengths
from qafd.retrieve.seeds import match, minmax, named_rows, passage_counts
from qafd.retrieve.subgraph import (
    edges,
    entries_among,
    foremost,
    foremost_of,
    nodes,
    number_places,
    rank_passages,
)

LAYER = frozenset({"mention", "relation", "synonym"})
FACTS = frozenset({"relation"})
HELD = 10.0  # capacity of all nodes together
STEP = 0.2  # share of a push's gain that x rises by
BACKED = 5  # passages that are shown as seeds, though all are


@dataclass(frozen=True)
class MultiHop(Method):
    """One joint diffusion from the ends of the nearest facts and from all passages.

    The graph and the sources are those of HippoRAG 2: phrases and passages; the phrases of the
    facts nearest to the question, each by the mean of its facts over the number of its passages;
    all passages by .05 times their scaled similarity. Capacities are degrees scaled to sum 10, and
    `alpha` is the mass in all. x begins as two steps of a walk that returns to the sources with
    probability one half, and rises by .2 times the increase by `pushes` pushes of Algorithm 2;
    passages are ranked by it.

    There is no certificate: the pushes stop with excess left. Deviations: all mass fits, where the code
    pours `alpha` times the capacity of all nodes; the node with most excess is pushed, so that a
    question has one answer; the walk takes the question's weights, as an option of the code does, and
    x rises by them too, not by those of the graph; a fact is as near as its two ends, for its sentence
    has no vector; in place of a model, a rule filters the facts: those with an end that the question
    names, where there are any.
    """

    label: ClassVar[str] = "QAFD, multi-hop system"
    idea: ClassVar[str] = ("mass enters at the ends of the facts nearest to the question and, a little, "
                           "at every passage; passages are ranked by their own x")
    source: ClassVar[str] = "QAFD-RAG, its code for multi-hop questions (Table 3)"

    alpha: float = knob(2.0, 0.01, 9.9, help="Source mass in all, where all nodes together hold 10.")
    facts: int = knob(5, 1, 50, help="How many facts nearest to the question give their ends as seeds.")
    variant: str = knob("hybrid", options=VARIANTS, help="Edge weight, Eq. (2a) to (2c).")
    filter: str = knob("names", options=("names", "none"), help="Which facts count: those with an end that "
                       "the question names, if there are any, or all.")
    passage_weight: float = knob(0.05, 0.0, 1.0, advanced=True,
                                 help="Weight of passages as sources beside phrases.")
    pushes: int = knob(RELEASED.most_pushes, 0, 100_000, advanced=True, help="Pushes after which it stops.")
    nodes: int = knob(60, 1, 500, help="How many of the most important nodes are retrieved.")
    top: int = passages_ranked()

    def fit_to(self, graph: Graph) -> Self:
        """Return the method with fewer nodes in a small graph."""
        return self.fewer("nodes", len(graph) / 4)

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the most important nodes, without flow, and passages by their own x."""
        graph, layer, rows = corpus.graph, corpus.graph.layer(LAYER), corpus.passages.rows
        dense = match(corpus.passages, plan).dense
        share, why = self._sources(corpus, plan, dense)
        gates = Gates(Weights.of_variant(self.variant), plan.embedding, similarity=Similarity("shift"))
        sources = np.flatnonzero(share)
        sink = np.maximum(layer.degree, 1).astype(np.float64)
        sink *= HELD / max(sink.sum(), 1.0)
        score = walk_back(layer, entry_weights(layer, gates), share)
        joined = sources[layer.degree[sources] > 0]
        trace = push_freely(layer, gates, joined, self.alpha * share[joined], sink,
                            Pushing("largest", RELEASED.epsilon, int(self.pushes)))
        score[trace.rows] += STEP * trace.x
        shown = foremost_of(graph, score, self.nodes, why)
        place = number_places(graph, shown, score)
        reasons = [why.get(row) or reason(ReasonKind.PUSHED_TO, place=place[row], score=float(score[row]))
                   for row in shown.tolist()]
        order = np.lexsort((-dense, -score[rows]))[:self.top]
        return Retrieval(
            query=plan.question, method="multihop", params=params_of(self),
            seeds=graph.ids_of(why),
            nodes=nodes(layer, plan, shown, score[shown], reasons, seeds=why),
            edges=edges(layer, entries_among(layer, shown)),
            ranking=rank_passages(graph, rows[order], score[rows[order]]),
            notices=() if len(sources) or not len(graph) else (notice(NoticeKind.NO_SEED),),
            revision=graph.revision)

    def _sources(self, corpus: Corpus, plan: QueryPlan, dense: Floats) -> tuple[Floats, dict[int, Reason]]:
        """Return each row's share of the mass, shape (n,), and reasons for the seeds that are shown."""
        graph, rows = corpus.graph, corpus.passages.rows
        share = np.zeros(len(graph))
        ends_of, cosines = nearest_facts(graph, plan, self.facts, self.filter == "names")
        why: dict[int, Reason] = {}
        for place, (pair, cosine) in enumerate(zip(ends_of.tolist(), cosines.tolist(), strict=True), 1):
            for row, other in (pair, pair[::-1]):
                why.setdefault(row, reason(ReasonKind.FACT_END, place=place, cosine=cosine,
                                           name=graph.names[other]))
        phrases = np.array(list(why), np.int64)
        if len(phrases):
            total = np.bincount(ends_of.ravel(), np.repeat(clip(cosines), 2), len(graph))
            times = np.bincount(ends_of.ravel(), minlength=len(graph))
            share[phrases] = total[phrases] / times[phrases] / np.maximum(
                1, passage_counts(graph, phrases))
        scaled = minmax(dense) if len(dense) and np.ptp(dense) > 0 else np.ones(len(dense))
        share[rows] += self.passage_weight * scaled
        if self.passage_weight:
            best = rows[foremost(graph, rows, scaled, BACKED)]
            for place, row in enumerate(best.tolist(), 1):
                why[row] = reason(ReasonKind.NEAR_BY_MEANING, place=place)
        why = {row: told for row, told in why.items() if share[row] > 0}
        return share / max(float(share.sum()), 1e-300), why


def nearest_facts(graph: Graph, plan: QueryPlan, count: int, named: bool = False) -> tuple[Nodes, Floats]:
    """Return the ends of the relations nearest to the question, shape (k, 2), and their cosines (k,).

    A relation is as near as the mean of the names of its two ends. With `named` only those with an end
    that the question names count, where there are any.
    """
    layer = graph.layer(FACTS)
    entries = np.flatnonzero(layer.starts < layer.neighbors)
    if graph.name_vectors is None or not len(entries):
        return np.zeros((0, 2), np.int64), np.zeros(0)
    u, v = layer.starts[entries], layer.neighbors[entries].astype(np.int64)
    if named:
        names = named_rows(graph, plan)
        about = np.isin(u, names) | np.isin(v, names)
        if about.any():
            u, v = u[about], v[about]
    near = (graph.name_vectors @ plan.embedding).astype(np.float64)
    cosines = (near[u] + near[v]) / 2
    best = foremost(graph, u, cosines, count)
    return np.stack([u[best], v[best]], axis=1).astype(np.int64), cosines[best]


def walk_back(layer: Graph, weight: Floats, share: Floats) -> Floats:
    """Return shares after two steps of a walk: half returns to the sources, half goes along the weights."""
    total = strengths(layer, weight)
    score = share
    for _ in range(2):
        onward = np.divide(score, total, out=np.zeros_like(score), where=total > 0)
        score = (share + np.bincount(layer.starts, weight * onward[layer.neighbors], len(layer))) / 2
    return score
