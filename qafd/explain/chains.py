"""Chains: mass from a seed over two names or more to what the question asks for, hop by sentence.

All paths of mass, of which `qafd.explain.streams` has the largest, tell where the mass went, and most
of them end after one name. A chain is a path from name to name, each hop through a passage that has
both or over a relation. Those of two hops and more come first, as far as a fair part of the mass of
their first hop goes to their end, then those of one; among equals those that much mass took and
whose last sentence answers the question.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.explain.paths import shown
from qafd.explain.streams import Streams
from qafd.graph import Graph
from qafd.plan.asked import asked_for, brings, contradicts
from qafd.reading.text.bm25 import words
from qafd.records import QueryPlan, Vectors
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace
from qafd.storage.rows import SentenceName

LOOKED_AT = 4000  # beginnings of paths
ENDS = 40  # ways of one hop, and of more, whose sentences are read
LONGEST = 4  # names after the seed
LEAST = 1e-6  # share of the mass, below which nothing is followed
LED = 0.02  # share of the mass of the first hop, below which a chain leads nowhere
UNFIT = 0.25  # what a last sentence counts that brings nothing of the kind asked for


@dataclass(frozen=True)
class ChainHop:
    """From one name of a chain to the next: the sentence, and the mass that came this far.

    `document` holds both names; the sentence has both, else the next one. `name` is that of the
    next one as shown.
    """

    source: str
    target: str
    name: str
    sentence: str
    chunk: str
    document: str
    mass: float


@dataclass(frozen=True)
class Chain:
    """A path of mass from name to name; `nodes` has passages too, `start` is the seed as shown.

    `score` is the mass that reached the end times how well the last sentence answers the question.
    """

    nodes: tuple[str, ...]
    start: str
    hops: tuple[ChainHop, ...]
    score: float

    @property
    def mass(self) -> float:
        """What reached the end."""
        return self.hops[-1].mass

    @property
    def order(self) -> tuple[object, ...]:
        """What chains are sorted by."""
        return len(self.hops) < 2, -self.score, self.nodes


def find_chains(problem: Problem, streams: Streams, store: Workspace, most: int = 8
                ) -> tuple[Chain, ...]:
    """The best chains of a diffusion, one for each end, best first."""
    graph = problem.layer
    asked = set(words(problem.plan.words))
    reached = _reach(streams, graph)
    ended = []
    for path, masses in reached:
        row = int(streams.diffusion.rows[path[-1]])
        if not set(words(graph.names[row])) <= asked:
            ended.append((path, masses))
    sentences = _Sentences.of(graph, streams, [path for path, _ in ended], store)
    best: dict[int, Chain] = {}
    for path, masses in ended:
        chain = _chain(problem.plan, graph, streams, path, masses, sentences)
        if chain is not None and (path[-1] not in best or chain.score > best[path[-1]].score):
            best[path[-1]] = chain
    return tuple(sorted(best.values(), key=lambda chain: chain.order)[:most])


def _reach(streams: Streams, graph: Graph) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Ways to a name, over others or not, and the mass at each of their nodes.

    Those with most mass come first, weighed by the least alignment on the way: what leads on through
    something else than the question is about comes later.
    """
    d = streams.diffusion
    passage = graph.kinds[d.rows] == "passage"
    least = LEAST * float(d.source.sum())
    seeds = np.flatnonzero(d.source > 0)
    heap: list[tuple[float, tuple[int, ...], tuple[float, ...]]] = [
        (-float(d.source[i]), (i,), (float(d.source[i]),)) for i in seeds.tolist()]
    heapq.heapify(heap)
    found = []
    for _ in range(LOOKED_AT):
        if not heap:
            break
        _, path, masses = heapq.heappop(heap)
        last = path[-1]
        names = sum(not passage[i] for i in path[1:])
        first = next((mass for i, mass in zip(path[1:], masses[1:], strict=True) if not passage[i]), 0.0)
        if names and not passage[last] and not d.source[last] > 0 and masses[-1] >= LED * first:
            aligned = masses[-1] * float(d.alignment[list(path[1:])].min())
            found.append((aligned, path, masses, names))
        if names == LONGEST:
            continue
        for edge in streams.leaving[last].tolist():
            after, sent = int(d.v[edge]), masses[-1] * float(d.flow[edge] / streams.through[last])
            if sent > least and not (passage[last] and passage[after]):
                heapq.heappush(heap, (-sent, (*path, after), (*masses, sent)))
    found.sort(key=lambda one: (-one[0], one[1]))
    far = [(path, masses) for _, path, masses, names in found if names > 1]
    near = [(path, masses) for _, path, masses, names in found if names == 1]
    return [*far[:ENDS], *near[:ENDS]]


