"""An answer without a language model: the sentences of the retrieved passages, cited."""

from dataclasses import dataclass

import numpy as np

from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.store import Store

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
FLOW = 0.25  # how much a passage's rank counts beside the sentence's own similarity
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
    """The sentences of the best passages that are nearest to the question, without repetition.

    A sentence scores its cosine with the question plus a share for the rank of its passage;
    vectors of sentences were computed in the context of their passage at index time.
    """
    passages = retrieval.passages[:PASSAGES]
    found = store.sentences(passage.chunk for passage in passages)
    rows = [(rank, passage, start, end, vector)
            for rank, passage in enumerate(passages)
            for start, end, vector in found.get(passage.chunk, ())]
    if not rows:
        return Answer((), (), 0.0)
    vectors = np.stack([row[4] for row in rows])
    similarity = vectors @ plan.embedding
    scores = similarity + FLOW * np.array([1 - row[0] / PASSAGES for row in rows])
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        if all(float(vectors[i] @ vectors[j]) < REPEATED for j in chosen):
            chosen.append(i)
        if len(chosen) == SENTENCES:
            break
    chosen.sort(key=lambda i: (rows[i][0], rows[i][2]))
    numbers = {rank: number for number, rank in enumerate(
        dict.fromkeys(rows[i][0] for i in chosen), 1)}
    citations = tuple(
        Citation(number, passages[rank].title, where(passages[rank]), passages[rank])
        for rank, number in numbers.items())
    sentences = tuple(
        Sentence(passage.text[start:end].strip(), numbers[rank], float(similarity[i]),
                 passage.start + start, passage.start + end)
        for i in chosen for rank, passage, start, end, _ in [rows[i]])
    return Answer(sentences, citations, float(similarity.max()))


def where(passage: RetrievedPassage) -> str:
    """Document, page, heading and characters of a passage, for people."""
    parts = [passage.document]
    if passage.page is not None:
        parts.append(f"page {passage.page}")
    if passage.heading:
        parts.append(passage.heading)
    return ", ".join([*parts, f"characters {passage.start}-{passage.end}"])
