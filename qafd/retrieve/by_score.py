"""Passages by a score of each, without the graph: vector, keyword and hybrid search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from qafd.plan.question import parse_question
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, params_of, passages_ranked
from qafd.retrieve.seeds import Match, match, minmax
from qafd.retrieve.subgraph import edges, entries_among, foremost, nodes, rank_passages

SHOWN = 4  # words that a reason names
Because = Callable[[int], Reason]
"""The reason for the passage at a place."""


class ScoringMethod(Protocol):
    """A method that scores passages one by one."""

    @property
    def passages(self) -> int:
        """Number of passages that are retrieved."""
        ...

    @property
    def top(self) -> int:
        """Number of passages that are ranked."""
        ...


def retrieve_by_score(method: ScoringMethod, name: str, corpus: Corpus, plan: QueryPlan, scores: Floats,
                      because: Because) -> Retrieval:
    """Return the passages with the highest scores, and the names that the first of them mention.

    A name is as important as the best retrieved passage that mentions it; a score below 0
    counts as importance 0.

    Parameters
    ----------
    scores : ndarray, shape (c,)
        One for each of `corpus.passages`; -inf leaves a passage out.
    because : callable
        Why the passage at a place was found; its rank and their number are added.
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
    return Retrieval(
        query=plan.question, method=name, params=params_of(method),
        seeds=graph.ids_of(rows[chosen].tolist()),
        nodes=nodes(layer, plan, picked, importance, reasons,
                    seeds=set(rows[chosen].tolist())),
        edges=edges(layer, entries_among(layer, picked)),
        ranking=rank_passages(graph, rows[order], scores[order]),
        notices=() if len(chosen) or not len(rows) else (notice(NoticeKind.NO_SHARED_WORD),),
        revision=graph.revision)


@dataclass(frozen=True)
class _PassageMethod(Method):
    """Base of the methods whose parameters are the numbers of passages."""

    name: ClassVar[str]

    passages: int = knob(5, 1, 50, help="How many passages are retrieved; they are drawn with "
                         "the names they mention.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the passages with the highest scores and the names they mention."""
        scores, because = self.score(match(corpus.passages, plan), plan)
        return retrieve_by_score(self, self.name, corpus, plan, scores, because)

    def score(self, found: Match, plan: QueryPlan) -> tuple[Floats, Because]:
        """Return the score of each passage, shape (c,), and what a reason says of one."""
        raise NotImplementedError


@dataclass(frozen=True)
class DensePassages(_PassageMethod):
    """The floor of every comparison: passages by cosine with the question, and no graph.

    Karpukhin et al., "Dense Passage Retrieval", Section 3.1: sim(q, p) is the product of two
    vectors. Deviations: one encoder for questions and passages, so the product is a cosine, and
    an exact search over all passages.
    """

    name: ClassVar[str] = "vector"
    label: ClassVar[str] = "Vector search"
    idea: ClassVar[str] = "the passages nearest to the question in meaning; no graph"
    source: ClassVar[str] = "Karpukhin et al. 2020, Dense Passage Retrieval"

    def score(self, found: Match, plan: QueryPlan) -> tuple[Floats, Because]:  # noqa: ARG002
        """Return cosines."""
        return found.dense, lambda place: reason(ReasonKind.BY_MEANING, score=float(found.dense[place]))


@dataclass(frozen=True)
class LexicalPassages(_PassageMethod):
    """Passages by Okapi BM25 with k1 = 1.2 and b = 0.75.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework", Eq. (3.15). Deviations: the
    idf is log(1 + (c - f + 1/2) / (f + 1/2)), never negative; the question's function words are
    left out; a passage without a word of the question is not retrieved.
    """

    name: ClassVar[str] = "lexical"
    label: ClassVar[str] = "Keyword search (BM25)"
    idea: ClassVar[str] = "the passages that share the question's rare words; no graph"
    source: ClassVar[str] = "Robertson and Zaragoza 2009, BM25 and Beyond"

    def score(self, found: Match, plan: QueryPlan) -> tuple[Floats, Because]:
        """Return BM25, -inf without a word of the question."""
        words = parse_question(plan.words).content

        def because(place: int) -> Reason:
            added = found.by_word[place]
            shared = [words[i] for i in np.argsort(-added, kind="stable")[:SHOWN] if added[i] > 0]
            return reason(ReasonKind.BY_WORDS, score=float(found.lexical[place]), words=tuple(shared))

        return np.where(found.lexical > 0, found.lexical, -np.inf), because


@dataclass(frozen=True)
class FusedPassages(_PassageMethod):
    """Passages by minmax(cosine) + `lexical` minmax(BM25): the strongest method here that knows no graph.

    Bruch et al., "An Analysis of Fusion Functions for Hybrid Retrieval", Section 3: a convex
    combination of scores that are scaled to [0, 1]. Deviation: divided by the weight of the
    cosine, which changes no order.
    """

    name: ClassVar[str] = "fusion"
    label: ClassVar[str] = "Hybrid search"
    idea: ClassVar[str] = "meaning and words of the passages added up; no graph"
    source: ClassVar[str] = "Bruch et al. 2023, Fusion Functions for Hybrid Retrieval"

    lexical: float = knob(0.5, 0.0, 4.0, help="Weight of the words beside the meaning.")

    def score(self, found: Match, plan: QueryPlan) -> tuple[Floats, Because]:  # noqa: ARG002
        """Return the weighted sums."""
        dense, words = minmax(found.dense), minmax(found.lexical)
        return found.fusion(self.lexical), lambda place: reason(
            ReasonKind.BY_MEANING_AND_WORDS, meaning=float(dense[place]), weight=self.lexical,
            lexical=float(words[place]))
