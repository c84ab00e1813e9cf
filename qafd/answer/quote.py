"""Quote: the sentences of a retrieval that are nearest to answering its question, cited."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from qafd.answer import LIKELY, UNSURE, Answer, Citation, Sentence, cite
from qafd.answer.chooser import Candidate, choose, names_of_chunk
from qafd.plan.kinds import Asked, Beyond, rate_kind, sums_rows
from qafd.plan.question import parse_question
from qafd.reading.text.bm25 import stems, words
from qafd.reading.text.lines import is_row, row_cells
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import length
from qafd.records import QueryPlan, mark_at
from qafd.retrieve.base import Corpus, Retrieval, RetrievedPassage
from qafd.storage import Workspace
from qafd.storage.rows import SentenceName

PASSAGES = 5  # best passages whose sentences are considered
SENTENCES = 4
_NAME = "name"
_CELL_KINDS = frozenset((Asked.PERSON, Asked.PLACE, Asked.TIME, Asked.NUMBER))  # seen at a value
EACH = 2  # sentences of one passage at most: what else it says is much the same
COLUMNS = 3  # of a table; a message below its time looks like a row of two
SHORT = 4  # words below which a sentence is a heading or a remnant
MARKED, NEAR, LEAST = 2, 0.75, 0.31  # sentences marked in a passage: of the best cosine, and at all


def extract_answer(retrieval: Retrieval, plan: QueryPlan, corpus: Corpus, store: Workspace) -> Answer:
    """Quote up to four sentences of the best passages, the likeliest answer first.

    Of a comparison, summary or list the first sentences are the best about each name of the question.
    """
    unknown, parse = find_unknown(plan, store), parse_question(plan.words)
    beyond = parse.beyond
    candidates = read_candidates(retrieval.passages[:PASSAGES], store)
    if not candidates:
        return Answer((), (), 0.0, unknown, beyond)
    choice = choose(candidates, plan, retrieval, corpus.passages, store)
    order, chance = [candidates[place] for place in choice.order], choice.chance
    if _lacks_asked_cell(order[0], plan, store):
        chance = min(chance, UNSURE)
    if beyond is None and is_row(order[0].text) and (
            parse.is_extreme or _counts_rows(parse.counted, order[0])):
        beyond = Beyond.TOTAL  # one row does not know the others
    if parse.is_extreme:
        order.sort(key=_sums_rows)
    if beyond in (Beyond.COMPARISON, Beyond.SUMMARY, Beyond.SEVERAL):
        order = [*_find_sides(order, plan.names), *order]
    bold = chance >= LIKELY and not (beyond or unknown)
    sentences, citations = _quote(_select(order), plan, bold, store)
    return Answer(sentences, citations, chance, unknown, beyond)


def read_candidates(passages: Sequence[RetrievedPassage], store: Workspace) -> list[Candidate]:
    """Return the sentences of passages, without questions, headings and remnants if there are others."""
    vectors = store.passages.sentences(passage.chunk for passage in passages)
    candidates: list[Candidate] = []
    for rank, passage in enumerate(passages):
        marks = store.documents.get(passage.document).marks
        before = None
        for start, end, vector in vectors.get(passage.chunk, ()):
            if any(letter.isalnum() for letter in passage.text[start:end]):
                heading = mark_at(marks, passage.start + start).heading
                before = Candidate(rank, passage, start, end, vector, heading, before)
                candidates.append(before)
    return [each for each in candidates if _is_statement(each)] or candidates


def find_unknown(plan: QueryPlan, store: Workspace) -> tuple[str, ...]:
    """Return the words of the question's names and things that no document has in any form.

    The kind of thing asked for, as in "which country", is not among them: answers seldom
    repeat it.
    """
    parse = parse_question(plan.words)
    found = set()
    for word in parse.content:
        # The "s" of "Steve Jobs's" is no word that a document could mention.
        letter = len(word) == 1 and word.isascii() and word.isalpha()
        if not letter and not store.passages.has_word(word) and parse.names_thing(word):
            found.add(word)
    unknown: list[str] = []
    last = 0  # end of the last unknown word: names of several words stay whole
    for match in re.finditer(r"\w+", plan.words):
        if not found.isdisjoint(words(match[0])):
            if unknown and plan.words[last:match.start()] == " ":
                unknown[-1] += f" {match[0]}"
            else:
                unknown.append(match[0])
            last = match.end()
    return tuple(unknown)


def find_near(passages: Sequence[RetrievedPassage], plan: QueryPlan,
              store: Workspace) -> dict[str, list[tuple[int, int]]]:
    """Return the sentences of passages nearest to the question, as offsets by chunk.

    Near is a share of the best one's cosine; at most two of each passage.
    """
    candidates = read_candidates(passages, store)
    if not candidates:
        return {}
    cosines = np.stack([each.vector for each in candidates]) @ plan.embedding
    found: dict[str, list[tuple[int, int]]] = {}
    for place in np.argsort(-cosines, kind="stable"):
        near = found.setdefault(candidates[place].passage.chunk, [])
        if cosines[place] >= max(LEAST, NEAR * cosines.max()) and len(near) < MARKED:
            near.append((candidates[place].start, candidates[place].end))
    return found


def _is_statement(candidate: Candidate) -> bool:
    """Return False for a question, a heading, a title or a remnant; "10 g salt" is a statement."""
    text, size = candidate.body, length(candidate.body)
    if is_row(candidate.text):
        return True
    if candidate.asks or not {text, candidate.text}.isdisjoint((candidate.heading, candidate.passage.title)):
        return False
    return size >= SHORT or has_digit(text) and size > 1 or text.endswith((".", "。")) and size == SHORT - 1


def _lacks_asked_cell(row: Candidate, plan: QueryPlan, store: Workspace) -> bool:
    """Return True for the row of a table none of whose columns has what is asked for."""
    if len(row_cells(row.text)) < COLUMNS:
        return False
    names = store.passages.names({row.passage.chunk}).get((row.passage.chunk, row.end), ())
    return find_cell(row.text, plan.question, names) < 0


def _sums_rows(row: Candidate) -> bool:
    """Return True for the row of a table that sums the others, which has the most of everything."""
    return any(sums_rows(value) for _, value in row_cells(row.text)[:1])


def _counts_rows(noun: str, row: Candidate) -> bool:
    """Return True if a noun is what a table lists: its title, its heading or a column without numbers."""
    columns = [column for column, value in row_cells(row.text) if not value.replace(".", "").isdecimal()]
    return bool(noun) and any(stems(noun) <= stems(text)
                              for text in (row.passage.title, row.heading, *columns))


def _find_sides(order: Sequence[Candidate], names: Sequence[str]) -> Iterator[Candidate]:
    """Yield the best sentence about each name: in a passage that it titles, else with its words."""
    for name in names:
        titled = [each for each in order if stems(name) <= stems(each.passage.title)]
        about = titled or [each for each in order if stems(name) <= stems(each.text)]
        yield from about[:1]


def _select(order: Sequence[Candidate]) -> list[Candidate]:
    """Return the first four, at most two of one passage."""
    counts: Counter[int] = Counter()
    chosen: list[Candidate] = []
    for each in order:
        if each not in chosen and counts[each.rank] < EACH and len(chosen) < SENTENCES:
            chosen.append(each)
            counts[each.rank] += 1
    return chosen


def _quote(chosen: Sequence[Candidate], plan: QueryPlan, bold: bool, store: Workspace
           ) -> tuple[tuple[Sentence, ...], tuple[Citation, ...]]:
    """Return the sentences and the passages that they are cited from.

    Sentences of one passage follow each other; the first one's passage comes first.
    """
    cited: dict[RetrievedPassage, list[Candidate]] = {}
    for each in chosen:
        cited.setdefault(each.passage, []).append(each)
    sentences: list[Sentence] = []
    citations: list[Citation] = []
    names = store.passages.names({passage.chunk for passage in cited})
    for number, (passage, quoted) in enumerate(cited.items(), 1):
        cosines = {each: float(each.vector @ plan.embedding) for each in quoted}
        places = [(each.start, each.end) for each in quoted]
        citations.append(cite(store, number, passage, places, max(cosines.values())))
        marks = store.documents.get(passage.document).marks
        last = None
        for each in sorted(quoted, key=lambda each: (each is not chosen[0], each.start)):
            between = passage.text[last.end:each.start] if last else ""
            skips = last is not None and (last.end > each.start or bool(between.strip()))
            speaker = each.find_speaker(names_of_chunk(names, passage.chunk))
            sentences.append(Sentence(
                each.text, number, cosines[each], passage.start + each.start, passage.start + each.end,
                bold and each is chosen[0], mark_at(marks, passage.start + each.start).page, skips,
                find_cell(each.text, plan.question, names.get((passage.chunk, each.end), ())),
                speaker.text if speaker else ""))
            last = each
    return tuple(sentences), tuple(citations)


def find_cell(row: str, question: str, names: Sequence[SentenceName] = ()) -> int:
    """Return the place of the cell in a row that a question asks for, -1 for none or several.

    Its value is of the kind asked for, as the `names` of the row tell, and not in the question; its
    column has words of the question. Beside another one a column "Name" is not asked for: the name of
    the boat is in "Boat".
    """
    asked, parse = stems(question), parse_question(question)
    cells = row_cells(row)
    rates = []
    for column, value in cells:
        named = stems(column)
        rate = len(named & asked) / max(1, len(named))
        if parse.asked in _CELL_KINDS:
            inside = [name for name in names if name.text in value]
            rate += 2 * rate_kind(parse.asked, value, inside, parse.words)
        rates.append(0.0 if stems(value) <= asked else rate)
    for at, (column, _) in enumerate(cells):
        if column.casefold() == _NAME and any(rates[:at] + rates[at + 1:]):
            rates[at] = 0.0
    best = max(rates, default=0.0)
    return rates.index(best) if best > 0 and rates.count(best) == 1 else -1
