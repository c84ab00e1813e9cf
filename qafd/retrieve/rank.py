"""Passages in the order of their evidence: importance x, meaning, words, open words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import NamedTuple, Self, TypeVar

import numpy as np

from qafd.errors import ParameterError
from qafd.records import Floats, Nodes
from qafd.retrieve.seeds import Match, Passages, first, minmax

Item = TypeVar("Item")

PARTS = ("importance", "meaning", "words", "words the first lacks", "kept first")
"""The parts that sum to a passage's score: those that `Ranking` weighs, and a lead."""


@dataclass(frozen=True)
class Ranking:
    """Weights of the parts of a passage's score; meaning has weight 1.

    Parameters
    ----------
    lexical : float
        Of minmax(BM25).
    flow : float
        Of the importance x on a logarithmic scale from 0 to 1, see `log_scale`.
    lead : float
        The same where the best passage is chosen, which stays first.
    coverage : float
        Of minmax(BM25) over the question's words that the best passage does not have:
        the answer to a question of several hops is often in its other half.
    floor : float
        Importance relative to the largest below which the logarithmic scale flattens.
    """

    lexical: float = 0.25
    flow: float = 1.5
    lead: float = 1.5
    coverage: float = 0.6
    floor: float = 1e-3

    @classmethod
    def for_certainty(cls, certainty: float) -> Self:
        """Return the weights for a question whose names are so sure, from 0 to 1.

        Sure names give importance the largest weight, and the best passage's open words lead to
        the next hop. Without names there is no hop: meaning and words choose the first one, and
        importance orders the others.
        """
        named = cls()
        unnamed = cls(lexical=0.5, flow=0.5, lead=0.0, coverage=0.0)
        return cls(**{weight.name: certainty * getattr(named, weight.name)
                      + (1 - certainty) * getattr(unnamed, weight.name) for weight in fields(cls)})

    def __post_init__(self) -> None:
        weights = (self.lexical, self.flow, self.lead, self.coverage)
        if min(weights) < 0 or not 0 < self.floor < 1:
            raise ParameterError("A ranking needs weights of at least 0 and a floor between 0 and 1, "
                                 f"not {self}.")


class Order(NamedTuple):
    """The best passages, best first.

    Attributes
    ----------
    rows : ndarray of int, shape (c,)
        Graph rows of the passages.
    scores : ndarray, shape (c,)
        Not increasing.
    parts : ndarray, shape (c, 5)
        The parts that sum to each score, one column for each of `PARTS`.
    """

    rows: Nodes
    scores: Floats
    parts: Floats


def rank(passages: Passages, found: Match, importance: Floats, ranking: Ranking | None = None,
         top: int | None = None) -> Order:
    """Return the `top` passages by their evidence, by default all.

    A passage's importance is the larger of its own x and that of the entity that is its title.
    The best passage by meaning, words and importance comes first; the others are scored again
    with the words it leaves open.

    Parameters
    ----------
    importance : ndarray, shape (n,)
        x of every row of the graph, or any score >= 0 that grows with relevance.
    """
    weights = ranking or Ranking()
    if not len(passages):
        return Order(passages.rows, np.zeros(0), np.zeros((0, len(PARTS))))
    x = importance[passages.rows]
    titled = passages.title >= 0
    x = np.where(titled, np.maximum(x, importance[np.where(titled, passages.title, 0)]), x)
    scaled = log_scale(x, weights.floor)
    flow, meaning = weights.flow * scaled, found.meaning
    words = weights.lexical * found.by_words
    best = int((meaning + words + weights.lead * scaled).argmax())
    left = np.zeros(len(passages))
    for word in np.flatnonzero(found.by_word[best] == 0).tolist():
        left += found.by_word[:, word]
    coverage = weights.coverage * minmax(left)
    scores = flow + meaning + words + coverage
    lead = np.zeros(len(passages))
    # The first stays first: open words are counted from it.
    lead[best] = scores.max() - scores[best]
    scores[best] = scores.max()
    order = first(scores, len(scores) if top is None else top)
    order = np.concatenate([[best], order[order != best]])[:top]
    return Order(passages.rows[order], scores[order], np.stack(
        [part[order] for part in (flow, meaning, words, coverage, lead)], axis=1))


def word_parts(parts: Mapping[str, float]) -> str:
    """Return the parts of a score that are not 0 as a sum: "importance 1.50 + meaning 0.81"."""
    return " + ".join(f"{name} {value:.2f}" for name, value in parts.items() if value >= 0.005)


def within_budget(
    ranking: Sequence[Item], tokens: Sequence[int], budget: int
) -> tuple[Item, ...]:
    """Return the leading passages whose tokens together fit a budget, the same for every method.

    The first passage that does not fit ends the list, also when a later one would fit. So the
    method's own order stays, a larger budget never drops a passage, and no method gains by
    short passages far down its list.

    Parameters
    ----------
    tokens : sequence of int
        Tokens of each ranked passage, in the same order.
    budget : int
        Tokens, at least 0.
    """
    if budget < 0:
        raise ParameterError(f"the token budget is {budget}; give 0 or more")
    spent = accumulate(tokens)
    return tuple(passage for passage, total in zip(ranking, spent, strict=True)
                 if total <= budget)


def log_scale(x: Floats, floor: float) -> Floats:
    """Return log(1 + x / (floor max x)) in [0, 1]: importance falls by powers along a path."""
    highest = float(x.max(initial=0.0))
    if highest <= 0:
        return np.zeros(len(x))
    scaled: Floats = np.log1p(x / (floor * highest)) / np.log1p(1 / floor)
    return scaled
