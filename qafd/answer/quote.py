"""Retrieval to quoted answer: the sentence that answers, and up to three that support it."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import snowballstemmer

from qafd.answer import NEEDED, Answer, Citation, Sentence, cite
from qafd.answer.asked import Asked, asked_for, brings, unsaid
from qafd.assemble import node_id
from qafd.models.embedder import Embedder, LocalEmbedder
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import FUNCTION_LETTERS, content_words, words
from qafd.reading.text.scripts import is_latin, is_unspaced, length
from qafd.reading.text.table_rows import is_row
from qafd.records import Floats, Nodes, QueryPlan, Vectors, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace
from qafd.storage.rows import SentenceName

Names = Mapping[tuple[str, int], Sequence[SentenceName]]
BoolArray = npt.NDArray[np.bool_]

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
SHARE = 0.5  # how much the share of the question's words counts beside the cosine
RANK = 0.03  # what each passage before its own costs a sentence
KIND = 0.2  # how much it counts that a sentence brings a person where one is asked for
IMPORTANT = 0.1  # how much the importance of what it names counts, on a scale of 3 decades
OPEN = 0.5  # how much the question's words count that no chosen sentence has yet
REPEATED = 0.95  # cosine from which a sentence says what another one said
ADDS = 0.5  # share of the first sentence's score that a supporting one must add
SHORT = 4  # words below which a sentence is a heading or a remnant
LONG = 8  # words from which a line that no mark ends may be a sentence
MARKED, NEAR = 2, 0.75  # sentences marked in a passage, from this share of the best cosine on
SAID = 0.51  # share of the question's words that answers where the model cannot read it
BROUGHT, UNHEARD = 0.15, 0.15  # how much less, and more, an answer needs
_ENGLISH: Any = snowballstemmer.stemmer("english")
_ENDED = re.compile(r"[.!…。！][\"'”’»)\]*_`]*$")


@dataclass(frozen=True, eq=False)
class Span:
    """A sentence of the passage of a rank, at `start:end` of it, and its vector, shape (d,)."""

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    vector: Vectors

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()

    @property
    def states(self) -> bool:
        """Whether it reads as a sentence that states something: no heading, question or remnant."""
        text, size = self.text, length(self.text)
        if size < SHORT or text in (self.passage.title, self.passage.heading):
            return False
        return is_row(text) or bool(_ENDED.search(text)) or (size >= LONG and text[-1] not in "?？")


@dataclass(frozen=True)
class Marks:
    """What speaks for each of s sentences.

    `has` says which of the question's k words each has, `similarity` how near it is to the
    question, together with the sentence `leads` that leads to it where this is nearer (else -1).
    """

    similarity: Floats
    has: Floats
    weights: Floats
    fits: Floats
    scores: Floats
    leads: Nodes


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Workspace,
                   embedder: Embedder) -> Answer:
    """The sentence of the best passages that answers the question, and up to three others.

    A sentence scores its cosine with the question, the share of the question's words that it has,
    rare ones first, the rank of its passage, whether it brings what is asked for, and how important
    the names it brings are in the diffusion. Cosine and words are those of two sentences together
    where one of another passage leads to it by a name, and what is titled by a name of the question
    speaks of it: "She was born in Valparaíso" answers where
    a singer was born once another says which song she sang. The best one comes first, then what
    leads to it, the best one for each subquery, and those that add words of the question. Sentences are
    compared by vectors of their own, from a model behind an endpoint by those in the context of
    their passage. A question in letters that the bundled model does not know is compared by its
    words: the share that a sentence and its title have stands for the cosine.
    """
    parts = plan.subqueries[:SENTENCES - 1]
    passages = retrieval.passages[:PASSAGES * max(1, len(parts))]
    spans = _read_spans(passages, store, embedder)
    if not spans:
        return Answer((), (), 0.0)
    marks = _mark(spans, plan, retrieval, store)
    chosen = _choose(spans, marks, [_mark(spans, part, retrieval, store) for part in parts])
    first = chosen[0]
    missing = find_missing(plan.words, passages)
    needed = NEEDED
    if asked_for(plan.words) != Asked.OPEN and marks.fits[first] == 1:
        needed -= BROUGHT
    if has_name(plan.words, missing):
        needed += UNHEARD
    if not is_latin(plan.words):
        needed = SAID
    answer = Answer((), (), float(marks.similarity[first]), needed, missing=missing,
                    literal=_has_all(marks, first))
    return _quote(answer, [spans[i] for i in chosen], marks.similarity[chosen], store)


def find_near(passages: Sequence[RetrievedPassage], plan: QueryPlan,
              store: Workspace) -> dict[str, list[tuple[int, int]]]:
    """The sentences of some passages that are nearest to the question, as offsets by chunk.

    Near is a share of the best one's cosine; of each passage two at most, since the sentences of
    one passage are all alike to the model.
    """
    spans = _stored_spans(passages, store)
    if not spans:
        return {}
    near, least = _similarity(spans, plan), NEEDED - BROUGHT
    found: dict[str, list[tuple[int, int]]] = {}
    for i in np.argsort(-near, kind="stable"):
        some = found.setdefault(spans[i].passage.chunk, [])
        if near[i] >= max(least, NEAR * near.max()) and len(some) < MARKED:
            some.append((spans[i].start, spans[i].end))
    return found


def find_missing(question: str, passages: Sequence[RetrievedPassage]) -> tuple[str, ...]:
    """The telling words of a question, as it spells them, that no passage has in any form."""
    said = frozenset().union(*(stems(f"{p.title}\n{p.heading}\n{p.text}") for p in passages))
    telling = frozenset(content_words(question))
    found = []
    for word in re.findall(r"\w+", question):
        for part in FUNCTION_LETTERS.split(word):
            own = words(part)
            if part and not telling.isdisjoint(own) and said.isdisjoint(stems(part)):
                found.append(part)
    return tuple(dict.fromkeys(found))


def has_name(question: str, missing: Sequence[str]) -> bool:
    """Whether a word that is missing is written as names are: a capital that opens no sentence."""
    opening = re.findall(r"\w+", question)[:1]
    return not question.isupper() and any(
        word[0].isupper() and word not in opening for word in missing)


def stems(text: str) -> frozenset[str]:
    """The stems of the words of a text, those of "salinity_limit" too."""
    return frozenset(_stem(word) for word in words(text.replace("_", " ")))


@cache
def _stem(word: str) -> str:
    return str(_ENGLISH.stemWord(word))


def _stored_spans(passages: Sequence[RetrievedPassage], store: Workspace) -> list[Span]:
    """The sentences of some passages with vectors in their context; headings only if alone."""
    found = store.passages.sentences(passage.chunk for passage in passages)
    spans = []
    for rank, passage in enumerate(passages):
        for start, end, vector in found.get(passage.chunk, ()):
            if any(letter.isalnum() for letter in passage.text[start:end]):
                spans.append(Span(rank, passage, start, end, vector))
    return [span for span in spans if span.states] or spans


def _read_spans(passages: Sequence[RetrievedPassage], store: Workspace,
                embedder: Embedder) -> list[Span]:
    spans = _stored_spans(passages, store)
    if embedder.name != LocalEmbedder.name:
        return spans
    vectors = embedder.embed([span.text for span in spans])
    return [replace(span, vector=vector) for span, vector in zip(spans, vectors, strict=True)]


def _similarity(spans: Sequence[Span], plan: QueryPlan) -> Floats:
    """How near each sentence is to the question, shape (s,)."""
    if is_latin(plan.words):
        return (np.stack([span.vector for span in spans]) @ plan.embedding).astype(np.float64)
    asked = [word for word in content_words(plan.words) if not FUNCTION_LETTERS.search(word)]
    said = [frozenset(words(f"{span.passage.title}\n{span.text}")) for span in spans]
    return np.array([sum(word in there for word in asked) / max(1, len(asked)) for there in said])


def _mark(spans: Sequence[Span], plan: QueryPlan, retrieval: Retrieval, store: Workspace) -> Marks:
    asked = list(dict.fromkeys(map(_stem, content_words(plan.words))))
    has = np.zeros((len(spans), len(asked)))
    unspaced = is_unspaced(plan.words)
    for row, span in enumerate(spans):
        title = span.passage.title
        named = unspaced or canonical(title) in plan.names
        said = stems(f"{title}\n{span.text}" if named else span.text)
        has[row] = [word in said for word in asked]
    weights = 1 / (1 + has.sum(axis=0))
    weights /= max(weights.sum(), 1e-300)
    names = store.passages.names({span.passage.chunk for span in spans})
    fits, important = _value_names(spans, plan.words, retrieval, names)
    similarity = _similarity(spans, plan)
    costs = RANK * np.array([span.rank for span in spans])
    alone = similarity + SHARE * (has @ weights) - costs
    # Of two sentences together: the cosine of the sum of their vectors, and their words united.
    vectors = np.stack([span.vector for span in spans])
    both = (similarity[:, None] + similarity) / np.sqrt(2 + 2 * np.clip(vectors @ vectors.T, 0, 1))
    union = np.maximum(has[:, None, :], has[None, :, :]) @ weights
    joined = both + SHARE * union - (costs[:, None] + costs) / 2
    joined[~_link(spans, names, {node_id("entity", key) for key in plan.names})] = -np.inf
    leads = joined.argmax(axis=1)
    led = joined.max(axis=1)
    rows = np.arange(len(spans))
    return Marks(np.where(led > alone, np.maximum(similarity, both[rows, leads]), similarity), has,
                 weights, fits, np.maximum(alone, led) + KIND * fits + IMPORTANT * important,
                 np.where(led > alone, leads, -1))


def _link(spans: Sequence[Span], names: Names, asked: Collection[str]) -> BoolArray:
    """Whether the second sentence leads to the first, of another passage, shape (s, s).

    It does where it has the name that titles the first one's passage, or both share a name that
    the question does not have.
    """
    new = [{name.node for name in names.get((span.passage.chunk, span.end), ())}.difference(asked)
           for span in spans]
    titles = [node_id("entity", canonical(span.passage.title)) for span in spans]
    linked = np.zeros((len(spans), len(spans)), np.bool_)
    for one, span in enumerate(spans):
        for other, before in enumerate(spans):
            if span.rank != before.rank:
                linked[one, other] = titles[one] in new[other] or bool(new[one] & new[other])
    return linked


def _value_names(spans: Sequence[Span], question: str, retrieval: Retrieval,
                 names: Names) -> tuple[Floats, Floats]:
    """Whether sentences bring what is asked for, and how important the names are that they bring,
    both in [0, 1], shape (s,)."""
    kind, said = asked_for(question), frozenset(words(question))
    x = {node.id: node.importance for node in retrieval.nodes}
    top = max(x.values(), default=0.0)
    fits, important = np.zeros(len(spans)), np.zeros(len(spans))
    for row, span in enumerate(spans):
        new = unsaid(names.get((span.passage.chunk, span.end), ()), said)
        fits[row] = brings(kind, span.text, new, said)
        most = max((x.get(name.node, 0.0) for name in new), default=0.0)
        if most > 0:
            important[row] = max(0.0, 1 + np.log10(most / top) / 3)
    return fits, important


def _choose(spans: Sequence[Span], marks: Marks, parts: Sequence[Marks]) -> list[int]:
    """The sentences to quote, the one that answers most first; `parts` are those of subqueries."""
    vectors = np.stack([span.vector for span in spans])
    best, lead = int(marks.scores.argmax()), int(marks.leads[marks.scores.argmax()])
    chosen = [best] if lead < 0 else [best, lead]
    for part in parts:
        foremost = int(part.scores.argmax())
        if foremost not in chosen:
            chosen.append(foremost)
    while len(chosen) < min(SENTENCES, len(spans)):
        left = ~marks.has[chosen].any(axis=0)
        gain = marks.scores + OPEN * ((marks.has * left) @ marks.weights)
        gain[(vectors @ vectors[chosen].T >= REPEATED).any(axis=1)] = -np.inf
        gain[chosen] = -np.inf
        following = int(gain.argmax())
        if gain[following] < ADDS * marks.scores[best]:
            break
        chosen.append(following)
    return chosen


def _has_all(marks: Marks, row: int) -> bool:
    """Whether a sentence has all telling words of a question that has several."""
    return marks.has.shape[1] > 1 and bool(marks.has[row].all())


def _quote(answer: Answer, spans: Sequence[Span], similarity: Floats, store: Workspace) -> Answer:
    """The answer with its sentences and the passages that they are cited from.

    Sentences of one passage follow each other; the first one's passage comes first.
    """
    cited: dict[RetrievedPassage, list[int]] = {}
    for i, span in enumerate(spans):
        cited.setdefault(span.passage, []).append(i)
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    for number, (passage, some) in enumerate(cited.items(), 1):
        places = [(spans[i].start, spans[i].end) for i in some]
        citations.append(cite(store, number, passage, places, float(similarity[some].max())))
        marks = store.documents.get(passage.document).marks
        order = sorted(some, key=lambda i: (i != 0, spans[i].start))
        for place, i in enumerate(order):
            span = spans[i]
            sentences.append(Sentence(
                span.text, number, float(similarity[i]), passage.start + span.start,
                passage.start + span.end, i == 0 and not answer.abstained,
                mark_at(marks, passage.start + span.start).page,
                place > 0 and _stand_apart(spans[order[place - 1]], span)))
    return replace(answer, sentences=tuple(sentences), citations=tuple(citations))


def _stand_apart(before: Span, after: Span) -> bool:
    """Whether words of the passage stand between two sentences, or they are in another order."""
    between = before.passage.text[before.end:after.start]
    return before.end > after.start or bool(between.strip())
