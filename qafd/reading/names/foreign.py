"""Chunk to extraction where a passage is not in English."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from qafd.reading.names import capitals, cjk
from qafd.reading.names.columns import ITEM, column_names, is_row, is_table, without_bullet
from qafd.reading.names.kinds import PERSON, TITLES, UNKNOWN, is_given, kind_of
from qafd.reading.names.languages import CAPITALIZED, CHINESE, JAPANESE
from qafd.reading.names.relations import extraction
from qafd.reading.text import canonical
from qafd.records import Chunk, Extraction, Mention

_PARAGRAPH = re.compile(rf"\n[ \t]*\n\s*|\n(?={ITEM.pattern})")
_END = re.compile(r"[。！？]+[」』”’）》】]*\s*|[.!?؟।…]+[\"'”’»)]*\s+(?=[\W\d]*[^\W\d_])")
_SHORT = re.compile(  # what a dot after it does not end a sentence
    r"(?<!\w)(?:[^\W\d_]|\d{1,2}|dr|prof|nr|bzw|usw|ca|vgl|st|sr|sra|dra|mme|av|etc|art|jh|"
    r"hl|geb|ing|vs|zzgl|inkl|bsp|ul|tel)$", re.IGNORECASE)


def names_of(text: str, bounds: Sequence[tuple[int, int]], language: str
             ) -> tuple[Sequence[cjk.Found], Sequence[cjk.Word]]:
    """The names and terms of a text in a language other than English, and its verbs if known.

    Parameters
    ----------
    bounds : sequence of (start, end)
        Its sentences.
    """
    if language in (CHINESE, JAPANESE):
        return cjk.read(text, language)
    if language in CAPITALIZED:
        return [cjk.Found(start, end, _kind(text, start, end))
                for start, end in capitals.names(text, bounds, language)], ()
    return (), ()


def read_other(chunk: Chunk, language: str, extractor: str) -> Extraction:
    """The entry of the extraction log for a chunk in a language other than English.

    Names are what a dictionary of Chinese or Japanese says are names (`qafd.reading.names.cjk`), runs of
    words with a capital in European languages (`qafd.reading.names.capitals`), and nothing but title and
    heading where neither helps. Relations of Chinese and Japanese are labeled by a verb.
    """
    text = chunk.text
    bounds = sentences(text)

    def sentence_at(offset: int) -> int:
        return max(0, bisect_right(bounds, offset, key=itemgetter(0)) - 1)

    columns = {start + at for start, end in bounds for at in column_names(text[start:end])}
    found, verbs = names_of(text, bounds, language)
    mentions = [
        Mention(key, text[start:end], start, end, sentence_at(start), kind)
        for start, end, kind in found
        if start not in columns and any(first <= start < last for first, last in bounds)
        and names_something(key := canonical(text[start:end]))]

    def label(end: int, start: int) -> str:
        if language == JAPANESE:  # verbs end a sentence
            end, start = start, bounds[sentence_at(start)][1]
        return next((verb.base for verb in verbs if end <= verb.start < start), "")

    named = [(m, m.start, m.end) for m in mentions if m.kind != cjk.TERM]
    terms = [m for m in mentions if m.kind == cjk.TERM]
    return extraction(chunk, extractor, bounds, named, terms, names_something, label)


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text stand; a row of a table is one, a table's rows are."""
    table = is_table(text)
    found = []
    for start, end in _split(text, 0, len(text), _PARAGRAPH):
        if table or is_row(text[start:end]):
            parts = [(start, end)]
        else:
            parts = list(_split(text, start, end, _END))
        for first, last in parts:
            first, last = without_bullet(text, first, last)
            if last > first:
                found.append((first, last))
    return found


def names_something(key: str) -> bool:
    """Whether a key can be a name: 2 to 100 characters, letters among them."""
    return 2 <= len(key) <= 100 and any(letter.isalpha() for letter in key)


def _kind(text: str, start: int, end: int) -> str:
    """A person after "Herr" or with a first name, what the name itself says, else "PROPN"."""
    name = text[start:end]
    before = text[max(0, start - 20):start].split()
    titled = bool(before) and before[-1].casefold().rstrip(".") in TITLES
    return kind_of(name) or (PERSON if titled or is_given(name) else UNKNOWN)


def _split(text: str, start: int, end: int, at: "re.Pattern[str]") -> Iterator[tuple[int, int]]:
    """The parts of a text between what ends them, which stays with the part before."""
    for stop in at.finditer(text, start, end):
        if at is _END and stop.group()[0] == "." and _SHORT.search(text, start, stop.start()):
            continue
        yield start, stop.end()
        start = stop.end()
    if start < end:
        yield start, end
