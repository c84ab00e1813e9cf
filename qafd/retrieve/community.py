"""Whole communities of the entity graph, chosen by the question, after GraphRAG."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from qafd.flow.weights import clip
from qafd.graph import Graph
from qafd.reasons import ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    Corpus,
    Method,
    Retrieval,
    Structure,
    StructureKind,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.seeds import match, named_rows
from qafd.retrieve.subgraph import (
    edges,
    entries_among,
    foremost,
    nodes,
    order_by_mentions,
    rank_passages,
)


@dataclass(frozen=True)
class CommunityReports(Method):
    """The communities of the question's entities, or those whose reports are nearest to it.

    Edge et al., "From Local to Global: A GraphRAG Approach to Query-Focused Summarization", and
    GraphRAG's local search. Every entity belongs to its deepest community down to `level`. Local:
    the entities nearest to the question, and their communities, those with the most of these
    entities first, then those with the nearest report; passages in the order of the entities,
    then by how many neighbors of that entity they also mention. Global: the communities with the
    nearest reports; passages in the order of the communities, then by how many members they
    mention. A passage's score is 1 / rank.

    Deviations: reports are extractive (`qafd.retrieve.layers.communities`); the map-reduce over all
    reports of global search is a choice by similarity; the names in the question come before the
    nearest entities; an entity is compared by its passages and sentences, not by a written
    description; ties of passages go to the cosine with the question. `communities` replaces
    GraphRAG's limit in tokens. A node's importance is the similarity of its community's report,
    or its own if it is larger.
    """

    label: ClassVar[str] = "GraphRAG communities"
    idea: ClassVar[str] = ("communities of the entity graph, found before any question, taken "
                           "whole; a re-implementation of the idea, on this graph")
    source: ClassVar[str] = "Edge et al. 2024, From Local to Global (GraphRAG)"
    needs: ClassVar[tuple[str, ...]] = ("communities",)

    selection: str = knob("local", options=("local", "global"), help="Local: communities of the "
                          "entities nearest to the question. Global: communities whose reports "
                          "are nearest to it.")
    communities: int = knob(3, 1, 50, help="How many communities are taken.")
    level: int = knob(2, 0, 6, help="How deep the hierarchy is read: 0 takes the largest "
                      "communities.")
    entities: int = knob(10, 1, 200, help="Local: how many entities nearest to the question are used.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the members of the chosen communities and the relations between them, without flow.

        Raises
        ------
        MissingLayerError
            When the layer "communities" is not built.
        """
        graph, layer = corpus.graph, corpus.graph.layer({"relation"})
        found: Communities = corpus.layer("communities")
        near = clip((found.vectors @ plan.embedding).astype(np.float64))  # (k,)
        home = found.cut(self.level, len(graph))
        seeds, similarity = np.zeros(0, np.int64), np.zeros(0)
        if self.selection == "local":
            seeds, similarity = _entities(graph, plan, self.entities)
        chosen, votes = self._choose(home, near, seeds)
        left_out = reason(ReasonKind.COMMUNITY_LEFT_OUT)
        reasons = {row: reason(ReasonKind.NEAR_ENTITY, left_out, place=place)
                   for place, row in enumerate(seeds.tolist(), 1)}
        importance = dict(zip(seeds.tolist(), similarity.tolist(), strict=True))
        groups: list[tuple[Nodes, Nodes]] = [(np.array([row]), layer.around(row)) for row in reasons]
        for place, community in enumerate(chosen.tolist(), 1):
            members = np.flatnonzero(home == community)
            if self.selection != "local":
                groups.append((members, members))
            named = [reason(ReasonKind.COMMUNITY_NAMED, count=int(votes[community]))] if len(seeds) else []
            for row in members.tolist():
                importance[row] = max(importance.get(row, 0.0), float(near[community]))
                also = [*named, replace(reasons[row], also=())] if row in reasons else named
                reasons[row] = reason(
                    ReasonKind.IN_COMMUNITY, *also, title=found.titles[community],
                    community=community, place=place, similarity=float(near[community]))
        rows = np.array(list(importance), np.int64)
        passages = _passages(corpus, groups, match(corpus.passages, plan).dense)
        order = np.array(list(islice(passages, self.top)), np.int64)
        kept = nodes(layer, plan, rows, np.array(list(importance.values())),
                     [reasons[row] for row in rows.tolist()], seeds=set(seeds.tolist()))
        among = entries_among(layer, rows)
        return Retrieval(
            query=plan.question, method="community", params=params_of(self),
            seeds=tuple(node.id for node in kept if node.seed), nodes=kept,
            edges=edges(layer, among),
            ranking=rank_passages(graph, order, 1 / np.arange(1, len(order) + 1)),
            revision=graph.revision,
            structures=tuple(Structure(StructureKind.REPORT, float(near[at]), (), found.titles[at],
                                       found.texts[at]) for at in chosen.tolist()))

    def _choose(self, home: Nodes, near: Floats, seeds: Nodes) -> tuple[Nodes, Nodes]:
        """Return the communities taken, best first, and how many seeds each community has."""
        own = home[seeds]
        votes = np.bincount(own[own >= 0], minlength=len(near))
        some = np.unique(own if self.selection == "local" else home)
        some = some[some >= 0]
        order = np.lexsort((some, -near[some], -votes[some]))
        return some[order[:self.communities]], votes


def _entities(graph: Graph, plan: QueryPlan, count: int) -> tuple[Nodes, Floats]:
    """Return the question's names, then the entities nearest to it: rows and similarities."""
    rows = np.flatnonzero(graph.kinds == "entity")
    if graph.vectors is None or not len(rows):
        return rows[:0], np.zeros(0)
    similarity = clip((graph.vectors[rows] @ plan.embedding).astype(np.float64))
    nearest = rows[foremost(graph, rows, similarity, count)]
    both = dict.fromkeys([*named_rows(graph, plan), *nearest.tolist()])
    chosen = np.array(list(both)[:count], np.int64)
    return chosen, similarity[np.searchsorted(rows, chosen)]


def _passages(corpus: Corpus, groups: list[tuple[Nodes, Nodes]],
              dense: Floats) -> Iterator[int]:
    """Yield passages that mention one of a group's anchors, group after group, each once.

    Within a group by how many of its counted entities they mention, then by cosine, then by id.
    """
    mentions, seen = corpus.graph.layer({"mention"}), set[int]()
    for anchors, counted in groups:
        some = np.unique(mentions.expand(anchors).neighbors).astype(np.int64)
        for row in order_by_mentions(corpus, some, counted, dense):
            if row not in seen:
                seen.add(row)
                yield row
