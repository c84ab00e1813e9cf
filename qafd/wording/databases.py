"""What is said of other people's databases: drafts of SQL, and what may make them wrong."""

from qafd.sql.draft import MOST, Doubt, DraftDoubt, SqlDraft
from qafd.wording import say

_DOUBTS = {
    Doubt.UNJOINED: "{name} is not joined: no key leads to it.",
    Doubt.COUNTED_TWICE:
        "A row can count several times where several rows are joined to it.",
    Doubt.NEGATION: "“{name}” is not understood: the draft asks for what is there, not for what is "
                    "missing.",
    Doubt.OTHER_COLUMN: "“{name}” is also a value of {column}."}
_TOTALS = {"SUM": "adds up {column}", "AVG": "averages {column}",
           "COUNT": "counts different values of {column}"}


def describe_draft(draft: SqlDraft) -> str:
    """What a draft does, in one line."""
    selection = draft.selection
    shown = [column.label for column in selection.shown]
    if not selection.total:
        words = [say("lists {columns}", columns=", ".join(shown) or "*")]
    elif selection.of is None:
        words = [say("counts rows of {table}", table=selection.focus)]
    else:
        words = [say(_TOTALS[selection.total], column=selection.of.label)]
    if len(draft.tables) > 1:
        words.append(say("joined with {tables}", tables=", ".join(draft.tables[1:])))
    if draft.conditions:
        conditions = " AND ".join(condition.sql for condition in draft.conditions)
        words.append(say("where {conditions}", conditions=conditions))
    if selection.groups and shown:
        words.append(say("for each {column}", column=shown[0]))
    if selection.limit:
        by = selection.order.label if selection.order else say("that number")
        kept = (say("and keeps the {count} largest by {column}", count=selection.limit, column=by)
                if selection.descending else
                say("and keeps the {count} smallest by {column}", count=selection.limit, column=by))
        words.append(kept)
    elif not selection.total:
        words.append(say("at most {count} rows", count=MOST))
    return ", ".join(words)


def word_doubt(doubt: DraftDoubt) -> str:
    """What may make a draft wrong, as a sentence."""
    return say(_DOUBTS[doubt.kind], name=doubt.name, column=doubt.column)
