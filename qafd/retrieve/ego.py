"""Ego nets around the question's keywords, after LightRAG."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import ClassVar

import numpy as np

from qafd.graph import Graph
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, params_of, passages_ranked
from qafd.retrieve.seeds import Seeds, keyword_seeds, match
from qafd.retrieve.subgraph import (
    edges,
    ends,
    entries_around,
    foremost,
    nodes,
    order_by_mentions,
    rank_passages,
)

MODES = ("hybrid", "local", "global")


@dataclass(frozen=True)
class EgoNet(Method):
    """Low-level keywords retrieve entities and their neighbors, high-level ones relations.

    Guo et al., "LightRAG", Section 3.2 (dual-level retrieval). Local: the entities nearest to
    the low-level keywords and their relations, those between well connected ends first. Global:
    the relations nearest to the high-level keywords and their ends. A mode whose keywords the
    question does not have is replaced by the other; without any, the question is the keyword.

    Passages are ranked as in LightRAG's code: local, in the order of the entities they mention,
    then by how many neighbors of that entity they also mention; global, in the order of the
    relations both of whose ends they mention; hybrid takes from both in turn. A passage's score
    is 1 / rank.

    Deviations: keywords are compared one by one, score(v) = max over keywords, instead of as one
    string; entities are compared by the vectors of their names, not of descriptions; a relation
    by the mean vector of its ends, not of its own description; `cutoff` is the code's
    `cosine_better_than_threshold`, for these vectors; ties of passages go to the cosine
    with the question. `entities`, `relations` and `neighbors` replace LightRAG's limits in
    tokens; its `top_k` is 40 entities and 40 relations, here 10 each. Its mode `mix`, which adds
    passages by vector search, is not implemented. Importance, which LightRAG does not have, is the
    cosine, halved for a neighbor.
    """

    label: ClassVar[str] = "LightRAG ego net"
    idea: ClassVar[str] = ("keywords to entities and their neighbors; a re-implementation of the "
                           "idea, on this graph")
    source: ClassVar[str] = "Guo et al. 2024, LightRAG"

    mode: str = knob("hybrid", options=MODES, help="Local: entities and their neighbors. "
                     "Global: relations. Hybrid: both.")
    entities: int = knob(10, 1, 200, help="How many entities the low-level keywords find.")
    relations: int = knob(10, 1, 200, help="How many relations the high-level keywords find.")
    neighbors: int = knob(60, 0, 1000, help="How many relations of those entities are followed.")
    cutoff: float = knob(0.2, 0.0, 1.0, advanced=True, help="Lowest cosine with a keyword at which an "
                                                            "entity or relation is found.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the entities and relations that the keywords retrieve, without flow."""
        graph, layer = corpus.graph, corpus.graph.layer({"relation"})
        low, high = _of_level(plan, "low"), _of_level(plan, "high")
        local = self.mode != "global" and bool(len(low.keywords)) or not len(high.keywords)
        wide = self.mode != "local" and bool(len(high.keywords)) or not local
        net = _Net(layer)
        dense = match(corpus.passages, plan).dense
        near: list[int] = []
        far: list[int] = []
        if local:
            seeds, cosines = _near_enough(*entity_seeds(graph, low, self.entities), self.cutoff)
            net.add_entities(seeds, cosines, self.neighbors)
            near = list(_passages_of_entities(layer, corpus, seeds.rows, dense))
        if wide:
            entries = net.add_relations(high, self.relations, self.cutoff)
            far = list(_passages_of_relations(corpus, *ends(layer, entries), dense))
        order = np.array(list(_in_turn(near, far))[:self.top], np.int64)
        rows = np.array(list(net.found), np.int64)
        kept = nodes(layer, plan, rows, np.array([x for x, _ in net.found.values()]),
                     [why for _, why in net.found.values()], seeds=net.seeds)
        return Retrieval(
            query=plan.question, method="ego", params=params_of(self),
            seeds=tuple(node.id for node in kept if node.seed), nodes=kept,
            edges=edges(layer, np.array(list(net.entries.values()), np.int64)),
            ranking=rank_passages(graph, order, 1 / np.arange(1, len(order) + 1)),
            notices=() if len(rows) or not len(graph) else (notice(NoticeKind.NO_SEED),),
            revision=graph.revision)


def entity_seeds(graph: Graph, plan: QueryPlan, count: int) -> tuple[Seeds, Floats]:
    """Return the entities nearest to the plan's keywords, or to the question when it has none, and cosines.

    Best first; cosines are at least 0.
    """
    seeds = keyword_seeds(graph, plan, count, "entities")
    if graph.name_vectors is None or not len(seeds.rows):
        return seeds, np.zeros(len(seeds.rows))
    asked = plan.keyword_embeddings if len(plan.keywords) else plan.embedding[None, :]
    cosines = (graph.name_vectors[seeds.rows] @ asked.T).max(axis=1).astype(np.float64)
    return seeds, np.maximum(cosines, 0.0)


