"""Lines of a text that are no prose: rows of "column: value" lines, and items of lists."""

import re
from collections.abc import Iterator

from qafd.reading.text.lines import STAMP, fresh_lines
from qafd.reading.text.plaintext import COLUMN

ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?=\S)")
"""How an item of a list begins."""
_LINE = re.compile(  # an item, a stamp of a chat or log, or who speaks or what follows
    r"(?m)^[ \t>]*((?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?=\S)|\[[^\[\]\n]{4,30}\][ \t]"
    rf"|{STAMP}"
    r"|\(?\d{1,2}:\d{2}(?::\d{2})?\)?[ \t]|[^\W\d_][^:\n]{0,40}:(?:[ \t]|$))")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022][ \t]+(?=\S))?")
_CODE = re.compile(  # "E27: Pump blocked", "ORA-00942", "0x8007": letters with a number, and a name
    r"(?:[A-Z]{1,6}[-_]?\d[\w.\-]*|0x[0-9A-Fa-f]+)\b(?:[^\n]{0,80}[^\s.,;!?])?")
QUOTED = 500  # characters of a row at most that is quoted as one sentence
_PROSE = re.compile(r"[.!?] +\S")
_COLUMN = re.compile(r"(?m)^[^:\n]+(?=: )")


def without_bullet(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a sentence without the blanks around it and the bullet in front of it."""
    body = _BULLET.sub("", text[start:end])
    return end - len(body), end - len(body) + len(body.rstrip())


def line_starts(text: str) -> set[int]:
    """Find the lines that are sentences of their own: items of lists, messages of a chat, fields, and
    lines that begin with a capital; not the lines of a table's row."""
    starts: set[int] = set()
    offset = 0
    for paragraph in text.split("\n\n"):
        if not is_quotable_row(paragraph):
            starts.update(offset + line.start(1) for line in _LINE.finditer(paragraph))
            starts.update(offset + at for at in fresh_lines(paragraph))
        offset += len(paragraph) + 2
    return starts


def opens_sentence(text: str, start: int, end: int) -> bool:
    """Return True if the paragraph `text[start:end]` is a code, perhaps with its name, as a heading above
    prose, whose first sentence is unclear without it."""
    if not _CODE.fullmatch(text[start:end].strip()):
        return False
    below = text[end:].lstrip("\n").partition("\n\n")[0]
    return bool(below) and not is_row(below) and not ITEM.match(below) and not _CODE.fullmatch(below)


def is_table(text: str) -> bool:
    """Return True if a text is rows of "column: value" lines that can be quoted, parted by blank lines.

    A paragraph of several sentences after a label, as "Methods: ...", is no row.
    """
    rows = re.split(r"\n{2,}", text.strip())
    if len(rows) == 1:
        return is_quotable_row(text)
    return all(len(row) <= QUOTED and _has_columns(row) and ("\n" in row or not _PROSE.search(row))
               for row in rows)


def is_quotable_row(text: str) -> bool:
    """Return True if a paragraph is a row of a table that can be quoted as one sentence; an abstract with
    "Methods:" and "Results:" at the beginning of lines is not."""
    return len(text) <= QUOTED and is_row(text)


def is_row(text: str) -> bool:
    """Return True if a paragraph is the row of a table: two "column: value" lines or more."""
    row = text.strip()
    return "\n" in row and _has_columns(row)


def column_names(text: str) -> set[int]:
    """Return the offsets of the column names in a row of a table."""
    offsets: set[int] = set()
    if is_row(text):
        for name in _COLUMN.finditer(text):
            offsets.update(range(*name.span()))
    return offsets


def row_cells(text: str) -> list[tuple[str, str]]:
    """Return the columns and values in a row of a table, none for any other text."""
    if not is_row(text):
        return []
    cells = (line.rpartition(": ") if ": " not in line else line.partition(": ")
             for line in text.strip().split("\n"))
    return [(column, value) for column, _, value in cells]


def row_values(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each value in a row of a table with its column; several may have commas between them."""
    if is_row(text):
        for line in re.finditer(r"(?m)^(?:([^:\n]+): )?(.+)$", text):
            for value in re.finditer(r"[^\s,;][^,;]*", line[2]):
                yield line[1] or "", line.start(2) + value.start(), line.start(2) + value.end()


def _has_columns(row: str) -> bool:
    """Return True if each line of a paragraph is "column: value", no column twice; items of a list are not.

    A table whose first column has no name begins its rows with a value alone.
    """
    lines = row.split("\n")
    if ": " not in lines[0] and len(lines) > 2 and len(lines[0]) <= COLUMN:
        lines = lines[1:]
    columns = set()
    for line in lines:
        column, _, value = line.partition(": ")
        if not 0 < len(column) <= COLUMN or ":" in column or not value.strip() or ITEM.match(line):
            return False
        columns.add(column)
    return len(columns) == len(lines)
