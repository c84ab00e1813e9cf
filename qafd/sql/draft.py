"""A SQL draft without a language model: the retrieved columns over the shortest joins."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from qafd.errors import SqlError
from qafd.sql.box import Value
from qafd.sql.joins import join_tree
from qafd.sql.schema import Column, Join, Schema, quoted
from qafd.sql.words import QuestionParts, read

MOST = 100  # rows that a draft which only lists asks for

_NEGATION = re.compile(r"\b(?:without|not|never|neither|nobody|none|except|lack(?:s|ing)?)\b"
                       r"|\bno\b(?! (?:more|less|fewer) than)")


@dataclass(frozen=True)
class SqlDraft:
    """A SELECT, what it does in one line, the tables it reads and how they are joined.

    `notices` say what may make it wrong.
    """

    sql: str
    said: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    joins: tuple[Join, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Query:
    """What is selected, before tables are joined."""

    focus: str
    shown: tuple[Column, ...] = ()
    total: str = ""
    of: Column | None = None
    groups: tuple[Column, ...] = ()
    order: Column | None = None
    descending: bool = True
    limit: int = 0

    @property
    def columns(self) -> tuple[Column, ...]:
        """All that it reads."""
        return (*self.shown, *self.groups, *(c for c in (self.of, self.order) if c))


def draft(question: str, schema: Schema, retrieved: Mapping[str, float],
          values: Sequence[Value]) -> SqlDraft:
    """The SQL that simple rules read from a question, over what is retrieved.

    Counts, averages and sums, groups, superlatives, years and amounts are understood; everything
    else is listed, and a negation is said not to be understood.

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
    reading = read(question, schema, retrieved, values)
    query = _query(reading)
    conditions = _conditions(reading, query)
    used = [column for _, column in conditions]
    named = [query.focus, *(m.table for m in reading.mentions),
             *(c.table for c in (*used, *query.columns))]
    tree, lost = join_tree(schema, list(dict.fromkeys(named)), retrieved, {
        m.column.label for m in reading.mentions if m.column})
    made = _written(query, conditions, tree, lost, schema)
    taken = {(v.phrase, v.label) for v in reading.values}
    phrases = {v.phrase for v in reading.values}
    also = tuple(f"“{v.value}” is also a value of {v.label}." for v in values
                 if v.phrase in phrases and (v.phrase, v.label) not in taken)
    turned = tuple(f"“{word}” is not understood: the draft asks for what is there, not for what is "
                   "missing." for word in dict.fromkeys(_NEGATION.findall(question.casefold())))
    return replace(made, notices=made.notices + turned + also)


def _query(reading: QuestionParts) -> _Query:
    tables = [m.table for m in reading.mentions] or [v.table for v in reading.values]
    focus = tables[0] if tables else _best_table(reading)
    query = _ranked(reading, focus) or _total(reading, focus)
    if query is None:
        return _Query(focus, _listed(reading, focus))
    grouped = reading.after(reading.each) if reading.each >= 0 else None
    if grouped is None or query.limit:
        return query
    table = reading.schema.table[grouped.table]
    by = grouped.column or table.title
    groups = tuple(dict.fromkeys(
        c for c in (None if grouped.column else table.key, by) if c is not None))
    return replace(query, shown=(by,) if by else groups, groups=groups)


def _total(reading: QuestionParts, focus: str) -> _Query | None:
    """A count, sum or mean, if one is asked for."""
    numbers = [m for m in reading.mentions if m.column is not None and m.column.numeric]
    for place, name in ((reading.averages, "AVG"), (reading.sums, "SUM")):
        if place >= 0:
            named = next((m for m in numbers if m.at >= place), next(iter(numbers), None))
            of = named.column if named else _best(reading, focus, ())
            if of is not None:
                return _Query(of.table, total=name, of=of)
    if reading.counts < 0:
        return None
    counted = reading.after(reading.counts)
    if counted is None or counted.column is None:
        return _Query(counted.table if counted else focus, total="COUNT")
    return _Query(counted.table, total="SUM" if counted.column.numeric else "COUNT",
                  of=counted.column)


def _ranked(reading: QuestionParts, focus: str) -> _Query | None:
    """The first rows by a column, or the first groups by a count or a sum, if asked for."""
    extreme = reading.extreme
    if extreme is None:
        return None
    table = reading.schema.table[focus]
    title = table.title or table.key
    query = _Query(focus, (title,) if title else (), descending=extreme.descending,
                   limit=extreme.count)
    groups = tuple(dict.fromkeys(c for c in (table.key, title) if c is not None))
    after = reading.after(extreme.at)
    if after is not None and after.column is None and after.table != focus and not extreme.hints:
        return replace(query, total="COUNT", groups=groups)
    column = after.column if after and after.column and (
        after.column.numeric or after.column.dated) else _best(reading, focus, extreme.hints)
    if column is None:
        return None
    if column.table != focus and any(m.table == focus for m in reading.mentions):
        return replace(query, total="AVG" if reading.averages >= 0 else "SUM", of=column,
                       groups=groups)
    return replace(query, shown=tuple(dict.fromkeys((*query.shown, column))), order=column)


def _best(reading: QuestionParts, focus: str, hints: Sequence[str]) -> Column | None:
    """The column of numbers or dates that fits hints, in the focus, by importance."""
    importance = reading.importance
    fits = [c for c in reading.schema.columns if (c.label in importance or c.table == focus) and (
        c.dated if "date" in hints else c.numeric)]
    return min(fits, key=lambda c: (
        not any(hint in c.name.lower() for hint in hints), c.table != focus,
        -importance.get(c.label, 0.0), c.label), default=None)


