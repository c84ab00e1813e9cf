"""Files of every kind by a writer that knows what it wrote: each value comes back under its own name."""

import csv
import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pptx.util import Inches

from qafd.reading.formats import Limits, read
from qafd.reading.formats.draft import DocumentDraft

LETTERS = st.text("abcdeéßøŁж", min_size=1, max_size=6)
NAMES = st.lists(LETTERS.map(str.capitalize), min_size=3, max_size=5, unique_by=str.casefold)
SIGNS = st.sampled_from(["", "&", " - ", "*", "_", "#", "<b>", "[x]", "1.", "|", "`", ": ", "=", "'", ".."])
VALUES = st.builds(lambda left, sign, right: f"{left}{sign}{right}", LETTERS, SIGNS, LETTERS)

Written = Callable[[Sequence[str], Sequence[Sequence[tuple[str, int]]]], bytes]
"""Column names, and rows of (value, columns it spans), as a file."""


def read_one(name: str, data: bytes) -> tuple[DocumentDraft, list[str]]:
    (draft,), notices = read(name, data, Limits())
    return draft, notices


def saved(file: Any) -> bytes:
    stream = io.BytesIO()
    file.save(stream)
    return stream.getvalue()


def html(names: Sequence[str], rows: Sequence[Sequence[tuple[str, int]]]) -> bytes:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for row in rows:
        cells = (f'<td colspan="{span}">{escape(value)}</td>' for value, span in row)
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<html><body><table><tr>{head}</tr>{body}</table></body></html>".encode()


def word(names: Sequence[str], rows: Sequence[Sequence[tuple[str, int]]]) -> bytes:
    document = docx.Document()
    table = document.add_table(1 + len(rows), len(names))
    for cell, name in zip(table.rows[0].cells, names, strict=True):
        cell.text = name
    for number, row in enumerate(rows, 1):
        column = 0
        for value, span in row:
            cell = table.cell(number, column)
            if span > 1:
                cell = cell.merge(table.cell(number, column + span - 1))
            cell.text = value
            column += span
    return saved(document)


def slides(names: Sequence[str], rows: Sequence[Sequence[tuple[str, int]]]) -> bytes:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    table = slide.shapes.add_table(1 + len(rows), len(names), 0, 0, Inches(5), Inches(5)).table
    for column, name in enumerate(names):
        table.cell(0, column).text = name
    for number, row in enumerate(rows, 1):
        column = 0
        for value, span in row:
            if span > 1:
                table.cell(number, column).merge(table.cell(number, column + span - 1))
            table.cell(number, column).text = value
            column += span
    return saved(show)


def sheet(names: Sequence[str], rows: Sequence[Sequence[tuple[str, int]]]) -> bytes:
    book = openpyxl.Workbook()
    page = book.active
    page.append(list(names))
    for number, row in enumerate(rows, 2):
        column = 1
        for value, span in row:
            cell = page.cell(number, column, value)
            cell.data_type = "s"
            if span > 1:
                page.merge_cells(start_row=number, end_row=number, start_column=column,
                                 end_column=column + span - 1)
            column += span
    return saved(book)


def separated(names: Sequence[str], rows: Sequence[Sequence[tuple[str, int]]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *map(spread, rows)])
    return stream.getvalue().encode()


def spread(row: Sequence[tuple[str, int]]) -> list[str]:
    """The value in each column of a row."""
    return [value for value, span in row for _ in range(span)]


WRITERS: dict[str, Written] = {"html": html, "docx": word, "pptx": slides, "xlsx": sheet, "csv": separated}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[tuple[str, int]]]]:
    names = draw(NAMES)
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        row, left = [], len(names)
        while left:
            span = draw(st.integers(1, left if row else left - 1))  # no cell spans a whole row
            row.append((draw(VALUES), span))
            left -= span
        rows.append(row)
    return names, rows


@pytest.mark.parametrize("kind", WRITERS)
@given(tables())
@settings(max_examples=40, deadline=None)
@example((["Pump", "2022", "2023"], [[("HX40", 1), ("not sold", 2)]]))
def test_a_cell_is_read_under_the_name_of_each_column_it_spans(
        kind: str, table: tuple[list[str], list[list[tuple[str, int]]]]) -> None:
    names, rows = table
    draft, _ = read_one(f"x.{kind}", WRITERS[kind](names, rows))
    read_rows = [dict(line.split(": ", 1) for line in row.split("\n"))
                 for row in draft.text.split("\n\n") if ": " in row]
    expected = []
    for row in rows:
        values = [" ".join(value.split()) for value in spread(row)]
        expected.append(dict(zip(names, values, strict=True)))
    assert read_rows == expected
