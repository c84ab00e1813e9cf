"""Rows and entries of a graph as the nodes, edges and passages of a retrieval.

An entry is a place in `Graph.neighbors`: one edge, seen from one of its ends.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from qafd.arrays import expand_slices
from qafd.flow.weights import clip
from qafd.graph import Graph, kind_names
from qafd.reasons import Reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import SATURATED, Corpus, RankedPassage, RetrievedEdge, RetrievedNode
from qafd.retrieve.rank import PARTS


def nodes(layer: Graph, plan: QueryPlan, rows: Nodes, importance: Floats,
          reasons: Sequence[Reason], *, seeds: Collection[int] = (),
          states: Sequence[str] = ()) -> tuple[RetrievedNode, ...]:
    """Return rows as retrieved nodes without mass, most important first, ties by id.

    Parameters
    ----------
    importance : ndarray, shape (k,)
        The method's own score, at least 0.
    seeds : collection of int
        Rows that the retrieval started from.
    states : sequence of str, length k, optional
        All "saturated" by default.
    """
    similarity = (np.zeros(len(rows)) if layer.vectors is None
                  else clip((layer.vectors[rows] @ plan.embedding).astype(np.float64)))
    listed = [
        RetrievedNode(layer.ids[row], layer.names[row], str(layer.kinds[row]), x, 0.0, state,
                      reason, degree=degree, seed=row in seeds, alignment=s)
        for row, x, reason, state, degree, s in zip(
            rows.tolist(), importance.tolist(), reasons,
            states or [SATURATED] * len(rows), layer.degree_of(rows).tolist(),
            similarity.tolist(), strict=True)]
    return tuple(sorted(listed, key=lambda n: (-n.importance, n.id)))


def edges(layer: Graph, entries: Nodes, flow: Floats | None = None,
          weight: Floats | None = None) -> tuple[RetrievedEdge, ...]:
    """Return entries as retrieved edges, by ids; a negative flow runs against its entry.

    `flow` and `weight`, shape (k,), default to 0 and to the similarity of the edge.
    """
    u, v = ends(layer, entries)
    amounts = np.zeros(len(entries)) if flow is None else flow
    weights = layer.similarity[entries] if weight is None else weight
    listed = [
        RetrievedEdge(layer.ids[a], layer.ids[b], kind_names(int(bits))[0], abs(f), w)
        for a, b, bits, f, w in zip(
            np.where(amounts < 0, v, u).tolist(), np.where(amounts < 0, u, v).tolist(),
            layer.edge_kinds[entries].tolist(), amounts.tolist(), weights.tolist(), strict=True)]
    return tuple(sorted(listed, key=lambda e: (e.source, e.target)))


def ends(layer: Graph, entries: Nodes) -> tuple[Nodes, Nodes]:
    """Return the row that each entry is seen from, and the other end."""
    own = np.searchsorted(layer.indptr, entries, side="right") - 1
    return own.astype(np.int64), layer.neighbors[entries].astype(np.int64)


def entries_around(layer: Graph, rows: Nodes) -> Nodes:
    """Return all entries of some rows, row after row."""
    return expand_slices(layer.indptr[rows], layer.degree_of(rows))


def entries_among(layer: Graph, rows: Nodes) -> Nodes:
    """Return one entry for each edge with both ends among some rows."""
    around = entries_around(layer, np.unique(rows))
    u, v = ends(layer, around)
    return around[(u < v) & np.isin(v, rows)]


def foremost(graph: Graph, rows: Nodes, scores: Floats, count: int) -> Nodes:
    """Return places of the `count` highest scores, best first; ties by the ids of their rows."""
    places = np.arange(len(scores))
    if len(scores) > count:
        places = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    best = sorted(places.tolist(), key=lambda i: (-scores[i], graph.ids[rows[i]]))
    return np.array(best[:count], np.int64)


def foremost_of(graph: Graph, score: Floats, count: int, also: Iterable[int]) -> Nodes:
    """Return the rows with the `count` highest scores above 0 and some others, ascending.

    Parameters
    ----------
    score : ndarray, shape (n,)
        Of each row of the graph.
    """
    reached = np.flatnonzero(score > 0)
    best = reached[foremost(graph, reached, score[reached], count)]
    return np.union1d(best, np.array(list(also), np.int64))


def number_places(graph: Graph, rows: Nodes, score: Floats) -> dict[int, int]:
    """Return the place of each of some rows among them, from 1 for the highest score."""
    order = rows[foremost(graph, rows, score[rows], len(rows))]
    return {row: place for place, row in enumerate(order.tolist(), 1)}


def order_by_mentions(corpus: Corpus, passages: Nodes, entities: Nodes, dense: Floats) -> list[int]:
    """Return rows of passages by how many of some entities they mention, then by cosine, then by id.

    Parameters
    ----------
    dense : ndarray, shape (c,)
        Cosines of `corpus.passages` with the question.
    """
    around = corpus.graph.layer({"mention"}).expand(passages)
    owner = np.repeat(np.arange(len(passages)), around.counts)
    counts = np.bincount(owner[np.isin(around.neighbors, entities)], minlength=len(passages))
    cosine = dense[np.searchsorted(corpus.passages.rows, passages)]
    order = sorted(range(len(passages)), key=lambda i: (
        -counts[i], -cosine[i], corpus.graph.ids[passages[i]]))
    return [int(passages[i]) for i in order]


def score_by_mentions(corpus: Corpus, dense: Floats, importance: Floats) -> tuple[Nodes, Floats]:
    """Return the passages that mention important nodes, best first, equal ones by cosine, and their scores.

    Parameters
    ----------
    dense : ndarray, shape (c,)
        Cosines of `corpus.passages` with the question.
    importance : ndarray, shape (n,)
        Of each row of the graph.
    """
    graph, rows = corpus.graph, corpus.passages.rows
    reached = graph.layer({"mention"}).expand(rows)
    owner = np.repeat(np.arange(len(rows)), reached.counts)
    scores: Floats = np.bincount(owner, importance[reached.neighbors] * reached.similarity,
                                 len(rows)).astype(np.float64)
    order = np.lexsort((-dense, -scores))
    order = order[scores[order] > 0]
    return rows[order], scores[order]


def rank_passages(graph: Graph, rows: Nodes, scores: Floats, parts: Floats | None = None
                  ) -> tuple[RankedPassage, ...]:
    """Return rows of passages, best first, with their scores and the parts of these."""
    sums: list[dict[str, float]] = [{}] * len(rows) if parts is None else [
        dict(zip(PARTS, row, strict=True)) for row in parts.tolist()]
    return tuple(RankedPassage(graph.ids[row], score, terms)
                 for row, score, terms in zip(rows.tolist(), scores.tolist(), sums,
                                              strict=True))

