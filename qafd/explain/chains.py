"""Chains: from a seed over names to a name of the asked kind, with a sentence for each hop.

All paths of mass, of which `qafd.explain.decomposition` has the largest, tell where the mass went, and most
of them end after one name: a passage takes mass to every name that it has. A chain goes from name to
name, over the links of two names that were retrieved or are in a ranked passage: a relation, a sentence
with both or, weaker, a passage with both. The best have strong hops and many words of the question.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, permutations

import numpy as np

from qafd.explain.decomposition import Streams
from qafd.explain.paths import row_name
from qafd.plan.kinds import rate_kind
from qafd.plan.question import parse_question
from qafd.reading.text.bm25 import content_words, stem, words
from qafd.records import Vectors, node_id
from qafd.retrieve.base import RankedPassage
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace
from qafd.storage.rows import SentenceName

LONGEST = 3  # hops
LOOKED_AT = 1500  # beginnings of chains
WAYS = 3  # chains of one length to one name that are gone on from
FAN = 40  # names that one name is gone on to
FIRM = {"relation": 1.0, "sentence": 1.0, "passage": 0.35}  # strength of a hop by the link of its ends
HALF = 5  # place in the ranking where a passage counts half as much as the first
UNRANKED = 0.05  # how much a passage counts that is not ranked
BARE = 0.1  # factor of a chain without words of the question
UNFIT = 0.25  # factor of a last sentence without a name of the asked kind
FAR = 0.01  # cosine with the question, below which sentences are equally far from it


@dataclass(frozen=True)
class ChainHop:
    """A hop from one node of a chain to the next, joined by `sentence` of a passage of `document`.

    `level` is "relation", which `label` names, or "sentence", where the sentence has both names, or
    "passage", where its passage has both, and it the next one, or the one before in a passage that is
    titled with the next. `name` is that of the next one as shown.
    `flow` units of mass run this way over an edge between the two or through that passage, 0 where
    mass came to the next one by another way.
    """

    source: str
    target: str
    name: str
    level: str
    label: str
    sentence: str
    chunk: str
    document: str
    flow: float


@dataclass(frozen=True)
class Chain:
    """A way from a seed, shown as `start`, to a name of the asked kind, name by name.

    `score`, in [0, 1.1], is the product of how sure each hop is, how near its sentences together are
    to the question, how many of its words they have, and how well the last one answers it. `covered`
    is the share of the words of the question that the chain has.
    """

    nodes: tuple[str, ...]
    start: str
    hops: tuple[ChainHop, ...]
    score: float
    covered: float


def find_chains(problem: Problem, streams: Streams, ranking: Sequence[RankedPassage],
                store: Workspace, most: int, end: int | None = None) -> tuple[Chain, ...]:
    """Find the best chains of a diffusion, one for each end, best first.

    They begin at the names that are seeds, or where none is, at the passages that are. With `end` they
    end at this row, which need not be of the kind that was asked for.
    """
    search = _ChainSearch(problem, streams, ranking, store, end)
    best: dict[int, tuple[float, float, tuple[int, ...]]] = {}
    for rows in search.reach():
        score, covered = search.rate(rows)
        if score > best.get(rows[-1], (0.0,))[0]:
            best[rows[-1]] = score, covered, rows
    return best_chains((search.make_chain(*one) for one in best.values()), most)


def best_chains(found: Iterable[Chain], most: int) -> tuple[Chain, ...]:
    """Select the best chains of several diffusions, one for each end.

    Those of one hop come after the others, unless the question needs no more: they have then as much
    of its words as any.
    """
    best: dict[str, Chain] = {}
    for chain in found:
        known = best.setdefault(chain.nodes[-1], chain)
        if chain.score > known.score:
            best[chain.nodes[-1]] = chain
    told = max((chain.covered for chain in best.values()), default=0.0)
    return tuple(sorted(best.values(), key=lambda chain: (
        len(chain.hops) < 2 and chain.covered < told, -chain.score, chain.nodes))[:most])


@dataclass(frozen=True, eq=False)
class _Joint:
    """A sentence that joins two nodes; `passage` is its row, `strength` how much the hop counts."""

    level: str
    chunk: str
    passage: int
    text: str
    vector: Vectors = field(repr=False)
    firm: float
    near: float

    @property
    def strength(self) -> float:
        return self.firm * self.near


class _ChainSearch:
    """The links between names, and the ways over them.

    Names are those that mass reached, and those of ranked passages that had no mass to pass on.
    """

    def __init__(self, problem: Problem, streams: Streams, ranking: Sequence[RankedPassage],
                 store: Workspace, end: int | None) -> None:
        self._graph, self._plan, self._diffusion = problem.layer, problem.plan, streams.diffusion
        self._problem, self._streams = problem, streams
        parse = parse_question(self._plan.words)
        self._kind, self._said, self._asked = parse.asked, parse.words, parse.stems
        self._seeds = self._diffusion.rows[self._diffusion.source > 0].tolist()
        self._joints: dict[int, dict[int, _Joint]] = defaultdict(dict)
        self._types: dict[int, SentenceName] = {}
        self._place = {passage.id: place for place, passage in enumerate(ranking)}
        self._end = end
        d, ids, kinds = self._diffusion, self._graph.ids, self._graph.kinds
        reached = d.rows[d.mass > 0].tolist()
        self._names = {ids[row]: row for row in reached if kinds[row] != "passage"}
        ranked = {node.key for node in store.graph.nodes(self._place).values()}
        mentions = store.passages.names(ranked)
        for group in mentions.values():
            known = [name.node for name in group if name.node in self._graph.row]
            self._names |= {node: self._graph.row[node] for node in known}
        passages = [ids[row] for row in reached if kinds[row] == "passage"]
        self._read(ranked | {node.key for node in store.graph.nodes(passages).values()}, mentions, store)

    def _read(self, chunks: set[str], mentions: dict[tuple[str, int], list[SentenceName]], store: Workspace
              ) -> None:
        """Read the sentences of some passages, and of those that support relations.

        `mentions` are the names already known in some of them.
        """
        inside = [edge for edge in store.graph.edges(self._names, "relation")
                  if {edge.source, edge.target} <= self._names.keys()]
        self._labels = {frozenset((self._names[edge.source], self._names[edge.target])): edge
                        for edge in inside if edge.label}
        for edge in inside:
            chunks.update(chunk for chunk, _ in edge.evidence)
        # others may have added passages since the graph was read
        self._texts = {key: (one.document, one.text) for key, one in store.passages.get(chunks).items()
                       if node_id("passage", key) in self._graph.row}
        mentions = mentions | store.passages.names(chunks - {chunk for chunk, _ in mentions})
        spans = store.passages.sentences(chunks)
        self._stating = store.passages.sentence_texts(
            {place for edge in self._labels.values() for place in edge.evidence})
        for chunk in sorted(self._texts):
            sentences = []
            for start, end, vector in spans.get(chunk, ()):
                present = [name for name in mentions.get((chunk, end), ()) if name.node in self._names]
                sentences.append((self._texts[chunk][1][start:end], vector, present))
            self._join(chunk, sentences)

    def _join(self, chunk: str, sentences: Sequence[tuple[str, Vectors, Sequence[SentenceName]]]) -> None:
        """Add the links between the names of a passage: its sentences, and the passage itself."""
        passage = self._graph.row[node_id("passage", chunk)]
        ranked = self._place.get(self._graph.ids[passage])
        trust = UNRANKED if ranked is None else 1 / (1 + ranked / HALF)
        naming: dict[int, _Joint] = {}
        for text, vector, mentions in sentences:
            near = max(float(vector @ self._plan.embedding), FAR)
            present = {self._names[name.node]: name for name in mentions}
            self._types |= present
            for u, v in permutations(present, 2):
                level = "relation" if self._states(u, v, text) else "sentence"
                self._offer(u, v, _Joint(level, chunk, passage, text, vector,
                                         FIRM[level] * trust ** 0.5, near))
            for v in present:
                if v not in naming or near > naming[v].near:
                    naming[v] = _Joint("passage", chunk, passage, text, vector, trust ** 0.5, near)
        title = self._title(passage)
        inside = {*naming, passage} | ({title} & set(self._names.values()))
        for v, link in naming.items():
            for u in inside - {v}:
                # Its sentences are about the name in its title, also those with "she".
                joint = naming[u] if v == title and u in naming and naming[u].near > link.near else link
                firm = joint.firm if title in (u, v) else joint.firm * FIRM["passage"]
                self._offer(u, v, _Joint("passage", chunk, passage, joint.text, joint.vector, firm,
                                         joint.near))

    def _offer(self, u: int, v: int, joint: _Joint) -> None:
        known = self._joints[u].get(v)
        if known is None or joint.strength > known.strength:
            self._joints[u][v] = joint

    def _states(self, u: int, v: int, text: str) -> bool:
        """Return True if a sentence states a labeled relation of two names."""
        edge = self._labels.get(frozenset((u, v)))
        return edge is not None and text in [self._stating.get(place) for place in edge.evidence]

    def _title(self, passage: int) -> int:
        """Return the row of the name that a passage is titled with, -1 for none."""
        passages = self._problem.corpus.passages
        return int(passages.title[np.searchsorted(passages.rows, passage)])

    def reach(self) -> Iterator[tuple[int, ...]]:
        """Find ways from a seed over names, the surest first; each hop has a sentence of its own."""
        kinds = self._graph.kinds
        starts = [row for row in self._seeds if kinds[row] != "passage"] or self._seeds
        heap: list[tuple[float, tuple[int, ...], tuple[str, ...]]] = [(-1.0, (row,), ()) for row in starts]
        heapq.heapify(heap)
        been: Counter[tuple[int, int]] = Counter()
        for _ in range(LOOKED_AT):
            if not heap:
                return
            sure, rows, told = heapq.heappop(heap)
            been[rows[-1], len(rows)] += 1
            if been[rows[-1], len(rows)] > WAYS:
                continue
            if len(rows) > 1:
                yield rows
            if len(rows) > LONGEST:
                continue
            onward = self._joints.get(rows[-1], {})
            for row in heapq.nlargest(FAN, onward, key=lambda v: (onward[v].strength, -v)):
                if row not in rows and kinds[row] != "passage" and onward[row].text not in told:
                    heapq.heappush(heap, (sure * onward[row].strength, (*rows, row),
                                          (*told, onward[row].text)))

    def rate(self, rows: Sequence[int]) -> tuple[float, float]:
        """Score a chain, and return the share of the question's words in it; 0 if its end cannot be
        the answer."""
        end, graph = rows[-1], self._graph
        if end != self._end and (self._end is not None or end in self._seeds
                                or set(words(graph.names[end])) <= self._said):
            return 0.0, 0.0
        joints = [self._joints[u][v] for u, v in pairwise(rows)]
        had = frozenset[str]().union(*(_stems(joint.text) for joint in joints),
                                     *(_stems(graph.names[row]) for row in rows[:-1]))
        covered = len(self._asked & had) / max(len(self._asked), 1)
        together = np.sum([joint.vector for joint in joints], axis=0)
        together = together / np.linalg.norm(together)
        near = max(float(together @ self._plan.embedding), FAR)
        fits = 1.0
        if end != self._end:
            fits = max(rate_kind(self._kind, joints[-1].text, [self._types[end]], self._said), UNFIT)
        firm = float(np.prod([joint.firm for joint in joints]))
        return firm * near * fits * (BARE + covered), covered

    def make_chain(self, score: float, covered: float, rows: tuple[int, ...]) -> Chain:
        """Make the chain of some rows with its sentences."""
        graph, hops = self._graph, []
        for u, v in pairwise(rows):
            joint, edge = self._joints[u][v], self._labels.get(frozenset((u, v)))
            label = edge.label if edge is not None and joint.level == "relation" else ""
            hops.append(ChainHop(graph.ids[u], graph.ids[v], row_name(graph, v), joint.level, label,
                                 " ".join(joint.text.split()), joint.chunk,
                                 self._texts[joint.chunk][0], self._flow(u, v, joint.passage)))
        return Chain(graph.ids_of(rows), row_name(graph, rows[0]), tuple(hops), score,
                     covered)

    def _flow(self, u: int, v: int, passage: int) -> float:
        """Return the mass that runs from one row to another over an edge, or through a passage."""
        carried = dict(self._streams.carriers(u, v, ()))
        return carried.get(None, 0.0) + carried.get(passage, 0.0)


@lru_cache(maxsize=20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, content_words(text)))
