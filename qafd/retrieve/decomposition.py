"""A query graph as paths, and the candidates of their unknown nodes: Algorithms 4 to 6.

SG-RAG looks paths up in an index; here they only show how a question is decomposed and how far that
narrows the unknown nodes. `qafd.retrieve.matching` finds the matches without them.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from qafd.records import Nodes, QueryCondition
from qafd.retrieve.matching import Around, share

Edge = frozenset[int]


@dataclass(frozen=True)
class QueryPath:
    """A path of a query graph, by the places of its nodes.

    `overlap` is how many of its edges earlier paths cover, `weight` is w(p), minus the sum of the
    degrees of its nodes: the most connected path is looked up first.
    """

    nodes: tuple[int, ...]
    overlap: int
    weight: int

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The pairs of nodes that it joins, in its order."""
        return tuple(frozenset(ends) for ends in zip(self.nodes, self.nodes[1:], strict=False))


@dataclass(frozen=True, eq=False)
class Completion:
    """The candidates of the unknown nodes, by the paths that were looked up for them.

    `paths` cover every unknown node that is on a path at all; `candidates` are rows, ascending, by
    the place of the unknown node.
    """

    paths: tuple[QueryPath, ...]
    candidates: Mapping[int, Nodes]

    @property
    def combinations(self) -> int:
        """Count the fully labeled sets of paths that Algorithm 6 would go through."""
        return prod(len(rows) for rows in self.candidates.values())


def decompose_paths(conditions: Sequence[QueryCondition], length: int) -> tuple[QueryPath, ...]:
    """Return the paths that cover all conditions at the least cost, Algorithm 4.

    The first path runs through the node with the most conditions; each further one is joined to
    those before and overlaps them least. Deviations: the first need not start at that node, or a
    star would have none; conditions that no path of the wanted length reaches get shorter ones; and
    fewer paths come before the lower sum of weights, which, all being negative, more paths lower.
    Negated conditions are no edges.

    Parameters
    ----------
    length : int
        Conditions on a path.
    """
    around = _neighbors(conditions)
    if not around:
        return ()
    candidates = _paths(around, length)
    edges = {frozenset((one, other)) for one, near in around.items() for other in near}
    start = min(around, key=lambda node: (-len(around[node]), node))
    through = [path for path in candidates if start in path]
    longest = max(map(len, through))
    best: tuple[QueryPath, ...] = ()
    for nodes in [path for path in through if len(path) == longest]:
        chosen = _cover(nodes, candidates, edges, around)
        if not best or _cost(chosen) < _cost(best):
            best = chosen
    return best


def complete_labels(paths: Sequence[QueryPath], known: Mapping[int, int], around: Around,
                    everything: Nodes) -> Completion:
    """Return the candidates of each unknown node, Algorithm 5.

    Of the paths, one for each unknown node is looked up: its candidates are the rows at its place
    on any path of the graph that has the known rows at theirs.

    Parameters
    ----------
    known, around, everything
        As of `qafd.retrieve.matching.match_exactly`.
    """
    chosen: list[QueryPath] = []
    candidates: dict[int, Nodes] = {}
    # A path with more known nodes narrows more, so it is looked up first.
    for path in sorted(paths, key=lambda one: -sum(node in known for node in one.nodes)):
        unknown = [node for node in path.nodes if node not in known]
        if all(node in candidates for node in unknown):
            continue
        chosen.append(path)
        found = _look_up(path.nodes, known, around, everything)
        for node in unknown:
            before = candidates.get(node)
            candidates[node] = found[node] if before is None else share(before, found[node])
    return Completion(tuple(chosen), candidates)


def _neighbors(conditions: Sequence[QueryCondition]) -> dict[int, list[int]]:
    """Return the nodes that conditions join each node to, ascending."""
    around: dict[int, set[int]] = defaultdict(set)
    for condition in conditions:
        if not condition.negated:
            around[condition.source].add(condition.target)
            around[condition.target].add(condition.source)
    return {node: sorted(near) for node, near in around.items()}


def _paths(around: Mapping[int, Sequence[int]], length: int) -> list[tuple[int, ...]]:
    """Return all simple paths of 1 to `length` edges, each in both directions, longer ones first."""
    found: list[tuple[int, ...]] = []
    longest: list[tuple[int, ...]] = [(node,) for node in around]
    for _ in range(length):
        extended: list[tuple[int, ...]] = []
        for path in longest:
            extended += [(*path, near) for near in around[path[-1]] if near not in path]
        found = extended + found
        longest = extended
    return found


def _cover(first: tuple[int, ...], candidates: Sequence[tuple[int, ...]], edges: Collection[Edge],
           around: Mapping[int, Sequence[int]]) -> tuple[QueryPath, ...]:
    """Return the paths that cover all edges, beginning with one, each the best at its turn."""
    chosen = [_measure(first, set(), around)]
    covered = set(chosen[0].edges)
    while len(covered) < len(edges):
        reached = {node for edge in covered for node in edge}
        best: QueryPath | None = None
        for nodes in candidates:
            path = _measure(nodes, covered, around)
            if path.overlap == len(path.edges):
                continue
            better = best is None or _order(path, reached) < _order(best, reached)
            best = path if better else best
        assert best is not None  # an edge is a path of its own
        chosen.append(best)
        covered.update(best.edges)
    return tuple(chosen)


def _order(path: QueryPath, reached: Collection[int]) -> tuple[bool, int, int, int, tuple[int, ...]]:
    """Return the sort key of a path: first the joined, long, little overlapping and light ones."""
    apart = not any(node in reached for node in path.nodes)
    return apart, -len(path.nodes), path.overlap, path.weight, path.nodes


def _measure(nodes: tuple[int, ...], covered: Collection[Edge],
             around: Mapping[int, Sequence[int]]) -> QueryPath:
    path = QueryPath(nodes, 0, -sum(len(around[node]) for node in nodes))
    overlap = sum(edge in covered for edge in path.edges)
    return QueryPath(nodes, overlap, path.weight)


def _cost(paths: Sequence[QueryPath]) -> tuple[int, int]:
    return len(paths), sum(path.weight for path in paths)


def _look_up(path: tuple[int, ...], known: Mapping[int, int], around: Around, everything: Nodes
             ) -> dict[int, Nodes]:
    """Return the rows at each place of a path, of all walks with the known rows at their places."""
    rows = [np.array([known[node]]) if node in known else everything for node in path]
    for places in (range(1, len(path)), range(len(path) - 2, -1, -1)):
        step = 1 if places.step == 1 else -1
        for place in places:
            before = rows[place - step]
            if before is everything:
                continue
            near = [around(row) for row in before.tolist()]
            joined = reduce(np.union1d, near) if near else before
            rows[place] = share(rows[place], joined)
    return dict(zip(path, rows, strict=True))
