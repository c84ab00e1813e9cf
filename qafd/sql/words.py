"""What a question says of a schema: where it names tables, columns and values, and its operations.

Rules on words, for English; each is one line to read. A language model does better, see
`qafd.sql.write`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from qafd.sql.box import Value
from qafd.sql.schema import Column, Schema, stem, stems

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_MORE = {"more than": ">", "over": ">", "above": ">", "at least": ">=", "less than": "<",
         "fewer than": "<", "under": "<", "below": "<", "at most": "<="}
_WHEN = {"before": "<", "until": "<=", "since": ">=", "after": ">", "in": "=", "during": "=",
         "from": "=", "of": "="}
_YEAR = re.compile(r"\b(before|until|since|after|in|during|from|of)(?: the)?(?: year)? "
                   r"((?:19|20)\d\d)\b", re.I)
_AMOUNT = re.compile(rf"\b({'|'.join(_MORE)}) (\d+(?:\.\d+)?)\b", re.I)
_COUNTS, _AVERAGES, _SUMS, _EACH = (re.compile(rf"\b({said})\b", re.I) for said in (
    "how many|number of|count", "average|mean", "total|sum|altogether", "per|each|every|by"))
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DATES, _LENGTHS, _PRICES = ("date", "year"), ("distance", "length", "duration", "km"), (
    "price", "cost", "fee", "fare", "amount")
EXTREMES: Mapping[str, tuple[bool, tuple[str, ...]]] = {
    **dict.fromkeys(("most", "highest", "largest", "biggest", "greatest", "maximum", "top", "best"),
                    (True, ())),
    **dict.fromkeys(("fewest", "least", "lowest", "smallest", "minimum", "worst"), (False, ())),
    **dict.fromkeys(("latest", "newest", "youngest", "last", "recent", "recently"), (True, _DATES)),
    **dict.fromkeys(("oldest", "earliest", "first"), (False, _DATES)),
    "longest": (True, _LENGTHS), "shortest": (False, _LENGTHS),
    "expensive": (True, _PRICES), "cheapest": (False, _PRICES)}
"""Superlatives: whether the largest is meant, and words of the columns that they speak of."""


@dataclass(frozen=True)
class NamedPart:
    """A table, or one of its columns, named from the word `at` of the question on."""

    at: int
    table: str
    column: Column | None = None


@dataclass(frozen=True)
class Extreme:
    """A superlative: the word it is, the direction, columns it hints at, how many are asked for."""

    at: int
    descending: bool
    hints: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Bound:
    """A comparison with a year or an amount."""

    at: int
    sign: str
    number: str


@dataclass(frozen=True)
class QuestionParts:
    """A question as far as the rules understand it; places are words, from 0.

    `counts`, `averages` and `sums` are where the operation is named, -1 where it is not; `each`
    where groups are. `importance` is of the tables by name and columns by label of `schema` that
    are retrieved.
    """

    schema: Schema
    importance: Mapping[str, float]
    mentions: tuple[NamedPart, ...]
    values: tuple[Value, ...]
    extreme: Extreme | None
    year: Bound | None
    amount: Bound | None
    counts: int
    averages: int
    sums: int
    each: int

    def after(self, place: int) -> NamedPart | None:
        """What is named next."""
        return next((mention for mention in self.mentions if mention.at >= place), None)


def read(question: str, schema: Schema, retrieved: Mapping[str, float],
         values: Sequence[Value]) -> QuestionParts:
    """What a question says of the retrieved part of a schema.

    Parameters
    ----------
    retrieved : mapping of str to float
        Importance of tables by name and of columns by label.
    """
    places = [(found.start(), found.group().lower()) for found in _WORD.finditer(question)]
    asked = [stem(word) for _, word in places]

    def place_of(pattern: re.Pattern[str]) -> int:
        found = pattern.search(question)
        return -1 if found is None else sum(start < found.end() for start, _ in places)

    def bound(pattern: re.Pattern[str], signs: Mapping[str, str]) -> Bound | None:
        found = pattern.search(question)
        return found and Bound(place_of(pattern), signs[found[1].lower()], found[2])

    chosen, taken = _values(asked, schema, retrieved, values)
    return QuestionParts(
        schema, retrieved, _mentions(asked, schema, retrieved, chosen, taken), chosen,
        _extreme([word for _, word in places]), bound(_YEAR, _WHEN), bound(_AMOUNT, _MORE),
        *(place_of(pattern) for pattern in (_COUNTS, _AVERAGES, _SUMS, _EACH)))


def _extreme(asked: Sequence[str]) -> Extreme | None:
    """The first superlative, with "the most expensive" as one and a number that stands beside."""
    at = next((i for i, word in enumerate(asked) if word in EXTREMES), None)
    if at is None:
        return None
    descending, hints = EXTREMES[asked[at]]
    after = EXTREMES.get("".join(asked[at + 1:at + 2]))
    if after is not None and asked[at] in ("most", "least"):
        descending, hints = after[0] == (asked[at] == "most"), after[1]
    beside = asked[max(at - 1, 0):at + 2]
    counts = [int(word) for word in beside if word.isdigit() and len(word) < 4]
    counts += [NUMBERS.index(word) + 2 for word in beside if word in NUMBERS]
    return Extreme(at, descending, hints, max(counts, default=1) or 1)


def _values(asked: Sequence[str], schema: Schema, retrieved: Mapping[str, float],
            values: Sequence[Value]) -> tuple[tuple[Value, ...], set[int]]:
    """One column for each value of the question, and the words that values take.

    A column of a table that the question names comes first, then the most important one; of
    overlapping phrases the longest counts. The name of a table is no value.
    """
    tables = {table.name for table in schema.tables if _places(asked, stems(table.name))}
    names = [stems(table.name) for table in schema.tables]
    chosen, taken = [], set[int]()
    for value in sorted(values, key=lambda v: (
            -len(v.phrase), not v.whole, v.table not in tables,
            -retrieved.get(v.label, 0.0), v.table, v.column)):
        phrase = [stem(word) for word in _WORD.findall(value.phrase.lower())]
        at = _places(asked, phrase)
        if at and not taken & set(at) and phrase not in names:
            taken |= set(at)
            chosen.append(value)
    return tuple(chosen), taken


def _mentions(asked: Sequence[str], schema: Schema, retrieved: Mapping[str, float],
              values: Sequence[Value], taken: Collection[int]) -> tuple[NamedPart, ...]:
    """What is named, in order; tables by their whole name, columns by half of it at least."""
    free, found = set(range(len(asked))) - set(taken), []
    for table in schema.tables:
        # "the ferry Skarven" names the table beside its value
        at = _places(asked, stems(table.name))
        if at and at[0] in free and table.name in retrieved:
            found.append(NamedPart(at[0], table.name))
    named = {mention.table for mention in found} | {value.table for value in values}
    free -= {i for mention in found for i in _places(asked, stems(mention.table))}
    fits = []
    for column in schema.columns:
        if column.label not in retrieved or column.reference:
            continue
        own = [w for w in stems(column.name) if w not in stems(column.table)] or stems(column.name)
        at = [i for i in sorted(free) if asked[i] in own]
        share = len({asked[i] for i in at}) / max(len(own), 1)
        if share >= 0.5:
            fits.append((-share, column.table not in named, -retrieved[column.label], column, at))
    for *_, column, at in sorted(fits, key=lambda fit: (*fit[:3], fit[3].label)):
        left = [i for i in at if i in free]
        if left:
            found.append(NamedPart(left[0], column.table, column))
            free -= set(left)
    return tuple(sorted(found, key=lambda mention: mention.at))


def _places(asked: Sequence[str], name: Sequence[str]) -> list[int]:
    """Where some words stand side by side first."""
    for i in range(len(asked) - len(name) + 1):
        if name and list(asked[i:i + len(name)]) == list(name):
            return list(range(i, i + len(name)))
    return []
