"""Evidence that two entities are related, and the matching of conditions to it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from qafd.graph import Graph
from qafd.reading.text.bm25 import stem
from qafd.records import Nodes, QueryCondition
from qafd.retrieve.layers.sentences import Sentences

LEVELS = ("relation", "sentence", "passage")
"""Strongest first."""
READ = 10  # sentences with both names that are compared with the question
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class JointSentence:
    """A sentence that shows that two entities are related, and its passage, by graph row.

    `fit` is the share of the asked words that the sentence has; without a sentence `text` is "".
    """

    passage: int
    text: str
    fit: float


class EvidenceIndex:
    """Index of related entities with their evidence, read on demand.

    Parameters
    ----------
    levels : sequence of str
        Those of `LEVELS` that count, strongest first.
    """

    def __init__(self, graph: Graph, sentences: Sentences, levels: Sequence[str] = LEVELS) -> None:
        self.graph, self.levels = graph, levels
        self._sentences = sentences
        self._relations, self._mentions = graph.layer({"relation"}), graph.layer({"mention"})
        self._near: dict[tuple[int, str], Nodes] = {}

    def near(self, row: int, level: str) -> Nodes:
        """Return the entities related to one at a level, ascending."""
        if (row, level) not in self._near:
            if level == "relation":
                related = self._relations.around(row)
            elif level == "sentence":
                related = self._sentences.named_in(self._sentences.naming(row))
            else:
                passages = self._mentions.around(row)
                related = np.unique(self._mentions.expand(passages).neighbors).astype(np.int64)
            kept = (related != row) & (self.graph.kinds[related] == "entity")
            self._near[row, level] = related[kept]
        return self._near[row, level]

    def reach(self, count: int) -> Callable[[int], Nodes]:
        """Return a function from an entity to its related rows at the strongest `count` levels."""
        def around(row: int) -> Nodes:
            return np.unique(np.concatenate(
                [self.near(row, level) for level in self.levels[:count]]))

        return around

    def break_by(self, row: int) -> Nodes:
        """Return the rows that a negated condition on an entity removes: related by a relation or
        sentence, or by a passage where only passages count."""
        strong = [level for level in self.levels if level != "passage"]
        return self.reach(len(strong) or len(self.levels))(row)

    def level(self, one: int, other: int) -> str:
        """Return the strongest level at which two are related."""
        for level in self.levels[:-1]:
            near = self.near(other, level)
            place = np.searchsorted(near, one)
            if place < len(near) and near[place] == one:
                return level
        return self.levels[-1]

    def degree(self, row: int) -> int:
        """Count the entities that an entity has a relation with."""
        return int(self._relations.indptr[row + 1] - self._relations.indptr[row])

    def rarity(self, row: int) -> float:
        """Return the rarity of relations to an entity, as the logarithm of its share of the graph."""
        return float(np.log(len(self.graph) / (1 + self.degree(row))))

    def show(self, one: int, other: int, asked: frozenset[str]) -> JointSentence | None:
        """Return the sentence about two entities with most of the asked stems.

        It names both, or one of two that a relation joins and their passage names. Without a sentence it
        is the first passage that names both, and None without that.
        """
        naming = self._sentences.naming(one), self._sentences.naming(other)
        both = share(*naming)
        if not len(both) and self.level(one, other) == "relation":
            # a model relates a title, or a name of another sentence, to a name of the text
            either = np.union1d(*naming)
            both = either[np.isin(self._sentences.passage[either], self.passages(one, other))]
        best: JointSentence | None = None
        for place in both[:READ].tolist():
            text = self._sentences.texts[place]
            fit = len(asked & _stems(text)) / max(len(asked), 1)
            if best is None or fit > best.fit:
                best = JointSentence(int(self._sentences.passage[place]), text, fit)
        if best is not None:
            return best
        passages = self.passages(one, other)
        return JointSentence(int(passages[0]), "", 0.0) if len(passages) else None

    def naming(self, row: int) -> Nodes:
        """Return the passages that name an entity, ascending."""
        return self._mentions.around(row)

    def passages(self, one: int, other: int) -> Nodes:
        """Return the passages that name both, ascending."""
        return share(self.naming(one), self.naming(other))


@lru_cache(maxsize=20_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.casefold()))


Around = Callable[[int], Nodes]
"""The rows related to a row, ascending."""


def match_exactly(size: int, conditions: Sequence[QueryCondition], known: Mapping[int, int],
                  around: Around, everything: Nodes, apart: Around | None = None
                  ) -> Iterator[tuple[int, ...]]:
    """Yield every assignment of different rows to the nodes of a query graph that meets all conditions.

    A backtracking join: next comes the node with the most conditions on nodes with a row,
    and its candidates are the intersection of those rows' neighbors, smallest first. It needs no
    index and misses nothing; the dominance filter of SG-RAG would only look at fewer candidates.

    Parameters
    ----------
    size : int
        Nodes of the query graph.
    known : mapping of int to int
        The rows of the nodes that are known.
    around : callable
        See `Around`; its result must be symmetric in the two rows.
    everything : ndarray of int
        Candidate rows of nodes that no condition reaches, ascending.
    apart : callable, optional
        The rows so surely related to a row that they break a negated condition; by default `around`.

    Yields
    ------
    rows : tuple of int, length size
    """
    if len(set(known.values())) == len(known):
        yield from _Join(size, conditions, known, around, everything, apart or around).extend({})


class _Join:
    """The conditions of a query graph by node, and the rows that each node may still have."""

    def __init__(self, size: int, conditions: Sequence[QueryCondition], known: Mapping[int, int],
                 around: Around, everything: Nodes, apart: Around) -> None:
        self._size, self._known, self._everything = size, known, everything
        self._around, self._apart = around, apart
        self._taken = set(known.values())
        self._wanted: list[set[int]] = [set() for _ in range(size)]
        self._refused: list[set[int]] = [set() for _ in range(size)]
        for condition in conditions:
            sides = self._refused if condition.negated else self._wanted
            sides[condition.source].add(condition.target)
            sides[condition.target].add(condition.source)

    def extend(self, rows: dict[int, int]) -> Iterator[tuple[int, ...]]:
        """Yield every assignment that has these rows."""
        if len(rows) == self._size:
            yield tuple(rows[node] for node in range(self._size))
            return
        node = self._next(rows)
        for row in self._candidates(node, rows).tolist():
            if row not in rows.values() and (node in self._known or row not in self._taken):
                yield from self.extend({**rows, node: row})

    def _next(self, rows: Mapping[int, int]) -> int:
        """Return the node to go on with: a known one, else the one with the most conditions on rows."""
        left = [node for node in range(self._size) if node not in rows]
        return min(left, key=lambda node: (
            node not in self._known, -sum(other in rows for other in self._wanted[node]), node))

    def _candidates(self, node: int, rows: Mapping[int, int]) -> Nodes:
        """Return the rows that meet all conditions of a node on nodes with a row, ascending."""
        near = sorted((self._around(rows[other]) for other in self._wanted[node] if other in rows), key=len)
        if node in self._known:
            only = np.array([self._known[node]], np.int64)
            found = reduce(share, near, only)
        else:
            found = reduce(share, near) if near else self._everything
        for other in self._refused[node]:
            if other in rows:
                found = np.setdiff1d(found, self._apart(rows[other]), assume_unique=True)
        return found


def share(one: Nodes, other: Nodes) -> Nodes:
    """Intersect two ascending arrays in O(short log long)."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if not len(short):
        return short
    places = np.minimum(np.searchsorted(long, short), len(long) - 1)
    both: Nodes = short[long[places] == short]
    return both
