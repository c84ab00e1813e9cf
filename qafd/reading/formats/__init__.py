"""File formats to text: the kind of the bytes, and one reader for each kind.

Everything here may run for ever, take all memory or raise anything on hostile bytes, so it
runs in a child process only; `qafd.reading.parsing` starts that process for all callers.
Third-party readers are imported where they are used, so that a text file costs 30 ms.
"""

import re
from collections import Counter

from qafd.errors import ParseError
from qafd.extensions import READERS, find_extensions
from qafd.reading.formats.chats import is_subtitles, read_subtitles
from qafd.reading.formats.draft import SAVE_AS, DocumentDraft, Limits, too_much, unsupported_error
from qafd.reading.formats.excel import read_workbook, sheet_grids
from qafd.reading.formats.graphs import draft_graph, refuse_graph
from qafd.reading.formats.graphs.tables import read_markup as read_graph_markup
from qafd.reading.formats.grid import TableGrid
from qafd.reading.formats.markdown import looks_like_markdown, read_markdown
from qafd.reading.formats.packages import Package, open_package, read_epub
from qafd.reading.formats.page import FEEDS, read_feed, read_html
from qafd.reading.formats.pdf import read_pdf
from qafd.reading.formats.plain import is_mail, read_mails, read_plain
from qafd.reading.formats.powerpoint import read_presentation
from qafd.reading.formats.records import csv_grid, delimiter_of, read_csv, read_json
from qafd.reading.formats.rst import looks_like_rst, read_rst
from qafd.reading.formats.word import read_docx
from qafd.reading.text import title_of_file
from qafd.reading.text.plaintext import amount, clean, decode, label, one_line

__all__ = ["ENDINGS", "DocumentDraft", "Limits", "read", "read_grids"]

ENDINGS = (
    "txt", "md", "markdown", "html", "htm", "xhtml", "pdf", "docx", "xlsx", "pptx", "csv", "tsv",
    "json", "jsonl", "ndjson", "epub", "graphml", "gexf", "rst", "eml", "mbox", "rss", "atom", "xml",
    "ipynb", "vtt", "srt",
)  # fmt: skip
MARKDOWN = 2_000_000  # characters from which Markdown is read as plain text, for want of time

_MARKDOWN, _RST, _LINES = ("md", "markdown"), ("rst", "rest"), ("txt", "text")
_PAGES, _JSON = ("html", "htm", "xhtml"), ("json", "jsonl", "ndjson", "ipynb")
_START = re.compile(r"^(?:\s|<!--.{0,5000}?-->)+", re.DOTALL)
_ROOT = re.compile(r"<(?:\w+:)?([a-zA-Z]\w*)")
_PAGE = re.compile(r"<(!doctype|html|head|body|\?xml)\b", re.IGNORECASE)


def read(name: str, data: bytes, limits: Limits) -> tuple[list[DocumentDraft], list[str]]:
    """Return the documents of a file and notices about parts left out or guessed.

    Raises
    ------
    ParseError
        When there is nothing to read; other exceptions mean that the file is damaged.
    """
    notices: list[str] = []
    if not data.strip(b"\0 \t\r\n\f\v\xef\xbb\xbf\xfe\xff"):
        raise ParseError("The file is empty; nothing was added.")
    ending = name.rsplit(".", 1)[-1].lower()
    if ending not in ENDINGS and ending in find_extensions(READERS):
        drafts = [read_markdown(find_extensions(READERS)[ending].load()(data), limits)]
    elif b"%PDF-" in data[:1024]:
        drafts = [read_pdf(data, limits, notices)]
    elif data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        drafts = [_read_package(open_package(data, limits))]
    elif is_mail(name, data):
        drafts = read_mails(name, data, limits)
    else:
        drafts = _text(name, data, limits, notices)
    for draft in drafts:
        draft.name = draft.name or label(name)
        draft.title = one_line(draft.title) or title_of_file(label(name))
    skipped: Counter[str] = Counter()
    for draft in drafts:
        skipped.update(draft.skipped)
    if skipped:
        left = ", ".join(amount(count, what) for what, count in skipped.items())
        notices.append(f"Left out: {left}.")
    if not any(draft.text for draft in drafts):
        raise ParseError(f"The {drafts[0].kind} file holds no text; nothing was added.")
    return drafts, notices


def read_grids(name: str, data: bytes, limits: Limits) -> list[tuple[str, TableGrid]]:
    """Return the tables of a workbook or a CSV file under their names.

    Raises
    ------
    ParseError
        The file is neither.
    """
    if not data.startswith(b"PK\x03\x04"):
        return [(title_of_file(name), csv_grid(_decode_file(data, []), limits))]
    package = open_package(data, limits)
    if "xl/workbook.xml" not in package:
        raise unsupported_error("neither a workbook nor a CSV table", "save the table as xlsx or csv")
    return list(sheet_grids(package))


