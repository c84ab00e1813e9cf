"""Seeds: the named entities and best passages at which the mass of a question enters the graph."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from weakref import WeakKeyDictionary

import numpy as np

from qafd.arrays import Array, Arrays, TextBlock, VectorColumn, flatten, take_rows, unflatten
from qafd.graph import Graph, kind_bit
from qafd.plan.question import parse_question
from qafd.reading.text import as_typed, canonical
from qafd.reading.text.bm25 import Bm25
from qafd.reading.text.scripts import bears_no_capital
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan, Vectors, node_id

Sentences = Callable[[Sequence[str]], Sequence[Vectors]]
TextsOf = Callable[[Sequence[str]], Iterable[str]]

COMMON = 0.2  # total weight of the names at which they and passages would share the mass equally
ENTITY_SHARE = 0.75  # of the mass, that the names of a question take at most
CAPITAL, TITLE = 0.3, 0.2  # of its rarity counts for a name that only one of the two speaks for
DOUBTED, SURE = 0.15, 0.5  # shares of the mass up to and from which no name and a name is sure
READ = 10  # best passages whose sentences are compared with the question
SENTENCE = 0.5  # how much the nearest sentence of a passage counts beside its own vector


class Passages:
    """The passages of a graph, ready to be compared with questions.

    Parameters
    ----------
    graph : Graph
    columns : PassageColumns
    sentences : callable, optional
        Node ids to the vectors of each passage's sentences, shape (s, d); asked once for each.
    """

    def __init__(self, graph: Graph, columns: "PassageColumns",
                 sentences: Sentences | None = None) -> None:
        self.rows, self.titles, self.title = columns.rows, columns.titles, columns.title
        self.bm25, self.vectors = columns.bm25, columns.vectors
        self._ids = graph.ids
        self._sentences = sentences
        self._read: dict[int, Vectors] = {}
        self.matched: tuple[QueryPlan, Match] | None = None

    @classmethod
    def build(cls, graph: Graph, texts: TextsOf, titled: bool = False,
              sentences: Sentences | None = None) -> "Passages":
        """Return the passages of a graph, whose texts are read; see `PassageColumns.build`."""
        return cls(graph, PassageColumns.build(graph, texts, titled), sentences)

    def nearest_sentences(self, places: Nodes, asked: Vectors) -> Floats:
        """Return cosine of a question, shape (d,), and the nearest sentence of each passage, shape (k,).

        -1 for a passage whose sentences are not known.
        """
        missing = [place for place in places.tolist() if place not in self._read]
        if missing and self._sentences:
            found = self._sentences([self._ids[self.rows[place]] for place in missing])
            self._read |= dict(zip(missing, found, strict=True))
        known = [self._read.get(place, ()) for place in places.tolist()]
        return np.array([float((some @ asked).max()) if len(some) else -1.0 for some in known])

    def __len__(self) -> int:
        return len(self.rows)

    def reading(self, sentences: Sentences) -> "Passages":
        """Return the same passages; unknown vectors of their sentences are asked there.

        Where sentences are not compared they stay so.
        """
        if self._sentences is None:
            return self
        other = copy(self)
        other._sentences, other.matched = sentences, None
        return other

    def of(self, graph: Graph) -> "Passages":
        """Return the same passages with the vectors of a graph that has the same rows."""
        other = copy(self)
        other.vectors = take_rows(graph.vectors, self.rows)
        other._sentences, other._read, other.matched = None, {}, None
        return other


@dataclass(frozen=True, eq=False)
class PassageColumns:
    """The passages of a graph, column by column.

    Parameters
    ----------
    rows : ndarray, shape (c,)
        Of the passages in the graph, ascending.
    vectors : ndarray of float32 or bytes, shape (c, d), or None
        Picking them again for every question takes ten times longer than the product.
    titles : TextBlock, length c
    title : ndarray, shape (c,)
        The row of the entity that is a passage's title, -1 where there is none.
    bm25 : Bm25
    """

    rows: Nodes = field(repr=False)
    vectors: VectorColumn | None = field(repr=False)
    titles: TextBlock = field(repr=False)
    title: Nodes = field(repr=False)
    bm25: Bm25 = field(repr=False)

    @classmethod
    def build(cls, graph: Graph, texts: TextsOf, titled: bool = False) -> "PassageColumns":
        """Return the columns of a graph's passages.

        Parameters
        ----------
        texts : callable
            Node ids to the passages' titles and texts, as one string each, in order.
        titled : bool
            Whether the first line of each is the title; otherwise it is the passage's name.
        """
        rows: Nodes = np.flatnonzero(graph.kinds == "passage")
        ids = graph.ids_of(rows.tolist())
        titles: list[str] = [] if titled else [graph.names[row] for row in rows.tolist()]

        def read() -> Iterator[str]:
            for text in texts(ids):
                if titled:
                    titles.append(text.partition("\n")[0])
                yield text

        bm25 = Bm25.build(read())
        title = [graph.row.get(node_id("entity", canonical(one)), -1) for one in titles]
        return cls(rows, take_rows(graph.vectors, rows), TextBlock.of(titles),
                   np.array(title, np.int64), bm25)

    def flatten(self) -> dict[str, Array]:
        """Return the columns as arrays."""
        words = {spec.name: getattr(self.bm25, spec.name) for spec in fields(Bm25)}
        own = {spec.name: getattr(self, spec.name) for spec in fields(self) if spec.name != "bm25"}
        return flatten("passages", own) | flatten("words", words)

    @classmethod
    def unflatten(cls, arrays: Arrays) -> "PassageColumns":
        """Return the columns that `flatten` made arrays of."""
        return cls(**{"vectors": None} | unflatten("passages", arrays),
                   bm25=Bm25(**unflatten("words", arrays)))


_PASSAGES: WeakKeyDictionary[Graph, Passages] = WeakKeyDictionary()


def passages_of(graph: Graph, make: Callable[[], Passages]) -> Passages:
    """Return the passages of a graph; made once for each graph in memory."""
    if graph not in _PASSAGES:
        _PASSAGES[graph] = make()
    return _PASSAGES[graph]


@dataclass(frozen=True, eq=False)
class Match:
    """Scores of each passage against the question before anything is diffused.

    Parameters
    ----------
    dense : ndarray, shape (c,)
        Cosine of question and passage.
    by_word : ndarray, shape (c, k)
        The share of each distinct content word of the question in a passage's BM25 score.
    sentences : callable, optional
        Places of passages to the cosine of question and nearest sentence, -1 where it is not known.
    """

    dense: Floats = field(repr=False)
    by_word: Floats = field(repr=False)
    sentences: Callable[[Nodes], Floats] | None = field(default=None, repr=False)

    @cached_property
    def lexical(self) -> Floats:
        """BM25 score, shape (c,)."""
        return np.asarray(self.by_word.sum(axis=1))

    @cached_property
    def by_words(self) -> Floats:
        """minmax(BM25), shape (c,)."""
        return minmax(self.lexical)

    def fusion(self, lexical: float = 0.5) -> Floats:
        """Return minmax(dense) + `lexical` minmax(BM25), shape (c,)."""
        return minmax(self.dense) + lexical * self.by_words

    @cached_property
    def near(self) -> Floats:
        """Cosine of passage and question mixed with that of the passage's nearest sentence, (c,).

        Only the sentences of the best passages by fusion are read.
        """
        if self.sentences is None:
            return self.dense
        best, places = self.dense.copy(), first(self.fusion(), READ)
        cosines = self.sentences(places)
        best[places] = np.where(cosines > -1, cosines, best[places])
        return (self.dense + SENTENCE * best) / (1 + SENTENCE)

    @cached_property
    def meaning(self) -> Floats:
        """minmax(near), shape (c,)."""
        return minmax(self.near)

    @cached_property
    def evidence(self) -> Floats:
        """The evidence for passages before anything is diffused, shape (c,)."""
        return self.meaning + 0.5 * self.by_words


def match(passages: Passages, plan: QueryPlan) -> Match:
    """Return dense and lexical scores of all passages for a question; those of the last question are
    cached."""
    if passages.matched is None or passages.matched[0] is not plan:
        passages.matched = plan, _match(passages, plan)
    return passages.matched[1]


def _match(passages: Passages, plan: QueryPlan) -> Match:
    dense = (np.zeros(len(passages)) if passages.vectors is None or not len(passages) else
             (passages.vectors @ plan.embedding).astype(np.float64))
    asked = partial(passages.nearest_sentences, asked=plan.embedding)
    return Match(dense, passages.bm25.contributions(parse_question(plan.words).content),
                 asked if len(passages) and passages.vectors is not None else None)


@dataclass(frozen=True)
class Seeds:
    """Rows of the graph, the share of the source mass each takes (they sum to 1), and why.

    `certainty`, from 0 to 1, is how sure it is that the question names something, which grows with
    the share of the names.
    """

    rows: Nodes
    shares: Floats
    reasons: tuple[Reason, ...]
    certainty: float = 1.0


def select_seeds(
    graph: Graph, passages: Passages, plan: QueryPlan, found: Match, *,
    entity_share: float = ENTITY_SHARE, best: int = 5, layer: Graph | None = None,
) -> Seeds:
    """Return sources of the diffusion: mass on the plan's names as far as they are sure, else on passages.

    A name takes mass in proportion to its weight (`weigh_names`), a passage in proportion to how
    far its evidence is above the best one that is left out. Names take `entity_share` of the
    mass, but no more than t / (t + 0.2) where t is the sum of their weights: names that are
    doubtful or everywhere narrow little. Without names the passages take all, and the other way
    round. Measured in docs/research.md.

    Parameters
    ----------
    entity_share : float
        Between 0 and 1.
    best : int
        Number of passages, those with the most evidence.
    layer : Graph, optional
        The diffusion's edges; a name that has none of them would hold its mass and takes none.
    """
    entities, weights = weigh_names(graph, passages, plan)
    if layer is not None:
        joined = layer.degree_of(entities) > 0
        entities, weights = entities[joined], weights[joined]
    named = entities.tolist()
    evidence = found.evidence
    order = first(evidence, best + 1)  # rows ascend with places
    chosen = order[:best] if entity_share < 1 or not named else order[:0]
    left_out = evidence[order[best]] if len(order) > best else evidence.min(initial=0.0) - 1e-3
    above = evidence[chosen] - left_out + 1e-9
    total = float(weights.sum())
    share = min(entity_share, total / (total + COMMON)) if len(chosen) else 1.0
    asked = {as_typed(canonical(keyword.text)) for keyword in plan.keywords}
    return Seeds(
        np.concatenate([entities, passages.rows[chosen]]),
        np.concatenate([share * weights / max(total, 1e-300),
                        (1 - share) * above / max(above.sum(), 1e-300)]),
        (*(_named_reason(graph, row, asked) for row in named),
         *(reason(ReasonKind.NEAR_BY_MEANING_AND_WORDS, place=place)
           for place in range(1, len(chosen) + 1))),
        certainty=float(np.clip((share - DOUBTED) / (SURE - DOUBTED), 0, 1)) if named else 0.0)


def weigh_names(graph: Graph, passages: Passages, plan: QueryPlan) -> tuple[Nodes, Floats]:
    """Return the rows of the names of a question that may be meant as such, and their weights, shape (k,).

    A name weighs its rarity 1 / log2(1 + number of its passages) where the question writes it with
    a capital and it titles a passage, and a part of that where only one of the two holds.
    """
    rows = np.array(named_rows(graph, plan), np.int64)
    rarity = 1 / np.log2(1 + np.maximum(1, passage_counts(graph, rows)))
    titles = np.isin(rows, passages.title)
    asked = plan.words
    names = [graph.names[row] for row in rows.tolist()]
    capitals = np.array([is_asked_as_name(name, asked) for name in names], np.bool_)
    sure = np.where(titles & capitals, 1.0, CAPITAL * capitals + TITLE * titles)
    kept = sure > 0
    return rows[kept], (rarity * sure)[kept]


def is_asked_as_name(name: str, asked: str) -> bool:
    """Return True if a question writes a name of the graph as one: with a capital, or in letters that have
    none.

    In a question without capitals names of two words or more count that have one themselves beyond
    the first letter. A stand-in for a name that the graph does not know is not in the question.
    """
    start = as_typed(asked).casefold().find(as_typed(name).casefold())
    if start < 0:
        return True
    if not any(letter.isupper() for letter in asked[1:]) and not bears_no_capital(asked[start]):
        return " " in name and any(letter.isupper() for letter in name[1:])
    return any(letter.isupper() or bears_no_capital(letter)
               for letter in asked[start:start + len(name)])


def named_rows(graph: Graph, plan: QueryPlan) -> list[int]:
    """Return rows of the plan's names that the graph has."""
    return [row for name in plan.names
            if (row := graph.row.get(node_id("entity", name))) is not None]


