"""The layout of a PDF page: ruled tables, columns that were drawn row by row, and values of form fields."""

import ctypes
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from qafd.reading.formats.grid import TableCell, TableGrid
from qafd.reading.text.lines import join_lines

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_PIECES = 5_000  # of text on a page; one with more is a drawing
_LINES = 400  # of tables on a page
_THIN, _NEAR = 3.0, 4.0  # points: the width of a line, and the distance at which two lines touch
_GUTTER = 8.0  # points between two columns at least
_SPACE = 0.5  # of the height of a letter, between words of a line without spaces
_TOUCHING = 0.2  # of the height of a line, between two pieces of a word that a kerned letter parts
_ROWS = 4  # of two columns at least
_PROSE = 20  # characters of a line in a column of prose at least
_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # letters from right to left
_LEFT = re.compile(r"[^\W_\u0590-\u08ff]+(?:[ .,:/%+-]+[^\W_\u0590-\u08ff]+)*")  # between these
_MIRRORED = str.maketrans("()[]", ")(][")
GLYPHS = {0xFB00 + i: s for i, s in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}
GLYPHS |= {0x02: "-", 0xFFFE: "-"}  # what PDFium has for a hyphen at the end of a line
TABLE = "\x10"  # around the number of a table in the text of its page; no text has it

Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""


class RightToLeft:
    """The text of a page in letters from right to left, as one reads it.

    It has the methods of PDFium's page that are needed here, in a mirrored page of the same `width`: what is
    read first is on the left. PDFium itself returns parts of such words in the order in which they
    are drawn.
    """

    def __init__(self, text: "PdfTextPage", width: float) -> None:
        from pypdfium2 import raw

        self._width = width
        lines: dict[int, list[tuple[float, bool, int, str]]] = defaultdict(list)
        x, y = ctypes.c_double(), ctypes.c_double()
        for place in range(text.count_chars()):
            letter = chr(raw.FPDFText_GetUnicode(text, place))
            if letter.isprintable():
                raw.FPDFText_GetCharOrigin(text, place, x, y)
                lines[round(y.value)].append((-x.value, letter != " ", -place, letter))
        self._pieces: list[tuple[int, list[tuple[str, Box]]]] = []
        for baseline in sorted(lines, reverse=True):
            spaced = any(letter == " " for *_, letter in lines[baseline])
            end = -math.inf
            for _, is_letter, place, letter in sorted(lines[baseline]):
                box = self.mirror(text.get_charbox(-place))
                if is_letter and box[0] - end >= _GUTTER:
                    self._pieces.append((baseline, []))
                elif is_letter and not spaced and box[0] - end > _SPACE * (box[3] - box[1]):
                    self._pieces[-1][1].append((" ", box))
                if is_letter or end > -math.inf:
                    self._pieces[-1][1].append((letter, box))
                end = max(end, box[2]) if is_letter else end

    def mirror(self, box: Box) -> Box:
        """Return a box of the page in the mirrored one."""
        return self._width - box[2], box[1], self._width - box[0], box[3]

    @staticmethod
    def fits(plain: str) -> bool:
        """Return True if a third of the letters of a text go from right to left."""
        return 3 * len(_RIGHT.findall(plain)) > sum(map(str.isalpha, plain)) > 0

    def count_rects(self) -> int:
        """Return the number of pieces of lines between wide gaps."""
        return len(self._pieces)

    def get_rect(self, number: int) -> Box:
        """Return the box of a piece."""
        lefts, bottoms, rights, tops = zip(*(box for _, box in self._pieces[number][1]), strict=True)
        return min(lefts), min(bottoms), max(rights), max(tops)

    def get_text_bounded(self, left: float = -math.inf, bottom: float = -math.inf,
                         right: float = math.inf, top: float = math.inf) -> str:
        """Return the letters whose middles are in a box."""
        found: dict[int, list[str]] = {}
        for baseline, letters in self._pieces:
            if bottom - 1 <= baseline <= top:
                found.setdefault(baseline, []).append("".join(
                    letter for letter, box in letters if left <= (box[0] + box[2]) / 2 <= right))
        text = _LEFT.sub(lambda run: run[0][::-1], "\n".join(map(" ".join, found.values())))
        opening = re.search(r"[()\[\]]", text)
        return text.translate(_MIRRORED) if opening and opening[0] in ")]" else text


PageText: TypeAlias = "PdfTextPage | RightToLeft"
BoxText: TypeAlias = "PageLetters | RightToLeft"


