"""Tables and downloads as every page has them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from qafd.export import cell
from qafd.export.formats import ExportFormat
from qafd.view.panel import clean

LONGEST = 1000  # characters of a cell
SHARE_BAR = st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)
Columns = Mapping[str, Iterable[Any]]


def table(columns: Columns, *, formats: Mapping[str, str] | None = None,
          meanings: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Draw a table by its columns, and return the value of `st.dataframe`.

    Its reader can save it as CSV, so no text can be run as a formula by a spreadsheet.

    Parameters
    ----------
    columns : mapping of str to values
        The cells of each column by its name; texts are shown as one line.
    formats : mapping of str to str
        Formats of the numbers of a column.
    meanings : mapping of str to str
        Explanations of columns, shown as help.
    options
        Of `st.dataframe`.
    """
    formats, meanings = formats or {}, meanings or {}
    config = dict(options.pop("column_config", {}))
    for name in columns:
        meaning = meanings.get(name)
        if name in formats:
            config[name] = st.column_config.NumberColumn(help=meaning, format=formats[name])
        elif meaning:
            config[name] = st.column_config.Column(help=meaning)
    cells = {cell(name): _clean_cells(values) for name, values in columns.items()}
    options.setdefault("placeholder", "")
    return st.dataframe(cells, hide_index=True, column_config=config, **options)


def _clean_cells(values: Iterable[Any]) -> list[Any]:
    """Cut long texts, remove characters that would hide or turn others, and quote formulas."""
    return [cell(clean(value, LONGEST)) if isinstance(value, str) else value for value in values]


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Turn rows of cells into columns."""
    cells, columns = [list(row) for row in rows], {}
    for at, name in enumerate(names):
        columns[name] = [row[at] for row in cells]
    return columns


def download(label: str, content: Callable[[], str | bytes], file: str, mime: str = "text/csv",
             **options: Any) -> None:
    """Draw a button that makes a file when it is pressed, without a rerun."""
    st.download_button(label, content, file, mime, on_click="ignore", icon=":material/download:",
                       **options)


def format_button(form: ExportFormat[Any], write: Callable[[], str | bytes], file: str = "") -> None:
    """Draw a button for a file of a format, if there is one."""
    if form.label:
        download(form.label, write, file or form.file, form.mime,
                 help=form.meaning if form.meaning else None)
