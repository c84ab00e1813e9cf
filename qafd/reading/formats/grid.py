"""Tables of all formats as one grid: cells fill what they span, headers name the columns of rows."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from qafd.reading.text.plaintext import COLUMN, one_line

WIDEST = 500  # columns of a table
FOOTER = 3  # words of a line below a table at least

_NUMBER = re.compile(r"\d")
_AMOUNT = re.compile(r"[-+\d.,%\s]+")
_PERIOD = re.compile(
    r"(?:FY ?|Q[1-4] |H[12] )?(?:19|20)\d\d(?:[/\u2013-]\d{2,4})?(?: ?[A-Z]| [A-Za-z]{3,9})?")


@dataclass(frozen=True)
class TableCell:
    """A cell of a table and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1


class _Place(NamedTuple):
    text: str
    goes_on: bool = False  # whether the place to the left has the same cell


_EMPTY = _Place("")


class TableGrid:
    """A table in which every place has the text of the cell that covers it.

    Parameters
    ----------
    rows : sequence of sequence of TableCell or str
        The cells that begin in each row, from the left.
    heads : int or None
        Rows at the top that name columns; None where the format does not say, so that the rows
        themselves tell.

    Attributes
    ----------
    above : list of str
        Lines that stand above the header and are text.
    names : list of str
        The column names, empty where there is no header. The first may be "": its value names the row.
    body : list of list of str
        The rows below the header, as wide as `names`.
    groups : list of str
        For each row of the body the text of the row across all columns above it, or "".
    below : str
        The text of a row across all columns at the end, or of a line in the first one alone.
    heads : int
        The number of rows that name columns, 0 where there is no header.
    """

    def __init__(self, rows: Sequence[Sequence[TableCell | str]], heads: int | None = None) -> None:
        places = list(_fill(rows))
        widths = list(map(_width, places))
        width = max(widths, default=0)
        heads = heads if heads is None else sum(map(bool, widths[:heads]))
        places = [(row + [_EMPTY] * width)[:width] for row in places if _width(row)]
        above = _count_above(places, bool(heads))
        self.above = [": ".join(_distinct(row)) for row in places[:above]]
        places = places[above:]
        heads = _guess_heads(places) if heads is None else max(0, heads - above)
        self.names = _join_heads(places[:heads]) if 0 < heads < len(places) and width > 1 else []
        self.heads = heads if self.names else 0
        self.body: list[list[str]] = []
        self.groups: list[str] = []
        self.below = ""
        self._read_body(places[self.heads:])
        self.above += self._find_notes(places[0] if self.names else [])
        self._cells = [_distinct(row) for row in places]

    def _find_notes(self, header: Sequence[_Place]) -> Iterator[str]:
        """Yield the texts beside a header, behind a column without any and without a value below them."""
        filled = [any(column) for column in zip(*self.body, strict=True)]
        for column in range(2, len(header)):
            if header[column].text and not (header[column - 1].text or any(filled[column - 1:column + 1])):
                yield header[column].text

    def _read_body(self, places: Sequence[Sequence[_Place]]) -> None:
        """Take in the rows below the header; one across all columns names the group of those below it."""
        group = ""
        rows: list[Sequence[_Place]] = [(), *places]
        for before, row in pairwise(rows):
            if not self.names or not _is_across(row):
                self.body.append([place.text for place in row])
                self.groups.append(group)
            elif before and _is_across(before):
                group = f"{group}: {row[0].text}"
            else:
                group = row[0].text
        if self.names and places and _is_across(places[-1]):
            self.below = group
        elif self.names and len(self.body) > 1 and _is_footer(self.body):
            self.below = self.body.pop()[0]
            self.groups.pop()

    def as_rows(self) -> tuple[list[str], list[list[str]]]:
        """Return a name for each column, and the rows; groups are a column of their own.

        The first row names the columns if it can, also where its text alone would not tell.
        """
        names, rows, groups = self.names, self.body, self.groups
        if rows and not names and names_columns(rows[0], rows[1:]):
            names, rows, groups = rows[0], rows[1:], groups[1:]
        width = max(map(len, rows), default=0)
        named = [name or f"column {number}" for number, name in enumerate(names or [""] * width, 1)]
        if not any(groups):
            return named, rows
        return ["group", *named], [[group, *row] for group, row in zip(groups, rows, strict=True)]

    def paragraphs(self) -> Iterator[str]:
        """Yield the text of the table: lines above it, then a paragraph for each row.

        Rows are "column: value" lines where columns have names. Two columns without names are
        themselves such lines. Any other row is one line of its cells.
        """
        yield from self.above
        if self.names:
            for group, row in zip(self.groups, self.body, strict=True):
                yield row_text(["", *self.names], [group, *row]) if group else row_text(self.names, row)
            if self.below:
                yield self.below
        elif all(len(row) == 2 and _is_name(row[0]) for row in self._cells):
            yield "\n".join(map(": ".join, self._cells))
        elif self._cells:
            yield "\n".join(map(" | ".join, self._cells))


