"""Retrieval to quoted answer: the sentences that together answer most of a question."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qafd.answer import NAMELESS, WEAK, Answer, Citation, Sentence, cite, place_of
from qafd.answer.expected import asked_for, brings, names_in, unsaid
from qafd.extract.columns import is_row, is_table
from qafd.models import LocalEmbedder
from qafd.records import Floats, QueryPlan, Vectors
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.store import Store
from qafd.text.bm25 import FUNCTION_LETTERS, FUNCTION_WORDS, words
from qafd.text.scripts import is_latin, is_unspaced, length

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
FLOW = 0.2  # how much the rank of a passage counts beside the similarity of its sentence
OPEN = 0.4  # how much the question's words count that no chosen sentence has yet
ASKED = 0.2  # how much it counts that a sentence brings a person where one is asked for
IMPORTANT = 0.1  # how much the importance of what it names counts, on a scale of 3 decades
SHORT = 4  # words below which a sentence is a heading or a remnant
REPEATED = 0.9  # cosine from which a sentence says what another one said
LONG = 8  # words from which a line that no sentence mark ends may be a sentence
SAID = 0.51  # share of the question's words where the model cannot read the question
FILLER = 0.75  # share of the best cosine below which a sentence must bring a word of the question
LEAD = 2  # sentences before one that begins with "she" or "this", to say who or what
STEM = 4  # letters that forms of a word share: "founder", "founded"

_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_CUT = re.compile(r"\b(the|an?|of|at|in|on|to|and|or|for|with|by|from|as|is|was)$", re.IGNORECASE)
_PRONOUNS = frozenset((
    "he", "she", "it", "they", "his", "her", "its", "their", "hers", "theirs", "him", "them",
    "this", "that", "these", "those", "both"))
_ASKING = frozenset((
    "describe", "explain", "find", "found", "give", "happen", "happened", "introduce", "know",
    "known", "list", "mean", "mention", "mentioned", "name", "please", "said", "show", "tell",
    "total", "国家", "国家名", "城市", "地方", "时候", "名字", "国", "場所", "名前", "关于",
    "关系", "联系", "内容", "介绍", "関係"))
_ENGLISH = FUNCTION_WORDS - {  # less the words that German or French have too
    "a", "am", "an", "as", "in", "me", "on", "or", "so", "was"}
_HEADER = re.compile(r"\s*\w+( \w+)?: [^.!?:\n]*$")  # "Author: Ada Lovelace"


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Store) -> Answer:
    """The sentences of the best passages that together answer most of the question.

    They are chosen one by one by their cosine with the question, the rank of their passage, the
    question's words that no sentence before has, rare ones first, and by the names they bring:
    of the kind that is asked for, and important in the diffusion. A question of several hops is
    answered in several places. Each subquery of the plan is answered first, by the
    sentence nearest to it. Vectors of sentences were computed in the context of their passage at
    index time. Repetitions are left out, and so are headings, header lines and cut lines unless
    there is nothing else, and what is far from the question and has no new word of it. A row of
    "column: value" lines is quoted whole, and what begins with "she" with the sentence before it.
    A question in letters that the bundled model does not know is compared by its words: the share
    that a sentence and its title have stands for the cosine.
    """
    parts = plan.subqueries[:SENTENCES]
    passages = retrieval.passages[:PASSAGES * max(1, len(parts))]
    found = store.sentences(passage.chunk for passage in passages)
    everything = [
        _Span(rank, passage, _start(passage.text, start, end), end, vector)
        for rank, passage in enumerate(passages)
        for start, end, vector in found.get(passage.chunk, ())]
    spans = [span for span in everything if length(span.text) >= SHORT]
    spans = [span for span in spans if _whole(span)] or spans
    if not spans:
        return Answer((), (), 0.0)
    brought = _brought(spans, plan.words, retrieval, store)
    by_words = store.embedder[0] == LocalEmbedder.name and not is_latin(plan.words)
    similarity, foremost, literal = _choose(spans, plan, parts, brought, by_words)
    missing = _missing(plan.words, passages)
    answer = Answer((), (), similarity[foremost],
                    threshold=SAID if by_words else (
                        NAMELESS if _has_name(plan.words, missing) else WEAK),
                    english=english(plan.words), literal=literal, missing=missing)
    return _quoted(answer, similarity, everything,
                   None if answer.abstained else foremost, store)


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


def _brought(spans: Sequence[_Span], question: str, retrieval: Retrieval, store: Store) -> Floats:
    """What each sentence brings that the question asks for, shape (s,)."""
    kind, said = asked_for(question), frozenset(words(question))
    x = {node.id: node.importance for node in retrieval.nodes}
    top = max(x.values(), default=0.0)
    names = names_in(store, {span.passage.chunk for span in spans})
    found = []
    for span in spans:
        new = unsaid(names.get((span.passage.chunk, span.end), ()), said)
        most = max((x.get(name.node, 0.0) for name in new), default=0.0)
        weight = max(0.0, 1 + np.log10(most / top) / 3) if most > 0 else 0.0
        found.append(ASKED * brings(kind, span.text, new, said) + IMPORTANT * weight)
    return np.array(found)


def _choose(spans: Sequence[_Span], plan: QueryPlan, parts: Sequence[QueryPlan],
            brought: Floats, by_words: bool) -> tuple[dict[_Span, float], _Span, bool]:
    """The sentences to quote with their similarity, and the one that answers most.

    They are in the order of their passages. Also whether one of them has all telling words of the
    question.
    """
    asked = sorted(set(words(plan.words)))
    tells = np.array([word not in FUNCTION_WORDS and not FUNCTION_LETTERS.search(word)
                      for word in asked], np.bool_)
    vectors = np.stack([span.vector for span in spans])
    cosines = vectors @ np.stack([p.embedding for p in (plan, *parts)]).T  # (s, 1 + p)
    unspaced = is_unspaced(plan.words)
    has = np.array([[word in said for word in asked] for said in (
        set(words(f"{span.passage.title * unspaced}\n{span.text}")) for span in spans)])  # (s, k)
    if by_words:
        tells &= [word not in _ASKING for word in asked]
        has &= tells
        cosines[:] = (has.sum(axis=1) / max(1, tells.sum()))[:, None]
    similarity = cosines.max(axis=1)
    counts = has.sum(axis=0)
    rare = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    scores = cosines + FLOW * (1 - np.array([span.rank for span in spans]) / PASSAGES)[:, None]
    chosen = list(dict.fromkeys(scores[:, 1:].argmax(axis=0).tolist()))
    left = ~has[chosen].any(axis=0)
    scores = scores[:, 0] + brought
    total = scores + OPEN * (has @ rare)
    nearest = similarity.max()  # below 0 where nothing is near
    far = similarity < nearest - (1 - FILLER) * abs(nearest)
    for _ in range(min(SENTENCES, len(spans)) - len(chosen)):
        gain = scores + OPEN * (has @ (rare * left))
        # What is far from the question and has nothing new of it would only fill the answer.
        idle = far & ~(has & left & tells).any(axis=1) & (brought < ASKED / 2)
        if by_words and chosen:
            idle |= similarity <= 0
        gain[[i for i in range(len(spans)) if i in chosen or idle[i] or any(
            float(vectors[i] @ vectors[j]) >= REPEATED for j in chosen)]] = -np.inf
        best = int(gain.argmax())
        if gain[best] == -np.inf:
            break
        chosen.append(best)
        left &= ~has[best]
    on_topic = [i for i in chosen if has[i, tells].any()] or chosen
    foremost = spans[max(on_topic, key=lambda i: (total[i], -i))]
    tells &= [word not in _ASKING for word in asked]
    literal = tells.sum() > 1 and bool(has[chosen][:, tells].all(axis=1).any())
    chosen.sort(key=lambda i: (spans[i].rank, spans[i].start))
    return {spans[i]: float(similarity[i]) for i in chosen}, foremost, literal


def _quoted(answer: Answer, chosen: Mapping[_Span, float], everything: Sequence[_Span],
            foremost: _Span | None, store: Store) -> Answer:
    """The answer with its sentences and the passages that they are cited from."""
    cited: dict[RetrievedPassage, list[_Span]] = {}
    for span in chosen:
        cited.setdefault(span.passage, []).append(span)
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    for number, (passage, some) in enumerate(cited.items(), 1):
        quoted = [_with_lead(span, everything, chosen) for span in some]
        marks = [place_of(store, passage, span.start) for span in quoted]
        citations.append(cite(number, passage, marks, [(s.start, s.end) for s in quoted],
                              max(chosen[span] for span in some)))
        end = 0
        for span, shown, mark in zip(some, quoted, marks, strict=True):
            sentences.append(Sentence(
                shown.text, number, chosen[span], passage.start + shown.start,
                passage.start + shown.end, span is foremost, mark.page,
                end > 0 and bool(passage.text[end:shown.start].strip())))
            end = shown.end
    return replace(answer, sentences=tuple(sentences), citations=tuple(citations))


def _with_lead(span: _Span, spans: Sequence[_Span], chosen: Collection[_Span]) -> _Span:
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


def _missing(question: str, passages: Sequence[RetrievedPassage]) -> tuple[str, ...]:
    """The telling words of the question, as it spells them, whose stem no passage has."""
    said_here = {word for p in passages for word in words(f"{p.title}\n{p.text}")}
    if is_unspaced(question):
        parts = (part for word in re.findall(r"\w+", question)
                 for part in FUNCTION_LETTERS.split(word))
        return tuple(dict.fromkeys(
            part for part in parts
            if len(part) > 1 and part.casefold() not in _ASKING | FUNCTION_WORDS
            and said_here.isdisjoint(words(part))))
    stems = {word[:STEM] for word in said_here}
    return tuple(dict.fromkeys(
        word for word in re.findall(r"\w+", question)
        if (len(word) >= STEM or word.isupper()) and stems.isdisjoint(
            said[:STEM] for said in words(word))
        and word.casefold() not in _ASKING | FUNCTION_WORDS))


def _has_name(question: str, missing: Sequence[str]) -> bool:
    """Whether a word that is missing is written as names are: a capital that opens no sentence."""
    opening = re.findall(r"\w+", question)[:1]
    return not question.isupper() and any(
        word[0].isupper() and word not in opening for word in missing)


def english(question: str) -> bool:
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

    Rows of "column: value" lines do, unless they open a document as the lines of a letter's head,
    and so does an edge of an imported graph, "Insulin — activates — kinase".
    """
    passage, text = span.passage, span.text
    if text.count(" — ") == 2:
        return True
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
