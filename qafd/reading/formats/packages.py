"""Zip files unpacked within limits, and the Word documents and e-books in them."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, worthy_title
from qafd.reading.formats.limits import Limits
from qafd.reading.formats.markup import read_markup
from qafd.reading.text.plaintext import decode

if TYPE_CHECKING:
    from lxml.etree import _Element


def packed_files(data: bytes, limits: Limits) -> list[bytes]:
    """The files in a zip file, in their order."""
    package = open_package(data, limits)
    return [package.read(name) for name in package.names if not name.endswith("/")]


def open_package(data: bytes, limits: Limits) -> "Package":
    """A zip file whose directory has been checked."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise ParseError(
            "The file is a damaged zip, docx, xlsx, pptx or epub; open it in its program, save it "
            "again, retry."
        ) from None
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if (
        unpacked > limits.unpacked_bytes
        or unpacked > 1_000_000 + limits.ratio * len(data)
        or len(entries) > limits.pieces
    ):
        raise ParseError(f"The file would unpack from {len(data):,} to {unpacked:,} bytes in "
                         f"{len(entries):,} parts, more than is safe; it was not read.")
    return Package(archive, limits, len(data))


class Package:
    """A zip file whose parts are read within the limits, whatever its directory claims."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits, packed: int) -> None:
        self._archive, self.limits = archive, limits
        self._left = min(limits.unpacked_bytes, 1_000_000 + limits.ratio * packed)

    @property
    def names(self) -> list[str]:
        """Its parts, in their order."""
        return self._archive.namelist()

    def __contains__(self, part: str) -> bool:
        return part in self._archive.NameToInfo

    def read(self, part: str) -> bytes:
        """The bytes of a part."""
        entry = self._archive.getinfo(part)
        if entry.flag_bits & 1:
            raise ParseError("The file is protected by a password; save a copy without one.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ParseError("The file is packed in an unusual way; save it again and retry.")
        with self._archive.open(entry) as stream:
            data = stream.read(self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise ParseError("The file unpacks to more than is safe; it was not read.")
        return data

    def xml(self, part: str) -> "_Element":
        """The root of an XML part; entities and document types are refused."""
        from lxml import etree

        return etree.fromstring(_without_entities(self.read(part)), _xml_parser())


def stream_elements(data: bytes, tag: str) -> Iterator["_Element"]:
    """The elements of a tag, each freed after it was looked at; entities are refused."""
    from lxml import etree

    stream = etree.iterparse(io.BytesIO(_without_entities(data)), tag=tag, resolve_entities=False,
                             no_network=True, load_dtd=False)
    for _, element in stream:
        yield element
        element.clear(keep_tail=True)
        parent = element.getparent()
        if parent is not None:
            del parent[: parent.index(element)]


def _xml_parser() -> Any:
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=False)


def _without_entities(data: bytes) -> bytes:
    if b"<!ENTITY" in data or "<!ENTITY".encode("utf-16-le") in data:
        raise ParseError("The file declares XML entities, which are not read; save it again.")
    return data


_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_OFF = ("0", "false", "off")  # values of a property that is not set


def read_docx(package: Package) -> DocumentDraft:
    """The paragraphs and tables of a Word document."""
    draft = DocumentDraft("docx", package.limits)
    main = "word/document.xml"
    if "_rels/.rels" in package:
        for relation in package.xml("_rels/.rels"):
            if relation.get("Type", "").endswith("/officeDocument"):
                main = relation.get("Target", main).lstrip("/")
    if main not in package:
        raise ParseError("The docx has no main document part; open it in Word and save it again.")
    levels = _heading_styles(package)
    for part in (main, "word/footnotes.xml", "word/endnotes.xml"):
        if part in package:
            _paragraphs(package.read(part), levels, draft)
    if "docProps/core.xml" in package:
        core = package.xml("docProps/core.xml")
        title = core.findtext("{http://purl.org/dc/elements/1.1/}title") or ""
        draft.title = worthy_title(title) or draft.title
    return draft


def _heading_styles(package: Package) -> frozenset[str]:
    """Ids of paragraph styles that are headings; their ids, unlike names, are translated."""
    if "word/styles.xml" not in package:
        return frozenset()
    headings = set()
    for style in package.xml("word/styles.xml").iter(_W + "style"):
        for name in style.findall(_W + "name"):
            if re.fullmatch(r"heading \d|title", name.get(_W + "val", "").lower()):
                headings.add(style.get(_W + "styleId", ""))
    return frozenset(headings)


def _paragraphs(data: bytes, headings: frozenset[str], draft: DocumentDraft) -> None:
    """Append paragraphs and table rows, freeing each element after it was read."""
    from lxml import etree

    text = _WordText(headings, draft)
    tags = [_W + "p", _W + "tc", _W + "tr", _W + "tbl", _W + "tblHeader", _FALLBACK]
    stream = etree.iterparse(
        io.BytesIO(_without_entities(data)), events=("start", "end"), tag=tags,
        resolve_entities=False, no_network=True, load_dtd=False,
    )  # fmt: skip
    for event, element in stream:
        if event == "start":
            text.start(element.tag)
        elif element.tag == _W + "p":
            text.end_paragraph(element)
        else:
            text.end(element)


class _WordText:
    """The paragraphs and tables of a part of a Word document, one element after another."""

    def __init__(self, headings: frozenset[str], draft: DocumentDraft) -> None:
        self._headings, self._draft = headings, draft
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._depth = 0  # cells within cells
        self._copies = 0  # open elements that repeat a text box for older programs
        self._headed = False  # whether the table says that its first row repeats on each page

    def start(self, tag: str) -> None:
        """Take in the beginning of an element."""
        if tag == _FALLBACK:
            self._copies += 1
        elif tag == _W + "tc":
            if self._depth == 0:
                self._cells.append("")
            self._depth += 1

    def end(self, element: "_Element") -> None:
        """Take in the end of an element that is no paragraph."""
        tag = element.tag
        if tag == _FALLBACK:
            self._copies -= 1
        elif tag == _W + "tc":
            self._depth -= 1
        elif self._depth:
            return  # a table within a cell is a part of its text
        elif tag == _W + "tblHeader":
            self._headed |= not self._rows and element.get(_W + "val") not in _OFF
        elif tag == _W + "tr":
            self._rows.append([" ".join(cell.split()) for cell in self._cells])
            self._cells.clear()
        elif tag == _W + "tbl":
            self._draft.table(self._rows, self._headed)
            self._rows, self._headed = [], False

    def end_paragraph(self, element: "_Element") -> None:
        """Take in a paragraph and free it."""
        text = "" if self._copies else "".join(_runs(element))
        if self._depth:
            self._cells[-1] += text + "\n"
        elif _style(element) in self._headings:
            self._draft.head(text)
        else:
            self._draft.add(text)
        element.clear(keep_tail=True)
        parent = element.getparent()
        if parent is not None and not self._depth:
            del parent[: parent.index(element)]


def _style(paragraph: "_Element") -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else style.get(_W + "val", "")


def _runs(paragraph: "_Element") -> Iterator[str]:
    """Visible text of a paragraph; hidden runs and deleted text stay out."""
    for run in paragraph.iter(_W + "r"):
        if run.find(f"{_W}rPr/{_W}vanish") is not None:
            continue
        for piece in run:
            if piece.tag == _W + "t":
                yield piece.text or ""
            elif piece.tag in (_W + "tab", _W + "ptab"):
                yield "\t"
            elif piece.tag in (_W + "br", _W + "cr"):
                yield "\n"
            elif piece.tag == _W + "noBreakHyphen":
                yield "-"


def read_epub(package: Package) -> DocumentDraft:
    """The chapters of an e-book."""
    draft = DocumentDraft("epub", package.limits)
    if "META-INF/encryption.xml" in package:
        protection = package.xml("META-INF/encryption.xml")
        methods = (e.get("Algorithm", "") for e in protection.iter("{*}EncryptionMethod"))
        if not all("embedding" in method.lower() for method in methods):  # fonts only
            raise ParseError("The epub is protected against copying; add one without protection.")
    container = package.xml("META-INF/container.xml")
    root = next(container.iter("{*}rootfile"), None)
    opf = "" if root is None else root.get("full-path", "")
    if opf not in package:
        raise ParseError("The epub does not say where its content is; save it again and retry.")
    book = package.xml(opf)
    folder = opf.rpartition("/")[0]
    files = {item.get("id"): unquote(item.get("href", "")) for item in book.iter("{*}item")}
    title = book.findtext(".//{http://purl.org/dc/elements/1.1/}title") or ""
    draft.title = worthy_title(title)
    for reference in book.iter("{*}itemref"):
        href = files.get(reference.get("idref"), "")
        part = f"{folder}/{href}".lstrip("/")
        if href and part in package:
            text, _ = decode(package.read(part))
            read_markup(text, draft)
    return draft
