"""Flow-pruned paths between pairs of keyword entities, after PathRAG."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix

from qafd.graph import Graph
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Nodes, QueryPlan
from qafd.retrieve.base import (
    DRY,
    SATURATED,
    Corpus,
    Method,
    Retrieval,
    Structure,
    StructureKind,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.ego import entity_seeds
from qafd.retrieve.seeds import Seeds
from qafd.retrieve.subgraph import edges, nodes, rank_passages

SHARE = 0.1  # of a small graph's entities, that the suggested seeds are


@dataclass(frozen=True)
class RelationalPaths(Method):
    """The most reliable paths of at most 3 relations between entities nearest to the keywords.

    Chen et al., "PathRAG", Section 3.3 (flow-based pruning with distance awareness), with the
    rules and numbers of its released code: between two seeds, one unit of resource starts at the
    first and is shared equally among the next nodes of all simple paths to the other; each
    further step multiplies by `decay`, and an edge that carries `threshold` or less passes
    nothing on. The reliability of a path is the mean resource of its edges; the `paths` most
    reliable ones of all pairs are kept, each in its better direction.

    Passages are ranked as in its code, in the order of the seeds they mention; those of one seed
    by the paths they support, the sum of reliabilities, each times the share of the path's
    relations both of whose ends the passage mentions. A passage's score is 1 / rank.

    Deviations: among the passages of one seed the code counts neighbors in place of paths; a path
    along which no resource arrives is dropped, where the code lists it last; all edges of one
    step are filled before the next step, so that no order matters; keywords are compared one by
    one. Importance is the reliability of the best path through a node; flow on an edge is its
    resource, the larger where pairs use it both ways. A seed on no path is dry.
    """

    label: ClassVar[str] = "PathRAG paths"
    idea: ClassVar[str] = ("short paths between keyword entities, pruned by shared resource; a "
                           "re-implementation of the idea, on this graph")
    source: ClassVar[str] = "Chen et al. 2025, PathRAG"

    seeds: int = knob(40, 2, 100, help="How many entities nearest to the keywords are joined.")
    paths: int = knob(15, 1, 100, help="How many paths are kept, the most reliable ones.")
    decay: float = knob(0.8, 0.01, 1.0, help="What each further step leaves of the resource.")
    threshold: float = knob(0.3, 0.01, 1.0, help="Resource up to which an edge passes nothing on.")
    top: int = passages_ranked()

    def fit_to(self, graph: Graph) -> Self:
        """Return the method with fewer seeds in a small graph, at most a tenth of its entities."""
        return self.fewer("seeds", SHARE * graph.count("entity"))

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the kept paths as one subgraph with its resource, and the passages that support them."""
        graph, layer = corpus.graph, corpus.graph.layer({"relation"})
        seeds, _ = entity_seeds(graph, plan, self.seeds)
        rows = seeds.rows
        found = flow_paths(layer, rows, self.decay, self.threshold)
        kept = found[:self.paths]
        told = _tell(layer, seeds, kept)
        steps, carried = _find_carried(kept)
        order = _rank_passages(graph, rows, kept)[:self.top]
        return Retrieval(
            query=plan.question, method="path", params=params_of(self),
            seeds=graph.ids_of(rows.tolist()),
            nodes=nodes(layer, plan, np.array(list(told), np.int64),
                        np.array([x for x, _ in told.values()]),
                        [why for _, why in told.values()], seeds=set(rows.tolist()),
                        states=[SATURATED if x > 0 else DRY for x, _ in told.values()]),
            edges=edges(layer, np.array([layer.entry(u, v) for u, v in steps], np.int64),
                        np.array(carried)),
            ranking=rank_passages(graph, order, 1 / np.arange(1, len(order) + 1)),
            notices=() if kept or not len(rows) else (notice(NoticeKind.NO_JOINED_PAIR),),
            revision=graph.revision,
            structures=tuple(Structure(StructureKind.PATH, path.reliability,
                                       graph.ids_of(path.rows)) for path in kept))


@dataclass(frozen=True)
class FlowPath:
    """A path between two seeds: its rows, the resource on each of its edges, their mean."""

    rows: tuple[int, ...]
    resources: tuple[float, ...]
    reliability: float


def _tell(layer: Graph, seeds: Seeds, paths: Sequence[FlowPath]) -> dict[int, tuple[float, Reason]]:
    """Return by row of a seed or path the reliability of its best path, 0 without, and the reason."""
    alone = (reason(ReasonKind.NO_PATH),)
    best: dict[int, tuple[float, Reason]] = {}
    for row, why in zip(seeds.rows.tolist(), seeds.reasons, strict=True):
        best[row] = 0.0, replace(why, also=alone)
    for place, path in enumerate(paths, 1):
        way = tuple(layer.names[row] for row in path.rows)
        why = reason(ReasonKind.ON_PATH, first=way[0], last=way[-1], way=way, place=place,
                     score=path.reliability)
        for row in path.rows:
            if row not in best or path.reliability > best[row][0]:
                best[row] = path.reliability, why
    return best


