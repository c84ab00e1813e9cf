"""Answers: quoted sentences (see `qafd.answer.quote`) or a model's words, both cited."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from qafd.answer.context import BUDGET, Context, Source, build_context
from qafd.models import Message, Reply
from qafd.models.embedder import Embedder
from qafd.models.prompts_answer import ABSENT, answer_messages
from qafd.reading.text.markdown import CITED, numbers
from qafd.reading.text.table_rows import is_row
from qafd.records import Chunk, Mark, Vectors, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

WEAK = 0.3  # best cosine below which the documents do not answer the question
NAMELESS = 0.45  # and where no passage read has a name of the question
SAID = 0.51  # share of the question's words where the model cannot read the question
NEAR = 0.05  # how far below that they perhaps do


@dataclass(frozen=True)
class Sentence:
    """A quoted sentence, at `start:end` of its document, and the citation that proves it.

    `best` marks the one that answers most of the question, none where the evidence is too weak;
    `skips` that words of its document stand between it and the quoted one before it.
    """

    text: str
    citation: int
    similarity: float
    start: int
    end: int
    best: bool = False
    page: int | None = None
    skips: bool = False

    @property
    def line(self) -> str:
        """The text on one line, the cells of a table's row parted by dots."""
        return self.text.replace("\n", " · ") if is_row(self.text) else self.text

    @property
    def cited(self) -> str:
        """The number of its citation and its own page, for people."""
        return f"{self.citation}" + (f", page {self.page}" if self.page is not None else "")


@dataclass(frozen=True)
class Citation:
    """A numbered source; `where` says document, page and heading.

    `marks` are the sentences it is cited for, as offsets in the passage's text; `support` is the
    highest cosine between one of them and what it is to prove.
    """

    number: int
    title: str
    where: str
    passage: RetrievedPassage
    marks: tuple[tuple[int, int], ...] = ()
    support: float = 0.0


@dataclass(frozen=True)
class Draft:
    """What a model would be asked, and the context that is in it."""

    question: str
    context: Context
    messages: tuple[Message, ...] = field(repr=False)


@dataclass(frozen=True)
class Written:
    """An answer in a model's words, not to be trusted: see `qafd.reading.text.markdown`.

    `citations` are the sources it cites, `unknown` the numbers it cites that do not exist.
    """

    text: str
    model: str
    citations: tuple[Citation, ...]
    unknown: tuple[int, ...]
    reply: Reply
    draft: Draft = field(repr=False)

    @property
    def abstained(self) -> bool:
        """Whether the model found no answer in the data."""
        return ABSENT.rstrip(".").casefold() in self.text[:200].casefold()


