"""Spelling of words that no passage has: each is read as the known word one slip away."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase

from tokenizers import Tokenizer

from qafd.models.embedder import TOKENIZER_FILE, checked_file
from qafd.reading.names.tagger import is_in_dictionary
from qafd.records import Nodes

SHORT = 5  # letters below which most words are one slip away from each other


@dataclass(frozen=True)
class Vocabulary:
    """The words of passages.

    Parameters
    ----------
    heard : callable
        Returns True for a word that a passage has, in any of its forms.
    spread : callable, optional
        The count of passages with each word, as it is spelled, shape (k,). Without it words are not
        corrected, as in languages without a dictionary here.
    """

    heard: Callable[[str], bool]
    spread: Callable[[Sequence[str]], Nodes] | None = None


def right_word(typed: str, spread: Callable[[Sequence[str]], Nodes]) -> str:
    """Return the intended word for one that no passage has, "" where none is near.

    Of the words that are one slip of the keyboard away it is the one that most passages have, or
    else the most common English one. An English word is right (`is_english`).

    Parameters
    ----------
    typed : str
        In small letters.
    spread : callable
        As of a `Vocabulary`.

    Examples
    --------
    >>> import numpy as np
    >>> right_word("calibratoin", lambda words: np.array([word == "calibration" for word in words]))
    'calibration'
    >>> right_word("vacatoin", lambda words: np.zeros(len(words)))
    'vacation'
    """
    common = common_words()
    if len(typed) < SHORT or not (typed.isascii() and typed.isalpha()) or is_english(typed):
        return ""
    near = sorted(set(_one_slip_away(typed)))
    counts = spread(near)
    if counts.any():
        return near[int(counts.argmax())]
    known = [word for word in near if word in common]
    return min(known, key=common.__getitem__, default="")


def is_english(typed: str) -> bool:
    """Return True if a word in small letters is an English one: a common one, or one of a dictionary."""
    return typed in common_words() or is_in_dictionary(typed)


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield each word one slip away: a letter left out, put in or changed, or two neighbors exchanged.

    None is put in or left out at its end, since another ending makes another word.
    """
    for at in range(len(word)):
        before, letter, after = word[:at], word[at], word[at + 1:]
        for other in ascii_lowercase:
            yield before + other + letter + after
            yield before + other + after
        if after:
            yield before + after
            yield before + after[0] + letter + after[1:]


@cache
def common_words() -> dict[str, int]:
    """Return the words that the bundled model reads in one piece, the commonest with the least number."""
    tokenizer = Tokenizer.from_file(str(checked_file(*TOKENIZER_FILE)))
    return {word: number for word, number in tokenizer.get_vocab().items() if word.isalpha()}
