"""Lines: breaks that a writer made or only the width of the page, rows of tables, items of lists."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from qafd.reading.text.plaintext import COLUMN
from qafd.reading.text.scripts import is_unspaced

TYPED = range(55, 121)  # how long the lines are at which people and programs wrap a text
CARD_LINES, CARD_WIDTH = 4, 40  # lines of a card at most, and characters of each
NARROWEST = 28  # characters of wrapped lines at least, in columns of a page
_USUAL = 0.85  # of the width, from which a line counts as full

_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVX]+\.) +[A-ZÀ-ÖØ-Þ].*[^.,;:]$")  # a heading
_CLAUSE = re.compile(  # "2.3 The", "§ 4", "(a) the", "Article 7"
    r"\s*(?:§+ ?\d|\d{1,3}(?:\.\d{1,3})+\.? +\S|\((?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})\) +\S"
    r"|(?:Article|Art\.|Artikel|Section|Sec\.|Clause) \d)")
_ITEM = re.compile(r"\s*([•▪–*+-]|\(?\d+[.)]|[a-z]\))\s")
STAMP = r"(?:[\[(][^\[\]()\n]{0,20}\d:\d\d[^\[\]()\n]{0,12}[\])]|\d+[-./]\d+[-./]\d+[,T]? ?\d{1,2}:\d\d)"
"""A time of a chat or log: "[2 May 09:14]", "2025-05-02 09:14:30"."""
_STAMPED = re.compile(rf"\s*{STAMP}")
_LABEL = re.compile(r"\s*[^\W\d_](?:[^:\n.!?]|(?<!\w{4})\.){0,40}:(?:\s|$)")  # not the end of a sentence
_ENDED = re.compile(r"[.!?:;…][\"'”’»)\]]*(?: (?:and|or))?$|, (?:and|or)$")
_COLUMNS = re.compile(r"(?<=[^\s.!?:;\"'”’)])(?:  |\t)|\|")  # not what was typed after a sentence
_HYPHEN = re.compile(r"\w[-\u2010]$")


def width_of(lines: Iterable[str]) -> int:
    """Return the length that nine lines of ten have at most."""
    lengths = sorted(len(line) for line in lines if line.strip())
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def typed_width(lines: Iterable[str]) -> float:
    """Return the width that a file's lines are wrapped at; infinite where each is a whole paragraph."""
    width = width_of(lines)
    return width if width in TYPED else float("inf")


def fits(before: str, line: str, width: float) -> bool:
    """Return True if the first word of a line had place on the line before it.

    A writer breaks a line anywhere, a program only where the next word does not fit.
    """
    return len(before) + 1 + len(line.strip().split(" ", 1)[0]) < _USUAL * width


def unwrap(lines: Sequence[str], width: float) -> str:
    """Return lines with the breaks undone that only the width made, so that names stay whole.

    Headings, clauses and lines that no sentence ends become paragraphs of their own.
    """
    parts = list(lines[:1])
    for before, line, after in zip(lines, lines[1:], [*lines[2:], ""], strict=False):
        gap = gap_between(before, line, width)
        if gap == " " and has_ended(before) and is_title(line, after, width):
            gap = "\n\n"
        if not gap:
            parts[-1] = _without_hyphen(parts[-1], line)
        parts += [gap, line if "\n" in gap else line.lstrip()]
    return "".join(parts)


def _without_hyphen(before: str, line: str) -> str:
    """Return a line without a hyphen at its end that only parts a word in small letters."""
    parted = re.search(r"[^\W\d_][-\u2010]$", before) and line.strip()[:1].islower()
    return before[:-1] if parted else before


def join_lines(lines: Iterable[str]) -> str:
    """Return the lines of a cell as one line, with the words whole that a hyphen parts."""
    text = ""
    for line in (" ".join(line.split()) for line in lines):
        whole = _HYPHEN.search(text) and line[:1].isalnum()
        text = _without_hyphen(text, line) + line if whole else f"{text} {line}".strip()
    return text


def is_title(line: str, after: str, width: float) -> bool:
    """Return True if a short line that no sentence ends is above another one."""
    return (bool(after) and len(line) < 0.6 * width and line[-1:].isalnum()
            and line.strip()[:1].isupper() and fits(line, after, width))


