"""Query-aware edge weights: Eq. (1) and its variants (2a) to (2c).

A weight needs three similarities: H(h(u), h(v)), which does not depend on the query and is
stored on the edge, and the alignment s(v) = H(h(v), h(q)) of both ends, one number per node
that a diffusion touches. All similarities are positive: a negative weight would make problem
(5) non-convex and let a push create mass.
"""

from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import LEAST, Graph
from qafd.records import Floats, Nodes, Vectors

FLOOR = 1e-3
SIMILARITIES = ("clip", "shift", "rbf")
VARIANTS = ("hybrid", "mean", "product", "plain")
TINY = 1e-30  # smallest similarity that `rbf` gives and a floor may be
# Vectors that fit into a core's cache: a copy of more of them goes to memory and back.
AT_ONCE = 128


def clip(cosine: Floats, floor: float = FLOOR) -> Floats:
    """Return H = max(cosine, floor): unrelated and opposed texts both get the floor."""
    return np.maximum(cosine, floor)


def shift(cosine: Floats, floor: float = FLOOR) -> Floats:
    """Return H = (1 + cosine) / 2, at least `floor`; an unrelated pair still gets 0.5."""
    return np.maximum((1.0 + cosine) / 2.0, floor)


def rbf(cosine: Floats, gamma: float) -> Floats:
    """Return H = exp(-gamma |a - b|^2) of unit vectors, for which |a - b|^2 = 2 - 2 cosine."""
    return np.maximum(np.exp(-gamma * np.maximum(2.0 - 2.0 * cosine, 0.0)), TINY)


@dataclass(frozen=True)
class Similarity:
    """A similarity H in (0, 1] as a function of the cosine; see `clip`, `shift` and `rbf`."""

    kind: str = "clip"
    floor: float = FLOOR
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in SIMILARITIES:
            raise ParameterError(f"{self.kind!r} is not a similarity; choose "
                                 f"{', '.join(SIMILARITIES)}")
        if not (TINY <= self.floor <= 1 and 0 <= self.gamma < np.inf):
            raise ParameterError(f"a similarity needs {TINY:g} <= floor <= 1 and gamma >= 0, "
                                 f"not floor {self.floor} and gamma {self.gamma}")

    def __call__(self, cosine: Floats) -> Floats:
        """Return H of each cosine, same shape."""
        if self.kind == "clip":
            return clip(cosine, self.floor)
        if self.kind == "shift":
            return shift(cosine, self.floor)
        return rbf(cosine, self.gamma)


@dataclass(frozen=True)
class Weights:
    """The edge weight of Eq. (1), c H(u, v) o (a + b (s(u) o s(v))), with both o chosen.

    Parameters
    ----------
    outer, inner : {"times", "plus"}
        The first and the second operation o.
    a, b : float
        At least 0, not both 0.
    c : float
        Positive. With outer "times" it rescales x and changes neither support, mass nor flow.
    """

    outer: str = "times"
    inner: str = "plus"
    a: float = 1.0
    b: float = 0.25
    c: float = 1.0

    def __post_init__(self) -> None:
        if {self.outer, self.inner} - {"times", "plus"}:
            raise ParameterError("the operations of Eq. (1) are 'times' and 'plus', not "
                                 f"{self.outer!r} and {self.inner!r}")
        numbers = (self.a, self.b, self.c)
        if not np.all(np.isfinite(numbers)) or min(numbers) < 0 or self.c == 0:
            raise ParameterError(f"Eq. (1) needs a, b >= 0 and c > 0, not a = {self.a}, b = "
                                 f"{self.b}, c = {self.c}")
        if self.outer == "times" and self.a == 0 and self.b == 0:
            raise ParameterError("a = b = 0 closes every edge; raise one of them")

    @classmethod
    def of_variant(cls, variant: str, a: float = 1.0, b: float = 0.25) -> "Weights":
        """Build a variant of the paper; `a` and `b` are those of "hybrid" only.

        "mean" is Eq. (2a), "product" (2b), "hybrid" (2c); "plain" is H(h(u), h(v)) alone,
        the control that does not look at the query.
        """
        if variant == "hybrid":
            return cls("times", "plus", a, b)
        if variant == "mean":
            return cls("plus", "plus", 0.0, 1 / 3, 1 / 3)
        if variant == "product":
            return cls("times", "times", 0.0, 1.0)
        if variant == "plain":
            return cls("times", "plus", 1.0, 0.0)
        raise ParameterError(f"{variant!r} is not a weight variant; choose {', '.join(VARIANTS)}")

    def __call__(self, similarity: Floats, s_u: Floats, s_v: Floats) -> Floats:
        """Return weights w > 0 of edges, from their similarity and the alignments of their ends.

        `qafd.flow.compiled.grow` has the same formula in its loop.
        """
        both = s_u * s_v if self.inner == "times" else s_u + s_v
        gate = self.a + self.b * both
        return self.c * similarity * gate if self.outer == "times" else self.c * similarity + gate

    def of_edge(self, similarity: float, s_u: float, s_v: float) -> float:
        """Return the weight of one edge."""
        return float(self(np.array([similarity]), np.array([s_u]), np.array([s_v]))[0])


