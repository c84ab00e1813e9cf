"""Algorithm 2 as a movie: the pushes of each order, next to the exact solution.

A movie is a small pushing problem and lists of pushed nodes. The browser repeats the pushes, so a
run of hundreds of pushes is a few hundred numbers.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from qafd.flow.reference import ORDERS, RELEASED, Pushing, push
from qafd.flow.solver import solve
from qafd.flow.sources import fit
from qafd.flow.weights import Gates
from qafd.graph import Graph
from qafd.records import Floats, Nodes

FILMED = Pushing(epsilon=1e-3, most_pushes=2000)


@dataclass(frozen=True, eq=False)
class Take:
    """One order of pushing: which node each time, as indices into `Movie.rows`.

    `left` is the share of the source mass above capacity when the released code stops, after
    500 pushes or at the end if that comes first.
    """

    order: str
    pushed: Nodes = field(repr=False)
    converged: bool
    left: float


@dataclass(frozen=True, eq=False)
class Movie:
    """A pushing problem on the k nodes that some take or the exact solution touches.

    Parameters
    ----------
    rows : ndarray of int, shape (k,)
        Graph rows.
    capacity, source : ndarray, shape (k,)
        T and Delta, in units of mass.
    u, v : ndarray of int, shape (e,)
        Ends of every edge of a pushed node, as indices into `rows`.
    weight : ndarray, shape (e,)
    x, mass : ndarray, shape (k,)
        The exact solution.
    objective : float
        F of the exact solution, Eq. (5).
    """

    rows: Nodes
    capacity: Floats
    source: Floats
    u: Nodes
    v: Nodes
    weight: Floats
    takes: tuple[Take, ...]
    x: Floats
    mass: Floats
    objective: float


def film(graph: Graph, gates: Gates, source_rows: Nodes, source_mass: Floats,
         capacity: str = "unit", pushing: Pushing = FILMED, also: Nodes | None = None) -> Movie:
    """Run Algorithm 2 in all three orders, with the exact solution.

    Parameters
    ----------
    pushing : Pushing
        In any order; its `epsilon` is here a share of the source mass.
    also : ndarray of int, optional
        Rows to show with their edges although nothing may reach them.
    """
    sources = fit(graph, source_rows, source_mass, capacity)
    exact = solve(graph, gates, sources.rows, sources.mass, capacity)
    epsilon = pushing.epsilon * max(sources.total, 1e-12)
    traces = []
    for order in ORDERS:
        ordered = replace(pushing, order=order, epsilon=epsilon)
        traces.append(push(graph, gates, sources.rows, sources.mass, capacity, ordered))
    pushed = np.unique(np.concatenate([
        exact.support, *(trace.node for trace in traces),
        np.zeros(0, np.int64) if also is None else also]))
    frontier = graph.expand(pushed)
    start, end = np.repeat(pushed, frontier.counts), frontier.neighbors.astype(np.int64)
    once = (start < end) | ~np.isin(end, pushed)
    start, end, similarity = start[once], end[once], frontier.similarity[once]
    rows = np.unique(np.concatenate([sources.rows, exact.rows, start, end]))
    alignment = gates.align(graph, rows)
    u, v = np.searchsorted(rows, start), np.searchsorted(rows, end)
    source, x, mass = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    source[np.searchsorted(rows, sources.rows)] = sources.mass
    x[np.searchsorted(rows, exact.rows)] = exact.x
    mass[np.searchsorted(rows, exact.rows)] = exact.mass
    takes = []
    for order, trace in zip(ORDERS, traces, strict=True):
        excess = trace.excess[:RELEASED.most_pushes]
        left = float(excess[-1]) / trace.source if len(excess) else 0.0
        takes.append(Take(order, np.searchsorted(rows, trace.node), trace.converged, left))
    return Movie(rows, graph.capacity(capacity)[rows], source, u, v,
                 gates.weights(similarity, alignment[u], alignment[v]), tuple(takes), x, mass,
                 exact.certificate.objective)
