"""A document as it grows, within its limits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from qafd.errors import ParseError
from qafd.reading.formats.limits import Limits, too_much
from qafd.reading.text.plaintext import COLUMN, clean, one_line
from qafd.records import Extraction

SUPPORTED = "txt, md, rst, html, pdf, docx, xlsx, pptx, csv, json, jsonl, epub, eml and mbox"
SAVE_AS = "save it as docx or pdf and add that"


@dataclass
class DocumentDraft:
    """A document as it grows: canonical text and (start, page, heading) marks.

    `given` is its extraction where the file itself says what is in the text.
    """

    kind: str
    limits: Limits
    name: str = ""
    title: str = ""
    marks: list[tuple[int, int | None, str]] = field(default_factory=list)
    given: Extraction | None = None
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
        """Append a piece of text, `gap` away from what is there."""
        text = clean(text)
        if not text:
            return
        if self._length:
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

    def table(self, rows: Sequence[Sequence[str]], headed: bool = False) -> None:
        """Append the rows of a table, each as "column: value" lines where columns have names.

        They do when `headed`, or when the first row is unlike those below it: a name or year above
        numbers, or names of three columns or more. The first column may have none: its value
        begins the row. Two columns without names are themselves such lines. Cells of any other
        table stand in a line for each row.
        """
        names, *below = rows or [[]]
        width, even = len(names), all(len(row) <= len(names) for row in rows)
        if even and below and _names_all(names, below, headed):
            for row in below:
                self.add(row_text(names, row))
        elif even and width == 2 and all(_is_name(row[0]) for row in rows):
            self.add("\n".join(": ".join(filter(None, row)) for row in rows))
        else:
            for number, row in enumerate(rows):
                self.add(" | ".join(row), "\n" if number else "\n\n")

    def head(self, text: str, titles: bool = True) -> None:
        """Append a heading; what follows stands under it. The first that `titles` can be the title."""
        text = one_line(text)
        if text:
            self._heading = text
            self.title = self.title or (text if titles else "")
            self.add(text)

    def turn(self, page: int | None, heading: str = "") -> None:
        """What follows stands on this page, and under this heading when one is given."""
        self._page, self._heading = page, heading or self._heading


def row_text(names: Sequence[str], row: Sequence[str]) -> str:
    """A row of a table as "column: value" lines, or the value alone in a column without a name.

    With one value beside such a one it is a single line, "Weight (HX40): 29 kg", as two would read as
    a heading and a label.
    """
    cells = [(name, cell) for name, cell in zip(names, row, strict=False) if cell]
    if len(cells) == 2 and not cells[0][0] and cells[1][0]:
        (_, label), (name, value) = cells
        return f"{label} ({name}): {value}"
    return "\n".join(f"{name}: {cell}" if name else cell for name, cell in cells)


def names_periods(name: str, column: Sequence[str]) -> bool:
    """Whether a year, a quarter or such ("2023", "2022/23") names a column, in which none stands."""
    return _PERIOD.fullmatch(name) is not None and not any(map(_PERIOD.fullmatch, column))


def unsupported(what: str, advice: str = "add a file of a kind that can") -> ParseError:
    """The refusal of a kind of file, with what to do instead."""
    return ParseError(f"The file is {what}, which cannot be read; {advice} ({SUPPORTED}).")


_NUMBER = re.compile(r"\d")
_PERIOD = re.compile(
    r"(?:FY ?|Q[1-4] |H[12] )?(?:19|20)\d\d(?:[/\u2013-]\d{2,4})?(?: ?[A-Z]| [A-Za-z]{3,9})?")


def _is_name(cell: str) -> bool:
    return bool(cell) and len(cell) <= COLUMN and ":" not in cell and not re.match(r"[\W\d]", cell)


def _names_all(names: Sequence[str], below: Sequence[Sequence[str]], headed: bool) -> bool:
    """Whether the first row of a table names the columns of the rows below it."""
    width = len(names)
    if width < 2 or len(set(names)) < width:
        return False
    numbers = False
    for i, name in enumerate(names):
        column = [row[i] for row in below if len(row) > i]
        numbers = numbers or all(map(_NUMBER.search, column))
        unnamed_first = i == 0 and name == ""
        if not (unnamed_first or _is_name(name) or names_periods(name, column)):
            return False
    return headed or width > 2 or numbers


# A program's name for no document, a file, an address, a temporary file, or no letter at all.
_USELESS = re.compile(
    r"untitled[\W\d]*((document|page|presentation)[\W\d]*)?|(word )?document\d*"
    r"|.*\.(docx?|pdf|tex|indd|dvi|rtf|odt|qxd|pptx?|xlsx?)|\S+\.(x?html?|txt|tmp)"
    r"|(https?|file|ftp|blob|data|chrome):\S.*|about:\S+|www\.\S+|~?(tmp|temp)[\W_]*\w*\d\w*"
    r"|[\W\d_]*",
    re.IGNORECASE)


def worthy_title(title: str) -> str:
    """A title from a file's metadata, or "" when a program put it there."""
    title = re.sub(r"^Microsoft \w+ - ", "", one_line(title))
    return "" if _USELESS.fullmatch(title) else title
