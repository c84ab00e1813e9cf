"""Documents, edges and seeds that a retrieval rests on, by exact derivatives of the optimum.

Let J be the importance found, the sum of x over retrieved nodes that are not seeds (or x of one
node). On the support, L_SS x_S = (Delta - T)_S, so with the adjoint L_SS y_S = c_S, c the gradient
of J, a unit of source at v is worth dJ/dDelta_v = y_v. If a small share e of what passes somewhere
got lost on arrival, J would fall by

    e Delta_s y_s     at a seed,
    e f(u, v) y_v     on an edge,
    e t_p y_p         at a passage, t_p being all that reaches it; a document is all its passages
                      and the relations that no other document states.

Divided by J this is the elasticity: by how many percent J falls for one percent lost. Weights
themselves would not do: mass is conserved, so narrowing the only way to a place changes nothing
there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.decomposition import Streams
from qafd.explain.entry import response
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.records import Floats
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace

Pair = tuple[int, int]


@dataclass(frozen=True)
class Sensitivity:
    """The share of a result that depends on a document, edge or seed.

    Parameters
    ----------
    kind : str
        "document", "edge" or "seed".
    name : str
        The document's name; empty for the others.
    rows : tuple of int
        Graph rows: the passages of a document, both ends of an edge, or the seed.
    share : float
        Part of all mass that passed it, between 0 and 1.
    elasticity : float
        Percent of the importance found that one percent of that mass is worth.
    """

    kind: str
    name: str
    rows: tuple[int, ...]
    share: float
    elasticity: float


@dataclass(frozen=True, eq=False)
class Places:
    """Touched nodes and edge numbers of a diffusion, by document.

    `stated` has the document of each relation that no other document states and no synonym doubles,
    by the graph rows of its ends, the lower one first.
    """

    nodes: Mapping[str, Sequence[int]]
    edges: Mapping[str, Sequence[int]]
    stated: Mapping[Pair, str]

    def stated_in(self, document: str) -> list[Pair]:
        """Return the ends of the relations that this document alone states."""
        return [ends for ends, name in self.stated.items() if name == document]


def find_places(problem: Problem, diffusion: Diffusion, open_store: Callable[[], Workspace]) -> Places:
    """Find the documents behind the nodes and edges that a diffusion touched."""
    documents = documents_of(problem.corpus.graph, open_store)
    stated = _find_stated(problem, diffusion, open_store) if problem.method.layer == "entities" else {}
    nodes: dict[str, list[int]] = defaultdict(list)
    edges: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(diffusion.rows.tolist()):
        if row in documents:
            nodes[documents[row]].append(i)
    ends = np.sort(diffusion.rows[np.stack([diffusion.u, diffusion.v])], axis=0)
    for e, (u, v) in enumerate(ends.T.tolist()):
        if (u, v) in stated:
            edges[stated[u, v]].append(e)
    return Places(nodes, edges, stated)


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


def nearest_error(template: str, name: str, near: Sequence[str]) -> ParameterError:
    """Return the error for an unknown name, with similar ones."""
    rest = f"; did you mean {', '.join(map(repr, near))}?" if near else ", nor one with a name like it"
    return ParameterError(template.format(name=name[:80]) + rest)


def compute_worth(streams: Streams, of: int | None = None) -> tuple[Floats, float]:
    """Return y of every touched node, importance per unit of mass, shape (t,), and J itself.

    Parameters
    ----------
    of : int, optional
        Index of one retrieved node, whose x is J.
    """
    d = streams.diffusion
    found = d.x > 0
    if of is not None:
        found &= np.arange(len(d.x)) == of
    elif (found & (d.source == 0)).any():
        found &= d.source == 0
    return response(d, found.astype(np.float64)), float(d.x[found].sum())


def sensitivities(runs: Sequence[tuple[Streams, Places]], row: int | None = None) -> tuple[Sensitivity, ...]:
    """Return all documents, edges and seeds that mass passed, the one worth most first.

    The masses and the J of several diffusions add up. With `row` J is the x of that node.
    """
    poured = found = 0.0
    sums: dict[tuple[str, str, tuple[int, ...]], Sensitivity] = {}
    for streams, places in runs:
        d = streams.diffusion
        of = None if row is None else d.find(row)
        if row is not None and of is None:
            continue
        y, j = compute_worth(streams, of)
        poured, found = poured + float(d.source.sum()), found + j
        for term in _measure_terms(streams, places, y) if j > 0 else ():
            key = term.kind, term.name, () if term.name else term.rows
            known = sums.get(key, replace(term, share=0.0, elasticity=0.0))
            sums[key] = Sensitivity(term.kind, term.name, tuple(dict.fromkeys(known.rows + term.rows)),
                                    known.share + term.share, known.elasticity + term.elasticity)
    listed = [replace(one, share=one.share / poured, elasticity=one.elasticity / found)
              for one in sums.values()]
    return tuple(sorted(listed, key=lambda one: (-one.elasticity, one.kind, one.rows)))


def _measure_terms(streams: Streams, places: Places, y: Floats) -> Iterator[Sensitivity]:
    """Measure what passed each document, edge and seed in units of mass, and what it is worth in J."""
    d, rows = streams.diffusion, streams.diffusion.rows.tolist()
    for i in np.flatnonzero(d.source > 0).tolist():
        yield Sensitivity("seed", "", (rows[i],), float(d.source[i]), float(d.source[i] * y[i]))
    for e in np.flatnonzero(d.flow > 0).tolist():
        u, v = int(d.u[e]), int(d.v[e])
        yield Sensitivity("edge", "", (rows[u], rows[v]), float(d.flow[e]), float(d.flow[e] * y[v]))
    documents = sorted(places.nodes.keys() | places.edges.keys())
    nodes = np.zeros((len(rows), len(documents)), np.bool_)
    edges = np.zeros((len(d.u), len(documents)), np.bool_)
    for k, name in enumerate(documents):
        nodes[places.nodes.get(name, []), k] = True
        edges[places.edges.get(name, []), k] = True
    passed = d.mass @ streams.share_passed(nodes, edges)
    value = (streams.through * y) @ nodes + (d.flow * y[d.v]) @ edges
    for k, name in enumerate(documents):
        passages = tuple(rows[i] for i in places.nodes.get(name, ()))
        yield Sensitivity("document", name, passages, float(passed[k]), float(value[k]))
