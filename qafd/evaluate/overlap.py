"""Overlap of two answers in words, as well-known libraries measure it.

BLEU (Papineni et al. 2002) by sacrebleu, ROUGE (Lin 2004) by rouge-score, and METEOR (Banerjee
and Lavie 2005) by NLTK, without its synonyms, which need WordNet. All are the extra
`qafd[measures]`.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import snowballstemmer

from qafd.evaluate.measures import contains, exact_match, f1, normalize_answer

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
    """The words of `qafd.evaluate.measures.normalized`, stemmed; rouge-score's own know a to z only."""

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
