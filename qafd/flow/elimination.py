"""Solving L_SS x = b without a single subtraction in the factorization.

L_SS is a weighted Laplacian with the rows and columns of S kept: off-diagonal entries -w_uv and
on the diagonal the weight to everything, in S or out. Gaussian elimination in the form of
Grassmann, Taksar and Heyman keeps, instead of the diagonal, each node's *leak*: its weight to nodes
outside S. Eliminating a node adds products of positive numbers to the weights and leaks of the
others, and the pivot is the sum of the remaining ones; nothing cancels, so every entry of the factors is
accurate to a few units in the last place even when weights span 30 orders of magnitude.
"""

from typing import Any

import numpy as np

from qafd.records import Floats, Nodes

PANEL = 48
# Nodes with at most this many neighbors left are eliminated one by one; the rest is dense.
SPARSE_DEGREE = 8
# A leak below what floats can hold would divide by zero; the certificate says what is left over.
LEAST = 1e-250
# A dense core of this size takes a minute and 800 MB.
MOST_DENSE = 10_000


class TooDenseError(Exception):
    """The system has too many nodes of many neighbors to be eliminated."""


def eliminate(n: int, u: Nodes, v: Nodes, weight: Floats, leak: Floats, b: Floats) -> Floats:
    """Return the x with (leak_i + sum_j w_ij) x_i - sum_j w_ij x_j = b_i, of the shape of b.

    See `Elimination`.
    """
    return Elimination(n, u, v, weight, leak).solve(b)


class Elimination:
    """The factors of L_SS, for any number of right-hand sides.

    Parameters
    ----------
    u, v, weight : ndarray, shape (e,)
        Each edge inside S once, ends as indices 0..n-1.
    leak : ndarray, shape (n,)
        Weight of each node to the outside, at least 0; each connected part needs one
        that is positive.

    Raises
    ------
    TooDenseError
        When more than MOST_DENSE nodes are left once those of few neighbors are eliminated.
    """

    def __init__(self, n: int, u: Nodes, v: Nodes, weight: Floats, leak: Floats) -> None:
        near: list[dict[int, float]] = [{} for _ in range(n)]
        for i, j, w in zip(u.tolist(), v.tolist(), weight.tolist(), strict=True):
            near[i][j] = w
            near[j][i] = w
        drain: list[float] = leak.tolist()
        self.order = _eliminate_sparse(near, drain)
        done = {k for k, _, _ in self.order}
        self.core = [i for i in range(n) if i not in done]
        if len(self.core) > MOST_DENSE:
            raise TooDenseError
        place = {i: k for k, i in enumerate(self.core)}
        self.dense = np.zeros((len(self.core), len(self.core)))
        for i in self.core:
            for j, w in near[i].items():
                self.dense[place[i], place[j]] = w
        self.pivot = _eliminate_dense(self.dense, np.array([drain[i] for i in self.core]))

    def solve(self, b: Floats) -> Floats:
        """Return L_SS^-1 b for b of shape (n,) or (n, k)."""
        load: list[Any] = b.tolist() if b.ndim == 1 else list(b.copy())
        for k, pivot, row in self.order:
            amount = load[k]
            for i, w in row.items():
                load[i] += w / pivot * amount
        x: list[Any] = [0.0] * len(load)
        if self.core:
            inner = self._solve_core(np.array([load[i] for i in self.core]))
            for i, value in zip(self.core, inner.tolist() if b.ndim == 1 else inner, strict=True):
                x[i] = value
        for k, pivot, row in reversed(self.order):
            x[k] = (load[k] + sum(w * x[j] for j, w in row.items())) / pivot
        return np.array(x, np.float64).reshape(b.shape)

    def _solve_core(self, b: Floats) -> Floats:
        w, n = self.dense, len(b)
        for k in range(n):
            b[k + 1:] += np.multiply.outer(w[k, k + 1:] / self.pivot[k], b[k])
        for k in range(n - 1, -1, -1):
            b[k] = (b[k] + w[k, k + 1:] @ b[k + 1:]) / self.pivot[k]
        return b


def _eliminate_sparse(near: list[dict[int, float]],
                      drain: list[float]) -> list[tuple[int, float, dict[int, float]]]:
    """Eliminate nodes of low degree, lowest first, in place: (node, pivot, weights) in order."""
    waiting: list[list[int]] = [[] for _ in range(SPARSE_DEGREE + 1)]
    for i, row in enumerate(near):
        if len(row) <= SPARSE_DEGREE:
            waiting[len(row)].append(i)
    order: list[tuple[int, float, dict[int, float]]] = []
    gone = [False] * len(near)
    while any(waiting):
        level = next(d for d in range(SPARSE_DEGREE + 1) if waiting[d])
        k = waiting[level].pop()
        row = near[k]
        if gone[k] or len(row) != level:
            continue
        gone[k] = True
        pivot = max(drain[k] + sum(row.values()), LEAST)
        order.append((k, pivot, row))
        ends = list(row.items())
        for i, w in ends:
            share = w / pivot
            drain[i] += share * drain[k]
            del near[i][k]
            for j, other in ends:
                if j != i:
                    near[i][j] = near[i].get(j, 0.0) + share * other
            if len(near[i]) <= SPARSE_DEGREE:
                waiting[len(near[i])].append(i)
    return order


def _eliminate_dense(w: Floats, leak: Floats) -> Floats:
    """Return the pivots of a dense symmetric weight matrix, whose upper half becomes the factor."""
    n = len(leak)
    pivot = np.empty(n)
    for first in range(0, n, PANEL):
        last = min(first + PANEL, n)
        for k in range(first, last):
            pivot[k] = max(w[k, k + 1:].sum() + leak[k], LEAST)
            share = w[k, k + 1:last] / pivot[k]
            rows = slice(k + 1, last)
            w[rows, k + 1:] += share[:, None] * w[k, k + 1:]
            leak[rows] += share * leak[k]
        if last < n:
            share = w[first:last, last:] / pivot[first:last, None]
            w[last:, last:] += share.T @ w[first:last, last:]
            leak[last:] += share.T @ leak[first:last]
    return pivot
