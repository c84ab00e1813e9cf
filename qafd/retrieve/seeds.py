"""Where the mass of a question enters the graph: named entities and the best passages."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from qafd.assemble import node_id
from qafd.graph import Graph, kind_bit
from qafd.nearest import SignCodes, nearest
from qafd.reading.text import as_typed, canonical
from qafd.reading.text.bm25 import Bm25, content_words
from qafd.reading.text.scripts import bears_no_capital, is_written_small
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan, Vectors

LARGE = 20_000  # nodes up to which a matrix product finds the nearest names fastest
COMMON = 0.2  # total weight of the names at which they and passages would share the mass equally
ENTITY_SHARE = 0.75  # of the mass, that the names of a question take at most
CAPITAL, TITLE = 0.3, 0.2  # of its rarity counts for a name that only one of the two speaks for
SURE = 0.5  # share of the mass from which on the question is taken to name something


class Passages:
    """The passages of a graph, ready to be compared with questions.

    Parameters
    ----------
    graph : Graph
    texts : callable
        Node ids to the passages' titles and texts, as one string each, in order.
    titled : bool
        Whether the first line of each is the title; otherwise it is the passage's name.
    """

    def __init__(self, graph: Graph, texts: Callable[[Sequence[str]], Sequence[str]],
                 titled: bool = False) -> None:
        self.rows: Nodes = np.flatnonzero(graph.kinds == "passage")
        # Picking the rows anew for every question takes ten times longer than the product.
        self.vectors: Vectors | None = None if graph.vectors is None else graph.vectors[self.rows]
        said = texts([graph.ids[row] for row in self.rows.tolist()])
        self.bm25 = Bm25(said)
        self.titles = [text.partition("\n")[0] for text in said] if titled else [
            graph.names[row] for row in self.rows.tolist()]
        self.title = np.array([graph.row.get(node_id("entity", canonical(title)), -1)
                               for title in self.titles], np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, graph: Graph) -> "Passages":
        """The same passages with the vectors of a graph that has the same rows."""
        other = copy(self)
        other.vectors = None if graph.vectors is None else graph.vectors[self.rows]
        return other


_PASSAGES: WeakKeyDictionary[Graph, Passages] = WeakKeyDictionary()


def passages_of(
    graph: Graph, texts: Callable[[Sequence[str]], Sequence[str]], titled: bool = False
) -> Passages:
    """The passages of a graph; read once for each graph in memory."""
    if graph not in _PASSAGES:
        _PASSAGES[graph] = Passages(graph, texts, titled)
    return _PASSAGES[graph]


@dataclass(frozen=True, eq=False)
class Match:
    """How well each passage matches the question before anything is diffused.

    Parameters
    ----------
    dense : ndarray, shape (c,)
        Cosine of question and passage.
    by_word : ndarray, shape (c, k)
        What each distinct content word of the question adds to a passage's BM25 score.
    """

    dense: Floats = field(repr=False)
    by_word: Floats = field(repr=False)

    @cached_property
    def lexical(self) -> Floats:
        """BM25 score, shape (c,)."""
        return np.asarray(self.by_word.sum(axis=1))

    def fusion(self, lexical: float = 0.5) -> Floats:
        """minmax(dense) + `lexical` minmax(BM25), shape (c,)."""
        return minmax(self.dense) + lexical * minmax(self.lexical)


def match(passages: Passages, plan: QueryPlan) -> Match:
    """Dense and lexical scores of all passages for a question."""
    dense = (np.zeros(len(passages)) if passages.vectors is None or not len(passages) else
             (passages.vectors @ plan.embedding).astype(np.float64))
    return Match(dense, passages.bm25.contributions(content_words(plan.words)))


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
    entity_share: float = ENTITY_SHARE, best: int = 5,
) -> Seeds:
    """Sources of the diffusion: mass on the plan's names as far as they are sure, else on passages.

    A name takes mass in proportion to its weight (`weigh_names`), a passage in proportion to how
    far its fusion score is above the best one that is left out. Names take `entity_share` of the
    mass, but no more than t / (t + 0.2) where t is the sum of their weights: names that are
    doubtful or everywhere say little. Without names the passages take all, and the other way
    round. Measured in docs/retrieval.md.

    Parameters
    ----------
    entity_share : float
        Between 0 and 1.
    best : int
        Number of passages, those with the highest fusion scores.
    """
    entities, weights = weigh_names(graph, passages, plan)
    named = entities.tolist()
    fusion = found.fusion()
    order = np.lexsort((passages.rows, -fusion))
    chosen = order[:best] if entity_share < 1 or not named else order[:0]
    left_out = fusion[order[best]] if len(order) > best else fusion.min(initial=0.0) - 1e-3
    above = fusion[chosen] - left_out + 1e-9
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
        certainty=min(1.0, share / SURE) if named else 0.0)


def weigh_names(graph: Graph, passages: Passages, plan: QueryPlan) -> tuple[Nodes, Floats]:
    """The rows of the names of a question that may be meant as such, and their weights, shape (k,).

    A name weighs its rarity 1 / log2(1 + number of its passages) where the question writes it with
    a capital and it titles a passage, and a part of that where only one of the two holds. What the
    documents themselves write small is a term and no name; neither is what nothing speaks for.
    """
    rows = np.array(named_rows(graph, plan), np.int64)
    rarity = 1 / np.log2(1 + np.maximum(1, passage_counts(graph, rows)))
    titles = np.isin(rows, passages.title)
    asked = plan.words
    names = [graph.names[row] for row in rows.tolist()]
    capitals = np.array([is_asked_as_name(name, asked) for name in names], np.bool_)
    small = np.array([is_written_small(name) for name in names], np.bool_)
    sure = np.where(titles & capitals, 1.0, CAPITAL * capitals + TITLE * titles)
    kept = (sure > 0) & ~small
    return rows[kept], (rarity * sure)[kept]


def is_asked_as_name(name: str, asked: str) -> bool:
    """Whether a question writes a name of the graph as one: with a capital, or in letters that have
    none.

    In a question without capitals names of two words or more count that have one themselves beyond
    the first letter. What stands for a name that the graph does not know is not in the question.
    """
    start = as_typed(asked).casefold().find(as_typed(name).casefold())
    if start < 0:
        return True
    if not any(letter.isupper() for letter in asked[1:]) and not bears_no_capital(asked[start]):
        return " " in name and any(letter.isupper() for letter in name[1:])
    return any(letter.isupper() or bears_no_capital(letter)
               for letter in asked[start:start + len(name)])


def named_rows(graph: Graph, plan: QueryPlan) -> list[int]:
    """Rows of the plan's names that the graph has."""
    return [row for name in plan.names
            if (row := graph.row.get(node_id("entity", name))) is not None]


