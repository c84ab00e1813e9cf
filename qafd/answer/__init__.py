"""Answers: quoted sentences (see `qafd.answer.quote`) or a model's words, both cited."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from enum import StrEnum

import numpy as np

from qafd.answer.claims import CheckedClaim, find_claims, find_missing, weakest
from qafd.answer.context import BUDGET, Context, build_context, build_table_context
from qafd.explain.chains import Chain
from qafd.explain.conditions import tabulate_conditions
from qafd.explain.paths import ReasoningPath
from qafd.models import Message, Reply
from qafd.models.embedder import Embedder
from qafd.models.instructions import USUAL, Instructions
from qafd.models.prompts_answer import ABSENT, answer_messages
from qafd.models.prompts_conditions import exact_messages
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text.bm25 import words
from qafd.reading.text.markdown import CITED, bracket_citations
from qafd.reading.text.table_rows import is_row
from qafd.records import Chunk, Mark, Vectors, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

SHARED = 0.3  # what all its words in a sentence are worth beside the cosine of a statement with it
WEAK = 0.3  # cosine below which a source supports a sentence weakly
SIGNS = (1.0, 0.2, 0.1, -0.08, -0.5)  # weights of `AnswerSigns`: docs/research.md
NEEDED = 0.48  # evidence below which a question is not answered
CLOSE = 0.05  # how far below that it perhaps is


class Confidence(StrEnum):
    """How sure it is that the quoted sentences answer the question."""

    ANSWERED = "answered"
    PERHAPS = "perhaps"
    ABSENT = "absent"


@dataclass(frozen=True)
class Sentence:
    """A quoted sentence, at `start:end` of its document, and the citation that proves it.

    `best` marks the one that answers most of the question, none where the evidence is too weak;
    `skips` that words of its document stand between it and the quoted one before it. `about` is the
    question of the text that it answers, or the heading or title that it stands under where it opens with a
    pronoun and no quoted sentence before it says whom that means, else "".
    """

    text: str
    citation: int
    similarity: float
    start: int
    end: int
    best: bool = False
    page: int | None = None
    skips: bool = False
    about: str = ""

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
    cosine between one of them and what it is to prove, of a written answer the weakest statement's.
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

    `citations` are the sources it cites, `unknown` the numbers it cites that do not exist, `claims`
    its statements with what speaks for each.
    """

    text: str
    model: str
    citations: tuple[Citation, ...]
    unknown: tuple[int, ...]
    reply: Reply
    draft: Draft = field(repr=False)
    claims: tuple[CheckedClaim, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether the model found no answer in the data; a part without one is no abstaining."""
        return words(CITED.sub("", self.text)) == words(ABSENT)


@dataclass(frozen=True)
class AnswerSigns:
    """What tells whether a question is answered.

    `similarity` is the largest cosine of a sentence with the question; `covered` the share of the
    question's words that the best one has, and `fits` whether that brings what is asked for, both in
    [0, 1]; `missing` how many words of an English question's names and things no considered passage
    has, and `unheard` how many of these have a capital and are in no document at all.
    """

    similarity: float
    covered: float
    fits: float
    missing: int
    unheard: int

    @property
    def evidence(self) -> float:
        """Their weighted sum."""
        return float(np.dot(SIGNS, astuple(self)))


@dataclass(frozen=True)
class Answer:
    """Quoted sentences, the best one first, and a model's words if one was asked.

    `evidence` is the weighted sum of `signs`; an answer needs `needed` of it. `missing` are the words
    of the question's names and things that no considered passage has, in any form; `lacking` is what
    the question is about (`qafd.plan.about`) and the best sentence and what stands around it do not
    speak of, or all that it asks about its names (`qafd.answer.lacking.find_untold`); `exclusion` is the
    word by which it takes something out, which nothing here reads.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    evidence: float
    needed: float = NEEDED
    written: Written | None = None
    missing: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    exclusion: str = ""
    signs: AnswerSigns | None = None

    @property
    def confidence(self) -> Confidence:
        """Whether the evidence is enough, nearly enough or too weak to be an answer; at most nearly enough
        where something is `lacking`."""
        if self.evidence >= self.needed and not self.lacking:
            return Confidence.ANSWERED
        return Confidence.PERHAPS if self.evidence >= self.needed - CLOSE else Confidence.ABSENT

    @property
    def abstained(self) -> bool:
        """Whether no sentence is given as the answer."""
        return self.confidence != Confidence.ANSWERED

    @property
    def absent(self) -> bool:
        """Whether no sentence is even perhaps the answer, so that no model need be asked for one."""
        return self.confidence == Confidence.ABSENT


def draft(retrieval: Retrieval, store: Workspace, ways: Sequence[ReasoningPath | Chain] = (), *,
          budget: int = BUDGET, length: str = "short", told: Instructions = USUAL) -> Draft:
    """The prompt for a retrieval, Prompt 3; `budget` in tokens, `length` as in `LENGTHS`.

    Of an exact retrieval it is that of SG-RAG's Table 15, with the conditions of the candidates.
    """
    answers = tabulate_conditions(retrieval, store)
    if answers:
        context = build_table_context(retrieval, answers, budget)
        return Draft(retrieval.query, context,
                     exact_messages(retrieval.query, context.text, length,
                                    told.prompt("exact")))
    context = build_context(retrieval, store, ways, budget)
    return Draft(retrieval.query, context,
                 answer_messages(retrieval.query, context.text, length, told.prompt("answer")))


def written(draft: Draft, reply: Reply, model: str, store: Workspace, embedder: Embedder) -> Written:
    """A model's reply with its citations resolved to sentences, and its statements checked.

    For each statement, the sentence of the cited passage that is nearest to it in meaning is
    marked. `CheckedClaim.support` says how near, `Citation.support` how near the weakest one is.
    """
    text = bracket_citations(reply.text)
    sources = {source.number: source for source in draft.context.sources}
    found = list(find_claims(text))
    vectors = embedder.embed([said for said, _ in found])
    asked = list(dict.fromkeys(number for _, cited in found for number in cited))
    known = [number for number in asked if number in sources]
    sentences = store.passages.sentences(sources[number].passage.chunk for number in known)
    claims = []
    near: dict[int, list[tuple[int, int]]] = {number: [] for number in known}
    names = language_of(text, least=1) == ENGLISH  # other languages write other words so, too
    for (said, cited), vector in zip(found, vectors, strict=True):
        support, shown = 0.0, [draft.question]
        for number in cited:
            if number in near:
                passage = sources[number].passage
                shown.append(f"{passage.title}\n{passage.heading}\n{passage.text}")
                mark, cosine = _nearest(said, vector, passage, sentences.get(passage.chunk, ()))
                near[number] += mark
                support = max(support, cosine)
        missing = find_missing(said, "\n".join(shown), names)
        claims.append(CheckedClaim(said, tuple(cited), 0.0 if missing else support, missing))
    citations = []
    for number in sorted(known):
        passage = sources[number].passage
        if near[number]:
            citations.append(cite(store, number, passage, sorted(set(near[number])),
                                  weakest(claims, number)))
        else:
            citations.append(Citation(number, passage.title, where(passage), passage))
    unknown = sorted(number for number in asked if number not in sources)
    return Written(text, model, tuple(citations), tuple(unknown), reply, draft, tuple(claims))


def _nearest(said: str, claim: Vectors, passage: RetrievedPassage,
             sentences: Sequence[tuple[int, int, Vectors]]) -> tuple[list[tuple[int, int]], float]:
    """Where the sentence nearest to a statement stands, if there are any, and its cosine.

    It is near by its meaning and by the statement's words that it has. Words of the passage's title
    do not count: any of its sentences is about that, also where it says "she".
    """
    if not sentences:
        return [], 0.0
    telling = set(words(said)) - set(words(passage.title))
    cosines = np.stack([vector for _, _, vector in sentences]) @ claim
    shares = [len(telling.intersection(words(passage.text[start:end]))) / max(len(telling), 1)
              for start, end, _ in sentences]
    best = int((cosines + SHARED * np.array(shares)).argmax())
    return [(sentences[best][0], sentences[best][1])], float(cosines[best])


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
    stretch = f"characters {passage.start}-{passage.end}"
    return ", ".join(filter(None, [passage.document, _paged(pages), passage.heading, stretch]))


def _paged(pages: Sequence[int]) -> str:
    if len(pages) > 1:
        return f"pages {pages[0]}-{pages[-1]}"
    return f"page {pages[0]}" if pages else ""
