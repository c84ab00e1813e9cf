"""The dictionary in the package of the English tagger: the words of WordNet and their forms."""

from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.reading.names.tagger import tagger

if TYPE_CHECKING:
    from spacy.lookups import Lookups


def is_in_dictionary(word: str) -> bool:
    """Return True if WordNet has a word in small letters, or the base of which it is a form."""
    if word in _words():
        return True
    return any(word.endswith(ending) and word.removesuffix(ending) + base in _words()
               for ending, base in _endings())


def is_verb(word: str) -> bool:
    """Return True if WordNet has a word in small letters as a verb."""
    return word in _verbs()


@cache
def _verbs() -> frozenset[str]:
    return frozenset(_lookups().get_table("lemma_index")["verb"])


@cache
def _lookups() -> "Lookups":
    """Return the tables of the package's lemmatizer, which reading names does without."""
    from spacy.lookups import Lookups

    nlp, _ = tagger()
    return Lookups().from_disk(Path(nlp.path) / "lemmatizer" / "lookups")


@cache
def _words() -> frozenset[str]:
    """Return the words of WordNet, and their irregular forms."""
    words: set[str] = set()
    for table in ("lemma_index", "lemma_exc"):
        words = words.union(*_lookups().get_table(table).values())
    return frozenset(words)


@cache
def _endings() -> frozenset[tuple[str, str]]:
    """Return endings of regular forms, each with its replacement in the dictionary."""
    rules = chain.from_iterable(_lookups().get_table("lemma_rules").values())
    return frozenset((ending, base) for ending, base in rules if ending)
