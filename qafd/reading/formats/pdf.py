"""PDF: text by page without running headers, and a page as an image with quoted sentences marked."""

import io
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from statistics import median
from typing import TYPE_CHECKING

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, Limits, too_much, worthy_title
from qafd.reading.formats.pdf_layout import (
    GLYPHS,
    TABLE,
    PageText,
    RightToLeft,
    RuledTable,
    read_layout,
    split_tables,
)
from qafd.reading.text.lines import unwrap, width_of
from qafd.reading.text.plaintext import clean, has_digit, one_line

if TYPE_CHECKING:
    import pypdfium2
    from PIL import Image
    from pypdfium2 import PdfBookmark, PdfDocument, PdfTextPage


_BOOKMARKS = 10_000
_LETTERS = GLYPHS | {0x02: "-\n", 0xFFFE: "-\n"}  # PDFium leaves out the line break after a hyphen
_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*[\divxlc]+\s*$")  # from an entry of the contents to its page
_RECTANGLES = 5_000  # of text on a page; one with more is a drawing
_TITLE, _TITLE_WITHIN = 200, 5_000  # characters of a printed title, and of the page that it is sought in
_LARGE = 1.3  # times the usual height of letters, from which the largest are a title
_ALIKE = 0.04  # relative difference of the heights of letters of one size
_APART = 1.5  # of the usual distance of lines, between a running line and the others


@dataclass(frozen=True)
class _Edge:
    """A line apart from all others at the top or bottom of its page, `depth` points from there."""

    text: str
    depth: int


@dataclass(frozen=True)
class _PageText:
    text: str
    edges: tuple[_Edge, ...] = ()
    tables: Sequence[RuledTable] = ()
    title: str = ""
    empty: int = 0


def read_pdf(data: bytes, limits: Limits, notices: list[str]) -> DocumentDraft:
    """Return the document in a PDF that needs no password; marks are its pages and bookmarks."""
    pdf = _open(data)
    pdf.init_forms()
    pages, broken = _read_pages(pdf, limits)
    count = len(pages)
    bookmarks = list(islice(pdf.get_toc(), _BOOKMARKS))
    headings = _headings_by_page(bookmarks)
    draft = DocumentDraft("pdf", limits)
    printed = pages[0].title if pages else ""
    draft.title = (worthy_title(_metadata_title(pdf)) or worthy_title(_only_bookmark(bookmarks))
                   or worthy_title(printed))
    texts = [_without_contents(text) for text in _without_running_lines(pages)]
    pages = _repeat_headers(pages, texts)
    for number, text in enumerate(texts):
        draft.turn(number + 1)
        if number == 0 and (found := _find_heading(printed, text)):
            _add_text(text[: found.start()], pages[number], draft)
            draft.add(printed)
            text = text[found.end() :]
        for heading in headings.get(number, []):
            found = _find_heading(heading, text)
            if found:
                _add_text(text[: found.start()], pages[number], draft)
                text = text[found.end() :]
            draft.turn(number + 1, heading)
            draft.add(heading if found else "")
        _add_text(text, pages[number], draft)
    draft.skip("attached file", pdf.count_attachments())
    draft.skip("empty form field", sum(page.empty for page in pages))
    if not draft.text:
        raise _without_text(count, broken)
    empty = sum(not page.text for page in pages)
    if empty:
        notices.append(f"Left out: {empty} of {count} pages without text that can be read.")
    return draft


def _without_text(count: int, broken: int) -> ParseError:
    if broken or not count:
        return ParseError(f"The PDF is damaged: of {count} pages none can be read; open it "
                          "in a PDF program, save it again and retry.")
    return ParseError(f"The PDF has no text (pages: {count}), so it is probably scanned; "
                      "run text recognition (OCR) on it, for example with ocrmypdf, and "
                      "add the result.")


