"""Reasoning paths: the ways of mass, with the links between neighbors on them (A2.2.1)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from qafd.explain.decomposition import PathFlow
from qafd.graph import Graph, kind_names
from qafd.reading.text.plaintext import one_line
from qafd.records import Edge, Node
from qafd.storage import Workspace
from qafd.view.drawing import share_of


class Link(StrEnum):
    """The kinds of link between two neighbors on a path."""

    STATED = "stated"  # by a relation with a label
    TOGETHER = "together"  # both are named in one passage
    NAMES = "names"  # a passage names the next node
    NAMED_IN = "named_in"
    SYNONYM = "synonym"
    RELATED = "related"


@dataclass(frozen=True)
class Step:
    """A step from one node of a path to the next; two names of one passage are one step.

    `target` is its name as shown, `passage` that of the passage both are named in, "" when there
    is none. `label` is that of a relation, which points along the path when `forward`.
    """

    target: str
    link: Link
    passage: str = ""
    label: str = ""
    forward: bool = True
    by_hand: bool = False


@dataclass(frozen=True)
class ReasoningPath:
    """A path of mass: node ids from a seed to where it is held, and the links between them.

    `start` is the seed's name as shown. Paths of methods without mass have their score as `mass`.
    `share` is its part of all the mass, between 0 and 1; `part` the subquery whose
    diffusion it belongs to, from 1, and 0 in an undivided question.
    """

    nodes: tuple[str, ...]
    mass: float
    share: float
    start: str
    steps: tuple[Step, ...]
    part: int = 0


@dataclass(frozen=True)
class Paths:
    """The largest paths; `rest` is the mass of all others, so that it adds up to `total`."""

    paths: tuple[ReasoningPath, ...]
    total: float
    rest: float


def describe_paths(graph: Graph, layer: Graph, found: Sequence[PathFlow], total: float,
               store: Workspace) -> list[ReasoningPath]:
    """Describe paths over a layer of a graph with the stored links between their nodes."""
    joints = Joints.of(graph, layer, found, store.graph.nodes, store.graph.edges)
    paths = []
    for path in found:
        ids = graph.ids_of(path.rows)
        paths.append(ReasoningPath(ids, path.mass, share_of(path.mass, total),
                                   row_name(graph, path.rows[0]), joints.steps(path.rows)))
    return paths


def links(paths: Iterable[ReasoningPath]) -> tuple[tuple[str, str, float], ...]:
    """Return the edges of some paths with the mass they send over each: (from, to, mass)."""
    sent: dict[tuple[str, str], float] = {}
    for path in paths:
        for pair in pairwise(path.nodes):
            sent[pair] = sent.get(pair, 0.0) + path.mass
    return tuple((u, v, mass) for (u, v), mass in sent.items())


def row_name(graph: Graph, row: int) -> str:
    """Return the name of a row on one line; a passage begins with a pilcrow."""
    name = one_line(graph.names[row], 80).strip() or "…"
    return f"¶ {name}" if graph.kinds[row] == "passage" else name


@dataclass(frozen=True, eq=False)
class Joints:
    """The relations and passages that join neighbors on paths, as the store has them.

    Parameters
    ----------
    layer : Graph
        The layer that the mass ran over.
    chunks : mapping
        Chunk id of each passage, by node id.
    relations : mapping
        Labeled relations by their two ends.
    """

    graph: Graph
    layer: Graph
    chunks: Mapping[str, str]
    relations: Mapping[frozenset[str], Sequence[Edge]]

    @classmethod
    def of(cls, graph: Graph, layer: Graph, found: Sequence[PathFlow],
           nodes: Callable[[Iterable[str]], Mapping[str, Node]],
           edges: Callable[[Iterable[str]], Sequence[Edge]]) -> "Joints":
        """Read the joints of some paths; `nodes` and `edges` are the store's, for some node ids."""
        passages: list[str] = []
        names: list[str] = []
        for row in sorted(set().union(*(path.rows for path in found))):
            kind = passages if graph.kinds[row] == "passage" else names
            kind.append(graph.ids[row])
        chunks = {id: node.key for id, node in nodes(passages).items()}
        inside = set(names)
        relations: dict[frozenset[str], list[Edge]] = {}
        for edge in edges(names):
            if edge.kind == "relation" and edge.label and {edge.source, edge.target} <= inside:
                relations.setdefault(frozenset((edge.source, edge.target)), []).append(edge)
        return cls(graph, layer, chunks, relations)

    def steps(self, rows: Sequence[int]) -> tuple[Step, ...]:
        """Return the steps of a path of rows."""
        steps, i = [], 0
        while i + 1 < len(rows):
            through = rows[i + 1] if self._is_passed(rows[i:i + 3]) else None
            i += 1 if through is None else 2
            steps.append(self._step(rows[i - 1] if through is None else rows[i - 2], rows[i],
                                    through))
        return tuple(steps)

    def _is_passage(self, row: int) -> bool:
        return str(self.graph.kinds[row]) == "passage"

    def _is_passed(self, rows: Sequence[int]) -> bool:
        """Return True if three rows are two names with a passage between."""
        return [self._is_passage(row) for row in rows] == [False, True, False]

    def _step(self, u: int, v: int, through: int | None) -> Step:
        graph, target = self.graph, row_name(self.graph, v)
        passage = "" if through is None else row_name(graph, through)
        chunk = None if through is None else self.chunks.get(graph.ids[through])
        kinds = self._kinds(u, v)
        for edge in self.relations.get(frozenset((graph.ids[u], graph.ids[v])), ()):
            if chunk is None or chunk in {stated for stated, _ in edge.evidence}:
                return Step(target, Link.STATED, passage, one_line(edge.label, 60),
                            edge.source == graph.ids[u], not edge.evidence and "by_hand" in kinds)
        if through is not None:
            return Step(target, Link.TOGETHER, passage)
        if self._is_passage(u):
            return Step(target, Link.NAMES)
        if self._is_passage(v):
            return Step(target, Link.NAMED_IN)
        return Step(target, Link.SYNONYM if kinds[:1] == ("synonym",) else Link.RELATED)

    def _kinds(self, u: int, v: int) -> tuple[str, ...]:
        at = self.layer.entry(u, v)
        return () if at is None else kind_names(int(self.layer.edge_kinds[at]))
