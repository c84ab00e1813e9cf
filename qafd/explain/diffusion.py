"""One diffusion of a question, with the explanations of its flow; nodes are graph rows."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from qafd.curate.neighbors import find_added
from qafd.explain.balance import Balance, mass_balance
from qafd.explain.chains import Chain, find_chains
from qafd.explain.decomposition import Streams
from qafd.explain.entry import entries
from qafd.explain.paths import Paths, ReasoningPath, describe_paths, row_name
from qafd.explain.provenance import Provenance
from qafd.explain.sensitivity import Sensitivity, sensitivities
from qafd.explain.sentences import sentences_joining
from qafd.explain.why import Inflow, SeedShare, Why
from qafd.explain.whynot import WhyNot, why_not
from qafd.flow.homotopy import Path
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.records import Floats, Nodes
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace
from qafd.storage.rows import Evidence
from qafd.view.drawing import share_of

INFLOWS = 3
WAYS = 5
ROUNDING = 1e-12  # share of the mass below which the rest of the paths is none


@dataclass(frozen=True, eq=False)
class RunExplanation:
    """One problem, its solution, and what it retrieved.

    Parameters
    ----------
    open_store : callable
        Opens the workspace, for texts and provenance.
    evidence : callable
        Sentences that mention some nodes, see `qafd.knowledge.find_evidence`.
    runs : int
        How many such runs the mass of the control is divided among: masses that are named for the
        control are those of the run times this.
    """

    graph: Graph
    retrieval: Retrieval
    open_store: Callable[[], Workspace]
    evidence: Callable[[Iterable[str]], tuple[Evidence, ...]]
    problem: Problem
    diffusion: Diffusion = field(repr=False)
    runs: int = 1

    @cached_property
    def streams(self) -> Streams:
        """The flow, split by seed and path."""
        return Streams.of(self.diffusion)

    @cached_property
    def entered(self) -> Path:
        """The mass at which each node entered, up to the method's own, and the next node."""
        return entries(self.problem)

    @cached_property
    def provenance(self) -> Provenance:
        """The documents of its passages and relations."""
        return Provenance(self.problem, self.diffusion, self.open_store)

    def is_touched(self, row: int) -> bool:
        """Return True if mass reached a row."""
        return self.diffusion.find(row) is not None

    def mass_at(self, row: int) -> float:
        """Return the mass at a row."""
        i = self.diffusion.find(row)
        return 0.0 if i is None else float(self.diffusion.mass[i])

    def why(self, row: int) -> Why:
        """Explain the mass at a row that mass reached."""
        balance = mass_balance(self.retrieval, self.graph.ids[row])
        ways = gather_paths([self.paths(WAYS, row)], WAYS)
        return Why(self.graph.ids[row], row_name(self.graph, row), balance, self.seed_shares(row), ways,
                   self._inflows(row, balance))

    def why_not(self, row: int, nodes: int) -> WhyNot:
        """Explain why a row is not retrieved; see `Explanation.why_not`."""
        return why_not(self.problem, self.diffusion, row, nodes, self.runs)

    def seed_shares(self, row: int) -> tuple[SeedShare, ...]:
        """Return the seeds that the mass of a row was poured on, largest first; shares sum to 1."""
        i = self.diffusion.find(row)
        if i is None:
            return ()
        given, graph = self.problem.seeds, self.graph
        reasons = dict(zip(given.rows.tolist(), given.reasons, strict=True))
        seeds, share = self._shares
        found = []
        for seed, part in zip(self.diffusion.rows[seeds].tolist(), share[i].tolist(), strict=True):
            if part > 0:
                found.append(SeedShare(graph.ids[seed], row_name(graph, seed), part, reasons[seed]))
        return tuple(sorted(found, key=lambda seed: (-seed.share, seed.id)))

    def paths(self, most: int, to: int | None = None) -> tuple[list[ReasoningPath], float]:
        """Return the largest paths of mass, or of those that end at a row, and the mass of all."""
        i = None if to is None else self.diffusion.find(to)
        if to is not None and i is None:
            return [], 0.0
        total = float(self.diffusion.mass.sum() if i is None else self.diffusion.mass[i])
        with self.open_store() as store:
            return describe_paths(self.graph, self.problem.layer, self.streams.paths(most, i), total,
                              store), total

    def chains(self, most: int) -> tuple[Chain, ...]:
        """Return the best chains from its seeds."""
        with self.open_store() as store:
            return find_chains(self.problem, self.streams, self.retrieval.ranking, store, most)

    def sensitivities(self, row: int | None = None) -> tuple[Sensitivity, ...]:
        """Return documents, edges and seeds that the importance found, or that of a row, rests on."""
        i = None if row is None else self.diffusion.find(row)
        if row is not None and i is None:
            return ()
        return sensitivities(self.streams, self.provenance.places, i)

    @cached_property
    def _shares(self) -> tuple[Nodes, Floats]:
        return self.streams.shares()

    def _inflows(self, row: int, balance: Balance) -> tuple[Inflow, ...]:
        """Return the largest inflows with the sentences behind them."""
        graph, wanted, inflows = self.graph, self.graph.ids[row], balance.inflows[:INFLOWS]
        passages: list[str] = []
        names: list[str] = []
        for id in (wanted, *(id for id, _ in inflows)):
            kind = passages if graph.kinds[graph.row[id]] == "passage" else names
            kind.append(id)
        found = self.evidence(names) if names else ()
        with self.open_store() as store:
            chunks = {id: node.key for id, node in store.graph.nodes(passages).items()}
            by_hand = find_added(store, wanted)
        edge = {e.source: e for e in self.retrieval.edges if e.target == wanted}
        listed = []
        for id, flow in inflows:
            listed.append(Inflow(
                id, row_name(graph, graph.row[id]), flow, share_of(flow, balance.reached), edge[id].weight,
                edge[id].kind, sentences_joining(found, chunks, id, wanted), by_hand.get(id, ())))
        return tuple(listed)


def gather_paths(found: list[tuple[list[ReasoningPath], float]], most: int) -> Paths:
    """Gather the largest paths of one diffusion, or of several, which are then numbered from 1."""
    total = sum(mass for _, mass in found)
    listed = []
    for number, (paths, _) in enumerate(found, 1):
        for path in paths:
            listed.append((-path.mass, number if len(found) > 1 else 0, path))
    listed = sorted(listed, key=lambda one: one[:2])[:most]
    rest = total + math.fsum(mass for mass, _, _ in listed)
    largest = tuple(replace(path, share=share_of(path.mass, total), part=part)
                    for _, part, path in listed)
    return Paths(largest, total, rest if rest > ROUNDING * total else 0.0)
