"""The rows of a statement over the chosen database, on the page."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from qafd.app.escaping import escape_sentence
from qafd.app.session import remember
from qafd.app.tables import columns_of, download_csv
from qafd.errors import QafdError
from qafd.sql import box
from qafd.sql.box import QueryRows
from qafd.sql.database import Database
from qafd.view.panel import clean
from qafd.wording import count


def rows_of(database: Database, sql: str, key: str) -> None:
    """Return the rows that a statement selects, or its error; `key` names their place on the page."""
    try:
        rows: QueryRows = remember(key, (database.source, changed_at(database), sql),
                                   lambda: box.run(Path(database.source), sql))
    except QafdError as error:
        st.error(escape_sentence(error), icon=":material/error:")
        return
    names = _distinct(rows.columns)
    st.dataframe(columns_of(names, rows.rows), hide_index=True, key=key)
    facts = [count(len(rows.rows), "row"),
             f"{rows.milliseconds:.1f} ms", rows.cut]
    st.caption(" · ".join(filter(None, facts)))
    download_csv("CSV", names, lambda: rows.rows, "result.csv", key=f"{key} as CSV")


def changed_at(database: Database) -> int:
    """Return the time of the last change of a database file, in nanoseconds."""
    return Path(database.source).stat().st_mtime_ns


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return names of columns on one line, numbered if one occurs again."""
    names: list[str] = []
    for column in columns:
        name = base = clean(column, 100) or "(no name)"
        number = 1
        while name in names:
            name, number = f"{base} ({number})", number + 1
        names.append(name)
    return names
