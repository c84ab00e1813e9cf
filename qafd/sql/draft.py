"""A SQL draft without a language model: the retrieved columns over the shortest joins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from qafd.errors import SqlError
from qafd.sql.box import Value
from qafd.sql.dialect import write_dialect
from qafd.sql.joins import join_tree
from qafd.sql.schema import SQLITE, Column, Join, Schema, Table, quoted
from qafd.sql.words import QuestionParts, find_unused, read_question

MOST = 100  # rows that a draft which only lists asks for


class DoubtKind(StrEnum):
    """What may make a draft wrong; `DraftDoubt` has the names that go with it."""

    UNJOINED = "unjoined"  # a table that no key leads to
    COUNTED_TWICE = "counted twice"
    NEGATION = "negation"  # a word
    OTHER_COLUMN = "other column"  # a value, and a column that also holds it
    SEVERAL = "several"  # the words that a second question begins with
    UNUSED = "unused"  # words of the question


@dataclass(frozen=True)
class DraftDoubt:
    """One thing that may make a draft wrong, and what it is about."""

    kind: DoubtKind
    name: str = ""
    column: str = ""


@dataclass(frozen=True)
class Condition:
    """One part of WHERE, and the column that it reads."""

    sql: str
    column: Column


@dataclass(frozen=True)
class Selection:
    """What is selected, before tables are joined.

    `total` is "", "COUNT", "SUM" or "AVG", of the column `totaled` or, for COUNT, of rows. With
    `limit` the first rows by `order`, or the first groups by the total, are kept.
    """

    focus: str
    shown: tuple[Column, ...] = ()
    total: str = ""
    totaled: Column | None = None
    groups: tuple[Column, ...] = ()
    order: Column | None = None
    descending: bool = True
    limit: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        """All that it reads."""
        single = [column for column in (self.totaled, self.order) if column is not None]
        return (*self.shown, *self.groups, *single)


@dataclass(frozen=True)
class SqlDraft:
    """A SELECT, how it came about, the tables it reads and how they are joined.

    `qafd.wording.databases` says what it does and what may make it wrong.
    """

    sql: str
    selection: Selection
    conditions: tuple[Condition, ...]
    tables: tuple[str, ...]
    joins: tuple[Join, ...]
    doubts: tuple[DraftDoubt, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Labels of the columns that it reads."""
        read = [*self.selection.columns, *(condition.column for condition in self.conditions)]
        return tuple(dict.fromkeys(column.label for column in read))


def draft(question: str, schema: Schema, retrieved: Mapping[str, float],
          values: Sequence[Value]) -> SqlDraft:
    """The SQL that simple rules read from a question, over what is retrieved.

    Counts, averages and sums, groups, superlatives, years and amounts are understood; everything
    else is listed, and a negation is doubted.

    Parameters
    ----------
    retrieved : mapping of str to float
        Importance of tables by name and of columns by label.

    Raises
    ------
    SqlError
        Nothing is retrieved.
    """
    if not retrieved:
        raise SqlError("No table was retrieved for this question; raise the mass or name what the "
                       "tables hold.")
    parts = read_question(question, schema, retrieved, values)
    selection = _select(parts)
    conditions = _conditions(parts, selection)
    named = [selection.focus, *(name.table for name in parts.names),
             *(condition.column.table for condition in conditions),
             *(column.table for column in selection.columns)]
    asked = {name.column.label for name in parts.names if name.column is not None}
    joins, lost = join_tree(schema, list(dict.fromkeys(named)), retrieved, asked)
    tables, repeated = _order_joins(selection.focus, joins)
    selection = replace(
        selection, shown=tuple(c for c in selection.shown if c.table in tables))
    kept = tuple(condition for condition in conditions if condition.column.table in tables)
    total = _write_total(selection, schema, repeated)
    sql = write_dialect(_write(selection, total, kept, tables, joins, repeated), schema.dialect)
    doubts = [DraftDoubt(DoubtKind.UNJOINED, table) for table in lost]
    if selection.totaled is not None and repeated and not selection.groups:
        doubts.append(DraftDoubt(DoubtKind.COUNTED_TWICE))
    doubts += _doubt_words(question, parts, selection, sql)
    doubts += _doubt_columns(parts, values)
    return SqlDraft(sql, selection, kept, tuple(tables), joins, tuple(doubts))


def _doubt_words(question: str, parts: QuestionParts, selection: Selection, sql: str
                 ) -> Iterator[DraftDoubt]:
    """The words of the question that its SQL does not do what they say, or makes no use of."""
    for word in parts.negations:
        yield DraftDoubt(DoubtKind.NEGATION, word)
    if parts.second and (selection.limit or not selection.groups):
        yield DraftDoubt(DoubtKind.SEVERAL, parts.second)
    unused = find_unused(question, sql, _find_operations(selection))
    unused = [word for word in unused if word not in parts.negations]
    if unused:
        yield DraftDoubt(DoubtKind.UNUSED, ", ".join(unused))


