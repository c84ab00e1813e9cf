"""Energy from sentences and summaries over entities to passages, and its paths, after FlowRAG."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import islice
from typing import ClassVar

import numpy as np

from qafd.flow.weights import clip
from qafd.graph import Graph, sum_at
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    SATURATED,
    WET,
    Corpus,
    Method,
    Retrieval,
    RetrievedEdge,
    RetrievedNode,
    Structure,
    StructureKind,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Summaries
from qafd.retrieve.subgraph import foremost, nodes, rank_passages

NAME = 60  # characters of a sentence that a reason quotes

Path = tuple[float, tuple[int, ...]]
"""A score and the graph rows of a path, from an entity to a passage."""


@dataclass(frozen=True)
class FlowPaths(Method):
    """Energy flows from the sentences and summaries nearest to the question to passages.

    Zhan et al., "FlowRAG": the quad-level graph of section 3.2 (layers "sentences" and
    "summaries"), dual-granularity activation Eq. (3-5), frequency-aware flow Eq. (6-7), paths
    scored by Eq. (8). Passages are ranked by R, the energy a node received over all hops.

    Where the paper is silent: summaries are extractive; a cosine counts 0.001 at least;
    energy that reaches a node from several neighbors adds up before it is compared with tau,
    which is `prune` times the largest energy of the hop; from a passage to its entities
    W = C, whose rows sum to 1 by Eq. (2); a summary, bound to its passage by lambda = 1, sends
    it decay times its cosine, as no equation uses B. Paths visit no node twice, those of
    one hop come last, and the best are exact up to three hops. Retrieved are the activated
    entities and the nodes on the best paths; other nodes with energy are only touched.
    """

    label: ClassVar[str] = "FlowRAG paths"
    idea: ClassVar[str] = ("energy from matching sentences and summaries flows by term frequency, "
                           "and the best paths are kept; a re-implementation of the idea, on this "
                           "graph")
    source: ClassVar[str] = "Zhan et al., FlowRAG"
    needs: ClassVar[tuple[str, ...]] = ("sentences", "summaries")

    breadth: int = knob(5, 1, 50, help="K of Eq. (4) and (5): how many sentences, and how many "
                        "summaries, activate their entities.")
    decay: float = knob(0.8, 0.05, 0.99, help="alpha of Eq. (7): the share of the energy that goes "
                        "on at each hop.")
    paths: int = knob(5, 1, 50, help="How many paths are kept.")
    hops: int = knob(3, 1, 7, advanced=True, help="1 reaches the passages of the activated "
                     "entities, 3 those of the entities these passages mention.")
    prune: float = knob(0.05, 0.0, 0.5, advanced=True, help="tau of Eq. (7) as a share of the "
                        "largest energy of the hop.")
    macro: str = knob("on", options=("on", "off"), advanced=True, help="Summaries activate their "
                      "entities and feed their passages; off as in the ablation of Figure 3.")
    frequency: str = knob("on", options=("on", "off"), advanced=True, help="Energy prefers passages "
                          "where a name is frequent, Eq. (2); off, all names of a passage count alike.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the nodes that energy reaches, how it flowed, and the best paths in the reasons.

        Raises
        ------
        MissingLayerError
            When "sentences" or "summaries" is not built.
        """
        graph, sentences = corpus.graph, corpus.layer("sentences")
        micro = _Branch("sentence", sentences, plan, self.breadth)
        macro = _Branch("summary", corpus.layer("summaries"), plan,
                        self.breadth if self.macro == "on" else 0)
        if self.frequency == "off":
            sentences = replace(sentences, contains=_once(sentences.contains))
        start = np.maximum(micro.activation(len(graph)), macro.activation(len(graph)))  # Eq. (3)
        bound = np.zeros(len(graph))
        np.add.at(bound, macro.passages, self.decay * macro.cosines)
        flow = spread(sentences, start, bound, hops=self.hops, decay=self.decay, prune=self.prune)
        paths = best_paths(graph, flow, self.paths)
        passages = corpus.passages.rows[flow.energy[corpus.passages.rows] > 0]
        order = passages[foremost(graph, passages, flow.energy[passages], self.top)]
        listed = (*_nodes(graph, plan, flow, start, paths, (micro, macro)),
                  *micro.nodes(graph), *macro.nodes(graph))
        lines = (*micro.edges(graph, start), *macro.edges(graph, start),
                 *_bindings(graph, macro, self.decay, flow), *_edges(graph, flow))
        return Retrieval(
            query=plan.question, method="flow_path", params=params_of(self),
            seeds=tuple(sorted(node.id for node in listed if node.seed)),
            nodes=tuple(sorted(listed, key=lambda n: (-n.importance, n.id))), edges=lines,
            ranking=rank_passages(graph, order, flow.energy[order]),
            revision=graph.revision,
            structures=tuple(Structure(StructureKind.PATH, score, graph.ids_of(rows))
                             for score, rows in paths))


