"""Chunk to extraction where a passage is not in English."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from qafd.reading.names import capitals, cjk
from qafd.reading.names.entry import entry_of, is_no_name, names_something
from qafd.reading.names.languages import CHINESE, JAPANESE, OTHER, function_words
from qafd.reading.text import canonical
from qafd.reading.text.lines import (
    ITEM,
    column_names,
    fresh_lines,
    is_quoted_whole,
    is_table,
    opens_sentence,
    without_bullet,
)
from qafd.reading.text.scripts import STOPS, found_words, inside_word, is_unspaced
from qafd.records import Chunk, Extraction, Mention

UNTYPED = "PROPN"

_PARAGRAPH = re.compile(rf"\n[ \t]*\n\s*|\n(?={ITEM.pattern})")
_END = re.compile(r"[。！？]+[」』”’）》】]*\s*|[.!?؟۔।॥։።။។…]+[\"'”’»)]*\s+(?=[\W\d]*[^\W\d_])")
_CLAUSES = re.compile(r".{120,}?\s+", re.DOTALL)  # of scripts whose sentences end with a space
LONG = 300  # letters of such a sentence, which has several
WORDS = 4  # of a term, or LETTERS where no spaces part words, at most
LETTERS = 24
SHORTEST = 3  # letters of a term
_QUOTED = re.compile("«([А-ЯЁ][^«»\n.!?,:;]{1,60})»")  # a name in Russian
_SHORT = re.compile(  # what a dot after it does not end a sentence
    r"(?<!\w)(?:[^\W\d_]|\d{1,2}|dr|prof|nr|bzw|usw|ca|vgl|st|sr|sra|dra|mme|av|etc|art|jh|"
    r"hl|geb|ing|vs|zzgl|inkl|bsp|ul|tel|mr|mrs|ms|jr|inc|ltd|corp|dept)$", re.IGNORECASE)


def names_of(text: str, bounds: Sequence[tuple[int, int]], language: str
             ) -> tuple[Sequence[cjk.NameFound], Sequence[cjk.Word]]:
    """Return the names and terms of a text in a language other than English, and its verbs if known.

    Parameters
    ----------
    bounds : sequence of (start, end)
        Its sentences.
    """
    if language in (CHINESE, JAPANESE):
        return cjk.read(text, language)
    if language == OTHER:
        return [cjk.NameFound(start, end, cjk.TERM) for start, end in _find_repeats(text)], ()
    quoted = [found.span(1) for found in _QUOTED.finditer(text)]
    others = [(start, end) for start, end in capitals.names(text, bounds, language)
              if not any(start < last and first < end for first, last in quoted)]
    return [cjk.NameFound(start, end, UNTYPED) for start, end in sorted(quoted + others)], ()


def _find_repeats(text: str) -> list[tuple[int, int]]:
    """Find the longest phrases that a text repeats: runs of words, or of letters in scripts without
    spaces.

    Function words begin and end no run, and no run is a part of one. The assembly keeps the runs of
    several passages.
    """
    common = function_words(OTHER)
    letters = is_unspaced(text)
    words = [(found.start(), found.start() + len(found[0].rstrip("."))) for found in found_words(text)]
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for at in range(len(words)):
        for span in _runs(text, words[at:at + (LETTERS if letters else WORDS)], letters):
            places[text[slice(*span)]].append(span)
    twice = [run for run, spans in places.items() if len(spans) > 1]
    taken: list[tuple[int, int]] = []
    found = []
    for run in sorted(twice, key=lambda one: (-len(one), one)):
        free = [(start, end) for start, end in places[run]
                if not any(start < last and first < end for first, last in taken)]
        taken += free
        if run not in common:
            found += free
    return sorted(found)


def _runs(text: str, words: Sequence[tuple[int, int]], letters: bool) -> Iterator[tuple[int, int]]:
    """Yield the runs of words that begin with the first one and can be a term."""
    common: frozenset[str] = frozenset() if letters else function_words(OTHER)
    start, end = words[0]
    if text[start:end] in common or not text[start].isalpha() or inside_word(text, start):
        return
    for first, last in words:
        gap = text[end:first]
        if text[first] in STOPS or gap and (letters or not gap.isspace() or "\n" in gap):
            return
        end = last
        cut = unicodedata.category(text[end:end + 1] or " ") == "Mn"
        if end - start >= SHORTEST and not cut and text[first:end] not in common:
            yield start, end


def read_other(chunk: Chunk, language: str, extractor: str) -> Extraction:
    """Return the entry of the extraction log for a chunk in a language other than English.

    Names are words that a dictionary of Chinese or Japanese marks as names (`qafd.reading.names.cjk`),
    runs of words with a capital where the script has them (`qafd.reading.names.capitals`), and else
    what the passage says twice. Relations of Chinese and Japanese are labeled by a
    verb.
    """
    text = chunk.text
    bounds = sentences(text)
    columns: set[int] = set()
    for start, end in bounds:
        columns.update(start + at for at in column_names(text[start:end]))
    found, verbs = names_of(text, bounds, language)
    named: list[Mention] = []
    terms: list[Mention] = []
    for start, end, kind in found:
        number = max(0, bisect_right(bounds, start, key=itemgetter(0)) - 1)
        name = text[start:end]
        key = canonical(name)
        if start in columns or start >= bounds[number][1] or not names_something(key) or is_no_name(name):
            continue
        mention = Mention(key, name, start, end, number, kind)
        (terms if kind == cjk.TERM else named).append(mention)

    def label(source: Mention, target: Mention) -> str:
        start, end = source.end, target.start
        if language == JAPANESE:  # verbs end a sentence
            start, end = target.start, bounds[source.sentence][1]
        return next((verb.base for verb in verbs if start <= verb.start < end), "")

    return entry_of(chunk, extractor, bounds, named, terms, label)


def sentences(text: str) -> list[tuple[int, int]]:
    """Find the sentences of a text; a row of a table is one."""
    table = is_table(text)
    found = []
    opened = -1
    for start, end in _split(text, 0, len(text), _PARAGRAPH):
        if opens_sentence(text, start, end):
            opened = start
            continue
        if table or is_quoted_whole(text[start:end]):
            parts = [(start, end)]
        else:
            begun = [start, *(start + at for at in fresh_lines(text[start:end])), end]
            parts = []
            for first, last in pairwise(begun):
                parts += _split(text, first, last, _END)
        if opened >= 0:
            parts[0] = (opened, parts[0][1])
            opened = -1
        for first, last in _clauses(text, parts):
            first, last = without_bullet(text, first, last)
            if last > first:
                found.append((first, last))
    return found


def _clauses(text: str, parts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sentences, a long one in a script without spaces between words cut at those it has."""
    for start, end in parts:
        if end - start > LONG and is_unspaced(text[start:end]):
            yield from _split(text, start, end, _CLAUSES)
        else:
            yield start, end


def _split(text: str, start: int, end: int, at: "re.Pattern[str]") -> Iterator[tuple[int, int]]:
    """Yield the parts of a text between their ends, which stay with the part before."""
    for stop in at.finditer(text, start, end):
        if at is _END and stop.group()[0] == "." and _SHORT.search(text, start, stop.start()):
            continue
        yield start, stop.end()
        start = stop.end()
    if start < end:
        yield start, end
