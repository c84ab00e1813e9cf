"""Dense and lexical retrieval added up: the strongest method here that knows no graph."""

import time
from dataclasses import dataclass
from typing import ClassVar

from qafd.reasons import ReasonKind, reason
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, passages_ranked
from qafd.retrieve.by_score import retrieve_by_score
from qafd.retrieve.seeds import match, minmax


@dataclass(frozen=True)
class FusedPassages(Method):
    """Passages by minmax(cosine) + `lexical` minmax(BM25).

    Bruch et al., "An Analysis of Fusion Functions for Hybrid Retrieval", Section 3: a convex
    combination of scores that are scaled to [0, 1]. Deviation: divided by the weight of the
    cosine, which changes no order.
    """

    label: ClassVar[str] = "Hybrid search"
    idea: ClassVar[str] = "meaning and words of the passages added up; no graph"
    source: ClassVar[str] = "Bruch et al. 2023, Fusion Functions for Hybrid Retrieval"

    lexical: float = knob(0.5, 0.0, 4.0, help="Weight of the words beside the meaning.")
    passages: int = knob(5, 1, 50, help="How many passages are retrieved; they are drawn with "
                         "the names they mention.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the passages with the highest sums and the names they mention."""
        started = time.perf_counter()
        found = match(corpus.passages, plan)
        dense, words = minmax(found.dense), minmax(found.lexical)
        return retrieve_by_score(
            self, "fusion", corpus, plan, found.fusion(self.lexical),
            lambda place: reason(
                ReasonKind.BY_MEANING_AND_WORDS, meaning=float(dense[place]), weight=self.lexical,
                lexical=float(words[place])), started)
