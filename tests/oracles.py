"""Slow, independent answers that the solver's tests compare with."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qafd.graph import Graph
from qafd.records import Floats


def rational_solution(weight, source, sink):
    """x of problem (5) in exact fractions; `weight` maps pairs (i < j) to weights.

    The set of positive nodes is grown by exact solves and the conditions of optimality are then
    checked exactly, so the answer does not rest on how it was found.
    """
    n = len(source)
    w = [{} for _ in range(n)]
    for (i, j), value in weight.items():
        w[i][j] = w[j][i] = Fraction(value)
    delta, t = [Fraction(d) for d in source], [Fraction(c) for c in sink]
    inside = []
    x = [Fraction(0)] * n
    while True:
        mass = rational_mass(w, delta, x)
        late = [i for i in range(n) if mass[i] > t[i] and i not in inside]
        if not late:
            break
        inside = sorted(inside + late)
        x = [Fraction(0)] * n
        for i, value in zip(inside, _gauss(w, delta, t, inside), strict=True):
            x[i] = value
    assert all(value >= 0 for value in x)
    assert all(mass[i] <= t[i] for i in range(n))
    assert all(mass[i] == t[i] for i in range(n) if x[i] > 0)
    return x, mass


def rational_mass(w, delta, x):
    """Delta - L x, exactly."""
    return [delta[i] - sum((value * (x[i] - x[j]) for j, value in w[i].items()), Fraction(0))
            for i in range(len(x))]


def _gauss(w, delta, t, inside):
    """L_SS^-1 (Delta - T)_S."""
    rows = [[-w[i].get(j, Fraction(0)) for j in inside] + [delta[i] - t[i]] for i in inside]
    for a, i in enumerate(inside):
        rows[a][a] = sum(w[i].values(), Fraction(0))
    return solve_exactly(rows)


def solve_exactly(rows):
    """The solution of a system by Gauss and Jordan; a row has its right side last."""
    for a, pivoting in enumerate(rows):
        rows[a] = [value / pivoting[a] for value in pivoting]
        for b, row in enumerate(rows):
            if b != a and row[a]:
                rows[b] = [p - row[a] * q for p, q in zip(row, rows[a], strict=True)]
    return [row[-1] for row in rows]


def toward(*cosines):
    """Unit rows with these cosines to (1, 0)."""
    return np.array([(x, np.sqrt(1 - x * x)) for x in cosines], np.float32)


def random_graph(rng, n, extra, vectors=None):
    """A connected random graph of n nodes: a random tree and `extra` further edges."""
    u = list(range(1, n)) + rng.integers(0, n, extra).tolist()
    v = [int(rng.integers(0, i)) for i in range(1, n)] + rng.integers(0, n, extra).tolist()
    return Graph.build([f"n{i}" for i in range(n)], source_rows=u, target_rows=v,
                       similarity=rng.uniform(0.05, 1.0, len(u)), vectors=vectors,
                       tokens=rng.integers(1, 9, n))


def dense_weights(graph, gates):
    """The weights of all edges, as a dict of pairs, through the public functions only."""
    start = np.repeat(np.arange(len(graph)), graph.degree)
    s = gates.align(graph, np.arange(len(graph)))
    w = gates.weights(graph.similarity, s[start], s[graph.neighbors])
    return {(int(i), int(j)): float(value)
            for i, j, value in zip(start, graph.neighbors, w, strict=True) if i < j}


@dataclass(frozen=True, eq=False)
class State:
    """Importance, mass, total excess and F(x) after some pushes."""

    x: Floats
    mass: Floats
    excess: float
    objective: float


def states(movie, take):
    """List the state before the first push and after each push."""
    k = len(movie.rows)
    ends = [[] for _ in range(k)]
    for a, b, w in zip(movie.u.tolist(), movie.v.tolist(), movie.weight.tolist(), strict=True):
        ends[a].append((b, w))
        ends[b].append((a, w))
    x, mass, objective = np.zeros(k), movie.source.copy(), 0.0
    for node in [-1, *take.pushed.tolist()]:
        if node >= 0:
            over = mass[node] - movie.capacity[node]
            total = sum(w for _, w in ends[node])
            x[node] += over / total
            mass[node] = movie.capacity[node]
            for other, w in ends[node]:
                mass[other] += over * w / total
            objective -= 0.5 * over * over / total
        yield State(x.copy(), mass.copy(),
                    float(np.maximum(mass - movie.capacity, 0.0).sum()), objective)
