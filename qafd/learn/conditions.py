"""The toy of a card through the stages of SG-RAG's filter."""

from collections.abc import Sequence

import numpy as np

from qafd.learn.card import Toy
from qafd.records import QueryCondition
from qafd.retrieve.decomposition import complete_labels, decompose_paths
from qafd.retrieve.dominance import StarEmbedding, sift
from qafd.retrieve.matching import match_exactly


def sift_toy(toy: Toy, sought: Sequence[str]) -> dict[str, list[str]]:
    """The names that each stage leaves for what is joined to all that is sought."""
    names = list(toy.places)
    around = {}
    for row, name in enumerate(names):
        near = [other for one, other, _ in toy.edges if one == name]
        near += [one for one, other, _ in toy.edges if other == name]
        around[row] = np.array(sorted(map(names.index, near)), np.int64)
    known = {place: names.index(name) for place, name in enumerate(sought, 1)}
    conditions = [QueryCondition(0, place) for place in known]
    everything = np.arange(len(names))
    matches = list(match_exactly(len(known) + 1, conditions, known, around.__getitem__, everything))
    completion = complete_labels(decompose_paths(conditions, 1), known, around.__getitem__,
                                 everything)
    # Each name is a direction of its own, as if no two were alike.
    embedding = StarEmbedding(np.eye(len(names), dtype=np.float32))
    left, = sift(conditions, known, completion, around.__getitem__, embedding, matches)
    return {stage: [names[row] for row in rows.tolist()] for stage, rows in left.rows.items()}
