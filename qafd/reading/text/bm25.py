"""Words of texts with their stems and slips, and BM25 over the passages of a graph, kept word by word."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from os.path import commonprefix
from typing import Any

import numpy as np
import numpy.typing as npt
import snowballstemmer
from scipy.sparse import csc_matrix, csr_matrix

from qafd.arrays import MergedLists, TextBlock, merge_rows
from qafd.reading.text import as_typed
from qafd.reading.text.scripts import is_unspaced, terms
from qafd.records import Floats, Nodes
from qafd.resources import lexicon

# Words of questions that say nothing about the passage that answers them.
FUNCTION_WORDS = lexicon("english", "function_words")
# And letters that stand in them between the words that do say something, or are their ending.
FUNCTION_LETTERS = re.compile(
    "[的了是在和与與由吗嗎呢吧谁誰哪些个個几幾什么麼怎样樣这這那为為何\u3041-\u309f]")
_WORD = re.compile(r"[^\W_]+")


SATURATION = 1.2  # k1: how soon repetitions of a word stop counting
LENGTH = 0.75  # b in [0, 1]: how much long passages are discounted


@dataclass(frozen=True, eq=False)
class Bm25:
    """Okapi BM25 with idf log(1 + (c - f + 1/2) / (f + 1/2)), never negative.

    Parameters
    ----------
    vocabulary : TextBlock, length w
        All words, sorted.
    starts : ndarray, shape (w + 1,)
        The passages of word i are `places[starts[i]:starts[i + 1]]`, ascending.
    places, counts : ndarray
        The passages of the words, and how often each has the word.
    lengths : ndarray, shape (c,)
        Words of each passage.
    """

    vocabulary: TextBlock = field(repr=False)
    starts: Nodes = field(repr=False)
    places: npt.NDArray[np.int32] = field(repr=False)
    counts: npt.NDArray[np.int32] = field(repr=False)
    lengths: Nodes = field(repr=False)

    @classmethod
    def build(cls, texts: Iterable[str]) -> "Bm25":
        """Index the title and text of each passage."""
        column: dict[str, int] = {}
        columns, ends = array("i"), [0]
        for text in texts:
            columns.extend([column.setdefault(word, len(column)) for word in words(text)])
            ends.append(len(columns))
        lengths = np.diff(ends).astype(np.int64)
        sorted_words = sorted(column)
        place = np.empty(len(column), np.int32)
        place[[column[word] for word in sorted_words]] = np.arange(len(column))
        counted: csc_matrix = csr_matrix(  # type: ignore[no-untyped-call]
            (np.ones(len(columns), np.int32), place[np.asarray(columns)], ends),
            (len(lengths), len(column))).tocsc()  # which sums those of one word and passage
        counted.sum_duplicates()  # type: ignore[no-untyped-call]
        return cls(TextBlock.of(sorted_words), counted.indptr.astype(np.int64),
                   counted.indices.astype(np.int32), counted.data, lengths)

    def merge(self, other: "Bm25", places: Nodes) -> "Bm25":
        """Return the index of the passages at `places`, shape (c,), in this order.

        Places count the passages of this index first and then those of `other`; each index's own
        passages keep their order.
        """
        at = [self.vocabulary.place_of(word) for word in other.vocabulary]
        added = [(place, word) for place, word in zip(at, other.vocabulary, strict=True)
                 if self.vocabulary[place:place + 1] != [word]]
        inserted = np.array([place for place, _ in added], np.int64)
        ours = np.arange(len(self.vocabulary))
        ours += np.searchsorted(inserted, ours, "right")
        new = iter((inserted + np.arange(len(inserted))).tolist())
        unknown = {word for _, word in added}
        theirs = np.array([next(new) if word in unknown else ours[place]
                           for place, word in zip(at, other.vocabulary, strict=True)], np.int64)
        before = len(self)
        row = np.full(before + len(other), -1, np.int32)
        row[places] = np.arange(len(places))
        of_word = np.repeat(theirs, np.diff(other.starts))
        lists = MergedLists.merge(self.starts, self.places, (ours, row[:before]), len(ours) + len(added),
                                  (of_word, row[before + other.places]))
        union = np.empty(len(ours) + len(added), np.int64)
        union[ours] = np.arange(len(ours))
        union[inserted + np.arange(len(added))] = len(ours) + np.arange(len(added))
        used = np.diff(lists.starts) > 0
        vocabulary = self.vocabulary.merge(TextBlock.of([word for _, word in added]), union[used])
        return Bm25(vocabulary, np.append(0, lists.starts[1:][used]), lists.entries,
                    lists.insert(self.counts, other.counts), merge_rows(self.lengths, other.lengths, places))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def _norm(self) -> Floats:
        """`SATURATION` by the length of each passage, shape (c,)."""
        mean = max(1.0, float(self.lengths.mean()) if len(self) else 1)
        norm: Floats = np.asarray(SATURATION * (1 - LENGTH + LENGTH * self.lengths / mean))
        return norm

    def spread(self, asked: Sequence[str]) -> Nodes:
        """Count the passages that have each word, shape (k,)."""
        found = [self.vocabulary.find(word) for word in asked]
        return np.array([0 if at is None else self.starts[at + 1] - self.starts[at] for at in found],
                        np.int64)

    def spread_forms(self, asked: Sequence[str]) -> Nodes:
        """Count the passages that have each word or another one of its stem, shape (k,)."""
        counts = []
        for word in asked:
            alike = self.vocabulary.beginning(commonprefix([word, stem(word)]))
            forms = [at for at in alike if stem(self.vocabulary[at]) == stem(word)]
            spans = [self.places[self.starts[at]:self.starts[at + 1]] for at in forms]
            counts.append(len(np.unique(np.concatenate(spans))) if spans else 0)
        return np.array(counts, np.int64)

    def contributions(self, asked: Sequence[str]) -> Floats:
        """Return the part of each word in the score of each passage, shape (c, k)."""
        table = np.zeros((len(self), len(asked)), order="F")  # filled column by column
        for column, word in enumerate(asked):
            known = self.vocabulary.find(word)
            if known is None:
                continue
            span = slice(self.starts[known], self.starts[known + 1])
            places, counts = self.places[span], self.counts[span]
            idf = np.log1p((len(self) - len(places) + 0.5) / (len(places) + 0.5))
            table[places, column] = idf * counts * (SATURATION + 1) / (counts + self._norm[places])
        return table


def content_words(question: str) -> list[str]:
    """Return the distinct words of a question without function words; all of them if those are all."""
    asked = list(dict.fromkeys(words(question)))
    return [word for word in asked
            if word not in FUNCTION_WORDS and not FUNCTION_LETTERS.search(word)] or asked


def words(text: str) -> list[str]:
    """Return the words of a text, casefolded and without accents, in order; "_" parts two words.

    Where no spaces part words, every two letters that follow each other are one.
    """
    if is_unspaced(text):
        return terms(as_typed(text))
    return _WORD.findall((text if text.isascii() else as_typed(text)).casefold())


_ENGLISH: Any = snowballstemmer.stemmer("english")


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, those of "salinity_limit" too."""
    return frozenset(stem(word) for word in words(text))


@cache
def stem(word: str) -> str:
    """Return the part that a word has in common with its other forms."""
    return str(_ENGLISH.stemWord(word))
