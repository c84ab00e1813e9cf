"""Entities, sentences and passages without relations, then PageRank, after LinearRAG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    WET,
    Corpus,
    Method,
    Retrieval,
    RetrievedEdge,
    RetrievedNode,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.pagerank import net_flow, pagerank
from qafd.retrieve.qafd import SHARE
from qafd.retrieve.seeds import match, minmax
from qafd.retrieve.subgraph import (
    edges,
    entries_among,
    foremost,
    foremost_of,
    nodes,
    number_places,
    rank_passages,
)

SHOWN = 5  # passages that count as seeds when no entity does


@dataclass(frozen=True)
class TriGraph(Method):
    """Names activate others through the sentences that fit the question; PageRank does the rest.

    Zhuang et al., "LinearRAG". Every low-level keyword activates the entity with the nearest
    name. Local semantic activation: an entity of score a passes a * cos(question, sentence) to
    the entities of the `breadth` best of its sentences that were not used before; a score below
    `threshold` is dropped. Global importance: PageRank with damping .5 over
    entities and passages, an edge weighing C of Eq. (2) of FlowRAG; it restarts at the entities
    by their score and at the passages by `passage_weight` times ratio * minmax(cosine) +
    ln(1 + sum over their entities of a ln(1 + count) / level). Passages are ranked by it.

    Deviations: an entity's level is the first at which it was activated, its a in the formula
    its highest score; sentence vectors are pooled in the context of their passage; there are no
    edges between neighboring passages; a question without low-level keywords restarts at the
    passages alone. The most probable `nodes` count as retrieved, where LinearRAG has passages only.
    """

    label: ClassVar[str] = "LinearRAG tri-graph"
    idea: ClassVar[str] = ("names activate names through fitting sentences, then a random walk "
                           "ranks passages; a re-implementation of the idea, on this graph")
    source: ClassVar[str] = "Zhuang et al. 2025, LinearRAG"
    needs: ClassVar[tuple[str, ...]] = ("sentences",)

    breadth: int = knob(1, 1, 20, help="How many sentences of an entity pass its activation on.")
    threshold: float = knob(0.5, 0.0, 1.0, help="The least score that activates an entity.")
    damping: float = knob(0.5, 0.0, 0.99, help="Probability to follow an edge instead of "
                          "returning to a source.")
    nodes: int = knob(60, 1, 500, help="How many of the most probable nodes are retrieved.")
    levels: int = knob(3, 1, 10, advanced=True, help="1 keeps to the question's own entities; "
                       "each further level is one sentence away.")
    ratio: float = knob(1.5, 0.0, 10.0, advanced=True, help="Weight of a passage's similarity "
                        "beside its entities.")
    passage_weight: float = knob(0.05, 0.0, 1.0, advanced=True,
                                 help="Weight of passages beside entities.")
    top: int = passages_ranked()

    def fit_to(self, graph: Graph) -> Self:
        """Return the method with fewer nodes in a small graph, the share of it that QAFD may fill."""
        return self.fewer("nodes", SHARE * len(graph))

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the most probable nodes, the sentences that activated them, and passages ranked.

        Raises
        ------
        MissingLayerError
            When "sentences" is not built.
        """
        graph, passages = corpus.graph, corpus.passages
        sentences: Sentences = corpus.layer("sentences")
        found = match(passages, plan)
        spread = activate(graph, sentences, plan, breadth=self.breadth,
                          threshold=self.threshold, levels=self.levels)
        restart = self._restart(graph, sentences, spread, passages.rows, minmax(found.dense))
        sources = np.flatnonzero(restart)
        layer = graph.layer({"mention"})
        weight = _entry_weights(layer, sentences)
        score = pagerank(layer, weight, sources,
                         restart[sources] / max(restart.sum(), 1e-300), self.damping)
        scores = score[passages.rows]
        order = passages.rows[np.lexsort((-found.dense, -scores))[:self.top]]
        seeds = {row for row, level in spread.level.items() if level == 1}
        seeds |= set() if seeds else set(order[:SHOWN].tolist())
        rows = foremost_of(graph, score, self.nodes, seeds)
        kept = nodes(layer, plan, rows, score[rows],
                     _reasons(graph, spread, score, rows), seeds=seeds)
        entries = entries_among(layer, rows)
        lines = edges(layer, entries, net_flow(layer, weight, score, entries, self.damping),
                      weight[entries])
        said = tuple(_sentences(graph, sentences, spread))
        shown = {node.id for node in (*kept, *said)}
        return Retrieval(
            query=plan.question, method="linear", params=params_of(self),
            seeds=tuple(node.id for node in kept if node.seed),
            nodes=(*kept, *said),
            edges=(*lines, *(e for e in _links(graph, sentences, spread)
                             if e.source in shown and e.target in shown)),
            ranking=rank_passages(graph, order, score[order]),
            revision=graph.revision)

    def _restart(self, graph: Graph, sentences: Sentences, spread: "Activation",
                 passages: Nodes, dense: Floats) -> Floats:
        """Return the restart of the walk, by graph row, not yet scaled to sum to 1."""
        restart, bonus = np.zeros(len(graph)), np.zeros(len(graph))
        for row, weight in spread.weight.items():
            restart[row] = weight
        if spread.level:
            inside = sentences.contains[np.isin(sentences.contains[:, 1], list(spread.level))]
            for passage, entity, count in inside.tolist():
                bonus[passage] += (
                    spread.score[entity] * np.log1p(count) / spread.level[entity])
        elif not dense.any():  # equally near passages are all sources
            dense = np.ones(len(dense))
        restart[passages] = self.passage_weight * (
            self.ratio * dense + np.log1p(bonus[passages]))
        return restart


