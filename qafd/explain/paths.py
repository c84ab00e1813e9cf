"""Reasoning paths: the ways of mass, with the links between neighbors on them (A2.2.1)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from qafd.explain.decomposition import PathFlow
from qafd.graph import Graph, kind_names
from qafd.reading.text.plaintext import one_line
from qafd.records import Edge
from qafd.storage import Workspace


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
    `share` is its part of all the mass, between 0 and 1; `part` the diffusion that
    it belongs to, from 1, and 0 where there is one alone.
    """

    nodes: tuple[str, ...]
    mass: float
    start: str
    steps: tuple[Step, ...]
    share: float = 0.0
    part: int = 0


@dataclass(frozen=True)
class Paths:
    """The largest paths; `rest` is the mass of all others, so that it adds up to `total`."""

    paths: tuple[ReasoningPath, ...]
    total: float
    rest: float


def describe_paths(graph: Graph, layer: Graph, found: Sequence[PathFlow], store: Workspace
                   ) -> list[ReasoningPath]:
    """Describe paths over a layer of a graph with the stored links between their nodes."""
    ids: dict[bool, list[str]] = {True: [], False: []}  # of passages, and of names
    for row in sorted(set().union(*(path.rows for path in found))):
        ids[graph.kinds[row] == "passage"].append(graph.ids[row])
    chunks = {id: node.key for id, node in store.graph.nodes(ids[True]).items()}
    relations: dict[frozenset[str], list[Edge]] = defaultdict(list)
    for edge in store.graph.edges(ids[False], "relation"):
        if edge.label:
            relations[frozenset((edge.source, edge.target))].append(edge)
    joints = _Joints(graph, layer, chunks, relations)
    return [ReasoningPath(graph.ids_of(path.rows), path.mass, row_name(graph, path.rows[0]),
                          joints.steps(path.rows)) for path in found]


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
class _Joints:
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

    def steps(self, rows: Sequence[int]) -> tuple[Step, ...]:
        """Return the steps of a path of rows."""
        steps, i = [], 0
        while i + 1 < len(rows):
            kinds = [self.graph.kinds[row] == "passage" for row in rows[i:i + 3]]
            through = rows[i + 1] if kinds == [False, True, False] else None
            end = i + 1 if through is None else i + 2
            steps.append(self._step(rows[i], rows[end], through))
            i = end
        return tuple(steps)

    def _step(self, u: int, v: int, through: int | None) -> Step:
        graph, target = self.graph, row_name(self.graph, v)
        passage = "" if through is None else row_name(graph, through)
        chunk = None if through is None else self.chunks.get(graph.ids[through])
        at = self.layer.entry(u, v)
        kinds = () if at is None else kind_names(int(self.layer.edge_kinds[at]))
        for edge in self.relations.get(frozenset((graph.ids[u], graph.ids[v])), ()):
            if chunk is None or chunk in {stated for stated, _ in edge.evidence}:
                return Step(target, Link.STATED, passage, one_line(edge.label, 60),
                            edge.source == graph.ids[u], not edge.evidence and "by_hand" in kinds)
        if through is not None:
            return Step(target, Link.TOGETHER, passage)
        if graph.kinds[u] == "passage":
            return Step(target, Link.NAMES)
        if graph.kinds[v] == "passage":
            return Step(target, Link.NAMED_IN)
        return Step(target, Link.SYNONYM if kinds[:1] == ("synonym",) else Link.RELATED)
