"""The explanation of one question's retrieval, with nodes given by names or ids."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from qafd.errors import ParameterError
from qafd.explain.chains import Chain, best_chains
from qafd.explain.diffusion import RunExplanation, Why, gather_paths
from qafd.explain.edges import Along, along
from qafd.explain.paths import Paths, row_name
from qafd.explain.provenance import nearest_error
from qafd.explain.sensitivity import Sensitivity, add_sensitivities
from qafd.explain.whatif import Change, Effect, apply_change
from qafd.explain.whynot import WhyNot
from qafd.graph import Graph
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.qafd import FlowDiffusion
from qafd.storage import Workspace
from qafd.storage.rows import Evidence
from qafd.view.drawing import share_of


@dataclass(frozen=True, eq=False)
class Explanation:
    """A retrieval by flow diffusion with the data behind it; by `KnowledgeGraph.explain`.

    A question in parts has one diffusion for each subquery. Numbers of the question are their
    sums, Eq. (6), (7). Nodes are given by name, as "¶ title" for a passage, or by id;
    documents by name.

    Parameters
    ----------
    plan : QueryPlan
        Of the whole question.
    method : FlowDiffusion
        As asked for, with all the mass.
    runs : tuple of RunExplanation
        One, or one for each subquery in their order.
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
        names: set[str] = set()
        for run in self.runs:
            names |= run.provenance.places.nodes.keys() | run.provenance.places.edges.keys()
        return tuple(sorted(names))

    def is_touched(self, row: int) -> bool:
        """Return True if mass reached a graph row."""
        return any(run.is_touched(row) for run in self.runs)

    def is_retrieved(self, node: str) -> bool:
        """Return True if a node is full, for some subquery where there are several."""
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
        if not run.is_touched(row):
            raise ParameterError(f"no mass reached {row_name(self.graph, row)}; it "
                                 "was not touched, so ask why it is not retrieved")
        why = run.why(row)
        return why if len(self.runs) == 1 else replace(why, part=number, question=run.retrieval.query)

    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """Explain why a node is not retrieved, with the shortest change that would retrieve it.

        In a question in parts this is about the nearest diffusion. The search for
        the mass at which it enters ends when more than `nodes` are retrieved.

        Raises
        ------
        ParameterError
            When it is retrieved.
        """
        row = self.find(node)
        if self.is_retrieved(self.graph.ids[row]):
            raise ParameterError(f"{row_name(self.graph, row)} is retrieved; ask why it is")
        found = [run.why_not(row, nodes) for run in self.runs]
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

        Each is of one subquery. With `to`, only those that end at one touched node.
        """
        row = None if to is None else self.find(to)
        return gather_paths([run.paths(most, row) for run in self.runs], most)

    def chains(self, most: int = 8, to: str | None = None) -> tuple[Chain, ...]:
        """Return the best chains: from a seed over names to the asked kind, hop by sentence.

        With `to` they end at this name, whatever kind was asked for.
        """
        end = None if to is None else self.find(to)
        return best_chains([run.chains(most, end) for run in self.runs], most)

    def sensitivities(self, node: str | None = None) -> tuple[Sensitivity, ...]:
        """Return documents, edges and seeds that the importance found, or one node's, rests on;
        most first."""
        row = None if node is None else self.find(node)
        asked = []
        for run in self.runs:
            if row is None or run.is_touched(row):
                of = None if row is None else run.diffusion.find(row)
                asked.append((run.streams, run.sensitivities(row), of))
        return add_sensitivities(asked)

    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """Make a change from names, for `what_if`; a seed of any subquery can go.

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
            for run in self.runs:
                rows.update(run.provenance.passages_of(document))
                pairs.update(run.provenance.relations_of(document))
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

    def has_node(self, node: str) -> bool:
        """Return True if a node has this id or name."""
        try:
            self.find(node)
        except ParameterError:
            return False
        return True

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
                                              not self.is_touched(row), row))
        for holds in (str.startswith, str.__contains__):
            rows = [row for row, name in enumerate(graph.names)
                    if wanted and holds(name.casefold(), wanted)
                    and (graph.kinds[row] == "passage") == passage]
            if len(rows) == 1:
                return rows[0]
        folded = {name.casefold(): name for name in graph.names}
        near = difflib.get_close_matches(wanted, folded, 3, 0.5)
        raise nearest_error("there is no node {name!r} in this graph", node,
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
    subqueries = len(plan.subqueries) if method.subqueries == "on" else 1
    shared = max(1, subqueries) if method.divided else 1
    runs = []
    for part, problem in zip(found, problems, strict=True):
        if part.seeds != corpus.graph.ids_of(problem.seeds.rows.tolist()):
            raise ParameterError(f"{part.query[:80]!r} was retrieved by another plan than "
                                 "this; name the plan that it was retrieved with")
        runs.append(RunExplanation(corpus.graph, part, open_store, evidence, problem,
                                   problem.solve(), shared))
    return Explanation(corpus.graph, retrieval, plan, method, tuple(runs))
