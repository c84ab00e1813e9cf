"""Web pages and feeds: headings become marks, tables grids; hidden text and menus stay out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, Limits, too_much, worthy_title
from qafd.reading.formats.grid import TableCell, row_text
from qafd.reading.text.plaintext import label, one_line

if TYPE_CHECKING:
    from lxml.etree import _Element


_HIDDEN = frozenset((
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed",
    "button", "select", "textarea", "input", "head", "canvas", "audio", "video", "map",
    "datalist",
))  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul",
))  # fmt: skip
_ROLES = frozenset(("navigation", "menu", "menubar", "search", "doc-toc"))  # of WAI-ARIA
_CLASSES = frozenset((
    "breadcrumb", "breadcrumbs", "navbar", "navbox", "navfooter", "navheader", "navigation", "toc",
    "toctree-wrapper",
))  # fmt: skip
_LISTS = frozenset(("ul", "ol", "dl"))
_TIGHT = frozenset(("br", "dd", "dt", "li"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LONG = 1000  # characters of a cell; one with more is a part of a page's layout
_MENU_LINKS, _MENU_WORDS = 4, 30  # links of a menu at least, and characters of each at most on average
_NOTE = re.compile(r"\d{1,3}|[*†‡]")  # what leads to a note
_SELF_CLOSED = re.compile(r"<(script|title|style|iframe|textarea|[a-z]{1,4})\b([^<>]*)/>")


def read_html(text: str, limits: Limits) -> DocumentDraft:
    """Read the document on a page."""
    draft = DocumentDraft("html", limits)
    draft.title = read_markup(text, draft)
    return draft


def read_markup(text: str, draft: DocumentDraft) -> str:
    """Append the visible text of a page to `draft` and return the page's own title, or ""."""
    root = _parse(text)
    return "" if root is None else read_page(root, draft)


def read_page(root: "_Element", draft: DocumentDraft) -> str:
    """Append the visible text of a page that is parsed, as `read_markup` does."""
    from lxml import etree

    title = "".join(next(root.iter("title"), etree.Element("none")).itertext())
    headed = draft.title
    _mark_raised(root)
    page = _Page(draft, frozenset(place for element in root.iter() for place in _places(element)))
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            page.end(element)
        elif not page.start(element):
            walk.skip_subtree()
    page.end_line("body", starts=False)
    return worthy_title(title) or ("" if headed else draft.title)


def _mark_raised(root: "_Element") -> None:
    """Separate the number of a note, or a power, from the text before it, in place: "1873 [1]", "10^6"."""
    for link in root.iter("a"):
        text = "".join(link.itertext()).strip()
        if "#" in (link.get("href") or "") and _NOTE.fullmatch(text):
            link[:] = []
            link.text = f" [{text}]"
    for power in root.iter("sup"):
        before = power.getprevious()
        text = power.getparent().text if before is None else before.tail
        if (text or "")[-1:].isdigit() and re.match(r"[-−+]?\d", power.text or ""):
            power.text = f"^{power.text}"


