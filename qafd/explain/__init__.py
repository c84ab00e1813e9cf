"""The explanation of one question's retrieval, with nodes given by names or ids."""

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.chains import Chain, best_chains, find_chains
from qafd.explain.decomposition import Streams
from qafd.explain.edges import Along, Balance, Strand, along, make_strand, mass_balance
from qafd.explain.entry import Places, documents_of, entries, find_places
from qafd.explain.paths import Paths, ReasoningPath, describe_paths, row_name
from qafd.explain.whatif import Change, Effect, apply_change
from qafd.explain.whynot import WhyNot, why_not
from qafd.flow.homotopy import Path
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.qafd import FlowDiffusion, Problem
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
    """

    graph: Graph
    retrieval: Retrieval
    open_store: Callable[[], Workspace]
    evidence: Callable[[Iterable[str]], tuple[Evidence, ...]]
    problem: Problem
    diffusion: Diffusion = field(repr=False)

    @cached_property
    def streams(self) -> Streams:
        """The flow, split by seed and path."""
        return Streams.of(self.diffusion)

    @cached_property
    def entered(self) -> Path:
        """The mass at which each node entered, up to the method's own, and the next node."""
        return entries(self.problem)

    @cached_property
    def places(self) -> Places:
        """The documents that it passed."""
        return find_places(self.problem, self.diffusion, self.open_store)

    @cached_property
    def sure(self) -> frozenset[int]:
        """The rows that are retrieved with any part of the mass of the doubtful seeds.

        x is nondecreasing in the source (L is an M-matrix), so the solution without any mass on
        doubtful seeds retrieves these, and the given one all that are possible.
        """
        certain = np.array([why.kind in CERTAIN for why in self.problem.seeds.reasons], np.bool_)
        if certain.all():
            return frozenset(self.diffusion.support.tolist())
        least = replace(self.problem, mass=np.where(certain, self.problem.mass, 0.0))
        return frozenset(least.solve().support.tolist())

    def mass_at(self, row: int) -> float:
        """Return the mass at a row, -1 where none reached it."""
        i = self.diffusion.find(row)
        return -1.0 if i is None else float(self.diffusion.mass[i])

    def why(self, row: int) -> Why:
        """Explain the mass at a row that mass reached."""
        graph = self.graph
        balance = mass_balance(self.retrieval, graph.ids[row])
        inflows = [make_strand(self, graph.row[near], row, None, flow)
                   for near, flow in balance.inflows[:INFLOWS]]
        return Why(graph.ids[row], row_name(graph, row), balance, self.seed_shares(row),
                   gather_paths([self], WAYS, row), tuple(inflows))

    def seed_shares(self, row: int) -> tuple[SeedShare, ...]:
        """Return the seeds that the mass of a row was poured on, largest first; shares sum to 1."""
        i = self.diffusion.find(row)
        if i is None:
            return ()
        given, graph = self.problem.seeds, self.graph
        reasons = dict(zip(given.rows.tolist(), given.reasons, strict=True))
        seeds, share = self.streams.shares
        found = []
        for seed, part in zip(self.diffusion.rows[seeds].tolist(), share[i].tolist(), strict=True):
            if part > 0:
                found.append(SeedShare(graph.ids[seed], row_name(graph, seed), part, reasons[seed]))
        return tuple(sorted(found, key=lambda seed: (-seed.share, seed.id)))


def gather_paths(runs: Sequence[RunExplanation], most: int, row: int | None = None) -> Paths:
    """Gather the largest paths of mass, or those that end at a row; the paths of several runs are
    numbered."""
    found: list[ReasoningPath] = []
    total = 0.0
    for number, run in enumerate(runs, 1):
        mass = run.diffusion.mass
        i = None if row is None else run.diffusion.find(row)
        if row is not None and i is None:
            continue
        total += float(mass.sum() if i is None else mass[i])
        with run.open_store() as store:
            paths = describe_paths(run.graph, run.problem.layer, run.streams.paths(most, i), store)
        found += [replace(path, part=number if len(runs) > 1 else 0) for path in paths]
    found = sorted(found, key=lambda path: (-path.mass, path.part))[:most]
    rest = total - math.fsum(path.mass for path in found)
    largest = tuple(replace(path, share=share_of(path.mass, total)) for path in found)
    return Paths(largest, total, rest if rest > ROUNDING * total else 0.0)


