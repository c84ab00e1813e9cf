"""An answer without a language model: the sentences of the retrieved passages, cited."""

from dataclasses import dataclass, replace

import numpy as np

from qafd.bm25 import words
from qafd.records import QueryPlan, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.store import Store

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
FLOW = 0.2  # how much the rank of a passage counts beside the similarity of its sentence
OPEN = 0.4  # how much the question's words count that no chosen sentence has yet
SHORT = 4  # words below which a sentence is a heading or a remnant
REPEATED = 0.9  # cosine from which a sentence says what another one said
WEAK = 0.3  # best cosine below which the documents do not answer the question


@dataclass(frozen=True)
class Sentence:
    """A quoted sentence, at `start:end` of its document, and the citation that proves it."""

    text: str
    citation: int
    similarity: float
    start: int
    end: int


@dataclass(frozen=True)
class Citation:
    """A numbered source; `where` says document, page and heading."""

    number: int
    title: str
    where: str
    passage: RetrievedPassage


@dataclass(frozen=True)
class Answer:
    """Quoted sentences in the order of their passages.

    `best` is the highest cosine between the question and a sentence; `abstained` that it is
    below `threshold`: the documents then do not seem to answer the question.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    best: float
    threshold: float = WEAK

    @property
    def abstained(self) -> bool:
        """Whether the evidence is too weak to be an answer."""
        return self.best < self.threshold


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Store) -> Answer:
    """The sentences of the best passages that together answer most of the question.

    They are chosen one by one by their cosine with the question, the rank of their passage and
    the question's words that no sentence before has, rare ones first: a question of several
    hops is answered in several places. Vectors of sentences were computed in the context of
    their passage at index time. Repetitions are left out.
    """
    passages = retrieval.passages[:PASSAGES]
    found = store.sentences(passage.chunk for passage in passages)
    rows = [(rank, passage, start, end, vector)
            for rank, passage in enumerate(passages)
            for start, end, vector in found.get(passage.chunk, ())
            if len(passage.text[start:end].split()) >= SHORT]
    if not rows:
        return Answer((), (), 0.0)
    vectors = np.stack([row[4] for row in rows])
    similarity = vectors @ plan.embedding
    ranks = np.array([row[0] for row in rows])
    asked = sorted(set(words(plan.question)))
    has = np.array([[word in said for word in asked] for said in (
        set(words(passage.text[start:end])) for _, passage, start, end, _ in rows)])  # (s, k)
    counts = has.sum(axis=0)
    rare = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    chosen: list[int] = []
    left = np.ones(len(asked), bool)
    scores = similarity + FLOW * (1 - ranks / PASSAGES)
    for _ in range(min(SENTENCES, len(rows))):
        gain = scores + OPEN * (has @ (rare * left))
        gain[[i for i in range(len(rows)) if i in chosen or any(
            float(vectors[i] @ vectors[j]) >= REPEATED for j in chosen)]] = -np.inf
        best = int(gain.argmax())
        if gain[best] == -np.inf:
            break
        chosen.append(best)
        left &= ~has[best]
    chosen.sort(key=lambda i: (rows[i][0], rows[i][2]))
    places = [_place(store, rows[i][1], rows[i][2]) for i in chosen]
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places), 1)}
    citations = tuple(
        Citation(number, place.title, where(place), place) for place, number in numbers.items())
    sentences = tuple(
        Sentence(passage.text[start:end].strip(), numbers[place], float(similarity[i]),
                 passage.start + start, passage.start + end)
        for i, place in zip(chosen, places, strict=True)
        for _, passage, start, end, _ in [rows[i]])
    return Answer(sentences, citations, float(similarity.max()))


def _place(store: Store, passage: RetrievedPassage, start: int) -> RetrievedPassage:
    """The passage with page and heading of the sentence that starts there, not of its own start."""
    mark = mark_at(store.document(passage.document).marks, passage.start + start)
    return replace(passage, page=mark.page, heading=mark.heading)


def where(passage: RetrievedPassage) -> str:
    """Document, page, heading and characters of a passage, for people."""
    parts = [passage.document]
    if passage.page is not None:
        parts.append(f"page {passage.page}")
    if passage.heading:
        parts.append(passage.heading)
    return ", ".join([*parts, f"characters {passage.start}-{passage.end}"])
