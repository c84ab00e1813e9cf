"""The balance of a node; an edge: its weight, Eq. (1), the flow along it, the sentences behind it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qafd.curate.neighbors import EdgeByHand, find_added
from qafd.errors import ParameterError
from qafd.explain.paths import row_name
from qafd.graph import Graph, kind_bit
from qafd.retrieve.base import Retrieval, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.storage.rows import Evidence
from qafd.view.contraction import drawn_contracted
from qafd.view.drawing import share_of
from qafd.view.panel import shown_name

if TYPE_CHECKING:
    from qafd.explain import RunExplanation

STRANDS = 3
SENTENCES = 2  # of an edge

Flows = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Balance:
    """Injected + sum of inflows - sum of outflows = held.

    `inflows` and `outflows` are (node id, mass) pairs, largest first; `names` has the names of
    these nodes as they are shown; `error` is the difference of both sides, in units of mass
    (rounding only: below 1e-9 of the mass moved).
    """

    node: RetrievedNode
    injected: float
    inflows: Flows
    outflows: Flows
    names: Mapping[str, str]

    @property
    def came(self) -> float:
        """Sum of the inflows."""
        return sum(flow for _, flow in self.inflows)

    @property
    def went(self) -> float:
        """Sum of the outflows."""
        return sum(flow for _, flow in self.outflows)

    @property
    def reached(self) -> float:
        """All that reached the node: injected and inflows."""
        return self.injected + self.came

    @property
    def error(self) -> float:
        """Injected plus inflows minus outflows minus the mass held."""
        return self.injected + (self.came - self.went) - self.node.mass


def mass_balance(retrieval: Retrieval, node_id: str) -> Balance:
    """Return the mass balance of one node, from the flows of a retrieval (m = Delta - L x).

    Raises
    ------
    ParameterError
        When the retrieval never touched the node.
    """
    nodes = {node.id: node for node in retrieval.nodes}
    if node_id not in nodes:
        raise ParameterError(f"the node {node_id!r} was not touched by this retrieval; raise "
                             "the source mass or choose one of its nodes")
    inflows = [(e.source, e.flow) for e in retrieval.edges if e.target == node_id and e.flow > 0]
    outflows = [(e.target, e.flow) for e in retrieval.edges if e.source == node_id and e.flow > 0]
    names = {near: shown_name(nodes[near]) for near, _ in inflows + outflows}
    node = nodes[node_id]
    return Balance(node, node.source, _largest_first(inflows), _largest_first(outflows), names)


def _largest_first(flows: Iterable[tuple[str, float]]) -> Flows:
    return tuple(sorted(flows, key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True)
class Gate:
    """An edge and the factors of its weight: H(u, v), and the alignment of both ends."""

    source: str
    target: str
    source_name: str
    target_name: str
    weight: float
    structure: float
    alignment_source: float
    alignment_target: float


def gate_of(problem: Problem, u: int, v: int) -> Gate:
    """Return the edge between two rows with the factors of its weight."""
    layer = problem.layer
    structure = float(layer.similarity[edge_place(layer, u, v)])
    s_u, s_v = problem.gates.align(layer, np.array([u, v])).tolist()
    weight = problem.gates.weights.of_edge(structure, s_u, s_v)
    return Gate(layer.ids[u], layer.ids[v], row_name(layer, u), row_name(layer, v), weight, structure,
                s_u, s_v)


def edge_place(graph: Graph, u: int, v: int) -> int:
    """Return the index of the edge from u to v in the arrays of the graph."""
    place = graph.entry(u, v)
    if place is None:
        raise ParameterError(f"there is no edge between {graph.names[u]!r} and "
                             f"{graph.names[v]!r} that mass could run over")
    return place


@dataclass(frozen=True)
class Strand:
    """A part of the flow between two nodes: over their own edge, or through one passage.

    `passage` is that passage as it is shown, "" for their own edge, whose kind is `kind`; `gates`
    are the edges it takes, from the first node to the last. A name may be in a title alone, and names
    that are alike need no sentence. `added` are the edges that were added by hand, which no sentence
    states.
    """

    passage: str
    flow: float
    gates: tuple[Gate, ...]
    kind: str
    sentences: tuple[Evidence, ...]
    added: tuple[EdgeByHand, ...] = ()

    @property
    def source(self) -> str:
        """Name of the first node."""
        return self.gates[0].source_name


@dataclass(frozen=True)
class Along:
    """An edge as it is drawn: `flow` >= 0 units of mass run from `source` to `target`.

    `share`, in [0, 1], is their part of all that reached the target. The flow runs through so many
    `passages` and, where `direct`, over the nodes' own edge; the flows of `strands` and `rest` add
    up to it, except where flow passes from passage to passage. `question` is the one that the
    strands are of, "" for the whole question.
    """

    source: str
    target: str
    flow: float
    share: float
    label: str
    passages: int
    direct: bool
    strands: tuple[Strand, ...]
    rest: float = 0.0
    question: str = ""


def along(whole: Retrieval, runs: "Sequence[RunExplanation]", u: str, v: str,
          contracted: bool) -> Along:
    """Return the flow along an edge, see `Explanation.along`; the nodes are given by id.

    Where there are several runs the flow is that of all, and the strands are of the one with most
    of it.
    """
    graph = runs[0].graph
    drawn = drawn_contracted(whole) if contracted else whole
    names = {id: row_name(graph, graph.row[id]) for id in (u, v)}
    edge = next((e for e in drawn.edges if {e.source, e.target} == {u, v}), None)
    if edge is None:
        raise ParameterError(f"no edge joins {names[u]} and {names[v]} in what was retrieved; "
                             "choose two nodes that a line joins")
    u, v = edge.source, edge.target
    own = next((e for e in whole.edges if {e.source, e.target} == {u, v}), None)
    visible = {graph.row[node.id] for node in drawn.nodes}
    carried = [(run.streams.carriers(graph.row[u], graph.row[v], visible), run) for run in runs]
    parts, run = max(carried, key=lambda found: sum(flow for _, flow in found[0]))
    passages = sum(passage is not None for passage, _ in parts)
    strands = tuple(make_strand(run, graph.row[u], graph.row[v], *part) for part in parts[:STRANDS])
    return Along(
        names[u], names[v], edge.flow, share_of(edge.flow, mass_balance(whole, v).reached),
        own.label if own else "", passages, passages < len(parts), strands,
        sum(flow for _, flow in parts[STRANDS:]), run.retrieval.query if len(runs) > 1 else "")


def make_strand(run: "RunExplanation", u: int, v: int, passage: int | None, flow: float) -> Strand:
    """Return the flow from one row to another, through a passage or over their own edge."""
    graph, problem = run.graph, run.problem
    ids = graph.ids_of((u, v))
    names = [row for row in (u, v) if graph.kinds[row] != "passage"]
    found = run.evidence(graph.ids_of(names)) if names else ()
    titled = [row for row in (u, v, passage) if row is not None and graph.kinds[row] == "passage"]
    with run.open_store() as store:
        chunks = {id: node.key for id, node in store.graph.nodes(graph.ids_of(titled)).items()}
        by_hand: tuple[EdgeByHand, ...] = ()
        if passage is None and graph.edge_kinds[edge_place(graph, u, v)] & kind_bit("by_hand"):
            by_hand = find_added(store, ids[0]).get(ids[1], ())
    if passage is not None:
        gates = gate_of(problem, u, passage), gate_of(problem, passage, v)
        return Strand(row_name(graph, passage), flow, gates, "mention",
                      sentences_in(chunks[graph.ids[passage]], found, *ids))
    kind = next(e.kind for e in run.retrieval.edges if {e.source, e.target} == set(ids))
    return Strand("", flow, (gate_of(problem, u, v),), kind, sentences_joining(found, chunks, *ids), by_hand)


def sentences_joining(found: Sequence[Evidence], chunks: Mapping[str, str], u: str,
                      v: str) -> tuple[Evidence, ...]:
    """Return sentences of a passage that mention its name, or both names; all marked."""
    for passage, name in ((u, v), (v, u)):
        if passage in chunks:
            present = [e for e in found if e.node == name and e.chunk == chunks[passage]]
            return tuple(present[:SENTENCES])
    of_u = {(e.chunk, e.start): e.mentions for e in found if e.node == u}
    both = []
    for e in found:
        if e.node == v and (e.chunk, e.start) in of_u:
            mentions = {*e.mentions, *of_u[e.chunk, e.start]}
            both.append(replace(e, mentions=tuple(sorted(mentions))))
    return tuple(both[:SENTENCES])


def sentences_in(chunk: str, found: Sequence[Evidence], u: str, v: str) -> tuple[Evidence, ...]:
    """Return sentences of a passage with both names, or the first with each."""
    present = [e for e in found if e.chunk == chunk]
    both = sentences_joining(present, {}, u, v)
    if both:
        return both
    first = {e.node: e for e in reversed(present)}
    return tuple(first[name] for name in (u, v) if name in first)
