"""What runs along an edge of the picture: how much, through which passages, why it is that wide,
and the sentences behind it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qafd.curate.neighbors import added
from qafd.errors import ParameterError
from qafd.explain.balance import mass_balance
from qafd.explain.paths import shown
from qafd.explain.whynot import Gate, gate_of
from qafd.retrieve.base import Retrieval
from qafd.storage.rows import Evidence
from qafd.view.contraction import drawn_contracted

if TYPE_CHECKING:
    from qafd.explain.run import RunExplanation

STRANDS, SENTENCES = 3, 2


@dataclass(frozen=True)
class Strand:
    """A part of the flow between two nodes: over their own edge, or through one passage.

    `passage` is that passage as it is shown, "" for their own edge, whose kind is `kind`; `gates`
    are the edges it takes. `added` stands in the place of sentences where the edge was added by
    hand.
    """

    passage: str
    flow: float
    gates: tuple[Gate, ...]
    kind: str
    sentences: tuple[Evidence, ...]
    added: str = ""


@dataclass(frozen=True)
class Along:
    """An edge as it is drawn: `flow` >= 0 units of mass run from `source` to `target`.

    `share`, in [0, 1], is their part of all that reached the target; `sentence` says both. The
    flows of `strands` and `rest` add up to it, except where flow passes from passage to passage.
    `question` is the subquery that the strands are of, "" for the whole question.
    """

    source: str
    target: str
    flow: float
    share: float
    label: str
    sentence: str
    strands: tuple[Strand, ...]
    rest: float = 0.0
    question: str = ""


def along(whole: Retrieval, runs: "Sequence[RunExplanation]", u: str, v: str,
          contracted: bool) -> Along:
    """See `Explanation.along`; the nodes are given by id.

    Where there are several runs the flow is that of all, and the strands are of the one with most
    of it.
    """
    graph = runs[0].graph
    drawn = drawn_contracted(whole) if contracted else whole
    edge = next((e for e in drawn.edges if {e.source, e.target} == {u, v}), None)
    names = {i: shown(graph, graph.row[i]) for i in (u, v)}
    if edge is None:
        raise ParameterError(f"no edge joins {names[u]} and {names[v]} in what was retrieved; "
                             "choose two nodes that a line joins")
    u, v = edge.source, edge.target
    own = next((e for e in whole.edges if {e.source, e.target} == {u, v}), None)
    visible = {n.id for n in drawn.nodes}
    parts, run = max(((_parts(run.retrieval, visible, u, v), run) for run in runs),
                     key=lambda found: sum(flow for _, flow in found[0]))
    balance = mass_balance(whole, v)
    reached = balance.injected + balance.came
    return Along(
        names[u], names[v], edge.flow, edge.flow / reached if reached > 0 else 0.0,
        own.label if own else "",
        _sentence(names[u], names[v], edge.flow, reached, [passage for passage, _ in parts]),
        _strands(run, u, v, parts[:STRANDS]), sum(flow for _, flow in parts[STRANDS:]),
        run.retrieval.query if len(runs) > 1 else "")


def _parts(retrieval: Retrieval, drawn: set[str], u: str, v: str) -> list[tuple[str, float]]:
    """The passages that carry flow from u to v and their parts of it, largest first; "" for the
    edge of the two."""
    flow = {(e.source, e.target): e.flow for e in retrieval.edges}
    came: defaultdict[str, float] = defaultdict(float)
    went: defaultdict[str, float] = defaultdict(float)
    for (source, target), amount in flow.items():
        went[source] += amount
        came[target] += amount
    parts = [(n.id, flow[u, n.id] * flow[n.id, v] / max(came[n.id] + n.source, went[n.id]))
             for n in retrieval.nodes if n.id not in drawn
             and flow.get((u, n.id), 0.0) > 0 and flow.get((n.id, v), 0.0) > 0]
    if (u, v) in flow or (v, u) in flow:
        parts.append(("", flow.get((u, v), 0.0)))
    return sorted(parts, key=lambda part: (-part[1], part[0]))


def _sentence(u: str, v: str, flow: float, reached: float, passages: Sequence[str]) -> str:
    if flow <= 0:
        return (f"No mass runs between {u} and {v}: neither holds more than it can, so neither "
                "passes any on.")
    many = sum(map(bool, passages))
    through = "one passage that names" if many == 1 else f"{many} passages that name"
    way = " directly and" * (0 < many < len(passages)) + f" through {through} both" * (many > 0)
    return (f"{flow:.3g} units of mass run from {u} to {v}{way}, {flow / reached:.0%} of all that "
            "came there.")


def _strands(run: "RunExplanation", u: str, v: str, parts: Sequence[tuple[str, float]]
             ) -> tuple[Strand, ...]:
    graph = run.graph
    kinds = {frozenset((e.source, e.target)): e.kind for e in run.retrieval.edges}
    names = [i for i in (u, v) if graph.kinds[graph.row[i]] != "passage"]
    found = run.evidence(names) if names else ()
    passages = [passage for passage, _ in parts if passage]
    with run.open_store() as store:
        ends = [i for i in (u, v) if i not in names]
        chunks = {i: node.key for i, node in store.graph.nodes([*passages, *ends]).items()}
        by_hand = added(store, u).get(v, "")
    return tuple(
        Strand(shown(graph, graph.row[passage]), flow,
               (_gate(run, u, passage), _gate(run, passage, v)), "mention",
               _in_passage(found, chunks[passage], u, v)) if passage else
        Strand("", flow, (_gate(run, u, v),), kinds[frozenset((u, v))],
               joining(found, chunks, u, v), by_hand)
        for passage, flow in parts)


def _gate(run: "RunExplanation", u: str, v: str) -> Gate:
    return gate_of(run.problem, run.graph.row[u], run.graph.row[v])


def joining(found: Sequence[Evidence], chunks: Mapping[str, str], u: str,
            v: str) -> tuple[Evidence, ...]:
    """Sentences of a passage that mention its name, or that mention both names; all marked."""
    for passage, name in ((u, v), (v, u)):
        if passage in chunks:
            return tuple(e for e in found
                         if e.node == name and e.chunk == chunks[passage])[:SENTENCES]
    of_u = {(e.chunk, e.start): e.mentions for e in found if e.node == u}
    return tuple(
        replace(e, mentions=tuple(sorted({*e.mentions, *of_u[e.chunk, e.start]}))) for e in found
        if e.node == v and (e.chunk, e.start) in of_u)[:SENTENCES]


def _in_passage(found: Sequence[Evidence], chunk: str, u: str, v: str) -> tuple[Evidence, ...]:
    """Sentences of a passage with both names, or the first with each."""
    here = [e for e in found if e.chunk == chunk]
    both = joining(here, {}, u, v)
    return both or tuple(
        one for name in (u, v) if (one := next((e for e in here if e.node == name), None)))
