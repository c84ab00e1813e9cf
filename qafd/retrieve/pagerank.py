"""Personalized PageRank from the question's entities and passages, after HippoRAG 2."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix

from qafd.flow.weights import VARIANTS, Gates, Weights
from qafd.graph import Graph, sum_at
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, params_of, passages_ranked
from qafd.retrieve.qafd import LAYERS, SHARE
from qafd.retrieve.rank import Ranking, rank
from qafd.retrieve.seeds import (
    Match,
    Seeds,
    keyword_seeds,
    match,
    minmax,
    named_rows,
    passage_counts,
    select_seeds,
)
from qafd.retrieve.subgraph import (
    edges,
    ends,
    entries_among,
    entries_around,
    foremost,
    foremost_of,
    nodes,
    number_places,
    rank_passages,
)

TOLERANCE = 1e-9  # change of a round, in probability summed over all nodes, below which it ends
WIDE = {"relations": (frozenset({"mention", "relation", "synonym"}), None),
        "passages": LAYERS["passages"]}


@dataclass(frozen=True)
class PageRank(Method):
    """A walk that follows an edge with probability `damping` and else returns to its sources.

    p = (1 - c) s + c W D^-1 p on names and passages together. The defaults are Gutierrez et al.,
    "From RAG to Memory" (HippoRAG 2), Section 3.3: damping .5; sources are the question's
    entities, each by 1 / (number of its passages), and all passages by .05 times their scaled
    similarity to the question; passages are ranked by their own p.

    Deviations: the question's entities are the names in it, where HippoRAG 2 takes those of the
    triples that a language model picks; edges have the weights of the graph (`plain`), not counts of
    triples; the most probable `nodes` count as retrieved, where HippoRAG has passages only. Where
    nothing leads on, the walk returns to its sources. `PRESETS["follow"]` walks QAFD's own graph,
    weights, sources and ranking with damping .95: the rival that differs from it by the spreading
    alone.
    """

    label: ClassVar[str] = "HippoRAG PageRank"
    idea: ClassVar[str] = ("a random walk that keeps returning to the question's names; a "
                           "re-implementation of the idea, on this graph")
    source: ClassVar[str] = "Gutierrez et al. 2025, HippoRAG 2"

    damping: float = knob(0.5, 0.0, 0.99, help="Probability to follow an edge instead of "
                          "returning to a source.")
    nodes: int = knob(60, 1, 500, help="How many of the most probable nodes are retrieved.")
    seeding: str = knob("names", options=("names", "question", "keywords"), advanced=True,
                        help="Sources: names and all passages as in HippoRAG 2, the names and the "
                        "nearest passages as for QAFD, or the nodes nearest to the keywords.")
    seeds: int = knob(5, 0, 200, advanced=True, help="How many passages are seeds, or how many nodes if "
                                                     "keywords choose them. If names choose them, all "
                                                     "passages are seeds and this many are shown.")
    passage_weight: float = knob(0.05, 0.0, 1.0, advanced=True, help="Seeding names: weight of passages "
                                                                     "relative to names.")
    variant: str = knob("plain", options=VARIANTS, advanced=True,
                        help="Edge weight; all but plain look at the question.")
    layer: str = knob("relations", options=tuple(WIDE), advanced=True, help="Walk over mentions, "
                      "synonyms and relations, or without relations as QAFD does.")
    ranking: str = knob("score", options=("score", "evidence"), advanced=True,
                        help="Rank passages by their own probability, or as QAFD does, with "
                        "probability in the place of importance.")
    top: int = passages_ranked()

    def fit_to(self, graph: Graph) -> Self:
        """Return the method with fewer nodes in a small graph, the share of it that QAFD may fill."""
        return self.fewer("nodes", SHARE * len(graph))

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the most probable nodes, the net flow of the walk between them, passages ranked."""
        graph, passages = corpus.graph, corpus.passages
        found = match(passages, plan)
        layer = graph.layer(*WIDE[self.layer])
        seeds = self._sources(corpus, plan, found, layer)
        weight = entry_weights(layer, Gates(
            Weights.of_variant(self.variant), None if self.variant == "plain" else plan.embedding))
        score = pagerank(layer, weight, seeds.rows, seeds.shares, self.damping)
        if self.ranking == "evidence":
            order = rank(passages, found, score, Ranking.for_certainty(seeds.certainty), self.top)
            ranking = rank_passages(graph, order.rows, order.scores, order.parts)
        else:
            scores = score[passages.rows]
            places = np.lexsort((-found.dense, -scores))[:self.top]
            ranking = rank_passages(graph, passages.rows[places], scores[places])
        shown = dict(zip(seeds.rows.tolist(), seeds.reasons, strict=False))
        rows = foremost_of(layer, score, self.nodes, shown)
        reasons = _reasons(layer, weight, score, rows, shown, seeds, self.damping)
        entries = entries_among(layer, rows)
        return Retrieval(
            query=plan.question, method="pagerank", params=params_of(self),
            seeds=graph.ids_of(shown),
            nodes=nodes(layer, plan, rows, score[rows], reasons, seeds=shown),
            edges=edges(layer, entries, net_flow(layer, weight, score, entries, self.damping),
                        weight[entries]),
            ranking=ranking,
            notices=() if len(seeds.rows) or not len(graph) else (notice(NoticeKind.NO_SOURCE),),
            revision=graph.revision)

    def _sources(self, corpus: Corpus, plan: QueryPlan, found: Match, layer: Graph) -> Seeds:
        """Return rows and shares of all sources; reasons for the first of them, which are shown."""
        graph, passages = corpus.graph, corpus.passages
        if self.seeding == "keywords":
            return keyword_seeds(graph, plan, self.seeds)
        if self.seeding == "question":
            return select_seeds(graph, passages, plan, found, best=self.seeds, layer=layer)
        named = np.array(named_rows(graph, plan), np.int64)
        rare = 1 / np.maximum(1, passage_counts(graph, named))
        scaled = minmax(found.dense)
        if not scaled.any():  # equally near passages are all sources
            scaled = np.ones(len(scaled))
        order = foremost(graph, passages.rows, scaled, len(passages))
        order = order[scaled[order] > 0]
        shares = np.concatenate([rare, self.passage_weight * scaled[order]])
        kept = shares > 0
        reasons = [reason(ReasonKind.NAMED)] * len(named)
        if self.passage_weight:
            reasons += [reason(ReasonKind.NEAR_BY_MEANING, place=i)
                        for i in range(1, min(self.seeds, len(order)) + 1)]
        return Seeds(np.concatenate([named, passages.rows[order]])[kept],
                     shares[kept] / max(shares.sum(), 1e-300), tuple(reasons))


