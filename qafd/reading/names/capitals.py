"""Names in European languages other than English: runs of words with a capital."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from qafd.reading.names.languages import function_words
from qafd.resources import lexicon

LONGEST = 7  # words of a name
GERMAN, TURKISH = "de", "tr"

_WORD = re.compile(
    r"(?:\b(?:[ldjmnstc]|qu|all|dall|dell|nell|sull|un)['\u2019])?"  # "l'Observatoire"
    r"((?:[^\W\d_]\.)+(?=\s*[^\W\d_])|[^\W_]+(?:[-'\u2019&][^\W\d_]+)*)", re.IGNORECASE)
_ENDING = re.compile("['\u2019][^\\W\\d_]+$")  # of a case behind a Turkish name: "Şirketi'nin"
_GAP = re.compile(r"[-'\u2019lLdD \u00a0]+")  # between two words of a name


class _Word(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.casefold()

    @property
    def capital(self) -> bool:
        return self.text[0].isupper() and not (len(self.text) == 1 and self.text.isalpha())


def names(text: str, sentences: Sequence[tuple[int, int]], language: str
          ) -> Iterator[tuple[int, int]]:
    """Find the names of a passage, in order.

    A name is a run of words with a capital, with particles between them ("Juan de la Vega").
    Titles are no part of a name, nor function words that open a sentence, and a single word that
    opens one must stand within one too. German nouns have capitals: one alone is no name after a
    determiner, and of three after one the first is a common noun ("der Astronom Karl Lindau").
    """
    split = []
    for bounds in sentences:
        found = _WORD.finditer(text, *bounds)
        split.append([_Word(one[1], one.start(1), one.end(1)) for one in found])
    inside, begin = _capitals_within(split)
    for words in split:
        for first, whole in _runs(words, text, language):
            run = _strip(whole, words, first, language)
            opens = bool(run) and run[0] is words[0]
            if opens and run[0].text not in inside and (len(run) == 1 or run[1].text in begin):
                run = run[1:]
            if 1 < len(run) <= LONGEST or len(run) == 1 and len(run[0].text) > 2:
                ending = _ENDING.search(run[-1].text) if language == TURKISH else None
                yield run[0].start, run[-1].end - (len(ending[0]) if ending else 0)


def _capitals_within(sentences: Iterable[Sequence[_Word]]) -> tuple[set[str], set[str]]:
    """Return words that have a capital within a sentence, and those of them that begin a run there."""
    inside: set[str] = set()
    begin: set[str] = set()
    for words in sentences:
        for before, word in pairwise(words):
            if word.capital:
                inside.add(word.text)
                if not before.capital:
                    begin.add(word.text)
    return inside, begin


def _runs(words: Sequence[_Word], text: str, language: str) -> Iterator[tuple[int, list[_Word]]]:
    """Yield runs of words with a capital, and where in the sentence they begin."""
    at = 0
    while at < len(words):
        last = at
        if words[at].capital:
            while (after := _next(words, last, text, language)) is not None:
                last = after
            yield at, list(words[at:last + 1])
        at = last + 1


def _next(words: Sequence[_Word], last: int, text: str, language: str) -> int | None:
    """Return the next word with a capital of the same run."""
    particles = lexicon("names", "german_particles" if language == GERMAN else "particles")
    linking = lexicon("names", "linking_particles")  # only beside another one
    if language == TURKISH and _ENDING.search(words[last].text):
        return None
    for after in range(last + 1, min(len(words), last + 4)):
        if not _GAP.fullmatch(text, words[after - 1].end, words[after].start):
            return None
        if words[after].capital:
            return after
        if words[after].low not in particles or after == last + 1 and words[after].low in linking:
            return None
    return None


def _strip(run: list[_Word], words: Sequence[_Word], first: int, language: str) -> list[_Word]:
    """Return a run that begins at word `first` of its sentence, without words that are no part of a name."""
    if first == 0 or language == GERMAN or len(run) == 1:
        run = _without(run, function_words(language))
    run = _without(run, lexicon("names", "titles"))
    return _german(run, words, first) if language == GERMAN else run


def _without(run: list[_Word], lead: frozenset[str]) -> list[_Word]:
    """Return a run without words that it begins with and the particles after them; acronyms stay."""
    while run and run[0].low in lead and not run[0].text.isupper():
        run = run[1:]
        while run and not run[0].capital:
            run = run[1:]
    return run


def _german(run: list[_Word], words: Sequence[_Word], first: int) -> list[_Word]:
    """Return the part of a run of German words that can be a name."""
    determiners = lexicon("names", "german_determiners")
    at = words.index(run[0], first) if run else 0
    before = [word.low for word in words[max(0, at - 2):at]]
    determined = before[-1:] != [] and before[-1] in determiners
    described = len(before) == 2 and before[0] in determiners and not words[at - 1].capital
    if len(run) == 1 and (determined or described) and not run[0].text.isupper():
        return []
    company = run[-1:] != [] and run[-1].text in lexicon("names", "no_names")  # "die Lindau Pumpen GmbH"
    if len(run) > 2 and (determined or described) and run[1].capital and not company:
        return run[1:]
    return run
