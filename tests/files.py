"""Files made in memory: small good ones of each kind, bombs, and mutations of both."""

import io
import json
import struct
import zipfile
import zlib

import docx
from pypdf import PdfReader, PdfWriter

from qafd.reading.formats.child import answer
from qafd.reading.parsing import Limits
from qafd.sandbox import ChildReply


def read_here(request, most, seconds):
    """Read a file in this process, for files that nobody made to do harm."""
    head, _, data = request.partition(b"\n")
    asked = json.loads(head)
    return ChildReply(answer(asked["name"], data, Limits(**asked["limits"])), 0, False)


def pdf(*pages, filters=1):
    """A PDF with these lines on its pages, each stream deflated `filters` times."""
    streams = []
    for lines in pages:
        shown = b"".join(
            b"(" + line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(")
            .replace(b")", b"\\)") + b") Tj T*\n" for line in lines)
        streams.append(b"BT /F1 12 Tf 14 TL 72 720 Td\n" + shown + b"ET")
    return pdf_of_streams(*streams, filters=filters)


def pdf_of_streams(*streams, filters=0):
    """A PDF with a page for each of these contents, which are deflated `filters` times."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 "
               b"/BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    kids = []
    for stream in streams:
        for _ in range(filters):
            stream = zlib.compress(stream)
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects) + 2))
        objects.append(b"<< /Length %d /Filter [%s] >>\nstream\n%s\nendstream" % (
            len(stream), b" ".join([b"/FlateDecode"] * filters), stream))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return pdf_of_objects(objects)


def pdf_of_objects(objects):
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


def pdf_with(data, *, password="", title="", bookmarks=()):
    """The same PDF with a password, a title or bookmarks (heading, page from 0)."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    if title:
        writer.add_metadata({"/Title": title})
    for heading, page in bookmarks:
        writer.add_outline_item(title=heading, page_number=page)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def docx_of(*paragraphs, title="", table=()):
    """A Word file of (text, heading level or None for body text), then a table."""
    document = docx.Document()
    document.core_properties.title = title
    for text, level in paragraphs:
        if level is None:
            document.add_paragraph(text)
        else:
            document.add_heading(text, level)
    if table:
        cells = document.add_table(len(table), len(table[0]))
        for row, values in zip(cells.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def zipped(parts):
    """A deflated zip file of named parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def replaced(data, part, content):
    """A zip file with one part replaced."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {n: archive.read(n) for n in archive.namelist()}
    return zipped(parts | {part: content})


def lying_zip(data, part, size):
    """A zip file whose directory and local header claim that a part unpacks to `size` bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.getinfo(part)
    real, out = struct.pack("<I", entry.file_size), bytearray(data)
    at = data.find(real)
    while at >= 0:
        out[at : at + 4] = struct.pack("<I", size)
        at = data.find(real, at + 1)
    return bytes(out)


def epub(*chapters, title="A book", extra=None):
    """An EPUB with these XHTML bodies as its spine."""
    items = "".join(
        f'<item id="c{i}" href="text/c%20{i}.xhtml" media-type="application/xhtml+xml"/>'
        for i in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{i}"/>' for i in reversed(range(len(chapters))))
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml":
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}</manifest>"
        f"<spine>{spine}</spine></package>",
    }
    for i, body in enumerate(chapters):
        parts[f"OEBPS/text/c {i}.xhtml"] = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
            f"<head><title/><script src='x.js'/></head><body>{body}</body></html>")
    return zipped(parts | (extra or {}))


def mutated(data, random_):
    """The data with a few bytes flipped, cut out, repeated or moved."""
    out = bytearray(data)
    for _ in range(random_.randint(1, 12)):
        at = random_.randrange(len(out))
        until = min(len(out), at + random_.randint(1, 200))
        action = random_.randrange(6)
        if action == 0:
            out[at] ^= 1 << random_.randrange(8)
        elif action == 1:
            out[at] = random_.randrange(256)
        elif action == 2 and until - at < len(out) - 1:
            del out[at:until]
        elif action == 3:
            out[at:at] = out[at:until] * random_.randint(1, 20)
        elif action == 4:
            out[at:until] = random_.randbytes(until - at)
        else:
            number = random_.choice((b"0", b"-1", b"99999999999", b"1 0 R", b"<<", b"[", b"/Kids"))
            out[at : at + len(number)] = number
    return bytes(out)


def flate_bomb(megabytes=400):
    """A PDF of a few kB whose only page unpacks to so many megabytes, through two filters."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"(aaaaaaaa) Tj\n" * 75_000) for _ in range(megabytes))
    stream = zlib.compress(packed + packer.flush(), 9)
    return pdf_of_objects([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (
            len(stream), stream),
    ])


def page_tree_loop():
    """A PDF whose page tree contains itself."""
    return pdf_of_objects([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [2 0 R 2 0 R 3 0 R] /Count 1000000 >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 2 >>",
    ])


def zip_bomb(megabytes=300):
    """A docx of some 300 kB whose main part unpacks to so many megabytes."""
    text = b"<w:p><w:r><w:t>" + b"a" * (megabytes * 1_000_000)
    return replaced(docx_of(("x", None)), "word/document.xml", text)


def entity_bomb():
    """The XML that grows by a factor of ten with each of its nine entities."""
    lines = ["<!ENTITY lol0 'lol'>"]
    lines += [f"<!ENTITY lol{i} '{f'&lol{i - 1};' * 10}'>" for i in range(1, 10)]
    return ("<?xml version='1.0'?><!DOCTYPE lolz [" + "".join(lines) + "]><lolz>&lol9;</lolz>"
            ).encode()
