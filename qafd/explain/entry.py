"""The exact mass at which a node enters, and the documents that the diffusion of a question reads."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.elimination import eliminate
from qafd.flow.homotopy import Path, entry_alphas
from qafd.flow.solver import Diffusion
from qafd.flow.sources import FILL
from qafd.graph import Graph, sum_at
from qafd.records import Floats
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace
from qafd.view.drawing import share_of

HIGHEST = 1e4
"""Mass beyond which no entry is looked for."""
WALKED = 1000
"""Retrieved nodes up to which all entries are computed; the walk takes their number cubed."""

SHARP = 1e-12  # tolerance of the solve that the entry is read from


@dataclass(frozen=True)
class Entry:
    """The mass at which one node enters.

    `mass` is None when it does not enter up to `searched`; `full` is True if by then all
    that it is connected to was full.
    """

    mass: float | None
    searched: float
    full: bool = False


def entries(problem: Problem, up_to: float | None = None) -> Path:
    """Find every node that enters up to a mass, by default the method's, and the next one.

    `Path.alphas` are masses in the units of the method's control. Section 7 of docs/method.md.

    Raises
    ------
    ParameterError
        When more than `WALKED` nodes are retrieved, or none could be.
    """
    mass = problem.method.mass if up_to is None else up_to
    support = len(problem.at(mass).support)
    if support > WALKED:
        raise ParameterError(f"{support:,} nodes are retrieved, and entries are computed for "
                             f"up to {WALKED:,}; lower the mass")
    return entry_alphas(problem.layer, problem.gates, problem.seeds.rows, problem.per_unit(),
                        problem.method.capacity, mass)


def entry_of(problem: Problem, row: int, diffusion: Diffusion, most: float = HIGHEST,
             nodes: int = 4000) -> Entry:
    """Find the mass at which a node that is not retrieved would be.

    Its x is convex and piecewise linear in the mass, and 0 up to the entry. So from a mass at which it
    is retrieved, Newton's steps only fall, and the one on the last piece is exact.

    Parameters
    ----------
    diffusion : Diffusion
        The solution at the method's mass, in which x of the node is 0.
    most : float
        Where the search ends.
    nodes : int
        It also ends when this many are retrieved.
    """
    layer, rows, unit = problem.layer, problem.seeds.rows, problem.per_unit()
    component = layer.component[row]
    rate = float(unit[layer.component[rows] == component].sum())
    if not rate > 0 or not layer.degree_of(np.array([row]))[0]:
        return Entry(None, np.inf)
    full_at = FILL * float(layer.component_capacity(problem.method.capacity)[component]) / rate
    mass, found = problem.method.mass, diffusion
    while not found.retrieves(row):
        if mass >= min(most, full_at) or len(found.support) > nodes:
            return Entry(None, mass, mass >= full_at)
        mass = min(max(2 * mass, mass + 1), most, full_at)
        found = problem.at(mass)
    while True:
        found = problem.at(mass, SHARP)
        place = found.find(row)
        if place is None:
            return Entry(mass, mass)
        growth = float(response(found, found.source)[place])  # mass times the slope of x
        step = mass * share_of(float(found.x[place]), growth)
        if step <= SHARP * mass:
            return Entry(mass, mass)
        mass -= step


def response(diffusion: Diffusion, load: Floats) -> Floats:
    """Compute L_SS^-1 load on the support, 0 elsewhere, shape (t,): the response of x to source.

    `load` is read on the support only. L_SS is symmetric, so this is its own adjoint.
    """
    inside = np.flatnonzero(diffusion.x > 0)
    place = np.full(len(diffusion.rows), -1)
    place[inside] = np.arange(len(inside))
    u, v, weight = place[diffusion.u], place[diffusion.v], diffusion.weight
    out = (u < 0) | (v < 0)
    leak = sum_at(np.maximum(u, v)[out], weight[out], len(inside))
    answer = np.zeros(len(diffusion.rows))
    answer[inside] = eliminate(len(inside), u[~out], v[~out], weight[~out], leak, load[inside].copy())
    return answer


Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Places:
    """The documents that a diffusion passed.

    `stated` has the document of each relation around touched nodes that no other document states
    and no synonym doubles, by the graph rows of its ends, the lower one first.
    """

    documents: frozenset[str]
    stated: Mapping[Pair, str]

    def stated_in(self, document: str) -> list[Pair]:
        """Return the ends of the relations that this document alone states."""
        return [ends for ends, name in self.stated.items() if name == document]


def find_places(problem: Problem, diffusion: Diffusion, open_store: Callable[[], Workspace]) -> Places:
    """Find the documents behind the nodes and edges that a diffusion touched."""
    documents = documents_of(problem.corpus.graph, open_store)
    stated = _find_stated(problem, diffusion, open_store) if problem.method.layer == "entities" else {}
    passed = {documents[row] for row in diffusion.rows.tolist() if row in documents}
    ends = np.sort(diffusion.rows[np.stack([diffusion.u, diffusion.v])], axis=0)
    passed |= {stated[u, v] for u, v in ends.T.tolist() if (u, v) in stated}
    return Places(frozenset(passed), stated)


def _find_stated(problem: Problem, diffusion: Diffusion, open_store: Callable[[], Workspace]
                 ) -> dict[Pair, str]:
    """Find the document of each relation around touched nodes that it alone states."""
    graph, layer = problem.corpus.graph, problem.layer
    with open_store() as store:
        relations = store.graph.edges(graph.ids_of(diffusion.rows.tolist()), "relation")
        evidence = chain.from_iterable(edge.evidence for edge in relations)
        chunks = store.passages.get({chunk for chunk, _ in evidence})
    stated: dict[Pair, set[str]] = defaultdict(set)
    for edge in relations:
        low, high = sorted((graph.row[edge.source], graph.row[edge.target]))
        stated[low, high] |= {chunks[chunk].document for chunk, _ in edge.evidence if chunk in chunks}
        if edge.count > len(edge.evidence):
            stated[low, high].add("")  # there is more than is listed
    found = {}
    for (low, high), names in stated.items():
        at = layer.entry(low, high)
        kinds = 0 if at is None else int(layer.edge_kinds[at]).bit_count()
        if len(names) == kinds == 1 and "" not in names:
            found[low, high] = names.pop()
    return found


_DOCUMENTS: WeakKeyDictionary[Graph, Mapping[int, str]] = WeakKeyDictionary()


def documents_of(graph: Graph, open_store: Callable[[], Workspace]) -> Mapping[int, str]:
    """Return the document of each passage by its row, read once for a graph."""
    if graph not in _DOCUMENTS:
        with open_store() as store:
            chunks = store.passages.of_nodes(graph.ids_of(np.flatnonzero(graph.kinds == "passage").tolist()))
        _DOCUMENTS[graph] = {graph.row[node]: chunk.document for node, chunk in chunks.items()}
    return _DOCUMENTS[graph]
