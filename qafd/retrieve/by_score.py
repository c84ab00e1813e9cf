"""Passages by a score of each, without the graph: the base of vector, keyword and hybrid search."""

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, QueryPlan
from qafd.retrieve.base import Corpus, Retrieval, Work, params_of
from qafd.retrieve.subgraph import edges, entries_among, foremost, nodes, rank_passages


class PassageMethod(Protocol):
    """A method that scores passages one by one."""

    @property
    def passages(self) -> int:
        """Number of passages that are retrieved."""
        ...

    @property
    def top(self) -> int:
        """Number of passages that are ranked."""
        ...


def retrieve_by_score(method: PassageMethod, name: str, corpus: Corpus, plan: QueryPlan, scores: Floats,
                      because: Callable[[int], Reason], started: float) -> Retrieval:
    """Return the passages with the highest scores, and the names that the first of them mention.

    A name is as important as the best retrieved passage that mentions it; a score below 0
    counts as importance 0.

    Parameters
    ----------
    scores : ndarray, shape (c,)
        One for each of `corpus.passages`; -inf leaves a passage out.
    because : callable
        Why the passage at a place was found; its rank and their number are added.
    started : float
        `time.perf_counter()` when the retrieval began.
    """
    graph, rows = corpus.graph, corpus.passages.rows
    order = foremost(graph, rows, scores, method.top)
    order = order[scores[order] > -np.inf]
    chosen = order[:method.passages]
    layer = graph.layer({"mention"})
    around = layer.expand(rows[chosen])
    names, first = np.unique(around.neighbors.astype(np.int64), return_index=True)
    best = np.repeat(np.arange(len(chosen)), around.counts)[first]
    reasons = []
    for i, place in enumerate(chosen.tolist(), 1):
        found = because(place)
        reasons.append(reason(found.kind, place=i, count=len(rows), **found.values))
    for i in best.tolist():
        title = graph.names[rows[chosen[i]]]
        reasons.append(reason(ReasonKind.MENTIONED_BY, title=title, place=i + 1))
    picked = np.concatenate([rows[chosen], names])
    importance = np.maximum(np.concatenate([scores[chosen], scores[chosen][best]]), 0.0)
    total = 1000 * (time.perf_counter() - started)
    return Retrieval(
        query=plan.question, method=name, params=params_of(method),
        seeds=graph.ids_of(rows[chosen].tolist()),
        nodes=nodes(layer, plan, picked, importance, reasons,
                    seeds=set(rows[chosen].tolist())),
        edges=edges(layer, entries_among(layer, picked)),
        ranking=rank_passages(graph, rows[order], scores[order]),
        work=Work(len(rows) + len(names), len(around.neighbors), 0, total, total),
        notices=() if len(chosen) or not len(rows) else (notice(NoticeKind.NO_SHARED_WORD),),
        revision=graph.revision)
