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

from qafd.errors import ParameterError
from qafd.flow import kernel
from qafd.flow.certificate import (
    ROUNDING,
    Certificate,
    ClaimedSolution,
    Flaw,
    FlawKind,
    certify,
    flaw,
    net_inflow,
)
from qafd.flow.elimination import TooDenseError
from qafd.flow.kernel import Budget
from qafd.flow.region import REFINEMENTS, Region
from qafd.flow.sources import Sources, fit
from qafd.flow.weights import Gates
from qafd.graph import Graph
from qafd.reasons import Notice
from qafd.records import Floats, Nodes

# Beyond this ratio of largest to smallest weight, conjugate gradients are not even tried.
WIDE = 1e12
# Tolerance of the first inner solves; a round that adds few nodes, less than a share FEW of the
# active ones, multiplies it by STEP, down to rtol, and one that adds none goes below that when
# rounding left the residual too large.
COARSE = 1e-2
STEP = 1e-4
FEW = 1 / 8
LAST = 1e-3
# Rounding above this share of a capacity is removed by a direct solve in twice the digits, unless
# more than SHARPENED nodes are active: seconds of work for digits that nobody sees.
SHARP = 1e-7
SHARPENED = 1500


@dataclass(frozen=True, eq=False)
class Diffusion:
    """A solved diffusion, on the nodes it touched (t of them, in the order of touching).

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
        w and w (x_u - x_v) >= 0, which runs from u to v, known to more digits than x. (The
        paper's f = -B'x is a difference of potentials, not yet times the weight.)
    notices : tuple of Notice
        Facts for the user, for example that mass was capped.
    saturated : bool
        True if some component was asked to hold more than it can.
    rounds, expansions : int
        Rounds of the active set, and nodes whose edges were read.
    stopped : Flaw, optional
        Why the solve ended before its tolerance `rtol`.
    """

    graph: Graph = field(repr=False)
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
    notices: tuple[Notice, ...]
    saturated: bool
    rounds: int
    expansions: int
    rtol: float
    stopped: Flaw | None = None

    @property
    def converged(self) -> bool:
        """Return True if the solver reached its tolerance."""
        return self.stopped is None

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of optimality, computed from the numbers of this record alone."""
        claim = ClaimedSolution(self.x, self.source, self.capacity, self.u, self.v, self.weight, self.mass,
                      self.graph.degree_of(self.rows))
        return certify(claim, self.rtol, self.rounds, self.expansions, self.stopped)

    @cached_property
    def support(self) -> Nodes:
        """Graph rows with x > 0, most important first; equal x by row."""
        return support_of(self.rows, self.x)

    @cached_property
    def state(self) -> tuple[str, ...]:
        """Per touched node: "saturated" (x > 0), "wet" (mass only) or "dry"."""
        return tuple("saturated" if x > 0 else "wet" if m > 0 else "dry"
                     for x, m in zip(self.x.tolist(), self.mass.tolist(), strict=True))

    @cached_property
    def _index(self) -> dict[int, int]:
        return {row: i for i, row in enumerate(self.rows.tolist())}

    def find(self, row: int) -> int | None:
        """Return the index of a graph row in the arrays above, None when it was not touched."""
        return self._index.get(row)

    def retrieves(self, row: int) -> bool:
        """Return True if x of a graph row is above 0."""
        i = self.find(row)
        return i is not None and bool(self.x[i] > 0)

    @cached_property
    def origin(self) -> Nodes:
        """Index of the node that each touched node got the most from, -1 for none, shape (t,)."""
        origin = np.full(len(self.rows), -1)
        # Smallest flow first: the last to be written is the largest, of equals the first edge.
        order = np.lexsort((-np.arange(len(self.flow)), self.flow))
        order = order[self.flow[order] > 0]
        origin[self.v[order]] = self.u[order]
        return origin


def support_of(rows: Nodes, x: Floats) -> Nodes:
    """Return rows with x > 0, most important first; equal x by row."""
    full = np.flatnonzero(x > 0)
    return rows[full[np.lexsort((rows[full], -x[full]))]]


def solve(graph: Graph, gates: Gates, source_rows: Nodes, source_mass: Floats,
          capacity: str = "unit", rtol: float = 1e-9, budget: Budget | None = None) -> Diffusion:
    """Solve problem (5) for one query, exact to `rtol` of each node's capacity.

    Parameters
    ----------
    source_rows, source_mass : ndarray, shape (k,)
        Seeds and Delta, see `qafd.flow.sources.source_mass`; mass that cannot fit is scaled down,
        with a notice in the result.
    capacity : {"unit", "degree", "tokens"}
        Sink capacity T.
    rtol : float
        Between 1e-12 and 0.1. Node v may be off by rtol T_v plus the rounding of its mass.

    Returns
    -------
    Diffusion
        When `converged` is false, `stopped` has the reason and `certificate.residual` the error.
    """
    if not 1e-12 <= rtol <= 0.1:
        raise ParameterError(f"rtol must be between 1e-12 and 0.1, not {rtol}")
    sink = graph.capacity(capacity)
    sources = fit(graph, source_rows, source_mass, capacity)
    limits = budget or Budget()
    compiled = kernel.ready()
    if compiled is not None:
        found = _solve_compiled(compiled, graph, gates, sources, sink, rtol, limits)
        if found is not None:
            return found
    return _solve_numpy(graph, gates, sources, sink, rtol, limits)


def _solve_compiled(compiled: kernel.Compiled, graph: Graph, gates: Gates, sources: Sources,
                    sink: Floats, rtol: float, budget: Budget) -> Diffusion | None:
    """Solve by `qafd.flow.compiled`; None when weights are too wide or the graph too long."""
    workspace = graph.acquire()
    try:
        spread = compiled.spread(graph, gates, workspace, sources, sink, rtol, budget)
        if spread is None:
            return None
        return Diffusion(graph, *spread.arrays, sources.notices, sources.saturated, spread.rounds,
                         spread.expansions, rtol, spread.stopped)
    finally:
        graph.release(workspace)


def _solve_numpy(graph: Graph, gates: Gates, sources: Sources, sink: Floats, rtol: float,
                 budget: Budget) -> Diffusion:
    region = Region(graph, gates, sources, sink)
    try:
        rounds, stopped = _SupportSearch(region, rtol, budget).run()
        u, v, weight, flow = region.edges()
    finally:
        region.close()
    x, source = region.x, region.source
    mass = source + net_inflow(u, v, flow, len(x))
    return Diffusion(graph, region.rows, x, mass, region.sink, source, region.alignment, u, v,
                     weight, flow, sources.notices, sources.saturated, rounds,
                     region.expansions, rtol, stopped)


class _SupportSearch:
    """The search for the support: how exact inner solves are by now, and by which means."""

    def __init__(self, region: Region, rtol: float, budget: Budget) -> None:
        self.region, self.rtol, self.budget = region, rtol, budget
        self.inner = max(COARSE, rtol)
        self.direct = False  # by elimination, not by conjugate gradients
        self.settled = False  # the active nodes were solved for twice

    def run(self) -> tuple[int, Flaw | None]:
        """Find the support and x; the rounds used and why it stopped, if early."""
        region = self.region
        over = region.source - region.sink
        late = np.flatnonzero(over > 0)
        for rounds in range(1, self.budget.rounds + 1):
            region.grow(late, over, max(self.inner, self.rtol))
            if len(region.rows) > self.budget.touched:
                return rounds, flaw(FlawKind.TOUCHED, nodes=self.budget.touched)
            try:
                self._solve()
            except TooDenseError:
                return rounds, flaw(FlawKind.TOO_DENSE, width=region.width,
                                    nodes=int(region.active.sum()))
            negative = region.active & (region.x < 0)
            dropped = bool(negative.any())
            region.drop(negative)
            over, through = region.excess()
            allowed = self.rtol * region.sink + ROUNDING * through
            limit = np.maximum(allowed, self.inner * region.sink)
            late = np.flatnonzero(~region.active & (over > limit))
            if dropped or len(late):
                self._go_on(dropped, len(late))
            elif self.direct and not self.settled:
                self.settled = True
            elif np.all(np.where(region.active, np.abs(over), over) <= allowed):
                if self._drop_rounding(through):
                    return rounds, None
            elif self.inner <= self.rtol * LAST:
                return rounds, flaw(FlawKind.ROUNDING)
            else:
                self._tighten()
        return self.budget.rounds, flaw(FlawKind.ROUNDS, rounds=self.budget.rounds)

    def _solve(self) -> None:
        """Solve for the active nodes."""
        region = self.region
        if not self.direct:
            self.direct = region.width > WIDE or not region.conjugate_gradients(self.inner)
        if self.direct:
            region.eliminate(REFINEMENTS if self.settled else 0)

    def _go_on(self, dropped: bool, late: int) -> None:
        """Set how exact the next solve is, of other active nodes than this one."""
        self.settled = False
        if dropped:  # too coarse: a node could be added and dropped for ever
            self.inner = max(0.1 * self.inner, self.rtol * LAST)
        elif late < FEW * self.region.active.sum():
            self.inner = max(self.inner * STEP, min(self.inner, self.rtol))

    def _tighten(self) -> None:
        least = self.rtol if self.inner > self.rtol else self.rtol * LAST
        self.inner = max(self.inner * STEP, least)

    def _drop_rounding(self, through: Floats) -> bool:
        """Return True if a solution is done; else its rounding is solved for again."""
        region = self.region
        blurred = ROUNDING * through > SHARP * region.sink
        if not self.direct and blurred.any() and region.active.sum() <= SHARPENED:
            self.direct = self.settled = True
            return False
        # x this small is rounding: without it the node still fits.
        trifle = region.active & (region.total * region.x <= ROUNDING * through)
        if not trifle.any():
            return True
        region.drop(trifle)
        self._tighten()
        return False
