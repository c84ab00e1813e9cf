"""Word documents through python-docx: paragraphs with their numbers, tables, notes and comments.

python-docx leaves out inserted text, text boxes, equations and the numbers of lists, so its elements
are walked here.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from qafd.reading.formats.draft import DocumentDraft, worthy_title
from qafd.reading.formats.grid import TableCell
from qafd.reading.formats.packages import Package

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_LONG = 1000  # characters of a cell; one with more is a part of the layout
_GONE = frozenset((f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}rPr", f"{_W}pPr",
                   "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"))
_MARKS = {f"{_W}tab": "\t", f"{_W}ptab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_TEXT, _RUN, _PARAGRAPH, _ROW, _CELL = (f"{_W}{name}" for name in ("t", "r", "p", "tr", "tc"))
_MATH, _HIDDEN, _DELETED = f"{_M}oMath", f"{_W}rPr/{_W}vanish", f"{_W}trPr/{_W}del"
_SPAN, _MERGE, _BEFORE = f"{_W}tcPr/{_W}gridSpan", f"{_W}tcPr/{_W}vMerge", f"{_W}trPr/{_W}gridBefore"
_VALUE, _PROPERTIES, _STYLE, _LIST = f"{_W}val", f"{_W}pPr", f"{_W}pStyle", f"{_W}numPr"
_AROUND = frozenset(f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "customXml"))
_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def read_docx(package: Package) -> DocumentDraft:
    """Read a document as Word shows it with all changes accepted, then its notes and comments."""
    from docx import Document

    draft = DocumentDraft("docx", package.limits)
    document = Document(package.repack())
    reader = _WordReader(document, draft)
    reader.read_blocks(document.element.body)
    for part in ("word/footnotes.xml", "word/endnotes.xml"):
        if part in package:
            for note in package.xml(part):
                if note.get(f"{_W}type") in (None, "normal"):
                    reader.read_blocks(note)
    for comment in document.comments:
        text = " ".join(_text_of(paragraph._p) for paragraph in comment.paragraphs)
        draft.add(f"Comment by {comment.author}: {text}" if comment.author else f"Comment: {text}")
    frames = {"header": r"word/header\d*\.xml", "footer": r"word/footer\d*\.xml"}
    for what, pattern in frames.items():
        parts = (name for name in package.names if re.fullmatch(pattern, name))
        draft.skip(what, sum(bool("".join(package.xml(name).itertext()).strip()) for name in parts))
    draft.skip("picture", sum(1 for _ in document.element.body.iter("{*}pic")))
    draft.title = worthy_title(document.core_properties.title) or draft.title
    return draft


class _WordReader:
    """Appends the blocks of a document to a draft."""

    def __init__(self, document: "Document", draft: DocumentDraft) -> None:
        self._document, self._draft = document, draft
        self._counts: dict[str, Counter[int]] = {}  # of the items of each list, by level
        self._capital = ""  # set large above the paragraph it begins

    @cached_property
    def _headings(self) -> set[str]:
        """Ids of paragraph styles that are headings or based on one; their names are translated."""
        found = set()
        for style in self._document.styles:
            base, seen = style, 0
            while base is not None and seen < 20:
                if re.fullmatch(r"heading \d|title", (base.name or "").lower()):
                    found.add(style.style_id)
                base, seen = getattr(base, "base_style", None), seen + 1
        return found

    @cached_property
    def _style_lists(self) -> dict[str, tuple[str, int]]:
        """The list and level that paragraph styles set, by their ids."""
        found = {}
        for style in self._document.styles:
            properties = style.element.find(f"{_W}pPr/{_W}numPr")
            if properties is not None:
                found[style.style_id] = _list_of(properties)
        return found

    @cached_property
    def _levels(self) -> dict[tuple[str, int], tuple[str, str, int]]:
        """Number format, text and first number of each level of each list."""
        found: dict[tuple[str, int], tuple[str, str, int]] = {}
        try:
            root = self._document.part.numbering_part.element
        except (KeyError, NotImplementedError):
            return found
        kinds = {kind.get(f"{_W}abstractNumId"): kind for kind in root.iter(f"{_W}abstractNum")}
        for number in root.iter(f"{_W}num"):
            named = number.find(f"{_W}abstractNumId")
            kind = None if named is None else kinds.get(named.get(f"{_W}val"))
            for level in () if kind is None else kind.iter(f"{_W}lvl"):
                values = (_value(level, name) for name in ("numFmt", "lvlText", "start"))
                form, text, start = values
                place = number.get(f"{_W}numId", ""), _integer(level.get(f"{_W}ilvl"), 0)
                found[place] = form, text, _integer(start, 1)
        return found

    def read_blocks(self, parent: "_Element") -> None:
        """Append the paragraphs and tables in an element."""
        for block in parent:
            if block.tag == f"{_W}p":
                self._read_paragraph(block)
            elif block.tag == f"{_W}tbl":
                self._read_table(block)
            elif block.tag not in _GONE:
                self.read_blocks(block)

    def _read_paragraph(self, paragraph: "_Element") -> None:
        text = self._capital + _text_of(paragraph)
        self._capital = ""
        properties = {child.tag: child for child in paragraph.iterfind(f"{_PROPERTIES}/*")}
        frame = properties.get(f"{_W}framePr", {})
        if frame.get(f"{_W}dropCap") not in (None, "none"):
            self._capital = text
            return
        style = properties.get(_STYLE, {}).get(_VALUE, "")
        mark = self._mark_of(properties.get(_LIST), style) if text.strip() else ""
        if style in self._headings:
            self._draft.head(("" if mark == "- " else mark) + text)
        else:
            self._draft.add(mark + text, "\n" if mark and self._in_list else "\n\n")
        self._in_list = bool(mark)
        for box in paragraph.iter(f"{_W}txbxContent"):
            if not any(above.tag in _GONE for above in box.iterancestors()):
                self.read_blocks(box)

    _in_list = False

    def _mark_of(self, properties: "_Element | None", style: str) -> str:
        """Return the number or bullet of a paragraph in a list, which is counted."""
        item = self._style_lists.get(style) if properties is None else _list_of(properties)
        if item is None or item not in self._levels:
            return ""
        name, level = item
        form, text, start = self._levels[item]
        counts = self._counts.setdefault(name, Counter())
        counts[level] = counts[level] + 1 if level in counts else start
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if form in ("bullet", "none"):
            return "- " if form == "bullet" else ""

        def fill(found: "re.Match[str]") -> str:
            other = int(found[1]) - 1
            form, _, start = self._levels.get((name, other), ("decimal", "", 1))
            return _write_number(counts.get(other, start), form)

        return f"{re.sub('%([1-9])', fill, text)} "

    def _read_table(self, table: "_Element") -> None:
        rows = [_TableRow(row) for row in _list_parts(table, _ROW)]
        lays_out = any(len(text) > _LONG for row in rows for text in row.texts)
        if lays_out or all(len(row.cells) == 1 for row in rows):
            for row in rows:
                for cell in row.cells:
                    self.read_blocks(cell)
            return
        heads = sum(1 for _ in takewhile(_TableRow.is_head, rows))
        self._draft.table(list(_grid_rows(rows)), heads or None)


class _TableRow:
    """A row of a table, its cells and their texts."""

    def __init__(self, row: "_Element") -> None:
        self.element = row
        self.cells = list(_list_parts(row, _CELL))
        self.texts = [_cell_text(cell) for cell in self.cells]

    def is_head(self) -> bool:
        """Return True if the row is repeated as a head on each page."""
        head = self.element.find(f"{_W}trPr/{_W}tblHeader")
        return head is not None and head.get(f"{_W}val") not in ("0", "false", "off")


def _grid_rows(rows: Sequence[_TableRow]) -> Iterator[list[TableCell | str]]:
    """Yield the cells of each row; one that goes on from above has the text of the cell there."""
    above: dict[int, str] = {}
    for row in rows:
        skipped = row.element.find(_BEFORE)
        column = 0 if skipped is None else _integer(skipped.get(_VALUE), 0)
        cells: list[TableCell | str] = [TableCell("", column)] if column else []
        for cell, text in zip(row.cells, row.texts, strict=True):
            span, merge = cell.find(_SPAN), cell.find(_MERGE)
            width = 1 if span is None else _integer(span.get(_VALUE), 1)
            if merge is not None and merge.get(_VALUE) != "restart":
                text = above.get(column, "")
            above[column] = text if merge is not None else ""
            cells.append(TableCell(text, width) if width > 1 else text)
            column += width
        yield cells


def _list_parts(element: "_Element", tag: str) -> "Iterator[_Element]":
    """Yield the rows of a table or cells of a row, also those in content controls; deleted ones go."""
    for child in element:
        if child.tag == tag:
            if tag == _CELL or child.find(_DELETED) is None:
                yield child
        elif child.tag in _AROUND:
            yield from _list_parts(child, tag)


def _cell_text(cell: "_Element") -> str:
    return " ".join(" ".join(_text_of(paragraph) for paragraph in cell.iter(_PARAGRAPH)).split())


def _text_of(element: "_Element") -> str:
    """Return the visible text of a paragraph or a part of one; hidden and deleted text stays out."""
    pieces: list[str] = []
    for child in element:
        tag = child.tag
        if tag in _GONE:
            continue
        if tag == _TEXT:
            pieces.append(child.text or "")
        elif tag in _MARKS:
            pieces.append(_MARKS[tag])
        elif tag == _MATH:
            pieces.append(_equation(child))
        elif tag != _RUN or child.find(_HIDDEN) is None:
            pieces.append(_text_of(child))
    return "".join(pieces)


def _equation(element: "_Element") -> str:
    """Return an equation as text: fractions with "/", indices with "_", powers with "^"."""
    parts = [_equation(child) for child in element if not str(child.tag).endswith("Pr")]
    tag = str(element.tag).removeprefix(_M)
    if tag == "t":
        return element.text or ""
    if tag == "f" and len(parts) == 2:
        return "/".join(part if len(part) < 2 or part.isalnum() else f"({part})" for part in parts)
    if tag == "rad" and parts:
        return f"√({parts[-1]})"
    signs = {"sSup": "^", "sSub": "_", "sSubSup": "_^", "nary": "_^"}.get(tag, "")
    if signs and parts:
        joined = parts[0]
        for sign, part in zip(signs, parts[1:], strict=False):
            joined += f"{sign}{part}" if part else ""
        return joined + "".join(parts[len(signs) + 1:])
    return "".join(parts)


def _list_of(properties: "_Element") -> tuple[str, int]:
    return _value(properties, "numId"), _integer(_value(properties, "ilvl"), 0)


def _value(element: "_Element", *path: str) -> str:
    """Return the value of a property, "" if it is not set."""
    found = element.find("/".join(f"{_W}{name}" for name in path))
    return "" if found is None else found.get(f"{_W}val", "")


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,4}", text) else default


def _write_number(number: int, form: str) -> str:
    if form in ("lowerLetter", "upperLetter") and number:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if form == "upperLetter" else letter
    if form in ("lowerRoman", "upperRoman") and 0 < number < 40:
        text = ""
        for value, letters in _ROMAN:
            count = number // value if value in (10, 1) else number >= value
            text, number = text + letters * count, number - value * count
        return text.upper() if form == "upperRoman" else text
    return f"{number:02}" if form == "decimalZero" else str(number)
