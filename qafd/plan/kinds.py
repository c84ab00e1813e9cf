"""The kind of thing that a question asks for, by the phrases of a lexicon."""

import tomllib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain, pairwise

from qafd.reading.names.languages import ENGLISH
from qafd.reading.text.bm25 import words
from qafd.reading.text.lines import is_row
from qafd.reading.text.plaintext import has_digit
from qafd.reading.text.scripts import is_unspaced
from qafd.resources import assets
from qafd.storage.rows import SentenceName


class Asked(StrEnum):
    """The kind of thing that a question asks for."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    NUMBER = "number"
    REASON = "reason"
    MEANS = "means"
    MEANING = "meaning"
    OPEN = "open"


class Beyond(StrEnum):
    """The kind of question that no quoted sentence answers, or only several together."""

    SUMMARY = "summary"
    TOTAL = "total"
    COMPARISON = "comparison"
    NEGATION = "negation"
    SEVERAL = "several"
    CLOSED = "yes or no"


_TYPES = {  # as taggers and models call them
    Asked.PERSON: frozenset(("person", "people", "character")),
    Asked.PLACE: frozenset(("gpe", "loc", "fac", "place", "location", "city", "country", "building"))}


def find_asked(question: str) -> Asked:
    """Return the kind of thing asked for: the phrase that comes first in the question decides.

    Examples
    --------
    >>> [str(find_asked(text)) for text in ("Who founded Kew?", "In which year?", "谁写了它？")]
    ['person', 'time', 'person']
    """
    places = {}
    for kind in Asked:
        if kind != Asked.OPEN and (place := _find(question, _phrases()[kind])) is not None:
            places[kind] = place
    return min(places, key=lambda kind: places[kind], default=Asked.OPEN)


def find_beyond(question: str, language: str = ENGLISH) -> Beyond | None:
    """Return why no sentence can answer a question, None where one may.

    "Describe" counts at the beginning alone and "about" at the end, "not" and "both" in questions of yes
    and no alone, and "are there" asks for a number after "how many" and for a list after "which". "Was"
    asks for yes or no in English and for a thing in German.

    Examples
    --------
    >>> str(find_beyond("Did she never visit Kew?")), find_beyond("When did she not visit Kew?")
    ('negation', None)
    """
    if begins(question, "several"):
        return Beyond.SEVERAL
    asked = find_asked(question)
    opens = (*_phrases()["open"], *_phrases().get(f"open_{language}", ()))
    closed = asked == Asked.OPEN and _find(question, opens) is None
    if not closed and _parts(question)[-1:] == ["about"]:
        return Beyond.SUMMARY
    form = "closed" if closed else asked
    for kind in (Beyond.SUMMARY, Beyond.TOTAL, Beyond.COMPARISON, Beyond.NEGATION):
        if _find(question, (*_phrases()[kind], *_phrases().get(f"{form}_{kind}", ()))) is not None:
            return kind
    if _find(question, _phrases().get(f"{form}_several", ())) is not None:
        return Beyond.SEVERAL
    return Beyond.CLOSED if closed and begins(question, "closed") else None


def begins(question: str, kind: str) -> bool:
    """Return True if a question begins with a phrase of a list of the lexicon."""
    return _find(question, _phrases()[kind]) == 0


def rate_kind(asked: Asked, text: str, names: Iterable[SentenceName], known: Iterable[str]) -> float:
    """Return how well a sentence has the kind of thing asked for, in [0, 1].

    Only new words can be the answer: numbers not among the `known` words of the question, and
    `names` that it does not have. Reasons and means show by phrases. A name of another type counts half,
    and so does any row of a table for an open question: each of its values may be asked for.
    """
    if asked in (Asked.NUMBER, Asked.TIME):
        numbers = {word for word in words(text) if _counts(word, asked)}
        return float(not numbers.issubset(known))
    if asked in (Asked.REASON, Asked.MEANS) and _find(text, _phrases()[f"gives_{asked}"]) is not None:
        return 1.0
    types = {name.type for name in names}
    if not types.isdisjoint(_TYPES.get(asked, ())):
        return 1.0
    return 0.5 if types or asked == Asked.OPEN and is_row(text) else 0.0


def is_number(word: str) -> bool:
    """Return True if a word is a number from two on, in digits or letters."""
    return _counts(word, Asked.NUMBER)


def _counts(word: str, asked: Asked) -> bool:
    return has_digit(word) or word in _phrases()[f"gives_{asked}"]


def sums_rows(cell: str) -> bool:
    """Return True for the name of a row that sums the others, as "Total"."""
    return " ".join(_parts(cell)) in _phrases()["sums"]


def find_asking_words(question: str) -> frozenset[str]:
    """Return the words that ask, as "compare" and the "country" of "In which country?"."""
    asked = words(question)
    asking = frozenset(chain.from_iterable(_phrases().get(kind, ()) for kind in Beyond))
    nouns = {noun for before, noun in pairwise(asked) if before in ("which", "what", "many")}
    return asking.intersection(asked) | nouns


def find_counted(question: str) -> str:
    """Return the word after "how many", "" without one."""
    asked = _parts(question)
    places = [place + 2 for place, pair in enumerate(pairwise(asked)) if pair == ("how", "many")]
    return asked[places[0]] if places and places[0] < len(asked) else ""


def _find(question: str, phrases: Iterable[str]) -> int | None:
    """Return where the first of some phrases begins in a question; None without one."""
    spaced = f" {' '.join(_parts(question))} "
    joined = question.casefold()
    found = []
    for phrase in phrases:
        place = joined.find(phrase) if is_unspaced(phrase) else spaced.find(f" {phrase} ")
        if place >= 0:
            found.append(place)
    return min(found, default=None)


def _parts(text: str) -> list[str]:
    """Return the words of a text in lower case, accents kept, with "n't" as a word of its own."""
    text = text.casefold().replace("\u2019", "'").replace("n't", " n't")
    return "".join(letter if letter.isalnum() or letter == "'" else " " for letter in text).split()


@cache
def _phrases() -> Mapping[str, list[str]]:
    lists: dict[str, list[str]] = tomllib.loads(
        (assets() / "lexicons" / "questions.toml").read_text("utf-8"))
    return lists
