"""The statements of a model's answer, each with the sources that it cites, checked one by one."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from qafd.reading.text.bm25 import words
from qafd.reading.text.markdown import CITED, numbers

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n")
_MARKS = (".", "!", "?", "。", "！", "？")  # of the end of a sentence
_NUMBER = re.compile(r"\d+(?:[.,\u2019 ]\d{3})*(?:[.,]\d+)?")
_WORD = re.compile(r"\w+")
_POINTER = re.compile(r"^(?:\w+ ){0,2}passages? (?:\w+ that )?", re.I)
FEW = 3  # words before a citation that say nothing themselves, as in "according to passage [2]"
WEAK = 0.3  # cosine below which a source supports a statement weakly
SHORT = 3  # letters of a name that is compared


class Verdict(StrEnum):
    """Relation of the cited passages to a statement, as a model reads them."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSAID = "not said"


@dataclass(frozen=True)
class CheckedClaim:
    """A statement, and its support.

    `cited` are the numbers of its sources, `support` the highest cosine with a sentence of theirs,
    and `missing` the numbers and names that neither they nor the question have: with any, it is 0.
    A negated statement is as near to its source as the statement itself, so `support` does not notice it;
    `verdict` is a model's reading, None where none was asked.
    """

    text: str
    cited: tuple[int, ...]
    support: float = 0.0
    missing: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def weak(self) -> bool:
        """True if no cited sentence is near the statement, though they have its names and numbers."""
        return bool(self.cited) and not self.missing and self.support < WEAK


def find_claims(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each statement that is followed by a citation, or that names its source first, without
    stars."""
    text = text.replace("**", "")
    at, last = 0, ""
    found = list(CITED.finditer(text))
    for place, following in zip_longest(found, found[1:]):
        said = _SENTENCE.split(text[at:place.start()].strip())[-1].strip()
        at = place.end()
        if len(_WORD.findall(said)) < FEW:
            # "passage [2] shows that ..."; in "[1][2]" the second belongs to the same statement
            rest = text[at:following.start() if following else len(text)]
            ahead = _SENTENCE.split(rest)[0].strip(" ,:;")
            if len(_WORD.findall(ahead)) >= FEW:
                said = _POINTER.sub("", f"{said} {ahead}") if said else ""
            elif not _WORD.search(said):
                said = ""
        last = said or last
        yield last, numbers(place[1])


def find_uncited(text: str) -> list[str]:
    """Return the parts of a text without a citation, except headings and openings of lists.

    A part is a paragraph or item that cites nothing, or the end of one after its last cited
    sentence.
    """
    uncited = []
    for line in (line.strip(" *#>-") for line in text.split("\n")):
        rest = line
        for place in CITED.finditer(line):
            ended = line[:place.start()].rstrip().endswith(_MARKS) or line.startswith(_MARKS, place.end())
            rest = line[place.end():].lstrip(" ".join(_MARKS)) if ended else ""
        if len(_WORD.findall(rest)) > FEW and not line.endswith(":"):
            uncited.append(rest)
    return uncited


def find_missing(claim: str, known: str, names: bool = True) -> tuple[str, ...]:
    """Return the numbers of a statement, and the names if wanted, that a text does not contain.

    A name is a word with a capital that does not open the statement.
    """
    said = {_plain(number) for number in _NUMBER.findall(known)}
    missing = [number for number in _NUMBER.findall(claim) if _plain(number) not in said]
    if names:
        there = frozenset(words(known))
        for place in list(_WORD.finditer(claim))[1:]:
            word = place[0]
            if word[0].isupper() and len(word) >= SHORT and not _has(word, there):
                missing.append(word)
    return tuple(dict.fromkeys(missing))


def _has(word: str, there: Collection[str]) -> bool:
    own = words(word)
    return not own or any(part in there or part.removesuffix("s") in there for part in own)


def _plain(number: str) -> str:
    """Return a number without separators of thousands."""
    return re.sub(r"[.,\u2019 ](?=\d{3}(?!\d))", "", number).replace(",", ".")


def weakest(claims: Sequence[CheckedClaim], source: int) -> float:
    """Return the support of the weakest statement that cites a source."""
    return min((claim.support for claim in claims if source in claim.cited), default=0.0)
