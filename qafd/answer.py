"""Retrieval to answer: quoted sentences without a model, or a model's words, both cited."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from qafd.bm25 import FUNCTION_WORDS, words
from qafd.context import BUDGET, Context, Source, build_context
from qafd.extract import is_row, is_table
from qafd.llm import Message, Reply
from qafd.markdown import CITED, numbers
from qafd.models import Embedder
from qafd.prompts_answer import ABSENT, answer_messages
from qafd.records import Mark, QueryPlan, Vectors, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.store import Store

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
FLOW = 0.2  # how much the rank of a passage counts beside the similarity of its sentence
OPEN = 0.4  # how much the question's words count that no chosen sentence has yet
SHORT = 4  # words below which a sentence is a heading or a remnant
REPEATED = 0.9  # cosine from which a sentence says what another one said
LONG = 8  # words from which a line that no sentence mark ends may be a sentence
WEAK = 0.3  # best cosine below which the documents do not answer the question
FILLER = 0.75  # share of the best cosine below which a sentence must bring a word of the question
LEAD = 2  # sentences before one that begins with "she" or "this", to say who or what
STEM = 4  # letters that forms of a word share: "founder", "founded"
NEAR = 0.05  # how far below that they perhaps do

_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_CUT = re.compile(r"\b(the|an?|of|at|in|on|to|and|or|for|with|by|from|as|is|was)$", re.IGNORECASE)
_PRONOUNS = frozenset((
    "he", "she", "it", "they", "his", "her", "its", "their", "hers", "theirs", "him", "them",
    "this", "that", "these", "those", "both"))
_ASKING = frozenset(("describe", "explain", "give", "introduce", "know", "known", "list", "mean",
                     "mention", "mentioned", "name", "please", "said", "show", "tell", "total"))
_ENGLISH = FUNCTION_WORDS - {  # less the words that German or French have too
    "a", "am", "an", "as", "in", "me", "on", "or", "so", "was"}
_HEADER = re.compile(r"\s*\w+( \w+)?: [^.!?:\n]*$")  # "Author: Ada Lovelace"


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
    """An answer in a model's words, not to be trusted: see `qafd.markdown`.

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
    """Quoted sentences in the order of their passages, and a model's words if one was asked.

    `best` is the cosine between the question and the sentence that answers most of it; `abstained`
    that it is below `threshold` and no quoted sentence has all words of the question (`literal`):
    the documents then do not seem to answer it. `english` is whether the question could be English,
    `missing` are its words that no considered passage has, in any form.
    """

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    best: float
    threshold: float = WEAK
    written: Written | None = None
    english: bool = True
    literal: bool = False
    missing: tuple[str, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether the evidence is too weak to be an answer."""
        return self.best < self.threshold and not self.literal

    @property
    def absence(self) -> str:
        """That the evidence is too weak, with the numbers, for people; else ""."""
        if not self.abstained:
            return ""
        best = min(self.best, self.threshold - 0.01)  # 0.299 is not 0.30
        language = "" if self.english else " The built-in model reads English only."
        if self.best >= self.threshold - NEAR:
            return (f"Perhaps not in these documents: the best sentence reaches {best:.2f},"
                    f" an answer needs {self.threshold:.2f}.{language}")
        return (f"{ABSENT} The best sentence reaches {best:.2f}; an answer needs "
                f"{self.threshold:.2f}.{language}")


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Store) -> Answer:
    """The sentences of the best passages that together answer most of the question.

    They are chosen one by one by their cosine with the question, the rank of their passage and
    the question's words that no sentence before has, rare ones first: a question of several
    hops is answered in several places. Each subquery of the plan is answered first, by the
    sentence nearest to it. Vectors of sentences were computed in the context of their passage at
    index time. Repetitions are left out, and so are headings, header lines and cut lines unless
    there is nothing else, and what is far from the question and has no new word of it. A row of
    "column: value" lines is quoted whole, and what begins with "she" with the sentence before it.
    """
    parts = plan.subqueries[:SENTENCES]
    passages = retrieval.passages[:PASSAGES * max(1, len(parts))]
    found = store.sentences(passage.chunk for passage in passages)
    all_spans = [
        _Span(rank, passage, _start(passage.text, start, end), end, vector)
        for rank, passage in enumerate(passages)
        for start, end, vector in found.get(passage.chunk, ())]
    spans = [span for span in all_spans if len(span.text.split()) >= SHORT]
    spans = [span for span in spans if _whole(span)] or spans
    asked = sorted(set(words(plan.question)))
    tells = np.array([word not in FUNCTION_WORDS for word in asked], np.bool_)
    if not spans:
        return Answer((), (), 0.0)
    vectors = np.stack([span.vector for span in spans])
    cosines = vectors @ np.stack([p.embedding for p in (plan, *parts)]).T  # (s, 1 + p)
    similarity = cosines.max(axis=1)
    ranks = np.array([span.rank for span in spans])
    has = np.array([[word in said for word in asked]
                    for said in (set(words(span.text)) for span in spans)])  # (s, k)
    counts = has.sum(axis=0)
    rare = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    scores = cosines + FLOW * (1 - ranks / PASSAGES)[:, None]
    chosen = list(dict.fromkeys(scores[:, 1:].argmax(axis=0).tolist()))
    left = ~has[chosen].any(axis=0)
    scores = scores[:, 0]
    total = scores + OPEN * (has @ rare)
    for _ in range(min(SENTENCES, len(spans)) - len(chosen)):
        gain = scores + OPEN * (has @ (rare * left))
        # What is far from the question and has no new word of it would only fill the answer.
        idle = ~(has & left & tells).any(axis=1) & (similarity < FILLER * similarity.max())
        gain[[i for i in range(len(spans)) if i in chosen or idle[i] or any(
            float(vectors[i] @ vectors[j]) >= REPEATED for j in chosen)]] = -np.inf
        best = int(gain.argmax())
        if gain[best] == -np.inf:
            break
        chosen.append(best)
        left &= ~has[best]
    literal = tells.sum() > 1 and bool(has[chosen][:, tells].all(axis=1).any())
    foremost = max(chosen, key=lambda i: (total[i], -i))
    answer = Answer((), (), float(similarity[foremost]), english=_english(plan.question),
                    literal=literal, missing=_missing(plan.question, asked, passages))
    chosen.sort(key=lambda i: (spans[i].rank, spans[i].start))
    quoted = {i: _with_lead(spans[i], all_spans, [spans[j] for j in chosen]) for i in chosen}
    cited: dict[RetrievedPassage, list[int]] = {}
    for i in chosen:
        cited.setdefault(spans[i].passage, []).append(i)
    marks = {i: _mark(store, span.passage, span.start) for i, span in quoted.items()}
    citations = tuple(
        _citation(number, passage, [marks[i] for i in some],
                  [(quoted[i].start, quoted[i].end) for i in some], float(similarity[some].max()))
        for number, (passage, some) in enumerate(cited.items(), 1))
    sentences = []
    for number, (passage, some) in enumerate(cited.items(), 1):
        end = 0
        for i in some:
            span = quoted[i]
            sentences.append(Sentence(
                span.text, number, float(similarity[i]), passage.start + span.start,
                passage.start + span.end, i == foremost and not answer.abstained, marks[i].page,
                end > 0 and bool(passage.text[end:span.start].strip())))
            end = span.end
    return replace(answer, sentences=tuple(sentences), citations=citations)


@dataclass(frozen=True, eq=False)
class _Span:
    """A sentence of the passage of a rank, and its vector, shape (d,)."""

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    vector: Vectors

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()


def _with_lead(span: _Span, spans: Sequence[_Span], chosen: Sequence[_Span]) -> _Span:
    """The sentence with those before it that say who "she" is, two at most."""
    lead = span
    for _ in range(LEAD):
        before = next((s for s in spans if s.passage is span.passage and s.end <= lead.start
                       and not s.passage.text[s.end:lead.start].strip()), None)
        if (before is None or before in chosen or not _whole(before)
                or "\n\n" in span.passage.text[before.end:lead.start]
                or not _speaks_of_another(lead.text)):
            break
        lead = before
    return replace(span, start=lead.start)


def _speaks_of_another(text: str) -> bool:
    """Whether a sentence begins with a pronoun, or is short and has one."""
    said = words(text)
    return not _PRONOUNS.isdisjoint(said if len(said) < LONG else said[:1])


def _missing(question: str, asked: Sequence[str],
             passages: Sequence[RetrievedPassage]) -> tuple[str, ...]:
    """The telling words of the question, as it spells them, whose stem no passage has."""
    stems = {word[:STEM] for p in passages for word in words(f"{p.title}\n{p.text}")}
    telling = set(asked) - _ASKING - FUNCTION_WORDS
    return tuple(dict.fromkeys(
        word for word in re.findall(r"\w+", question)
        if (len(word) >= STEM or word.isupper()) and word.casefold() in telling
        and word.casefold()[:STEM] not in stems))


def _english(question: str) -> bool:
    """Whether a question has a function word of English; one of two words needs none."""
    said = re.findall(r"[^\W\d_]+", question.casefold())
    return len(said) < 3 or not _ENGLISH.isdisjoint(said)


def _start(text: str, start: int, end: int) -> int:
    """Where a sentence starts after the header lines and table rows that were read into it."""
    if is_table(text) or is_row(text[start:end]):
        return start
    while (stop := text.find("\n", start, end)) >= 0 and (
            "|" in text[start:stop] or _HEADER.match(text[start:stop])):
        start = stop + 1
    return start


def _whole(span: _Span) -> bool:
    """Whether a text reads as a sentence: no heading, header line, cut line or piped row.

    Rows of "column: value" lines do, unless they open a document as the lines of a letter's head.
    """
    passage, text = span.passage, span.text
    if is_table(passage.text) or is_row(text) and passage.start + span.start > 0:
        return True
    if " | " in text or text.startswith("|") or text in (passage.title, passage.heading):
        return False
    if is_row(text):
        return False
    if _ENDED.search(text):
        return True
    said = text.split()
    return (len(said) >= LONG and any(word.islower() for word in said[1:])
            and not _HEADER.match(text) and not _CUT.search(text))


def draft(retrieval: Retrieval, store: Store, ways: Sequence[str] = (), *, budget: int = BUDGET,
          length: str = "short") -> Draft:
    """The prompt for a retrieval, Prompt 3; `budget` in tokens, `length` as in `LENGTHS`."""
    context = build_context(retrieval, store, ways, budget)
    return Draft(retrieval.query, context,
                 answer_messages(retrieval.query, context.text, length))


def written(draft: Draft, reply: Reply, model: str, store: Store, embedder: Embedder) -> Written:
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
    sentences = store.sentences(sources[n].passage.chunk for n in asked if n in sources)
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
              sentences: Sequence[tuple[int, int, Vectors]], store: Store) -> Citation:
    passage = source.passage
    if not sentences:
        return Citation(source.number, passage.title, where(passage), passage)
    cosines = np.stack(claims) @ np.stack([vector for _, _, vector in sentences]).T  # (c, s)
    nearest = sorted(set(cosines.argmax(axis=1).tolist()))
    return _citation(source.number, passage,
                     [_mark(store, passage, sentences[i][0]) for i in nearest],
                     [(sentences[i][0], sentences[i][1]) for i in nearest], float(cosines.max()))


def _mark(store: Store, passage: RetrievedPassage, start: int) -> Mark:
    """Page and heading of the sentence that starts there, not of its passage's start."""
    return mark_at(store.document(passage.document).marks, passage.start + start)


def _citation(number: int, passage: RetrievedPassage, at: Sequence[Mark],
              marks: Sequence[tuple[int, int]], support: float) -> Citation:
    """A source with the pages of its cited sentences."""
    place = replace(passage, page=at[0].page, heading=at[0].heading)
    pages = sorted({mark.page for mark in at if mark.page is not None})
    return Citation(number, passage.title, where(place, pages), place, tuple(marks), support)


def where(passage: RetrievedPassage, pages: Sequence[int] = ()) -> str:
    """Document, page or `pages`, heading and characters of a passage, for people."""
    parts = [passage.document]
    if len(pages) > 1:
        parts.append(f"pages {pages[0]}-{pages[-1]}")
    elif passage.page is not None:
        parts.append(f"page {passage.page}")
    if passage.heading:
        parts.append(passage.heading)
    return ", ".join([*parts, f"characters {passage.start}-{passage.end}"])