def _find_operations(selection: Selection) -> list[str]:
    """The operations of `QuestionParts` that a selection makes use of."""
    used = [selection.total] if selection.total else []
    if selection.groups:
        used.append("EACH")
    if selection.limit:
        used.append("FIRST")
    return used


def _select(parts: QuestionParts) -> Selection:
    """What the question asks for."""
    tables = [name.table for name in parts.names] or [value.table for value in parts.values]
    focus = tables[0] if tables else _find_foremost_table(parts)
    ranked = _select_ranked(parts, focus)
    selection = ranked or _select_total(parts, focus)
    if selection is None:
        return Selection(focus, _list_columns(parts, focus))
    grouped = None
    if "EACH" in parts.operations and not selection.limit:
        grouped = parts.named_after(parts.operations["EACH"])
    if grouped is None:
        return selection
    if grouped.column is not None:
        groups: tuple[Column, ...] = (grouped.column,)
    else:
        groups = _name_rows(parts.schema.table[grouped.table])
    return replace(selection, shown=groups[-1:], groups=groups)


def _name_rows(table: Table) -> tuple[Column, ...]:
    """The columns that tell rows apart: the key and, last, what people call them."""
    both = [column for column in (table.key, table.title) if column is not None]
    return tuple(dict.fromkeys(both))


def _select_total(parts: QuestionParts, focus: str) -> Selection | None:
    """A count, sum or mean, if one is asked for."""
    for name in ("AVG", "SUM"):
        if name in parts.operations:
            of = _find_amount(parts, parts.operations[name]) or _find_column(parts, focus)
            if of is not None:
                return Selection(of.table, total=name, totaled=of)
    if "COUNT" not in parts.operations:
        return None
    counted = parts.named_after(parts.operations["COUNT"])
    if counted is None:
        return Selection(focus, total="COUNT")
    if counted.column is None:
        return Selection(counted.table, total="COUNT")
    total = "SUM" if counted.column.numeric else "COUNT"
    return Selection(counted.table, total=total, totaled=counted.column)


def _find_amount(parts: QuestionParts, place: int) -> Column | None:
    """The column of numbers that is named next, else the first."""
    behind = [name.column for name in parts.amounts if name.at >= place]
    anywhere = [name.column for name in parts.amounts]
    return next(iter(behind + anywhere), None)


def _select_ranked(parts: QuestionParts, focus: str) -> Selection | None:
    """The first rows by a column, or the first groups by a count or a sum, if asked for."""
    superlative = parts.superlative
    if superlative is None:
        return None
    groups = _name_rows(parts.schema.table[focus])
    selection = Selection(focus, groups[-1:], descending=superlative.descending,
                          limit=superlative.count)
    after = parts.named_after(superlative.at)
    column = after.column if after is not None else None
    if after is not None and column is None and after.table != focus and not superlative.hints:
        return replace(selection, total="COUNT", groups=groups)
    if column is None or not (column.numeric or column.dated):
        column = _find_column(parts, focus, superlative.hints)
    if column is None:
        return None
    if column.table != focus and any(name.table == focus for name in parts.names):
        total = "AVG" if "AVG" in parts.operations else "SUM"
        return replace(selection, total=total, totaled=column, groups=groups)
    shown = tuple(dict.fromkeys((*selection.shown, column)))
    return replace(selection, shown=shown, order=column)


def _find_column(parts: QuestionParts, focus: str, hints: Sequence[str] = ()) -> Column | None:
    """The column of numbers or dates that fits hints, in the focus, by importance."""
    importance = parts.importance

    def rank(column: Column) -> tuple[bool, bool, float, str]:
        hinted = any(hint in column.name.lower() for hint in hints)
        return (not hinted, column.table != focus, -importance.get(column.label, 0.0),
                column.label)

    fits = []
    for column in parts.schema.columns:
        wanted = column.dated if "date" in hints else column.numeric
        if wanted and (column.label in importance or column.table == focus):
            fits.append(column)
    return min(fits, key=rank, default=None)


def _find_foremost_table(parts: QuestionParts) -> str:
    importance = parts.importance

    def rank(table: Table) -> tuple[float, float]:
        columns = [importance.get(column.label, 0.0) for column in table.columns]
        return importance.get(table.name, 0.0), max(columns, default=0.0)

    return max(parts.schema.tables, key=rank).name


def _list_columns(parts: QuestionParts, focus: str) -> tuple[Column, ...]:
    """The columns that are named, after what the rows are called if the table comes first."""
    columns = [name.column for name in parts.names if name.column is not None]
    title = parts.schema.table[focus].title
    column_first = bool(parts.names) and parts.names[0].column is not None
    if title is not None and not column_first:
        columns.insert(0, title)
    return tuple(dict.fromkeys(columns)) or parts.schema.table[focus].columns


