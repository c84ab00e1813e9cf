"""The stems of English words."""

from functools import cache
from typing import Any

import snowballstemmer

from qafd.reading.text.bm25 import words

_ENGLISH: Any = snowballstemmer.stemmer("english")


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, those of "salinity_limit" too."""
    return frozenset(stem(word) for word in words(text))


@cache
def stem(word: str) -> str:
    """Return the part that a word has in common with its other forms."""
    return str(_ENGLISH.stemWord(word))