def parse_xml(data: bytes) -> "_Element":
    """Return the root of an XML text; entities and document types are refused."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=False)
    return etree.fromstring(refuse_entities(data), parser)


def refuse_entities(data: bytes) -> bytes:
    """Return an XML text, which is refused if it declares entities."""
    if b"<!ENTITY" in data or "<!ENTITY".encode("utf-16-le") in data:
        raise ParseError("The file declares XML entities, which are not read; save it again.")
    return data


def _parse(text: str) -> "_Element | None":
    """Return the root of a page, None when nothing is on it."""
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
    """A list and the number of its next item."""

    element: "_Element"
    next: int = 1


class _Page:
    """The elements of a page, one after another, as lines of text."""

    def __init__(self, draft: DocumentDraft, places: frozenset[str]) -> None:
        self._draft = draft
        self._places = places  # that links can lead to
        self._preformatted = 0
        self._lists: list[_List] = []  # those that are open
        self._line: list[str] = []  # pieces of the open line
        self._mark = ""  # of the next line: a bullet, or the term that it defines
        self._labels = False  # whether that term is a label
        self._gap = "\n\n"

    def start(self, element: "_Element") -> bool:
        """Take in the beginning of an element; return False if its children are read or left out."""
        tag = element.tag
        if tag in _BLOCKS:
            self.end_line(_block_of(element), starts=True)
        self._preformatted += tag == "pre"
        if _is_hidden(element) or self._is_menu(element):
            return False
        if tag == "table" and (rows := _rows_of(element)):
            caption = element.find("caption")
            if caption is not None:
                self._draft.add(_words_of(caption))
            cells = [[_cell(cell) for cell in row] for row in rows]
            self._draft.table(cells, sum(1 for _ in takewhile(_is_head, rows)) or None)
            self._gap = "\n\n"
            return False
        if tag in ("ul", "ol"):
            self._lists.append(_List(element, _number(element.get("start"), 1)))
        elif tag == "li":
            self._mark = self._begin_item(element)
        self._add(element.text)
        return True

    def end(self, element: "_Element") -> None:
        """Take in the end of an element, and the text behind it."""
        if element.tag in _BLOCKS:
            self.end_line(_block_of(element), starts=False)
        self._preformatted -= element.tag == "pre"
        if self._lists and self._lists[-1].element is element:
            self._lists.pop()
        self._add(element.tail)

    def end_line(self, tag: str, starts: bool) -> None:
        """End the open line where a block starts or ends."""
        text = "".join(self._line).strip()
        self._line.clear()
        if tag in _HEADINGS and not starts:
            self._draft.head(text)
        elif tag == "dt" and not starts and text and text[-1] not in ".!?;":
            self._end_term()
            self._mark = f"{text.rstrip(':')}: "
            self._labels = text.endswith(":")
            return
        elif text:
            self._draft.add(self._mark + text, self._gap)
            self._mark = ""
        elif tag == "dl" and self._mark and starts:
            self._end_term()
            return
        elif tag == "dl" or tag == "li" and not starts:
            self._end_term()
        gap = "\n" if tag in _TIGHT else "\n\n"
        self._gap = gap if text else max(self._gap, gap)

    def _end_term(self) -> None:
        """Write a term that nothing defines, or that has fields; a label without a value goes."""
        if self._mark.endswith(": ") and not self._labels:
            self._draft.add(self._mark[:-2], self._gap)
            self._gap = "\n"
        self._mark = ""

    def _begin_item(self, element: "_Element") -> str:
        """Return the mark of an item of the list that is open."""
        if not self._lists or self._lists[-1].element.tag == "ul":
            return "- "
        items = self._lists[-1]
        number = _number(element.get("value"), items.next)
        items.next = number + 1
        letter = items.element.get("type") in ("a", "A") and 0 < number <= 26
        first = "a" if items.element.get("type") == "a" else "A"
        return f"{chr(ord(first) + number - 1) if letter else number}. "

    def _is_menu(self, element: "_Element") -> bool:
        """Return True for a menu of pages and places, which counts as left out."""
        leads = element.tag == "nav" or _navigates(element)
        if element.tag in _LISTS and not leads:
            leads = _is_contents(element, self._places) or _is_links(element)
        if leads:
            self._draft.skip("menu")
        return leads

    def _add(self, text: str | None) -> None:
        if text and not self._preformatted:
            text = re.sub(r"\s+", " ", text)
            text = text.removeprefix(" ") if self._line and self._line[-1].endswith(" ") else text
        if text:
            self._line.append(text)


def _block_of(element: "_Element") -> str:
    """Return the tag that decides the gap of a block; a paragraph in an item is the item."""
    above = element.getparent()
    if element.tag == "p" and above is not None and above.tag in ("li", "dd", "dt"):
        return str(above.tag)
    return str(element.tag)


def _rows_of(table: "_Element") -> "list[list[_Element]]":
    """Return the cells of a table by row; none where the table only lays out a page."""
    if next(table.iterdescendants("table", *_HEADINGS), None) is not None:
        return []
    rows = [list(row.iterchildren("td", "th")) for row in table.iter("tr")]
    rows = [row for row in rows if row]
    named = table.find(".//th") is not None
    cells = sum(map(len, rows))
    for row in rows:
        for cell in row:
            length = sum(map(len, islice(cell.itertext(), _LONG)))
            if length > _LONG and not named or cells == 1:
                return []
    return rows


def _is_head(row: "Sequence[_Element]") -> bool:
    return all(cell.tag == "th" or cell.getparent().getparent().tag == "thead" for cell in row)


def _cell(element: "_Element") -> TableCell | str:
    columns, rows = element.get("colspan"), element.get("rowspan")
    text = _words_of(element) if len(element) else " ".join((element.text or "").split()).rstrip("; ")
    return TableCell(text, _number(columns, 1), _number(rows, 1) or 65_534) if columns or rows else text


def _words_of(element: "_Element") -> str:
    """Return the visible text of an element in one line; items of a list are parted by ";"."""
    from lxml import etree

    pieces: list[str] = []
    skipped = None
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if event == "end":
            if inner is skipped:
                skipped = None
            elif skipped is None and inner.tag in _BLOCKS:
                pieces.append("; " if inner.tag == "li" else " ")
            pieces += [inner.tail or ""] if skipped is None and inner is not element else []
        elif skipped is None:
            if _is_hidden(inner):
                skipped = inner
            else:
                pieces += [" " if inner.tag in _BLOCKS else "", inner.text or ""]
    return " ".join("".join(pieces).split()).rstrip("; ")


def _number(text: str | None, default: int) -> int:
    """Return a number of an attribute within reason."""
    found = re.fullmatch(r"\s*(\d{1,5})\s*", text or "")
    return int(found[1]) if found else default


def _places(element: "_Element") -> list[str]:
    """Return the names by which links can lead to an element."""
    return [name for name in (element.get("id"), element.get("name")) if name]


def _navigates(element: "_Element") -> bool:
    """Return True if an element names itself as one that leads to pages and places."""
    names = f"{element.get('class') or ''} {element.get('id') or ''}".lower().split()
    return element.get("role") in _ROLES or not _CLASSES.isdisjoint(names)


def _is_contents(element: "_Element", places: frozenset[str]) -> bool:
    """Return True if a list is the contents of its page: each word is in a link to a place on it."""
    links = element.findall(".//a[@href]")
    if len(links) < 2 or any(link.get("href").partition("#")[2] not in places for link in links):
        return False
    return not _has_loose_words(element)


def _is_links(element: "_Element") -> bool:
    """Return True if a list is short links alone, as the menu of a saved page is."""
    links = element.findall(".//a[@href]")
    if len(links) < _MENU_LINKS or _has_loose_words(element):
        return False
    return sum(len("".join(link.itertext()).strip()) for link in links) <= _MENU_WORDS * len(links)


def _has_loose_words(element: "_Element") -> bool:
    """Return True if a list has words outside of its links."""
    loose = element.xpath(".//text()[not(ancestor::a)]")
    return any(_has_words(text) for text in loose)


def _has_words(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def _is_hidden(element: "_Element") -> bool:
    style = element.get("style") or ""
    return (
        element.tag in _HIDDEN
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style) is not None
    )


FEEDS = ("rss", "feed", "rdf")
_FIELDS = (("Date", ("pubDate", "published", "updated", "date")), ("Author", ("author", "creator")),
           ("Category", ("category",)))
_TEXTS = ("encoded", "content", "description", "summary")


def read_feed(name: str, text: str, limits: Limits) -> list[DocumentDraft]:
    """Read the items of a feed with their dates and authors; the text of each may be HTML."""
    root = parse_xml(text.lstrip().encode())
    items = list(root.iter("{*}item", "{*}entry"))
    if len(items) > limits.pieces:
        raise too_much(limits.pieces, "items")
    drafts = []
    for number, item in enumerate(items, 1):
        draft = DocumentDraft("feed", limits, f"{label(name)}#{number}", one_line(_text_of(item, ("title",))))
        values = [(field, _text_of(item, tags)) for field, tags in _FIELDS]
        draft.add(row_text(*zip(*values, strict=True)))
        read_markup(_text_of(item, _TEXTS), draft)
        if draft.empty:
            draft.add(draft.title)
        drafts.append(draft)
    return drafts or [DocumentDraft("feed", limits)]


def _text_of(item: "_Element", tags: tuple[str, ...]) -> str:
    """Return the text of the first of some tags that an item has, or its term."""
    for tag in tags:
        found = item.find(f"{{*}}{tag}")
        if found is not None:
            text = "".join(found.itertext()).strip() or found.get("term", "")
            if text:
                return text
    return ""
