"""Lexical retrieval: the passages that share the question's words, by BM25."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qafd.reading.text.bm25 import content_words
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, passages_ranked
from qafd.retrieve.by_score import retrieve_by_score
from qafd.retrieve.seeds import match

SHOWN = 4  # words that a reason names


@dataclass(frozen=True)
class LexicalPassages(Method):
    """Passages by Okapi BM25 with k1 = 1.2 and b = 0.75.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework", Eq. (3.15). Deviations: the
    idf is log(1 + (c - f + 1/2) / (f + 1/2)), never negative; the question's function words are
    left out; a passage without a word of the question is not retrieved.
    """

    label: ClassVar[str] = "Keyword search (BM25)"
    idea: ClassVar[str] = "the passages that share the question's rare words; no graph"
    source: ClassVar[str] = "Robertson and Zaragoza 2009, BM25 and Beyond"

    passages: int = knob(5, 1, 50, help="How many passages are retrieved; they are drawn with "
                         "the names they mention.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the passages with the highest BM25 and the names they mention."""
        started = time.perf_counter()
        found = match(corpus.passages, plan)
        words = content_words(plan.words)
        scores = np.where(found.lexical > 0, found.lexical, -np.inf)

        def because(place: int) -> Reason:
            added = found.by_word[place]
            shared = [words[i] for i in np.argsort(-added, kind="stable")[:SHOWN] if added[i] > 0]
            return reason(ReasonKind.BY_WORDS, score=float(scores[place]), words=tuple(shared))

        return retrieve_by_score(self, "lexical", corpus, plan, scores, because, started)
