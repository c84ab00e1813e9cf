"""A document as it grows, and the limits within which its file is read."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from qafd.errors import ParseError
from qafd.reading.formats.grid import TableCell, TableGrid
from qafd.reading.text.lines import ITEM
from qafd.reading.text.plaintext import clean, one_line
from qafd.records import Extraction

SUPPORTED = ("txt, md, rst, html, pdf, docx, xlsx, pptx, csv, json, jsonl, epub, eml, mbox, rss, ipynb, vtt "
             "and srt")
SAVE_AS = "save it as docx or pdf and add that"


@dataclass(frozen=True)
class Limits:
    """The bounds within which a file is read, in a process of its own.

    Parameters
    ----------
    input_bytes : int
        Of the file itself.
    text_characters : int
        Of its text, over all pages.
    unpacked_bytes, ratio : int
        Unpacked size of a zip file (docx, xlsx, pptx, epub), in bytes and relative to its packed
        size. The streams of a PDF have no such bound: what unpacks too far ends at memory or time.
    pieces : int
        Pages of a PDF, headings, records, entries of a zip file.
    memory_bytes : int
        Address space of the process.
    cpu_seconds : int
        Of the whole file.
    wall_seconds : float
        Until the process is ended, whatever it does.
    """

    input_bytes: int = 50_000_000
    text_characters: int = 20_000_000
    unpacked_bytes: int = 200_000_000
    ratio: int = 100
    pieces: int = 100_000
    memory_bytes: int = 1 << 30
    cpu_seconds: int = 20
    wall_seconds: float = 25.0


def too_much(most: int, what: str) -> ParseError:
    """Return the refusal of a file with more than `most` of something."""
    return ParseError(f"The file has more than {most:,} {what}; split it and add the parts.")


@dataclass
class DocumentDraft:
    """A document as it grows: canonical text and (start, page, heading) marks.

    `given` is its extraction if the file itself has one.
    """

    kind: str
    limits: Limits
    name: str = ""
    title: str = ""
    marks: list[tuple[int, int | None, str]] = field(default_factory=list)
    given: Extraction | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _page: int | None = None
    _heading: str = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def empty(self) -> bool:
        return not self._length

    def add(self, text: str, gap: str = "\n\n") -> None:
        """Append a piece of text, `gap` away from the text so far; a list begins below what opens it."""
        text = clean(text)
        if not text:
            return
        if self._length:
            gap = "\n" if self._parts[-1].endswith(":") and ITEM.match(text) else gap
            self._parts.append(gap)
            self._length += len(gap)
        place = (self._page, self._heading)
        if place != (None, "") and (not self.marks or self.marks[-1][1:] != place):
            self.marks.append((self._length, *place))
        self._parts.append(text)
        self._length += len(text)
        if self._length > self.limits.text_characters:
            raise too_much(self.limits.text_characters, "characters of text")
        if len(self.marks) > self.limits.pieces:
            raise too_much(self.limits.pieces, "pages and headings")

    def table(self, rows: Sequence[Sequence[TableCell | str]], heads: int | None = None) -> None:
        """Append the rows of a table as `TableGrid` reads them."""
        for paragraph in TableGrid(rows, heads).paragraphs():
            self.add(paragraph)

    def skip(self, what: str, count: int = 1) -> None:
        """Count things that are left out, to be named in a notice; `what` is one of them."""
        if count:
            self.skipped[what] += count

    def head(self, text: str, titles: bool = True) -> None:
        """Append a heading of the text that follows. The first that `titles` can be the title."""
        text = one_line(text)
        if text:
            self._heading = text
            self.title = self.title or (text if titles else "")
            self.add(text)

    def turn(self, page: int | None, heading: str = "") -> None:
        """Put the text that follows on this page, and under this heading if one is given."""
        self._page, self._heading = page, heading or self._heading


def unsupported_error(what: str, advice: str = "add a file of a kind that can") -> ParseError:
    """Return the refusal of a kind of file, with advice."""
    return ParseError(f"The file is {what}, which cannot be read; {advice} ({SUPPORTED}).")


# A program's name for no document, a file, an address, a temporary file, or no letter at all.
_USELESS = re.compile(
    r"untitled[\W\d]*((document|page|presentation)[\W\d]*)?|(word )?document\d*"
    r"|.*\.(docx?|pdf|tex|indd|dvi|rtf|odt|qxd|pptx?|xlsx?)|\S+\.(x?html?|txt|tmp)"
    r"|(https?|file|ftp|blob|data|chrome):\S.*|about:\S+|www\.\S+|~?(tmp|temp)[\W_]*\w*\d\w*"
    r"|[\W\d_]*",
    re.IGNORECASE)


def worthy_title(title: str) -> str:
    """Return a title from a file's metadata, or "" when a program put it there."""
    title = re.sub(r"^Microsoft \w+ - ", "", one_line(title))
    return "" if _USELESS.fullmatch(title) else title
