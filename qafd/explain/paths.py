"""Paths of mass in words: who stands in which relation to whom, and where that is written."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qafd.explain.streams import PathFlow
from qafd.graph import Graph, kind_names
from qafd.reading.text.plaintext import one_line
from qafd.records import Edge, Node


@dataclass(frozen=True)
class ReasoningPath:
    """A path of mass: node ids from a seed to where the mass is held, and the path in words.

    `share` is its part of all mass that is told of, between 0 and 1; `part` the subquery whose
    diffusion it belongs to, from 1, and 0 in an undivided question.
    """

    nodes: tuple[str, ...]
    mass: float
    share: float
    words: str
    part: int = 0


ROUNDING = 1e-12  # share of the mass below which the rest of the paths is none


@dataclass(frozen=True)
class Paths:
    """The largest paths; `rest` is the mass of all others, so that it adds up to `total`."""

    paths: tuple[ReasoningPath, ...]
    total: float
    rest: float


def links(paths: Iterable[ReasoningPath]) -> tuple[tuple[str, str, float], ...]:
    """Edges of some paths with the mass that these paths send over each: (from, to, mass)."""
    sent: dict[tuple[str, str], float] = {}
    for path in paths:
        for pair in pairwise(path.nodes):
            sent[pair] = sent.get(pair, 0.0) + path.mass
    return tuple((u, v, mass) for (u, v), mass in sent.items())


def shown(graph: Graph, row: int) -> str:
    """The name of a row on one line; a passage begins with a pilcrow."""
    name = one_line(graph.names[row], 80).strip() or "(no name)"
    return f"¶ {name}" if graph.kinds[row] == "passage" else name


def worded(graph: Graph, layer: Graph, found: Sequence[PathFlow], total: float,
           nodes: Callable[[Iterable[str]], Mapping[str, Node]],
           edges: Callable[[Iterable[str]], Sequence[Edge]]) -> Paths:
    """Paths in words.

    Parameters
    ----------
    nodes, edges : callable
        Those of the store, for some node ids.
    """
    rows = sorted({row for path in found for row in path.rows})
    keys = {i: node.key for i, node in nodes(
        graph.ids[row] for row in rows if graph.kinds[row] == "passage").items()}
    names = [graph.ids[row] for row in rows if graph.kinds[row] != "passage"]
    said: dict[frozenset[str], list[Edge]] = {}
    inside = set(names)
    for edge in edges(names):
        if edge.kind == "relation" and edge.label and {edge.source, edge.target} <= inside:
            said.setdefault(frozenset((edge.source, edge.target)), []).append(edge)
    speaker = _Speaker(graph, layer, keys, said)
    rest = total - math.fsum(path.mass for path in found)
    return Paths(
        tuple(ReasoningPath(tuple(graph.ids[row] for row in path.rows), path.mass,
                         path.mass / total if total > 0 else 0.0, speaker.path(path.rows))
              for path in found),
        total, rest if rest > ROUNDING * total else 0.0)


@dataclass(frozen=True)
class _Speaker:
    graph: Graph
    layer: Graph
    keys: Mapping[str, str]
    said: Mapping[frozenset[str], Sequence[Edge]]

    def path(self, rows: Sequence[int]) -> str:
        """"A — founded → B" for each step; two names of one passage are one step."""
        words, i = shown(self.graph, rows[0]), 0
        if len(rows) == 1:
            return f"{words}, held where it was poured"
        while i + 1 < len(rows):
            step = 2 if i + 2 < len(rows) and self._passage(rows[i + 1]) and not (
                self._passage(rows[i]) or self._passage(rows[i + 2])) else 1
            words += self._step(rows[i: i + step + 1]) + shown(self.graph, rows[i + step])
            i += step
        return words

    def _passage(self, row: int) -> bool:
        return str(self.graph.kinds[row]) == "passage"

    def _step(self, rows: Sequence[int]) -> str:
        u, v = self.graph.ids[rows[0]], self.graph.ids[rows[-1]]
        by = self.keys.get(self.graph.ids[rows[1]]) if len(rows) == 3 else None
        place = f" in {shown(self.graph, rows[1])}" if len(rows) == 3 else ""
        for edge in self.said.get(frozenset((u, v)), ()):
            if by is None or by in {chunk for chunk, _ in edge.evidence}:
                added = not edge.evidence and "by_hand" in self._kinds(rows[0], rows[-1])
                label = one_line(edge.label, 60) + " (added by hand)" * added
                if place and label.rpartition(" ")[2] == "in":
                    label = f"“{label}”"
                return f" — {label}{place} → " if edge.source == u else f" ← {label}{place} — "
        if place:
            return f" — named together{place} → "
        if self._passage(rows[0]):
            return " — names → "
        if self._passage(rows[-1]):
            return " — is named in → "
        return (" — has nearly the same name as → "
                if self._kinds(rows[0], rows[-1])[:1] == ("synonym",) else " — is related to → ")

    def _kinds(self, u: int, v: int) -> tuple[str, ...]:
        at = self.layer.entry(u, v)
        return () if at is None else kind_names(int(self.layer.edge_kinds[at]))
