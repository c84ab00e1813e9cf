"""The flow along an edge of the picture, the passages that carry it, the factors of its weight,
and the sentences behind it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from qafd.curate.neighbors import EdgeByHand, find_added
from qafd.errors import ParameterError
from qafd.explain.balance import mass_balance
from qafd.explain.diffusion import RunExplanation
from qafd.explain.edge_weight import Gate, gate_of
from qafd.explain.paths import row_name
from qafd.explain.sentences import sentences_in, sentences_joining
from qafd.retrieve.base import Retrieval
from qafd.storage.rows import Evidence
from qafd.view.contraction import drawn_contracted
from qafd.view.drawing import share_of

STRANDS = 3


@dataclass(frozen=True)
class Strand:
    """A part of the flow between two nodes: over their own edge, or through one passage.

    `passage` is that passage as it is shown, "" for their own edge, whose kind is `kind`; `gates`
    are the edges it takes. `added` are the edges that were added by hand, which no sentence
    states.
    """

    passage: str
    flow: float
    gates: tuple[Gate, ...]
    kind: str
    sentences: tuple[Evidence, ...]
    added: tuple[EdgeByHand, ...] = ()


@dataclass(frozen=True)
class Along:
    """An edge as it is drawn: `flow` >= 0 units of mass run from `source` to `target`.

    `share`, in [0, 1], is their part of all that reached the target. The flow runs through so many
    `passages` and, where `direct`, over the nodes' own edge; the flows of `strands` and `rest` add
    up to it, except where flow passes from passage to passage. `question` is the subquery that the
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


def along(whole: Retrieval, runs: Sequence[RunExplanation], u: str, v: str,
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
    visible = {node.id for node in drawn.nodes}
    carried = [(_passages_between(run.retrieval, visible, u, v), run) for run in runs]
    parts, run = max(carried, key=lambda found: sum(flow for _, flow in found[0]))
    reached = mass_balance(whole, v).reached
    passages = sum(passage != "" for passage, _ in parts)
    strands = tuple(_strands(run, u, v, parts[:STRANDS]))
    return Along(
        names[u], names[v], edge.flow, share_of(edge.flow, reached),
        own.label if own else "", passages, passages < len(parts), strands,
        sum(flow for _, flow in parts[STRANDS:]), run.retrieval.query if len(runs) > 1 else "")


def _passages_between(retrieval: Retrieval, drawn: set[str], u: str,
                      v: str) -> list[tuple[str, float]]:
    """Return the passages that carry flow from u to v and their parts of it, largest first; ""
    for the edge of the two."""
    flow = {(e.source, e.target): e.flow for e in retrieval.edges}
    inflow: defaultdict[str, float] = defaultdict(float)
    went: defaultdict[str, float] = defaultdict(float)
    for (source, target), amount in flow.items():
        went[source] += amount
        inflow[target] += amount
    parts = []
    for node in retrieval.nodes:
        enters, leaves = flow.get((u, node.id), 0.0), flow.get((node.id, v), 0.0)
        if node.id not in drawn and enters > 0 and leaves > 0:
            passing = max(inflow[node.id] + node.source, went[node.id])
            parts.append((node.id, enters * leaves / passing))
    if (u, v) in flow or (v, u) in flow:
        parts.append(("", flow.get((u, v), 0.0)))
    return sorted(parts, key=lambda part: (-part[1], part[0]))


def _strands(run: RunExplanation, u: str, v: str,
             parts: Sequence[tuple[str, float]]) -> list[Strand]:
    graph, row = run.graph, run.graph.row
    names = [id for id in (u, v) if graph.kinds[row[id]] != "passage"]
    found = run.evidence(names) if names else ()
    passages = [passage for passage, _ in parts if passage]
    with run.open_store() as store:
        ends = [id for id in (u, v) if id not in names]
        chunks = {id: node.key for id, node in store.graph.nodes([*passages, *ends]).items()}
        by_hand = find_added(store, u).get(v, ())
    strands = []
    for passage, flow in parts:
        if passage:
            gates = (gate_of(run.problem, row[u], row[passage]),
                     gate_of(run.problem, row[passage], row[v]))
            strands.append(Strand(row_name(graph, row[passage]), flow, gates, "mention",
                                  sentences_in(chunks[passage], found, u, v)))
        else:
            kinds = {frozenset((e.source, e.target)): e.kind for e in run.retrieval.edges}
            strands.append(Strand("", flow, (gate_of(run.problem, row[u], row[v]),),
                                  kinds[frozenset((u, v))],
                                  sentences_joining(found, chunks, u, v), by_hand))
    return strands
