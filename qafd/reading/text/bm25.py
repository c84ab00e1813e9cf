"""BM25 over the passages of a graph, kept word by word."""

import re
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from qafd.reading.text import as_typed
from qafd.reading.text.lexicons import words as lexicon
from qafd.reading.text.scripts import is_unspaced, terms
from qafd.records import Floats

# Words of questions that say nothing about the passage that answers them.
FUNCTION_WORDS = lexicon("english", "function_words")
# And letters that stand in them between the words that do say something, or are their ending.
FUNCTION_LETTERS = re.compile(
    "[的了是在和与與由吗嗎呢吧谁誰哪些个個几幾什么麼怎样樣这這那为為何\u3041-\u309f]")
_WORD = re.compile(r"[^\W_]+")


class Bm25:
    """Okapi BM25 with idf log(1 + (c - f + 1/2) / (f + 1/2)), never negative.

    Parameters
    ----------
    texts : sequence of str, length c
        Title and text of each passage.
    saturation : float
        k1: how soon repetitions of a word stop counting.
    length : float
        b in [0, 1]: how much long passages are discounted.
    """

    def __init__(self, texts: Sequence[str], saturation: float = 1.2, length: float = 0.75) -> None:
        self._column: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for text in texts:
            for word in words(text):
                columns.append(self._column.setdefault(word, len(self._column)))
            ends.append(len(columns))
        shape = (len(texts), len(self._column))
        counts: csr_matrix = csr_matrix(  # type: ignore[no-untyped-call]
            (np.ones(len(columns)), columns, ends), shape)
        counts.sum_duplicates()  # type: ignore[no-untyped-call]
        rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
        lengths = np.diff(ends)
        norm = 1 - length + length * lengths / max(1.0, float(lengths.mean()) if len(texts) else 1)
        found = np.bincount(counts.indices, minlength=shape[1])
        idf = np.log1p((len(texts) - found + 0.5) / (found + 0.5))
        counts.data = (idf[counts.indices] * counts.data * (saturation + 1)
                       / (counts.data + saturation * norm[rows]))
        self._weights: csc_matrix = counts.tocsc()  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return int(self._weights.shape[0])

    def contributions(self, asked: Sequence[str]) -> Floats:
        """What each asked word adds to the score of each passage, shape (c, k)."""
        table = np.zeros((len(self), len(asked)))
        weights = self._weights
        for place, word in enumerate(asked):
            column = self._column.get(word)
            if column is not None:
                span = slice(weights.indptr[column], weights.indptr[column + 1])
                table[weights.indices[span], place] = weights.data[span]
        return table


def content_words(question: str) -> list[str]:
    """The distinct words of a question without function words; all of them if those are all."""
    asked = list(dict.fromkeys(words(question)))
    return [word for word in asked
            if word not in FUNCTION_WORDS and not FUNCTION_LETTERS.search(word)] or asked


def words(text: str) -> list[str]:
    """The words of a text, casefolded and without accents, in order; "_" parts two words.

    Where no spaces part words, every two letters that follow each other are one.
    """
    if is_unspaced(text):
        return terms(as_typed(text))
    return _WORD.findall((text if text.isascii() else as_typed(text)).casefold())