def _once(contains: Nodes) -> Nodes:
    """Return the pairs of passage and entity, every count 1."""
    ends = contains[:, :2]
    return np.column_stack([ends, np.ones(len(ends), np.int64)])


class _Branch:
    """One branch of the activation, Eq. (4) or (5): the K nearest texts and their entities.

    `nearest` and `cosines` have shape (K,), best first; `links` are pairs (place among the
    nearest, graph row of the entity).
    """

    def __init__(self, kind: str, layer: Sentences | Summaries, plan: QueryPlan,
                 breadth: int) -> None:
        cosines = (layer.vectors @ plan.embedding).astype(np.float64)
        self.kind, self.layer = kind, layer
        self.nearest: Nodes = np.argsort(-cosines, kind="stable")[:breadth]
        self.cosines: Floats = clip(cosines[self.nearest])
        self.passages: Nodes = layer.passage[self.nearest]
        inside = layer.mentions[np.isin(layer.mentions[:, 0], self.nearest)]
        place = {text: at for at, text in enumerate(self.nearest.tolist())}
        self.links: list[tuple[int, int]] = [
            (place[text], row) for text, row in inside.tolist()]

    def activation(self, n: int) -> Floats:
        """Return S(q, e) of every graph row, shape (n,)."""
        activation = np.zeros(n)
        for place, row in self.links:
            activation[row] = max(activation[row], self.cosines[place])
        return activation

    def id(self, graph: Graph, place: int) -> str:
        return self.layer.id(graph, int(self.nearest[place]))

    def nodes(self, graph: Graph) -> Iterator[RetrievedNode]:
        for place, text in enumerate(self.nearest.tolist()):
            entities = sum(at == place for at, _ in self.links)
            cosine = float(self.cosines[place])
            name = (self.layer.texts[text] if self.kind == "sentence" else
                    f"Summary of {graph.names[int(self.passages[place])]}")
            yield RetrievedNode(
                self.id(graph, place), name, self.kind, cosine, 0.0, WET,
                reason(_NEAR[self.kind], place=place + 1, cosine=cosine, count=entities),
                degree=entities, seed=True, alignment=cosine)

    def edges(self, graph: Graph, start: Floats) -> Iterator[RetrievedEdge]:
        """Yield links to entities; the one that activates its entity carries the energy."""
        for place, row in self.links:
            cosine = float(self.cosines[place])
            yield RetrievedEdge(self.id(graph, place), graph.ids[row], _LINK[self.kind],
                                cosine if cosine == start[row] else 0.0, 1.0)


_NEAR = {"sentence": ReasonKind.NEAR_SENTENCE, "summary": ReasonKind.NEAR_SUMMARY}
_INSIDE = {"sentence": ReasonKind.IN_SENTENCE, "summary": ReasonKind.IN_SUMMARY}
_LINK = {"sentence": "mention", "summary": "abstraction"}


@dataclass(frozen=True, eq=False)
class Hop:
    """The energy that one hop moved: from `source` to `target`, graph rows, shape (e,)."""

    source: Nodes
    target: Nodes
    moved: Floats


@dataclass(frozen=True, eq=False)
class Flow:
    """The flow of Eq. (7): hops, and R of each graph row, summed over them, shape (n,)."""

    hops: tuple[Hop, ...]
    energy: Floats


def spread(sentences: Sentences, start: Floats, bound: Floats, *, hops: int, decay: float,
           prune: float) -> Flow:
    """Spread energy over entities and passages in turn, Eq. (6-7).

    Parameters
    ----------
    start : ndarray, shape (n,)
        Activation a of the entities, Eq. (3).
    bound : ndarray, shape (n,)
        Energy that arrives at passages with the first hop, from their summaries.
    prune : float
        Energy of at most this share of the hop's largest is cut off.
    """
    passage, entity = sentences.contains[:, 0], sentences.contains[:, 1]
    n, share = len(start), sentences.frequency
    total = np.bincount(entity, share, n)
    onward = share / total[entity] if len(share) else share  # Eq. (6)
    energy = start.copy()
    now: Floats = start
    done: list[Hop] = []
    for number in range(hops):
        source, target, weight = ((entity, passage, onward) if number % 2 == 0
                                  else (passage, entity, share))
        moved = decay * now[source] * weight
        now = sum_at(target, moved, n) + (bound if number == 0 else 0.0)
        now[now <= prune * now.max(initial=0.0)] = 0.0
        kept = (moved > 0) & (now[target] > 0)
        done.append(Hop(source[kept], target[kept], moved[kept]))
        energy += now
        if not now.any():
            break
    return Flow(tuple(done), energy)


