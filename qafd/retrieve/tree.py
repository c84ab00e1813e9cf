"""Passages and the summaries above them in one pool, nearest first, after RAPTOR."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    SATURATED,
    WET,
    Corpus,
    Method,
    Retrieval,
    RetrievedEdge,
    RetrievedNode,
    Structure,
    StructureKind,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.layers.tree import Tree
from qafd.retrieve.seeds import match
from qafd.retrieve.subgraph import nodes, rank_passages


@dataclass(frozen=True)
class CollapsedTree(Method):
    """The passages and summaries nearest to the question, until a budget of tokens is spent.

    Sarthi et al., "RAPTOR", collapsed tree retrieval: summaries of all levels compete with the
    passages by their cosine with the question; the first that does not fit ends the list. A
    passage is ranked by its own cosine or that of the best retrieved summary above it, whichever
    is larger; among passages of one summary by their own. The tree is that of `qafd.retrieve.layers.tree`,
    with its deviations; RAPTOR hands out summaries and does not rank the passages below them.
    """

    label: ClassVar[str] = "RAPTOR tree"
    idea: ClassVar[str] = ("passages and summaries of their clusters compete by meaning; a "
                           "re-implementation of the idea, on this graph")
    source: ClassVar[str] = "Sarthi et al. 2024, RAPTOR"
    needs: ClassVar[tuple[str, ...]] = ("tree",)

    budget: int = knob(2000, 50, 20000, help="Tokens of passages and summaries together.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the nearest passages and summaries, and the passages below the summaries.

        Raises
        ------
        MissingLayerError
            When "tree" is not built.
        """
        graph, rows = corpus.graph, corpus.passages.rows
        tree: Tree = corpus.layer("tree")
        own = match(corpus.passages, plan).dense  # (c,)
        near = (tree.vectors @ plan.embedding).astype(np.float64)  # (k,)
        leaves, summaries = self._within_budget(graph, rows, tree, own, near)
        above = _best_above(tree, rows, near, summaries)
        score = np.where(above >= 0, np.maximum(own, near[above] if len(near) else 0.0), own)
        order = np.lexsort((-own, -score))[:self.top]
        kept = (*_leaves(corpus, plan, tree, leaves, own, near, above),
                *_summaries(graph, tree, summaries, near))
        return Retrieval(
            query=plan.question, method="tree", params=params_of(self),
            seeds=tuple(sorted(node.id for node in kept if node.seed)),
            nodes=tuple(sorted(kept, key=lambda n: (-n.importance, n.id))),
            edges=tuple(_edges(graph, rows, tree, summaries, near, above)),
            ranking=rank_passages(graph, rows[order], score[order]),
            revision=graph.revision,
            structures=tuple(Structure(StructureKind.SUMMARY, float(near[at]), (), tree.titles[at],
                                       tree.texts[at]) for at in summaries))

    def _within_budget(self, graph: Graph, rows: Nodes, tree: Tree, own: Floats,
                       near: Floats) -> tuple[dict[int, int], dict[int, int]]:
        """Return places of passages and summaries that fit, with their number in the common order."""
        cosine = np.concatenate([own, near])
        tokens = np.concatenate([graph.tokens[rows], tree.tokens])
        order = np.argsort(-cosine, kind="stable")
        fits = np.cumsum(tokens[order]) <= self.budget
        fits[:1] = True
        chosen = {at: number for number, at in enumerate(order[fits].tolist(), 1)}
        return ({at: number for at, number in chosen.items() if at < len(rows)},
                {at - len(rows): number for at, number in chosen.items() if at >= len(rows)})


def _best_above(tree: Tree, rows: Nodes, near: Floats, summaries: dict[int, int]) -> Nodes:
    """Return for each passage the retrieved summary above it nearest to the question, or -1."""
    above = np.full(len(rows), -1)
    for summary in sorted(summaries, key=lambda at: near[at]):
        above[np.searchsorted(rows, tree.passages_below(summary))] = summary
    return above


def _leaves(corpus: Corpus, plan: QueryPlan, tree: Tree, leaves: dict[int, int],
            own: Floats, near: Floats, above: Nodes) -> tuple[RetrievedNode, ...]:
    """Return retrieved passages, and those below a retrieved summary, which are touched only."""
    rows = corpus.passages.rows
    some = np.union1d(np.array(list(leaves), np.int64), np.flatnonzero(above >= 0))
    reasons: list[Reason] = []
    for at in some.tolist():
        cosine, summary = float(own[at]), int(above[at])
        told = (reason(ReasonKind.IN_TREE, place=leaves[at], cosine=cosine) if at in leaves
                else reason(ReasonKind.COSINE, cosine=cosine))
        if summary >= 0:
            below = reason(ReasonKind.BELOW_SUMMARY, title=tree.titles[summary],
                           cosine=float(near[summary]))
            told = (replace(below, also=(told,)) if near[summary] > cosine
                    else replace(told, also=(below,)))
        reasons.append(told)
    return nodes(corpus.graph.layer({"mention"}), plan, rows[some], np.maximum(own[some], 0.0), reasons,
                 seeds=set(rows[list(leaves)].tolist()),
                 states=[SATURATED if at in leaves else WET for at in some.tolist()])


def _summaries(graph: Graph, tree: Tree, summaries: dict[int, int],
               near: Floats) -> Iterator[RetrievedNode]:
    for at, number in summaries.items():
        passages = int((tree.below[:, 0] == at).sum())
        cosine = float(near[at])
        yield RetrievedNode(
            tree.id(graph, at), f"Summary of {tree.titles[at]}", "summary", max(cosine, 0.0), 0.0,
            SATURATED, reason(
                ReasonKind.IN_TREE,
                reason(ReasonKind.SUMS_UP, text=tree.texts[at], level=int(tree.level[at]),
                       count=passages),
                place=number, cosine=cosine),
            degree=passages, seed=True, alignment=cosine)


def _edges(graph: Graph, rows: Nodes, tree: Tree, summaries: dict[int, int], near: Floats,
           above: Nodes) -> Iterator[RetrievedEdge]:
    """Yield the edges from summaries to their parts; flow is the cosine that ranks a passage."""
    ids = {at: tree.id(graph, at) for at in summaries}
    for at in summaries:
        for row in tree.passages_below(at).tolist():
            passes = above[np.searchsorted(rows, row)] == at
            if passes or tree.level[at] == 1:
                yield RetrievedEdge(ids[at], graph.ids[row], "part_of",
                                    max(float(near[at]), 0.0) if passes else 0.0, 1.0)
        for child in tree.children[tree.children[:, 0] == at, 1].tolist():
            if child in ids:
                yield RetrievedEdge(ids[at], ids[child], "part_of", 0.0, 1.0)
