"""Languages: which one a text is in, as far as its script and its function words tell."""

import re
import runpy
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from qafd.reading.text.scripts import HAN, is_other

ENGLISH, CHINESE, JAPANESE = "en", "zh", "ja"
OTHER = "other"  # a script whose words nobody here can tell apart or knows the names of
# Those whose function words spaCy lists and whose names begin with a capital.
CAPITALIZED = ("de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "pl", "cs", "ro", "tr", "fi",
               "hu", "ca", "ru", "el")
SURE = 0.25  # share of English function words from which a text is English
SHARE = 0.12  # of another language's own function words, from which a text is in it
HITS = 3  # and how many different ones a text of a passage's length must have
_SAMPLE = 2000  # characters that are looked at

_WORDS = re.compile(r"[^\W\d_]{2,}")
_HAN = re.compile(f"[{HAN}]")
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_CYRILLIC = re.compile("[\u0400-\u052f]")
_TURKISH = re.compile("[ğıİ]")
_REST = re.compile(r"[^\W\d_\u0000-\u052f\u1e00-\u1fff]")  # letters without capitals


def language_of(text: str, least: int = 2) -> str:
    """Return the code of a text's language, "other" where it is in a script without capitals and neither
    Chinese nor Japanese.

    A text is English unless its script or most of its function words say another language, so
    names, tables and programs are. "zh" is also what a text of Chinese characters only is, and "ru"
    any in Cyrillic letters.

    Parameters
    ----------
    least : int
        Different function words that the shortest text must have; a question has one.
    """
    some = text[:_SAMPLE]
    if is_other(some):
        letters = sum(map(str.isalpha, some))
        rest = len(_REST.findall(some))
        if rest > 0.3 * letters:
            kana, han = len(_KANA.findall(some)), len(_HAN.findall(some))
            if kana + han < 0.5 * rest:
                return OTHER
            return JAPANESE if kana > 0.1 * (kana + han) else CHINESE
        if len(_CYRILLIC.findall(some)) > 0.5 * letters:
            return "ru"
    if len(_TURKISH.findall(some)) > max(2, len(some) // 200):
        return "tr"
    words = _WORDS.findall(some.casefold())
    if _count(words, function_words(ENGLISH)) >= SURE * len(words):
        return ENGLISH
    best, most = ENGLISH, min(HITS, max(least, len(words) // 4)) - 1
    for code in CAPITALIZED:
        own = function_words(code) - function_words(ENGLISH)
        count = _count(words, own)
        english = _count(words, function_words(ENGLISH) - function_words(code))
        different = len(own.intersection(words))
        if count > 4 * english and count >= SHARE * len(words) and different > most:
            best, most = code, different
    return best


@cache
def function_words(code: str) -> frozenset[str]:
    """Return the words of a language that are no names; none of Chinese and Japanese."""
    if code in (CHINESE, JAPANESE, OTHER):
        return frozenset()
    spec = find_spec("spacy")
    assert spec is not None
    assert spec.origin is not None
    # Importing them would load the language, which takes 2 s for French.
    path = Path(spec.origin).parent / "lang" / code / "stop_words.py"
    return frozenset(runpy.run_path(str(path))["STOP_WORDS"])


def _count(words: list[str], known: frozenset[str]) -> int:
    return sum(word in known for word in words)
