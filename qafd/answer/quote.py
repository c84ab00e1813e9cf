"""Retrieval to quoted answer: the sentence that answers, and up to three that support it."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from qafd.answer import NEEDED, Answer, AnswerSigns, Citation, Sentence, cite
from qafd.plan.asked import (
    DEFINITE,
    asked_for,
    asked_noun,
    begins_with,
    brings,
    find_exclusion,
    is_time,
    opens_with,
    tells,
    unsaid,
)
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import FUNCTION_LETTERS, content_words, words
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import is_latin, is_unspaced, length
from qafd.reading.text.stems import stem, stems
from qafd.reading.text.table_rows import is_row
from qafd.records import Floats, QueryPlan, Vectors, mark_at, node_id
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
EACH = 2  # sentences of one passage at most: what it says besides is near these
SHARE = 0.5  # how much the share of the question's words counts beside the cosine
RANK = 0.03  # what each passage before its own costs a sentence
KIND = 0.2  # how much it counts that a sentence brings what is asked for
DISTINCT = 0.4  # and where that is a person, a place, a time or a number
CONTEXT = 0.5  # what a word around a sentence counts where it brings what is asked for
OTHER = 0.5  # how well, at most, a sentence fits where others bring what is called as asked
DEFINED = 0.2  # how much it counts to begin with the name that a question asks the meaning of
IMPORTANT = 0.2  # how much the importance of what it names, on a scale of 3 decades, counts at most
NEXT = 0.5  # how much more words and what is asked for count one hop further on
LONGER, USUAL = 0.05, 15  # how much it counts to be e times longer than usual, in words
SAID = 0.7  # evidence needed where the model cannot read, and words that are shared count twice
SHORT = 4  # words below which a sentence is a heading or a remnant
MARKED, NEAR, LEAST = 2, 0.75, 0.31  # sentences marked in a passage: of the best cosine, and at all
_WORDS = re.compile(r"(?<!\w['’])\w+")  # without the ending of "Jobs's"
_PRONOUN = re.compile(r"\W*(?:he|she|it|they|his|her|its|their)\b", re.IGNORECASE)
_POINTS = re.compile(r"\b(?:i|me|my|we|us|our|you|your|he|him|his|she|hers?|its?|they|them|their|"
                     r"this|these|that|those)\b", re.IGNORECASE)
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
        if length(text) < SHORT or text in (self.passage.title, self.heading):
            return False
        return is_row(text) or not _ASKED.search(text)


@dataclass(frozen=True)
class Marks:
    """What speaks for each of s sentences: `scores`, and `similarity`, how near it is to the question.

    `covered` is the share of all the question's words that it has, rare ones first, and `fits`
    whether it brings what is asked for, all in [0, 1].
    """

    scores: Floats
    similarity: Floats
    covered: Floats
    fits: Floats


@dataclass(frozen=True)
class BroughtNames:
    """The names of each of s sentences, as nodes; whether they fit what is asked for, and how
    important they are, both in [0, 1], shape (s,)."""

    nodes: list[set[str]]
    fits: Floats
    important: Floats


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Workspace) -> Answer:
    """The sentence of the best passages that answers the question, and up to three others.

    A sentence scores its cosine with the question, the share of the question's words that it has,
    the rank of its passage, whether it brings what is asked for, and, as far as the names of the
    question are sure, how important the names it brings are in the diffusion. Names of the question
    do not count among its words, but for their numbers: what answers often says "she", and what
    names it often says something else; where a name's meaning alone is asked for, they do
    (`find_defined`). Where a sentence brings what is asked for, words of the one before it, of its
    heading and its title count half: they tell what it is about. Where the best one only has what
    is described, the passages of the names beside it are read for the rest (`_lead_on`). A question
    in letters that the bundled model does not know is compared by its words: the share that a
    sentence and its title have stands for the cosine.
    """
    passages = retrieval.passages[:PASSAGES]
    spans = _stored_spans(passages, store)
    if not spans:
        return Answer((), (), 0.0)
    marks = _mark(spans, plan, retrieval, store)
    chosen = _choose(spans, marks)
    missing = find_missing(plan, passages)
    needed = NEEDED if is_latin(plan.words) else SAID
    signs = find_signs(plan, marks, missing, store)
    answer = Answer((), (), signs.evidence, needed, missing=missing,
                    lacking=find_lacking(plan, spans, chosen[0]),
                    exclusion=find_exclusion(plan.words), signs=signs)
    return _quote(answer, [spans[i] for i in chosen], marks.similarity[chosen], store)


def find_signs(plan: QueryPlan, marks: Marks, missing: Sequence[str], store: Workspace) -> AnswerSigns:
    """What tells whether a question is answered, given the words that no considered passage has."""
    first = int(marks.scores.argmax())
    # The best sentence may say "it" where its neighbor, nearer to the question, has the name.
    near = float(marks.similarity.max())
    if language_of(plan.words, least=1) != ENGLISH:
        missing = ()  # of other languages we know no other forms
    unheard = [] if plan.words.isupper() else [
        word for word in missing if word[0].isupper() and not plan.words.startswith(word)
        and not is_time(word) and not store.passages.has_word(word)]
    return AnswerSigns(near, float(marks.covered[first]), float(marks.fits[first]), len(missing),
                       len(unheard))


def _choose(spans: Sequence[Span], marks: Marks) -> list[int]:
    """The best sentence, the one that says whom it is about, and others that support it."""
    order = np.argsort(-marks.scores, kind="stable").tolist()
    about = _find_subject(spans, order[0])
    chosen: list[int] = []
    counts: Counter[int] = Counter()
    for i in dict.fromkeys([order[0], about, *order]):
        if len(chosen) < SENTENCES and counts[spans[i].rank] < EACH:
            chosen.append(i)
            counts[spans[i].rank] += 1
    return chosen


def _find_subject(spans: Sequence[Span], at: int) -> int:
    """The last sentence before one in its passage that opens with no pronoun, where that one does;
    else itself."""
    found = at
    while (_PRONOUN.match(spans[found].text) and found > 0
           and spans[found - 1].rank == spans[at].rank):
        found -= 1
    return found


def find_near(passages: Sequence[RetrievedPassage], plan: QueryPlan,
              store: Workspace) -> dict[str, list[tuple[int, int]]]:
    """The sentences of some passages that are nearest to the question, as offsets by chunk.

    Near is a share of the best one's cosine; of each passage two at most, since the sentences of
    one passage are all alike to the model.
    """
    spans = _stored_spans(passages, store)
    if not spans:
        return {}
    near = _similarity(spans, plan)
    found: dict[str, list[tuple[int, int]]] = {}
    for i in np.argsort(-near, kind="stable"):
        some = found.setdefault(spans[i].passage.chunk, [])
        if near[i] >= max(LEAST, NEAR * near.max()) and len(some) < MARKED:
            some.append((spans[i].start, spans[i].end))
    return found


def find_missing(plan: QueryPlan, passages: Sequence[RetrievedPassage]) -> tuple[str, ...]:
    """The words of a question's names and things, as it spells them, that no passage has in any form.

    Not its verbs, for which texts have others, nor the kind of thing that is asked for ("which
    country"), which answers rarely repeat.
    """
    said = {asked_noun(plan.words)}
    for passage in passages:
        said |= stems(f"{passage.title}\n{passage.heading}\n{passage.text}")
    telling = frozenset(content_words(" ".join(keyword.text for keyword in plan.keywords)))
    found = []
    for word in _WORDS.findall(plan.words):
        for part in FUNCTION_LETTERS.split(word):
            own = words(part)
            if part and not telling.isdisjoint(own) and said.isdisjoint(stems(part)):
                found.append(part)
    return tuple(dict.fromkeys(found))


def find_defined(plan: QueryPlan) -> list[list[str]]:
    """The stems of each name whose meaning alone is asked for, as in "What is a trust line?".

    Where the documents know no name of the question, its only keyword is one. Empty where other words
    of the question tell what about the name is asked for.
    """
    names = [*plan.names]
    if not names and len(plan.keywords) == 1:
        names = [plan.keywords[0].text]
    defined = [list(map(stem, content_words(name))) for name in names]
    known = set(chain.from_iterable(defined))
    rest = [word for word in map(stem, content_words(plan.words)) if tells(word) and word not in known]
    return [] if rest else defined


def _stored_spans(passages: Sequence[RetrievedPassage], store: Workspace) -> list[Span]:
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


def _similarity(spans: Sequence[Span], plan: QueryPlan) -> Floats:
    """How near each sentence is to the question, shape (s,)."""
    if is_latin(plan.words):
        return (np.stack([span.vector for span in spans]) @ plan.embedding).astype(np.float64)
    asked = [word for word in content_words(plan.words) if not FUNCTION_LETTERS.search(word)]
    shares = []
    for span in spans:
        said = set(words(f"{span.passage.title}\n{span.text}"))
        shares.append(sum(word in said for word in asked) / max(1, len(asked)))
    return np.array(shares)


def _mark(spans: Sequence[Span], plan: QueryPlan, retrieval: Retrieval, store: Workspace) -> Marks:
    asked = list(dict.fromkeys(map(stem, content_words(plan.words))))
    has = _find_words(spans, asked, is_unspaced(plan.words))
    defined = find_defined(plan)
    found = has.sum(axis=0)
    rarity = np.log1p(len(spans) / np.maximum(found, 1))
    weights = (found > 0) * _find_telling(plan, asked, bool(defined)) * rarity ** 2
    named = _value_names(spans, plan.words, retrieval, store)
    similarity = _similarity(spans, plan)
    kind = DISTINCT if asked_for(plan.words) in DEFINITE else KIND
    sizes = np.array([max(1, len(span.text.split())) for span in spans])
    credited = np.maximum(has, CONTEXT * _find_context(spans, asked, has) * (named.fits == 1)[:, None])
    scores = (similarity + SHARE * _share(credited, weights) + kind * named.fits
              - RANK * np.array([span.rank for span in spans]) + LONGER * np.log(sizes / USUAL)
              + IMPORTANT * (retrieval.named_share or 0.0) * named.important)
    scores += DEFINED * np.array([begins_with(span.text, defined) for span in spans])
    first = int(scores.argmax())
    further = _share(has, np.where(has[first] > 0, 0.0, weights))
    next_hop = np.zeros(len(spans))
    if named.fits[first] < 1 or not has[first] @ weights:
        next_hop = _lead_on(spans, named.nodes, first) * (further > 0)
    scores += next_hop * NEXT * (further + named.fits)
    return Marks(scores, similarity, _share(has, rarity), named.fits)


def find_lacking(plan: QueryPlan, spans: Sequence[Span], at: int) -> tuple[str, ...]:
    """What the question is about and neither a sentence nor what stands around it speaks of.

    Around it are its heading, the title and name of its document and the sentence before it, and all of its
    passage before it where it has a word that points back, as "she" and "I" do.
    """
    if not plan.about:
        return ()
    span = spans[at]
    around = [span.passage.title, span.passage.document, span.heading]
    if _POINTS.search(span.text):
        around.append(span.passage.text[:span.start])
    elif at and spans[at - 1].rank == span.rank:
        around.append(spans[at - 1].text)
    text = "\n".join((*around, span.text))
    said, letters = stems(text), _letters(text)
    return tuple(chain.from_iterable(
        group for group in plan.about if not any(_is_said(one, said, letters) for one in group)))


def _is_said(name: str, said: Set[str], letters: str) -> bool:
    """Whether a text has a word of a name, or all of it written as one; a number as it is."""
    if any(word in said for word in map(stem, content_words(name)) if len(word) > 2 or word.isdigit()):
        return True
    return not has_digit(name) and _letters(name) in letters


def _letters(text: str) -> str:
    """A text in small letters without what stands between them."""
    return "".join(filter(str.isalnum, text.casefold()))


def _find_words(spans: Sequence[Span], asked: Sequence[str], unspaced: bool) -> Floats:
    """Which of the asked words each sentence has, 1 or 0, shape (s, w); also in the title where nothing
    parts words."""
    has = np.zeros((len(spans), len(asked)))
    for row, span in enumerate(spans):
        said = stems(f"{span.passage.title}\n{span.text}" if unspaced else span.text)
        has[row] = [word in said for word in asked]
    return has


def _find_telling(plan: QueryPlan, asked: Sequence[str], defined: bool) -> Floats:
    """Which of the asked words tell what is asked for, 1 or 0, shape (w,).

    Those of the question's names do where their meaning is asked for (`defined`), else their
    numbers alone.
    """
    names: set[str] = set()
    if not defined:
        for name in plan.names:
            names.update(stem(word) for word in words(name) if not has_digit(word))
    return np.array([word not in names and tells(word) for word in asked], float)


def _find_context(spans: Sequence[Span], asked: Sequence[str], has: Floats) -> Floats:
    """Which of the asked words stand around each sentence, 1 or 0, shape (s, w).

    That is in the sentence before it, in its heading, or in the title of its passage.
    """
    around = np.zeros_like(has)
    for row, span in enumerate(spans):
        above = stems(f"{span.passage.title}\n{span.heading}")
        around[row] = [word in above for word in asked]
        if row and spans[row - 1].rank == span.rank:
            around[row] = np.maximum(around[row], has[row - 1])
    return around


def _share(has: Floats, weights: Floats) -> Floats:
    """The share that each sentence has of the weight of some words, shape (s,)."""
    return np.asarray((has @ weights) / max(weights.sum(), 1e-300))


def _lead_on(spans: Sequence[Span], nodes: Sequence[set[str]], first: int) -> Floats:
    """Which sentences stand one hop further on, 1 or 0, shape (s,).

    They are those of another passage that is titled by a name which the first sentence or one
    beside it has: where it only has what a question of several hops describes, what is asked for
    is there.
    """
    passages = {span.rank: span.passage for span in spans}
    titles = {rank: node_id("entity", canonical(passage.title))
              for rank, passage in passages.items()}
    own = spans[first].rank
    beside = [i for i in (first - 1, first, first + 1)
              if 0 <= i < len(spans) and spans[i].rank == own]
    names = set().union(*(nodes[i] for i in beside)) - {titles[own]}
    return np.array([titles[span.rank] in names for span in spans], float)


def _value_names(spans: Sequence[Span], question: str, retrieval: Retrieval,
                 store: Workspace) -> BroughtNames:
    """What the names of sentences are worth: see `BroughtNames`."""
    kind, noun, said = asked_for(question), asked_noun(question), frozenset(words(question))
    names = store.passages.names({span.passage.chunk for span in spans})
    x = {node.id: node.importance for node in retrieval.nodes}
    top = max(x.values(), default=0.0)
    fits, important = np.zeros(len(spans)), np.zeros(len(spans))
    stated = np.zeros(len(spans), np.bool_)
    called: set[str] = set()
    nodes: list[set[str]] = []
    new: list[set[str]] = []
    for row, span in enumerate(spans):
        named = names.get((span.passage.chunk, span.end), ())
        nodes.append({name.node for name in named})
        brought = unsaid(named, said)
        new.append({name.node for name in brought})
        fits[row] = brings(kind, span.text, brought, said)
        most = max((x.get(node, 0.0) for node in new[row]), default=0.0)
        if most > 0:
            important[row] = max(0.0, 1 + np.log10(most / top) / 3)
        # "Ytterby is a village": what is called so fits a question for a village, other names less.
        clause = canonical(opens_with(span.text, noun)) if noun else ""
        if clause:
            stated[row] = fits[row] > 0
            called |= {name.node for name in named if clause.startswith(canonical(name.text))}
    if called or stated.any():
        called_so = stated | np.array([not nodes.isdisjoint(called) for nodes in new])
        fits = np.where(called_so, 1.0, np.minimum(fits, OTHER))
    return BroughtNames(nodes, fits, important)


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
            skips = place > 0 and _stand_apart(spans[order[place - 1]], span)
            opens = _PRONOUN.match(span.text) is not None and (place == 0 or skips)
            sentences.append(Sentence(
                span.text, number, float(similarity[i]), passage.start + span.start,
                passage.start + span.end, i == 0 and not answer.abstained,
                mark_at(marks, passage.start + span.start).page, skips,
                (span.heading or passage.title) if opens else ""))
    return replace(answer, sentences=tuple(sentences), citations=tuple(citations))


def _stand_apart(before: Span, after: Span) -> bool:
    """Whether words of the passage stand between two sentences, or they are in another order."""
    between = before.passage.text[before.end:after.start]
    return before.end > after.start or bool(between.strip())
