"""A SQL draft without a language model: a list, a count, or one aggregate over the linked tables.

A draft is complete only if it uses every word of the question. Everything else gets a skeleton:
the linked columns of the joined tables, to be completed by hand or by a model.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from qafd.sql.box import Value
from qafd.sql.dialect import write_dialect
from qafd.sql.linking import HALF, LinkedSchema, QuestionWords
from qafd.sql.schema import Column, Join, Schema, quote_name, stems

MOST = 100  # rows of a list

# Words that only ask: nothing of the SQL has to come from them.
FILLERS = frozenset(re.findall(r"\w+", """
    a all an and any are at be been belong belongs can come comes could did different distinct do
    does exist exists find for from get give had has have i in is it its list made make makes me of
    on our please return show tell that the their them there these they this those to us was we were
    what which whose with you your"""))
DISTINCT = {"different", "distinct", "unique"}
OPERATIONS = {"total number of": "COUNT", "how many": "COUNT", "number of": "COUNT", "count": "COUNT",
              "average": "AVG", "mean": "AVG", "total": "SUM", "sum": "SUM",
              "maximum": "MAX", "minimum": "MIN"}
NAMES = {"COUNT": "count", "AVG": "average", "SUM": "total", "MAX": "maximum", "MIN": "minimum"}


class GapKind(StrEnum):
    """A reason why a draft is only a skeleton; `DraftGap` has the names that go with it."""

    UNUSED = "unused"  # words of the question
    UNJOINED = "unjoined"  # a table that no key leads to
    SEVERAL_JOINS = "several joins"  # columns, each of which joins the same tables
    SEVERAL_COLUMNS = "several columns"  # a value, and the columns that hold it
    REPEATED = "repeated"  # a total over rows that joins repeat
    NO_AMOUNT = "no amount"  # an operation without a column of numbers


@dataclass(frozen=True)
class DraftGap:
    """One thing that is missing for a complete draft, and the names it is about."""

    kind: GapKind
    name: str = ""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SqlDraft:
    """A SELECT, the tables it reads as they are joined, and the gaps that make it a skeleton.

    `total` is "" for a list, else the function that is computed, of the column `totaled` or of the
    rows of the first table. `shown` are the columns of a list or skeleton.
    """

    sql: str
    tables: tuple[str, ...]
    joins: tuple[Join, ...]
    shown: tuple[Column, ...] = ()
    total: str = ""
    totaled: Column | None = None
    conditions: tuple[str, ...] = ()
    gaps: tuple[DraftGap, ...] = ()

    @property
    def complete(self) -> bool:
        """Return True if the rules found nothing that the SQL leaves out."""
        return not self.gaps


@dataclass(frozen=True)
class _Parts:
    """A question as the rules understand it; places are words, from 0.

    `unused` are words that belong to no part.
    """

    values: Mapping[Column, Sequence[Value]]
    tables: Mapping[str, int]
    columns: Mapping[Column, int]
    operation: str
    operation_at: int
    distinct: bool
    unused: tuple[str, ...]


def draft(question: str, schema: Schema, linked: LinkedSchema) -> SqlDraft:
    """Draft the SQL of a question over the tables, joins and values that are linked to it."""
    asked = QuestionWords.read(question)
    parts = _read_parts(asked, schema, linked)
    focus = _choose_focus(parts, linked)
    tables, joins, repeated = _order_joins(focus, linked.joins)
    gaps = _find_gaps(parts, linked, tables)
    total, totaled, expression, shown = "", None, "", tuple(parts.columns)
    if parts.operation:
        total, totaled = _choose_total(parts)
        expression = _write_total(total, totaled, schema, focus, repeated)
        if not expression:
            kind = GapKind.REPEATED if repeated and totaled is not None or total == "COUNT" \
                else GapKind.NO_AMOUNT
            gaps.append(DraftGap(kind, NAMES[total]))
    else:
        shown = _choose_columns(parts, schema, focus)
    if gaps:
        total, totaled, expression = "", None, ""
        titles = [schema.table[name].title for name in parts.tables]
        shown = tuple(dict.fromkeys([*filter(None, titles), *parts.columns]))
    shown = () if expression else tuple(column for column in shown if column.table in tables)
    conditions = tuple(_write_values(column, values) for column, values in parts.values.items()
                       if column.table in tables)
    sql = _write(expression, shown, tables, joins, conditions,
                 repeated or parts.distinct)
    return SqlDraft(write_dialect(sql, schema.dialect), tables, joins, shown, total, totaled,
                    conditions, tuple(gaps))


def _read_parts(asked: QuestionWords, schema: Schema, linked: LinkedSchema) -> _Parts:
    """Give each word of a question to a value, a table, a column, a join or an operation."""
    free = set(range(len(asked.words)))
    values: dict[Column, list[Value]] = {}
    for value in linked.values:
        free.difference_update(asked.find_phrase(value.phrase))
        values.setdefault(schema.column[value.label], []).append(value)
    tables = {}
    for name in linked.tables:
        places = asked.find(schema.table[name].stems)
        if places and free.issuperset(places):
            tables[name] = places.start
            free.difference_update(places)
            free.difference_update(asked.find_phrase(name.rpartition(".")[0]))
    operation, operation_at = "", 0
    for phrase, name in OPERATIONS.items():
        places = asked.find_phrase(phrase)
        if places and free.issuperset(places) and not operation:
            operation, operation_at = name, places.start
            free.difference_update(places)
    columns = _read_columns(asked, schema, linked, free)
    for join in linked.joins:  # "arrival port" says by which key two tables are joined
        own = set(chain.from_iterable(map(stems, join.columns)))
        free -= {place for place in free if asked.stems[place] in own}
    unused = [asked.words[place] for place in sorted(free) if asked.words[place] not in FILLERS]
    return _Parts(values, tables, columns, operation, operation_at,
                  not DISTINCT.isdisjoint(asked.words), tuple(dict.fromkeys(unused)))


def _read_columns(asked: QuestionWords, schema: Schema, linked: LinkedSchema, free: set[int]
                  ) -> dict[Column, int]:
    """Find the columns that are named by the free words, and take these out of `free`."""
    fits = []
    for label in linked.columns:
        column = schema.column[label]
        places = [place for place in sorted(free) if asked.stems[place] in column.own_stems]
        share = len({asked.stems[place] for place in places}) / max(len(column.own_stems), 1)
        if share >= HALF and not column.reference:
            order = -share, linked.tables.index(column.table)
            fits.append((order, places, column))
    found = {}
    for _, places, column in sorted(fits, key=lambda fit: fit[0]):
        left = free.intersection(places)
        if left:
            found[column] = min(left)
            free.difference_update(left)
    return dict(sorted(found.items(), key=lambda each: each[1]))


def _choose_focus(parts: _Parts, linked: LinkedSchema) -> str:
    """Choose the table whose rows are listed or counted: the first named after the operation."""
    places = dict(parts.tables)
    for column, place in parts.columns.items():
        places.setdefault(column.table, place)
    ordered = sorted(places, key=lambda table: (places[table] < parts.operation_at, places[table]))
    return ordered[0] if ordered else linked.tables[0]


def _choose_columns(parts: _Parts, schema: Schema, focus: str) -> tuple[Column, ...]:
    """Choose the columns of a list: the named ones, after the title if a table is named first."""
    title = schema.table[focus].title
    columns = list(parts.columns)
    places = [parts.tables[focus]] if focus in parts.tables else []
    if title is not None and places and not any(place < places[0] for place in parts.columns.values()):
        columns.insert(0, title)
    return tuple(dict.fromkeys(columns)) or schema.table[focus].columns


def _choose_total(parts: _Parts) -> tuple[str, Column | None]:
    """Choose the function and its column; a count of a column of numbers is their sum."""
    behind = {column: place for column, place in parts.columns.items() if place > parts.operation_at}
    if parts.operation == "COUNT":
        column = min(behind, key=behind.__getitem__, default=None)
        first = min((place for place in parts.tables.values() if place > parts.operation_at), default=None)
        if column is None or first is not None and first < behind[column]:
            return "COUNT", None
        return ("SUM" if column.numeric else "COUNT"), column
    return parts.operation, next((column for column in behind if column.numeric), None)


def _find_gaps(parts: _Parts, linked: LinkedSchema, tables: Sequence[str]) -> list[DraftGap]:
    """Find the words of the question that no SQL over the joined tables can express."""
    gaps = []
    if parts.unused:
        gaps.append(DraftGap(GapKind.UNUSED, ", ".join(parts.unused)))
    gaps += [DraftGap(GapKind.UNJOINED, name) for name in linked.tables if name not in tables]
    if linked.alternatives:
        ends = [{other.table, other.target} for other in linked.alternatives]
        joins = [*linked.alternatives, *(join for join in linked.joins if {join.table, join.target} in ends)]
        labels = {label for label, _ in chain.from_iterable(join.pairs for join in joins)}
        gaps.append(DraftGap(GapKind.SEVERAL_JOINS, columns=tuple(sorted(labels))))
    rivals: dict[str, list[str]] = {}
    for value in linked.rivals:
        rivals.setdefault(value.phrase, []).append(value.label)
    for value in linked.values:
        if value.phrase in rivals:
            columns = dict.fromkeys([value.label, *rivals[value.phrase]])
            gaps.append(DraftGap(GapKind.SEVERAL_COLUMNS, value.value, tuple(columns)))
    return list(dict.fromkeys(gaps))


def _order_joins(focus: str, joins: Sequence[Join]) -> tuple[tuple[str, ...], tuple[Join, ...], bool]:
    """Return the tables as they are joined from one, their joins, and whether rows are repeated."""
    tables, ordered, repeated, left = [focus], list[Join](), False, list(joins)
    while True:
        join = next((one for one in left if (one.table in tables) != (one.target in tables)), None)
        if join is None:
            return tuple(tables), tuple(ordered), repeated
        new = join.target if join.table in tables else join.table
        repeated = repeated or new == join.table
        tables.append(new)
        ordered.append(join)
        left.remove(join)


def _write_total(total: str, column: Column | None, schema: Schema, focus: str, repeated: bool) -> str:
    """Write the computed value; "" where it would be wrong or has no column."""
    if total == "COUNT":
        counted = schema.table[focus].key if column is None and repeated else column
        if column is None and not repeated:
            return "COUNT(*) AS count"
        return "" if counted is None else f"COUNT(DISTINCT {counted.sql}) AS count"
    if column is None or repeated and total in ("SUM", "AVG"):
        return ""
    return f"{total}({column.sql}) AS {NAMES[total]}"


def _write(expression: str, shown: Sequence[Column], tables: Sequence[str], joins: Sequence[Join],
           conditions: Sequence[str], distinct: bool) -> str:
    """Write the SELECT, a clause on each line."""
    columns = ", ".join(column.sql for column in shown) or "*"
    selected = expression or (f"DISTINCT {columns}" if distinct else columns)
    lines = [f"SELECT {selected}", f"FROM {quote_name(tables[0])}"]
    for table, join in zip(tables[1:], joins, strict=True):
        lines.append(f"JOIN {quote_name(table)} ON {join.sql}")
    if conditions:
        lines.append("WHERE " + "\n  AND ".join(conditions))
    if not expression:
        lines.append(f"LIMIT {MOST}")
    return "\n".join(lines)


def _write_values(column: Column, values: Sequence[Value]) -> str:
    """Write that a column has one of some values, or contains one."""
    whole = list(dict.fromkeys(_quote(value.value) for value in values if value.whole))
    parts = [f"{column.sql} LIKE {_like(value.phrase)}" for value in values if not value.whole]
    if len(whole) == 1:
        parts.insert(0, f"{column.sql} = {whole[0]}")
    elif whole:
        parts.insert(0, f"{column.sql} IN ({', '.join(whole)})")
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _like(phrase: str) -> str:
    """Write the LIKE pattern that finds a phrase; its own % and _ mean themselves."""
    escaped = re.sub(r"([\\%_])", r"\\\1", phrase)
    pattern = _quote(f"%{escaped}%")
    return pattern if escaped == phrase else f"{pattern} ESCAPE '\\'"


def _quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
