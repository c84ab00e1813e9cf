"""A page of a PDF as an image, with quoted sentences marked as a pen would."""

import io
import math
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from qafd.errors import ParseError

if TYPE_CHECKING:
    import pypdfium2
    from PIL import Image

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
