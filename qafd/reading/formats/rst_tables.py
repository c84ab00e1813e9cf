"""The tables of reStructuredText as rows of cells: grid and simple ones, list-table and csv-table."""

import csv
import re
from collections.abc import Sequence
from itertools import pairwise

GRID = re.compile(r"\+(?:[-=]+\+)+")
SIMPLE = re.compile(r"=+(?: +=+)+")
_ROW = re.compile(r"\* +(?=-(?: |$))")
_CELL = re.compile(r"-(?: +|$)")
_OPTION = re.compile(r":([\w-]+):(?: +(.*))?")

Cells = list[list[str]]


def read_drawn(lines: Sequence[str]) -> tuple[Cells, bool]:
    """The rows of a table drawn with borders, and whether the first one has the names of columns.

    A cell that spans columns has its text in the first of them.
    """
    border = lines[0]
    if GRID.fullmatch(border):
        marks = [at for at, mark in enumerate(border) if mark == "+"]
        spans = [slice(start + 1, end) for start, end in pairwise(marks)]
        return _rows_of_grid(lines, spans), any("=" in line and GRID.fullmatch(line) for line in lines[1:])
    starts = [found.start() for found in re.finditer("=+", border)]
    spans = [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    borders = sum(SIMPLE.fullmatch(line) is not None for line in lines)
    return _rows_of_simple(lines, spans), borders > 2


def _rows_of_grid(lines: Sequence[str], spans: Sequence[slice]) -> Cells:
    rows: Cells = []
    row = [""] * len(spans)
    for line in lines[1:]:
        if line.startswith("+"):
            rows += [row] if any(row) else []
            row = [""] * len(spans)
        else:
            _extend(row, [line[span].strip("| ") for span in spans])
    return rows


def _rows_of_simple(lines: Sequence[str], spans: Sequence[slice]) -> Cells:
    """A line without a first cell goes on with the row before it."""
    rows: Cells = []
    for line in lines:
        if SIMPLE.fullmatch(line) or not line.strip("- "):
            continue
        cells = [line[span].strip() for span in spans]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            _extend(rows[-1], cells)
    return rows


def _extend(row: list[str], cells: Sequence[str]) -> None:
    for at, cell in enumerate(cells):
        row[at] = f"{row[at]} {cell}".strip()


def read_listed(lines: Sequence[str]) -> tuple[Cells, bool]:
    """The rows of a list-table: items "* - first" with an item "- next" for each other cell."""
    options, body = _options_of(lines)
    rows: Cells = []
    for line in body:
        text = line.strip()
        opens = _ROW.match(text)
        if opens:
            rows.append([])
            text = text[opens.end():]
        cell = _CELL.match(text)
        if cell and rows:
            rows[-1].append(text[cell.end():])
        elif rows and rows[-1]:
            rows[-1][-1] = f"{rows[-1][-1]} {text}".strip()
    return rows, options.get("header-rows", "0") != "0"


def read_separated(lines: Sequence[str]) -> tuple[Cells, bool]:
    """The rows of a csv-table."""
    options, body = _options_of(lines)
    header = options.get("header", "")
    text = [line.strip() for line in ([header] if header else []) + body]
    delimiter = {"tab": "\t", "space": " "}.get(options.get("delim", ""), options.get("delim", ","))
    try:
        rows = [list(map(str.strip, row)) for row in csv.reader(
            filter(None, text), delimiter=delimiter[:1] or ",", skipinitialspace=True)]
    except csv.Error:  # no table after all
        rows = [[line] for line in text]
    return rows, bool(header) or options.get("header-rows", "0") != "0"


def _options_of(lines: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The options at the beginning of a directive, and the lines after them."""
    options: dict[str, str] = {}
    rest = [line for line in lines if line.strip()]
    while rest and (option := _OPTION.fullmatch(rest[0].strip())):
        options[option[1]] = option[2] or ""
        rest = rest[1:]
    return options, rest