@dataclass(frozen=True, eq=False)
class _Sentences:
    """The sentences of some passages: where they are, their names and vectors; relations, too.

    `stated` has chunk and text of the sentence that states a relation, by its ends.
    """

    chunks: Mapping[str, str]
    texts: Mapping[str, tuple[str, str]]
    spans: Mapping[str, Sequence[tuple[int, int, Vectors]]]
    names: Mapping[tuple[str, int], Sequence[SentenceName]]
    stated: Mapping[frozenset[str], tuple[str, str]]

    @classmethod
    def of(cls, graph: Graph, streams: Streams, paths: Sequence[tuple[int, ...]],
           store: Workspace) -> "_Sentences":
        rows = {int(streams.diffusion.rows[i]) for path in paths for i in path}
        passages = [graph.ids[row] for row in rows if graph.kinds[row] == "passage"]
        names = [graph.ids[row] for row in rows if graph.kinds[row] != "passage"]
        chunks = {id: node.key for id, node in store.graph.nodes(passages).items()}
        evidence = {frozenset((edge.source, edge.target)): edge.evidence[0]
                    for edge in store.graph.edges(names)
                    if edge.kind == "relation" and edge.evidence}
        said = store.passages.sentence_texts(evidence.values())
        stated = {ends: (place[0], said[place]) for ends, place in evidence.items() if place in said}
        wanted = {*chunks.values(), *(chunk for chunk, _ in stated.values())}
        texts = {key: (one.document, one.text) for key, one in store.passages.get(wanted).items()}
        return cls(chunks, texts, store.passages.sentences(chunks.values()),
                   store.passages.names(chunks.values()), stated)

    def joining(self, source: str, target: str, passage: str, near: Callable[[Vectors], float]
                ) -> tuple[str, str, Vectors | None] | None:
        """Chunk, text and vector of the sentence behind a hop: with both names, else the next one.

        Of several the one that is nearest to the question.
        """
        if not passage:
            known = self.stated.get(frozenset((source, target)))
            return None if known is None else (*known, None)
        chunk = self.chunks.get(passage, "")
        found = []
        for start, end, vector in self.spans.get(chunk, ()):
            here = {name.node for name in self.names.get((chunk, end), ())}
            if target in here:
                found.append((source in here, near(vector), start, end, vector))
        if not found:
            return None
        _, _, start, end, vector = max(found, key=lambda one: one[:4])
        return chunk, self.texts[chunk][1][start:end], vector

    def type_of(self, node: str) -> list[SentenceName]:
        """The name as sentences have it, with its type."""
        for some in self.names.values():
            for name in some:
                if name.node == node:
                    return [name]
        return []


def _chain(plan: QueryPlan, graph: Graph, streams: Streams, path: tuple[int, ...],
           masses: tuple[float, ...], sentences: _Sentences) -> Chain | None:
    """A way as a chain; None where a hop has no sentence, or the end is nothing that is asked for."""
    def near(vector: Vectors) -> float:
        return float(vector @ plan.embedding)

    ids = [graph.ids[int(streams.diffusion.rows[i])] for i in path]
    passage = [graph.kinds[graph.row[id]] == "passage" for id in ids]
    hops: list[ChainHop] = []
    before, vector, last = 0, None, ""
    for at in range(1, len(path)):
        if passage[at]:
            continue
        through = ids[at - 1] if passage[at - 1] else ""
        joined = sentences.joining(ids[before], ids[at], through, near)
        if joined is None:
            return None
        chunk, last, vector = joined
        hops.append(ChainHop(ids[before], ids[at], shown(graph, graph.row[ids[at]]),
                             " ".join(last.split()), chunk, sentences.texts[chunk][0], masses[at]))
        before = at
    kind, said, end = asked_for(plan.question), set(words(plan.words)), sentences.type_of(ids[-1])
    if contradicts(kind, {name.type for name in end}):
        return None
    fits = brings(kind, last, end, said)
    answers = 0.5 if vector is None else max(near(vector), 0.01)
    score = masses[-1] * answers * max(fits, UNFIT)
    return Chain(tuple(ids), shown(graph, graph.row[ids[0]]), tuple(hops), score)


def best_chains(found: Sequence[tuple[Chain, ...]], most: int) -> tuple[Chain, ...]:
    """The best of the chains of several diffusions."""
    listed = [chain for chains in found for chain in chains]
    return tuple(sorted(listed, key=lambda chain: chain.order)[:most])