def _best_table(reading: QuestionParts) -> str:
    importance = reading.importance
    return max(reading.schema.tables, key=lambda t: (
        importance.get(t.name, 0.0),
        max((importance.get(c.label, 0.0) for c in t.columns), default=0.0))).name


def _listed(reading: QuestionParts, focus: str) -> tuple[Column, ...]:
    """The columns that are named, after what the rows are called if the table comes first."""
    columns = [m.column for m in reading.mentions if m.column is not None]
    title = reading.schema.table[focus].title
    begins = not reading.mentions or reading.mentions[0].column is None
    if begins and title is not None and all(c.table != focus or c is not title for c in columns):
        columns.insert(0, title)
    return tuple(dict.fromkeys(columns)) or reading.schema.table[focus].columns


def _conditions(reading: QuestionParts, query: _Query) -> list[tuple[str, Column]]:
    """What WHERE says, with the column that each condition reads."""
    held: dict[Column, list[Value]] = {}
    for value in reading.values:
        held.setdefault(reading.schema.column[value.label], []).append(value)
    found = []
    for column, values in held.items():
        whole = [_text(v.value) for v in values if v.whole]
        parts = [f"{column.sql} LIKE {_pattern(v.phrase)}" for v in values if not v.whole]
        if whole:
            parts.insert(0, f"{column.sql} = {whole[0]}" if len(whole) == 1 else
                         f"{column.sql} IN ({', '.join(whole)})")
        found.append((parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})", column))
    year, amount = reading.year, reading.amount
    day = _best(reading, query.focus, ("date",)) if year else None
    if year is not None and day is not None:
        plain = any(kind in day.type.upper() for kind in ("INT", "YEAR"))
        found.append((f"{day.sql} {year.sign} {year.number}" if plain else
                      f"substr({day.sql}, 1, 4) {year.sign} '{year.number}'", day))
    if amount is not None:
        near = [m for m in reading.mentions if m.column is not None and m.column.numeric]
        of = min(near, key=lambda m: abs(m.at - amount.at)).column if near else _best(
            reading, query.focus, ())
        if of is not None and (query.of is not of or not query.groups):
            found.append((f"{of.sql} {amount.sign} {amount.number}", of))
    return found


def _written(query: _Query, conditions: Sequence[tuple[str, Column]], tree: Sequence[Join],
             lost: Sequence[str], schema: Schema) -> SqlDraft:
    tables, lines, many = [query.focus], [], False
    for join in tree:
        # In the order of the tree one end of each join is there already.
        new = join.target if join.table in tables else join.table
        many |= new == join.table
        tables.append(new)
        lines.append(f"JOIN {quoted(new)} ON {join.sql}")
    notices = [f"{table} is not joined: no key leads to it." for table in lost]
    here = set(tables)
    shown = [c for c in query.shown if c.table in here]
    where = [text for text, column in conditions if column.table in here]
    total, said = _aggregate(query, schema, many)
    if total and many and query.of is not None and not query.groups:
        notices.append("A row can count several times where several rows are joined to it.")
    select = [column.sql for column in shown] + ([total] if total else [])
    distinct = "DISTINCT " * (many and not total and query.order is None)
    lines = [f"SELECT {distinct}{', '.join(select) or '*'}", f"FROM {quoted(query.focus)}", *lines]
    if where:
        lines.append("WHERE " + "\n  AND ".join(where))
    if query.groups:
        lines.append("GROUP BY " + ", ".join(column.sql for column in query.groups))
    order = query.order.sql if query.order else total.rpartition(" AS ")[2] if query.limit else ""
    if order:
        lines.append(f"ORDER BY {order}{' DESC' * query.descending}")
    if query.limit or not total:
        lines.append(f"LIMIT {query.limit or MOST}")
    words = [said or "lists " + ", ".join(c.label for c in shown)]
    words += [f"of {query.focus}"] if said.endswith("rows") else []
    words += ["joined with " + ", ".join(tables[1:])] * (len(tables) > 1)
    words += ["where " + " and ".join(where)] * bool(where)
    words += [f"for each {column.label}" for column in shown[:1] if query.groups]
    if order:
        words.append(f"and keeps the {'largest' if query.descending else 'smallest'}"
                     f"{f' {query.limit}' * (query.limit > 1)} by {order}")
    words += [f"at most {MOST} rows"] * (not query.limit and not total)
    columns = [*query.columns, *(column for _, column in conditions)]
    return SqlDraft("\n".join(lines), " ".join(words), tuple(tables),
                 tuple(dict.fromkeys(c.label for c in columns if c.table in here)), tuple(tree),
                 tuple(notices))


def _aggregate(query: _Query, schema: Schema, many: bool) -> tuple[str, str]:
    """What is computed, in SQL and in words; "" for a list."""
    if not query.total:
        return "", ""
    if query.total == "COUNT":
        if query.of is not None:
            return (f"COUNT(DISTINCT {query.of.sql}) AS count",
                    f"counts different values of {query.of.label}")
        key = schema.table[query.focus].key
        if many and key is not None and not query.groups:
            return f"COUNT(DISTINCT {key.sql}) AS count", "counts rows"
        return "COUNT(*) AS count", "counts rows"
    assert query.of is not None
    name, verb = ("total", "adds up") if query.total == "SUM" else ("average", "averages")
    return f"{query.total}({query.of.sql}) AS {name}", f"{verb} {query.of.label}"


def _pattern(phrase: str) -> str:
    """What LIKE finds a phrase by; its own % and _ stand for themselves."""
    escaped = re.sub(r"([\\%_])", r"\\\1", phrase)
    return _text(f"%{escaped}%") + " ESCAPE '\\'" * (escaped != phrase)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