def best_paths(graph: Graph, flow: Flow, count: int) -> list[Path]:
    """Return the `count` paths from an activated entity to a passage with the largest mean energy.

    Score(P) of Eq. (8); ties by the ids along the path. A path of one hop only says that a passage has a
    name, and a mean favors short paths: so these come last. For every edge the best paths that
    arrive over it are kept, so that a path that may not turn back finds another way.
    """
    def order(path: Path) -> tuple[float, tuple[str, ...]]:
        return -path[0], graph.ids_of(path[1])

    arriving: dict[int, list[Path]] = {}
    ended: list[Path] = []
    for number, hop in enumerate(flow.hops):
        if number == 0:
            arriving = {row: [(float(flow.energy[row]), (row,))]
                        for row in np.unique(hop.source).tolist()}
        reached: defaultdict[int, list[Path]] = defaultdict(list)
        for u, v in zip(hop.source.tolist(), hop.target.tolist(), strict=True):
            onward = (path for path in arriving.get(u, ()) if v not in path[1])
            reached[v] += [(total + float(flow.energy[v]), (*rows, v))
                           for total, rows in islice(onward, count)]
        arriving = {row: sorted(some, key=order) for row, some in reached.items()}
        if number % 2 == 0:
            ended += [(total / len(rows), rows) for some in arriving.values()
                      for total, rows in some]
    return nsmallest(count, ended, key=lambda path: (len(path[1]) == 2, order(path)))


def _nodes(graph: Graph, plan: QueryPlan, flow: Flow, start: Floats, paths: Sequence[Path],
           branches: Sequence[_Branch]) -> tuple[RetrievedNode, ...]:
    """Return entities and passages with energy, and why."""
    why = _activations(branches, start)
    activated = set(why)
    for place, (score, path) in enumerate(paths, 1):
        way = tuple(graph.names[row] for row in path)
        on_path = reason(ReasonKind.ON_FLOW_PATH, first=way[0], last=way[-1], way=way,
                         place=place, count=len(paths), score=score)
        for row in path:
            if row not in why:
                why[row] = on_path
            elif row in activated and not why[row].also:
                why[row] = replace(why[row], also=(on_path,))
    retrieved = set(why)
    largest = _largest_inflows(flow)
    rows = np.flatnonzero(flow.energy)
    for row in rows.tolist():
        energy = float(flow.energy[row])
        if row in why:
            continue
        if row in largest:
            why[row] = reason(ReasonKind.ENERGY_FROM, name=graph.names[largest[row]], energy=energy)
        else:
            why[row] = reason(ReasonKind.ENERGY, energy=energy)
    return nodes(graph.layer({"mention"}), plan, rows, flow.energy[rows],
                 [why[row] for row in rows.tolist()], seeds=set(np.flatnonzero(start).tolist()),
                 states=[SATURATED if row in retrieved else WET for row in rows.tolist()])


def _activations(branches: Sequence[_Branch], start: Floats) -> dict[int, Reason]:
    """Return for each activated entity the first text that gave it its energy."""
    why: dict[int, Reason] = {}
    for branch in branches:
        for place, row in branch.links:
            if branch.cosines[place] == start[row] and row not in why:
                text = branch.layer.texts[int(branch.nearest[place])]
                why[row] = reason(_INSIDE[branch.kind], text=_short(text), place=place + 1,
                                  cosine=float(start[row]))
    return why


def _largest_inflows(flow: Flow) -> dict[int, int]:
    """Find for each row the source of the most energy that moved to it in one hop."""
    largest: dict[int, tuple[float, int]] = {}
    for hop in flow.hops:
        for u, v, moved in zip(hop.source.tolist(), hop.target.tolist(), hop.moved.tolist(),
                               strict=True):
            largest[v] = max(largest.get(v, (0.0, -1)), (moved, u))
    return {v: u for v, (_, u) in largest.items()}


def _edges(graph: Graph, flow: Flow) -> Iterator[RetrievedEdge]:
    """Yield the edges between entities and passages, with the net energy over all hops."""
    net: defaultdict[tuple[int, int], float] = defaultdict(float)
    for number, hop in enumerate(flow.hops):
        for u, v, moved in zip(hop.source.tolist(), hop.target.tolist(), hop.moved.tolist(),
                               strict=True):
            net[(u, v) if number % 2 == 0 else (v, u)] += moved if number % 2 == 0 else -moved
    for (entity, passage), moved in sorted(net.items()):
        ends = (entity, passage) if moved >= 0 else (passage, entity)
        yield RetrievedEdge(graph.ids[ends[0]], graph.ids[ends[1]], "mention", abs(moved), 1.0)


def _bindings(graph: Graph, macro: _Branch, decay: float,
              flow: Flow) -> Iterator[RetrievedEdge]:
    """Yield the links of the activating summaries to their passages, less those that a hop pruned."""
    for place, row in enumerate(macro.passages.tolist()):
        moved = decay * float(macro.cosines[place])
        if moved > 0 and flow.energy[row] > 0:
            yield RetrievedEdge(macro.id(graph, place), graph.ids[row], "binding", moved, 1.0)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NAME else line[:NAME - 1] + "…"