class PageLetters:
    """The letters of a page by their middles.

    For a box PDFium itself returns also letters that only reach into it.
    """

    def __init__(self, text: "PdfTextPage") -> None:
        self._text = text

    @cached_property
    def _letters(self) -> Mapping[int, Sequence[tuple[int, float, float, str]]]:
        """The place, the middle and the text of each letter, by its height in whole points."""
        from pypdfium2 import raw

        letters: dict[int, list[tuple[int, float, float, str]]] = defaultdict(list)
        y = 0.0
        for place in range(self._text.count_chars()):
            letter = chr(raw.FPDFText_GetUnicode(self._text, place)).translate(GLYPHS)
            if letter.isprintable():
                left, bottom, right, top = self._text.get_charbox(place)
                y = y if letter == " " else (bottom + top) / 2  # a blank has no height
                letters[math.floor(y)].append((place, (left + right) / 2, y, letter))
        return letters

    def get_text_bounded(self, left: float, bottom: float, right: float, top: float) -> str:
        """Return the letters whose middles are in a box, as one line."""
        inside = []
        for height in range(math.floor(bottom), math.floor(top) + 1):
            inside += [letter for letter in self._letters.get(height, ())
                       if left <= letter[1] <= right and bottom <= letter[2] <= top]
        lines = [""]
        last = -math.inf
        for _, x, _, letter in sorted(inside):
            if x < last:
                lines.append("")
            lines[-1] += letter
            last = x
        return join_lines(lines)


@dataclass(frozen=True)
class RuledTable:
    """The rows of a table and the places of its columns; `heads` rows name them, None if not known."""

    columns: Sequence[float]
    rows: Sequence[Sequence[TableCell]]
    heads: int | None = None

    def continue_from(self, before: "RuledTable") -> "RuledTable":
        """Return the table with the header of the one before it if it has the same columns and no header."""
        grid = TableGrid(before.rows, before.heads)
        head = before.rows[len(grid.above):][:grid.heads]
        alike = len(self.columns) == len(before.columns) and all(
            abs(one - other) < _NEAR for one, other in zip(self.columns, before.columns, strict=True))
        if not (alike and head) or self.rows[:len(head)] == head:
            return self
        return RuledTable(self.columns, [*head, *self.rows], len(head))


@dataclass(frozen=True)
class Layout:
    """The text of a page, with a line for each of its tables that `split_tables` finds.

    `empty` counts the fields of a form without a value, whose labels are left out.
    """

    text: str
    tables: Sequence[RuledTable] = ()
    empty: int = 0


@dataclass
class _Rows:
    """Rows of two pieces with a gutter in common, from `first` on."""

    gutter: tuple[float, float] = (0.0, 0.0)
    left: list[Box] = field(default_factory=list)
    right: list[Box] = field(default_factory=list)


def read_layout(pdf: "PdfDocument", page: "PdfPage", text: "PageText", plain: str) -> Layout:
    """Return the `plain` text of a page with its tables, columns and form values where they belong."""
    letters = text if isinstance(text, RightToLeft) else PageLetters(text)
    boxes = _join_pieces(text.get_rect(i) for i in range(min(text.count_rects(), _PIECES)))
    tables = list(_read_tables(page, text, letters))
    order = _order_columns(letters, boxes)
    if tables or order != boxes:
        plain = "\n".join(_write(letters, order, [box for box, _ in tables]))
    fields = list(_annotations(pdf, page, letters, boxes))
    filled = any(value for _, value in fields)
    empty = sum(not value for _, value in fields) if filled else 0
    return Layout(_fill_in(plain, fields if filled else ()), [table for _, table in tables], empty)


def _read_tables(page: "PdfPage", text: "PageText", letters: BoxText) -> Iterator[tuple[Box, RuledTable]]:
    """Yield the ruled tables of a page that are not nearly empty, each with its place."""
    for columns, rows, segments in _find_rules(page):
        if isinstance(text, RightToLeft):
            columns = [text.mirror((at, 0.0, at, 0.0))[0] for at in reversed(columns)]
            segments = [text.mirror(segment) for segment in segments]
        table = list(_cells(letters, columns, rows, segments))
        if sum(bool(cell.text) for row in table for cell in row) > max(len(columns), len(rows)):
            yield (columns[0], rows[-1], columns[-1], rows[0]), RuledTable(columns, table)


def _fill_in(text: str, values: Iterable[tuple[str, str]]) -> str:
    """Return a text with each value after the line that is its label, or else at the end.

    Labels without a value are removed.
    """
    lines = text.split("\n")
    for label, value in values:
        place = next((i for i, line in enumerate(lines) if line.strip() == label), len(lines))
        lines[place:place + 1] = [f"{label.rstrip(': ')}: {value}"] if value else []
    return "\n".join(lines)


