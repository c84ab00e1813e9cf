"""What meets every condition of a question, after SG-RAG; else what meets the most of them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from qafd.assemble import node_id
from qafd.graph import Graph
from qafd.plan.query_graph import QueryCondition, QueryGraph, QueryNode, read_query_graph
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import FUNCTION_WORDS
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import SATURATED, WET, Corpus, Method, Retrieval, Work, knob, params_of
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.matching import match_exactly
from qafd.retrieve.seeds import keyword_seeds, match
from qafd.retrieve.subgraph import edges, entries_among, foremost, nodes, ranked

LEVELS = ("relation", "sentence", "passage")
STRENGTH = {"relation": 1.0, "sentence": 0.8, "passage": 0.5}
MOST = 2000  # exact matches that are looked at
LONGEST = 6  # words of a name
OPENING = 4  # words of a question that say what is asked for
NEAR = 0.7  # cosine from which on a phrase stands for a name


@dataclass(frozen=True)
class ExactMatches(Method):
    """The entities that meet all conditions of a question, then those that meet fewer.

    SG-RAG (paper 002): the question as a graph of known and unknown nodes, its names linked to
    entities, exact matching, and the best matches where no exact one is left. A condition is met
    by a relation, by a sentence that names both ends, or by a passage that does; `evidence` is the
    weakest that counts. Answers are ordered by how many conditions they meet, then by how strong
    the evidence is, each condition weighing more the rarer its name; equals go by likeness to the
    question, and a notice says that they are equal.

    Deviations: rules in the place of the prompt that reads the question (`qafd.plan.query_graph`);
    a join in the place of learned embeddings and the index of paths, as it misses nothing either;
    passages are those that show the conditions of the answers, by how many they show.
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
    top: int = knob(20, 1, 100, advanced=True, help="How many passages are ranked.")

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """The answers, the names of the question, and the edges between them, without flow.

        Raises
        ------
        MissingLayerError
            When "sentences" is not built.
        """
        started = time.perf_counter()
        graph = corpus.graph
        query, known, notices = _link(graph, plan)
        found = _EvidenceOf(graph, corpus.layer("sentences"), LEVELS[:LEVELS.index(self.evidence) + 1])
        answers = _answer(found, query, known, plan)
        shown, tied = _cut(answers, self.answers)
        wanted = len([one for one in query.conditions if not one.negated])
        if shown:
            best = shown[0].met
            kind = NoticeKind.ALL_MET if best == wanted else NoticeKind.SOME_MET
            notices.append(notice(kind, count=tied, met=best, wanted=wanted))
        elif known:
            notices.append(notice(NoticeKind.NONE_MET))
        told: dict[int, tuple[float, Reason, str]] = {
            row: (1.0, why, SATURATED) for row, why in known.values()}
        for answer in shown:
            if answer.row not in told:
                told[answer.row] = (answer.met / max(wanted, 1), _why(answer, query, wanted, found),
                                    SATURATED if answer.met == shown[0].met else WET)
        rows = np.array(list(told), np.int64)
        seeds = {row for row, _ in known.values()}
        passages, scores = _supporting(corpus, plan, found, shown, self.top)
        layer = graph.layer({"relation", "synonym"})
        among = entries_among(layer, rows)
        total = 1000 * (time.perf_counter() - started)
        return Retrieval(
            query=plan.question, method="exact", params=params_of(self),
            seeds=tuple(sorted(graph.ids[row] for row in seeds)),
            nodes=nodes(layer, plan, rows, np.array([x for x, _, _ in told.values()]),
                        [why for _, why, _ in told.values()], seeds=seeds,
                        states=[state for _, _, state in told.values()]),
            edges=edges(layer, among), ranking=ranked(graph, passages, scores),
            work=Work(len(answers) + len(known), found.looked_at, 1, total, total),
            notices=tuple(notices), revision=graph.revision)