def passage_counts(graph: Graph, rows: Nodes) -> Nodes:
    """In how many passages each entity occurs, shape (k,)."""
    frontier = graph.expand(rows)
    mentions = (frontier.edge_kinds & kind_bit("mention")) > 0
    owner = np.repeat(np.arange(len(rows)), frontier.counts)
    return np.bincount(owner[mentions], minlength=len(rows)).astype(np.int64)


def minmax(scores: Floats) -> Floats:
    """The scores scaled to [0, 1]; 0 where they are all equal."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros(len(scores))


def _named_reason(graph: Graph, row: int, asked: set[str]) -> Reason:
    typed = as_typed(canonical(graph.names[row])) in asked
    return reason(ReasonKind.NAMED if typed else ReasonKind.STANDS_FOR_NAME)


def keyword_seeds(graph: Graph, plan: QueryPlan, count: int, layer: str = "passages") -> Seeds:
    """Algorithm 1: the `count` nodes with the highest score(v) = max over keywords of the cosine.

    Nodes are compared by the vectors of their names; `layer` "entities" leaves passages out.
    Equal shares; ties go to the lower row. Without keywords the question itself is the keyword.
    In a graph of more than `LARGE` nodes the search goes by sign codes (`qafd.nearest`).
    """
    if graph.name_vectors is None or not len(graph) or count == 0:
        return Seeds(np.zeros(0, np.int64), np.zeros(0), ())
    among = np.flatnonzero(graph.kinds == "entity") if layer == "entities" else None
    asked = plan.keyword_embeddings if len(plan.keywords) else plan.embedding[None, :]
    codes = _codes_of(graph, layer, among) if len(graph) > LARGE else None
    found = nearest(graph.name_vectors, asked, count, codes, among=among)
    reasons = tuple(near_keyword(plan, k, score) for score, k in zip(
        found.scores.tolist(), found.keyword.tolist(), strict=True))
    return Seeds(found.rows, np.full(len(reasons), 1.0 / max(len(reasons), 1)), reasons)


def near_keyword(plan: QueryPlan, keyword: int, score: float) -> Reason:
    """That a node is like one of the plan's keywords; like the question where it has none left."""
    if keyword >= len(plan.keywords):
        return reason(ReasonKind.NEAR_QUESTION, score=score)
    return reason(ReasonKind.NEAR_KEYWORD, score=score, word=plan.keywords[keyword].text)


_CODES: WeakKeyDictionary[Graph, dict[str, SignCodes]] = WeakKeyDictionary()


def _codes_of(graph: Graph, layer: str, among: Nodes | None) -> SignCodes:
    """The sign codes of a graph's names; made once for each graph in memory."""
    made = _CODES.setdefault(graph, {})
    if layer not in made:
        assert graph.name_vectors is not None
        made[layer] = SignCodes.build(
            graph.name_vectors if among is None else graph.name_vectors[among])
    return made[layer]
