"""Pages of a PDF as images: what is marked is what is quoted, and a stranger's PDF harms nothing."""

import io

import numpy as np
import pytest
from files import pdf, pdf_of_objects, pdf_with
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tiny import tiny_index

from qafd.errors import ParseError
from qafd.reading.formats.draft import Limits
from qafd.reading.formats.pdf import find_quote, fold
from qafd.reading.parsing import draw_page
from qafd.storage import open_workspace

LINES = ("The harbour froze in 1911.", "Amelia Thornbury rang the bell for nine",
         "hours. A ship was saved.", "The pier was mended.")
PAGE = pdf(LINES)
TOP, LEADING, HEIGHT = 72, 14, 792  # where `files.pdf` begins to write, and the page's height


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), np.int64)


def changed_rows(quotes):
    """Rows of the image that quotes change, in points from the top of the page."""
    before, after = pixels(draw_page(PAGE, 1)), pixels(draw_page(PAGE, 1, quotes))
    rows = np.flatnonzero((before != after).any(axis=(1, 2)))
    return rows * HEIGHT / len(before)


def test_a_quote_is_marked_on_its_lines_and_nowhere_else():
    rows = changed_rows(["Amelia Thornbury rang the bell for nine hours."])
    second, third = TOP + LEADING, TOP + 2 * LEADING  # baselines
    assert second - 12 < rows.min() < second
    assert third - 12 < rows.max() < third + 5


def test_what_is_not_on_the_page_marks_nothing():
    assert not len(changed_rows(["The Marigold sailed from Leith before the storm began."]))
    assert not len(changed_rows(["…", ""]))


@given(st.text("aäbß ﬁ-\n1.", max_size=30), st.data())
def test_a_part_of_a_page_is_found_where_its_letters_are(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    wanted = fold(text[start:end])[0]
    found = list(find_quote(fold(text), text[start:end]))
    assert bool(found) == bool(wanted)
    for first, last in found:
        assert fold(text[first:last + 1])[0].find(wanted) >= 0


def test_a_sentence_over_two_pages_is_found_by_its_ends():
    sentence = "Amelia Thornbury rang the bell of the harbour for nine hours in the storm."
    top, bottom = fold(f"Before it. {sentence[:40]}"), fold(f"{sentence[40:]} After it.")
    (first, last), = find_quote(top, sentence)
    assert (first, last) == (len("Before it. "), len("Before it. ") + 39)
    (first, last), = find_quote(bottom, sentence)
    assert (first, last) == (0, len(sentence) - 42)  # the full stop is no letter


@pytest.mark.parametrize(("data", "page"), [
    (PAGE, 0), (PAGE, 2), (b"%PDF-1.4 nothing", 1), (b"", 1), (pdf_with(PAGE, password="x"), 1)])
def test_what_cannot_be_drawn_is_one_sentence(data, page):
    with pytest.raises(ParseError) as error:
        draw_page(data, page)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("box", ["0 0 2000000 10", "0 0 10 2000000", "0 0 0 0", "5 5 1 1"])
def test_a_page_of_any_size_is_drawn_small_or_refused(box):
    data = pdf_of_objects([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] >>" % box.encode()])
    drawn = outcome(data)
    assert drawn.endswith(".") if isinstance(drawn, str) else max(drawn.shape) <= 3000


def outcome(data):
    """The image of the first page, or why there is none."""
    try:
        return pixels(draw_page(data, 1, LINES, Limits(cpu_seconds=10)))
    except ParseError as error:
        return str(error)


def test_the_bytes_of_a_read_pdf_are_kept_until_it_is_erased(path):
    tiny_index(path, [("log.pdf", PAGE), ("note.txt", b"Amelia Thornbury kept the light.")])
    with open_workspace(path) as store:
        assert store.files.original("log.pdf") == PAGE
        assert store.files.original("note.txt") is None
        store.documents.purge("log.pdf")
        assert store.files.original("log.pdf") is None