@dataclass(frozen=True)
class MatchedEntity:
    """A row that may be the answer: which conditions it meets, by their places, and on which row.

    `strength` adds up the evidence of what is met.
    """

    row: int
    ends: dict[int, int] = field(hash=False)
    strength: float
    likeness: float

    @property
    def met(self) -> int:
        """How many conditions are met."""
        return len(self.ends)


class _EvidenceOf:
    """Which entities are related, by relation, sentence or passage; read when asked for."""

    def __init__(self, graph: Graph, sentences: Sentences, levels: Sequence[str]) -> None:
        self.graph, self.sentences, self.levels = graph, sentences, levels
        self.relations, self.mentions = graph.layer({"relation"}), graph.layer({"mention"})
        self.entities: Nodes = np.flatnonzero(graph.kinds == "entity").astype(np.int64)
        by_entity = sentences.mentions[np.argsort(sentences.mentions[:, 1], kind="stable")]
        self._by_entity = by_entity
        self._near: dict[tuple[int, str], Nodes] = {}
        self._around: dict[int, Nodes] = {}
        self._levels: dict[int, dict[int, str]] = {}
        self.looked_at = 0

    def near(self, row: int, level: str) -> Nodes:
        """The entities related to one at a level, ascending."""
        if (row, level) not in self._near:
            if level == "relation":
                found: Nodes = self.relations.around(row).astype(np.int64)
            elif level == "sentence":
                inside = np.isin(self.sentences.mentions[:, 0], self.sentences_of(row))
                found = self.sentences.mentions[inside, 1]
            else:
                passages = self.mentions.around(row)
                found = self.mentions.expand(passages).neighbors.astype(np.int64)
            related: Nodes = np.unique(found)
            kept = (related != row) & (self.graph.kinds[related] == "entity")
            self._near[row, level] = related[kept]
            self.looked_at += len(related)
        return self._near[row, level]

    def around(self, row: int) -> Nodes:
        """The entities related to one at any level that counts, ascending."""
        if row not in self._around:
            self._around[row] = np.unique(np.concatenate(
                [self.near(row, level) for level in self.levels]))
        return self._around[row]

    def level(self, one: int, other: int) -> str:
        """The strongest level at which two are related; all those of `other` are kept."""
        if other not in self._levels:
            self._levels[other] = {
                row: level for level in reversed(self.levels)
                for row in self.near(other, level).tolist()}
        return self._levels[other][one]

    def sentences_of(self, row: int) -> Nodes:
        """The sentences that name an entity."""
        first, last = np.searchsorted(self._by_entity[:, 1], [row, row + 1])
        return self._by_entity[first:last, 0]

    def quote(self, one: int, other: int) -> str:
        """The first sentence that names both, "" when none does."""
        both = np.intersect1d(self.sentences_of(one), self.sentences_of(other))
        return self.sentences.texts[int(both[0])] if len(both) else ""

    def strength(self, one: int, other: int) -> float:
        """How much a met condition counts: by its level, and by how rare the known end is."""
        rarity = np.log(len(self.entities) / (1 + len(self.around(other))))
        return STRENGTH[self.level(one, other)] * (1 + 0.1 * max(float(rarity), 0.0))


