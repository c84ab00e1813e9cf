"""Entities that meet every condition of a question, after SG-RAG, or the most of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar

import numpy as np

from qafd.graph import Graph
from qafd.plan.question import parse_question
from qafd.reading.text.bm25 import stems
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    SATURATED,
    WET,
    Corpus,
    Method,
    Retrieval,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.conditions import LinkedQuery, link_conditions
from qafd.retrieve.evidence import LEVELS, EvidenceIndex, JointSentence, match_exactly
from qafd.retrieve.seeds import match
from qafd.retrieve.subgraph import edges, entries_among, foremost, nodes, rank_passages

FOUND = {"relation": 1.0, "sentence": 0.2, "passage": 0.1}  # by which candidates are chosen
RARE = 0.1  # how much more a condition counts for each e-fold that its name is rarer
FITS, LIKE, SPECIFIC = 0.3, 0.2, 0.02  # of equals: words in sentences, cosine, logarithm of the degree
CLOSE = 1e-6  # of importance, for what decides between equals; no strength differs by so little
COMPARED = 60  # candidates whose sentences are read
MOST = 2000  # exact matches that are looked at, and what something else unknown may be


@dataclass(frozen=True)
class ExactMatches(Method):
    """The entities that meet all conditions of a question, then those that meet fewer.

    SG-RAG (paper 002): the question as a graph of known and unknown nodes, its names linked to
    entities, exact matching, and the best matches where no exact one is left. A condition is surely
    met by a relation, perhaps by a sentence that names both ends or a passage that does; `evidence`
    is the weakest level that counts. Where the names have no relation at all, the strongest level
    that they have counts as sure.

    Answers are ordered by the number of conditions that they surely meet, then by the strength of
    these: the certainty and rarity of the names. Answers that meet the same conditions are equal, in
    whatever words the documents put it, and a notice counts them. Words only order equals: those of
    the question in the sentences, likeness to the question, and how few other relations there are.

    Deviations: rules in the place of the prompt that reads the question (`qafd.plan.query_graph`),
    unless a model has read it; a join in the place of learned embeddings and the index of paths, as
    it misses nothing either; passages are those that show the conditions of the answers, by how
    many they show.
    """

    label: ClassVar[str] = "SG-RAG exact matches"
    idea: ClassVar[str] = ("the entities that meet every condition of the question, each with its "
                           "evidence; a re-implementation of the idea, on this graph")
    source: ClassVar[str] = "SG-RAG, exact subgraph retrieval"
    needs: ClassVar[tuple[str, ...]] = ("sentences",)

    evidence: str = knob("passage", options=LEVELS, help="The weakest evidence that meets a "
                         "condition: a relation, a sentence with both names, or a passage with both.")
    answers: int = knob(10, 1, 200, help="How many answers are retrieved; those that tie with the "
                        "last one are, too, up to twice as many.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the answers, the names of the question, and the edges between them, without flow.

        Raises
        ------
        MissingLayerError
            When "sentences" is not built.
        """
        graph = corpus.graph
        linked = link_conditions(graph, plan)
        evidence = EvidenceIndex(graph, corpus.layer("sentences"),
                            LEVELS[:LEVELS.index(self.evidence) + 1])
        answers = _Search(evidence, linked, plan).answers()
        shown = _cut(answers, self.answers)
        told: dict[int, tuple[float, Reason, str]] = {
            node.row: (1.0, node.why, SATURATED) for node in linked.known.values()}
        for answer in shown:
            state = SATURATED if answer.met == shown[0].met else WET
            told.setdefault(answer.row, (answer.importance, _why(graph, linked, answer), state))
            for number, end in answer.ends.items():
                node = linked.known.get(linked.query.conditions[number].target)
                if node is not None:  # which may be a namesake of the one above
                    told.setdefault(end, (1.0, node.why, SATURATED))
        rows = np.array(list(told), np.int64)
        seeds = set(told).intersection(linked.named)
        passages, scores = _supporting(corpus, plan, evidence, shown, self.top)
        layer = graph.layer({"relation", "synonym"})
        among = entries_among(layer, rows)
        return Retrieval(
            query=plan.question, method="exact", params=params_of(self),
            seeds=tuple(sorted(graph.ids_of(seeds))),
            nodes=nodes(layer, plan, rows, np.array([x for x, _, _ in told.values()]),
                        [why for _, why, _ in told.values()], seeds=seeds,
                        states=[state for _, _, state in told.values()]),
            edges=edges(layer, among), ranking=rank_passages(graph, passages, scores),
            notices=(*linked.notices, *_notices(linked, answers)), revision=graph.revision)


