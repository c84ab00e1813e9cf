"""Excel workbooks and PowerPoint presentations: parts of a zip file that name each other.

A workbook becomes one document with its sheets as headings and their rows as tables; a presentation
one with a page for each slide, its title as heading and the notes of the speaker below.
"""

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.limits import too_much
from qafd.reading.formats.packages import Package, stream_elements

if TYPE_CHECKING:
    from lxml.etree import _Element

WIDEST = 500  # columns of a sheet
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DATES = frozenset((*range(14, 23), *range(45, 48)))
"""Numbers of the formats of dates and times that every workbook has."""
_EPOCH = datetime(1899, 12, 30)
_DAYS = 2_958_466  # to the end of the year 9999


def read_workbook(package: Package) -> DocumentDraft:
    """The sheets of an Excel workbook; formulas are their last values."""
    draft = DocumentDraft("xlsx", package.limits)
    targets = _targets(package, "xl/workbook.xml")
    texts = _shared_texts(package)
    dates = _date_styles(package)
    for sheet in package.xml("xl/workbook.xml").iter("{*}sheet"):
        part = targets.get(sheet.get(_ID, ""), "")
        if part not in package or sheet.get("state") in ("hidden", "veryHidden"):
            continue
        rows = list(_rows(package, part, texts, dates))
        if rows:
            draft.head(sheet.get("name", ""))
            draft.table(rows)
    return draft


def read_presentation(package: Package) -> DocumentDraft:
    """The slides of a PowerPoint presentation, in their order, each on a page of its own."""
    draft = DocumentDraft("pptx", package.limits)
    targets = _targets(package, "ppt/presentation.xml")
    slides = package.xml("ppt/presentation.xml").iter("{*}sldId")
    for number, slide in enumerate(slides, 1):
        part = targets.get(slide.get(_ID, ""), "")
        if part not in package:
            continue
        draft.turn(number)
        _read_shapes(package.xml(part), draft)
        for other in _targets(package, part).values():
            if "/notesSlides/" in other and other in package:
                _read_shapes(package.xml(other), draft)
    return draft


def _targets(package: Package, part: str) -> dict[str, str]:
    """The parts that a part names, by the ids of its relations."""
    folder, _, name = part.rpartition("/")
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in package:
        return {}
    found = {}
    for relation in package.xml(relations):
        target = relation.get("Target", "")
        path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
        found[relation.get("Id", "")] = posixpath.normpath(path)
    return found


def _read_shapes(slide: "_Element", draft: DocumentDraft) -> None:
    """Append titles, texts and tables of a slide; numbers and dates of its frame stay out."""
    for shape in slide.iter("{*}sp", "{*}tbl"):
        if str(shape.tag).endswith("}tbl"):
            rows = []
            for row in shape.iter("{*}tr"):
                rows.append([" ".join(_texts_of(cell)) for cell in row.iterchildren("{*}tc")])
            draft.table(rows)
            continue
        place = shape.find(".//{*}nvPr/{*}ph")
        kind = "" if place is None else place.get("type", "")
        if kind in ("title", "ctrTitle"):
            draft.head(" ".join(_texts_of(shape)))
        elif kind not in ("sldNum", "dt", "ftr", "hdr", "sldImg"):
            draft.add("\n".join(_texts_of(shape)))


def _texts_of(element: "_Element") -> list[str]:
    """The paragraphs of a text in a drawing that have any."""
    paragraphs = []
    for paragraph in element.iter("{*}p"):
        text = "".join(piece.text or "" for piece in paragraph.iter("{*}t"))
        if text.strip():
            paragraphs.append(text)
    return paragraphs


def _shared_texts(package: Package) -> list[str]:
    """The texts that cells name by number, without readings of Japanese."""
    if "xl/sharedStrings.xml" not in package:
        return []
    texts = []
    for item in stream_elements(package.read("xl/sharedStrings.xml"), "{*}si"):
        texts.append(_cell_text(item))
    return texts


def _cell_text(item: "_Element") -> str:
    pieces = [*item.iterfind("{*}t"), *item.iterfind("{*}r/{*}t")]
    return "".join(piece.text or "" for piece in pieces)


def _date_styles(package: Package) -> frozenset[str]:
    """The numbers of cell styles that show a number as a date."""
    if "xl/styles.xml" not in package:
        return frozenset()
    styles = package.xml("xl/styles.xml")
    dates = {str(number) for number in _DATES}
    for custom in styles.iter("{*}numFmt"):
        code = re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", custom.get("formatCode", "").lower())
        if re.search("[dy]", code):
            dates.add(custom.get("numFmtId", ""))
    own = styles.find("{*}cellXfs")
    formats = [] if own is None else [style.get("numFmtId", "") for style in own]
    return frozenset(str(at) for at, number in enumerate(formats) if number in dates)


def _rows(package: Package, part: str, texts: list[str], dates: frozenset[str]) -> Iterator[list[str]]:
    """The rows of a sheet that hold anything, each with its cells from the first column on."""
    cells_read = 0
    for row in stream_elements(package.read(part), "{*}row"):
        cells: list[str] = []
        for cell in row.iterchildren("{*}c"):
            column = _column(cell.get("r", ""), len(cells))
            if column >= WIDEST:
                raise too_much(WIDEST, "columns in a sheet")
            cells += [""] * (column + 1 - len(cells))
            cells[column] = " ".join(_value(cell, texts, dates).split())
        cells_read += len(cells)
        if cells_read > package.limits.text_characters:
            raise too_much(package.limits.text_characters, "cells")
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _column(reference: str, following: int) -> int:
    """The number of a column from 0 by a reference such as "AB12", or the next one."""
    letters = re.match("[A-Z]{1,3}", reference)
    if letters is None:
        return following
    column = 0
    for letter in letters[0]:
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1


def _value(cell: "_Element", texts: list[str], dates: frozenset[str]) -> str:
    """What a cell shows, without its format; dates as ISO 8601."""
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        inline = cell.find("{*}is")
        return "" if inline is None else _cell_text(inline)
    value = cell.findtext("{*}v") or ""
    if kind == "s":
        if not value.isdecimal() or int(value) >= len(texts):
            raise ParseError("A cell of the workbook names a text that is not there; save it again.")
        return texts[int(value)]
    if kind == "b":
        return "true" if value == "1" else "false"
    if kind == "n" and cell.get("s", "") in dates:
        return _date(value)
    return value


def _date(value: str) -> str:
    try:
        days = float(value)
    except ValueError:
        return value
    if not 0 < days < _DAYS:
        return value
    moment = _EPOCH + timedelta(seconds=round(days * 86_400))
    return moment.date().isoformat() if days.is_integer() else moment.isoformat(" ")
