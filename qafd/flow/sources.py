"""Source mass Delta of the seeds, scaled down where it cannot fit.

Each rule is named after the quantity that sets the amount; `fit` then applies the one condition under
which problem (5) has a solution: in every connected component the source mass must stay below the
sink capacity.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qafd.errors import InfeasibleError, ParameterError
from qafd.graph import Graph
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Floats, Nodes

# A component is filled to this share at most: the solution exists and is unique below 1, and
# the last thousandth keeps it clear of the rounding in the sums.
FILL = 0.999
SEARCHED = 20_000  # nodes, for a path from a seed to another


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
                capacity: str = "unit", shares: Floats | None = None,
                paths: tuple[Nodes, ...] = ()) -> Floats:
    """Return the source mass Delta_s of each seed by a named rule, before `fit`.

    Parameters
    ----------
    rows : ndarray of int, shape (k,)
        The seeds.
    rule : str
        "budget": mass for at most `alpha` nodes, alpha times the mean capacity (Theorem 7's
        (1 + beta) vol(R)); "total": `alpha` in all, with capacity "tokens" a budget of tokens,
        since a retrieved node holds its tokens; "source-degree": alpha T_s (the paper's preset);
        "source-unit": alpha;
        "volume": a share `alpha` < 1 of the capacity of each seed's component; "path":
        alpha times the capacity along `paths`, one path of rows per seed (A2.2.1);
        "paper-literal": alpha times the capacity of the whole graph for every seed (Section 2.2).
    shares : ndarray, shape (k,), optional
        How "budget", "total" and "volume" split their total; equal by default. Scales the
        others relative to their mean.

    Raises
    ------
    InfeasibleError
        By "paper-literal" when the graph cannot hold the mass, which is so for every alpha >= 1.
    """
    rows = np.asarray(rows, np.int64)
    if not np.isfinite(alpha) or alpha < 0:
        raise ParameterError(f"alpha must be a number of at least 0, not {alpha}")
    if rule not in _RULES:
        raise ParameterError(f"{rule!r} is not a source-mass rule; choose {', '.join(RULES)}")
    k = len(rows)
    if shares is None:
        part: Floats = np.full(k, 1.0 / max(k, 1))
    else:
        part = np.asarray(shares, np.float64)
        if np.any(part < 0) or (k and not part.sum() > 0):
            raise ParameterError("the shares of the seeds must be positive")
        part = part / part.sum() if k else part
    return _RULES[rule](_SourceRequest(graph, rows, alpha, capacity, part, paths))


@dataclass(frozen=True)
class _SourceRequest:
    """Request to a rule: `part` are the shares of the seeds, which sum to 1."""

    graph: Graph
    rows: Nodes
    alpha: float
    capacity: str
    part: Floats
    paths: tuple[Nodes, ...]

    @property
    def sink(self) -> Floats:
        return self.graph.capacity(self.capacity)


def _budget(asked: _SourceRequest) -> Floats:
    graph = asked.graph
    return asked.alpha * graph.total_capacity(asked.capacity) / max(len(graph), 1) * asked.part


def _total(asked: _SourceRequest) -> Floats:
    return asked.alpha * asked.part


def _source_degree(asked: _SourceRequest) -> Floats:
    return asked.alpha * asked.sink[asked.rows] * asked.part * len(asked.rows)


def _source_unit(asked: _SourceRequest) -> Floats:
    return asked.alpha * asked.part * len(asked.rows)


def _volume(asked: _SourceRequest) -> Floats:
    if asked.alpha >= 1:
        raise ParameterError("rule 'volume' fills a share of a component; alpha = "
                             f"{asked.alpha} must be below 1")
    component = asked.graph.component[asked.rows]
    inside = np.array([asked.part[component == c].sum() for c in component])
    room = asked.graph.component_capacity(asked.capacity)[component]
    filled: Floats = asked.alpha * asked.part * room / inside
    return filled


def _path(asked: _SourceRequest) -> Floats:
    k = len(asked.rows)
    if len(asked.paths) != k:
        raise ParameterError(f"rule 'path' needs one path per seed, not {len(asked.paths)} for "
                             f"{k}")
    length: Floats = np.array([float(asked.sink[path].sum()) for path in asked.paths])
    scaled: Floats = asked.alpha * k * asked.part * length
    return scaled


def _paper_literal(asked: _SourceRequest) -> Floats:
    graph, rows = asked.graph, asked.rows
    mass = np.full(len(rows), asked.alpha * graph.total_capacity(asked.capacity))
    reached = np.unique(graph.component[rows])
    held = float(graph.component_capacity(asked.capacity)[reached].sum())
    if mass.sum() >= held:
        raise InfeasibleError(f"{mass.sum():g} units of source mass, alpha times the capacity "
                              f"of all nodes for each of {len(rows)} seeds as Section 2.2 "
                              f"prints it, cannot fit into the {held:g} units that can be "
                              "reached; use the rule 'source-degree' or 'budget'")
    return mass


_RULES: dict[str, Callable[[_SourceRequest], Floats]] = {
    "budget": _budget, "total": _total, "source-degree": _source_degree,
    "source-unit": _source_unit, "volume": _volume, "path": _path, "paper-literal": _paper_literal}
RULES = tuple(_RULES)


def seed_paths(graph: Graph, rows: Nodes) -> tuple[Nodes, ...]:
    """Return for each seed the nodes of a shortest path to the nearest other seed (P of A2.2.1).

    All seeds are searched from at once, breadth first; two that meet are nearest to each
    other over the edge where they do. A seed that meets none within `SEARCHED` nodes has itself.
    """
    came: dict[int, int] = {int(row): -1 for row in rows}
    owner = {row: row for row in came}
    paths: dict[int, list[int]] = {}

    def trail(node: int) -> list[int]:
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = came[node]
        return nodes

    front = sorted(owner)
    while front and len(paths) < len(rows) and len(owner) < SEARCHED:
        frontier = graph.expand(np.array(front, np.int64))
        starts = np.repeat(frontier.nodes, frontier.counts).tolist()
        front = []
        for start, end in zip(starts, frontier.neighbors.tolist(), strict=True):
            if end not in owner:
                owner[end], came[end] = owner[start], start
                front.append(end)
            elif owner[end] != owner[start]:
                whole = trail(start)[::-1] + trail(end)
                paths.setdefault(owner[start], whole)
                paths.setdefault(owner[end], whole)
    return tuple(np.array(paths.get(int(row), [int(row)]), np.int64) for row in rows)


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