@dataclass
class Activation:
    """The activated entities by graph row, and how.

    `weight` sums all scores that reached an entity, `score` is the largest of them, `level` 1
    for those of the question; `through` is the sentence, -1 for the question, and the entity
    that `score` came from; `cosine` has the sentences used.
    """

    weight: dict[int, float] = field(default_factory=dict)
    score: dict[int, float] = field(default_factory=dict)
    level: dict[int, int] = field(default_factory=dict)
    through: dict[int, tuple[int, int]] = field(default_factory=dict)
    cosine: dict[int, float] = field(default_factory=dict)

    def take(self, row: int, score: float, level: int, sentence: int, origin: int) -> None:
        """Record another activation of an entity."""
        self.weight[row] = self.weight.get(row, 0.0) + score
        self.level.setdefault(row, level)
        if score > self.score.get(row, 0.0):
            self.score[row], self.through[row] = score, (sentence, origin)


def activate(graph: Graph, sentences: Sentences, plan: QueryPlan, *, breadth: int,
             threshold: float, levels: int) -> Activation:
    """Activate entities through the sentences, level after level."""
    spread = Activation()
    current: dict[int, float] = {}
    for row, cosine in _match_keywords(graph, plan):
        current[row] = max(cosine, current.get(row, 0.0))
    for row, score in current.items():
        spread.take(row, score, 1, -1, row)
    cosines = (sentences.vectors @ plan.embedding).astype(np.float64)
    by_entity = sentences.mentions[np.argsort(sentences.mentions[:, 1], kind="stable")]
    for level in range(2, levels + 1):
        following: dict[int, float] = {}
        for origin, score in sorted(current.items(), key=lambda at: (-at[1], graph.ids[at[0]])):
            if score < threshold:
                continue
            first, last = np.searchsorted(by_entity[:, 1], [origin, origin + 1])
            own = np.array([at for at in by_entity[first:last, 0].tolist()
                            if at not in spread.cosine], np.int64)
            for at in own[np.argsort(-cosines[own], kind="stable")[:breadth]].tolist():
                spread.cosine[at] = float(cosines[at])
                passed = score * spread.cosine[at]
                if passed < threshold:
                    continue
                for row in _mentions_of(sentences, at):
                    spread.take(row, passed, level, at, origin)
                    following[row] = max(passed, following.get(row, 0.0))
        current = following
    return spread


def _match_keywords(graph: Graph, plan: QueryPlan) -> Iterator[tuple[int, float]]:
    """Yield for every low-level keyword the entity with the nearest name, and their cosine."""
    rows = np.flatnonzero(graph.kinds == "entity")
    low = [at for at, keyword in enumerate(plan.keywords) if keyword.level == "low"]
    if graph.name_vectors is None or not len(rows):
        return
    for at in low:
        cosines = (graph.name_vectors[rows] @ plan.keyword_embeddings[at]).astype(np.float64)
        best = int(foremost(graph, rows, cosines, 1)[0])
        yield int(rows[best]), max(float(cosines[best]), 0.0)


def _mentions_of(sentences: Sentences, sentence: int) -> Sequence[int]:
    first, last = np.searchsorted(sentences.mentions[:, 0], [sentence, sentence + 1])
    rows: list[int] = sentences.mentions[first:last, 1].tolist()
    return rows


def _entry_weights(layer: Graph, sentences: Sentences) -> Floats:
    """Return C of each mention, at both of its entries, shape (2 |E|,)."""
    n = len(layer)
    places = layer.starts * n + layer.neighbors
    weight = np.zeros(len(places))
    passage, entity = sentences.contains[:, 0], sentences.contains[:, 1]
    for ends in (passage * n + entity, entity * n + passage):
        weight[np.searchsorted(places, ends)] = sentences.frequency
    return weight


def _reasons(graph: Graph, spread: Activation, score: Floats, rows: Nodes) -> list[Reason]:
    """Return for each row the way it was activated, and its share of the walk."""
    place = number_places(graph, rows, score)
    reasons = []
    for row in rows.tolist():
        share = reason(ReasonKind.WALK_SHARE, share=float(score[row]), place=place[row])
        if row not in spread.level:
            reasons.append(share)
            continue
        sentence, origin = spread.through.get(row, (-1, row))
        activation = spread.score.get(row, 0.0)
        if sentence < 0:
            reasons.append(reason(ReasonKind.NEAREST_NAME, share, score=activation))
        else:
            reasons.append(reason(
                ReasonKind.THROUGH_SENTENCE, share, name=graph.names[origin],
                cosine=spread.cosine[sentence], score=activation))
    return reasons


def _sentences(graph: Graph, sentences: Sentences, spread: Activation) -> Iterator[RetrievedNode]:
    """Yield the sentences that activation went through; the walk does not visit them."""
    for at in sorted({at for at, _ in spread.through.values() if at >= 0},
                     key=lambda at: sentences.id(graph, at)):
        yield RetrievedNode(
            sentences.id(graph, at), sentences.texts[at], "sentence", 0.0, 0.0, WET,
            reason(ReasonKind.SENTENCE_USED, cosine=spread.cosine[at]),
            degree=len(_mentions_of(sentences, at)), alignment=spread.cosine[at])


def _links(graph: Graph, sentences: Sentences, spread: Activation) -> Iterator[RetrievedEdge]:
    """Yield the links from the entity that activated a sentence to those it activated in turn."""
    for row, (at, origin) in sorted(spread.through.items(), key=lambda p: graph.ids[p[0]]):
        if at >= 0 and row != origin:
            for end, other in ((graph.ids[origin], sentences.id(graph, at)),
                               (sentences.id(graph, at), graph.ids[row])):
                yield RetrievedEdge(end, other, "mention", 0.0, spread.cosine[at])
