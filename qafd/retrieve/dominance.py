"""The filter of SG-RAG, stage by stage: which entities may stand for an unknown node.

It shows what the paper's filter does; `qafd.retrieve.matching` needs none of it. No stage drops
what a match has: an entity that stands for a node of the query is related to all that this node is
related to, so its degree, its signature and its embedding are at least those of the node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.arrays import VectorColumn
from qafd.records import Floats, Nodes, QueryCondition
from qafd.retrieve.decomposition import Completion
from qafd.retrieve.matching import Around

STAGES = ("labels", "degree", "signature", "dominance", "exact")
BITS = 64  # of a signature
WIDTH = 16  # of an embedding
SEED = 7  # of the projection


@dataclass(frozen=True, eq=False)
class Survivors:
    """What may stand for one unknown node after each of `STAGES`; rows, ascending."""

    node: int
    rows: Mapping[str, Nodes]

    @property
    def counts(self) -> dict[str, int]:
        """How many there are after each stage."""
        return {stage: len(rows) for stage, rows in self.rows.items()}


class StarEmbedding:
    """Embeddings of stars that dominate those of all their parts, Eq. (3), (12) and (13).

    o(g) is the logarithm of 1 + the sum, over the nodes of a star, of a projection of their names
    that has no negative number. With more nodes no number of it falls, so o(s) <= o(g) holds for
    every part s of g without training: the loss of Eq. (3), with its sign put right, is 0. As it
    is printed, max(0, o(g) - o(s)), it is 0 only where the part dominates the whole.

    Parameters
    ----------
    vectors : ndarray or ByteRows, shape (n, d)
        Of the names of all rows.
    """

    def __init__(self, vectors: VectorColumn) -> None:
        rng = np.random.default_rng(SEED)
        projection = rng.standard_normal((vectors.shape[1], WIDTH)) / np.sqrt(vectors.shape[1])
        self.features = np.maximum(vectors @ projection, 0.0)  # (n, WIDTH)

    def embed(self, rows: Nodes) -> Floats:
        """o of the star of these rows, shape (WIDTH,)."""
        total: Floats = np.log1p(self.features[np.sort(rows)].sum(axis=0))
        return total


def sift(conditions: Sequence[QueryCondition], known: Mapping[int, int], completion: Completion,
         around: Around, embedding: StarEmbedding | None, matches: Sequence[tuple[int, ...]]
         ) -> tuple[Survivors, ...]:
    """What each stage leaves for each unknown node.

    Parameters
    ----------
    completion : Completion
        The first stage: entities that the known labels leave.
    embedding : StarEmbedding, optional
        Without one, names have no vectors, and the stage of dominance drops nothing.
    matches : sequence of tuple of int
        The last stage: what `match_exactly` found.
    """
    found = []
    for node, rows in completion.candidates.items():
        wanted = _neighbors(conditions, node)
        named = np.array([known[other] for other in wanted if other in known], np.int64)
        kept = {"labels": rows}
        stars = {row: around(row) for row in rows.tolist()}
        rows = _keep(rows, [len(stars[row]) >= len(wanted) for row in rows.tolist()])
        kept["degree"] = rows
        asked = sign(named)
        rows = _keep(rows, [sign(stars[row]) & asked == asked for row in rows.tolist()])
        kept["signature"] = rows
        if embedding is not None:
            rows = _dominating(rows, stars, named, embedding)
        kept["dominance"] = rows
        exact = {one[node] for one in matches}
        kept["exact"] = np.array(sorted(exact), np.int64)
        found.append(Survivors(node, kept))
    return tuple(found)


def unite_survivors(several: Sequence[Sequence[Survivors]]) -> tuple[Survivors, ...]:
    """What each stage leaves for each unknown node by any of several choices of the known ones."""
    united: dict[int, dict[str, Nodes]] = {}
    for found in several:
        for one in found:
            kept = united.setdefault(one.node, {})
            for stage, rows in one.rows.items():
                kept[stage] = np.union1d(kept[stage], rows) if stage in kept else rows
    return tuple(Survivors(node, kept) for node, kept in united.items())


def sign(rows: Nodes) -> int:
    """A signature: one bit of `BITS` for each row, several rows may share one."""
    signature = 0
    for row in rows.tolist():
        signature |= 1 << (row * 0x9E3779B97F4A7C15 >> 32) % BITS
    return signature


def _dominating(rows: Nodes, stars: Mapping[int, Nodes], named: Nodes, embedding: StarEmbedding
                ) -> Nodes:
    """The rows whose star, with themselves, dominates that of the names."""
    asked = embedding.embed(named)
    kept = []
    for row in rows.tolist():
        whole = embedding.embed(np.append(stars[row], row))
        # Sums in another order may differ in their last digits.
        kept.append(bool(np.all(asked <= whole + 1e-9)))
    return _keep(rows, kept)


def _keep(rows: Nodes, kept: Sequence[bool]) -> Nodes:
    left: Nodes = rows[np.array(kept, bool)]
    return left


def _neighbors(conditions: Sequence[QueryCondition], node: int) -> list[int]:
    """The nodes that a node is to be related to, each once."""
    near: dict[int, None] = {}
    for condition in conditions:
        if condition.negated:
            continue
        if condition.source == node:
            near[condition.target] = None
        if condition.target == node:
            near[condition.source] = None
    return list(near)
