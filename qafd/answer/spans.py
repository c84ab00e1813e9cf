"""The sentences of passages with their vectors, and which of them are near a question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qafd.reading.text.bm25 import FUNCTION_LETTERS, content_words, words
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import is_latin, length
from qafd.reading.text.table_rows import is_row
from qafd.records import Floats, QueryPlan, Vectors, mark_at
from qafd.retrieve.base import RetrievedPassage
from qafd.storage import Workspace

SHORT = 4  # words below which a sentence is a heading or a remnant
STEP = 0.1  # what each sentence costs that stands between a question in the text and one that answers it
MARKED, NEAR, LEAST = 2, 0.75, 0.31  # sentences marked in a passage: of the best cosine, and at all
_ASKED = re.compile(r"[?？][\s\d.]*$")  # also with the number of the next heading behind it


@dataclass(frozen=True, eq=False)
class TextQuestion:
    """A question of a text, its vector, shape (d,), and how many sentences stand after it before one."""

    text: str
    vector: Vectors
    before: int


@dataclass(frozen=True, eq=False)
class Span:
    """A sentence of the passage of a rank, at `start:end` of it under a heading, and its vector,
    shape (d,). `asked` is the question of the text that it answers, if any."""

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    vector: Vectors
    heading: str
    asked: TextQuestion | None = None

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()

    @property
    def said(self) -> str:
        """The text, of what follows a question at once with that question."""
        return f"{self.asked.text}\n{self.text}" if self.asked and not self.asked.before else self.text

    @property
    def asks(self) -> bool:
        """Whether it is a question; the row of a table is none."""
        return _ASKED.search(self.text) is not None and not is_row(self.text)

    @property
    def begins(self) -> bool:
        """Whether it is a question or a heading, which begin something else."""
        return self.asks or self.text == self.heading

    @property
    def opens(self) -> bool:
        """Whether it opens its paragraph, without a mark before it."""
        before = self.passage.text[:self.start].rstrip(" ")
        return self.text[0].isalnum() and before[-1:] in ("", "\n")

    @property
    def states(self) -> bool:
        """Whether it reads as a sentence that states something: no heading, question or remnant."""
        remnant = self.short and not self.asked
        return not (remnant or self.begins or self.text == self.passage.title)

    @property
    def short(self) -> bool:
        """Whether it is too short for a sentence, unlike "10 g salt" and "Ada voted against."."""
        text, size = self.text, length(self.text)
        whole = has_digit(text) and size > 1 or text.endswith(".") and size == SHORT - 1
        return size < SHORT and not whole


def read_spans(passages: Sequence[RetrievedPassage], store: Workspace) -> list[Span]:
    """The sentences of some passages with their vectors; headings only if alone."""
    found = store.passages.sentences(passage.chunk for passage in passages)
    marks = {}
    for passage in passages:
        if passage.document not in marks:
            marks[passage.document] = store.documents.get(passage.document).marks
    spans: list[Span] = []
    for rank, passage in enumerate(passages):
        own = []
        for start, end, vector in found.get(passage.chunk, ()):
            if any(letter.isalnum() for letter in passage.text[start:end]):
                heading = mark_at(marks[passage.document], passage.start + start).heading
                own.append(Span(rank, passage, start, end, vector, heading))
        spans += _answering(own)
    return [span for span in spans if span.states] or spans


def _answering(spans: Sequence[Span]) -> Iterator[Span]:
    """The sentences of a passage, each with the question of the text that it follows, up to the next
    heading or question.

    A question begins its paragraph, which what somebody asks in a story seldom does. A remnant as
    "No." after one is joined with the sentence behind it.
    """
    asked: TextQuestion | None = None
    start = None  # of a remnant that waits for the sentence behind it
    for span, behind in zip(spans, [*spans[1:], None], strict=True):
        if span.begins:
            asked = TextQuestion(span.text, span.vector, 0) if span.asks and span.opens else None
            yield span
        elif asked and behind and span.short and not behind.begins:
            start = span.start if start is None else start
        else:
            yield replace(span, asked=asked, start=span.start if start is None else start)
            asked = asked and replace(asked, before=asked.before + 1)
            start = None


def compare(spans: Sequence[Span], plan: QueryPlan) -> Floats:
    """How near each sentence, or the question of the text that it answers, is to the question, shape (s,)."""
    if is_latin(plan.words):
        near = (np.stack([span.vector for span in spans]) @ plan.embedding).astype(np.float64)
        for row, span in enumerate(spans):
            if span.asked:
                near[row] = max(near[row], span.asked.vector @ plan.embedding - STEP * span.asked.before)
        return near
    asked = [word for word in content_words(plan.words) if not FUNCTION_LETTERS.search(word)]
    shares = []
    for span in spans:
        said = set(words(f"{span.passage.title}\n{span.said}"))
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
