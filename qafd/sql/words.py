"""What a question says of a schema: where it names tables, columns and values, and its operations.

Rules on English words; the words are those of assets/lexicons/database_questions.toml. A language
model does better, see `qafd.sql.write`.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from qafd.reading.text.bm25 import content_words
from qafd.resources import assets
from qafd.sql.box import Value
from qafd.sql.schema import Column, Schema, stem, stems

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class NamedPart:
    """A table, or one of its columns, named from the word `at` of the question on."""

    at: int
    table: str
    column: Column | None = None


@dataclass(frozen=True)
class Superlative:
    """The word it ends before, the direction, words of its columns, how many rows are asked for."""

    at: int
    descending: bool
    hints: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Bound:
    """A comparison with a year or an amount, which the word `at` begins."""

    at: int
    sign: str
    number: str


@dataclass(frozen=True)
class QuestionParts:
    """A question as far as the rules understand it; places are words, from 0.

    `operations` has the place behind each of COUNT, AVG, SUM and EACH that is named. `importance`
    is of the tables by name and columns by label of `schema` that are retrieved. `second` are the
    words that a second question begins with, "" in a single one.
    """

    schema: Schema
    importance: Mapping[str, float]
    names: tuple[NamedPart, ...]
    values: tuple[Value, ...]
    operations: Mapping[str, int]
    superlative: Superlative | None
    year: Bound | None
    amount: Bound | None
    negations: tuple[str, ...]
    second: str

    def named_after(self, place: int) -> NamedPart | None:
        """What is named next."""
        return next((name for name in self.names if name.at >= place), None)

    @property
    def amounts(self) -> list[NamedPart]:
        """The columns of numbers that are named."""
        return [name for name in self.names if name.column is not None and name.column.numeric]


def read_question(question: str, schema: Schema, retrieved: Mapping[str, float],
                  values: Sequence[Value]) -> QuestionParts:
    """What a question says of the retrieved part of a schema.

    Parameters
    ----------
    retrieved : mapping of str to float
        Importance of tables by name and of columns by label.
    """
    known = _lexicon()
    asked = [word.lower() for word in _WORD.findall(question)]
    stemmed = [stem(word) for word in asked]
    operations = {}
    for name, phrases in known["operations"].items():
        found = _find_first(asked, phrases)
        if found is not None:
            operations[name] = found[1]
    chosen, taken = _choose_values(stemmed, schema, retrieved, values)
    return QuestionParts(
        schema, retrieved, _find_names(stemmed, schema, retrieved, chosen, taken), chosen,
        operations, _find_superlative(asked, known), _find_bound(asked, known["years"], _YEAR),
        _find_bound(asked, known["amounts"], _NUMBER), _find_negations(asked, known),
        _find_second(asked, known["second_questions"]))


def find_unused(question: str, sql: str, operations: Collection[str]) -> list[str]:
    """The words of a question that its SQL does not come from, as far as the rules tell.

    They are words of content that are no part of a table, column or value of the SQL, and that name none of
    the `operations` which it makes use of: COUNT, AVG, SUM, EACH or FIRST.
    """
    known = _lexicon()
    phrases = list(known["asking"])
    for name in operations:
        phrases += known["operations"].get(name, ())
    if "FIRST" in operations:
        phrases += known["numbers"]
        for group in known["superlatives"]:
            phrases += [*group["largest"], *group["smallest"]]
    used = {*stems(sql), *(stem(word) for phrase in phrases for word in phrase.split())}
    return [word for word in dict.fromkeys(content_words(question)) if stem(word) not in used]


@cache
def _lexicon() -> dict[str, Any]:
    file = assets() / "lexicons" / "database_questions.toml"
    return tomllib.loads(file.read_text("utf-8"))


def _find_all(asked: Sequence[str], phrases: Iterable[str]) -> list[tuple[int, int, str]]:
    """Where phrases stand, as (first word, word behind, phrase): in order, longer ones first."""
    found = []
    for phrase in phrases:
        words = phrase.split()
        for start in range(len(asked) - len(words) + 1):
            end = start + len(words)
            if words and asked[start:end] == words:
                found.append((start, end, phrase))
    return sorted(found, key=lambda place: (place[0], -place[1]))


def _find_first(asked: Sequence[str], phrases: Iterable[str]) -> tuple[int, int, str] | None:
    return next(iter(_find_all(asked, phrases)), None)


def _find_bound(asked: Sequence[str], signs: Mapping[str, str], number: re.Pattern[str]
                ) -> Bound | None:
    """The first comparison whose number follows at once, or after "the" and "year"."""
    for _, end, phrase in _find_all(asked, signs):
        at = end
        while asked[at:at + 1] in (["the"], ["year"]):
            at += 1
        if at < len(asked) and number.fullmatch(asked[at]):
            return Bound(at, signs[phrase], asked[at].replace(",", ""))
    return None


def _find_superlative(asked: Sequence[str], known: Mapping[str, Any]) -> Superlative | None:
    """The first superlative, with a number that stands beside it."""
    meanings = {}
    for group in known["superlatives"]:
        for direction in ("largest", "smallest"):
            for phrase in group[direction]:
                meanings[phrase] = direction == "largest", tuple(group["columns"])
    found = _find_first(asked, meanings)
    if found is None:
        return None
    start, end, phrase = found
    count = 1
    for word in asked[max(start - 1, 0):end + 1]:
        if word in known["numbers"]:
            count = known["numbers"][word]
        elif word.isdigit() and 0 < int(word) < 1000:
            count = int(word)
    return Superlative(end, *meanings[phrase], count)


def _find_negations(asked: Sequence[str], known: Mapping[str, Any]) -> tuple[str, ...]:
    """The words that deny something."""
    positive = {start for start, _, _ in _find_all(asked, known["positives"])}
    found = [asked[start] for start, _, _ in _find_all(asked, known["negations"])
             if start not in positive]
    return tuple(dict.fromkeys(found))


def _find_second(asked: Sequence[str], phrases: Iterable[str]) -> str:
    """The first phrase that begins another question behind the first words."""
    return next((phrase for start, _, phrase in _find_all(asked, phrases) if start > 1), "")


def _choose_values(asked: Sequence[str], schema: Schema, retrieved: Mapping[str, float],
                   values: Sequence[Value]) -> tuple[tuple[Value, ...], set[int]]:
    """One column for each value of the question, and the words that values take.

    A column of a table that the question names comes first, then the most important one; of
    overlapping phrases the longest counts. The name of a table is no value.
    """
    names = [stems(table.name) for table in schema.tables]
    tables = {table.name for table in schema.tables if _places(asked, stems(table.name))}

    def rank(value: Value) -> tuple[Any, ...]:
        importance = retrieved.get(value.label, 0.0)
        return (-len(value.phrase), not value.whole, value.table not in tables, -importance,
                value.table, value.column)

    chosen, taken = [], set[int]()
    for value in sorted(values, key=rank):
        phrase = [stem(word) for word in _WORD.findall(value.phrase.lower())]
        at = _places(asked, phrase)
        if at and not taken & set(at) and phrase not in names:
            taken |= set(at)
            chosen.append(value)
    return tuple(chosen), taken


def _find_names(asked: Sequence[str], schema: Schema, retrieved: Mapping[str, float],
                values: Sequence[Value], taken: Collection[int]) -> tuple[NamedPart, ...]:
    """What is named, in order; tables by their whole name, columns by half of it at least."""
    found: list[NamedPart] = []
    free = set(range(len(asked))) - set(taken)
    left = set(free)
    for table in schema.tables:
        # "the ferry Skarven" names the table beside its value
        at = _places(asked, stems(table.name))
        if at and at[0] in free and table.name in retrieved:
            found.append(NamedPart(at[0], table.name))
            left -= set(at)
    named = {name.table for name in found} | {value.table for value in values}
    fits = []
    for column in schema.columns:
        if column.label in retrieved and not column.reference:
            own = column.own_stems
            at = [i for i in sorted(left) if asked[i] in own]
            share = len({asked[i] for i in at}) / len(own) if own else 0.0
            if share >= 0.5:
                rank = (-share, column.table not in named, -retrieved[column.label], column.label)
                fits.append((rank, column, at))
    for _, column, at in sorted(fits, key=lambda fit: fit[0]):
        places = left.intersection(at)
        if places:
            found.append(NamedPart(min(places), column.table, column))
            left -= places
    return tuple(sorted(found, key=lambda name: name.at))


def _places(asked: Sequence[str], name: Sequence[str]) -> list[int]:
    """Where some words stand side by side first."""
    for _, end, _ in _find_all(asked, [" ".join(name)])[:1]:
        return list(range(end - len(name), end))
    return []
