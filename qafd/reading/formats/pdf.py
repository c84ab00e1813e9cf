"""PDF: text by page, without running headers and with paragraphs made whole."""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, worthy_title
from qafd.reading.formats.limits import Limits, too_much
from qafd.reading.text.plaintext import clean, one_line

if TYPE_CHECKING:
    from pypdf import PdfReader

T = TypeVar("T")

_LIGATURES = {0xFB00 + i: s for i, s in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))}


def read_pdf(data: bytes, limits: Limits, notices: list[str]) -> DocumentDraft:
    """The document in a PDF that needs no password; marks are its pages and bookmarks."""
    reader = _opened(data)
    texts, broken = _page_texts(reader, limits)
    count = len(texts)
    nowhere: dict[int, list[str]] = {}
    bookmarks = _survive(lambda: _outline(reader), nowhere)
    draft = DocumentDraft("pdf", limits)
    draft.title = worthy_title(_survive(lambda: _metadata_title(reader), "")) or worthy_title(
        _survive(lambda: _only_bookmark(reader), ""))
    for number, text in enumerate(_without_running_lines(texts)):
        draft.turn(number + 1)
        for heading in bookmarks.get(number, []):
            found = re.search(rf"^{re.escape(heading)}$", text, re.MULTILINE)
            if found:
                draft.add(_unwrapped(text[: found.start()]))
                text = text[found.end() :]
            draft.turn(number + 1, heading)
            draft.add(heading if found else "")
        draft.add(_unwrapped(text))
    if not draft.text:
        if broken or not count:
            raise ParseError("The PDF is damaged: of {pages} pages none can be read; open it in a "
                             "PDF program, save it again and retry.", pages=count)
        raise ParseError("The PDF has no text (pages: {pages}), so it is probably scanned; run text "
                         "recognition (OCR) on it, for example with ocrmypdf, and add the result.",
                         pages=count)
    empty = sum(not text for text in texts)
    if empty:
        notices.append(f"Left out: {empty} of {count} pages without text that can be read.")
    return draft


def _opened(data: bytes) -> "PdfReader":
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        try:
            opened = bool(reader.decrypt(""))
        except (DependencyError, NotImplementedError):
            opened = False
        if not opened:
            raise ParseError("The PDF is protected by a password; save a copy without one.")
    return reader


def _page_texts(reader: "PdfReader", limits: Limits) -> tuple[list[str], int]:
    """The clean text of each page, "" where it cannot be read, and how many cannot."""
    pages = reader.pages
    if len(pages) > limits.pieces:
        raise too_much(limits.pieces, "pages")
    texts: list[str] = []
    broken = length = 0
    for page in pages:
        text = _survive(page.extract_text, None)
        broken += text is None
        texts.append(clean((text or "").translate(_LIGATURES)))
        length += len(texts[-1])
        if length > limits.text_characters:
            raise too_much(limits.text_characters, "characters of text")
    return texts, broken


def _survive(read: Callable[[], T], otherwise: T) -> T:
    """What `read` returns, or `otherwise` where the PDF is broken."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 pypdf raises nearly every type on a damaged object
        return otherwise


def _metadata_title(reader: "PdfReader") -> str:
    title = (reader.metadata and reader.metadata.title) or ""
    nobody = title.strip("() ").casefold() in ("anonymous", "untitled", "unspecified")
    return "" if nobody else title


def _only_bookmark(reader: "PdfReader") -> str:
    """The bookmark that all others stand under, or ""; one of several names a part."""
    top = [entry for entry in reader.outline if not isinstance(entry, list)]
    return (top[0].title or "") if len(top) == 1 else ""


def _outline(reader: "PdfReader") -> dict[int, list[str]]:
    """The bookmarks that begin on each page, by page number from 0."""
    found: dict[int, list[str]] = {}
    stack: list[Iterator[Any]] = [iter(reader.outline)]
    while stack and len(found) < 10_000:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif isinstance(entry, list):
            stack.append(iter(entry))
        else:
            page = reader.get_destination_page_number(entry)
            if page is not None and (title := one_line(entry.title or "")):
                found.setdefault(page, []).append(title)
    return found


def _without_running_lines(texts: list[str]) -> list[str]:
    """Page texts without headers, footers and page numbers that repeat on most pages."""
    if len(texts) < 3:
        return texts
    pages = [text.split("\n") for text in texts]
    for place in (0, -1):
        shapes = Counter(re.sub(r"\d+", "0", lines[place]).strip() for lines in pages)
        running = {s for s, n in shapes.items() if s and n > len(pages) / 2 and len(s) < 120}
        for lines in pages:
            if re.sub(r"\d+", "0", lines[place]).strip() in running:
                lines[place] = ""
    return ["\n".join(lines).strip() for lines in pages]


def _unwrapped(text: str) -> str:
    """Page text with the line breaks of its paragraphs undone, so that names stay whole."""
    text = re.sub(r"(?<=[^\W\d_])[-\u2010]\n(?=[a-zß-ÿ])", "", text)
    text = re.sub(r"(?<=\w)([-\u2010])\n(?=\w)", r"\1", text)
    lines = text.split("\n")
    width = sorted(map(len, lines))[len(lines) * 9 // 10]
    parts = [lines[0]]
    for before, line in zip(lines, lines[1:], strict=False):
        fits = len(before) + 1 + len(line.split(" ", 1)[0]) < 0.85 * width
        item = re.match(r"\s*([•▪–*-]|\(?\d+[.)])\s", line)
        # A writer breaks a line anywhere, a program only where the next word does not fit.
        kept = width < 40 or fits or item or not line
        # A short line that no sentence ends is a heading, and never a part of the next one.
        heading = fits and not item and before[-1:].isalnum() and line[:1].isupper()
        parts.append(("\n\n" if heading else "\n" if kept else " ") + line)
    return "".join(parts)
