"""What speaks for each sentence as the answer of a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from qafd.answer.spans import Span, compare
from qafd.plan.asked import (
    DEFINITE,
    asked_for,
    asked_noun,
    begins_with,
    brings,
    opens_with,
    tells,
    unsaid,
)
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import content_words, words
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import is_unspaced
from qafd.reading.text.stems import stem, stems
from qafd.records import Floats, QueryPlan, node_id
from qafd.retrieve.base import Retrieval
from qafd.storage import Workspace

SHARE = 0.5  # how much the share of the question's words counts beside the cosine
RANK = 0.03  # what each passage before its own costs a sentence
KIND = 0.2  # how much it counts that a sentence brings what is asked for
DISTINCT = 0.4  # and where that is a person, a place, a time or a number
CONTEXT = 0.5  # what a word around a sentence counts where it brings what is asked for
OTHER = 0.5  # how well, at most, a sentence fits where others bring what is called as asked
DEFINED = 0.2  # how much it counts to begin with the name that a question asks the meaning of
IMPORTANT = 0.2  # how much the importance of what it names, on a scale of 3 decades, counts at most
NEXT = 0.5  # how much more words and what is asked for count one hop further on
LONGER, USUAL = 0.05, 15  # how much it counts to be e times longer than usual, in words


@dataclass(frozen=True)
class Marks:
    """What speaks for each of s sentences: `scores`, and `similarity`, how near it is to the question.

    `covered` is the share of all the question's words that it has, rare ones first, `fits` whether it
    brings what is asked for, and `told` how many of the question's `telling` words stand in it and
    around it, all in [0, 1]. These are the words, as the question has them, that tell what about its names
    is asked for.
    """

    scores: Floats
    similarity: Floats
    covered: Floats
    fits: Floats
    told: Floats
    telling: tuple[str, ...]


@dataclass(frozen=True)
class BroughtNames:
    """The names of each of s sentences, as nodes; whether they fit what is asked for, and how
    important they are, both in [0, 1], shape (s,)."""

    nodes: list[set[str]]
    fits: Floats
    important: Floats


def mark(spans: Sequence[Span], plan: QueryPlan, retrieval: Retrieval, store: Workspace) -> Marks:
    """What speaks for each sentence of the considered passages: see `qafd.answer.quote.extract_answer`."""
    typed = {stem(word): word for word in content_words(plan.words)}
    asked = list(typed)
    has = _find_words(spans, asked, is_unspaced(plan.words))
    defined = find_defined(plan)
    found = has.sum(axis=0)
    rarity = np.log1p(len(spans) / np.maximum(found, 1))
    telling = _find_telling(plan, asked, bool(defined))
    weights = (found > 0) * telling * rarity ** 2
    named = _value_names(spans, plan.words, retrieval, store)
    similarity = compare(spans, plan)
    kind = DISTINCT if asked_for(plan.words) in DEFINITE else KIND
    sizes = np.array([max(1, len(span.text.split())) for span in spans])
    around = _find_context(spans, asked, has)
    credited = np.maximum(has, CONTEXT * around * (named.fits == 1)[:, None])
    scores = (similarity + SHARE * _share(credited, weights) + kind * named.fits
              - RANK * np.array([span.rank for span in spans]) + LONGER * np.log(sizes / USUAL)
              + IMPORTANT * (retrieval.named_share or 0.0) * named.important)
    scores += DEFINED * np.array([begins_with(span.text, defined) for span in spans])
    first = int(scores.argmax())
    further = _share(has, np.where(has[first] > 0, 0.0, weights))
    next_hop = np.zeros(len(spans))
    if named.fits[first] < 1 or not has[first] @ weights:
        next_hop = _lead_on(spans, named.nodes, first) * (further > 0)
    scores += next_hop * NEXT * (further + named.fits)
    return Marks(scores, similarity, _share(has, rarity), named.fits,
                 _share(np.maximum(has, around), telling),
                 tuple(typed[word] for word in np.array(asked)[telling > 0]))


def find_defined(plan: QueryPlan) -> list[list[str]]:
    """The stems of each name whose meaning alone is asked for, as in "What is a trust line?".

    Where the documents know no name of the question, its only keyword is one. Empty where other words
    of the question tell what about the name is asked for.
    """
    names = [*plan.names]
    if not names and len(plan.keywords) == 1:
        names = [plan.keywords[0].text]
    defined = [list(map(stem, content_words(name))) for name in names]
    known = set(chain.from_iterable(defined))
    rest = [word for word in map(stem, content_words(plan.words)) if tells(word) and word not in known]
    return [] if rest else defined


def _find_words(spans: Sequence[Span], asked: Sequence[str], unspaced: bool) -> Floats:
    """Which of the asked words each sentence has, 1 or 0, shape (s, w); also in the title where nothing
    parts words."""
    has = np.zeros((len(spans), len(asked)))
    for row, span in enumerate(spans):
        said = stems(f"{span.passage.title}\n{span.said}" if unspaced else span.said)
        has[row] = [word in said for word in asked]
    return has


def _find_telling(plan: QueryPlan, asked: Sequence[str], defined: bool) -> Floats:
    """Which of the asked words tell what is asked for, 1 or 0, shape (w,).

    Those of the question's names do where their meaning is asked for (`defined`), else their
    numbers alone.
    """
    names: set[str] = set()
    if not defined:
        for name in plan.names:
            names.update(stem(word) for word in words(name) if not has_digit(word))
    return np.array([word not in names and tells(word) for word in asked], float)


def _find_context(spans: Sequence[Span], asked: Sequence[str], has: Floats) -> Floats:
    """Which of the asked words stand around each sentence, 1 or 0, shape (s, w).

    That is in the sentence before it, in its heading, or in the title of its passage.
    """
    around = np.zeros_like(has)
    for row, span in enumerate(spans):
        above = stems(f"{span.passage.title}\n{span.heading}")
        around[row] = [word in above for word in asked]
        if row and spans[row - 1].rank == span.rank:
            around[row] = np.maximum(around[row], has[row - 1])
    return around


def _share(has: Floats, weights: Floats) -> Floats:
    """The share that each sentence has of the weight of some words, shape (s,)."""
    return np.asarray((has @ weights) / max(weights.sum(), 1e-300))


def _lead_on(spans: Sequence[Span], nodes: Sequence[set[str]], first: int) -> Floats:
    """Which sentences stand one hop further on, 1 or 0, shape (s,).

    They are those of another passage that is titled by a name which the first sentence or one
    beside it has: where it only has what a question of several hops describes, what is asked for
    is there.
    """
    passages = {span.rank: span.passage for span in spans}
    titles = {rank: node_id("entity", canonical(passage.title))
              for rank, passage in passages.items()}
    own = spans[first].rank
    beside = [i for i in (first - 1, first, first + 1)
              if 0 <= i < len(spans) and spans[i].rank == own]
    names = set().union(*(nodes[i] for i in beside)) - {titles[own]}
    return np.array([titles[span.rank] in names for span in spans], float)


def _value_names(spans: Sequence[Span], question: str, retrieval: Retrieval,
                 store: Workspace) -> BroughtNames:
    """What the names of sentences are worth: see `BroughtNames`."""
    kind, noun, said = asked_for(question), asked_noun(question), frozenset(words(question))
    names = store.passages.names({span.passage.chunk for span in spans})
    x = {node.id: node.importance for node in retrieval.nodes}
    top = max(x.values(), default=0.0)
    fits, important = np.zeros(len(spans)), np.zeros(len(spans))
    stated = np.zeros(len(spans), np.bool_)
    called: set[str] = set()
    nodes: list[set[str]] = []
    new: list[set[str]] = []
    for row, span in enumerate(spans):
        named = names.get((span.passage.chunk, span.end), ())
        nodes.append({name.node for name in named})
        brought = unsaid(named, said)
        new.append({name.node for name in brought})
        fits[row] = brings(kind, span.text, brought, said)
        most = max((x.get(node, 0.0) for node in new[row]), default=0.0)
        if most > 0:
            important[row] = max(0.0, 1 + np.log10(most / top) / 3)
        # "Ytterby is a village": what is called so fits a question for a village, other names less.
        clause = canonical(opens_with(span.text, noun)) if noun else ""
        if clause:
            stated[row] = fits[row] > 0
            called |= {name.node for name in named if clause.startswith(canonical(name.text))}
    if called or stated.any():
        called_so = stated | np.array([not nodes.isdisjoint(called) for nodes in new])
        fits = np.where(called_so, 1.0, np.minimum(fits, OTHER))
    return BroughtNames(nodes, fits, important)
