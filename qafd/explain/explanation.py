"""One question, explained: everything that can be asked of a retrieval, by names or ids."""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.errors import ParameterError, QafdError
from qafd.explain.along import Along, along
from qafd.explain.paths import Paths, shown
from qafd.explain.provenance import nearest
from qafd.explain.sensitivity import Sensitivity
from qafd.explain.whatif import Change, Effect
from qafd.explain.why import SeedShare, Why
from qafd.explain.whynot import WhyNot
from qafd.graph import Graph
from qafd.retrieve import METHODS
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedNode
from qafd.storage import Workspace
from qafd.storage.rows import Evidence

if TYPE_CHECKING:
    from qafd.explain.run import RunExplanation

WAYS = 5


@dataclass(frozen=True, eq=False)
class Explanation(ABC):
    """A retrieval by flow diffusion and what it was made from; by `KnowledgeGraph.explain`.

    `RunExplanation` is that of one diffusion, `UnitedExplanation` that of one for each subquery.
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

    graph: Graph
    retrieval: Retrieval
    open_store: Callable[[], Workspace]
    evidence: Callable[[Iterable[str]], tuple[Evidence, ...]]
    ask: Callable[[str], Retrieval]

    @abstractmethod
    def touched(self, row: int) -> bool:
        """Whether mass reached a graph row."""

    @abstractmethod
    def retrieved(self, node: str) -> bool:
        """Whether a node is full, for some subquery where there are several."""

    @abstractmethod
    def why(self, node: str) -> Why:
        """Why a touched node holds what it holds.

        Raises
        ------
        ParameterError
            When no mass reached it: then `why_not` is the question.
        """

    @abstractmethod
    def why_not(self, node: str, nodes: int = 4000) -> WhyNot:
        """Why a node is not retrieved, and the shortest change that would bring it in.

        The search for the mass at which it enters ends when more than `nodes` are retrieved.

        Raises
        ------
        ParameterError
            When it is retrieved.
        """

    @property
    @abstractmethod
    def diffusions(self) -> "tuple[RunExplanation, ...]":
        """The diffusions that the retrieval is the sum of."""

    def along(self, source: str, target: str, contracted: bool = False) -> Along:
        """What runs along the edge between two touched nodes, and what is said of it.

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
        return along(self.retrieval, self.diffusions, ids[self.find(source)],
                     ids[self.find(target)], contracted)

    @abstractmethod
    def seed_shares(self, node: str) -> tuple[SeedShare, ...]:
        """Which seeds a node's mass was poured on, largest first; shares sum to 1."""

    @abstractmethod
    def paths(self, most: int = 50, to: str | None = None) -> Paths:
        """The largest paths of mass from seeds to where it is held, in words, and their rest.

        With `to`, only those that end at one touched node.
        """

    @abstractmethod
    def sensitivities(self, node: str | None = None) -> tuple[Sensitivity, ...]:
        """Documents, edges and seeds that the importance found, or one node's, rests on; most
        first."""

    @abstractmethod
    def change(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
               seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Change:
        """A change by names, for `what_if`.

        Raises
        ------
        ParameterError
            When a name is unknown, or a seed that shall go is none.
        """

    @abstractmethod
    def what_if(self, change: Change) -> Effect:
        """The question asked again with a change; every diffusion is solved anew, exactly."""

    @property
    @abstractmethod
    def documents(self) -> tuple[str, ...]:
        """Documents that mass passed, by name."""

    @property
    def full(self) -> int:
        """How many nodes are retrieved."""
        return sum(n.state == SATURATED for n in self.retrieval.nodes)

    def known(self, node: str) -> bool:
        """Whether a node goes by this id or name."""
        try:
            self.find(node)
        except ParameterError:
            return False
        return True

    def find(self, node: str) -> int:
        """The row of a node by id, name, or the one name that begins with or has these letters.

        Of equal names an entity comes before a passage; part of a title needs its ¶.

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
                                   not self.touched(row), row))
        if rows:
            return rows[0]
        for holds in (str.startswith, str.__contains__):
            rows = [row for row, name in enumerate(graph.names)
                    if wanted and holds(name.casefold(), wanted)
                    and (graph.kinds[row] == "passage") == passage]
            if len(rows) == 1:
                return rows[0]
        folded = {name.casefold(): name for name in graph.names}
        near = difflib.get_close_matches(wanted, folded, 3, 0.5)
        raise ParameterError(f"there is no node {node[:80]!r} in this graph" + (
            f"; {nearest([folded[n] for n in near])}" if near else
            ", nor any with a name like it"))

    def missing(self, node: str) -> int:
        """The row of a node that is not retrieved; raises ParameterError when it is."""
        row = self.find(node)
        if self.retrieved(self.graph.ids[row]):
            raise ParameterError(f"{shown(self.graph, row)} is retrieved; ask why it is")
        return row

    def elsewhere(self, node: str) -> dict[str, str]:
        """For each other method, in its own terms, why it has the node or has it not."""
        wanted = self.graph.ids[self.find(node)]
        return {name: self._said(name, wanted) for name in METHODS
                if name != self.retrieval.method}

    def without(self, *, nodes: Iterable[str] = (), edges: Iterable[tuple[str, str]] = (),
                seeds: Iterable[str] = (), documents: Iterable[str] = ()) -> Effect:
        """What is lost and gained when something is taken out; solved anew, exactly."""
        return self.what_if(self.change(nodes=nodes, edges=edges, seeds=seeds,
                                        documents=documents))

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
