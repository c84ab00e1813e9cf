"""What is said of other people's databases: drafts of SQL, and what may make them wrong."""

from qafd.sql.draft import MOST, DoubtKind, DraftDoubt, SqlDraft
from qafd.sql.schema import Column, Schema
from qafd.wording.counts import count

_DOUBTS = {
    DoubtKind.UNJOINED: "{name} is not joined: no key leads to it.",
    DoubtKind.COUNTED_TWICE:
        "A row can count several times where several rows are joined to it.",
    DoubtKind.NEGATION: "“{name}” is not understood: the draft asks for what is there, not for what is "
                    "missing.",
    DoubtKind.OTHER_COLUMN: "“{name}” is also a value of {column}.",
    DoubtKind.SEVERAL: "The question has a second part (“{name} …”), which the draft does not answer; "
                       "ask it alone.",
    DoubtKind.UNUSED: "The draft makes no use of these words of the question: {name}."}
_TOTALS = {"SUM": "adds up {column}", "AVG": "averages {column}",
           "COUNT": "counts different values of {column}"}
_LABELS = {"has the column": "has the column", "refers to": "refers to",
           "refers, by its name, to": "refers, by its name, to"}
_JOINS = {("refers", False): "It refers to {column}.",
          ("refers", True): "It refers to {column} (by its name).",
          ("referred", False): "{column} refers to it.",
          ("referred", True): "{column} refers to it (by its name)."}


def describe_draft(draft: SqlDraft) -> str:
    """What a draft does, in one line."""
    selection = draft.selection
    shown = [column.label for column in selection.shown]
    if not selection.total:
        words = ["lists {columns}".format(columns=", ".join(shown) or "*")]
    elif selection.totaled is None:
        words = [f"counts rows of {selection.focus}"]
    else:
        words = [_TOTALS[selection.total].format(column=selection.totaled.label)]
    if len(draft.tables) > 1:
        words.append(f"joined with {', '.join(draft.tables[1:])}")
    if draft.conditions:
        conditions = " AND ".join(condition.sql for condition in draft.conditions)
        words.append(f"where {conditions}")
    if selection.groups and shown:
        words.append(f"for each {shown[0]}")
    if selection.limit:
        by = selection.order.label if selection.order else "that number"
        kept = (f"and keeps the {selection.limit} largest by {by}"
                if selection.descending else
                f"and keeps the {selection.limit} smallest by {by}")
        words.append(kept)
    elif not selection.total:
        words.append(f"at most {MOST} rows")
    return ", ".join(words)


def word_doubt(doubt: DraftDoubt) -> str:
    """What may make a draft wrong, as a sentence."""
    return _DOUBTS[doubt.kind].format(name=doubt.name, column=doubt.column)


def say_facts(schema: Schema, name: str) -> str:
    """What a file says of a table or column."""
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
    """To what a column refers, and what refers to it."""
    sentences = []
    for join in schema.joins:
        for own, other in join.pairs:
            if own == column.label:
                sentences.append(_JOINS["refers", join.inferred].format(column=other))
            elif other == column.label:
                sentences.append(_JOINS["referred", join.inferred].format(column=own))
    return sentences


def say_label(label: str) -> str:
    """What an edge of a schema says."""
    return _LABELS.get(label, label)


def say_key(column: str, inferred: bool) -> str:
    """The column that another refers to, in a cell of a table."""
    return f"→ {column} (by its name)" if inferred else f"→ {column}"
