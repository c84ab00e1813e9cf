"""Retrieval to quoted answer: the sentence that answers, and up to three that support it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qafd.answer import NEEDED, Answer, AnswerSigns, Citation, Sentence, cite
from qafd.answer.lacking import find_lacking, find_missing, find_untold
from qafd.answer.marks import Marks, mark
from qafd.answer.spans import Span, read_spans
from qafd.plan.asked import find_exclusion, is_time
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text.scripts import is_latin
from qafd.records import Floats, QueryPlan, mark_at
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.storage import Workspace

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
EACH = 2  # sentences of one passage at most: what it says besides is near these
SAID = 0.7  # evidence needed where the model cannot read, and words that are shared count twice
_PRONOUN = re.compile(r"\W*(?:he|she|it|they|his|her|its|their)\b", re.IGNORECASE)


def extract_answer(retrieval: Retrieval, plan: QueryPlan, store: Workspace) -> Answer:
    """The sentence of the best passages that answers the question, and up to three others.

    A sentence scores its cosine with the question, the share of the question's words that it has,
    the rank of its passage, whether it brings what is asked for, and, as far as the names of the
    question are sure, how important the names it brings are in the diffusion. Names of the question
    do not count among its words, but for their numbers: what answers often says "she", and what
    names it often says something else; where a name's meaning alone is asked for, they do
    (`find_defined`). Where a sentence brings what is asked for, words of the one before it, of its
    heading and its title count half: they tell what it is about. Where the best one only has what
    is described, the passages of the names beside it are read for the rest (`_lead_on`). A sentence below
    a question of the text is as near as that question is (`compare`). A question
    in letters that the bundled model does not know is compared by its words: the share that a
    sentence and its title have stands for the cosine.
    """
    passages = retrieval.passages[:PASSAGES]
    spans = read_spans(passages, store)
    if not spans:
        return Answer((), (), 0.0)
    marks = mark(spans, plan, retrieval, store)
    chosen = _choose(spans, marks)
    missing = find_missing(plan, passages)
    needed = NEEDED if is_latin(plan.words) else SAID
    signs = find_signs(plan, marks, missing, store)
    answer = Answer((), (), signs.evidence, needed, missing=missing,
                    lacking=find_lacking(plan, spans, chosen[0]) or find_untold(plan, marks, chosen[0]),
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
                _about(span) if opens or span.asked else ""))
    return replace(answer, sentences=tuple(sentences), citations=tuple(citations))


def _about(span: Span) -> str:
    """What a sentence answers or stands under."""
    return span.asked.text if span.asked else span.heading or span.passage.title


def _stand_apart(before: Span, after: Span) -> bool:
    """Whether words of the passage stand between two sentences, or they are in another order."""
    between = before.passage.text[before.end:after.start]
    return before.end > after.start or bool(between.strip())