def entry_weights(graph: Graph, gates: Gates) -> Floats:
    """Return the weight of every entry of a graph for one question, shape (2 |E|,)."""
    s = gates.align(graph, np.arange(len(graph)))
    return gates.weights(graph.similarity, s[graph.starts], s[graph.neighbors])


def pagerank(graph: Graph, weight: Floats, rows: Nodes, shares: Floats, damping: float
             ) -> Floats:
    """Return personalized PageRank by power iteration.

    Parameters
    ----------
    weight : ndarray, shape (2 |E|,)
        Of every entry, the same from both ends.
    rows, shares : ndarray, shape (k,)
        The sources and their probabilities, which sum to 1 (or none: then all is 0).
    damping : float
        In [0, 1): the probability to follow an edge.

    Returns
    -------
    score : ndarray, shape (n,)
        Sums to 1; an isolated node returns its share to the sources.
    """
    n = len(graph)
    total = strengths(graph, weight)
    # Row v of a symmetric graph lists what flows into v, so the adjacency serves as it is.
    walk = csr_matrix(  # type: ignore[no-untyped-call]
        (weight / total[graph.neighbors], graph.neighbors, graph.indptr), (n, n))
    restart = np.zeros(n)
    np.add.at(restart, rows, shares)
    alone = total == 0
    score, change = restart, np.inf
    while change >= TOLERANCE:
        back = 1 - damping + damping * score[alone].sum()
        following = back * restart + damping * (walk @ score)
        change = float(np.abs(following - score).sum())
        score = following
    return score


def strengths(graph: Graph, weight: Floats) -> Floats:
    """Return the sum of the weights around each node, shape (n,)."""
    return sum_at(graph.starts, weight, len(graph))


def net_flow(graph: Graph, weight: Floats, score: Floats, entries: Nodes,
             damping: float) -> Floats:
    """Return the net flow of the walk along each entry per step.

    c w_uv (p_u / d_u - p_v / d_v), with d the sum of weights around a node.
    """
    total = strengths(graph, weight)
    u, v = ends(graph, entries)
    return damping * weight[entries] * (score[u] / total[u] - score[v] / total[v])


def _reasons(layer: Graph, weight: Floats, score: Floats, rows: Nodes, shown: dict[int, Reason],
             seeds: Seeds, damping: float) -> list[Reason]:
    """Return for each row the source of most of its walk, and its share of the walk."""
    total = strengths(layer, weight)
    place = number_places(layer, rows, score)
    restart = dict(zip(seeds.rows.tolist(), seeds.shares.tolist(), strict=True))
    reasons = []
    for row in rows.tolist():
        around = entries_around(layer, np.array([row]))
        _, near = ends(layer, around)
        came = damping * weight[around] * score[near] / total[near]
        share = reason(ReasonKind.WALK_SHARE, share=float(score[row]), place=place[row])
        if row in shown:
            reasons.append(replace(shown[row], also=(share,)))
        elif not len(came) or (1 - damping) * restart.get(row, 0.0) >= came.max():
            reasons.append(reason(ReasonKind.WALK_FROM_QUESTION, share, place=place[row]))
        else:
            best = near[came.argmax()]
            kind = (ReasonKind.WALK_FROM_PASSAGE if layer.kinds[best] == "passage"
                    else ReasonKind.WALK_FROM)
            reasons.append(reason(kind, share, name=layer.names[best]))
    return reasons


PRESETS = {
    "hipporag": PageRank(),
    "follow": PageRank(damping=0.95, seeding="question", variant="product", layer="passages",
                       ranking="evidence"),
}