def _open(data: bytes) -> "PdfDocument":
    from pypdfium2 import PdfDocument, PdfiumError
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    try:
        return PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == FPDF_ERR_PASSWORD:
            raise ParseError("The PDF is protected by a password; save a copy without one.") from None
        raise ParseError("The PDF is damaged and cannot be opened; open it in a PDF program, save it "
                         "again and retry.") from None


def _read_pages(pdf: "PdfDocument", limits: Limits) -> tuple[list[_PageText], int]:
    """Return each page, empty where it cannot be read, and how many cannot."""
    from pypdfium2 import PdfiumError

    if len(pdf) > limits.pieces:
        raise too_much(limits.pieces, "pages")
    pages: list[_PageText] = []
    broken = length = 0
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            text: PageText = page.get_textpage()
            plain = _clean(text.get_text_bounded())
            if RightToLeft.fits(plain):
                text = RightToLeft(text, page.get_width())
                plain = _clean(text.get_text_bounded())
            layout = read_layout(pdf, page, text, plain)
            title = "" if number or isinstance(text, RightToLeft) else _print_title(text)
            pages.append(_PageText(layout.text, _edges(text, page.get_bbox()), layout.tables, title,
                                   layout.empty))
            page.close()
        except PdfiumError:
            broken += 1
            pages.append(_PageText(""))
        length += len(pages[-1].text)
        if length > limits.text_characters:
            raise too_much(limits.text_characters, "characters of text")
    return pages, broken


def _clean(text: str) -> str:
    return clean(text.translate(_LETTERS))


def _edges(text: PageText, box: tuple[float, float, float, float]) -> tuple[_Edge, ...]:
    """Return the lines of a page that may be running ones: apart from the others, and not larger."""
    count = text.count_rects()
    if count > _RECTANGLES:
        return ()
    lines: list[tuple[float, float]] = []  # bottom and top, from above
    for _, bottom, _, top in sorted((text.get_rect(i) for i in range(count)), key=lambda r: -r[3]):
        if lines and top > lines[-1][0]:
            lines[-1] = (min(bottom, lines[-1][0]), lines[-1][1])
        else:
            lines.append((bottom, top))
    if len(lines) < 4:
        return ()
    usual = median(above[1] - below[1] for above, below in pairwise(lines))
    size = median(top - bottom for bottom, top in lines)
    found = []
    for line, beside, depth in ((lines[0], lines[1], box[3] - lines[0][1]),
                                (lines[-1], lines[-2], lines[-1][0] - box[1])):
        bottom, top = line
        if abs(top - beside[1]) > _APART * usual and top - bottom < _APART * size:
            found.append(_Edge(_clean(text.get_text_bounded(bottom=bottom, top=top)), round(depth)))
    return tuple(found)


def _print_title(text: "PdfTextPage") -> str:
    """Return the words of a page in its largest letters if they are larger than most, and a few alone."""
    from pypdfium2 import raw

    runs: list[tuple[float, str]] = []  # the height of a run of letters in points, and its text
    heights: list[float] = []
    for place in range(min(text.count_chars(), _TITLE_WITHIN)):
        letter = chr(raw.FPDFText_GetUnicode(text, place))
        if not letter.isspace() and letter.isprintable():
            _, bottom, _, top = text.get_charbox(place, loose=True)
            heights.append(top - bottom)
            if not runs or not math.isclose(runs[-1][0], heights[-1], rel_tol=_ALIKE):
                runs.append((heights[-1], ""))
        if runs:
            runs[-1] = runs[-1][0], runs[-1][1] + letter
    height, title = max(runs, key=lambda run: run[0], default=(0.0, ""))
    title = one_line(title)
    fits = len(title) <= _TITLE and len(title.split()) > 2
    return title if fits and height >= _LARGE * median(heights) else ""


def _metadata_title(pdf: "PdfDocument") -> str:
    title = pdf.get_metadata_value("Title")
    nobody = title.strip("() ").casefold() in ("anonymous", "untitled", "unspecified")
    return "" if nobody else title


