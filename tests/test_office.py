"""Workbooks and presentations, written by hand from ECMA-376: what of them is text."""

import pytest
from files import zipped

from qafd.errors import ParseError
from qafd.reading.parsing import parse
from qafd.records import Document

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
SHARED = "<si><t>Town</t></si><si><t>Founded</t></si><si><r><t>Oslo</t></r><r><t>by</t></r></si>"
STYLES = ('<numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/></numFmts>'
          '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs>')
ROWS = ('<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
        '<row><c r="A2" t="s"><v>2</v></c><c r="B2" s="1"><v>36526</v></c></row>'
        '<row><c r="B3" s="2"><v>1.5</v></c></row>'
        '<row><c r="A4" t="inlineStr"><is><t>Bergen</t></is></c><c r="B4"><v>1070</v></c></row>')


def relations(*targets: str) -> str:
    found = "".join(f'<Relationship Id="r{number}" Type="x" Target="{target}"/>'
                    for number, target in enumerate(targets, 1))
    return f'<Relationships xmlns="{RELATIONS}">{found}</Relationships>'


def workbook(rows: str = ROWS, state: str = "visible") -> bytes:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return zipped({
        "[Content_Types].xml": "", "xl/_rels/workbook.xml.rels": relations("worksheets/s.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
                           f'<sheet name="Towns" state="{state}" r:id="r1"/></sheets></workbook>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{SHARED}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{STYLES}</styleSheet>',
        "xl/worksheets/s.xml": sheet})


def shape(text: str, kind: str) -> str:
    return (f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>'
            f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>")


def slide(*shapes: str) -> str:
    return (f'<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree>{"".join(shapes)}'
            "</p:spTree></p:cSld></p:sld>")


def presentation() -> bytes:
    return zipped({
        "[Content_Types].xml": "",
        "ppt/_rels/presentation.xml.rels": relations("slides/a.xml", "/ppt/slides/b.xml"),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{OFFICE}"><p:sldIdLst>'
                                '<p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/>'
                                "</p:sldIdLst></p:presentation>",
        "ppt/slides/a.xml": slide(shape("Ferries", "title"), shape("Four of them.", "body"),
                                  shape("2", "sldNum")),
        "ppt/slides/b.xml": slide(shape("Towns", "ctrTitle")),
        "ppt/slides/_rels/a.xml.rels": relations("../notesSlides/n.xml"),
        "ppt/notesSlides/n.xml": slide(shape("Say their names.", "body"))})


def read(data: bytes) -> Document:
    (document,) = parse("file", data)
    return document


def test_a_sheet_is_a_heading_and_a_row_its_columns_with_dates_as_such() -> None:
    document = read(workbook())
    assert (document.kind, document.title) == ("xlsx", "Towns")
    assert document.text.split("\n\n") == [
        "Towns", "Town: Osloby\nFounded: 2000-01-01", "Founded: 1899-12-31 12:00:00",
        "Town: Bergen\nFounded: 1070"]


@pytest.mark.parametrize(("rows", "message"), [
    ('<row><c r="A1" t="s"><v>9</v></c></row>', "not there"),
    ('<row><c r="XFD1"><v>1</v></c></row>', "more than 500 columns"),
    ("<row><c", "damaged")], ids=["a text that is not there", "too wide", "cut"])
def test_a_workbook_that_cannot_be_read_is_refused_in_one_sentence(rows: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse("file.xlsx", workbook(rows))


def test_slides_come_in_the_order_of_the_presentation_with_page_title_and_notes() -> None:
    document = read(presentation())
    assert document.kind == "pptx"
    assert document.text == "Towns\n\nFerries\n\nFour of them.\n\nSay their names."
    pages = {document.text[mark.start:].split("\n")[0]: mark.page for mark in document.marks}
    assert (pages["Towns"], pages["Ferries"]) == (1, 2)