@dataclass(frozen=True)
class MatchedEntity:
    """A possible answer, with its evidence by the number of each condition that it meets.

    `ends`, `levels` and `shown` are the rows at the other ends, the evidence and its sentences, of
    conditions on the answer itself. `met` counts the conditions surely met and `strength` sums their
    weights; `importance`, between 0 and 1, grows with both and with the tie-break.
    """

    row: int
    ends: dict[int, int]
    levels: dict[int, str]
    shown: dict[int, JointSentence]
    met: int
    strength: float
    importance: float


@dataclass(frozen=True, eq=False)
class _Reached:
    """The rows that meet one condition, ascending, each with the row at the other end and the place
    of its level in `LEVELS`, each shape (k,)."""

    rows: Nodes
    ends: Nodes
    levels: Nodes

    def at(self, row: int) -> int | None:
        """Return the place of a row, None if it is not there."""
        place = int(np.searchsorted(self.rows, row))
        return place if place < len(self.rows) and self.rows[place] == row else None


class _Search:
    """One question against the evidence: which entities meet which conditions, and how well."""

    def __init__(self, evidence: EvidenceIndex, linked: LinkedQuery, plan: QueryPlan) -> None:
        self._evidence, self._plan, self._query = evidence, plan, linked.query
        self._rows, self._contradicts = linked.rows, bool(linked.contradictions())
        self._known, self._named, self._choices = linked.known, linked.named, list(linked.choices())
        self._weights = {place: node.sure * (1 + RARE * max(min(map(evidence.rarity, node.rows)), 0.0))
                         for place, node in linked.known.items()}
        named = stems(" ".join(evidence.graph.names[row] for row in self._rows.values()))
        self._asked = parse_question(plan.words).stems - named

    def answers(self) -> list[MatchedEntity]:
        """Return the likeliest answers, best first."""
        query = self._query
        if not query.conditions or 0 in self._rows or not self._rows or self._contradicts:
            return []
        found = self._candidates()
        levels = {row: self._levels(row, met) for row, met in found.items()}
        sure = min((LEVELS.index(one) for own in levels.values() for one in own.values()), default=0)
        wanted = sum(not condition.negated for condition in query.conditions)
        whole = [row for row, own in levels.items() if list(own.values()).count(LEVELS[sure]) == wanted]
        answers = [self._compare(row, found[row], levels[row], LEVELS[sure]) for row in whole or found]
        answers.sort(key=lambda one: (-one.importance, self._evidence.graph.ids[one.row]))
        return answers

    def _candidates(self) -> dict[int, dict[int, int]]:
        """Return the rows that meet most conditions, each with the other end of each condition, by
        number."""
        reached, rows, counted = self._count(0)
        best = foremost(self._evidence.graph, rows, counted, COMPARED)
        found = {row: self._met(reached, row) for row in rows[best].tolist()}
        if any(place not in self._rows for place in range(1, len(self._query.nodes))):
            found = {row: self._keep_consistent(row, met) for row, met in found.items()} | self._exact()
        return found

    def _count(self, source: int) -> tuple[dict[int, _Reached], Nodes, Floats]:
        """Return the rows that meet each condition on a node, by number, and all of them with their
        scores.

        Rows that break a negated condition are not among them.
        """
        reached: dict[int, _Reached] = {}
        removed = [np.array(sorted(self._named), np.int64)]
        for number, condition in enumerate(self._query.conditions):
            if condition.source != source:
                continue
            if not condition.negated:
                reached[number] = self._reach(condition.target)
            elif condition.target in self._known:
                removed += map(self._evidence.break_by, self._known[condition.target].rows)
            else:
                removed.append(self._reach(condition.target).rows)
        rows = np.unique(np.concatenate([one.rows for one in reached.values()] or [removed[0][:0]]))
        rows = np.setdiff1d(rows, np.concatenate(removed), assume_unique=False)
        counted = np.zeros(len(rows))
        strength = np.array([FOUND[level] for level in LEVELS])
        for number, found in reached.items():
            weight = self._weight(number)
            inside = np.isin(found.rows, rows)
            counted[np.searchsorted(rows, found.rows[inside])] += (
                weight * strength[found.levels[inside]])
        return reached, rows, counted

    def _reach(self, target: int) -> _Reached:
        """Find the rows related to a node of the query, at the strongest level that relates the two."""
        if target in self._known:
            ends = list(self._known[target].rows)
        else:
            _, rows, counted = self._count(target)
            ends = rows[foremost(self._evidence.graph, rows, counted, COMPARED)].tolist()
        found: list[Nodes] = []
        for place, level in enumerate(self._evidence.levels):
            for end in ends:
                near = self._evidence.near(end, level)
                found.append(np.stack([near, np.full(len(near), end), np.full(len(near), place)]))
        if not found:
            nothing = np.zeros(0, np.int64)
            return _Reached(nothing, nothing, nothing)
        together = np.concatenate(found, axis=1)
        _, first = np.unique(together[0], return_index=True)  # the strongest comes first
        return _Reached(*together[:, first])

    def _met(self, reached: dict[int, _Reached], row: int) -> dict[int, int]:
        """Return the other end of each condition that a row meets, and of those on that end."""
        met: dict[int, int] = {}
        for number, found in reached.items():
            place = found.at(row)
            if place is None:
                continue
            met[number] = end = int(found.ends[place])
            target = self._query.conditions[number].target
            if target not in self._rows:
                met |= self._met(self._count(target)[0], end)
        return met

    def _keep_consistent(self, row: int, met: dict[int, int]) -> dict[int, int]:
        """Return the conditions that a row meets under one choice of the other unknown nodes.

        If no choice meets all, the last condition on which no other depends is left out.
        """
        conditions = self._query.conditions
        wanted = [number for number, one in enumerate(conditions) if not one.negated]
        if len(met) < len(wanted):
            return met
        known = {**self._rows, 0: row}
        known |= {conditions[number].target: end for number, end in met.items()
                  if conditions[number].target in known}
        matches = match_exactly(len(self._query.nodes), conditions, known,
                                self._evidence.reach(len(self._evidence.levels)),
                                np.flatnonzero(self._evidence.graph.kinds == "entity"),
                                self._evidence.break_by)
        rows = next(matches, None)
        if rows is None:
            sources = {conditions[number].source for number in wanted}
            left = [number for number in wanted if conditions[number].target not in sources][-1]
            return {number: end for number, end in met.items() if number != left}
        return {number: rows[conditions[number].target] for number in wanted}

    def _exact(self) -> dict[int, dict[int, int]]:
        """Return the other end of each condition, for each answer that meets all conditions.

        The level of evidence is the strongest at which any row meets all.
        """
        met: dict[int, dict[int, int]] = {}
        conditions = self._query.conditions
        everything = np.flatnonzero(self._evidence.graph.kinds == "entity")
        for count in range(1, len(self._evidence.levels) + 1):
            found = (match_exactly(len(self._query.nodes), conditions, known, self._evidence.reach(count),
                                   everything, self._evidence.break_by) for known in self._choices)
            for rows in islice(chain.from_iterable(found), MOST):
                met.setdefault(rows[0], {
                    number: rows[condition.target]
                    for number, condition in enumerate(conditions) if not condition.negated})
            if met:
                break
        return met

    def _levels(self, row: int, ends: dict[int, int]) -> dict[int, str]:
        """Return the strongest evidence of each condition that a row meets."""
        places = self._places(row, ends)
        return {number: self._evidence.level(places[self._query.conditions[number].source], end)
                for number, end in ends.items()}

    def _compare(self, row: int, ends: dict[int, int], levels: dict[int, str], sure: str) -> MatchedEntity:
        """Return a candidate with the evidence of its conditions, and its score.

        `sure` is the level at which a condition is surely met.
        """
        graph = self._evidence.graph
        shown: dict[int, JointSentence] = {}
        strength = 0.0
        places = self._places(row, ends)
        for number, end in ends.items():
            weight = self._weight(number)
            if levels[number] == sure:
                strength += weight
            source = places[self._query.conditions[number].source]
            best = self._evidence.show(source, end, self._asked)
            if best is not None:
                shown[number] = best
        strength = round(strength, 4)
        count = sum(level == sure for level in levels.values())
        like = 0.0 if graph.vectors is None else float(graph.vectors[row] @ self._plan.embedding)
        fit = sum(one.fit for one in shown.values()) / max(len(ends), 1)
        between = FITS * fit + LIKE * like - SPECIFIC * float(np.log1p(self._evidence.degree(row)))
        importance = self._share(count, strength, between)
        return MatchedEntity(row, ends, levels, shown, count, strength, importance)

    def _places(self, row: int, ends: dict[int, int]) -> dict[int, int]:
        """Return the row of each node of the query, for one answer."""
        conditions = self._query.conditions
        return {0: row} | {conditions[number].target: end for number, end in ends.items()}

    def _weight(self, number: int) -> float:
        """Weigh a condition; one on another unknown counts as a sure name."""
        return self._weights.get(self._query.conditions[number].target, 1.0)

    def _share(self, count: int, strength: float, between: float) -> float:
        """Return a score between 0 and 1 that orders by conditions surely met, then by strength, then by
        the tie-break, which is between -1 and 1."""
        wanted = [number for number, one in enumerate(self._query.conditions) if not one.negated]
        most = sum(map(self._weight, wanted))
        return (count + (1 - CLOSE) * strength / (most or 1.0) + CLOSE * (1 + between) / 2) / (
            len(wanted) + 1)