def _only_bookmark(bookmarks: "list[PdfBookmark]") -> str:
    """Return the bookmark above all others, "" if there are several, which name parts."""
    top = [bookmark for bookmark in bookmarks if bookmark.level == 0]
    return top[0].get_title() if len(top) == 1 else ""


def _headings_by_page(bookmarks: "list[PdfBookmark]") -> dict[int, list[str]]:
    """Return the bookmarks that begin on each page, by page number from 0."""
    found: dict[int, list[str]] = {}
    for bookmark in bookmarks:
        place = bookmark.get_dest()
        page = place and place.get_index()
        if page is not None and (title := one_line(bookmark.get_title())):
            found.setdefault(page, []).append(title)
    return found


def _find_heading(heading: str, text: str) -> re.Match[str] | None:
    """Find a bookmark as a heading, over several lines and after its number."""
    said = r"\s+".join(map(re.escape, heading.split()))
    return re.search(rf"^(?:\S*\d\S*\s+)?{said}$", text, re.MULTILINE)


def _without_running_lines(pages: Sequence[_PageText]) -> list[str]:
    """Return page texts without headers, footers and page numbers.

    They are the first and last lines that most pages repeat, and lines that stand apart at the same
    depth on a third of the pages, with a number or more than once.
    """
    if len(pages) < 3:
        return [page.text for page in pages]
    split = [page.text.split("\n") for page in pages]
    _drop_edges(split, pages)
    for place in (0, -1):
        shapes = Counter(_shape(lines[place]) for lines in split if lines)
        running = {s for s, n in shapes.items() if s and n > len(pages) / 2 and len(s) < 120}
        for lines in split:
            if lines and _shape(lines[place]) in running:
                lines[place] = ""
    return ["\n".join(lines).strip() for lines in split]


def _drop_edges(split: Sequence[list[str]], pages: Sequence[_PageText]) -> None:
    """Take the edges that are running lines out of the lines of their pages, in place."""
    edges = [edge for page in pages for edge in page.edges]
    depths = Counter(edge.depth for edge in edges)
    said = Counter(_shape(edge.text) for edge in edges)
    for lines, page in zip(split, pages, strict=True):
        for edge in page.edges:
            alike = sum(depths[edge.depth + d] for d in (-1, 0, 1))
            told = said[_shape(edge.text)] > 1 or has_digit(edge.text)
            if told and alike > max(2, len(pages) / 3) and edge.text in lines:
                lines.remove(edge.text)


def _shape(line: str) -> str:
    """Return a line with its numbers alike; the place of a table is like no other line."""
    return "" if line.startswith(TABLE) else re.sub(r"\d+", "0", line).strip()


def _without_contents(text: str) -> str:
    """Return a page without the lines of a table of contents; nothing, where a third of its lines are."""
    lines = text.split("\n")
    others = [line for line in lines if not _LEADERS.search(line)]
    return "" if len(lines) - len(others) > len(lines) / 3 else "\n".join(others)


def _repeat_headers(pages: Sequence[_PageText], texts: Sequence[str]) -> list[_PageText]:
    """Return the pages with the header of a table again where it goes on at the top of the next page."""
    repeated = []
    last: RuledTable | None = None  # the table that ends the page before
    for page, text in zip(pages, texts, strict=True):
        parts = [part for part in split_tables(text) if isinstance(part, int) or any(map(str.isalpha, part))]
        tables = list(page.tables)
        for part in parts:
            if isinstance(part, int):
                tables[part] = tables[part].continue_from(last) if last and part == parts[0] else tables[part]
                last = tables[part]
            else:
                last = None
        repeated.append(replace(page, tables=tables))
    return repeated


