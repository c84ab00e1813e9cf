"""Zip files unpacked within limits, for the libraries that read Office files, and e-books."""

import io
import re
import zipfile
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qafd.errors import ParseError
from qafd.reading.formats.draft import DocumentDraft, Limits, worthy_title
from qafd.reading.formats.page import parse_xml, read_markup, refuse_entities
from qafd.reading.text.plaintext import decode

if TYPE_CHECKING:
    from lxml.etree import _Element


_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
_WORD_KINDS = re.compile(rb"ms-word\.(?:document|template)\.macroEnabled(?:Template)?"
                         rb"|openxmlformats-officedocument\.wordprocessingml\.template")


def packed_files(data: bytes, limits: Limits) -> list[bytes]:
    """Return the files in a zip file, in their order."""
    package = open_package(data, limits)
    return [package.read(name) for name in package.names if not name.endswith("/")]


def open_package(data: bytes, limits: Limits) -> "Package":
    """Return a zip file whose directory has been checked."""
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
        """Return the bytes of a part."""
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
        """Return the root of an XML part; entities and document types are refused."""
        return parse_xml(self.read(part))

    def repack(self) -> io.BytesIO:
        """Return a zip file of the XML parts for a library, which would unpack without limits.

        Pictures and other parts are empty in it. Strict Open XML becomes the usual one, and
        templates and files with macros become documents; the libraries know no other.
        """
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name in dict.fromkeys(self.names):
                data = b""
                if name.endswith((".xml", ".rels")):
                    data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2",
                                       refuse_entities(self.read(name)))
                if name == "[Content_Types].xml":
                    data = _WORD_KINDS.sub(b"openxmlformats-officedocument.wordprocessingml.document", data)
                archive.writestr(name, data)
        stream.seek(0)
        return stream

    def count(self, pattern: str, inside: bytes = b"") -> int:
        """Return the number of parts whose name matches a pattern, or how often they have some bytes."""
        parts = [name for name in self.names if re.fullmatch(pattern, name)]
        return sum(self.read(name).count(inside) for name in parts) if inside else len(parts)


def read_epub(package: Package) -> DocumentDraft:
    """Return the chapters of an e-book."""
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