def _cut(answers: list[MatchedEntity], count: int) -> list[MatchedEntity]:
    """Return the first answers with those that tie with the last of them, up to twice as many."""
    if len(answers) <= count:
        return answers
    last = answers[count - 1]
    more = [one for one in answers[count:2 * count] if one.strength == last.strength]
    return answers[:count] + more


def _notices(linked: LinkedQuery, answers: Sequence[MatchedEntity]) -> Iterator[Notice]:
    """Note how many meet all conditions, or the most of them, and how many of these equally well."""
    wanted = sum(not condition.negated for condition in linked.query.conditions)
    if answers:
        first = answers[0]
        tied = sum((each.met, each.strength) == (first.met, first.strength) for each in answers)
        if "relation" not in first.levels.values():
            yield notice(NoticeKind.PERHAPS_MET, count=tied, met=first.met, wanted=wanted)
        elif first.met < wanted:
            yield notice(NoticeKind.SOME_MET, count=tied, met=first.met, wanted=wanted)
        elif wanted > 1:
            yield notice(NoticeKind.ALL_MET, count=len(answers), met=first.met, wanted=wanted)
            if 1 < tied < len(answers):
                yield notice(NoticeKind.TIED, count=tied)
            elif tied == len(answers) > 1:
                yield notice(NoticeKind.ALL_TIED)
    elif linked.known and not linked.all_negated and not linked.contradictions():
        yield notice(NoticeKind.NONE_MET)


