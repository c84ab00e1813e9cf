"""Source mass Delta of the seeds, scaled down where it cannot fit.

Each rule is named after the quantity that sets the amount; `fit` then applies the one condition under
which problem (5) has a solution: in every connected component the source mass must stay below the
sink capacity.
"""

from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Floats, Nodes

# A component is filled to this share at most: the solution exists and is unique below 1, and
# the last thousandth keeps it clear of the rounding in the sums.
FILL = 0.999
RULES = ("budget", "total", "source-degree", "source-unit")


@dataclass(frozen=True)
class Sources:
    """Source mass at distinct rows, ascending; `notices` report the changes that made it fit."""

    rows: Nodes
    mass: Floats
    notices: tuple[Notice, ...] = ()
    saturated: bool = False

    @property
    def total(self) -> float:
        """|Delta|_1, in units of mass."""
        return float(self.mass.sum())


def source_mass(graph: Graph, rows: Nodes, rule: str = "budget", alpha: float = 60.0,
                capacity: str = "unit", shares: Floats | None = None) -> Floats:
    """Return the source mass Delta_s of each seed by a named rule, before `fit`.

    Parameters
    ----------
    rows : ndarray of int, shape (k,)
        The seeds.
    rule : str
        "budget": mass for at most `alpha` nodes, alpha times the mean capacity (Theorem 7's
        (1 + beta) vol(R)); "total": `alpha` in all, with capacity "tokens" a budget of tokens,
        since a retrieved node holds its tokens; "source-degree": alpha T_s (the paper's preset);
        "source-unit": alpha.
    shares : ndarray, shape (k,), optional
        How "budget" and "total" split their total; equal by default. Scales the others relative to
        their mean.
    """
    rows = np.asarray(rows, np.int64)
    if not np.isfinite(alpha) or alpha < 0:
        raise ParameterError(f"alpha must be a number of at least 0, not {alpha}")
    if rule not in RULES:
        raise ParameterError(f"{rule!r} is not a source-mass rule; choose {', '.join(RULES)}")
    k = len(rows)
    if shares is None:
        part: Floats = np.full(k, 1.0 / max(k, 1))
    else:
        part = np.asarray(shares, np.float64)
        if np.any(part < 0) or (k and not part.sum() > 0):
            raise ParameterError("the shares of the seeds must be positive")
        part = part / part.sum() if k else part
    if rule == "total":
        return alpha * part
    if rule == "budget":
        return alpha * graph.total_capacity(capacity) / max(len(graph), 1) * part
    sink = graph.capacity(capacity)[rows] if rule == "source-degree" else np.ones(k)
    return alpha * sink * part * k


def fit(graph: Graph, rows: Nodes, mass: Floats, capacity: str = "unit") -> Sources:
    """Return sources that the graph can hold: distinct rows, none isolated, no component overfull.

    Costs O(number of seeds). A component asked to hold more than `FILL` of its capacity has its
    sources scaled down together, with a notice. A seed without neighbors takes no mass.
    """
    if np.asarray(rows).dtype.kind not in "iu" and len(rows):
        raise ParameterError(f"seeds are row numbers, not {np.asarray(rows).dtype}")
    rows, mass = np.asarray(rows, np.int64), np.asarray(mass, np.float64)
    if rows.shape != mass.shape or rows.ndim != 1:
        raise ParameterError(f"{rows.shape} seeds and {mass.shape} masses do not match")
    if not len(rows):
        return Sources(rows, mass)
    total = _add_up(rows, mass)
    distinct = np.array(list(total), np.int64)
    if distinct[0] < 0 or distinct[-1] >= len(graph):
        raise ParameterError(f"a seed is outside the {len(graph)} nodes")
    poured = np.array(list(total.values()))
    lone = graph.degree_of(distinct) == 0
    isolated = int((poured[lone] > 0).sum())
    poured[lone] = 0.0
    notices = []
    if isolated:
        notices.append(notice(NoticeKind.LONE_SEEDS, count=isolated, seeds=len(distinct)))
    # One number for each component that has a seed.
    parts, part = np.unique(graph.component[distinct], return_inverse=True)
    room = graph.component_capacity(capacity)[parts].astype(np.float64)
    asked = np.bincount(part, poured)
    full = asked > FILL * room
    if not full.any():
        return Sources(distinct, poured, tuple(notices))
    poured *= np.where(full, FILL * room / np.where(full, asked, 1.0), 1.0)[part]
    held = float(room[full].sum())
    amounts = {"wanted": float(asked[full].sum()), "room": held, "poured": FILL * held}
    if full.all():
        notices.append(notice(NoticeKind.MASS_CAPPED, **amounts))
    else:
        notices.append(notice(NoticeKind.MASS_CAPPED_THERE, seeds=len(distinct),
                              count=int(full[part].sum()), **amounts))
    return Sources(distinct, poured, tuple(notices), saturated=True)


def _add_up(rows: Nodes, mass: Floats) -> dict[int, float]:
    """Return the mass of each distinct seed, in the order of rows."""
    amounts = mass.tolist()
    if not (min(amounts) >= 0 and sum(amounts) < np.inf):  # the sum of a NaN is one
        raise ParameterError("source mass must be at least 0 and finite")
    # Equal seeds are added smallest first, so that their order cannot change the sum.
    total: dict[int, float] = {}
    for row, amount in sorted(zip(rows.tolist(), amounts, strict=True)):
        total[row] = total.get(row, 0.0) + amount
    return total
