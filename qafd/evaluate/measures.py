"""Measures of retrieved passages and of answers, and the bootstrap interval of a mean."""

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import snowballstemmer

from qafd.answer import Answer
from qafd.records import Floats
from qafd.retrieve.base import RetrievedPassage
from qafd.retrieve.compare import Comparison

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
    """Return means and their 95% percentile bootstrap intervals (Efron), all on the same resamples.

    Parameters
    ----------
    values : ndarray, shape (m, q)
        Of each measure, such as a difference of two methods, one per question; at least one.
    """
    count = values.shape[1]
    block = max(1, _BLOCK // count)
    means = np.concatenate([
        _draw_counts(rng, min(block, RESAMPLES - start), count) @ values.T / count
        for start in range(0, RESAMPLES, block)])  # (resamples, m)
    found = np.vstack([values.mean(axis=1),
                       np.quantile(means, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)])
    # Thirds that cancel must give 0, not 1e-17, which would pass for certain.
    return tuple(Interval(*column) for column in found.round(12).T.tolist())


def _draw_counts(rng: np.random.Generator, draws: int, count: int) -> Floats:
    """Count how often each of `count` questions is in each resample, shape (draws, count)."""
    picked = rng.integers(0, count, (draws, count)) + count * np.arange(draws)[:, None]
    return np.bincount(picked.ravel(), minlength=draws * count).reshape(draws, count).astype(float)


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1, the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def normalize_answer(text: str) -> str:
    """Normalize a text as SQuAD and HotpotQA do: lower case, no punctuation, no articles."""
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def exact_match(answer: str, gold: str) -> float:
    """Return 1 if both are the same after normalization, else 0."""
    return float(normalize_answer(answer) == normalize_answer(gold))


def f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall of the words, counted with repetitions.

    As in HippoRAG's evaluation; HotpotQA's own lets yes and no agree with nothing but themselves.
    """
    words, wanted = normalize_answer(answer).split(), normalize_answer(gold).split()
    common = sum((Counter(words) & Counter(wanted)).values())
    return 2 * common / (len(words) + len(wanted)) if common else 0.0


def contains(answer: str, gold: str) -> float:
    """Return 1 if the gold answer occurs, word by word, in the answer, else 0."""
    return float(f" {normalize_answer(gold)} " in f" {normalize_answer(answer)} ")


Measure = Callable[[str, Sequence[str]], float]


def best_of(measure: Callable[[str, str], float]) -> Measure:
    """Turn a measure against one known answer into one against several: the best of them."""
    def measure_best(answer: str, known: Sequence[str]) -> float:
        return max(measure(answer, gold) for gold in known)
    return measure_best


def bleu(answer: str, known: Sequence[str], words: int = 4) -> float:
    """Return sentence BLEU in [0, 1] of runs of up to so many words, smoothed, against all known answers."""
    from sacrebleu.metrics.bleu import BLEU

    scorer = BLEU(lowercase=True, max_ngram_order=words, effective_order=True)
    return float(scorer.sentence_score(answer, list(known)).score) / 100


def rouge(answer: str, gold: str, kind: str = "rougeL") -> float:
    """Return the F-measure in [0, 1] of stemmed words: "rouge1", pairs "rouge2", or the longest common
    subsequence "rougeL"."""
    return float(_rouge().score(gold, answer)[kind].fmeasure)


def meteor(answer: str, gold: str) -> float:
    """Return METEOR in [0, 1] of equal words and equal stems.

    By its penalty for fragments one equal word gives .5 only, and two in a row .94.
    """
    from nltk.translate.meteor_score import single_meteor_score

    synonyms: Any = _NoSynonyms()
    return float(single_meteor_score(_words(gold), _words(answer), wordnet=synonyms))


class _NoSynonyms:
    """A WordNet without a word, as the real one cannot be installed from a package index."""

    def synsets(self, _: str) -> list[Any]:
        return []


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    scorer: Any = RougeScorer
    return scorer(["rouge1", "rouge2", "rougeL"], tokenizer=_StemmedWords())


class _StemmedWords:
    """The words of `normalize_answer`, stemmed; rouge-score's own know a to z only."""

    def tokenize(self, text: str) -> list[str]:
        return list(snowballstemmer.stemmer("english").stemWords(_words(text)))


def _words(text: str) -> list[str]:
    """Normalize words as F1 does: lower case, without punctuation and articles."""
    return normalize_answer(text).split()


def measures() -> dict[str, Measure]:
    """Return all measures of an answer that can be computed here, by name."""
    found: dict[str, Measure] = {"exact_match": best_of(exact_match), "f1": best_of(f1),
                                 "contains": best_of(contains)}
    if all(map(find_spec, ("sacrebleu", "rouge_score", "nltk"))):
        found |= {"bleu_1": partial(bleu, words=1), "bleu_2": partial(bleu, words=2), "bleu": bleu,
                  "rouge_1": best_of(partial(rouge, kind="rouge1")),
                  "rouge_2": best_of(partial(rouge, kind="rouge2")), "rouge_l": best_of(rouge),
                  "meteor": best_of(meteor)}
    return found


@dataclass(frozen=True)
class AnswerPlaces:
    """The passages that answer, and the rank of each by each method.

    If `known`, they are those that the question is known to need, else the passage that most answers
    quote first. `places` maps documents or ids of passages to ranks, from 1, for every column that did
    not fail.
    """

    titles: tuple[str, ...]
    places: Mapping[str, Mapping[str, int]]
    known: bool = False


def find_verdict(comparison: Comparison, answers: Mapping[str, Answer],
                 needed: Set[str]) -> AnswerPlaces | None:
    """Find the passages that answer and their ranks; None if no passage answers.

    Parameters
    ----------
    answers : mapping of str to Answer
        The quoted answer of every column that did not fail.
    needed : set of str
        Documents, and ids of passages, that the question is known to need.
    """
    titles: dict[str, str] = {}
    for retrieval in comparison.retrievals.values():
        for passage in retrieval.passages:
            for key in needed & {passage.document, passage.chunk}:
                titles[key] = passage.name
    if needed and not titles:
        return None
    best = _best(answers.values())
    if not needed and best is not None:
        titles[best.chunk] = best.name
    if not titles:
        return None
    places: dict[str, dict[str, int]] = {}
    for name, retrieval in comparison.retrievals.items():
        places[name] = {}
        for place, passage in enumerate(retrieval.passages, 1):
            for key in titles.keys() & {passage.document, passage.chunk}:
                places[name].setdefault(key, place)
    return AnswerPlaces(tuple(titles.values()), places, bool(needed))


def _best(answers: Collection[Answer]) -> RetrievedPassage | None:
    """Return the passage that most answers quote first, of several that with the highest chance."""
    passages: dict[str, RetrievedPassage] = {}
    votes: Counter[str] = Counter()
    chances: dict[str, float] = {}
    for answer in answers:
        if answer.sentences and not answer.abstained:
            passage = answer.citations[answer.sentences[0].citation - 1].passage
            passages[passage.id] = passage
            votes[passage.id] += 1
            chances[passage.id] = max(chances.get(passage.id, 0.0), answer.chance)
    if not votes:
        return None
    return passages[max(votes, key=lambda at: (votes[at], chances[at], at))]