def _why(graph: Graph, linked: LinkedQuery, answer: MatchedEntity) -> Reason:
    """Give the reason of an answer: each condition, met or not, and its evidence."""
    told = []
    wanted = 0
    for number, condition in enumerate(linked.query.conditions):
        name = linked.query.nodes[condition.target].text
        end = answer.ends.get(number)
        wanted += not condition.negated
        if condition.negated:
            told.append(reason(ReasonKind.NOT_RELATED, name=name))
        elif end is None:
            told.append(reason(ReasonKind.NOT_MET, name=name))
        else:
            told.append(_shown_by(graph, graph.names[end], answer.levels[number],
                                  answer.shown.get(number)))
    return reason(ReasonKind.MEETS, *told, met=answer.met, perhaps=len(answer.ends) - answer.met,
                  wanted=wanted, strength=answer.strength)


def _shown_by(graph: Graph, name: str, level: str, shown: JointSentence | None) -> Reason:
    """Give the evidence of a condition, and its passage."""
    if shown is None:
        return reason(ReasonKind.MET_BY_RELATION, name=name, text="", passage="")
    passage = graph.ids[shown.passage]
    if not shown.text:
        return reason(ReasonKind.MET_IN_PASSAGE, name=name, passage=passage)
    kind = ReasonKind.MET_BY_RELATION if level == "relation" else ReasonKind.MET_IN_SENTENCE
    return reason(kind, name=name, text=shown.text, passage=passage)


def _supporting(corpus: Corpus, plan: QueryPlan, evidence: EvidenceIndex,
                answers: Sequence[MatchedEntity], top: int) -> tuple[Nodes, Floats]:
    """Return passages by how many conditions of the answers they show, more for better answers."""
    rows = corpus.passages.rows
    shown = np.zeros(len(rows))
    for place, answer in enumerate(answers, 1):
        for end in answer.ends.values():
            both = evidence.passages(answer.row, end)
            shown[np.searchsorted(rows, both)] += 1 / place
    likeness = match(corpus.passages, plan).fusion()
    scores = shown + likeness / (1000 * max(float(likeness.max(initial=0.0)), 1.0))
    order = foremost(corpus.graph, rows, scores, top)
    return rows[order], scores[order]