@dataclass(frozen=True, eq=False)
class Gates:
    """Weights bound to one query; alignment is computed when a node is first explored.

    Parameters
    ----------
    weights : Weights
    query : ndarray of float32, shape (d,), optional
        Unit embedding h(q), compared with the rows of `Graph.vectors`.
    alignment : ndarray, shape (n,), optional
        s(v) of every row, for callers that have it; positive. Takes precedence over `query`.
    similarity : Similarity
        H between a node and the query.

    With neither `query` nor `alignment`, s(v) = 1 everywhere.

    Raises
    ------
    ParameterError
        When the query is not finite, or an alignment that is needed is not positive.
    """

    weights: Weights
    query: Vectors | None = None
    alignment: Floats | None = None
    similarity: Similarity = Similarity()

    def __post_init__(self) -> None:
        if self.query is not None and not np.all(np.isfinite(self.query)):
            raise ParameterError("the query's embedding has entries that are not finite")

    def check(self, graph: Graph) -> None:
        """Raise ParameterError unless the alignment or the query fits the graph."""
        if self.alignment is not None:
            if np.shape(self.alignment) != (len(graph),):
                raise ParameterError(f"an alignment of shape {np.shape(self.alignment)} was "
                                     f"given for {len(graph)} nodes")
        elif self.query is not None and len(graph):
            if graph.vectors is None:
                raise ParameterError("this graph has no vectors to compare the query with; "
                                     "pass the alignment of its nodes")
            if self.query.shape != graph.vectors.shape[1:]:
                raise ParameterError(f"a query of shape {self.query.shape} cannot be compared "
                                     f"with vectors of {graph.vectors.shape[1]} numbers")

    def align(self, graph: Graph, rows: Nodes) -> Floats:
        """Return alignment s(v) of the given rows, shape (k,)."""
        self.check(graph)
        if self.alignment is not None:
            return positive(np.asarray(self.alignment, np.float64)[rows])
        if self.query is None or graph.vectors is None:
            return np.ones(len(rows))
        cosine = np.empty(len(rows))
        for i in range(0, len(rows), AT_ONCE):
            part = slice(i, i + AT_ONCE)
            cosine[part] = graph.vectors[rows[part]] @ self.query
        return self.similarity(cosine)


def positive(alignment: Floats) -> Floats:
    """Return the alignments, when all are positive and finite."""
    if len(alignment) and not (alignment.min() >= LEAST and alignment.max() < np.inf):
        wrong = alignment.min() if not alignment.min() >= LEAST else alignment.max()
        raise ParameterError(f"an alignment is {wrong:g}; all must be at least {LEAST:g} and "
                             "finite, because a gate of 0 is a missing edge")
    return alignment


PLAIN = Gates(Weights.of_variant("plain"))