def passage_counts(graph: Graph, rows: Nodes) -> Nodes:
    """Count the passages of each entity, shape (k,)."""
    frontier = graph.expand(rows)
    mentions = (frontier.edge_kinds & kind_bit("mention")) > 0
    owner = np.repeat(np.arange(len(rows)), frontier.counts)
    return np.bincount(owner[mentions], minlength=len(rows)).astype(np.int64)


def minmax(scores: Floats) -> Floats:
    """Return the scores scaled to [0, 1]; 0 where they are all equal."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if high <= low:
        return np.zeros(len(scores))
    scaled = scores - low
    scaled /= high - low
    return scaled


def _named_reason(graph: Graph, row: int, asked: set[str]) -> Reason:
    typed = as_typed(canonical(graph.names[row])) in asked
    return reason(ReasonKind.NAMED if typed else ReasonKind.STANDS_FOR_NAME)


def keyword_seeds(graph: Graph, plan: QueryPlan, count: int, layer: str = "passages") -> Seeds:
    """Return the `count` nodes with the highest score(v), its best cosine with a keyword: Algorithm 1.

    Nodes are compared by the vectors of their names; `layer` "entities" leaves passages out.
    Equal shares; ties go to the lower row. Without keywords the question itself is the keyword.
    """
    if graph.name_vectors is None or not len(graph) or count == 0:
        return Seeds(np.zeros(0, np.int64), np.zeros(0), ())
    rows = np.flatnonzero((graph.kinds == "entity") | (layer != "entities"))
    asked = plan.keyword_embeddings if len(plan.keywords) else plan.embedding[None, :]
    similarity = (graph.name_vectors @ asked.T)[rows]  # picking rows first would copy them
    order = first(similarity.max(axis=1).astype(np.float64), count)  # rows ascend: ties go to the lower
    best = similarity[order].argmax(axis=1)
    reasons = tuple(near_keyword(plan, keyword, float(similarity[place, keyword]))
                    for place, keyword in zip(order.tolist(), best.tolist(), strict=True))
    return Seeds(rows[order], np.full(len(reasons), 1.0 / max(len(reasons), 1)), reasons)


def near_keyword(plan: QueryPlan, keyword: int, score: float) -> Reason:
    """Word the reason that a node is like one of the plan's keywords, else like the question."""
    if keyword >= len(plan.keywords):
        return reason(ReasonKind.NEAR_QUESTION, score=score)
    return reason(ReasonKind.NEAR_KEYWORD, score=score, word=plan.keywords[keyword].text)


STRETCHES = 16  # for each score that is sought; the more, the fewer scores have to be sorted


def first(scores: Floats, count: int) -> Nodes:
    """Return the places of the `count` highest scores, best first; ties by place."""
    if len(scores) > 4 * count > 0:
        # As many scores are at least as high as the `count`-th of the highest ones of all stretches.
        stretches = np.arange(0, len(scores), max(1, len(scores) // (STRETCHES * count)))
        highest = np.maximum.reduceat(scores, stretches)
        places = np.flatnonzero(scores >= np.partition(highest, -count)[-count])
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")
    return places[order[:count]]
