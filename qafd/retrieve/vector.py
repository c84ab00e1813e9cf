"""Dense passage retrieval: the passages whose vectors are nearest to the question's."""

import time
from dataclasses import dataclass
from typing import ClassVar

from qafd.reasons import ReasonKind, reason
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, passages_ranked
from qafd.retrieve.by_score import retrieve_by_score
from qafd.retrieve.seeds import match


@dataclass(frozen=True)
class DensePassages(Method):
    """The floor of every comparison: passages by cosine with the question, and no graph.

    Karpukhin et al., "Dense Passage Retrieval", Section 3.1: sim(q, p) is the product of two
    vectors. Deviations: one encoder for questions and passages, so the product is a cosine, and
    an exact search over all passages.
    """

    label: ClassVar[str] = "Vector search"
    idea: ClassVar[str] = "the passages nearest to the question in meaning; no graph"
    source: ClassVar[str] = "Karpukhin et al. 2020, Dense Passage Retrieval"

    passages: int = knob(5, 1, 50, help="How many passages are retrieved; they are drawn with "
                         "the names they mention.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the nearest passages and the names they mention; importance is the cosine."""
        started = time.perf_counter()
        scores = match(corpus.passages, plan).dense
        return retrieve_by_score(self, "vector", corpus, plan, scores, lambda place: reason(
            ReasonKind.BY_MEANING, score=float(scores[place])), started)
