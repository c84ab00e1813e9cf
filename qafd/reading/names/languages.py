"""Languages: which one a text is in, as far as its letters and its function words tell."""

import re
import runpy
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from qafd.reading.text.scripts import HAN, is_other

ENGLISH, CHINESE, JAPANESE = "en", "zh", "ja"
OTHER = "other"  # in letters without capitals, neither Chinese nor Japanese
UNKNOWN = "und"  # in letters with capitals, beyond English ones
SURE = 0.25  # share of English function words from which a text is English
SHARE = 0.12  # of another language's own function words, from which a text is in it
HITS = 3  # and how many different ones a text of a passage's length must have
LEAST_FIT = 0.5  # share of its letters beyond ASCII that the function words' language must have
FIT = 0.8  # and that a language which these letters alone tell must have
SPECIAL = 0.06  # share of such letters from which they tell it where function words do not
_SAMPLE = 2000  # characters that are looked at

_WORDS = re.compile(r"[^\W\d_]{2,}")
_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")


def _language_of_letters(text: str) -> str:
    """Return the language of a text with many letters that have no case, "" for another text."""
    letters = list(filter(str.isalpha, text))
    rest = sum(letter.title() == letter.lower() for letter in letters)
    if rest <= 0.3 * len(letters):
        return ""
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    if kana + han < 0.5 * rest:
        return OTHER
    return JAPANESE if kana > 0.1 * (kana + han) else CHINESE


def language_of(text: str, least: int = 2) -> str:
    """Return the code of a text's language, `OTHER` or `UNKNOWN`.

    A text is English unless its letters or most of its function words say another language, so
    names, tables and programs are. "zh" is also what a text of Chinese characters only is.

    Parameters
    ----------
    least : int
        Different function words that the shortest text must have; a question has one.
    """
    some = text[:_SAMPLE]
    by_letters = _language_of_letters(some) if is_other(some) else ""
    if by_letters:
        return by_letters
    words = _WORDS.findall(some.casefold())
    english = function_words(ENGLISH)
    if sum(word in english for word in words) >= SURE * len(words):
        return ENGLISH
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word in words:
        for code in _languages_by_word().get(word, ()):
            found[code][word] += 1
    letters = list(filter(str.isalpha, some.casefold()))
    special = Counter(letter for letter in letters if letter > "\x7f")
    rated = _rate_languages(special, words, found, least)
    if not rated and SPECIAL * len(letters) <= special.total() <= len(letters) / 2:
        rated = [(found[code].total() + fit, -len(_alphabet(code)), code) for code in sorted(_lists())
                 if (fit := _fit_alphabet(special, code)) >= FIT]
    if rated:
        return max(rated)[-1]
    return ENGLISH if 2 * special.total() <= len(letters) else UNKNOWN


def _rate_languages(special: Mapping[str, int], words: Sequence[str], found: Mapping[str, Counter[str]],
                    least: int) -> list[tuple[float, int, str]]:
    """Return a score, the size of its list and the code of each language that enough function words say.

    `special` counts the letters beyond ASCII, `found` each language's function words.
    """
    english = function_words(ENGLISH)
    rated = []
    for code, own in found.items():
        only = english - function_words(code)
        if (len(own) >= min(HITS, max(least, len(words) // 4)) and own.total() >= SHARE * len(words)
                and own.total() > 4 * sum(word in only for word in words)
                and (fit := _fit_alphabet(special, code)) >= LEAST_FIT):
            rated.append((fit * own.total(), len(function_words(code)), code))
    return rated


def _fit_alphabet(special: Mapping[str, int], code: str) -> float:
    """Return the share of letters beyond ASCII, with one more, that a language's alphabet has."""
    foreign = sum(special[letter] for letter in special.keys() - _alphabet(code))
    return 1 - foreign / (1 + sum(special.values()))


@cache
def _lists() -> dict[str, Path]:
    """Return the files of function words that spaCy has, by language."""
    spec = find_spec("spacy")
    assert spec is not None
    assert spec.origin is not None
    return {file.parent.name: file for file in Path(spec.origin).parent.glob("lang/*/stop_words.py")}


@cache
def _alphabet(code: str) -> frozenset[str]:
    """Return the letters of the function words of a language."""
    return frozenset("".join(function_words(code)))


@cache
def _languages_by_word() -> dict[str, list[str]]:
    """Return the languages that have a word as a function word which English has not."""
    languages = defaultdict(list)
    for code in sorted(_lists()):
        for word in function_words(code) - function_words(ENGLISH):
            languages[word].append(code)
    return languages


@cache
def function_words(code: str) -> frozenset[str]:
    """Return the words of a language that are no names; for `OTHER` those of all languages."""
    if code == OTHER:
        return frozenset(_languages_by_word())
    if code in (CHINESE, JAPANESE) or code not in _lists():
        return frozenset()
    # Importing them would load the language, which takes 2 s for French.
    return frozenset(runpy.run_path(str(_lists()[code]))["STOP_WORDS"])