def _link(graph: Graph, plan: QueryPlan
          ) -> tuple[QueryGraph, dict[int, tuple[int, Reason]], list[Notice]]:
    """The query graph, and row and reason of each node of it that is known.

    Names are those of the plan, every other name of an entity in the question, and what is nearest
    to a phrase without one. What the question does not write as the graph does is a condition on the
    answer. Without any name, what is nearest to the keywords is taken and a notice says so.
    """
    keys = [*dict.fromkeys((*plan.names, *_terms(graph, plan.words)))]
    query, notices = read_query_graph(plan.words, keys), []
    extra = [(key, reason(ReasonKind.STANDS_FOR_NAME)) for key in query.unread if key in plan.names]
    extra += _nearest_names(graph, plan, [node.text for node in query.nodes[1:]])
    if not extra and not any(node.key for node in query.nodes):
        near = keyword_seeds(graph, plan, max(1, len(plan.keywords)), "entities")
        extra = [(graph.ids[row], why) for row, why in zip(
            near.rows.tolist(), near.reasons, strict=True)]
        if extra:
            notices.append(notice(NoticeKind.NEAREST_TAKEN))
    known: dict[int, tuple[int, Reason]] = {}
    for place, node in enumerate(query.nodes):
        row = graph.row.get(node_id("entity", node.key)) if node.key else None
        if row is not None:
            known[place] = row, reason(ReasonKind.NAMED)
    listed, conditions = list(query.nodes), list(query.conditions)
    for key, why in extra:
        row = graph.row.get(key, graph.row.get(node_id("entity", key), -1))
        if row >= 0 and row not in [taken for taken, _ in known.values()]:
            known[len(listed)] = row, why
            conditions.append(QueryCondition(0, len(listed)))
            listed.append(QueryNode(graph.names[row], key))
    if not conditions:
        notices.append(notice(NoticeKind.NO_CONDITION))
    return QueryGraph(tuple(listed), tuple(conditions)), known, notices


def _terms(graph: Graph, question: str) -> list[str]:
    """Keys of the entities that the question names in any writing, longer ones first."""
    words = [word.strip(".,;:?!()\"'") for word in question.split()]
    keys: list[str] = []
    for size in range(LONGEST, 0, -1):
        for first in range(len(words) - size + 1):
            key = canonical(" ".join(words[first:first + size]))
            if key not in FUNCTION_WORDS and node_id("entity", key) in graph.row:
                keys.append(key)
    return keys


def _nearest_names(graph: Graph, plan: QueryPlan, found: Sequence[str]) -> list[tuple[str, Reason]]:
    """Id of the entity nearest in name to each phrase in which no name was found, if it is near."""
    entities = np.flatnonzero(graph.kinds == "entity")
    if graph.name_vectors is None or not len(entities):
        return []
    near: list[tuple[str, Reason]] = []
    opening = " ".join(plan.words.split()[:OPENING])
    for keyword, vector in zip(plan.keywords, plan.keyword_embeddings, strict=True):
        named = any(text in keyword.text or keyword.text in text for text in found)
        if named or keyword.text in opening:  # "which film" says what the answer is
            continue
        cosines = (graph.name_vectors[entities] @ vector).astype(np.float64)
        best = int(foremost(graph, entities, cosines, 1)[0])
        if cosines[best] >= NEAR:
            near.append((graph.ids[int(entities[best])], reason(
                ReasonKind.NEAR_KEYWORD, score=float(cosines[best]), word=keyword.text)))
    return near


def _answer(found: _EvidenceOf, query: QueryGraph, known: dict[int, tuple[int, Reason]],
            plan: QueryPlan) -> list[MatchedEntity]:
    """All answers, best first: by conditions met, evidence, likeness to the question, id."""
    rows = {place: row for place, (row, _) in known.items()}
    if not query.conditions or 0 in rows or not rows:
        return []
    ends = _exact(found, query, rows) or _graded(found, query, rows)
    graph = found.graph
    likeness: Floats = (np.zeros(len(graph)) if graph.vectors is None
                        else (graph.vectors @ plan.embedding).astype(np.float64))
    counts = sorted((len(met) for met in ends.values()), reverse=True)
    least = counts[min(MOST, len(counts)) - 1] if counts else 0
    answers = [
        MatchedEntity(row, met, round(_strength(found, query, row, met), 12), float(likeness[row]))
        for row, met in ends.items() if len(met) >= least]
    return sorted(answers, key=lambda one: (
        -one.met, -one.strength, -one.likeness, graph.ids[one.row]))


