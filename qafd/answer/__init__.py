"""Answers: quoted sentences (see `qafd.answer.quote`) or a model's words, both cited."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

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

WEAK = 0.3  # cosine below which a source supports a sentence weakly
NEEDED = 0.46  # cosine with the question below which a sentence does not answer it, as a rule
CLOSE = 0.05  # how far below that it perhaps does


class Confidence(StrEnum):
    """How sure it is that the quoted sentences answer the question."""

    ANSWERED = "answered"
    PERHAPS = "perhaps"
    ABSENT = "absent"


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

    `best` is the cosine between the question and the first sentence, `needed` what it needs: less
    where it brings what is asked for, more where no passage read has a name of the question;
    `literal` says that it has all telling words, which answer whatever the cosine is. `missing` are
    the words of the question that no considered passage has, in any form.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    best: float
    needed: float = NEEDED
    written: Written | None = None
    literal: bool = False
    missing: tuple[str, ...] = ()

    @property
    def confidence(self) -> Confidence:
        """Whether the evidence is enough, nearly enough or too weak to be an answer."""
        if self.best >= self.needed or self.literal:
            return Confidence.ANSWERED
        return Confidence.PERHAPS if self.best >= self.needed - CLOSE else Confidence.ABSENT

    @property
    def abstained(self) -> bool:
        """Whether no sentence is given as the answer."""
        return self.confidence != Confidence.ANSWERED


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
