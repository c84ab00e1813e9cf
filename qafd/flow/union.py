"""Several diffusions drawn as one, for example one per subquery (Eq. 6 and 7).

The union retrieves each node that any part retrieves. Importance, mass and flow add up, so mass is still
conserved; a node may then hold more than its capacity, once for each part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from qafd.errors import ParameterError
from qafd.flow.solver import Diffusion, support_of
from qafd.graph import sum_at
from qafd.records import Floats, Nodes


@dataclass(frozen=True, eq=False)
class Union:
    """The sum of several diffusions on one graph.

    Parameters
    ----------
    rows : ndarray of int, shape (t,)
        Graph rows that any part touched, ascending.
    x, mass, source : ndarray, shape (t,)
        Sums over the parts.
    brought_by : tuple of tuple of int
        For each row, the parts whose support it is in; empty for nodes that are only wet.
    u, v : ndarray of int, shape (e,)
        Ends of every edge with flow, as indices into `rows`; net flow runs from u to v.
    flow : ndarray, shape (e,)
    parts : tuple of Diffusion
    """

    rows: Nodes = field(repr=False)
    x: Floats = field(repr=False)
    mass: Floats = field(repr=False)
    source: Floats = field(repr=False)
    brought_by: tuple[tuple[int, ...], ...] = field(repr=False)
    u: Nodes = field(repr=False)
    v: Nodes = field(repr=False)
    flow: Floats = field(repr=False)
    parts: tuple[Diffusion, ...]

    @property
    def support(self) -> Nodes:
        """Graph rows that some part retrieves, most important first; equal x by row."""
        return support_of(self.rows, self.x)


def union(parts: Sequence[Diffusion]) -> Union:
    """Unite diffusions on one graph, for example one for each subquery."""
    if not parts:
        raise ParameterError("a union needs at least one diffusion")
    rows = np.unique(np.concatenate([part.rows for part in parts]))
    places = [np.searchsorted(rows, part.rows) for part in parts]
    at = np.concatenate(places)
    x = sum_at(at, np.concatenate([part.x for part in parts]), len(rows))
    mass = sum_at(at, np.concatenate([part.mass for part in parts]), len(rows))
    source = sum_at(at, np.concatenate([part.source for part in parts]), len(rows))
    brought: list[list[int]] = [[] for _ in rows]
    for k, (part, place) in enumerate(zip(parts, places, strict=True)):
        for i in place[part.x > 0].tolist():
            brought[i].append(k)
    pairs = []
    for part, place in zip(parts, places, strict=True):
        pairs.append(place[np.stack([part.u, part.v])])
    ends = np.concatenate(pairs, axis=1)
    signed = np.concatenate([part.flow for part in parts]) * np.where(ends[0] < ends[1], 1, -1)
    key, edge = np.unique(ends.min(axis=0) * len(rows) + ends.max(axis=0), return_inverse=True)
    net = sum_at(edge, signed, len(key))
    low, high = key // max(len(rows), 1), key % max(len(rows), 1)
    return Union(rows, x, mass, source, tuple(tuple(b) for b in brought),
                 np.where(net < 0, high, low), np.where(net < 0, low, high), np.abs(net),
                 tuple(parts))