def row_text(names: Sequence[str], row: Sequence[str]) -> str:
    """Return a row of a table as "column: value" lines, or the value alone in a column without a name.

    A row of one value and one named value is a single line, "Weight (HX40): 29 kg", as two would
    read as a heading and a label.
    """
    cells = [(name, cell) for name, cell in zip(names, row, strict=False) if cell]
    if len(cells) == 2 and not cells[0][0] and cells[1][0]:
        (_, label), (name, value) = cells
        return f"{label} ({name}): {value}"
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in cells)


def names_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the cells of a row can name the columns of the rows below it.

    A number names no column, but a year, a quarter or such does if there is none below it.
    """
    filled = [name for name in header if name]
    if 2 * len(filled) < len(header) or 2 * len(set(filled)) < len(filled):
        return False
    for i, name in enumerate(header):
        column = [row[i] for row in rows if len(row) > i]
        if name and _AMOUNT.fullmatch(name) and not _names_periods(name, column):
            return False
    return True


def _fill(rows: Sequence[Sequence[TableCell | str]]) -> Iterator[list[_Place]]:
    """Yield the places of each row, with those that cells of rows above reach into."""
    reaching: dict[int, tuple[int, _Place]] = {}  # by column the last row and the place of its cell
    for number, cells in enumerate(rows):
        reaching = {column: found for column, found in reaching.items() if found[0] >= number}
        if not reaching and all(isinstance(cell, str) for cell in cells):
            yield [_Place(str(cell)) for cell in cells[:WIDEST]]
            continue
        row = {column: place for column, (_, place) in reaching.items()}
        column = 0
        for cell in cells:
            wide = cell if isinstance(cell, TableCell) else TableCell(cell)
            while column in row:
                column += 1
            end = min(column + max(wide.columns, 1), WIDEST)
            places = [_Place(wide.text), *[_Place(wide.text, True)] * (end - column - 1)]
            row |= zip(range(column, end), places, strict=False)
            if wide.rows > 1:
                last = number + wide.rows - 1
                reaching |= {at: (last, row[at]) for at in range(column, end)}
            column = end
        yield [row.get(column, _EMPTY) for column in range(max(row, default=-1) + 1)]


def _width(row: Sequence[_Place]) -> int:
    """Return the number of places up to the last one with a text."""
    if row and row[-1].text:
        return len(row)
    return next((at for at in range(len(row), 0, -1) if row[at - 1].text), 0)


def _distinct(row: Sequence[_Place]) -> list[str]:
    return [place.text for place in row if place.text and not place.goes_on]


def _is_across(row: Sequence[_Place]) -> bool:
    """Return True if one cell fills a row of several columns."""
    return len(row) > 1 and row[-1].goes_on and bool(row[0].text) and all(place.goes_on for place in row[1:])


def _is_footer(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the last row is words in its first cell alone, as no other row is."""
    first, *others = rows[-1]
    alone = len(first.split()) >= FOOTER and not any(others)
    return alone and all(any(row[1:]) for row in rows[:-1])


def _count_above(places: Sequence[Sequence[_Place]], headed: bool) -> int:
    """Return the number of rows at the top that are text: one cell, or few, above a row of many."""
    for count, (row, below) in enumerate(pairwise(places)):
        filled = sum(1 for place in row if place.text)
        few = not headed and row[0].text and 2 * filled <= len(row)
        if not (_is_across(row) or few) or sum(1 for place in below if place.text) < filled:
            return count
    return 0  # no row has many


def _guess_heads(places: Sequence[Sequence[_Place]]) -> int:
    """Return the number of top rows that name columns: 0, 1, or 2 where cells of the first span some."""
    heads = 1 + any(place.goes_on for place in (places[0] if places else ()))
    below = [[place.text for place in row] for row in places[heads:]]
    if not below:
        return 0
    names = [place.text for place in places[heads - 1]]
    columns = list(zip(*below, strict=True))
    named = all(_is_name(name) or _names_periods(name, column)
                for name, column in zip(names, columns, strict=True) if name)
    telling = len(names) > 2 or any(all(map(_NUMBER.search, column)) or not any(column) for column in columns)
    return heads if named and telling and names_columns(names, below) else 0


def _join_heads(heads: Sequence[Sequence[_Place]]) -> list[str]:
    """Return one name for each column: join those above one another, number repeated ones, count empty
    ones."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for column, cells in enumerate(zip(*heads, strict=True)):
        parts = dict.fromkeys(cell.text for cell in cells if cell.text)
        name = one_line(" ".join(parts).rstrip(": ").replace(": ", " "), COLUMN)
        if not name and column:
            name = f"column {column + 1}"
        seen[name] += 1
        names.append(f"{name} {seen[name]}" if name and seen[name] > 1 else name)
    return names


def _is_name(cell: str) -> bool:
    return bool(cell) and len(cell) <= COLUMN and ":" not in cell and not re.match(r"[\W\d]", cell)


def _names_periods(name: str, column: Sequence[str]) -> bool:
    """Return True if a year or a quarter ("2023", "2022/23") names a column that has none."""
    return _PERIOD.fullmatch(name) is not None and not any(map(_PERIOD.fullmatch, column))