@dataclass(frozen=True)
class Answer:
    """Quoted sentences, the best one first, and a model's words if one was asked.

    `best` is the cosine between the question and the sentence that answers most of it; `abstained`
    that it is below `threshold` and no quoted sentence has all words of the question (`literal`):
    the documents then do not seem to answer it. `english` is whether the question could be English,
    `missing` are its words that no considered passage has, in any form; `sure` that the best
    sentence is near without them, none is a name and the question does not turn on one.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    best: float
    threshold: float = WEAK
    written: Written | None = None
    english: bool = True
    literal: bool = False
    missing: tuple[str, ...] = ()
    sure: bool = False

    @property
    def abstained(self) -> bool:
        """Whether the evidence is too weak to be an answer."""
        return self.best < self.threshold and not self.literal

    @property
    def gap(self) -> str:
        """Which words of the question no considered passage has, for people; "" for none, or where
        the answer is sure without them."""
        if not self.missing or self.sure:
            return ""
        one = len(self.missing) == 1
        return (f"No passage read here has the word{'' if one else 's'} {', '.join(self.missing)}; "
                f"they may say {'it' if one else 'them'} otherwise, or not at all.")

    @property
    def need(self) -> str:
        """What an answer needs, for people: 0.30 of similarity, say."""
        needed = f"an answer needs {self.threshold:.2f}"
        return {NAMELESS: f"{needed} where no passage has a name of the question",
                SAID: f"{needed} of the question's words"}.get(self.threshold, needed)

    @property
    def perhaps(self) -> bool:
        """Whether it abstains, but by so little that its nearest sentence may answer."""
        return self.abstained and self.best >= self.threshold - NEAR

    @property
    def absence(self) -> str:
        """That the evidence is too weak, with the numbers, for people; else ""."""
        if not self.abstained:
            return ""
        best = min(self.best, self.threshold - 0.01)  # 0.299 is not 0.30
        language = "" if self.english else " The built-in model reads English only."
        if self.perhaps:
            return (f"Perhaps not in these documents: the similarity of the best sentence is "
                    f"{best:.2f}, {self.need}.{language}")
        return f"{ABSENT} The similarity of the best sentence is {best:.2f}; {self.need}.{language}"


def draft(retrieval: Retrieval, store: Workspace, ways: Sequence[str] = (), *, budget: int = BUDGET,
          length: str = "short") -> Draft:
    """The prompt for a retrieval, Prompt 3; `budget` in tokens, `length` as in `LENGTHS`."""
    context = build_context(retrieval, store, ways, budget)
    return Draft(retrieval.query, context,
                 answer_messages(retrieval.query, context.text, length))


def written(draft: Draft, reply: Reply, model: str, store: Workspace, embedder: Embedder) -> Written:
    """A model's reply with its citations resolved to sentences.

    For each statement, the sentence of the cited passage that is nearest to it in meaning is
    marked; `Citation.support` says how near.
    """
    sources = {source.number: source for source in draft.context.sources}
    claims = list(_claims(reply.text))
    vectors = embedder.embed([claim for claim, _ in claims])
    asked = list(dict.fromkeys(number for _, cited in claims for number in cited))
    rows = {number: [row for row, (_, cited) in enumerate(claims) if number in cited]
            for number in asked}
    sentences = store.passages.sentences(sources[n].passage.chunk for n in asked if n in sources)
    citations = tuple(
        _resolved(sources[n], [vectors[row] for row in rows[n]],
                  sentences.get(sources[n].passage.chunk, ()), store)
        for n in sorted(asked) if n in sources)
    return Written(reply.text, model, citations,
                   tuple(sorted(n for n in asked if n not in sources)), reply, draft)


def _claims(text: str) -> Iterator[tuple[str, list[int]]]:
    """Each statement that is followed by a citation, and the numbers cited for it."""
    at, last = 0, ""
    for found in CITED.finditer(text):
        said = re.split(r"(?<=[.!?])\s+|\n", text[at:found.start()].strip())[-1].strip()
        # "[1][2]": the second belongs to the same statement
        last = said if any(c.isalnum() for c in said) else last
        at = found.end()
        yield last, numbers(found[1])


def _resolved(source: Source, claims: Sequence[Vectors],
              sentences: Sequence[tuple[int, int, Vectors]], store: Workspace) -> Citation:
    passage = source.passage
    if not sentences:
        return Citation(source.number, passage.title, where(passage), passage)
    cosines = np.stack(claims) @ np.stack([vector for _, _, vector in sentences]).T  # (c, s)
    nearest = sorted(set(cosines.argmax(axis=1).tolist()))
    return cite(store, source.number, passage,
                [(sentences[i][0], sentences[i][1]) for i in nearest], float(cosines.max()))


def cite(store: Workspace, number: int, passage: RetrievedPassage, marks: Sequence[tuple[int, int]],
         support: float) -> Citation:
    """A source with the headings of its cited sentences and all pages of its passage."""
    places = store.documents.get(passage.document).marks
    at = [mark_at(places, passage.start + start) for start, _ in marks]
    headings = dict.fromkeys(mark.heading for mark in at if mark.heading)
    place = replace(passage, page=at[0].page, heading=" / ".join(headings))
    return Citation(number, passage.title, where(place, pages_of(passage, places)), place,
                    tuple(marks), support)


def pages_of(passage: RetrievedPassage | Chunk, marks: Sequence[Mark]) -> list[int]:
    """The pages that a passage is on, by the marks of its document."""
    inside = [mark_at(marks, passage.start), *(
        mark for mark in marks if passage.start < mark.start < passage.end)]
    return sorted({mark.page for mark in inside if mark.page is not None})


def paged(passage: RetrievedPassage | Chunk, marks: Sequence[Mark]) -> str:
    """The page or pages of a passage for people, "" where its format has none."""
    return _paged(pages_of(passage, marks))


def where(passage: RetrievedPassage, pages: Sequence[int] = ()) -> str:
    """Document, page or `pages`, heading and characters of a passage, for people."""
    if len(pages) < 2:
        pages = [] if passage.page is None else [passage.page]
    return ", ".join(filter(None, [passage.document, _paged(pages), passage.heading,
                                   f"characters {passage.start}-{passage.end}"]))


def _paged(pages: Sequence[int]) -> str:
    if len(pages) > 1:
        return f"pages {pages[0]}-{pages[-1]}"
    return f"page {pages[0]}" if pages else ""
