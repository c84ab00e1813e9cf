"""Answers: quoted sentences (see `qafd.answer.quote`) or a model's words, both cited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from qafd.answer.claims import (
    CheckedClaim,
    Verdict,
    find_claims,
    find_missing,
    find_uncited,
    weakest,
)
from qafd.answer.context import BUDGET, Context, build_context, build_table_context
from qafd.explain.chains import Chain
from qafd.explain.conditions import tabulate_conditions
from qafd.explain.paths import ReasoningPath
from qafd.models import LLM, Message, Reply, calls_of
from qafd.models.cost import keep_readable
from qafd.models.embedder import Embedder
from qafd.models.prompts_answer import (
    ABSENT,
    EXACT,
    answer_messages,
    read_review,
    review_messages,
    review_schema,
)
from qafd.plan.kinds import Beyond
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text.bm25 import words
from qafd.reading.text.lines import is_row, row_cells
from qafd.reading.text.markdown import CITED, bracket_citations
from qafd.records import Chunk, Mark, Vectors, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

SHARED = 0.3  # what all its words in a sentence are worth beside the cosine of a statement with it
LIKELY, UNSURE = 0.6, 0.3  # chances from which a sentence is the answer, and may be it


class Likelihood(StrEnum):
    """Likelihood that the first quoted sentence answers the question."""

    LIKELY = "likely"
    UNSURE = "unsure"
    UNLIKELY = "unlikely"


@dataclass(frozen=True)
class Sentence:
    """A quoted sentence, at `start:end` of its document, and the citation that proves it.

    `best` marks the answer, none where that is not likely; `skips` that words of its document are left
    out between it and the quoted one before it; `asked` is the place of the asked cell in a row of a
    table, -1 for none. `speaker` says it, as an earlier sentence of its line tells.
    """

    text: str
    citation: int
    similarity: float
    start: int
    end: int
    best: bool = False
    page: int | None = None
    skips: bool = False
    asked: int = -1
    speaker: str = ""

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The columns and values of a row of a table, none of any other sentence."""
        return row_cells(self.text)

    @property
    def line(self) -> str:
        """The text on one line behind its speaker, the cells of a table's row parted by dots."""
        text = self.text.replace("\n", " · ") if is_row(self.text) else self.text
        return f"{self.speaker}: \u2026 {text}" if self.speaker else text

    @property
    def cited(self) -> str:
        """The number of its citation and its own page, for people."""
        return f"{self.citation}" + (f", page {self.page}" if self.page is not None else "")


@dataclass(frozen=True)
class Citation:
    """A numbered source; `where` is its document, page and heading.

    `marks` are the sentences it is cited for, as offsets in the passage's text; `support` is the
    cosine between one of them and its statement, of a written answer the weakest statement's.
    """

    number: int
    title: str
    where: str
    passage: RetrievedPassage
    marks: tuple[tuple[int, int], ...] = ()
    support: float = 0.0


@dataclass(frozen=True)
class Draft:
    """A prompt for a model, and the context that is in it."""

    question: str
    context: Context
    messages: tuple[Message, ...] = field(repr=False)


@dataclass(frozen=True)
class Written:
    """An answer in a model's words, not to be trusted: see `qafd.reading.text.markdown`.

    `citations` are the sources it cites, `unknown` the numbers it cites that do not exist, `claims`
    its statements with the support of each.
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
        """Return True if the whole reply says that the data has no answer."""
        return words(CITED.sub("", self.text)) == words(ABSENT)

    @property
    def uncited(self) -> list[str]:
        """The paragraphs that cite no source."""
        return [] if self.abstained else find_uncited(self.text)


@dataclass(frozen=True)
class Answer:
    """Quoted sentences, the best one first, and a model's words if one was asked.

    `chance` is the fitted chance, in [0, 1], that the first sentence answers the question. `unknown` are
    the question's names and things that no document mentions; `beyond` is why no sentence can answer it.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    chance: float
    unknown: tuple[str, ...] = ()
    beyond: Beyond | None = None
    written: Written | None = None

    @property
    def lacks_name(self) -> bool:
        """Return True where the question has a name that no document mentions."""
        return any(not word.islower() for word in self.unknown)

    @property
    def lacks_all(self) -> bool:
        """Return True if words of the question are in no document and no other sentence is near."""
        return self.lacks_name or bool(self.unknown) and self.abstained and not self.beyond

    @property
    def likelihood(self) -> Likelihood:
        """The chance in a word; unlikely if no sentence can answer or a name is unknown, and unsure if
        several sentences answer or yes or no is asked for."""
        if self.beyond in (Beyond.SEVERAL, Beyond.CLOSED) and not self.lacks_name:
            return Likelihood.UNSURE
        if self.beyond or self.lacks_name or self.chance < UNSURE:
            return Likelihood.UNLIKELY
        return Likelihood.LIKELY if self.chance >= LIKELY and not self.unknown else Likelihood.UNSURE

    @property
    def answered(self) -> bool:
        """Return True where the first sentence is likely the answer."""
        return self.likelihood == Likelihood.LIKELY

    @property
    def abstained(self) -> bool:
        """Return True where it is unlikely that the first sentence answers."""
        return self.likelihood == Likelihood.UNLIKELY


