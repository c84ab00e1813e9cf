"""How an exact retrieval comes about, one step after the other, as SG-RAG's algorithms have it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice
from weakref import WeakKeyDictionary

import numpy as np

from qafd.graph import Graph
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.conditions import LinkedQuery, link_conditions
from qafd.retrieve.decomposition import (
    Completion,
    QueryPath,
    complete_labels,
    decompose_paths,
    unite_completions,
)
from qafd.retrieve.dominance import StarEmbedding, Survivors, sift, unite_survivors
from qafd.retrieve.evidence import LEVELS, EvidenceIndex
from qafd.retrieve.matching import match_exactly

MOST = 2000  # matches that are counted
SHOWN = 8  # names of candidates that are listed


class StepKind(StrEnum):
    """What is done in a step."""

    READ = "read"
    LINK = "link"  # Algorithm 3
    PATH = "path"  # Algorithm 4
    LABELS = "labels"  # Algorithm 5
    COMPLETE = "complete"  # Algorithm 6
    MATCH = "match"  # Algorithms 7 and 8


@dataclass(frozen=True)
class MatchingStep:
    """One step, the nodes of the query that it is about, and what it found.

    `count` is of names linked, candidates, combinations or matches, `names` are some of them;
    `path` is the one that is chosen or looked up, `level` the weakest evidence of the matches.
    """

    kind: StepKind
    nodes: tuple[int, ...]
    count: int = 0
    names: tuple[str, ...] = ()
    path: QueryPath | None = None
    level: str = ""


@dataclass(frozen=True)
class MatchingWalk:
    """The steps of a question, and what each stage of the filter leaves for each unknown node."""

    linked: LinkedQuery
    steps: tuple[MatchingStep, ...]
    survivors: tuple[Survivors, ...]


def walk_through(corpus: Corpus, plan: QueryPlan, length: int = 1, evidence: str = LEVELS[-1]
                 ) -> MatchingWalk:
    """The steps by which what meets all conditions is found, with paths of so many conditions, by a
    weakest evidence as `ExactMatches` has it.

    Raises
    ------
    MissingLayerError
        When "sentences" is not built.
    """
    graph = corpus.graph
    linked = link_conditions(graph, plan)
    index = EvidenceIndex(graph, corpus.layer("sentences"), LEVELS[:LEVELS.index(evidence) + 1])
    everything = np.flatnonzero(graph.kinds == "entity").astype(np.int64)
    query, choices = linked.query, list(linked.choices())
    matches: list[tuple[int, ...]] = []
    level = 0
    if query.conditions and linked.known and not linked.contradictions():
        for level in range(1, len(index.levels) + 1):
            found = (match_exactly(len(query.nodes), query.conditions, known, index.reach(level),
                                   everything, index.break_by) for known in choices)
            matches = list(islice(chain.from_iterable(found), MOST))
            if matches:
                break
    around = lru_cache(maxsize=None)(index.reach(max(level, 1)))
    paths = decompose_paths(query.conditions, length)
    completions, left = [], []
    for known in choices:
        completion = complete_labels(paths, known, around, everything)
        counted = Completion(completion.paths, {
            node: rows for node, rows in completion.candidates.items() if len(rows) <= MOST})
        own = [rows for rows in matches if all(rows[place] == row for place, row in known.items())]
        completions.append(completion)
        left.append(sift(query.conditions, known, counted, around, star_embedding(graph), own))
    completion = unite_completions(completions)
    survivors = unite_survivors(left)
    steps = [*_read(linked), *_decomposed(paths), *_completed(graph, completion),
             _matched(graph, linked, matches, LEVELS[level - 1])]
    return MatchingWalk(linked, tuple(steps), survivors)


_EMBEDDINGS: WeakKeyDictionary[Graph, StarEmbedding] = WeakKeyDictionary()


def star_embedding(graph: Graph) -> StarEmbedding | None:
    """The embeddings of stars of a graph, kept as long as it is; None without vectors of names."""
    if graph.name_vectors is None:
        return None
    if graph not in _EMBEDDINGS:
        _EMBEDDINGS[graph] = StarEmbedding(graph.name_vectors)
    return _EMBEDDINGS[graph]


def _read(linked: LinkedQuery) -> list[MatchingStep]:
    query = linked.query
    known = tuple(sorted(linked.known))
    return [MatchingStep(StepKind.READ, tuple(range(len(query.nodes))), len(query.conditions)),
            MatchingStep(StepKind.LINK, known, len(known),
                         tuple(query.nodes[place].text for place in known))]


def _decomposed(paths: Sequence[QueryPath]) -> list[MatchingStep]:
    return [MatchingStep(StepKind.PATH, path.nodes, number, path=path)
            for number, path in enumerate(paths, 1)]


def _completed(graph: Graph, completion: Completion) -> list[MatchingStep]:
    steps = []
    for node, rows in sorted(completion.candidates.items()):
        path = next(one for one in completion.paths if node in one.nodes)
        names = tuple(graph.names[row] for row in rows[:SHOWN].tolist())
        steps.append(MatchingStep(StepKind.LABELS, (node,), len(rows), names, path))
    unknown = tuple(sorted(completion.candidates))
    steps.append(MatchingStep(StepKind.COMPLETE, unknown, completion.combinations))
    return steps


def _matched(graph: Graph, linked: LinkedQuery, matches: Sequence[tuple[int, ...]], level: str
             ) -> MatchingStep:
    answers = dict.fromkeys(graph.names[rows[0]] for rows in matches)
    return MatchingStep(StepKind.MATCH, tuple(range(len(linked.query.nodes))), len(answers),
                        tuple(islice(answers, SHOWN)), level=level)
