"""Retrieval to quoted answer: the sentences that together answer most of a question."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from qafd.answer import NAMELESS, SAID, WEAK, Answer, Citation, Sentence, cite
from qafd.answer.expected import ASKING, GENERIC, asked_for, brings, names_in, unsaid
from qafd.answer.forms import PREFIX, families, stem, stems
from qafd.answer.lines import LONG, Span, asks_for_line, is_whole, parted
from qafd.models.embedder import LocalEmbedder
from qafd.reading.text.bm25 import FUNCTION_LETTERS, FUNCTION_WORDS, words
from qafd.reading.text.scripts import is_latin, is_unspaced, length
from qafd.records import Floats, QueryPlan, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
FLOW = 0.2  # how much the rank of a passage counts beside the similarity of its sentence
OPEN = 0.4  # how much the question's words count that no chosen sentence has yet
ASKED = 0.2  # how much it counts that a sentence brings a person where one is asked for
IMPORTANT = 0.1  # how much the importance of what it names counts, on a scale of 3 decades
REPEATED = 0.9  # cosine from which a sentence says what another one said
ADDS = 0.35  # share of the first sentence's score that another one must add to be quoted
MARKED = 2  # sentences marked in a passage
SHORT = 4  # words below which a sentence is a heading or a remnant
FILLER = 0.75  # share of the best cosine below which a sentence must bring a word of the question
LEAD = 2  # sentences before one that begins with "she" or "this", to say who or what

_YES_OR_NO = re.compile(
    r"\s*(?:am|are|can|could|did|do|does|had|has|have|is|may|must|should|was|were|will|would)\b",
    re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:what|which|whose|how many|how much)(?: \w+){1,2}", re.IGNORECASE)
_PRONOUNS = frozenset((
    "he", "she", "it", "they", "his", "her", "its", "their", "hers", "theirs", "him", "them",
    "this", "that", "these", "those", "both"))
_ENGLISH = FUNCTION_WORDS - {  # less the words that German or French have too
    "a", "am", "an", "as", "in", "me", "on", "or", "so", "was"}


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Workspace) -> Answer:
    """The sentences of the best passages that together answer most of the question.

    They are chosen one by one by their cosine with the question, the rank of their passage, the
    question's words that no sentence before has, rare ones first, and by the names they bring:
    of the kind that is asked for, and important in the diffusion. A question of several hops is
    answered in several places. Each subquery of the plan is answered first, by the
    sentence nearest to it. Vectors of sentences were computed in the context of their passage at
    index time. Repetitions are left out, and so are headings, header lines ("Date: 3 May") that the
    question does not ask for and cut lines unless there is nothing else, and what adds little to
    the best sentence, which comes first. Where that one has all telling words of the question and
    the kind of name it asks for, only such are quoted, or those of its passage that have
    them together. A row of "column: value" lines is quoted whole, and what begins with "she" with
    the sentence before it.
    A question in letters that the bundled model does not know is compared by its words: the share
    that a sentence and its title have stands for the cosine.
    """
    parts = plan.subqueries[:SENTENCES]
    passages = retrieval.passages[:PASSAGES * max(1, len(parts))]
    found = store.passages.sentences(passage.chunk for passage in passages)
    everything = [
        Span(rank, passage, first, last, end, vector)
        for rank, passage in enumerate(passages)
        for start, end, vector in found.get(passage.chunk, ())
        for first, last in parted(passage, start, end)]
    spans = [span for span in everything if length(span.text) >= SHORT and is_whole(span)
             or asks_for_line(plan.words, span.text) and not _is_heading(span, store)]
    spans = spans or [span for span in everything if length(span.text) >= SHORT]
    if not spans:
        return Answer((), (), 0.0)
    brought = _brought(spans, plan.words, retrieval, store)
    by_words = _by_words(plan, store)
    similarity, literal = _choose(spans, plan, parts, brought, by_words, everything)
    best = next(iter(similarity.values()))
    missing = _missing(plan.words, passages)
    named = _has_name(plan.words, missing)
    answer = Answer((), (), best,
                    threshold=SAID if by_words else NAMELESS if named else WEAK,
                    english=english(plan.words), literal=literal, missing=missing,
                    sure=best >= NAMELESS and not named and not _turns_on(plan.words, missing))
    return _quoted(answer, similarity, everything, store)


def matching(passages: Sequence[RetrievedPassage], plan: QueryPlan,
             store: Workspace) -> dict[str, list[tuple[int, int]]]:
    """The sentences of some passages that are nearest to the question, as offsets by chunk.

    Near is a cosine that an answer needs and a share of the best one's, see `extract_answer`; of
    each passage two at most, since the sentences of one passage are all alike to the model.
    """
    spans = [Span(rank, passage, first, last, end, vector)
             for rank, passage in enumerate(passages)
             for start, end, vector in store.passages.sentences([passage.chunk]).get(passage.chunk, ())
             for first, last in parted(passage, start, end)]
    spans = [span for span in spans if length(span.text) >= SHORT and is_whole(span)]
    if not spans:
        return {}
    if _by_words(plan, store):
        asked = _sought(plan.words)
        near = np.array([len(asked & stems(span.text)) / max(1, len(asked)) for span in spans])
        least = SAID
    else:
        near = np.stack([span.vector for span in spans]) @ plan.embedding
        least = WEAK
    found: dict[str, list[tuple[int, int]]] = {}
    for i in np.argsort(-near, kind="stable"):
        span = spans[i]
        if near[i] >= max(least, FILLER * near.max()) and len(
                found.get(span.passage.chunk, ())) < MARKED:
            found.setdefault(span.passage.chunk, []).append((span.start, span.end))
    return found


def _by_words(plan: QueryPlan, store: Workspace) -> bool:
    """Whether the question is in letters that the bundled model, if it is used, does not know."""
    return store.vectors.embedder[0] == LocalEmbedder.name and not is_latin(plan.words)


def _is_heading(span: Span, store: Workspace) -> bool:
    return span.text == span.passage.title or span.text in {
        mark.heading for mark in store.documents.get(span.passage.document).marks}


def _sought(question: str) -> frozenset[str]:
    """The stems of the words of a question that say what it is about."""
    return frozenset(
        stem(word) for word in words(question)
        if word not in FUNCTION_WORDS | ASKING | GENERIC and not FUNCTION_LETTERS.search(word))


def _brought(spans: Sequence[Span], question: str, retrieval: Retrieval, store: Workspace) -> Floats:
    """What each sentence brings that the question asks for, shape (s,)."""
    kind, said = asked_for(question), frozenset(words(question))
    x = {node.id: node.importance for node in retrieval.nodes}
    top = max(x.values(), default=0.0)
    names = names_in(store, {span.passage.chunk for span in spans})
    found = []
    for span in spans:
        new = [name for name in unsaid(names.get((span.passage.chunk, span.stop), ()), said)
               if span.end == span.stop or name.text in span.text]
        most = max((x.get(name.node, 0.0) for name in new), default=0.0)
        weight = max(0.0, 1 + np.log10(most / top) / 3) if most > 0 else 0.0
        found.append(ASKED * brings(kind, span.text, new, said) + IMPORTANT * weight)
    return np.array(found)


def _choose(spans: Sequence[Span], plan: QueryPlan, parts: Sequence[QueryPlan], brought: Floats,
            by_words: bool, everything: Sequence[Span]) -> tuple[dict[Span, float], bool]:
    """The sentences to quote with their similarity, the one that answers most first.

    The others follow by their passages, those of its own first. Also whether one of them has all
    telling words of the question.
    """
    asked = sorted(set(words(plan.words)))
    tells = np.array([word not in FUNCTION_WORDS and not FUNCTION_LETTERS.search(word)
                      for word in asked], np.bool_)
    vectors = np.stack([span.vector for span in spans])
    cosines = vectors @ np.stack([p.embedding for p in (plan, *parts)]).T  # (s, 1 + p)
    unspaced = is_unspaced(plan.words)
    forms = [{word, stem(word)} for word in asked]
    has = np.array([[not form.isdisjoint(said) for form in forms] for said in (
        stems(text) | set(words(text)) for text in (
            f"{span.passage.title * unspaced}\n{span.text}" for span in spans))])  # (s, k)
    if by_words:
        tells &= [word not in ASKING for word in asked]
        has &= tells
        cosines[:] = (has.sum(axis=1) / max(1, tells.sum()))[:, None]
    similarity = cosines.max(axis=1)
    counts = has.sum(axis=0)
    rare = np.where(counts > 0, 1.0 / np.maximum(counts, 1), 0.0)
    scores = cosines + FLOW * (1 - np.array([span.rank for span in spans]) / PASSAGES)[:, None]
    chosen = list(dict.fromkeys(scores[:, 1:].argmax(axis=0).tolist()))
    worth = dict.fromkeys(chosen, np.inf)  # what each was chosen for; an answer to a part stays
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
        worth[best] = float(gain[best])
        left &= ~has[best]
    on_topic = [i for i in chosen if has[i, tells].any()] or chosen
    foremost = max(on_topic, key=lambda i: (total[i], -i))
    tells &= [word not in ASKING for word in asked]
    literal = tells.sum() > 1 and bool(has[chosen][:, tells].all(axis=1).any())
    sought = _sought(plan.words)
    fits = np.full(len(spans), True) if asked_for(plan.words) is None else brought >= ASKED
    said_by = {i: stems(_with_lead(spans[i], everything, ()).text) for i in chosen}
    near = [i for i in chosen if spans[i].passage is spans[foremost].passage]
    if len(sought) > 1 and not parts:
        if sought <= said_by[foremost] and fits[foremost]:
            chosen = [i for i in chosen if sought <= said_by[i] and fits[i]]
        elif sought <= frozenset().union(*(said_by[i] for i in near)) and fits[near].any():
            chosen = near
    kept = [i for i in chosen if i == foremost or worth[i] >= ADDS * total[foremost]]
    # The best one of the kind that is asked for stays.
    chosen = kept if fits[kept].any() else kept + [i for i in chosen if fits[i]][:1]
    place = {spans[i].passage: spans[i].rank for i in chosen}
    place[spans[foremost].passage] = -1
    chosen.sort(key=lambda i: (i != foremost, place[spans[i].passage], spans[i].start))
    return {spans[i]: float(similarity[i]) for i in chosen}, literal


def _quoted(answer: Answer, chosen: Mapping[Span, float], everything: Sequence[Span],
            store: Workspace) -> Answer:
    """The answer with its sentences and the passages that they are cited from.

    The first sentence takes along those before it that say who "she" is, even where they are
    chosen themselves; the others leave them where they are quoted anyway.
    """
    foremost = next(iter(chosen))
    first = _with_lead(foremost, everything, ())
    cited: dict[RetrievedPassage, list[Span]] = {}
    for span in chosen:
        if span is foremost or not (
                span.passage is first.passage and first.start <= span.start < first.end):
            cited.setdefault(span.passage, []).append(span)
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    for number, (passage, some) in enumerate(cited.items(), 1):
        quoted = [first if span is foremost else _with_lead(span, everything, chosen)
                  for span in some]
        citations.append(cite(store, number, passage, [(s.start, s.end) for s in quoted],
                              max(chosen[span] for span in some)))
        marks = store.documents.get(passage.document).marks
        end = None
        for span, shown in zip(some, quoted, strict=True):
            sentences.append(Sentence(
                shown.text, number, chosen[span], passage.start + shown.start,
                passage.start + shown.end, span is foremost and not answer.abstained,
                mark_at(marks, passage.start + shown.start).page,
                end is not None and bool(
                    end > shown.start or passage.text[end:shown.start].strip())))
            end = shown.end
    return replace(answer, sentences=tuple(sentences), citations=tuple(citations))


def _with_lead(span: Span, spans: Sequence[Span], chosen: Collection[Span]) -> Span:
    """The sentence with those before it that say who "she" is, two at most."""
    lead = span
    for _ in range(LEAD):
        before = next((s for s in spans if s.passage is span.passage and s.end <= lead.start
                       and not s.passage.text[s.end:lead.start].strip()), None)
        if (before is None or before in chosen or not is_whole(before)
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
            if len(part) > 1 and part.casefold() not in ASKING | FUNCTION_WORDS
            and said_here.isdisjoint(words(part))))
    here = families(said_here)
    return tuple(dict.fromkeys(
        word for word in re.findall(r"\w+", question)
        if (len(word) >= PREFIX or word.isupper()) and here.isdisjoint(families(words(word)))
        and word.casefold() not in ASKING | FUNCTION_WORDS | GENERIC))


def _has_name(question: str, missing: Sequence[str]) -> bool:
    """Whether a word that is missing is written as names are: a capital that opens no sentence."""
    opening = re.findall(r"\w+", question)[:1]
    return not question.isupper() and any(
        word[0].isupper() and word not in opening for word in missing)


def _turns_on(question: str, missing: Sequence[str]) -> bool:
    """Whether a question is about a word that is missing: "which salary", or for yes or no."""
    return bool(_YES_OR_NO.match(question)) or any(
        word in found.group().split() for found in _ABOUT.finditer(question) for word in missing)


def english(question: str) -> bool:
    """Whether a question has a function word of English; one of two words needs none."""
    said = re.findall(r"[^\W\d_]+", question.casefold())
    return len(said) < 3 or not _ENGLISH.isdisjoint(said)


