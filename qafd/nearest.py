"""Algorithm 1: the N rows most similar to any keyword, exactly or in two steps at scale.

Up to about 20,000 rows a matrix product is fastest. Above, each unit vector is kept as the
signs of its coordinates about their mean (48 bytes at d = 384): rows whose signs
agree best with a keyword's are candidates, and the exact similarity ranks those. The loss is
measured in benchmarks/results/nearest.json.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from qafd.arrays import VectorColumn
from qafd.errors import ParameterError
from qafd.records import Floats, Nodes, Vectors

# Candidates per row wanted; recall 0.99 or more on real embeddings.
CANDIDATES = 25
BLOCK = 1 << 15
STRETCHES = 16  # for each score that is sought; the more, the fewer scores have to be sorted

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class SignCodes:
    """One bit per coordinate of every row: whether it is above the mean of that coordinate.

    Parameters
    ----------
    words : ndarray of uint64, shape (ceil(d / 64), n)
        Word-major, so that one pass over a word of all rows is contiguous; may be memory
        mapped.
    mean : ndarray of float32, shape (d,)
    """

    words: Words = field(repr=False)
    mean: Vectors = field(repr=False)

    @classmethod
    def build(cls, vectors: VectorColumn) -> "SignCodes":
        """Codes of the rows of a matrix, read in blocks."""
        n, d = vectors.shape
        mean = np.zeros(d)
        for first in range(0, n, BLOCK):
            mean += vectors[first: first + BLOCK].sum(axis=0, dtype=np.float64)
        center = (mean / max(n, 1)).astype(np.float32)
        words = np.zeros((-(-d // 64), n), np.uint64)
        for first in range(0, n, BLOCK):
            words[:, first: first + BLOCK] = _pack(vectors[first: first + BLOCK] > center)
        return cls(words, center)

    def save(self, folder: Path) -> None:
        """Write `words.npy` and `mean.npy`."""
        np.save(folder / "words.npy", self.words)
        np.save(folder / "mean.npy", self.mean)

    @classmethod
    def open(cls, folder: Path) -> "SignCodes":
        """Codes memory mapped from where `save` put them."""
        return cls(np.load(folder / "words.npy", mmap_mode="r"), np.load(folder / "mean.npy"))

    def candidates(self, query: Vectors, count: int) -> Nodes:
        """At least `count` rows (all, if there are fewer) with the most signs of `query`."""
        wanted = _pack((query > self.mean)[None, :])[:, 0]
        n = self.words.shape[1]
        distance = np.empty(n, np.uint16)
        blocks = range(0, n, BLOCK)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda first: self._count(wanted, distance, first), blocks))
        if count >= n:
            return np.arange(n)
        within = np.cumsum(np.bincount(distance[:: max(1, n // 200_000)]))
        # A sample guesses the radius that holds `count` rows; the rows inside are then exact.
        radius = int(np.searchsorted(within, count / max(1, n // 200_000)))
        while True:
            inside = np.flatnonzero(distance <= radius)
            if len(inside) >= count:
                return inside
            radius += 1 + radius // 32

    def _count(self, wanted: Words, distance: npt.NDArray[np.uint16], first: int) -> None:
        part = slice(first, first + BLOCK)
        total = np.zeros(distance[part].shape, np.uint16)
        for word, bits in zip(self.words, wanted, strict=True):
            total += np.bitwise_count(word[part] ^ bits)
        distance[part] = total


@dataclass(frozen=True)
class Nearest:
    """Rows by score, best first, ties by row; `keyword[i]` is the one that row i scored with.

    `alignment[i]` is the cosine of row i and the question, the column that edge weights use;
    empty when no question was given.
    """

    rows: Nodes
    scores: Floats
    keyword: Nodes
    alignment: Floats


def nearest(vectors: VectorColumn, keywords: Vectors, count: int, codes: SignCodes | None = None,
            candidates: int = CANDIDATES, *, among: Nodes | None = None,
            question: Vectors | None = None) -> Nearest:
    """The `count` rows with the highest score(v) = max over keywords of cos(keyword, v).

    Parameters
    ----------
    vectors : ndarray of float32 or ByteRows, shape (n, d)
        Unit rows; may be memory mapped.
    keywords : ndarray of float32, shape (k, d)
        Unit rows, k >= 1.
    among : ndarray of int, optional
        The only rows that may be found, ascending; all by default.
    question : ndarray of float32, shape (d,), optional
        Unit vector whose cosines are returned beside the scores.
    codes : SignCodes, optional
        Of `vectors[among]`. Given, only about `candidates * count` rows for each keyword are
        scored.
    """
    if count < 1 or not len(keywords):
        raise ParameterError(f"{count} rows for {len(keywords)} keywords is not a search; both "
                             "must be at least 1")
    if codes is None:
        rows = np.arange(len(vectors)) if among is None else among
    else:
        rows = np.unique(np.concatenate([codes.candidates(q, candidates * count)
                                         for q in keywords]))
        rows = rows if among is None else among[rows]
    if codes is None:  # picking rows first would copy them
        similarity = (vectors @ keywords.T)[rows]
    else:
        similarity = vectors[rows] @ keywords.T
    best = similarity.argmax(axis=1)
    scores = similarity[np.arange(len(rows)), best].astype(np.float64)
    if len(rows) > 4 * count:
        bar = np.partition(scores, len(scores) - count)[len(scores) - count]
        keep = np.flatnonzero(scores >= bar)
        rows, scores, best = rows[keep], scores[keep], best[keep]
    order = np.lexsort((rows, -scores))[:count]
    alignment = (np.zeros(0) if question is None
                 else (vectors[rows[order]] @ question).astype(np.float64))
    return Nearest(rows[order], scores[order], best[order].astype(np.int64), alignment)


def first(scores: Floats, count: int) -> Nodes:
    """The places of the `count` highest scores, best first; ties by place."""
    if len(scores) > 4 * count > 0:
        # As many scores are at least as high as the `count`-th of the highest ones of all stretches.
        stretches = np.arange(0, len(scores), max(1, len(scores) // (STRETCHES * count)))
        highest = np.maximum.reduceat(scores, stretches)
        places = np.flatnonzero(scores >= np.partition(highest, -count)[-count])
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")
    return places[order[:count]]


def _pack(signs: npt.NDArray[np.bool_]) -> Words:
    """Rows of booleans (n, d) as 64-bit words (ceil(d / 64), n)."""
    n, d = signs.shape
    padded = np.zeros((n, -(-d // 64) * 64), np.bool_)
    padded[:, :d] = signs
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)
