"""Passages clustered and summarized level by level: the tree of RAPTOR."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from qafd.graph import Graph
from qafd.reading.text import count_tokens
from qafd.records import Floats, Nodes, Vectors, node_id
from qafd.retrieve.layers.texts import Embeds, Texts, fit_texts
from qafd.retrieve.layers.writing import LayerText, Writer

CHILDREN = 7  # of a summary, about as many as in RAPTOR's trees
ENOUGH = 11  # nodes or fewer are not clustered again, RAPTOR's rule
LEVELS = 5
MEMBERSHIP = 0.1  # probability from which a node belongs to a cluster, RAPTOR's threshold
SUMMARY_TOKENS = 100
SHOWN_TOKENS = 2000  # that a model is shown for a summary
ROUNDS = 25
SEED = 224  # of the first centers


@dataclass(frozen=True, eq=False)
class Tree:
    """The summaries of RAPTOR (Sarthi et al.) over the passages, level by level.

    As in the paper, a level is clustered twice, first into regions and then within each, a node
    belongs to every cluster it has a probability of at least 0.1 for, and levels follow until
    eleven nodes are left. Departs from it: clusters are von Mises-Fisher mixtures with one
    concentration, fitted by spherical k-means to the vectors themselves, in the place of Gaussian
    mixtures after UMAP; their number is that of the nodes over seven, not the best by BIC. A
    cluster that is too long for a model is cut, not clustered again as in RAPTOR. A summary
    that no language model has written is made of the sentences below it that are nearest to the
    cluster's center.

    Parameters
    ----------
    level : ndarray of int, shape (k,)
        1 sums up passages.
    below : ndarray of int, shape (m, 2)
        (summary, graph row of a passage anywhere below it).
    children : ndarray of int, shape (e, 2)
        (summary, child summary).
    tokens : ndarray of int, shape (k,)
    titles, texts : tuple of str, length k
        The titles of the passages nearest to the center, and the summary.
    vectors : ndarray of float32, shape (k, d)
    """

    builder: ClassVar[int] = 1

    level: Nodes = field(repr=False)
    below: Nodes = field(repr=False)
    children: Nodes = field(repr=False)
    tokens: Nodes = field(repr=False)
    titles: tuple[str, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, writer: Writer, /) -> Self:
        """Return the tree over all passages; without a summary when there are eleven or fewer."""
        grown = _Growth(graph, texts)
        if graph.vectors is not None:
            current = graph.vectors[texts.rows]
            while len(current) > ENOUGH and (not grown.levels or grown.levels[-1] < LEVELS):
                current = grown.add_level(current, embedder, writer)
        below = [(at, int(texts.rows[place])) for at, some in enumerate(grown.below) for place in some]
        return cls(
            np.array(grown.levels, np.int64), np.array(below, np.int64).reshape(-1, 2),
            np.array(grown.children, np.int64).reshape(-1, 2),
            np.array([count_tokens(text) for text in grown.summaries], np.int64),
            tuple(grown.titles), tuple(grown.summaries), grown.vectors)

    def __len__(self) -> int:
        return len(self.texts)

    def passages_below(self, summary: int) -> Nodes:
        """Return the graph rows of the passages below a summary."""
        rows: Nodes = self.below[self.below[:, 0] == summary, 1]
        return rows

    def id(self, graph: Graph, summary: int) -> str:
        """Return the node id of a summary."""
        ids = sorted(graph.ids_of(self.passages_below(summary).tolist()))
        return node_id("summary", f"{self.level[summary]} {' '.join(ids)}")


class _Growth:
    """The summaries of a tree so far, lowest level first.

    `below` has the places of the passages under each, `children` pairs of a summary and one of the
    level under it.
    """

    def __init__(self, graph: Graph, texts: Texts) -> None:
        self.levels: list[int] = []
        self.below: list[Nodes] = []
        self.children: list[tuple[int, int]] = []
        self.titles: list[str] = []
        self.summaries: list[str] = []
        self.vectors = texts.vectors[:0]
        self._graph, self._texts = graph, texts
        self._shown: Sequence[str] = texts.passages  # what the next level sums up
        self._leaves = [np.array([place]) for place in range(len(texts.rows))]

    def add_level(self, current: Vectors, embedder: Embeds, writer: Writer) -> Vectors:
        """Add a level that sums up the highest one, whose vectors are given; return the new vectors."""
        found = clusters(current)
        first, upper = len(self.levels) - len(current), len(self.levels)
        drafts, under = [], []
        for at, some in enumerate(found):
            own = np.unique(np.concatenate([self._leaves[place] for place in some]))
            center = _unit(current[some].sum(axis=0))
            material = fit_texts([self._shown[place] for place in some], SHOWN_TOKENS)
            drafts.append(LayerText("summary", _summary(self._texts, own, center), "\n\n".join(material),
                                    tuple(self._texts.chunks[place] for place in own.tolist())))
            self.titles.append(_title(self._graph, self._texts, own, center))
            under.append(own)
            if upper:
                self.children += [(upper + at, first + int(child)) for child in some]
        written = writer.write(drafts)
        self.levels += [self.levels[-1] + 1 if upper else 1] * len(found)
        self.below += under
        self.summaries += written
        self._shown, self._leaves = written, under
        vectors = embedder.embed(written)
        self.vectors = np.concatenate([self.vectors, vectors])
        return vectors


def clusters(vectors: Vectors) -> list[Nodes]:
    """Return overlapping clusters of about seven unit rows, each ascending; every row is in one.

    Regions first, about as many as each then has clusters, so that the work grows as n^1.5.
    """
    regions = soft_means(vectors, max(1, round(np.sqrt(len(vectors) / CHILDREN))))
    found = {tuple(region[some].tolist()): None for region in regions
             for some in soft_means(vectors[region], -(-len(region) // CHILDREN))}
    return [np.array(some) for some in sorted(found)]


def soft_means(vectors: Vectors, k: int) -> list[Nodes]:
    """Return at most k overlapping clusters of unit rows by spherical k-means and probabilities.

    The probability of a cluster is proportional to exp(kappa * cosine with its center), with
    Banerjee's estimate kappa = r (d - r^2) / (1 - r^2) from the mean cosine r.
    """
    if k < 2:
        return [np.arange(len(vectors))]
    chosen = np.random.default_rng(SEED).choice(len(vectors), k, replace=False)
    centers, label = vectors[np.sort(chosen)], np.full(len(vectors), -1)
    for _ in range(ROUNDS):
        before, label = label, (vectors @ centers.T).argmax(axis=1)
        if np.array_equal(before, label):
            break
        sums = np.zeros_like(centers)
        np.add.at(sums, label, vectors)
        centers = _unit(sums[np.bincount(label, minlength=len(centers)) > 0])
    cosines = (vectors @ centers.T).astype(np.float64)
    r = min(float(cosines.max(axis=1).mean()), 1 - 1e-6)
    kappa = r * (vectors.shape[1] - r * r) / (1 - r * r)
    share: Floats = np.exp(kappa * (cosines - cosines.max(axis=1, keepdims=True)))
    member = share / share.sum(axis=1, keepdims=True) >= MEMBERSHIP
    member[np.arange(len(member)), cosines.argmax(axis=1)] = True
    return [np.flatnonzero(some) for some in member.T if some.any()]


def _summary(texts: Texts, passages: Nodes, center: Vectors) -> str:
    """Return the sentences nearest to the center, in the order of the passages."""
    own = np.flatnonzero(np.isin(texts.owner, passages))
    kept: list[int] = []
    tokens = 0
    for at in own[np.argsort(-(texts.vectors[own] @ center), kind="stable")].tolist():
        tokens += count_tokens(texts.sentences[at])
        if kept and tokens > SUMMARY_TOKENS:
            break
        kept.append(at)
    return " ".join(texts.sentences[at] for at in sorted(kept))


def _title(graph: Graph, texts: Texts, passages: Nodes, center: Vectors) -> str:
    assert graph.vectors is not None
    rows = texts.rows[passages]
    nearest = rows[np.argsort(-(graph.vectors[rows] @ center), kind="stable")]
    names: Sequence[str] = list(dict.fromkeys(graph.names[row] for row in nearest.tolist()))
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-12)), np.float32)