@dataclass(frozen=True, eq=False)
class Explanation:
    """A retrieval by flow diffusion with the data behind it; by `KnowledgeGraph.explain`.

    Each further question has a diffusion of its own. Numbers of the question are their
    sums, Eq. (6), (7). Nodes are given by name, as "¶ title" for a passage, or by id;
    documents by name.

    Parameters
    ----------
    plan : QueryPlan
        Of the whole question.
    method : FlowDiffusion
        As asked for.
    runs : tuple of RunExplanation
        One, or one for each question or seed in their order.
    """

    graph: Graph
    retrieval: Retrieval
    plan: QueryPlan = field(repr=False)
    method: FlowDiffusion
    runs: tuple[RunExplanation, ...]

    @property
    def full(self) -> int:
        """The number of retrieved nodes."""
        return len(self.retrieval.retrieved)

    @property
    def possible(self) -> frozenset[str]:
        """The retrieved nodes that need mass of seeds that the question does not name, by id."""
        sure: set[int] = set()
        for run in self.runs:
            sure |= run.sure
        full = {node.id for node in self.retrieval.retrieved}
        return frozenset(full.difference(self.graph.ids_of(sorted(sure))))

    @property
    def documents(self) -> tuple[str, ...]:
        """Documents that mass passed, by name."""
        return tuple(sorted(frozenset().union(*(run.places.documents for run in self.runs))))

    def is_retrieved(self, node: str) -> bool:
        """Return True if a node is full, for some diffusion where there are several."""
        row = self.find(node)
        return any(run.diffusion.retrieves(row) for run in self.runs)

    def why(self, node: str) -> Why:
        """Explain the mass at a touched node, by the diffusion that left most there.

        Raises
        ------
        ParameterError
            When no mass reached it: then `why_not` is the question.
        """
        row = self.find(node)
        number, run = max(enumerate(self.runs, 1), key=lambda found: (found[1].mass_at(row), -found[0]))
        if run.mass_at(row) < 0:
            raise ParameterError(f"no mass reached {row_name(self.graph, row)}; it "
                                 "was not touched, so ask why it is not retrieved")
        why = run.why(row)
        return why if len(self.runs) == 1 else replace(why, part=number, question=run.retrieval.query)

    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """Explain why a node is not retrieved, with the shortest change that would retrieve it.

        With further questions it explains the diffusion in which the node comes nearest. The search
        for the mass at which it enters ends when more than `nodes` are retrieved.

        Raises
        ------
        ParameterError
            When it is retrieved.
        """
        row = self.find(node)
        if self.is_retrieved(self.graph.ids[row]):
            raise ParameterError(f"{row_name(self.graph, row)} is retrieved; ask why it is")
        found = [why_not(run.problem, run.diffusion, row, nodes) for run in self.runs]
        if len(found) == 1:
            return found[0]
        best = max(range(len(found)), key=lambda k: _nearness(found[k]))
        return replace(found[best], part=best + 1, question=self.runs[best].retrieval.query)

    def along(self, source: str, target: str, contracted: bool = False) -> Along:
        """Return the flow along the edge between two touched nodes, with the sentences behind it.

        Parameters
        ----------
        contracted : bool
            As drawn without passages: the flow that they carry between the two counts too.

        Raises
        ------
        ParameterError
            When no edge joins them in the retrieval.
        """
        ids = self.graph.ids
        return along(self.retrieval, self.runs, ids[self.find(source)], ids[self.find(target)],
                     contracted)

    def paths(self, most: int = 50, to: str | None = None) -> Paths:
        """Return the largest paths of mass from seeds to where it is held, and their rest.

        Each is of one diffusion. With `to`, only those that end at one touched node.
        """
        row = None if to is None else self.find(to)
        return gather_paths(self.runs, most, row)

    def chains(self, most: int = 8, to: str | None = None) -> tuple[Chain, ...]:
        """Return the best chains: from a seed over names to the asked kind, hop by sentence.

        With `to` they end at this name, whatever kind was asked for.
        """
        end = None if to is None else self.find(to)
        found: list[Chain] = []
        for run in self.runs:
            with run.open_store() as store:
                found += find_chains(run.problem, run.streams, run.retrieval.ranking, store, most, end)
        return best_chains(found, most)

    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """Make a change from names, for `what_if`; a seed of any diffusion can go.

        Raises
        ------
        ParameterError
            When a name is unknown, or a removed seed is not one.
        """
        rows, gone = {self.find(node) for node in nodes}, {self.find(seed) for seed in seeds}
        pairs = {(self.find(u), self.find(v)) for u, v in edges}
        poured: list[int] = []
        for run in self.runs:
            poured += run.problem.seeds.rows.tolist()
        for row in sorted(gone.difference(poured)):
            names = [row_name(self.graph, seed) for seed in dict.fromkeys(poured)]
            raise ParameterError(f"{row_name(self.graph, row)} is not a seed; the seeds are "
                                 f"{', '.join(names)}")
        for document in documents:
            rows.update(self._passages_of(document))
            for run in self.runs:
                pairs.update(run.places.stated_in(document))
        return Change(frozenset(rows), frozenset(pairs), frozenset(gone))

    def what_if(self, change: Change) -> Effect:
        """Ask the question again with a change; every diffusion is solved again, exactly."""
        problems = [apply_change(run.problem, change) for run in self.runs]
        solved = [problem.solve() for problem in problems]
        if not self.retrieval.parts:
            return Effect.of(self.retrieval, problems[0].retrieval(solved[0]))
        corpus = self.runs[0].problem.corpus
        return Effect.of(self.retrieval, self.method.unite_parts(corpus, self.plan, problems, solved))

    def without(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
                seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Effect:
        """Return the loss and gain when something is taken out, from an exact new solution."""
        return self.what_if(self.change(nodes=nodes, edges=edges, seeds=seeds,
                                        documents=documents))

    def _passages_of(self, document: str) -> list[int]:
        """Return the rows of a document's passages; raise ParameterError if there is none."""
        documents = documents_of(self.graph, self.runs[0].open_store)
        rows = [row for row, name in documents.items() if name == document]
        if not rows:
            raise _nearest_error("there is no document {name!r} in this graph", document,
                                difflib.get_close_matches(document, sorted(set(documents.values())), 3, 0.4))
        return rows

    def find(self, node: str) -> int:
        """Find the row of a node by id, name, or the one name that begins with or has these letters.

        Of equal names an entity comes before a passage; part of a title needs its ¶.

        Raises
        ------
        ParameterError
            When there is none; the message has the nearest names.
        """
        graph = self.graph
        if node in graph.row:
            return graph.row[node]
        passage, wanted = node.startswith("¶"), node.removeprefix("¶").strip().casefold()
        rows = [row for row, name in enumerate(graph.names) if name.casefold().strip() == wanted]
        if rows:
            return min(rows, key=lambda row: ((graph.kinds[row] == "passage") != passage,
                                              all(run.mass_at(row) < 0 for run in self.runs), row))
        for holds in (str.startswith, str.__contains__):
            rows = [row for row, name in enumerate(graph.names)
                    if wanted and holds(name.casefold(), wanted)
                    and (graph.kinds[row] == "passage") == passage]
            if len(rows) == 1:
                return rows[0]
        folded = {name.casefold(): name for name in graph.names}
        near = difflib.get_close_matches(wanted, folded, 3, 0.5)
        raise _nearest_error("there is no node {name!r} in this graph", node,
                            [folded[name] for name in near])


def _nearness(found: WhyNot) -> tuple[float, float]:
    """Return a key that orders diffusions by how nearly they fill a node.

    A node without neighbors has capacity 0 where degrees are capacities; no diffusion is near it.
    """
    shortest = min((remedy.length for remedy in found.remedies), default=float("inf"))
    return share_of(found.held, found.capacity), -shortest


def explain(corpus: Corpus, retrieval: Retrieval, plan: QueryPlan, open_store: Callable[[], Workspace],
            evidence: Callable[[Iterable[str]], tuple[Evidence, ...]]) -> Explanation:
    """Make the explanation of a retrieval by flow diffusion, of one run or of several.

    Raises
    ------
    ParameterError
        When it was retrieved for another plan than this.
    """
    method = FlowDiffusion(**retrieval.params)
    found, problems = retrieval.parts or (retrieval,), method.problems(corpus, plan)
    named = [part.query for part in retrieval.parts]
    if len(found) != len(problems) or named and named != [one.plan.question for one in problems]:
        raise ParameterError(f"{retrieval.query[:80]!r} was retrieved in other parts than this "
                             "plan has; name the plan that it was retrieved with")
    runs = []
    for part, problem in zip(found, problems, strict=True):
        if part.seeds != corpus.graph.ids_of(problem.seeds.rows.tolist()):
            raise ParameterError(f"{part.query[:80]!r} was retrieved by another plan than "
                                 "this; name the plan that it was retrieved with")
        runs.append(RunExplanation(corpus.graph, part, open_store, evidence, problem,
                                   problem.solve()))
    return Explanation(corpus.graph, retrieval, plan, method, tuple(runs))


def _nearest_error(template: str, name: str, near: Sequence[str]) -> ParameterError:
    """Return the error for an unknown name, with similar ones."""
    rest = f"; did you mean {', '.join(map(repr, near))}?" if near else ", nor one with a name like it"
    return ParameterError(template.format(name=name[:80]) + rest)