def draft(retrieval: Retrieval, store: Workspace, ways: Sequence[ReasoningPath | Chain] = (), *,
          budget: int = BUDGET, length: str = "short") -> Draft:
    """Return the prompt for a retrieval, Prompt 3; `budget` in tokens, `length` as in `LENGTHS`.

    Of an exact retrieval it is that of SG-RAG's Table 15, with the conditions of the candidates.
    """
    answers = tabulate_conditions(retrieval, store)
    if answers:
        context = build_table_context(retrieval, answers, budget)
        return Draft(retrieval.query, context,
                     answer_messages(retrieval.query, context.text, length, EXACT))
    context = build_context(retrieval, store, ways, budget)
    return Draft(retrieval.query, context,
                 answer_messages(retrieval.query, context.text, length))


def check_reply(draft: Draft, reply: Reply, model: str, store: Workspace, embedder: Embedder) -> Written:
    """Return a model's reply with its citations resolved to sentences, and its statements checked.

    For each statement, the sentence of the cited passage that is nearest to it in meaning is
    marked. `CheckedClaim.support` is its cosine, `Citation.support` that of the weakest statement.
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


@dataclass(frozen=True)
class Review:
    """The request that puts the cited statements of a written answer to a model.

    Cosines cannot tell a statement from its negation; a model that reads the cited passages can.
    """

    written: Written
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]

    @classmethod
    def of(cls, written: Written) -> "Review | None":
        """Build the request; None where no statement cites a passage that exists."""
        texts = {source.number: f"{source.title}\n{source.passage.text}"
                 for source in written.citations}
        cited = [(claim.text, sorted(texts.keys() & claim.cited)) for claim in written.claims]
        asked = [(text, numbers) for text, numbers in cited if numbers]
        if not asked:
            return None
        return cls(written, review_messages(texts, asked), review_schema(len(asked), list(Verdict)))

    def ask(self, client: LLM) -> Written:
        """Ask a model, and return the answer with its verdicts.

        Raises
        ------
        MalformedReplyError
            The reply has not one verdict a statement; a `Metered` model is asked again next time.
        ModelError
            From the model.
        """
        reply = keep_readable(client, self.read).complete(
            self.messages, schema=self.schema, max_tokens=calls_of(client).reply_tokens)
        return self.read(reply.text)

    def read(self, text: str) -> Written:
        """Return the answer with the verdicts in the text of a reply."""
        known = {citation.number for citation in self.written.citations}
        cited = [not known.isdisjoint(claim.cited) for claim in self.written.claims]
        verdicts = iter(read_review(text, sum(cited), list(Verdict)))
        claims = tuple(replace(claim, verdict=Verdict(next(verdicts))) if has else claim
                       for claim, has in zip(self.written.claims, cited, strict=True))
        return replace(self.written, claims=claims)


def _nearest(said: str, claim: Vectors, passage: RetrievedPassage,
             sentences: Sequence[tuple[int, int, Vectors]]) -> tuple[list[tuple[int, int]], float]:
    """Find the sentence nearest to a statement, and its cosine.

    It is near by its meaning and by its share of the statement's words. Words of the passage's title
    do not count: any of its sentences is about that, also one with "she".
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
    """Return a source with the headings of its cited sentences and all pages of its passage."""
    places = store.documents.get(passage.document).marks
    at = [mark_at(places, passage.start + start) for start, _ in marks]
    headings = dict.fromkeys(mark.heading for mark in at if mark.heading)
    place = replace(passage, page=at[0].page, heading=" / ".join(headings))
    return Citation(number, passage.title, where(place, pages_of(passage, places)), place,
                    tuple(marks), support)


def pages_of(passage: RetrievedPassage | Chunk, marks: Sequence[Mark]) -> list[int]:
    """Return the pages that a passage is on, by the marks of its document."""
    inside = [mark_at(marks, passage.start), *(
        mark for mark in marks if passage.start < mark.start < passage.end)]
    return sorted({mark.page for mark in inside if mark.page is not None})


def name_pages(passage: RetrievedPassage | Chunk, marks: Sequence[Mark]) -> str:
    """Return the page or pages of a passage for people, "" where its format has none."""
    return _word_pages(pages_of(passage, marks))


def where(passage: RetrievedPassage, pages: Sequence[int] = ()) -> str:
    """Return document, page or `pages`, heading and characters of a passage, for people."""
    if len(pages) < 2:
        pages = [] if passage.page is None else [passage.page]
    stretch = f"characters {passage.start}-{passage.end}"
    return ", ".join(filter(None, [passage.document, _word_pages(pages), passage.heading, stretch]))


def _word_pages(pages: Sequence[int]) -> str:
    if len(pages) > 1:
        return f"pages {pages[0]}-{pages[-1]}"
    return f"page {pages[0]}" if pages else ""


Quoted = tuple[Sentence, Citation]


@dataclass(frozen=True)
class AnswerChange:
    """Two answers to one question; sentences that only one of them quotes, with their sources."""

    before: Answer
    after: Answer
    left: tuple[Quoted, ...]
    came: tuple[Quoted, ...]

    @classmethod
    def of(cls, before: Answer, after: Answer) -> "AnswerChange":
        """Compare two answers; a sentence is known by its place."""
        first, second = _list_quoted(before), _list_quoted(after)
        return cls(before, after, tuple(first[place] for place in first if place not in second),
                   tuple(second[place] for place in second if place not in first))


def _list_quoted(answer: Answer) -> dict[tuple[str, int, int], Quoted]:
    """Return the sentences of an answer by document and place."""
    found = ((sentence, answer.citations[sentence.citation - 1]) for sentence in answer.sentences)
    return {(citation.passage.document, sentence.start, sentence.end): (sentence, citation)
            for sentence, citation in found}
