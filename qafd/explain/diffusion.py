"""One diffusion of a question, with the explanations of its flow; nodes are graph rows."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from qafd.explain.balance import Balance, mass_balance
from qafd.explain.chains import Chain, find_chains
from qafd.explain.decomposition import Streams
from qafd.explain.edges import Strand, make_strand
from qafd.explain.entry import entries
from qafd.explain.paths import Paths, ReasoningPath, describe_paths, row_name
from qafd.explain.provenance import Provenance
from qafd.explain.sensitivity import Sensitivity, sensitivities
from qafd.explain.whynot import WhyNot, why_not
from qafd.flow.homotopy import Path
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind
from qafd.records import Floats, Nodes
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace
from qafd.storage.rows import Evidence
from qafd.view.drawing import share_of

INFLOWS = 3
WAYS = 5
ROUNDING = 1e-12  # share of the mass below which the rest of the paths is none


CERTAIN = frozenset((ReasonKind.NAMED, ReasonKind.STANDS_FOR_NAME, ReasonKind.HOLDS_VALUE, ReasonKind.CHOSEN))
"""Reasons of seeds that the question names; all others are only near to it."""


@dataclass(frozen=True)
class SeedShare:
    """A seed, its part of a node's mass, between 0 and 1, and the reason why it is a seed."""

    id: str
    name: str
    share: float
    reason: Reason


@dataclass(frozen=True)
class Why:
    """Reasons for the mass of a touched node.

    `balance` adds up to rounding. The shares of `seeds` add up to 1, the paths of `ways` with their
    rest to the mass held; `inflows` are the largest, each over one edge. Where a question has several
    diffusions, this is the one that left most mass there: number `part`, from 1, of `question`.
    """

    id: str
    name: str
    balance: Balance
    seeds: tuple[SeedShare, ...]
    ways: Paths
    inflows: tuple[Strand, ...]
    part: int = 0
    question: str = ""

    @property
    def full(self) -> bool:
        """True if the node is retrieved."""
        return self.balance.node.state == "saturated"


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

    @cached_property
    def sure(self) -> frozenset[int]:
        """The rows that are retrieved however much mass the doubtful seeds have, up to what they have.

        x is nondecreasing in the source (L is an M-matrix), so the solution without any mass on
        doubtful seeds retrieves these, and the given one all that are possible.
        """
        certain = np.array([why.kind in CERTAIN for why in self.problem.seeds.reasons], np.bool_)
        if certain.all():
            return frozenset(self.diffusion.support.tolist())
        least = replace(self.problem, mass=np.where(certain, self.problem.mass, 0.0))
        return frozenset(least.solve().support.tolist())

    def is_touched(self, row: int) -> bool:
        """Return True if mass reached a row."""
        return self.diffusion.find(row) is not None

    def mass_at(self, row: int) -> float:
        """Return the mass at a row."""
        i = self.diffusion.find(row)
        return 0.0 if i is None else float(self.diffusion.mass[i])

    def why(self, row: int) -> Why:
        """Explain the mass at a row that mass reached."""
        graph = self.graph
        balance = mass_balance(self.retrieval, graph.ids[row])
        inflows = [make_strand(self, graph.row[near], row, None, flow)
                   for near, flow in balance.inflows[:INFLOWS]]
        ways = gather_paths([self.paths(WAYS, row)], WAYS)
        return Why(graph.ids[row], row_name(graph, row), balance, self.seed_shares(row), ways, tuple(inflows))

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

    def chains(self, most: int, end: int | None = None) -> tuple[Chain, ...]:
        """Return the best chains from its seeds, or those to one row."""
        with self.open_store() as store:
            return find_chains(self.problem, self.streams, self.retrieval.ranking, store, most, end)

    def sensitivities(self, row: int | None = None) -> tuple[Sensitivity, ...]:
        """Return documents, edges and seeds that the importance found, or that of a row, rests on."""
        i = None if row is None else self.diffusion.find(row)
        if row is not None and i is None:
            return ()
        return sensitivities(self.streams, self.provenance.places, i)

    @cached_property
    def _shares(self) -> tuple[Nodes, Floats]:
        return self.streams.shares()


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
