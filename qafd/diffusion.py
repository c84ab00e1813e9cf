"""Query-aware flow diffusion: the exact solution of problem (5), found locally.

    minimize  F(x) = x'Lx / 2 + x'(T - Delta)   over x >= 0,   L = B W(q) B'

L has no positive entry off its diagonal, so the solution is the least x >= 0 whose mass
m = Delta - L x fits everywhere, and solving on a set S of nodes that are all in the support
never overshoots: `solve` grows S. It solves L_SS x_S = (Delta - T)_S, drops nodes whose x turned
negative, adds the nodes with m_v > T_v, and repeats. That is the primal-dual active set
method (Hintermueller, Ito and Kunisch 2003), which for such matrices ends from any start.
Only nodes with mass are read from the graph.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from qafd.certificate import ROUNDING, Certificate, certify
from qafd.errors import ParameterError
from qafd.graph import Graph, sum_at
from qafd.records import Floats, Nodes
from qafd.region import Region
from qafd.sources import Sources, fit
from qafd.weights import Gates

# Beyond this ratio of largest to smallest weight, conjugate gradients lose the small ones.
WIDE = 1e8
# First tolerance of the inner solves; each round that adds no node divides it by 100.
COARSE = 1e-2


@dataclass(frozen=True)
class Budget:
    """When to stop a solve that has not converged."""

    rounds: int = 400
    touched: int = 5_000_000


@dataclass(frozen=True, eq=False)
class Diffusion:
    """A solved diffusion, on the nodes it touched (t of them, rows ascending).

    Parameters
    ----------
    rows : ndarray of int, shape (t,)
        Graph rows.
    x : ndarray, shape (t,)
        Importance, the dual variable of problem (5).
    mass, capacity, source : ndarray, shape (t,)
        m, T and Delta.
    alignment : ndarray, shape (t,)
        Query similarity s(v).
    u, v : ndarray of int, shape (e,)
        Ends of every edge with a retrieved end, as indices into `rows`, with x_u >= x_v.
    weight, flow : ndarray, shape (e,)
        w and w (x_u - x_v) >= 0, which runs from u to v. (The paper's f = -B'x is a difference of
        potentials, not yet times the weight.)
    certificate : Certificate
    notices : tuple of str
        What the user should know, for example that mass was capped.
    saturated : bool
        Whether some component was asked to hold more than it can.
    """

    rows: Nodes = field(repr=False)
    x: Floats = field(repr=False)
    mass: Floats = field(repr=False)
    capacity: Floats = field(repr=False)
    source: Floats = field(repr=False)
    alignment: Floats = field(repr=False)
    u: Nodes = field(repr=False)
    v: Nodes = field(repr=False)
    weight: Floats = field(repr=False)
    flow: Floats = field(repr=False)
    certificate: Certificate
    notices: tuple[str, ...] = ()
    saturated: bool = False

    @property
    def converged(self) -> bool:
        """Whether the certificate holds."""
        return self.certificate.optimal

    @cached_property
    def support(self) -> Nodes:
        """Graph rows with x > 0, most important first; equal x by row."""
        order = np.argsort(-self.x, kind="stable")
        best: Nodes = self.rows[order[: self.certificate.support]]
        return best

    @cached_property
    def state(self) -> tuple[str, ...]:
        """Per touched node: "saturated" (x > 0), "wet" (mass only) or "dry"."""
        return tuple("saturated" if x > 0 else "wet" if m > 0 else "dry"
                     for x, m in zip(self.x.tolist(), self.mass.tolist(), strict=True))

    def find(self, row: int) -> int | None:
        """Index of a graph row in the arrays above, None when it was not touched."""
        i = int(np.searchsorted(self.rows, row))
        return i if i < len(self.rows) and self.rows[i] == row else None


def solve(graph: Graph, gates: Gates, source_rows: Nodes, source_mass: Floats,
          capacity: str = "unit", rtol: float = 1e-9, budget: Budget | None = None) -> Diffusion:
    """The solution of problem (5) for one query, exact to `rtol` of each node's capacity.

    Parameters
    ----------
    source_rows, source_mass : ndarray, shape (k,)
        Seeds and Delta, see `qafd.sources.source_mass`; mass that cannot fit is scaled down and
        the result says so.
    capacity : {"unit", "degree", "tokens"}
        Sink capacity T.
    rtol : float
        Between 1e-12 and 0.1. Node v may be off by rtol T_v plus the rounding of its mass.

    Returns
    -------
    Diffusion
        When `converged` is false, `certificate.reason` says why and `certificate.residual`
        by how much.
    """
    if not 1e-12 <= rtol <= 0.1:
        raise ParameterError(f"rtol must be between 1e-12 and 0.1, not {rtol}")
    sources = fit(graph, source_rows, source_mass, capacity)
    region = Region(graph, gates, sources, graph.capacity(capacity))
    try:
        rounds, reason = _grow(region, rtol, budget or Budget())
        return _result(region, sources, rtol, rounds, reason)
    finally:
        region.close()


def _grow(region: Region, rtol: float, budget: Budget) -> tuple[int, str]:
    """Find the support and x; returns the rounds used and why it stopped, if early."""
    inner = max(COARSE, rtol)
    for rounds in range(1, budget.rounds + 1):
        region.expand(np.flatnonzero(region.active & ~region.read))
        if len(region.rows) > budget.touched:
            return rounds, f"more than {budget.touched} nodes were touched"
        _solve_active(region, inner)
        negative = region.active & (region.x < 0)
        region.x[negative] = 0.0
        region.active[negative] = False
        over, through = region.excess()
        allowed = rtol * region.sink + ROUNDING * through
        late = ~region.active & (over > np.maximum(allowed, inner * region.sink * 0.1))
        if late.any() or negative.any():
            region.active |= late
            continue
        done = not np.any(np.where(region.active, np.abs(over), over) > allowed)
        if done:
            # x this small is rounding: without it the node still fits.
            trifle = region.active & (region.total * region.x <= ROUNDING * through)
            if not trifle.any():
                return rounds, ""
            region.x[trifle] = 0.0
            region.active[trifle] = False
        elif inner <= rtol * 1e-3:
            return rounds, "rounding keeps the residual above the tolerance"
        inner = max(inner * 1e-2, rtol * 1e-3)
    return budget.rounds, f"{budget.rounds} rounds were not enough"


def _solve_active(region: Region, inner: float) -> None:
    """Solve L_SS x_S = (Delta - T)_S, where an error of `inner` T_v is allowed."""
    if region.width > WIDE or not region.conjugate_gradients(inner):
        region.eliminate()


def _result(region: Region, sources: Sources, rtol: float, rounds: int,
            reason: str) -> Diffusion:
    order = np.argsort(region.rows)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    x = np.where(region.active, region.x, 0.0)[order]
    source, sink = region.source[order], region.sink[order]
    u, v, weight = region.edges()
    u, v = rank[u], rank[v]
    swap = (x[u] < x[v]) | ((x[u] == x[v]) & (u > v))
    u, v = np.where(swap, v, u), np.where(swap, u, v)
    by_ends = np.lexsort((v, u))
    u, v, weight = u[by_ends], v[by_ends], weight[by_ends]
    flow = weight * (x[u] - x[v])
    mass = source - sum_at(u, flow, len(x)) + sum_at(v, flow, len(x))
    certificate = certify(x, source, sink, u, v, weight, rtol, mass, region.degree[order],
                          rounds, region.expansions, reason)
    return Diffusion(region.rows[order], x, mass, sink, source, region.alignment[order], u, v,
                     weight, flow, certificate, sources.notices, sources.saturated)
