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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.explain.decomposition import Flags, Streams
from qafd.explain.entry import response
from qafd.records import Floats


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
    """Touched nodes and edge numbers of a diffusion, by document."""

    nodes: Mapping[str, tuple[int, ...]]
    edges: Mapping[str, tuple[int, ...]]


def compute_worth(streams: Streams, of: int | None = None) -> tuple[Floats, float]:
    """Return y of every touched node, importance per unit of mass, shape (t,), and J itself.

    Parameters
    ----------
    of : int, optional
        Index of one retrieved node, whose x is J.
    """
    found = _select_counted(streams, of)
    return response(streams.diffusion, found.astype(np.float64)), float(
        streams.diffusion.x[found].sum())


def _select_counted(streams: Streams, of: int | None) -> Flags:
    """Return the nodes whose x sums to J."""
    d = streams.diffusion
    found: Flags = d.x > 0
    if of is not None:
        found &= np.arange(len(d.x)) == of
    elif (found & (d.source == 0)).any():
        found &= d.source == 0
    return found


def sensitivities(streams: Streams, places: Places,
                  of: int | None = None) -> tuple[Sensitivity, ...]:
    """Return all documents, edges and seeds that mass passed, the one worth most first."""
    d = streams.diffusion
    y, found = compute_worth(streams, of)
    total = float(d.source.sum())
    if not found > 0 or not total > 0:
        return ()
    rows = d.rows.tolist()
    all_of_them = []
    for i in np.flatnonzero(d.source > 0).tolist():
        all_of_them.append(Sensitivity("seed", "", (rows[i],), float(d.source[i]) / total,
                                       float(d.source[i] * y[i]) / found))
    for e in np.flatnonzero(d.flow > 0).tolist():
        u, v = int(d.u[e]), int(d.v[e])
        all_of_them.append(Sensitivity("edge", "", (rows[u], rows[v]), float(d.flow[e]) / total,
                                       float(d.flow[e] * y[v]) / found))
    documents = sorted(places.nodes.keys() | places.edges.keys())
    nodes = np.zeros((len(rows), len(documents)), np.bool_)
    edges = np.zeros((len(d.u), len(documents)), np.bool_)
    for k, name in enumerate(documents):
        nodes[list(places.nodes.get(name, ())), k] = True
        edges[list(places.edges.get(name, ())), k] = True
    passed = d.mass @ streams.share_passed(nodes, edges) / total
    value = ((streams.through * y) @ nodes + (d.flow * y[d.v]) @ edges) / found
    for k, name in enumerate(documents):
        passages = tuple(rows[i] for i in places.nodes.get(name, ()))
        all_of_them.append(Sensitivity("document", name, passages, float(passed[k]),
                                       float(value[k])))
    return _most_first(all_of_them)


def add_sensitivities(runs: Sequence[tuple[Streams, tuple[Sensitivity, ...], int | None]]
                      ) -> tuple[Sensitivity, ...]:
    """Add the sensitivities of several diffusions: their masses and their J add up.

    Parameters
    ----------
    runs : sequence of (streams, its `sensitivities`, the `of` they were asked with)
    """
    mass = [float(streams.diffusion.source.sum()) for streams, _, _ in runs]
    found = [float(streams.diffusion.x[_select_counted(streams, of)].sum()) for streams, _, of in runs]
    joint: dict[tuple[str, str, tuple[int, ...]], Sensitivity] = {}
    for (_, terms, _), poured, j in zip(runs, mass, found, strict=True):
        for one in terms:
            key = (one.kind, one.name, () if one.name else one.rows)
            so_far = joint.get(key, Sensitivity(one.kind, one.name, (), 0.0, 0.0))
            joint[key] = Sensitivity(
                one.kind, one.name, tuple(dict.fromkeys(so_far.rows + one.rows)),
                so_far.share + one.share * poured / sum(mass),
                so_far.elasticity + one.elasticity * j / sum(found))
    return _most_first(joint.values())


def _most_first(found: Iterable[Sensitivity]) -> tuple[Sensitivity, ...]:
    order = ("document", "edge", "seed")
    return tuple(sorted(found, key=lambda one: (-one.elasticity, order.index(one.kind), one.rows)))