def gap_between(before: str, line: str, width: float) -> str:
    """Return the gap between two lines: a blank, a line break, two between paragraphs, or nothing
    within a word."""
    if _is_unspaced_break(before, line):
        return "" if len(before) >= _USUAL * width else "\n"
    if _HYPHEN.search(before) and line.strip()[:1].isalnum() and width != float("inf"):
        return ""
    room = fits(before, line, width)
    if _begins_paragraph(before, line, width, room):
        return "\n\n"
    alone = width < NARROWEST or room or not line or has_columns(before)
    return "\n" if alone or is_field(line) or _is_item(line) else " "


def _is_unspaced_break(before: str, line: str) -> bool:
    """Return True if a line ends and the next one begins with letters of a script without spaces."""
    return (is_unspaced(before[-2:]) and is_unspaced(line[:2])
            and not any("\uac00" <= letter <= "\ud7a3" for letter in before[-1:] + line[:1]))


def _begins_paragraph(before: str, line: str, width: float, room: bool) -> bool:
    """Return True if a line is a clause, a heading or indented, or below a heading; `room` as by `fits`."""
    ended = has_ended(before)
    if ended and line[:1].isspace() and not before[:1].isspace() or _CLAUSE.match(line) and (room or ended):
        return True
    if len(line) < 0.6 * width and _NUMBERED.match(line):
        return True
    if is_field(line) and (is_field(before) or not (_NUMBERED.match(before) or before.isupper())):
        return False
    # A short line that no sentence ends is a heading, and never a part of the next one.
    return room and not _is_item(line) and before[-1:].isalnum() and line.strip()[:1].isupper()


def _is_item(line: str) -> bool:
    """Return True if a line is an item of a list, or a message of a chat or log."""
    return _ITEM.match(line) is not None or _STAMPED.match(line) is not None


def fresh_lines(text: str) -> Iterator[int]:
    """Find the lines that a writer began with a capital or a number, not after a comma.

    A few short lines without marks are one: a post and who holds it, a name and an address.
    """
    if is_unspaced(text):
        return
    lines = text.split("\n")
    if _is_card(lines):
        return
    width = typed_width(lines)
    start = 0
    for before, line in pairwise(lines):
        start += len(before) + 1
        body = line.lstrip(" \t\"'“‘«([")
        begins = body[:1].isdigit() or body[:1].isupper()
        if begins and not before.endswith(",") and fits(before, line, width):
            yield start + len(line) - len(line.lstrip())


def _is_card(lines: Sequence[str]) -> bool:
    """Return True for a few short lines that begin with letters and that no mark ends."""
    return len(lines) <= CARD_LINES and all(
        len(line) <= CARD_WIDTH and line[:1].isupper() and line[-1:].isalnum() for line in lines)


def is_field(line: str) -> bool:
    """Return True if a line is one of a list of fields: "Phone: 12"."""
    return _LABEL.match(line) is not None


def has_ended(line: str) -> bool:
    """Return True if a line ends with a mark that ends a sentence or a clause."""
    return _ENDED.search(line) is not None


def has_columns(line: str) -> bool:
    """Return True if there are gaps or bars in a line, as in a table."""
    return _COLUMNS.search(line.strip()) is not None


ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?=\S)")
"""The beginning of an item of a list."""
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
    """Find the lines that are sentences: items, messages of a chat, fields, and lines with a capital
    first.

    The lines of a table's row are not.
    """
    starts: set[int] = set()
    offset = 0
    for paragraph in text.split("\n\n"):
        if not is_quoted_whole(paragraph):
            starts.update(offset + line.start(1) for line in _LINE.finditer(paragraph))
            starts.update(offset + at for at in fresh_lines(paragraph))
        offset += len(paragraph) + 2
    return starts


def opens_sentence(text: str, start: int, end: int) -> bool:
    """Return True if the paragraph `text[start:end]` is a code, perhaps with its name, above prose.

    The first sentence of that prose is unclear without this heading.
    """
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


def is_quoted_whole(text: str) -> bool:
    """Return True if a paragraph is quoted as one sentence.

    It is the row of a table, or a list of items without final marks and the line that opens it.
    """
    if is_quotable_row(text):
        return True
    first, *items = text.strip().split("\n")
    opened = first.endswith(":") and bool(items) and len(text) <= QUOTED
    return opened and all(ITEM.match(item) and not has_ended(item) for item in items)


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