def _find_carried(paths: Sequence[FlowPath]) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the edges of some paths, each in the direction that carries more, and its resource."""
    carried: dict[tuple[int, int], float] = defaultdict(float)
    for path in paths:
        for step, resource in zip(pairwise(path.rows), path.resources, strict=True):
            carried[step] = max(carried[step], resource)
    steps = [(u, v) for (u, v), resource in carried.items()
             if (resource, v) > (carried.get((v, u), 0.0), u)]
    return steps, [carried[step] for step in steps]


def flow_paths(layer: Graph, seeds: Nodes, decay: float,
               threshold: float) -> list[FlowPath]:
    """Return every path between two seeds that keeps its resource, most reliable first.

    Ties go to the shorter path, then by ids; of a path and its reverse the better is listed, of
    equals the one from the earlier seed.
    """
    n, k = len(layer), len(seeds)
    ones = np.ones(len(layer.neighbors), np.float32)
    adjacency = csr_matrix(  # type: ignore[no-untyped-call]
        (ones, layer.neighbors, layer.indptr), (n, n))
    once = adjacency[seeds]
    twice = (once @ adjacency).tocsr()
    columns = np.unique(np.concatenate([once.indices, seeds]).astype(np.int64))
    near = once[:, columns].toarray() > 0  # (k, m): is the column a neighbor of the seed
    common = twice[:, columns].toarray()  # (k, m): how many neighbors do they share
    column = np.searchsorted(columns, seeds)
    best: dict[tuple[int, ...], FlowPath] = {}
    for i, a in enumerate(seeds.tolist()):
        joined = near[:, column[i]]  # (k,): is the other seed a neighbor of a
        # A shared neighbor that is a itself does not lead from the column to the other seed.
        leads = near[i] & (near | (common - joined[:, None] > 0))  # (k, m)
        leads[np.arange(k), column] = joined
        leads[i] = False
        choices = leads.sum(axis=1)
        flows = (choices > 0) & (joined | (choices * threshold < 1))
        for j in np.flatnonzero(flows).tolist():
            first = columns[leads[j]].tolist()
            for path in _connect(layer, a, int(seeds[j]), first, decay, threshold):
                key = min(path.rows, path.rows[::-1])
                if key not in best or path.reliability > best[key].reliability + 1e-12:
                    best[key] = path
    return sorted(best.values(), key=lambda path: (
        -round(path.reliability, 12), len(path.rows), layer.ids_of(path.rows)))


def _connect(layer: Graph, a: int, b: int, first: Sequence[int], decay: float,
             threshold: float) -> list[FlowPath]:
    """Return the paths from a to b that keep their resource; `first` are the nodes they begin with."""
    target = layer.around(b)
    starts = set(first)

    def onward(x: int) -> list[int]:
        """Return the nodes after x on simple paths of at most 3 steps from a to b."""
        beyond = [] if layer.entry(b, x) is None else [b]
        if x in starts:
            beyond += [y for y in np.intersect1d(layer.around(x), target).tolist() if y != a]
        return beyond

    resource: dict[tuple[int, int], float] = defaultdict(float)
    routes: list[tuple[int, ...]] = []
    wave: list[tuple[tuple[int, ...], float, list[int]]] = [((a,), 1.0, list(first))]
    for step in range(3):
        following: list[tuple[tuple[int, ...], float, list[int]]] = []
        for route, held, choices in wave:
            amount = held * (decay if step else 1.0) / len(choices)
            for y in choices:
                resource[route[-1], y] += amount
                if y == b:
                    routes.append((*route, y))
                elif y not in route and amount > threshold and step < 2:
                    following.append(((*route, y), amount, onward(y)))
        wave = following
    paths = []
    for route in routes:
        on_edges = tuple(resource[edge] for edge in pairwise(route))
        paths.append(FlowPath(route, on_edges, sum(on_edges) / len(on_edges)))
    return paths


def _rank_passages(graph: Graph, seeds: Nodes, paths: Sequence[FlowPath]) -> Nodes:
    """Return rows of the passages of the seeds, then of those that support paths only, best first."""
    mentions = graph.layer({"mention"})
    support: dict[int, float] = defaultdict(float)
    for path in paths:
        for u, v in pairwise(path.rows):
            for row in np.intersect1d(mentions.around(u), mentions.around(v)).tolist():
                support[row] += path.reliability / (len(path.rows) - 1)

    def order(rows: Iterable[int]) -> list[int]:
        return sorted(rows, key=lambda row: (-round(support.get(row, 0.0), 12), graph.ids[row]))

    own = [order(mentions.around(seed).tolist()) for seed in seeds.tolist()]
    return np.array(list(dict.fromkeys(chain(*own, order(support)))), np.int64)