def _conditions(parts: QuestionParts, selection: Selection) -> list[Condition]:
    """What WHERE says: values, years and amounts of the question."""
    held: dict[Column, list[Value]] = {}
    for value in parts.values:
        held.setdefault(parts.schema.column[value.label], []).append(value)
    found = [Condition(_write_values(column, values), column) for column, values in held.items()]
    if parts.year is not None:
        day = _find_column(parts, selection.focus, ("date",))
        if day is not None:
            year = _compare_year(day, parts.year.sign, parts.year.number, parts.schema.dialect)
            found.append(Condition(year, day))
    if parts.amount is not None:
        amount = parts.amount
        near = sorted(parts.amounts, key=lambda name: abs(name.at - amount.at))
        of = near[0].column if near else _find_column(parts, selection.focus)
        # the amount of a grouped total is no bound on its rows
        if of is not None and not (of is selection.totaled and selection.groups):
            found.append(Condition(f"{of.sql} {amount.sign} {amount.number}", of))
    return found


def _write_values(column: Column, values: Sequence[Value]) -> str:
    """That a column has one of some values, or contains one."""
    whole = [_quote(value.value) for value in values if value.whole]
    parts = [f"{column.sql} LIKE {_like(value.phrase)}" for value in values if not value.whole]
    if len(whole) == 1:
        parts.insert(0, f"{column.sql} = {whole[0]}")
    elif whole:
        parts.insert(0, f"{column.sql} IN ({', '.join(whole)})")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _compare_year(day: Column, sign: str, year: str, dialect: str) -> str:
    kind = day.type.upper()
    if "INT" in kind or "YEAR" in kind:
        return f"{day.sql} {sign} {year}"
    if dialect != SQLITE and ("DATE" in kind or "TIME" in kind):
        return f"EXTRACT(YEAR FROM {day.sql}) {sign} {year}"
    return f"substr({day.sql}, 1, 4) {sign} '{year}'"


def _order_joins(focus: str, joins: Sequence[Join]) -> tuple[list[str], bool]:
    """Tables as they are joined, and whether a row can then meet several of another."""
    tables, repeated = [focus], False
    for join in joins:
        # in the order of the tree one end of each join is there already
        new = join.target if join.table in tables else join.table
        repeated = repeated or new == join.table
        tables.append(new)
    return tables, repeated


def _write(selection: Selection, total: str, conditions: Sequence[Condition],
           tables: Sequence[str], joins: Sequence[Join], repeated: bool) -> str:
    """The SELECT, a clause on each line."""
    select = [column.sql for column in selection.shown]
    if total:
        select.append(total)
    distinct = "DISTINCT " if repeated and not total and selection.order is None else ""
    lines = [f"SELECT {distinct}{', '.join(select) or '*'}", f"FROM {quoted(selection.focus)}"]
    for table, join in zip(tables[1:], joins, strict=True):
        lines.append(f"JOIN {quoted(table)} ON {join.sql}")
    if conditions:
        lines.append("WHERE " + "\n  AND ".join(condition.sql for condition in conditions))
    if selection.groups:
        lines.append("GROUP BY " + ", ".join(column.sql for column in selection.groups))
    return "\n".join([*lines, *_write_limit(selection, total)])


def _write_limit(selection: Selection, total: str) -> Iterator[str]:
    """Which rows come first and how many, where the question says so."""
    if selection.limit:
        order = selection.order.sql if selection.order else total.rpartition(" AS ")[2]
        yield f"ORDER BY {order} DESC" if selection.descending else f"ORDER BY {order}"
    if selection.limit or not total:
        yield f"LIMIT {selection.limit or MOST}"


def _write_total(selection: Selection, schema: Schema, repeated: bool) -> str:
    """What is computed, with its name; "" for a list."""
    if not selection.total:
        return ""
    if selection.total != "COUNT":
        assert selection.totaled is not None
        name = "total" if selection.total == "SUM" else "average"
        return f"{selection.total}({selection.totaled.sql}) AS {name}"
    counted = selection.totaled
    if counted is None and repeated and not selection.groups:
        counted = schema.table[selection.focus].key
    return "COUNT(*) AS count" if counted is None else f"COUNT(DISTINCT {counted.sql}) AS count"


def _doubt_columns(parts: QuestionParts, values: Sequence[Value]) -> list[DraftDoubt]:
    """The columns that also hold a value which was taken for that of another."""
    taken = {(value.phrase, value.label) for value in parts.values}
    phrases = {value.phrase for value in parts.values}
    return [DraftDoubt(DoubtKind.OTHER_COLUMN, value.value, value.label) for value in values
            if value.phrase in phrases and (value.phrase, value.label) not in taken]


def _like(phrase: str) -> str:
    """What LIKE finds a phrase by; its own % and _ stand for themselves."""
    escaped = re.sub(r"([\\%_])", r"\\\1", phrase)
    found = _quote(f"%{escaped}%")
    return found if escaped == phrase else f"{found} ESCAPE '\\'"


def _quote(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
