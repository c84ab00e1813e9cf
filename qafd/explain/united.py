"""The explanation of a question in parts: one diffusion for each subquery, and their sums."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from qafd.errors import ParameterError
from qafd.explain.balance import Balance, balance_sentence
from qafd.explain.explanation import WAYS, Explanation
from qafd.explain.paths import Paths, shown
from qafd.explain.run import INFLOWS, RunExplanation
from qafd.explain.sensitivity import Sensitivity, add_sensitivities
from qafd.explain.whatif import Change, Effect, changed
from qafd.explain.why import Part, SeedShare, Why, united_summary
from qafd.explain.whynot import WhyNot
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.qafd import FlowDiffusion
from qafd.storage import Workspace
from qafd.storage.rows import Evidence


@dataclass(frozen=True, eq=False)
class UnitedExplanation(Explanation):
    """The diffusions of all subqueries, each explained, and what they are together, Eq. (6), (7).

    Parameters
    ----------
    method : FlowDiffusion
        As asked for, with all the mass.
    plan : QueryPlan
        Of the whole question.
    parts : tuple of RunExplanation
        In the order of the subqueries.
    """

    method: FlowDiffusion
    plan: QueryPlan = field(repr=False)
    parts: tuple[RunExplanation, ...]

    def touched(self, row: int) -> bool:
        """See `Explanation`."""
        return any(part.touched(row) for part in self.parts)

    def retrieved(self, node: str) -> bool:
        """See `Explanation`."""
        row = self.find(node)
        return any(part.diffusion.retrieved(row) for part in self.parts)

    def why(self, node: str) -> Why:
        """See `Explanation`."""
        row = self.find(node)
        at, name = self.graph.ids[row], shown(self.graph, row)
        parts = tuple(
            Part(number, part.retrieval.query, part.why(at) if part.touched(row) else None)
            for number, part in enumerate(self.parts, 1))
        found = [part.why for part in parts if part.why is not None]
        whole = next((n for n in self.retrieval.nodes if n.id == at), None)
        if whole is None or not found:
            raise ParameterError(f"no subquery's mass reached {name}; ask why it is not retrieved")
        balance = Balance(whole, sum(why.balance.injected for why in found),
                          _added(why.balance.inflows for why in found),
                          _added(why.balance.outflows for why in found))
        names = {n.id: shown(self.graph, self.graph.row[n.id]) for n in self.retrieval.nodes}
        reached = balance.injected + balance.came
        inflows = sorted((i for why in found for i in why.inflows), key=lambda i: -i.mass)
        return Why(
            at, name, united_summary(name, parts), balance_sentence(balance, names), balance,
            self.seed_shares(at), self.paths(WAYS, to=at),
            tuple(replace(i, share=i.mass / reached) for i in inflows[:INFLOWS]),
            tuple((names[i], flow) for i, flow in balance.inflows),
            tuple((names[i], flow) for i, flow in balance.outflows), parts)

    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """Why no subquery retrieves a node, told of the one whose diffusion comes nearest.

        Raises
        ------
        ParameterError
            When one retrieves it.
        """
        at, name = self.graph.ids[self.missing(node)], shown(self.graph, self.find(node))
        found = [part.why_not(at, nodes) for part in self.parts]
        best = max(range(len(found)), key=lambda k: (
            found[k].held / found[k].capacity,
            -min((remedy.length for remedy in found[k].remedies), default=float("inf")), -k))
        near = found[best]
        return replace(near, sentences=(
            f"No subquery retrieves {name}; subquery {best + 1}, "
            f"“{self.parts[best].retrieval.query}”, comes nearest.",
            *near.sentences), parts=tuple(found))

    @property
    def diffusions(self) -> tuple[RunExplanation, ...]:
        """See `Explanation`."""
        return self.parts

    def seed_shares(self, node: str) -> tuple[SeedShare, ...]:
        """See `Explanation`."""
        row, at = self.find(node), self.graph.ids[self.find(node)]
        mass = [float(part.diffusion.mass[i]) if (i := part.diffusion.find(row)) is not None
                else 0.0 for part in self.parts]
        joint: dict[str, SeedShare] = {}
        for part, held in zip(self.parts, mass, strict=True):
            for seed in part.seed_shares(at) if held > 0 else ():
                so_far = joint.get(seed.id, replace(seed, share=0.0))
                joint[seed.id] = replace(
                    so_far, share=so_far.share + seed.share * held / sum(mass))
        return tuple(sorted(joint.values(), key=lambda s: (-s.share, s.id)))

    def paths(self, most: int = 50, to: str | None = None) -> Paths:
        """See `Explanation`; each path is of one subquery."""
        at = None if to is None else self.graph.ids[self.find(to)]
        found = [part.paths(most, at) for part in self.parts]
        total = sum(paths.total for paths in found)
        listed = sorted(
            (replace(path, part=number, share=path.mass / total)
             for number, paths in enumerate(found, 1) for path in paths.paths),
            key=lambda path: (-path.mass, path.part))[:most]
        return Paths(tuple(listed), total,
                     max(0.0, total - sum(path.mass for path in listed)))

    def sensitivities(self, node: str | None = None) -> tuple[Sensitivity, ...]:
        """See `Explanation`."""
        row = None if node is None else self.find(node)
        at = None if row is None else self.graph.ids[row]
        return add_sensitivities([
            (part.streams, part.sensitivities(at), None if row is None else part.diffusion.find(row))
            for part in self.parts if row is None or part.touched(row)])

    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """See `Explanation`; a seed of any subquery can go."""
        gone = {self.find(seed) for seed in seeds}
        of = set(chain.from_iterable(part.problem.seeds.rows.tolist() for part in self.parts))
        for row in gone - of:
            raise ParameterError(f"{shown(self.graph, row)} is not a seed; the seeds are "
                                 + ", ".join(shown(self.graph, s) for s in sorted(of)))
        rows = [self.graph.ids[self.find(node)] for node in nodes]
        pairs = [(self.graph.ids[self.find(u)], self.graph.ids[self.find(v)]) for u, v in edges]
        changes = [part.change(nodes=rows, edges=pairs, documents=documents)
                   for part in self.parts]
        return Change(frozenset().union(*(c.nodes for c in changes)),
                      frozenset().union(*(c.edges for c in changes)), frozenset(gone))

    def what_if(self, change: Change) -> Effect:
        """See `Explanation`; the change is made for all subqueries."""
        problems = [changed(part.problem, change) for part in self.parts]
        corpus = self.parts[0].problem.corpus
        return Effect.of(self.retrieval, self.method.united(
            corpus, self.plan, problems, [problem.solve() for problem in problems]))

    @property
    def documents(self) -> tuple[str, ...]:
        """See `Explanation`."""
        return tuple(sorted(set(chain.from_iterable(part.documents for part in self.parts))))


def explained(corpus: Corpus, retrieval: Retrieval, plan: QueryPlan,
              open_store: Callable[[], Workspace],
              evidence: Callable[[Iterable[str]], tuple[Evidence, ...]],
              ask: Callable[[str], Retrieval]) -> Explanation:
    """The explanation of a retrieval by flow diffusion, of one run or of several.

    Raises
    ------
    ParameterError
        When it was retrieved for another plan than this.
    """
    method = FlowDiffusion(**retrieval.params)

    def run(found: Retrieval, part: QueryPlan, runs: int) -> RunExplanation:
        problem = FlowDiffusion(**found.params).problem(corpus, part)
        if found.seeds != tuple(corpus.graph.ids[row] for row in problem.seeds.rows.tolist()):
            raise ParameterError(f"{found.query[:80]!r} was retrieved by another plan than this; "
                                 "name the plan that it was retrieved with")
        return RunExplanation(corpus.graph, found, open_store, evidence, ask, problem,
                              problem.solve(), runs)

    if not retrieval.parts:
        return run(retrieval, plan, 1)
    if [part.query for part in retrieval.parts] != [part.question for part in plan.subqueries]:
        raise ParameterError(f"{retrieval.query[:80]!r} was retrieved in other parts than this "
                             "plan has; name the plan that it was retrieved with")
    runs = len(retrieval.parts) if method.divided else 1
    return UnitedExplanation(
        corpus.graph, retrieval, open_store, evidence, ask, method, plan, tuple(
            run(found, part, runs)
            for found, part in zip(retrieval.parts, plan.subqueries, strict=True)))


def _added(flows: Iterable[Sequence[tuple[str, float]]]) -> tuple[tuple[str, float], ...]:
    """Flows of several diffusions by neighbor, largest first."""
    joint: dict[str, float] = {}
    for node, flow in chain.from_iterable(flows):
        joint[node] = joint.get(node, 0.0) + flow
    return tuple(sorted(joint.items(), key=lambda pair: (-pair[1], pair[0])))