def _read_package(package: Package) -> DocumentDraft:
    """Return the document in a zip file."""
    names = set(package.names)
    if "META-INF/container.xml" in names:
        return read_epub(package)
    for part, read_part in _OFFICE.items():
        if part in names:
            return read_part(package)
    if "[Content_Types].xml" in names and any(name.startswith("word/") for name in names):
        return read_docx(package)
    if "content.xml" in names and "mimetype" in names:
        raise unsupported_error("an OpenDocument file", SAVE_AS)
    raise unsupported_error("a zip archive", "unpack it and add its files")


_OFFICE = {"xl/workbook.xml": read_workbook, "ppt/presentation.xml": read_presentation}
_FOREIGN: tuple[tuple[str, str, tuple[bytes, ...]], ...] = (  # what it is, what to do, how it begins
    ("an old or password-protected Office file", SAVE_AS, (b"\xd0\xcf\x11\xe0",)),
    ("a picture", "a picture has to go through text recognition (OCR) first",
     (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM")),
    ("an archive", "unpack it and add its files",
     (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!", b"\x28\xb5\x2f\xfd")),
    ("a SQLite database", "ask it on the page Database, or add files", (b"SQLite format 3",)),
    ("a Parquet table", "save it as csv and add that; the tables of GraphRAG, entities and relationships, "
     "are imported together as a graph", (b"PAR1",)),
)


def _text(name: str, data: bytes, limits: Limits, notices: list[str]) -> list[DocumentDraft]:
    """Return documents of a file that is neither PDF nor zip."""
    text = _decode_file(data, notices)
    start = _START.sub("", text[:10000])
    if start.startswith("{\\rtf"):
        raise unsupported_error("a rich text (RTF) file", SAVE_AS)
    if start.startswith("%!PS"):
        raise unsupported_error("a PostScript file", "save it as pdf and add that")
    refuse_graph(start)
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    root = _ROOT.search(start) if start.startswith("<") else None
    if root and root[1].lower() in ("graphml", "gexf"):
        return draft_graph(read_graph_markup(text), name, limits, notices)
    if root and root[1].lower() in FEEDS:
        return read_feed(name, text, limits)
    if _PAGE.match(start) or ending in _PAGES and re.search(r"<[a-zA-Z][^<>]*>", text):
        return [read_html(text, limits)]
    if start[:1] in ("{", "["):
        drafts = read_json(name, ending, text, limits, notices)
        if drafts:
            return drafts
    elif ending in _JSON:
        notices.append(f"The content is not {ending.upper()}; it was read as plain text.")
    return _plain(name, ending, text, limits, notices)


def _decode_file(data: bytes, notices: list[str]) -> str:
    """Return the text of a file, which is refused where it is none."""
    if min(data[:512]) < 9:
        _refuse(data)
    declared = re.search(rb"""(?:charset|encoding)\s*=\s*["']?([\w-]{2,20})""", data[:2048])
    try:
        text, guessed = decode(data, declared and declared[1].decode())
    except ValueError:
        raise unsupported_error("binary data of an unknown kind") from None
    if guessed:
        notices.append("The character set was guessed; if letters are wrong, save it as UTF-8.")
    return text.lstrip("\ufeff")


def _plain(name: str, ending: str, text: str, limits: Limits, notices: list[str]) -> list[DocumentDraft]:
    """Return documents of a text without a grammar of its own: a table, light markup, or lines."""
    if len(text) > limits.text_characters:
        raise too_much(limits.text_characters, "characters of text")
    if is_subtitles(text):
        return [read_subtitles(clean(text), limits)]
    if ending in ("pdf", "docx", "xlsx", "pptx", "epub"):
        notices.append(f"The content is not {ending.upper()}; it was read as text.")
    if ending not in (*_LINES, *_MARKDOWN, *_RST):
        delimiter = delimiter_of(text, certain=ending not in ("csv", "tsv"))
        if delimiter:
            return read_csv(name, text, delimiter, limits, notices)
    unnamed = ending not in ENDINGS
    if ending in _RST or unnamed and looks_like_rst(text):
        return [read_rst(text, limits)]
    if len(text) <= MARKDOWN and (ending in _MARKDOWN or unnamed and looks_like_markdown(text)):
        return [read_markdown(text, limits)]
    return [read_plain(text, limits)]


def _refuse(data: bytes) -> None:
    """Raise ParseError where the first bytes are those of a program's own format."""
    for what, advice, magics in _FOREIGN:
        if data.startswith(magics):
            raise unsupported_error(what, advice)
