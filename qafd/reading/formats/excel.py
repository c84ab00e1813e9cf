"""Excel workbooks through openpyxl: sheets are headings, and cells are read as they are shown."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from qafd.reading.formats.draft import DocumentDraft, too_much
from qafd.reading.formats.grid import WIDEST, TableCell, TableGrid
from qafd.reading.formats.packages import Package

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^>]*\bref=\"([A-Z]{1,3}\d{1,7}):([A-Z]{1,3}\d{1,7})\"")
_UNCOMPUTED = re.compile(  # a formula at the end of its cell, without a value
    rb"</?(?:\w+:)?f(?:\s[^<>]*)?/?>(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?</(?:\w+:)?c>")
_NUMBER = re.compile(r"(?:#,##)?0(?:\.(0{1,15}))?(%)?")
_TALLEST = 10_000  # rows of a merged cell

Spans = Mapping[tuple[int, int], tuple[int, int, int]]
"""Row and column of a merged cell in each row it covers, to its origin's row and column, and its width."""


def read_workbook(package: Package) -> DocumentDraft:
    """Read the visible sheets of a workbook; formulas are their last values."""
    draft = DocumentDraft("xlsx", package.limits)
    for title, tables in groupby(_sheets_of(package, draft), key=itemgetter(0)):
        draft.head(title)
        for _, rows in tables:
            draft.table(rows)
    draft.skip("comment", package.count(r"xl/(?:comments/)?comments?\d*\.xml", b"<comment "))
    draft.skip("chart", package.count(r"xl/charts/chart\d*\.xml"))
    draft.skip("picture", package.count(r"xl/media/.*"))
    return draft


def sheet_grids(package: Package) -> Iterator[tuple[str, TableGrid]]:
    """Yield each table of the visible sheets under the title of its sheet."""
    for title, rows in _sheets_of(package, DocumentDraft("xlsx", package.limits)):
        yield title, TableGrid(rows)


def _sheets_of(package: Package, draft: DocumentDraft
               ) -> Iterator[tuple[str, list[list[TableCell | str]]]]:
    """Yield the title of each visible sheet with the rows of a table in it; what is left out is counted.

    Sheets are streamed, as whole workbooks take fifty times their size in memory. openpyxl then
    gives no merged cells, comments or formulas, so these are found in the parts themselves.
    """
    from openpyxl.reader.excel import load_workbook

    book = load_workbook(package.repack(), read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            draft.skip("hidden sheet")
            continue
        part = sheet._worksheet_path  # nothing public names it
        source = package.read(part) if part in package else b""
        draft.skip("formula without a value", len(_UNCOMPUTED.findall(source)))
        for rows in _tables_in(_rows_of(sheet, _spans_of(source), package.limits.text_characters)):
            yield sheet.title, rows


def _tables_in(rows: Iterable[list[TableCell | str]]) -> Iterator[list[list[TableCell | str]]]:
    """Yield the tables of a sheet: behind an empty row another one begins if it has other columns."""
    table: list[list[TableCell | str]] = []
    for filled, group in groupby(rows, key=bool):
        block = list(group)
        if not filled:
            continue
        if table and _is_other(block, table):
            yield table
            table = []
        table += block
    if table:
        yield table


def _is_other(block: list[list[TableCell | str]], table: list[list[TableCell | str]]) -> bool:
    """Return True if rows have other columns than a table: a header or a title of their own, or one cell."""
    if max(map(len, block)) == max(map(len, table)):
        return False
    grid = TableGrid(block)
    return bool(grid.names or grid.above) or len(block) == len(block[0]) == 1


def _rows_of(sheet: Any, spans: Spans, most: int) -> Iterator[list[TableCell | str]]:
    """Yield the rows of a sheet, from the first column on; one that holds nothing is empty."""
    sheet.reset_dimensions()
    origins: dict[tuple[int, int], str] = {}
    merged = {row for row, _ in spans}
    count = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        texts = [show_value(cell.value, cell.number_format) for cell in row]
        count += len(texts) + 1
        while texts and not texts[-1]:
            texts.pop()
        if len(texts) > WIDEST:
            raise too_much(WIDEST, "columns in a sheet")
        if count > most:
            raise too_much(most, "cells")
        cells: list[TableCell | str] = [*texts]
        if number in merged:
            cells = _merge(number, texts, spans, origins)
        filled = any(cell if isinstance(cell, str) else cell.text for cell in cells)
        yield cells if filled else []


def _merge(number: int, texts: Sequence[str], spans: Spans, origins: dict[tuple[int, int], str]
           ) -> list[TableCell | str]:
    """Return the cells of a row, merged ones with the text of their origin, which is kept in `origins`."""
    cells: list[TableCell | str] = []
    column = 1
    while column <= len(texts):
        top, left, width = spans.get((number, column), (number, column, 1))
        if top == number:
            origins[top, left] = texts[column - 1]
        cells.append(TableCell(origins.get((top, left), ""), width))
        column += width
    return cells


def _spans_of(source: bytes) -> Spans:
    """Return the merged cells in the part of a sheet, by each row that they cover."""
    from openpyxl.utils.cell import coordinate_to_tuple

    spans: dict[tuple[int, int], tuple[int, int, int]] = {}
    for first, last in _MERGED.findall(source):
        top, left = coordinate_to_tuple(first.decode())
        bottom, right = coordinate_to_tuple(last.decode())
        for row in range(top, min(bottom, top + _TALLEST) + 1):
            spans[row, left] = top, left, max(1, right - left + 1)
    return spans


def show_value(value: Any, form: str) -> str:
    """Return a value as a sheet shows it in a number format; dates and times as in ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.time() == time():
            return value.date().isoformat()
        return value.isoformat(" ", "seconds" if value.second else "minutes")
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes = round(value.total_seconds() / 60)
        return f"{minutes // 60}:{minutes % 60:02}"
    if isinstance(value, (int, float)):
        return _show_number(value, form)
    return " ".join(str(value).split())


def _show_number(value: float, form: str) -> str:
    found = _NUMBER.fullmatch(form)
    if found is None or not (found[1] or found[2] or "," in form):
        return f"{value:.15g}" if isinstance(value, float) else str(value)
    group = "," if "," in form else ""
    return f"{100 * value if found[2] else value:{group}.{len(found[1] or '')}f}{found[2] or ''}"