def _add_text(text: str, page: _PageText, draft: DocumentDraft) -> None:
    """Append page text with the line breaks of its paragraphs undone, and the tables in it."""
    lines: list[str] = []
    for part in [*split_tables(text), -1]:
        if isinstance(part, str):
            lines.append(part)
            continue
        draft.add(unwrap(lines, width_of(lines)))
        lines = []
        if part >= 0:
            draft.table(page.tables[part].rows, page.tables[part].heads)


WIDTH = 1000  # pixels of a page's width
LONGEST = 3000  # pixels of its longer side at most
LETTERS = 24  # letters and digits by which the ends of a sentence over two pages are found
PEN = (255, 231, 138)

Letters = tuple[str, list[int]]


def draw_page(data: bytes, number: int, quotes: Sequence[str]) -> bytes:
    """Return a page of a PDF as PNG; a quote that is not found on it is not marked.

    Quotes are compared by their letters and digits alone: a page has the line breaks, hyphens and
    ligatures that the stored text has not.

    Parameters
    ----------
    number : int
        Of the page, from 1.

    Raises
    ------
    ParseError
        The PDF has no such page, or needs a password.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise ParseError(f"The PDF cannot be drawn ({str(error)}); open it in a PDF program.") from error
    if not 1 <= number <= len(document):
        raise ParseError(f"The PDF has {len(document)} pages and no page {number}.")
    page = document[number - 1]
    scale = min(WIDTH / page.get_width(), LONGEST / max(page.get_size()))
    image = page.render(scale=scale).to_pil().convert("RGB")
    letters = _letters_of(page)
    for quote in quotes:
        for first, last in find_quote(letters, quote):
            for box in _boxes(page, first, last, image.size):
                _mark(image, box)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def fold(text: str) -> Letters:
    """Return the letters and digits of a text, and the place of each in it."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKC", character).casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def find_quote(page: Letters, quote: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of a quote on a page, or of the part of it that is on this page."""
    text, places = page
    wanted, _ = fold(quote)
    if not wanted:
        return
    at = text.find(wanted)
    if at >= 0:
        yield places[at], places[at + len(wanted) - 1]
    elif len(wanted) > LETTERS:
        begins, ends = text.rfind(wanted[:LETTERS]), text.find(wanted[-LETTERS:])
        if begins >= 0 and wanted.startswith(text[begins:]):
            yield places[begins], places[-1]
        elif ends >= 0 and wanted.endswith(text[:ends + LETTERS]):
            yield places[0], places[ends + LETTERS - 1]


def _letters_of(page: "pypdfium2.PdfPage") -> Letters:
    """Return the letters of a page with their numbers in PDFium, which counts some that no text has."""
    from pypdfium2 import raw

    text = page.get_textpage()
    characters = (raw.FPDFText_GetUnicode(text, place) for place in range(text.count_chars()))
    return fold("".join(chr(one) if one < 0x110000 else " " for one in characters))


def _boxes(page: "pypdfium2.PdfPage", first: int, last: int,
           size: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the boxes of characters on the image (left, top, right, bottom), one a line, in pixels."""
    import ctypes

    from pypdfium2 import raw

    text = page.get_textpage()
    width, height = size
    for index in range(text.count_rects(first, last - first + 1)):
        left, bottom, right, top = text.get_rect(index)
        corners = []
        for x, y in ((left, bottom), (right, top)):
            across, down = ctypes.c_int(), ctypes.c_int()
            raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, ctypes.byref(across),
                                  ctypes.byref(down))
            corners.append((min(max(across.value, 0), width), min(max(down.value, 0), height)))
        (x0, y0), (x1, y1) = corners
        yield min(x0, x1), min(y0, y1), math.ceil(max(x0, x1)), math.ceil(max(y0, y1))


def _mark(image: "Image.Image", box: tuple[int, int, int, int]) -> None:
    """Lay the color of the pen under the letters of a box."""
    from PIL import Image, ImageChops

    part = image.crop(box)
    if part.width and part.height:
        image.paste(ImageChops.multiply(part, Image.new("RGB", part.size, PEN)), box)
