"""Feeds in RSS and Atom: each item is a document under its title."""

from typing import TYPE_CHECKING

from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.grid import row_text
from qafd.reading.formats.limits import Limits, too_much
from qafd.reading.formats.packages import parse_xml
from qafd.reading.formats.page import read_markup
from qafd.reading.text.plaintext import label, one_line

if TYPE_CHECKING:
    from lxml.etree import _Element

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
