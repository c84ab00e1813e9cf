"""A retrieval without its passages: the flow they carry, drawn between entities."""
# scipy carries no annotations.
# mypy: allow-untyped-calls

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array

from qafd.records import Floats
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode


def drawn_contracted(retrieval: Retrieval) -> Retrieval:
    """Return the retrieval as it is drawn without passages.

    Passages that are seeds stay if no name is a seed, or if the mass of a name comes from them
    alone, since it would have no visible source.
    """
    seeds = [node for node in retrieval.nodes if node.seed and node.source > 0]
    passages = {node.id for node in seeds if node.kind == "passage"}
    if len(passages) == len(seeds):
        return contract_passages(retrieval, passages)
    without = contract_passages(retrieval)
    fed = {edge.target for edge in without.edges if edge.flow > 0}
    alone = {node.id for node in without.nodes if node.mass > 0 and not node.source} - fed
    spared = passages & {e.source for e in retrieval.edges if e.flow > 0 and e.target in alone}
    return contract_passages(retrieval, spared) if spared else without


def contract_passages(retrieval: Retrieval, spared: Collection[str] = ()) -> Retrieval:
    """Replace every passage of a retrieval, except those `spared`, by the flow it carries.

    A passage p takes in f(u, p) from its neighbors and s from its own source, gives f(p, v),
    and holds the rest. All that comes in is taken to leave in the same proportions: with
    t = s + sum f(u, p) it becomes flows f(u, p) f(p, v) / t between its neighbors. Flow from
    passage to passage is followed to the next entity. If more leaves a passage than enters (some
    methods do not conserve flow), the difference counts as source.

    Flows between the same two entities, direct and through any number of passages, are
    added. Of opposite ones the difference is drawn, and nothing of what returns to its own
    entity; neither happens when flow runs downhill. The weight of an edge through passages is
    w(u, p) w(p, v) / sum w(p, .), the elimination of p from the Laplacian of the drawn edges, added
    to that of a direct edge.
    """
    entities: list[RetrievedNode] = []
    passages: list[RetrievedNode] = []
    for node in retrieval.nodes:
        (passages if node.kind == "passage" and node.id not in spared else entities).append(node)
    row = {node.id: i for i, node in enumerate([*entities, *passages])}
    n, m = len(row), len(entities)
    ends = np.array([(row[e.source], row[e.target]) for e in retrieval.edges],
                    dtype=np.int64).reshape(-1, 2)
    amounts = np.array([(e.flow, e.weight) for e in retrieval.edges], float).reshape(-1, 2).T
    flow, weight = (csr_array((amount, ends.T), shape=(n, n)) for amount in amounts)
    weight = csr_array(weight + weight.T)

    arriving, leaving = flow[:, m:].sum(axis=0), flow[m:].sum(axis=1)
    total = np.maximum(arriving + [p.source for p in passages], leaving)
    onward = _onward(flow[m:, m:], flow[m:, :m], total)
    summed = csr_array(flow[:m, :m] + flow[:m, m:] @ onward)
    drawn = csr_array(summed - summed.minimum(summed.T))
    strength = weight[m:].sum(axis=1)
    joined = csr_array(weight[:m, :m] + weight[:m, m:] @ _onward(
        weight[m:, m:], weight[m:, :m], strength))
    direct = _direct(retrieval.edges, entities)
    found = {(int(u), int(v)) for u, v in zip(*drawn.nonzero(), strict=True)}
    found |= {(u, v) for u, v in direct if (v, u) not in found}
    lines = sorted(found, key=lambda at: (entities[at[0]].id, entities[at[1]].id))
    carriers = _carriers(flow[:m, m:], onward, passages, lines)
    edges = []
    for at, via, amount, strong in zip(lines, carriers, _at(drawn, lines), _at(joined, lines), strict=True):
        source, target = (entities[place].id for place in at)
        edge = direct.get(at) or direct.get(at[::-1]) or RetrievedEdge(source, target, "contracted", 0.0, 0.0)
        edges.append(RetrievedEdge(source, target, edge.kind, amount, strong, edge.label or via))
    return replace(retrieval, nodes=tuple(entities), edges=tuple(edges))


def _carriers(arriving: csr_array, onward: csr_array, passages: Sequence[RetrievedNode],
              lines: Sequence[tuple[int, int]]) -> list[str]:
    """Name the passages that carry the flow of each line; "" without any."""
    enters, leaves = (csr_array(matrix > 0, dtype=np.float64) for matrix in (arriving, onward))
    counts = _at(csr_array(enters @ leaves), lines)
    places = diags_array(np.arange(len(passages), dtype=np.float64))
    words = []
    for many, place in zip(counts, _at(csr_array(enters @ places @ leaves), lines), strict=True):
        if round(many) == 1:
            words.append(f"via {passages[round(place)].name}")
        else:
            words.append(f"via {round(many)} passages" if round(many) else "")
    return words


def _direct(edges: Sequence[RetrievedEdge], entities: Sequence[RetrievedNode],
            ) -> dict[tuple[int, int], RetrievedEdge]:
    """Return the edge that joins two entities, by their rows; of several that with the most flow."""
    row = {node.id: i for i, node in enumerate(entities)}
    found: dict[tuple[int, int], RetrievedEdge] = {}
    for edge in sorted(edges, key=lambda e: (e.flow, e.weight)):
        if edge.source in row and edge.target in row:
            u, v = row[edge.source], row[edge.target]
            found.pop((v, u), None)
            found[u, v] = edge
    return found


def _at(matrix: csr_array, places: Sequence[tuple[int, int]]) -> list[float]:
    """Return the values of a matrix at some places, looked up all at once."""
    if not places:
        return []
    u, v = np.array(places, np.int64).reshape(-1, 2).T
    values: list[float] = np.asarray(matrix[u, v]).tolist()
    return values


def _onward(among: csr_array, out: csr_array, total: Floats) -> csr_array:
    """Return the fraction of the flow through each passage that ends in each column of `out`.

    `among` (p, p) is the flow from passage to passage, `out` (p, k) the flow out of them,
    `total` (p,) their row sums together; rows with total 0 stay empty.
    """
    share = diags_array(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0))
    left = csr_array(share @ out)
    if among.nnz == 0:
        return left
    from scipy.sparse.linalg import splu  # loads much that few need

    # Flow that circles among passages forever would make the matrix singular.
    chain = csc_array(eye_array(len(total)) - (1 - 1e-12) * (share @ among))
    return csr_array(splu(chain).solve(left.toarray()))
