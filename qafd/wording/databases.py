"""Words for databases: drafts of SQL and their gaps, tables and columns."""

from qafd.sql.draft import MOST, DraftGap, GapKind, SqlDraft
from qafd.sql.schema import Column, Schema
from qafd.wording import count, join_words

_GAPS = {
    GapKind.UNUSED: "Not understood: {name}.",
    GapKind.UNJOINED: "No key leads to {name}; add the join.",
    GapKind.SEVERAL_JOINS: "The tables can be joined by {columns}; choose one.",
    GapKind.SEVERAL_COLUMNS: "“{name}” is a value of {columns}; choose one.",
    GapKind.REPEATED: "The joins repeat rows, so the {name} would be too large.",
    GapKind.NO_AMOUNT: "The question names no numeric column for the {name}."}
_TOTALS = {"SUM": "adds up {column}", "AVG": "averages {column}", "MAX": "finds the maximum of {column}",
           "MIN": "finds the minimum of {column}", "COUNT": "counts different values of {column}"}
_JOINS = {("refers", False): "It refers to {column}.",
          ("refers", True): "It refers to {column} (by its name).",
          ("referred", False): "{column} refers to it.",
          ("referred", True): "{column} refers to it (by its name)."}


def describe_draft(draft: SqlDraft) -> str:
    """Describe a draft in a phrase that follows "The draft" or "This start"."""
    columns = ", ".join(column.label for column in draft.shown) or "*"
    if not draft.complete:
        joined = f" of {join_words(draft.tables)}" if len(draft.tables) > 1 else ""
        return f"reads the columns that the question needs{joined}"
    if not draft.total:
        parts = [f"lists {columns}"]
    elif draft.totaled is None:
        parts = [f"counts rows of {draft.tables[0]}"]
    else:
        parts = [_TOTALS[draft.total].format(column=draft.totaled.label)]
    if len(draft.tables) > 1:
        parts.append(f"joined with {', '.join(draft.tables[1:])}")
    if draft.conditions:
        parts.append(f"where {' AND '.join(draft.conditions)}")
    if not draft.total:
        parts.append(f"at most {MOST} rows")
    return ", ".join(parts)


def word_gap(gap: DraftGap) -> str:
    """Word a gap of a draft."""
    return _GAPS[gap.kind].format(name=gap.name, columns=" or ".join(gap.columns))


def say_facts(schema: Schema, name: str) -> str:
    """Describe a table or column: its size or type, its values and its keys."""
    if name in schema.table:
        table = schema.table[name]
        if not schema.has_rows:
            return f"{count(len(table.columns), 'column')}."
        if table.rows is None:
            return f"more than 1,000,000 rows, {count(len(table.columns), 'column')}."
        return f"{count(table.rows, 'row')}, {count(len(table.columns), 'column')}."
    column = schema.column[name]
    facts = [column.type or "no type"]
    if column.key:
        facts.append("primary key")
    sentences = [f"{', '.join(facts)}."]
    if column.values:
        sentences.append(f"Values such as {', '.join(column.values)}.")
    for words in _say_joins(schema, column):
        sentences.append(words)
    return " ".join(sentences)


def _say_joins(schema: Schema, column: Column) -> list[str]:
    """List the columns that a column refers to, and those that refer to it."""
    sentences = []
    for join in schema.joins:
        for source, target in join.pairs:
            if source == column.label:
                sentences.append(_JOINS["refers", join.inferred].format(column=target))
            elif target == column.label:
                sentences.append(_JOINS["referred", join.inferred].format(column=source))
    return sentences


def say_key(column: str, inferred: bool) -> str:
    """Word a reference to a column for a cell of a table."""
    return f"→ {column} (by its name)" if inferred else f"→ {column}"