def split_tables(text: str) -> Iterator[str | int]:
    """Yield the texts between the tables of a page, and the numbers of the tables."""
    for part in text.split("\n"):
        if part.startswith(TABLE):
            yield int(part.strip(TABLE))
        else:
            yield part


def _join_pieces(boxes: Iterable[Box]) -> list[Box]:
    """Return pieces of text with those joined that touch on their line, as the letters of a kerned pair."""
    joined: list[Box] = []
    for box in boxes:
        last = joined[-1] if joined else (0.0, 0.0, -math.inf, 0.0)
        height = max(last[3] - last[1], box[3] - box[1])
        above = max(last[1], box[1]) - min(last[3], box[3])  # of a raised letter
        if abs(box[0] - last[2]) < _TOUCHING * height and above < height / 2:
            joined[-1] = last[0], min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3])
        else:
            joined.append(box)
    return joined


def _write(text: BoxText, boxes: Sequence[Box], tables: Sequence[Box]) -> Iterator[str]:
    """Yield the lines of pieces; the first piece in a table is its number."""
    seen: set[int] = set()
    row: list[str] = []
    last: Box | None = None
    for box in boxes:
        inside = next((i for i, table in enumerate(tables) if _contains(table, box)), None)
        if row and (inside is not None or last is None or not _same_row(last, box) or box[0] < last[0]):
            yield " ".join(row)
            row = []
        if inside is None:
            row.append(_text_in(text, box))
        elif inside not in seen:
            seen.add(inside)
            yield f"{TABLE}{inside}{TABLE}"
        last = box
    if row:
        yield " ".join(row)


def _text_in(text: BoxText, box: Box) -> str:
    return " ".join(text.get_text_bounded(*box).split())


def _contains(table: Box, box: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return table[0] <= x <= table[2] and table[1] <= y <= table[3]


def _same_row(one: Box, other: Box) -> bool:
    shared = min(one[3], other[3]) - max(one[1], other[1])
    return shared > 0.5 * min(one[3] - one[1], other[3] - other[1])


def _find_rules(page: "PdfPage") -> Iterator[tuple[list[float], list[float], list[Box]]]:
    """Yield the places of columns and rows, from the top left, of each ruled table, and its lines."""
    from pypdfium2 import raw

    lines: list[Box] = []
    for number, item in enumerate(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=3)):
        if number > _PIECES or len(lines) > _LINES:
            return
        left, bottom, right, top = item.get_bounds()
        if right - left > _THIN and top - bottom > _THIN:  # a cell drawn as a box
            lines += [(left, bottom, left, top), (right, bottom, right, top),
                      (left, bottom, right, bottom), (left, top, right, top)]
        elif max(right - left, top - bottom) > 2 * _THIN:
            lines.append((left, bottom, right, top))
    while lines:
        group = [lines.pop()]
        for line in group:  # which grows
            touching = [other for other in lines if _touch(line, other)]
            group += touching
            lines = [other for other in lines if other not in touching]
        columns = _places(line[0] for line in group if line[2] - line[0] <= _THIN)
        rows = _places(line[1] for line in group if line[3] - line[1] <= _THIN)[::-1]
        if len(columns) > 2 and len(rows) > 2:
            yield columns, rows, group


def _touch(one: Box, other: Box) -> bool:
    return (one[0] <= other[2] + _NEAR and other[0] <= one[2] + _NEAR
            and one[1] <= other[3] + _NEAR and other[1] <= one[3] + _NEAR)


