"""Measures of what is found and of answers, and the bootstrap interval of a mean."""

import re
import string
from collections import Counter
from dataclasses import dataclass

import numpy as np

from qafd.records import Floats

RESAMPLES = 10_000
COVERAGE = 0.95
_BLOCK = 2_000_000  # values drawn at a time, which bounds the memory


@dataclass(frozen=True)
class Interval:
    """A mean over questions and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Return True if 0 lies outside."""
        return self.low > 0 or self.high < 0


def intervals(values: Floats, rng: np.random.Generator) -> tuple[Interval, ...]:
    """Means and the percentile bootstrap intervals of them (Efron), 95%, all on the same resamples.

    Parameters
    ----------
    values : ndarray, shape (m, q)
        Of each measure, such as a difference of two methods, one per question; at least one.
    """
    count = values.shape[1]
    block = max(1, _BLOCK // count)
    means = np.concatenate([
        _drawn(rng, min(block, RESAMPLES - start), count) @ values.T / count
        for start in range(0, RESAMPLES, block)])  # (resamples, m)
    found = np.vstack([values.mean(axis=1),
                       np.quantile(means, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)])
    # Thirds that cancel must give 0, not 1e-17, which would pass for certain.
    return tuple(Interval(*column) for column in found.round(12).T.tolist())


def _drawn(rng: np.random.Generator, draws: int, count: int) -> Floats:
    """Count how often each of `count` questions is in each resample, shape (draws, count)."""
    picked = rng.integers(0, count, (draws, count)) + count * np.arange(draws)[:, None]
    return np.bincount(picked.ravel(), minlength=draws * count).reshape(draws, count).astype(float)


def balanced(precision: float, recall: float) -> float:
    """F1, the harmonic mean of precision and recall; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def normalized(text: str) -> str:
    """A text as SQuAD and HotpotQA compare answers: lower case, no punctuation, no articles."""
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def exact_match(answer: str, gold: str) -> float:
    """1 when both are the same after normalization, else 0."""
    return float(normalized(answer) == normalized(gold))


def f1(answer: str, gold: str) -> float:
    """Harmonic mean of precision and recall of the words, counted with repetitions.

    As in HotpotQA's evaluation, yes and no agree with nothing but themselves.
    """
    said, known = normalized(answer), normalized(gold)
    if said != known and {said, known} & {"yes", "no", "noanswer"}:
        return 0.0
    words, wanted = said.split(), known.split()
    common = sum((Counter(words) & Counter(wanted)).values())
    return 2 * common / (len(words) + len(wanted)) if common else 0.0


def contains(answer: str, gold: str) -> float:
    """1 when the gold answer occurs, word by word, in the answer, else 0."""
    return float(f" {normalized(gold)} " in f" {normalized(answer)} ")
