"""The sentences of passages with their vectors, and which of them are near a question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qafd.reading.text.bm25 import FUNCTION_LETTERS, content_words, words
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import is_latin, length
from qafd.reading.text.table_rows import is_row
from qafd.records import Floats, QueryPlan, Vectors, mark_at
from qafd.retrieve.base import RetrievedPassage
from qafd.storage import Workspace

SHORT = 4  # words below which a sentence is a heading or a remnant, but with a number: "10 g salt"
MARKED, NEAR, LEAST = 2, 0.75, 0.31  # sentences marked in a passage: of the best cosine, and at all
_ASKED = re.compile(r"[?？][\s\d.]*$")  # also with the number of the next heading behind it


@dataclass(frozen=True, eq=False)
class Span:
    """A sentence of the passage of a rank, at `start:end` of it under a heading, and its vector,
    shape (d,)."""

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    vector: Vectors
    heading: str

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()

    @property
    def states(self) -> bool:
        """Whether it reads as a sentence that states something: no heading, question or remnant."""
        text = self.text
        size = length(text)
        short = size < SHORT and not (size > 1 and has_digit(text))
        if short or text in (self.passage.title, self.heading):
            return False
        return is_row(text) or not _ASKED.search(text)


def read_spans(passages: Sequence[RetrievedPassage], store: Workspace) -> list[Span]:
    """The sentences of some passages with their vectors; headings only if alone."""
    found = store.passages.sentences(passage.chunk for passage in passages)
    marks = {}
    for passage in passages:
        if passage.document not in marks:
            marks[passage.document] = store.documents.get(passage.document).marks
    spans = []
    for rank, passage in enumerate(passages):
        for start, end, vector in found.get(passage.chunk, ()):
            if any(letter.isalnum() for letter in passage.text[start:end]):
                heading = mark_at(marks[passage.document], passage.start + start).heading
                spans.append(Span(rank, passage, start, end, vector, heading))
    return [span for span in spans if span.states] or spans


def compare(spans: Sequence[Span], plan: QueryPlan) -> Floats:
    """How near each sentence is to the question, shape (s,)."""
    if is_latin(plan.words):
        return (np.stack([span.vector for span in spans]) @ plan.embedding).astype(np.float64)
    asked = [word for word in content_words(plan.words) if not FUNCTION_LETTERS.search(word)]
    shares = []
    for span in spans:
        said = set(words(f"{span.passage.title}\n{span.text}"))
        shares.append(sum(word in said for word in asked) / max(1, len(asked)))
    return np.array(shares)


def find_near(passages: Sequence[RetrievedPassage], plan: QueryPlan,
              store: Workspace) -> dict[str, list[tuple[int, int]]]:
    """The sentences of some passages that are nearest to the question, as offsets by chunk.

    Near is a share of the best one's cosine; of each passage two at most, since the sentences of
    one passage are all alike to the model.
    """
    spans = read_spans(passages, store)
    if not spans:
        return {}
    near = compare(spans, plan)
    found: dict[str, list[tuple[int, int]]] = {}
    for i in np.argsort(-near, kind="stable"):
        some = found.setdefault(spans[i].passage.chunk, [])
        if near[i] >= max(LEAST, NEAR * near.max()) and len(some) < MARKED:
            some.append((spans[i].start, spans[i].end))
    return found