def _places(values: Iterator[float]) -> list[float]:
    """Return the different ones of some places, in order."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _NEAR:
            found.append(value)
    return found


def _cells(text: BoxText, columns: list[float], rows: list[float], lines: list[Box]
           ) -> Iterator[list[TableCell]]:
    """Yield the cells of each row of a ruled table; one spans columns that no line parts."""
    for top, bottom in zip(rows, rows[1:], strict=False):
        middle = (top + bottom) / 2
        row = []
        first = 0
        for column in range(1, len(columns)):
            parted = any(abs(line[0] - columns[column]) < _NEAR and line[1] <= middle <= line[3]
                         for line in lines)
            if parted or column == len(columns) - 1:
                box = columns[first] + 1, bottom + 1, columns[column] - 1, top - 1
                row.append(TableCell(_text_in(text, box), column - first))
                first = column
        yield row


def _order_columns(text: BoxText, boxes: list[Box]) -> list[Box]:
    """Return the pieces of a page, with two columns of prose that were drawn row by row separated."""
    ordered: list[Box] = []
    open_rows = _Rows()
    at = 0
    while at < len(boxes):
        pair = boxes[at:at + 2]
        gutter = pair[0][2], pair[1][0] if len(pair) == 2 and _same_row(*pair) else 0.0
        shared = (max(gutter[0], open_rows.gutter[0]), min(gutter[1], open_rows.gutter[1]))
        if not open_rows.left:
            shared = gutter
        if shared[1] - shared[0] >= _GUTTER:
            open_rows.gutter = shared
            open_rows.left.append(pair[0])
            open_rows.right.append(pair[1])
            at += 2
            continue
        if open_rows.left:
            ordered += _part(text, open_rows)
            open_rows = _Rows()
        else:
            ordered.append(boxes[at])
            at += 1
    return ordered + _part(text, open_rows)


def _part(text: BoxText, rows: _Rows) -> list[Box]:
    """Return the pieces of two columns one after the other if both are prose, else row by row."""
    if len(rows.left) >= _ROWS and _is_prose(text, rows.left) and _is_prose(text, rows.right):
        return rows.left + rows.right
    return [box for row in zip(rows.left, rows.right, strict=True) for box in row]


def _is_prose(text: BoxText, column: list[Box]) -> bool:
    """Return True if most lines of a column fill it, and begin at the same place."""
    widest = max(box[2] for box in column) - min(box[0] for box in column)
    full = median(box[2] - box[0] for box in column) > 0.7 * widest
    return full and median(len(_text_in(text, box)) for box in column) >= _PROSE


def _annotations(pdf: "PdfDocument", page: "PdfPage", text: BoxText, boxes: Sequence[Box]
                 ) -> Iterator[tuple[str, str]]:
    """Yield the label and the value of each form field that is filled in, and of each note."""
    from pypdfium2 import raw

    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        mark = raw.FPDFPage_GetAnnot(page, number)
        sort = raw.FPDFAnnot_GetSubtype(mark)
        if sort in (raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FREETEXT):
            if value := _string(raw.FPDFAnnot_GetStringValue, mark, b"Contents"):
                yield "Note", value
        elif sort == raw.FPDF_ANNOT_WIDGET and pdf.formenv is not None:
            value = _string(raw.FPDFAnnot_GetFormFieldValue, pdf.formenv, mark)
            kind = raw.FPDFAnnot_GetFormFieldType(pdf.formenv, mark)
            is_box = kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
            if is_box:
                value = "yes" if raw.FPDFAnnot_IsChecked(pdf.formenv, mark) else ""
            box = raw.FS_RECTF()
            raw.FPDFAnnot_GetRect(mark, box)
            place = box.left, box.bottom, box.right, box.top
            near = _label(text.mirror(place) if isinstance(text, RightToLeft) else place, boxes, is_box)
            label = near and _text_in(text, near) or _string(
                raw.FPDFAnnot_GetFormFieldAlternateName, pdf.formenv, mark) or _string(
                raw.FPDFAnnot_GetFormFieldName, pdf.formenv, mark)
            if value or kind == raw.FPDF_FORMFIELD_TEXTFIELD and near:
                yield label, value
        raw.FPDFPage_CloseAnnot(mark)


def _label(place: Box, boxes: Sequence[Box], is_box: bool) -> Box | None:
    """Return the text to the left of a field, or right of a box to check if that is nearer, else above."""
    row = [box for box in boxes if _same_row(box, place)]
    before = [box for box in row if box[2] <= place[0] + _NEAR]
    behind = [box for box in row if is_box and box[0] >= place[2] - _NEAR]
    above = [box for box in boxes if 0 <= box[1] - place[3] + _NEAR < 15 and box[0] < place[2]
             and box[2] > place[0]]
    if before or behind:
        return min(before + behind, key=lambda box: max(place[0] - box[2], box[0] - place[2]))
    return min(above, key=lambda box: box[1]) if above else None


def _string(read: "ctypes._FuncPointer", *arguments: object) -> str:
    """Return a text of an annotation, which PDFium writes into memory of ours."""
    size = read(*arguments, None, 0)
    memory = ctypes.create_string_buffer(size)
    read(*arguments, ctypes.cast(memory, ctypes.POINTER(ctypes.c_ushort)), size)
    return " ".join(memory.raw.decode("utf-16-le", "replace").strip("\0").split())
