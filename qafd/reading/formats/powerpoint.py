"""PowerPoint presentations through python-pptx: a page for each slide, with notes and chart data."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.grid import TableCell
from qafd.reading.formats.packages import Package

if TYPE_CHECKING:
    from pptx.chart.chart import Chart
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import Table

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def read_presentation(package: Package) -> DocumentDraft:
    """Read the slides in their order; the title of each is a heading, the notes stand below it."""
    from pptx import Presentation

    draft = DocumentDraft("pptx", package.limits)
    for number, slide in enumerate(Presentation(package.repack()).slides, 1):
        if slide.element.get("show") == "0":
            draft.skip("hidden slide")
            continue
        draft.turn(number)
        title = slide.shapes.title
        if title is not None:
            draft.head(title.text_frame.text)
        _read_shapes(slide, (shape for shape in slide.shapes if shape.shape_id != _id_of(title)), draft)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            draft.add(_plain(slide.notes_slide.notes_text_frame.text))
    draft.skip("comment", package.count(r"ppt/comments/.*\.xml", b":cm "))
    return draft


def _id_of(shape: "BaseShape | None") -> int | None:
    return None if shape is None else shape.shape_id


def _read_shapes(slide: "Slide", shapes: Iterable[Any], draft: DocumentDraft) -> None:
    """Append texts, tables, diagrams and the data of charts; numbers and dates of the frame stay out."""
    from pptx.enum.shapes import MSO_SHAPE_TYPE as KINDS
    from pptx.enum.shapes import PP_PLACEHOLDER as PLACES

    frame = (PLACES.DATE, PLACES.FOOTER, PLACES.SLIDE_NUMBER, PLACES.HEADER)
    for shape in shapes:
        if shape.is_placeholder and shape.placeholder_format.type in frame:
            continue
        if shape.shape_type == KINDS.GROUP:
            _read_shapes(slide, shape.shapes, draft)
        elif shape.has_text_frame:
            draft.add(_plain(shape.text_frame.text))
        elif shape.has_table:
            draft.table(list(_rows_of(shape.table)), int(shape.table.first_row) or None)
        elif shape.has_chart:
            _read_chart(shape.chart, draft)
        elif (related := shape.element.find(f".//{_DIAGRAM}relIds")) is not None:
            draft.add(_diagram_text(slide, related.get(f"{_RELATIONS}dm", "")))
        else:
            draft.skip("picture")


def _plain(text: str) -> str:
    """Return a text with plain line breaks, and without blank lines, which would separate paragraphs."""
    return "\n".join(line for line in text.replace("\v", "\n").split("\n") if line.strip())


def _rows_of(table: "Table") -> Iterable[list[TableCell | str]]:
    """Yield the cells of each row from their elements; through python-pptx each takes half a millisecond."""
    for row in table._tbl.tr_lst:
        cells: list[TableCell | str] = []
        for cell in row.tc_lst:
            if cell.is_spanned:
                continue
            pieces = (piece.text or "" if piece.tag == f"{_MAIN}t" else " "
                      for piece in cell.iter(f"{_MAIN}p", f"{_MAIN}br", f"{_MAIN}t"))
            text = " ".join("".join(pieces).split())
            columns, rows = int(cell.get("gridSpan", 1)), int(cell.get("rowSpan", 1))
            cells.append(TableCell(text, columns, rows) if columns > 1 or rows > 1 else text)
        yield cells


def _read_chart(chart: "Chart", draft: DocumentDraft) -> None:
    """Append the values of a chart as a table, with a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        draft.add(_plain(chart.chart_title.text_frame.text))
    for plot in chart.plots:
        series = list(plot.series)
        rows = [["", *(one.name for one in series)]]
        for number, category in enumerate(plot.categories):
            values = [one.values[number] if number < len(one.values) else None for one in series]
            rows.append([str(category), *("" if value is None else f"{value:g}" for value in values)])
        draft.table(rows, 1)


def _diagram_text(slide: "Slide", relation: str) -> str:
    """Return the texts of a SmartArt diagram, one a line."""
    from lxml import etree

    root = etree.fromstring(slide.part.related_part(relation).blob)
    lines = ("".join(text.text or "" for text in point.iter("{*}t")) for point in root.iter("{*}pt"))
    return "\n".join(line for line in lines if line.strip())