class _Net:
    """The net so far: importance and reason by row, relations by ends."""

    def __init__(self, layer: Graph) -> None:
        self._layer = layer
        self.found: dict[int, tuple[float, Reason]] = {}
        self.entries: dict[tuple[int, int], int] = {}
        self.seeds: set[int] = set()

    def add_entities(self, seeds: Seeds, cosines: Floats, most: int) -> None:
        """Add entities, and the ends of up to `most` of their relations.

        Relations between ends of high degree come first, then those of high similarity.
        """
        layer, rows = self._layer, seeds.rows
        for row, cosine, why in zip(rows.tolist(), cosines.tolist(), seeds.reasons, strict=True):
            self.seeds.add(row)
            self._keep(row, cosine, why)
        around = entries_around(layer, rows)
        u, v = ends(layer, around)
        degree = layer.degree_of(u) + layer.degree_of(v)
        order = sorted(range(len(around)), key=lambda i: (
            -degree[i], -layer.similarity[around[i]], *sorted((layer.ids[u[i]], layer.ids[v[i]]))))
        hop = dict(zip(rows.tolist(), cosines.tolist(), strict=True))
        kept: dict[tuple[int, int], int] = {}
        for i in order:
            if len(kept) == most:
                break
            kept.setdefault(_pair(u[i], v[i]), i)
        self.entries |= {pair: int(around[i]) for pair, i in kept.items()}
        for a, b in kept:
            for near, far in ((a, b), (b, a)):
                if near in hop and far not in hop:
                    self._keep(far, hop[near] / 2,
                               reason(ReasonKind.ONE_HOP, name=layer.names[near]))

    def add_relations(self, plan: QueryPlan, count: int, cutoff: float) -> Nodes:
        """Add the relations nearest to the plan's keywords, with their ends; return their entries, in
        order."""
        layer = self._layer
        if layer.vectors is None:
            return np.zeros(0, np.int64)
        start = layer.starts
        entries = np.flatnonzero(start < layer.neighbors)
        u, v = start[entries], layer.neighbors[entries]
        cosines = (layer.vectors @ plan.keyword_embeddings.T).astype(np.float64)  # (n, k)
        means = (cosines[u] + cosines[v]) / 2
        scores = means.max(axis=1, initial=-1.0)
        best = foremost(layer, u, scores, count)
        best = best[scores[best] >= cutoff]
        for place, i in enumerate(best.tolist(), 1):
            a, b = int(u[i]), int(v[i])
            word = plan.keywords[int(means[i].argmax())].text
            self.entries[a, b] = int(entries[i])
            for row, other in ((a, b), (b, a)):
                self.seeds.add(row)
                self._keep(row, max(0.0, float(scores[i])), reason(
                    ReasonKind.RELATION_END,
                    reason(ReasonKind.OTHER_END, name=layer.names[other]),
                    word=word, place=place, cosine=float(scores[i])))
        chosen: Nodes = entries[best]
        return chosen

    def _keep(self, row: int, importance: float, why: Reason) -> None:
        if row not in self.found or importance > self.found[row][0]:
            self.found[row] = importance, why


def _near_enough(seeds: Seeds, cosines: Floats, cutoff: float) -> tuple[Seeds, Floats]:
    """Return the seeds whose cosine reaches the cut-off."""
    kept = np.flatnonzero(cosines >= cutoff)
    reasons = tuple(seeds.reasons[at] for at in kept.tolist())
    return Seeds(seeds.rows[kept], seeds.shares[kept], reasons), cosines[kept]


def _pair(u: int, v: int) -> tuple[int, int]:
    return (int(u), int(v)) if u < v else (int(v), int(u))


def _of_level(plan: QueryPlan, level: str) -> QueryPlan:
    """Return the plan with the keywords of one level."""
    kept = [i for i, keyword in enumerate(plan.keywords) if keyword.level == level]
    return replace(plan, keywords=tuple(plan.keywords[i] for i in kept),
                   keyword_vectors=plan.keyword_embeddings[kept])


def _passages_of_entities(layer: Graph, corpus: Corpus, rows: Nodes, dense: Floats) -> Iterator[int]:
    """Yield rows of passages in the order of the entities they mention, each as often as it does."""
    mentions = corpus.graph.layer({"mention"})
    for row in rows.tolist():
        yield from order_by_mentions(corpus, mentions.around(row), layer.around(row), dense)


def _passages_of_relations(corpus: Corpus, u: Nodes, v: Nodes, dense: Floats) -> Iterator[int]:
    """Yield rows of passages in the order of the relations both of whose ends they mention."""
    mentions = corpus.graph.layer({"mention"})
    for a, b in zip(u.tolist(), v.tolist(), strict=True):
        both = np.intersect1d(mentions.around(a), mentions.around(b))
        yield from order_by_mentions(corpus, both, both[:0], dense)


def _in_turn(one: list[int], other: list[int]) -> Iterator[int]:
    """Yield the rows of both lists in turn, each once."""
    one, other = list(dict.fromkeys(one)), list(dict.fromkeys(other))
    seen: set[int] = set()
    for row in chain.from_iterable(zip_longest(one, other, fillvalue=-1)):
        if row >= 0 and row not in seen:
            seen.add(row)
            yield row