def _exact(found: _EvidenceOf, query: QueryGraph, rows: dict[int, int]) -> dict[int, dict[int, int]]:
    """By answer, the row at the other end of each condition, where all conditions are met."""
    met: dict[int, dict[int, int]] = {}
    matches = match_exactly(len(query.nodes), query.conditions, rows, found.around, found.entities)
    for _, match_ in zip(range(MOST), matches, strict=False):
        met.setdefault(match_[0], {
            number: match_[condition.target]
            for number, condition in enumerate(query.conditions) if not condition.negated})
    return met


def _graded(found: _EvidenceOf, query: QueryGraph, rows: dict[int, int]) -> dict[int, dict[int, int]]:
    """By answer, the other ends of the conditions that it meets; at least one.

    A condition on something else that is unknown, such as "the company that", is met by what
    meets a condition on that.
    """
    met: dict[int, dict[int, int]] = {}
    removed: set[int] = set()
    for number, condition in enumerate(query.conditions):
        if condition.source != 0:
            continue
        ends = [rows[condition.target]] if condition.target in rows else sorted({
            row for other in query.conditions
            if other.source == condition.target and other.target in rows
            for row in found.around(rows[other.target]).tolist()})
        for end in ends[:MOST]:
            for row in found.around(end).tolist():
                if condition.negated:
                    removed.add(row)
                elif row not in rows.values():
                    met.setdefault(row, {}).setdefault(number, end)
    return {row: ends for row, ends in met.items() if row not in removed}


def _strength(found: _EvidenceOf, query: QueryGraph, row: int, ends: dict[int, int]) -> float:
    direct = [end for number, end in ends.items() if query.conditions[number].source == 0]
    return sum(found.strength(row, end) for end in direct)


def _cut(answers: list[MatchedEntity], count: int) -> tuple[list[MatchedEntity], int]:
    """The first answers with those that tie with the last of them, and how many tie at the top."""
    tied = [one for one in answers
            if (one.met, one.strength) == (answers[0].met, answers[0].strength)]
    if len(answers) <= count:
        return answers, len(tied)
    last = answers[count - 1]
    more = [one for one in answers[count:2 * count]
            if (one.met, one.strength) == (last.met, last.strength)]
    return answers[:count] + more, len(tied)


def _why(answer: MatchedEntity, query: QueryGraph, wanted: int, found: _EvidenceOf) -> Reason:
    """Which conditions an answer meets and by what, and which it does not."""
    told = []
    for number, condition in enumerate(query.conditions):
        if condition.negated or condition.source != 0:
            continue
        name = query.nodes[condition.target].text
        end = answer.ends.get(number)
        if end is None:
            told.append(reason(ReasonKind.NOT_MET, name=name))
            continue
        name = found.graph.names[end]
        quote = found.quote(answer.row, end)
        level = found.level(answer.row, end)
        if quote:
            kind = ReasonKind.MET_BY_RELATION if level == "relation" else ReasonKind.MET_IN_SENTENCE
            told.append(reason(kind, name=name, text=quote))
        else:
            told.append(reason(ReasonKind.MET_IN_PASSAGE, name=name))
    return reason(ReasonKind.MEETS, *told, met=answer.met, wanted=wanted)


def _supporting(corpus: Corpus, plan: QueryPlan, found: _EvidenceOf, answers: Sequence[MatchedEntity],
                top: int) -> tuple[Nodes, Floats]:
    """Passages by how many conditions of the answers they show, more for better answers."""
    rows = corpus.passages.rows
    shown = np.zeros(len(rows))
    for place, answer in enumerate(answers, 1):
        own = found.mentions.around(answer.row)
        for end in answer.ends.values():
            both = np.intersect1d(own, found.mentions.around(end))
            shown[np.searchsorted(rows, both)] += 1 / place
    likeness = match(corpus.passages, plan).fusion()
    scores = shown + likeness / (1000 * max(float(likeness.max(initial=0.0)), 1.0))
    order = foremost(corpus.graph, rows, scores, top)
    return rows[order], scores[order]
