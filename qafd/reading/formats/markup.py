"""HTML: headings become marks; hidden text and what leads about the page stay out."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, worthy_title
from qafd.reading.formats.limits import Limits

if TYPE_CHECKING:
    from lxml.etree import _Element

_HIDDEN = frozenset((
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "nav",
    "button", "select", "textarea", "input", "head", "canvas", "audio", "video", "map",
    "datalist",
))  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead",
    "tr", "ul",
))  # fmt: skip
_ROLES = frozenset(("navigation", "menu", "menubar", "search", "doc-toc"))  # of WAI-ARIA
_CLASSES = frozenset((
    "breadcrumb", "breadcrumbs", "navbar", "navbox", "navfooter", "navheader", "navigation", "toc",
    "toctree-wrapper",
))  # fmt: skip
_LISTS = frozenset(("ul", "ol", "dl"))
_TIGHT = frozenset(("br", "dd", "dt", "li", "tr"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SHORT = 300  # characters of a cell that is part of a row, not of a page's layout
_CELL = "\x1f"  # ends a cell; no text has it
_SELF_CLOSED = re.compile(r"<(script|title|style|iframe|textarea|[a-z]{1,4})\b([^<>]*)/>")


def read_html(text: str, limits: Limits) -> DocumentDraft:
    """The document on a page."""
    draft = DocumentDraft("html", limits)
    draft.title = read_markup(text, draft)
    return draft


def read_markup(text: str, draft: DocumentDraft) -> str:
    """Append what a page shows to `draft`; its own title, or ""."""
    from lxml import etree

    root = _parsed(text)
    if root is None:
        return ""
    title = "".join(next(root.iter("title"), etree.Element("none")).itertext())
    headed = draft.title
    page = _Page(draft, frozenset(place for element in root.iter() for place in _places(element)))
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            page.end(element)
        elif not page.start(element):
            walk.skip_subtree()
    page.lines.end("table", starts=False)
    return worthy_title(title) or ("" if headed else draft.title)


def _parsed(text: str) -> "_Element | None":
    """The root of a page, None when nothing is on it."""
    from lxml import etree

    if "<!ENTITY" in text[:100_000]:
        raise ParseError("The page declares XML entities, which are not read; save it without.")
    if re.match(r"\s*<\?xml", text):
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root: _Element | None = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        if error.msg == "unknown error":  # what libxml2 calls running out of memory
            raise MemoryError from None
        raise
    # Where libxml2 gives up it returns what came before as if it were the page.
    if parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT]):
        raise ParseError("The page is nested too deeply or has too long an element to be read "
                         "whole; flatten it or save it as plain text.")
    return root


@dataclass
class _List:
    """A list and how many items it has so far."""

    element: "_Element"
    items: int = 0


class _Page:
    """The elements of a page, one after another, as lines of text."""

    def __init__(self, draft: DocumentDraft, places: frozenset[str]) -> None:
        self.lines = _Lines(draft)
        self._places = places  # that links can lead to
        self._cell: _Element | None = None  # the short one whose paragraphs are but words of it
        self._preformatted = 0
        self._lists: list[_List] = []  # those that are open

    def start(self, element: "_Element") -> bool:
        """Take in the beginning of an element; False where it is hidden."""
        shown = not (element.tag in _HIDDEN or _is_hidden(element) or _navigates(element)
                     or element.tag in _LISTS and _is_contents(element, self._places))
        if self._cell is None and element.tag in ("td", "th"):
            self._cell = element if shown and _is_short(element) else None
        else:
            self._break(element, starts=True)
        self._preformatted += element.tag == "pre"
        if not shown:
            return False
        if element.tag in ("ul", "ol"):
            self._lists.append(_List(element))
        elif element.tag == "li" and self._cell is None:
            self._begin_item()
        self._add(element.text)
        return True

    def end(self, element: "_Element") -> None:
        """Take in the end of an element, and the text behind it."""
        if element is self._cell or self._cell is None and element.tag in ("td", "th"):
            self._cell = None
            self.lines.end_cell(element.tag)
        else:
            self._break(element, starts=False)
        self._preformatted -= element.tag == "pre"
        if self._lists and self._lists[-1].element is element:
            self._lists.pop()
        self._add(element.tail)

    def _begin_item(self) -> None:
        """Mark the next line as an item of the list that is open."""
        self.lines.bullet = "- "
        if self._lists and self._lists[-1].element.tag == "ol":
            self._lists[-1].items += 1
            self.lines.bullet = f"{self._lists[-1].items}. "

    def _break(self, element: "_Element", starts: bool) -> None:
        """End the line at a block, or the word at a block in a cell."""
        if element.tag in _BLOCKS:
            if self._cell is None:
                self.lines.end(element.tag, starts)
            else:
                self.lines.open.append(" ")

    def _add(self, text: str | None) -> None:
        if text:
            self.lines.open.append(text if self._preformatted else re.sub(r"\s+", " ", text))


class _Lines:
    """The pieces of the open line of a page, and the rows of a table that stand above it."""

    def __init__(self, draft: DocumentDraft) -> None:
        self.draft = draft
        self.open: list[str] = []
        self.bullet = ""  # of the next line
        self._rows: list[list[str]] = []
        self._heads = 0  # header cells among the cells of the first row
        self._gap = "\n\n"

    def end_cell(self, tag: str) -> None:
        """End a cell, within the line."""
        self.open.append(_CELL)
        self._heads += tag == "th" and not self._rows

    def end(self, tag: str, starts: bool) -> None:
        """End the line, where a block starts or ends."""
        shown = "".join(self.open)
        self.open.clear()
        if tag == "tr" and not starts and shown.strip():
            cells = [" ".join(cell.split()) for cell in shown.split(_CELL)]
            self._rows.append(cells[:-1] if not cells[-1] else cells)
            shown = ""
        elif self._rows and (shown.strip() or tag == "table"):
            self.draft.table(self._rows, self._heads == len(self._rows[0]))
            self._rows, self._heads = [], 0
        if tag in _HEADINGS and not starts:
            self.draft.head(shown)
        elif shown.strip():
            self.draft.add(self.bullet + shown.strip().replace(_CELL, " | "), self._gap)
            self.bullet = ""
        elif tag == "li":
            self.bullet = ""
        own = "\n" if tag in _TIGHT else "\n\n"
        self._gap = own if shown.strip() else max(self._gap, own)


def _is_short(cell: "_Element") -> bool:
    """Whether a cell holds a few words and no list, heading or table."""
    if next(cell.iter("table", "ul", "ol", "pre", *_HEADINGS), None) is not None:
        return False
    length = 0
    for piece in cell.itertext():
        length += len(piece)
        if length > _SHORT:
            return False
    return True


def _places(element: "_Element") -> list[str]:
    """What links can call an element."""
    return [name for name in (element.get("id"), element.get("name")) if name]


def _navigates(element: "_Element") -> bool:
    """Whether an element says of itself that it leads to pages and places."""
    names = f"{element.get('class') or ''} {element.get('id') or ''}".lower().split()
    return element.get("role") in _ROLES or not _CLASSES.isdisjoint(names)


def _is_contents(element: "_Element", places: frozenset[str]) -> bool:
    """Whether a list is the contents of its page: each word is in a link to a place on it."""
    links = element.findall(".//a[@href]")
    if len(links) < 2 or any(link.get("href").partition("#")[2] not in places for link in links):
        return False
    loose = element.xpath(".//text()[not(ancestor::a)]")
    return not any(_has_words(text) for text in loose)


def _has_words(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def _is_hidden(element: "_Element") -> bool:
    style = element.get("style") or ""
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style) is not None
    )
