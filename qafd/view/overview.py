"""A graph without a question: the names in the most passages, joined where they co-occur."""
# scipy carries no annotations.
# mypy: allow-untyped-calls

from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from qafd.graph import Graph, kind_bit
from qafd.reading.text.scripts import is_written_small
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedEdge, RetrievedNode

DRAWN = 80
NEAREST = 3  # edges that a name may ask for


def overview(graph: Graph, most: int = DRAWN) -> Retrieval:
    """Return the `most` names in the most passages as a retrieval, to be drawn like one.

    Importance is a name's number of passages, an edge's weight the number of passages that both
    its ends are in. A name is joined to the 3 that go with it best by shared passages over the
    geometric mean of both numbers (Ochiai's coefficient), so that no hub is joined to all. Names
    that share no passage with another one of them are left out while others remain, and so are
    terms in lower case.
    """
    passage = np.flatnonzero(graph.kinds == "passage")
    entity = np.flatnonzero(graph.kinds == "entity")
    named = np.array([not is_written_small(graph.names[row]) for row in entity], bool)
    entity = entity[named] if named.any() else entity
    column = np.full(len(graph), -1)
    column[passage] = np.arange(len(passage))
    found = graph.expand(entity)
    mentions = ((found.edge_kinds & kind_bit("mention")) > 0) & (column[found.neighbors] >= 0)
    owner = np.repeat(np.arange(len(entity)), found.counts)[mentions]
    count = np.bincount(owner, minlength=len(entity))
    best = np.lexsort((entity, -count))[:most]
    within = csr_array((np.ones(len(owner)), (owner, column[found.neighbors[mentions]])),
                       shape=(len(entity), len(passage)))[best]
    shared = (within @ within.T).toarray()
    occurrences = np.maximum(np.diag(shared), 1.0)
    fit = shared / np.sqrt(np.outer(occurrences, occurrences))
    np.fill_diagonal(fit, 0.0)
    pairs: set[tuple[int, int]] = set()
    for i, shares in enumerate(fit):
        for j in np.argsort(-shares, kind="stable")[:NEAREST].tolist():
            if shares[j] > 0:
                pairs.add((min(i, j), max(i, j)))
    joined = set(chain.from_iterable(pairs)) or set(range(len(best)))
    ids = graph.ids_of(entity[best].tolist())
    nodes = tuple(
        RetrievedNode(ids[i], graph.names[entity[best[i]]], "entity", float(count[best[i]]), 0.0,
                      SATURATED, degree=int(graph.degree[entity[best[i]]]))
        for i in range(len(best)) if i in joined)
    edges = tuple(RetrievedEdge(ids[i], ids[j], "together", 0.0, float(shared[i, j]))
                  for i, j in sorted(pairs))
    return Retrieval("", "overview", {}, (), nodes, edges, (), revision=graph.revision)
