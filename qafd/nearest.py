"""Algorithm 1: the N rows most similar to any keyword."""

from dataclasses import dataclass

import numpy as np

from qafd.arrays import VectorColumn
from qafd.errors import ParameterError
from qafd.records import Floats, Nodes, Vectors

STRETCHES = 16  # for each score that is sought; the more, the fewer scores have to be sorted


@dataclass(frozen=True)
class Nearest:
    """Rows by score, best first, ties by row; `keyword[i]` is the one that row i scored with."""

    rows: Nodes
    scores: Floats
    keyword: Nodes


def nearest(vectors: VectorColumn, keywords: Vectors, count: int, *, among: Nodes | None = None) -> Nearest:
    """Return the `count` rows with the highest score(v) = max over keywords of cos(keyword, v).

    Parameters
    ----------
    vectors : ndarray of float32 or ByteRows, shape (n, d)
        Unit rows; may be memory mapped.
    keywords : ndarray of float32, shape (k, d)
        Unit rows, k >= 1.
    among : ndarray of int, optional
        The only rows that may be found, ascending; all by default.
    """
    if count < 1 or not len(keywords):
        raise ParameterError(f"{count} rows for {len(keywords)} keywords is not a search; both "
                             "must be at least 1")
    rows = np.arange(len(vectors)) if among is None else among
    similarity = (vectors @ keywords.T)[rows]  # picking rows first would copy them
    best = similarity.argmax(axis=1)
    scores = similarity[np.arange(len(rows)), best].astype(np.float64)
    order = first(scores, count)  # rows ascend, so that ties go to the lower row
    return Nearest(rows[order], scores[order], best[order].astype(np.int64))


def first(scores: Floats, count: int) -> Nodes:
    """Return the places of the `count` highest scores, best first; ties by place."""
    if len(scores) > 4 * count > 0:
        # As many scores are at least as high as the `count`-th of the highest ones of all stretches.
        stretches = np.arange(0, len(scores), max(1, len(scores) // (STRETCHES * count)))
        highest = np.maximum.reduceat(scores, stretches)
        places = np.flatnonzero(scores >= np.partition(highest, -count)[-count])
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")
    return places[order[:count]]
