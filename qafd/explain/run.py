"""The explanation of one diffusion: of an undivided question, or of one subquery."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from qafd.curate.neighbors import added
from qafd.errors import ParameterError
from qafd.explain.along import joining
from qafd.explain.balance import balance_sentence, mass_balance
from qafd.explain.entry import entries
from qafd.explain.explanation import WAYS, Explanation
from qafd.explain.paths import Paths, shown, worded
from qafd.explain.provenance import Provenance
from qafd.explain.sensitivity import Sensitivity, sensitivities
from qafd.explain.streams import Streams
from qafd.explain.whatif import Change, Effect, changed
from qafd.explain.why import Inflow, SeedShare, Why, summary
from qafd.explain.whynot import WhyNot, why_not
from qafd.flow.homotopy import Path
from qafd.flow.solver import Diffusion
from qafd.records import Floats, Nodes
from qafd.retrieve.qafd import Problem

INFLOWS = 3


@dataclass(frozen=True, eq=False)
class RunExplanation(Explanation):
    """One problem, its solution, and what can be asked of it.

    Parameters
    ----------
    runs : int
        How many such runs the mass of the control is divided among: masses that are named for the
        control are those of the run times this.
    """

    problem: Problem
    diffusion: Diffusion = field(repr=False)
    runs: int = 1

    @cached_property
    def streams(self) -> Streams:
        """The flow, split."""
        return Streams.of(self.diffusion)

    def touched(self, row: int) -> bool:
        """See `Explanation`."""
        return self.diffusion.find(row) is not None

    def retrieved(self, node: str) -> bool:
        """See `Explanation`."""
        return self.diffusion.retrieved(self.find(node))

    def why(self, node: str) -> Why:
        """See `Explanation`."""
        row, graph = self.find(node), self.graph
        balance = mass_balance(self.retrieval, graph.ids[row])
        names = {n.id: shown(graph, graph.row[n.id]) for n in self.retrieval.nodes}
        seeds = self.seed_shares(node)
        ways = self.paths(WAYS, to=node)
        name = shown(graph, row)
        reached = balance.injected + balance.came
        inflows = self._inflows(row, balance.inflows[:INFLOWS], reached)
        return Why(graph.ids[row], name,
                   summary(name, balance.node.state, seeds, ways, balance.node.seed),
                   balance_sentence(balance, names), balance, seeds, ways, inflows,
                   tuple((names[i], flow) for i, flow in balance.inflows),
                   tuple((names[i], flow) for i, flow in balance.outflows))

    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """See `Explanation`."""
        return why_not(self.problem, self.diffusion, self.missing(node), nodes, self.runs)

    @property
    def diffusions(self) -> tuple["RunExplanation", ...]:
        """See `Explanation`."""
        return (self,)

    def seed_shares(self, node: str) -> tuple[SeedShare, ...]:
        """See `Explanation`."""
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
        """See `Explanation`."""
        i = None if to is None else self.diffusion.find(self.find(to))
        if to is not None and i is None:
            return Paths((), 0.0, 0.0)
        total = float(self.diffusion.mass.sum() if i is None else self.diffusion.mass[i])
        found = self.streams.paths(most, i)
        with self.open_store() as store:
            return worded(self.graph, self.problem.layer, found, total, store.graph.nodes, store.graph.edges)

    def entry(self, up_to: float | None = None) -> Path:
        """The mass at which each node entered, and which is next (`explain.entries`)."""
        return entries(self.problem, up_to)

    @cached_property
    def entered(self) -> Path:
        """`entry` up to the method's own mass, computed once."""
        return entries(self.problem)

    def sensitivities(self, node: str | None = None) -> tuple[Sensitivity, ...]:
        """See `Explanation`."""
        i = None if node is None else self.diffusion.find(self.find(node))
        if node is not None and i is None:
            return ()
        return sensitivities(self.streams, self._origin.places, i)

    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """See `Explanation`."""
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

    def what_if(self, change: Change) -> Effect:
        """See `Explanation`."""
        problem = changed(self.problem, change)
        return Effect.of(self.retrieval, problem.retrieval(problem.solve()))

    @property
    def documents(self) -> tuple[str, ...]:
        """See `Explanation`."""
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
            chunks = {i: node.key for i, node in store.graph.nodes(passages).items()}
            by_hand = added(store, wanted)
        edge = {e.source: e for e in self.retrieval.edges if e.target == wanted}
        return tuple(Inflow(
            i, shown(graph, graph.row[i]), flow, flow / reached if reached > 0 else 0.0,
            edge[i].weight, edge[i].kind, joining(found, chunks, i, wanted), by_hand.get(i, ""))
            for i, flow in inflows)

