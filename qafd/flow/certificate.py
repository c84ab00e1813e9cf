"""The certificate: proof from numbers alone that a diffusion solves problem (5).

F is convex, so x is optimal exactly when the conditions of Karush, Kuhn and Tucker hold:
with m = Delta - L x, every m_v <= T_v, every x_v >= 0, and m_v = T_v where x_v > 0. Checking
costs one pass over the edges and needs no solver. It proves that the diffusion is optimal;
it does not show that the retrieved nodes are relevant.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from qafd.graph import components, sum_at
from qafd.records import Floats, Nodes

# A sum of k terms rounds by up to k units in the last place; 4e-15 is 18 of them.
ROUNDING = 4e-15
# Terms of one node beyond which they are added pairwise, to keep within that.
MANY = 500
# Masses off by more than this share of a capacity are not certified, even where it is rounding.
CRUDE = 1e-3


class FlawKind(StrEnum):
    """Kind of a reason why a solution is not optimal; the comment lists its values."""

    OFF = "off"  # times: a node's violation over its tolerance
    CRUDE = "crude"  # share: rounding of a mass over its capacity
    NEGATIVE = "negative"  # x
    HOLDS_TOO_MUCH = "holds_too_much"  # volume, source
    EDGES_MISSING = "edges_missing"  # count
    # Why a solve ended early
    ROUNDS = "rounds"  # rounds
    TOUCHED = "touched"  # nodes
    ROUNDING = "rounding"
    TOO_DENSE = "too_dense"  # width, nodes


@dataclass(frozen=True)
class Flaw:
    """One thing that keeps a solution from being optimal, with its values."""

    kind: FlawKind
    values: Mapping[str, float] = field(default_factory=dict, hash=False)


def flaw(kind: FlawKind, **values: float) -> Flaw:
    """Build a flaw from its values."""
    return Flaw(kind, values)


@dataclass(frozen=True, eq=False)
class ClaimedSolution:
    """A diffusion as it is claimed, on the nodes it touched.

    Parameters
    ----------
    x, source, capacity : ndarray, shape (t,)
        Of the touched nodes.
    u, v : ndarray of int, shape (e,)
        Ends of the edges between touched nodes, as indices into the arrays above. All edges
        of every node with x > 0 must be there.
    weight : ndarray, shape (e,)
    mass : ndarray, shape (t,), optional
        Checked against Delta - L x.
    degree : ndarray of int, shape (t,), optional
        Number of edges each node has in the whole graph; makes the check notice a missing edge
        of a node with x > 0.
    """

    x: Floats
    source: Floats
    capacity: Floats
    u: Nodes
    v: Nodes
    weight: Floats
    mass: Floats | None = None
    degree: Nodes | None = None


@dataclass(frozen=True)
class Certificate:
    """Certificate of how well x, its mass and its flow satisfy every condition of problem (5).

    Parameters
    ----------
    optimal : bool
        All conditions hold within tolerance, and no mass claimed is off by more than 0.1% of a
        capacity (or rtol, where that is more).
    residual : float
        Worst violation divided by its allowance; at most 1 when optimal. Node v is
        allowed rtol T_v + 4e-15 (w_v x_v + sum_u w_uv x_u): the second term is the rounding of m_v
        itself.
    overfull, unfilled : float
        Largest m_v - T_v anywhere, and largest T_v - m_v where x_v > 0, of the masses claimed;
        units of mass.
    rounding : float
        Largest rounding of a mass that is recomputed from x, as a share of its capacity: how well
        the masses claimed could be checked. They may be known better, where the solver kept more
        digits of x than a float has.
    negative : float
        Largest -x_v.
    balance : tuple of float
        Mass held minus source mass, for each connected part that was touched.
    gap, relative_gap : float
        Duality gap x'(T - m), and the same divided by |F(x)|.
    objective : float
        F(x) of Eq. (5).
    volume, source : float
        Sum of T over the support, never more than the source mass |Delta|_1: Lemma 2 as it
        holds (the paper's count of nodes needs every T_v >= 1).
    support, touched, edges : int
        Nodes with x > 0, nodes with a mass or a source, edges read.
    rounds, expansions : int
        Rounds of the active set, and calls of `Graph.expand` that read the graph.
    rtol : float
        Relative tolerance in the capacity of a node.
    flaws : tuple of Flaw
        Why it is not optimal, and why the solve ended early where it did.
    """

    optimal: bool
    residual: float
    overfull: float
    unfilled: float
    negative: float
    balance: tuple[float, ...]
    gap: float
    relative_gap: float
    objective: float
    volume: float
    source: float
    support: int
    touched: int
    edges: int
    rounds: int = 0
    expansions: int = 0
    rtol: float = 1e-9
    flaws: tuple[Flaw, ...] = ()
    rounding: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def certify(claim: ClaimedSolution, rtol: float = 1e-9, rounds: int = 0, expansions: int = 0,
            stopped: Flaw | None = None) -> Certificate:
    """Check a diffusion; `rounds`, `expansions` and why it `stopped` are those of its solver."""
    x, source, capacity, u, v = claim.x, claim.source, claim.capacity, claim.u, claim.v
    t, weight = len(x), claim.weight
    flow = weight * (x[u] - x[v])
    held = source + net_inflow(u, v, flow, t)
    through = (sum_at(u, weight, t) + sum_at(v, weight, t)) * x
    through += sum_at(u, weight * x[v], t) + sum_at(v, weight * x[u], t)
    allowed = rtol * capacity + ROUNDING * through
    over, full = held - capacity, x > 0
    residual = _worst_ratio(np.where(full, np.abs(over), np.maximum(over, 0.0)), allowed)
    if claim.mass is not None:
        residual = float(np.maximum(residual, _worst_ratio(np.abs(claim.mass - held), allowed)))
        over = claim.mass - capacity
    negative = float(np.max(np.maximum(-x, 0.0), initial=0.0))
    volume, total = float(capacity[full].sum()), float(source.sum())
    flaws = [] if stopped is None else [stopped]
    if not residual <= 1:  # nor is NaN a proof
        flaws.append(flaw(FlawKind.OFF, times=residual))
    crudest = max(CRUDE, rtol)
    crude = _worst_ratio(np.where(full, np.abs(over), over), crudest * capacity)
    if residual <= 1 < crude:
        flaws.append(flaw(FlawKind.CRUDE, share=crude * crudest))
    if negative > 0:
        flaws.append(flaw(FlawKind.NEGATIVE, x=-negative))
    if volume > total + float(allowed.sum()):
        flaws.append(flaw(FlawKind.HOLDS_TOO_MUCH, volume=volume, source=total))
    missing = _count_missing(claim)
    if missing:
        flaws.append(flaw(FlawKind.EDGES_MISSING, count=missing))
    gap = float(x @ (capacity - held))
    objective = float(0.5 * weight @ (x[u] - x[v]) ** 2 + x @ (capacity - source))
    part = components(t, u, v)
    count = int(part.max(initial=-1)) + 1
    balance = sum_at(part, (held if claim.mass is None else claim.mass) - source, count)
    return Certificate(
        optimal=not flaws, residual=residual, overfull=float(np.max(over, initial=0.0)),
        unfilled=float(np.max(-over[full], initial=0.0)), negative=negative,
        balance=tuple(balance.tolist()), gap=gap,
        relative_gap=abs(gap / objective) if objective else 0.0, objective=objective,
        volume=volume, source=total, support=int(full.sum()), touched=t, edges=len(u),
        rounds=rounds, expansions=expansions, rtol=rtol, flaws=tuple(flaws),
        rounding=_worst_ratio(ROUNDING * through, capacity))


def _count_missing(claim: ClaimedSolution) -> int:
    """Count the edges of retrieved nodes that are not listed."""
    if claim.degree is None:
        return 0
    t = len(claim.x)
    listed = np.bincount(claim.u, minlength=t) + np.bincount(claim.v, minlength=t)
    return int(np.sum((claim.degree - listed)[claim.x > 0]))


def net_inflow(u: Nodes, v: Nodes, flow: Floats, n: int) -> Floats:
    """Return the inflow of each of n nodes less its outflow, for flows from u to v, shape (n,)."""
    net = sum_at(v, flow, n) - sum_at(u, flow, n)
    count = np.bincount(u, minlength=n) + np.bincount(v, minlength=n)
    hubs = np.flatnonzero(count > MANY)
    if len(hubs):
        place = np.full(n, -1, np.int16 if len(hubs) < 2**15 else np.int64)  # two bytes sort faster
        place[hubs] = np.arange(len(hubs))
        ends, signed = place[np.concatenate([v, u])], np.concatenate([flow, -flow])
        there = ends >= 0
        order = np.argsort(ends[there], kind="stable")
        first = np.cumsum(count[hubs]) - count[hubs]
        net[hubs] = np.add.reduceat(signed[there][order], first)
    return net


def _worst_ratio(wrong: Floats, allowed: Floats) -> float:
    """Return the largest wrong / allowed, where 0 / 0 is 0; infinite where floats end."""
    bad = ~(wrong <= 0)
    with np.errstate(over="ignore"):
        return float(np.max(wrong[bad] / np.maximum(allowed[bad], 1e-300), initial=0.0))
