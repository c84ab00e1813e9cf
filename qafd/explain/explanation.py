"""One question, explained: everything that can be asked of a retrieval, by names or ids."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from qafd.diffusion import Diffusion
from qafd.errors import ParameterError, QafdError
from qafd.explain.balance import balance_sentence, mass_balance
from qafd.explain.contrast import Contrast, contrast
from qafd.explain.entry import entries
from qafd.explain.leaning import Lean, leans_on
from qafd.explain.paths import Paths, shown, worded
from qafd.explain.provenance import Provenance
from qafd.explain.streams import Streams
from qafd.explain.whatif import Change, Difference, changed
from qafd.explain.why import Inflow, SeedShare, Why, summary
from qafd.explain.whynot import WhyNot, why_not
from qafd.graph import Graph
from qafd.homotopy import Path
from qafd.records import Floats, Nodes
from qafd.retrieve import METHODS
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.rows import Evidence
from qafd.store import Store

INFLOWS, SENTENCES, WAYS = 3, 2, 5


@dataclass(frozen=True, eq=False)
class Explanation:
    """A retrieval by flow diffusion, its problem and solution; made by `KnowledgeGraph.explain`.

    Nodes are given by name, as "¶ title" for a passage, or by id; `documents` by name.

    Parameters
    ----------
    open_store : callable
        Opens the workspace, for texts and provenance.
    evidence : callable
        Sentences that mention some nodes, see `KnowledgeGraph.evidence`.
    ask : callable
        What another method retrieves for the same question.
    """

    problem: Problem
    diffusion: Diffusion
    retrieval: Retrieval
    open_store: Callable[[], Store]
    evidence: Callable[[Iterable[str]], tuple[Evidence, ...]]
    ask: Callable[[str], Retrieval]

    @property
    def graph(self) -> Graph:
        """The whole graph; the problem's layer has the same rows."""
        return self.problem.corpus.graph

    @cached_property
    def streams(self) -> Streams:
        """The flow, split."""
        return Streams.of(self.diffusion)

    def known(self, node: str) -> bool:
        """Whether a node goes by this id or name."""
        try:
            self.find(node)
        except ParameterError:
            return False
        return True

    def find(self, node: str) -> int:
        """The row of a node by id or name; of equal names an entity before a passage.

        Raises
        ------
        ParameterError
            When there is none; the sentence has the nearest names.
        """
        graph = self.graph
        if node in graph.row:
            return graph.row[node]
        passage, wanted = node.startswith("¶"), node.removeprefix("¶").strip().casefold()
        rows = [row for row, name in enumerate(graph.names) if name.casefold().strip() == wanted]
        rows.sort(key=lambda row: ((graph.kinds[row] == "passage") != passage,
                                   self.diffusion.find(row) is None, row))
        if rows:
            return rows[0]
        folded = {name.casefold(): name for name in graph.names}
        near = difflib.get_close_matches(wanted, folded, 3, 0.5)
        raise ParameterError(f"there is no node {node[:80]!r} in this graph" + (
            "; the nearest names are " + ", ".join(repr(folded[n]) for n in near) if near else
            ", nor any with a name like it"))

    def why(self, node: str) -> Why:
        """Why a touched node holds what it holds.

        Raises
        ------
        ParameterError
            When no mass reached it: then `why_not` is the question.
        """
        row, graph = self.find(node), self.graph
        balance = mass_balance(self.retrieval, graph.ids[row])
        names = {n.id: shown(graph, graph.row[n.id]) for n in self.retrieval.nodes}
        seeds = self.seed_shares(node)
        ways = self.paths(WAYS, to=node)
        name = shown(graph, row)
        reached = balance.injected + sum(flow for _, flow in balance.inflows)
        inflows = self._inflows(row, balance.inflows[:INFLOWS], reached)
        return Why(graph.ids[row], name,
                   summary(name, balance.node.state, seeds, ways, balance.node.seed),
                   balance_sentence(balance, names), balance, seeds, ways, inflows,
                   tuple((names[i], flow) for i, flow in balance.inflows),
                   tuple((names[i], flow) for i, flow in balance.outflows))

    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """Why a node is not retrieved, and the shortest change that would bring it in.

        The search for the mass at which it enters ends when more than `nodes` are retrieved.

        Raises
        ------
        ParameterError
            When it is retrieved.
        """
        row = self.find(node)
        if self.diffusion.retrieved(row):
            raise ParameterError(f"{shown(self.graph, row)} is retrieved; ask why it is")
        return why_not(self.problem, self.diffusion, row, nodes)

    def retrieved(self, node: str) -> bool:
        """Whether a node is full."""
        return self.diffusion.retrieved(self.find(node))

    def elsewhere(self, node: str) -> dict[str, str]:
        """For each other method, in its own terms, why it has the node or has it not."""
        wanted = self.graph.ids[self.find(node)]
        return {name: self._said(name, wanted) for name in METHODS
                if name != self.retrieval.method}

    def seed_shares(self, node: str) -> tuple[SeedShare, ...]:
        """Which seeds a node's mass was poured on, largest first; shares sum to 1."""
        i = self.diffusion.find(self.find(node))
        if i is None:
            return ()
        seeds, share = self._shares
        graph, rows = self.graph, self.diffusion.rows[seeds].tolist()
        reasons = dict(zip(self.problem.seeds.rows.tolist(), self.problem.seeds.reasons,
                           strict=True))
        found = [SeedShare(graph.ids[row], shown(graph, row), float(part), reasons[row])
                 for row, part in zip(rows, share[i], strict=True) if part > 0]
        return tuple(sorted(found, key=lambda s: (-s.share, s.id)))

    def paths(self, most: int = 50, to: str | None = None) -> Paths:
        """The largest paths of mass from seeds to where it is held, in words, and their rest.

        With `to`, only those that end at one touched node.
        """
        i = None if to is None else self.diffusion.find(self.find(to))
        if to is not None and i is None:
            return Paths((), 0.0, 0.0)
        total = float(self.diffusion.mass.sum() if i is None else self.diffusion.mass[i])
        found = self.streams.paths(most, i)
        with self.open_store() as store:
            return worded(self.graph, self.problem.layer, found, total, store.nodes, store.edges)

    def entry(self, up_to: float | None = None) -> Path:
        """The mass at which each node entered, and which is next (`explain.entries`)."""
        return entries(self.problem, up_to)

    @cached_property
    def entered(self) -> Path:
        """`entry` up to the method's own mass, computed once."""
        return entries(self.problem)

    def leans_on(self, node: str | None = None) -> tuple[Lean, ...]:
        """Documents, edges and seeds that the importance found, or one node's, leans on; most
        first."""
        i = None if node is None else self.diffusion.find(self.find(node))
        return leans_on(self.streams, self._origin.places, i)

    def without(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
                seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Difference:
        """What is lost and gained when something is taken out; solved anew, exactly."""
        return self.what_if(self.change(nodes=nodes, edges=edges, seeds=seeds,
                                        documents=documents))

    def with_edge(self, u: str, v: str, similarity: float) -> Difference:
        """What is lost and gained when an edge is added, or has another factor H(u, v)."""
        return self.what_if(Change(
            similarities=(((self.find(u), self.find(v)), similarity),)))

    def with_weight(self, u: str, v: str, factor: float) -> Difference:
        """What is lost and gained when the weight of one edge is multiplied."""
        return self.what_if(Change(scales=(((self.find(u), self.find(v)), factor),)))

    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """A change by names, for `what_if`.

        Raises
        ------
        ParameterError
            When a name is unknown, or a seed that shall go is none.
        """
        rows, gone = {self.find(node) for node in nodes}, {self.find(seed) for seed in seeds}
        pairs = {(self.find(u), self.find(v)) for u, v in edges}
        for row in gone - set(self.problem.seeds.rows.tolist()):
            raise ParameterError(f"{shown(self.graph, row)} is not a seed; the seeds are "
                                 + ", ".join(shown(self.graph, s)
                                             for s in self.problem.seeds.rows.tolist()))
        for name in documents:
            rows |= set(self._origin.passages_of(name))
            pairs |= set(self._origin.relations_of(name))
        return Change(frozenset(rows), frozenset(pairs), frozenset(gone))

    def what_if(self, change: Change) -> Difference:
        """The question asked again with a change."""
        problem = changed(self.problem, change)
        return Difference.of(self.retrieval, problem.retrieval(problem.solve()))

    def contrast(self, other: "Explanation | Retrieval") -> Contrast:
        """What this retrieval and another from the same graph have in common and not."""
        return contrast(self.retrieval,
                        other.retrieval if isinstance(other, Explanation) else other)

    @property
    def documents(self) -> tuple[str, ...]:
        """Documents that mass passed, by name."""
        return tuple(sorted(self._origin.places.nodes.keys() | self._origin.places.edges.keys()))

    @cached_property
    def _shares(self) -> tuple[Nodes, Floats]:
        return self.streams.shares()

    @cached_property
    def _origin(self) -> Provenance:
        return Provenance(self.problem, self.diffusion, self.open_store)

    def _inflows(self, row: int, inflows: Sequence[tuple[str, float]],
                 reached: float) -> tuple[Inflow, ...]:
        graph, wanted = self.graph, self.graph.ids[row]
        near = [graph.row[i] for i, _ in inflows]
        names = [graph.ids[r] for r in (row, *near) if graph.kinds[r] != "passage"]
        passages = [graph.ids[r] for r in (row, *near) if graph.kinds[r] == "passage"]
        found = self.evidence(names) if names else ()
        with self.open_store() as store:
            chunks = {i: node.key for i, node in store.nodes(passages).items()}
        edge = {e.source: e for e in self.retrieval.edges if e.target == wanted}
        return tuple(Inflow(
            i, shown(graph, graph.row[i]), flow, flow / reached if reached > 0 else 0.0,
            edge[i].weight, edge[i].kind, _joining(found, chunks, i, wanted))
            for i, flow in inflows)

    def _said(self, method: str, node: str) -> str:
        try:
            retrieval = self.ask(method)
        except QafdError as error:
            return str(error)
        return said_by(retrieval, node)


def said_by(retrieval: Retrieval, node: str) -> str:
    """A method's own reason for a node, or that it has it not."""
    has: RetrievedNode | None = next((n for n in retrieval.nodes if n.id == node), None)
    if has is not None:
        return has.reason
    count = sum(n.state == SATURATED for n in retrieval.nodes)
    return f"Not among its {count:,} nodes."


def _joining(found: Sequence[Evidence], chunks: Mapping[str, str], u: str,
             v: str) -> tuple[Evidence, ...]:
    """Sentences of a passage that mention its name, or that mention both names."""
    for passage, name in ((u, v), (v, u)):
        if passage in chunks:
            return tuple(e for e in found
                         if e.node == name and e.chunk == chunks[passage])[:SENTENCES]
    places = {(e.chunk, e.start) for e in found if e.node == u}
    return tuple(e for e in found if e.node == v and (e.chunk, e.start) in places)[:SENTENCES]


def explained(problem: Problem, retrieval: Retrieval | None,
              open_store: Callable[[], Store],
              evidence: Callable[[Iterable[str]], tuple[Evidence, ...]],
              ask: Callable[[str], Retrieval]) -> Explanation:
    """The explanation of a problem; a retrieval that was made before is explained as it is."""
    diffusion = problem.solve()
    if retrieval is None:
        retrieval = problem.retrieval(diffusion)
    return Explanation(problem, diffusion, retrieval, open_store, evidence, ask)
