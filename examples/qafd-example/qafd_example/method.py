"""A retrieval method."""

from dataclasses import dataclass
from typing import ClassVar

from qafd.reasons import ReasonKind, reason
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Method, Retrieval, knob, passages_ranked
from qafd.retrieve.by_score import retrieve_by_score
from qafd.retrieve.seeds import match


@dataclass(frozen=True)
class NearestNames(Method):
    """Passages by the square of their cosine with the question."""

    label: ClassVar[str] = "Nearest names"
    idea: ClassVar[str] = "the passages nearest in meaning, far ones more strongly left behind"
    source: ClassVar[str] = "the example package"

    passages: int = knob(5, 1, 50, help="How many passages are retrieved.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the passages, importance the square of the cosine."""
        scores = match(corpus.passages, plan).dense.clip(min=0) ** 2
        return retrieve_by_score(self, "nearest", corpus, plan, scores, lambda place: reason(
            ReasonKind.BY_MEANING, score=float(scores[place])))
