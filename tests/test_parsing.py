"""Every kind of file, every way to fail, and what no file may do."""

import json
import os
import random
import subprocess
import sys
import textwrap

import pytest
from files import (
    docx_of,
    entity_bomb,
    epub,
    flate_bomb,
    lying_zip,
    page_tree_loop,
    pdf,
    pdf_of_streams,
    pdf_with,
    read_here,
    replaced,
    zip_bomb,
    zipped,
)

from qafd.errors import ParseError
from qafd.reading.parsing import Limits, parse, parse_with_notices

PAGES = (["Ada Lovelace wrote the first program."], ["Charles Babbage designed the engine."])
HTML = """<!doctype html><html><head><title>Ada &amp; the engine</title><style>p{}</style></head>
<body><nav>Go to <b>menu</b></nav><h1>Ada <i>Lovelace</i></h1><p>She wrote
 a program.<br>It ran.</p><script>alert(1)</script>
<h2>Engine</h2><table><tr><th>part</th><th>count</th></tr><tr><td>wheel</td><td>25,000</td></tr>
</table><ul><li>one</li><li>two</li></ul><p style="display: none">secret</p>after
<pre>x
  y</pre></body></html>"""
MARKDOWN = """---
title: "Notes on Ada"
---
# The *first* program

It used [Bernoulli numbers](https://en.wikipedia.org/wiki/Bernoulli_(numbers)) and `code`.
![portrait](ada.png "Ada")

Engine
------
| part | count |
|------|------:|
| wheel | **25000** |

```
# no heading
```
> quoted snake_case_name
"""


def only(name, data, **limits):
    documents = parse_with_notices(name, data, Limits(**limits), read_here).documents
    assert len(documents) == 1
    return documents[0]


def under(document):
    """What stands under each heading, and on each page."""
    ends = [mark.start for mark in document.marks[1:]] + [len(document.text)]
    return [(mark.page, mark.heading, document.text[mark.start : end].strip())
            for mark, end in zip(document.marks, ends, strict=True)]


def test_markdown_loses_its_markup_and_keeps_its_headings():
    document = only("notes.md", MARKDOWN.encode())
    assert (document.kind, document.title) == ("md", "Notes on Ada")
    assert under(document) == [
        (None, "The first program",
         "The first program\n\nIt used Bernoulli numbers and code. portrait"),
        (None, "Engine",
         "Engine\n\npart: wheel\ncount: 25000\n\n# no heading\n\nquoted snake_case_name"),
    ]


RST = r"""..
  A comment on the file.

######
Backup
######

:author: Ada

.. _target:

.. note:: Read :ref:`the guide <guide>` first,
   then *begin*.

Excluding files
===============

The option ``--exclude`` of `restic <https://restic.net>`_ takes
a pattern::

    $ restic backup \
        --exclude="*.c"

.. code-block:: console
   :linenos:

   $ ls

   notes

.. toctree::
   other

- first item
  goes on
- second

======  =====
Name    Size
======  =====
a.txt   3
======  =====
"""


def test_a_title_right_below_the_fields_of_an_rst_document_is_one():
    document = only("guide.rst", b":orphan:\n:author: Ada\n  Brenner\nBackup\n======\n\nRead the guide.")
    assert (document.title, document.text) == ("Backup", "author: Ada Brenner\n\nBackup\n\nRead the guide.")


def test_rst_keeps_its_titles_and_the_text_of_directives():
    document = only("guide.rst", RST.encode())
    assert (document.kind, document.title) == ("rst", "Backup")
    assert under(document) == [
        (None, "Backup", "Backup\n\nauthor: Ada\n\nRead the guide first, then begin."),
        (None, "Excluding files", "Excluding files\n\n"
         "The option --exclude of restic takes a pattern:\n\n"
         '$ restic backup \\\n    --exclude="*.c"\n\n$ ls\n\nnotes\n\n'
         "- first item goes on\n- second\n\nName: a.txt\nSize: 3")]


TABLES = {
    "simple": """\
        =====  ================
        Code   What to do
        =====  ================
        T-1    Ask *Ada*, or
               wait

        T-2    Stop
        =====  ================
        """,
    "list-table": """\
        .. list-table::
           :header-rows: 1

           * - Code
             - What to do
           * - T-1
             - Ask *Ada*, or
               wait
           * - T-2
             - Stop
        """,
}


@pytest.mark.parametrize("notation", TABLES)
@pytest.mark.parametrize("deep", [0, 3])
def test_rows_of_rst_tables_are_told_with_their_columns(notation, deep):
    table = textwrap.indent(textwrap.dedent(TABLES[notation]), deep * " ")
    text = only("errors.rst", f"Errors\n======\n\n.. note::\n\n{table}\nLast words.\n".encode()).text
    assert text == ("Errors\n\nCode: T-1\nWhat to do: Ask Ada, or wait\n\nCode: T-2\nWhat to do: Stop\n\n"
                    "Last words.")


def test_fields_of_a_defined_term_are_a_row_with_it_and_literals_stay():
    text = only("settings.rst", b"""\
Settings
========

``port``
   :Default: ``7420``
   :Live: no

   Lies in ``C:\\Data\\*x*``.
""").text
    assert text == "Settings\n\nport\nDefault: 7420\nLive: no\n\nLies in C:\\Data\\*x*."


def test_a_defined_term_is_parted_from_what_is_said_of_it():
    terms = b"Terms\n=====\n\n``get NAME``\n   Gets it. Waits\n   for it.\n\nA note\ngoes on.\n"
    text = only("terms.rst", terms).text
    assert text == "Terms\n\nget NAME: Gets it. Waits for it.\n\nA note goes on."


MARKS = {
    "x.txt": (" a", "\t", "> ", "- ", "AB\n\nc.\n\n", "a. "),
    "x.md": ("<!--", "|", "[", "`", "*a", "> ", "- ", '"', "![", "a | b\n"),
    "x.rst": (" a", ".. ", "a::\n\n  b\n\n", "=" * 30 + "\n", "|", "`", "*a", "[", "- "),
    "x.html": ("<!--", " a", "<td>", "&amp;", "<!", "<p>"),
    "x.csv": ('"', ",", "\t", " a", "a,b\n"),
    "x.json": ('["', "[", '{"a":', " "),
    "x.eml": ("From: a@b.c\n", " a\n", "<!--"),
    "x.vtt": ("WEBVTT\n\n00:01.000 --> 00:02.000\n", "<v "),
    "x.gml": ("creator ", "%\n", "# "),
}


@pytest.mark.parametrize(("name", "mark"), [(name, mark) for name, marks in MARKS.items() for mark in marks])
def test_endless_marks_take_no_more_than_linear_time(name, mark):
    # The squares of these lengths pass the limit on computing time.
    text = f"x{mark * 300_000}x" if mark.isspace() else mark * (150_000 // len(mark))
    refusal = ""
    try:
        parse(name, text.encode(), Limits(wall_seconds=300))
    except ParseError as error:
        refusal = str(error)
    assert "took more than" not in refusal


def test_a_page_shows_its_visible_text_only():
    document = only("page.html", HTML.encode())
    assert (document.kind, document.title) == ("html", "Ada & the engine")
    assert document.text.startswith("Ada Lovelace\n\nShe wrote")
    assert under(document) == [
        (None, "Ada Lovelace", "Ada Lovelace\n\nShe wrote a program.\nIt ran."),
        (None, "Engine",
         "Engine\n\npart: wheel\ncount: 25,000\n\n- one\n- two\n\nafter\n\nx\n  y"),
    ]


def test_the_number_of_a_note_and_a_power_stay_apart_from_the_number_before_them():
    page = """<body><p>Built in 1873<sup><a href="#f1">1</a></sup> of 3<sup>−2</sup> kg
<a href="b#c"><sup>2</sup></a>, 5 m<sup>2</sup> and the 2<sup>nd</sup> <a href="/7">7</a>.</p></body>"""
    assert only("page.html", page.encode()).text == (
        "Built in 1873 [1] of 3^−2 kg [2], 5 m2 and the 2nd 7.")


@pytest.mark.parametrize("depth", [1, 200, 300, 1500])
def test_a_page_is_read_to_its_end_however_it_nests(depth):
    page = f"<body><p>One.</p>{'<div>' * depth}Two.{'</div>' * depth}<p>Three.</p></body>"
    assert only("page.html", page.encode()).text == "One.\n\nTwo.\n\nThree."


def test_what_leads_about_a_page_stays_out_and_lists_of_links_elsewhere_stay():
    page = """<body><ul><li><a href="#b">1.1. How does it turn?</a></li>
<li>2. <a href="page.html#c">Where is it kept?</a></li></ul>
<div class="book toc"><dl><dt><a href="other.html">Chapter 2</a></dt></dl></div>
<div role="navigation">Previous page</div>
<ul><li><a href="#b">The wheel</a></li><li>and what it drives</li></ul>
<ol><li><a href="https://a.example/">Mill</a></li><li><a href="https://b.example/">Store</a></li></ol>
<h2 id="b">How does it turn?</h2><p>By hand.</p><h2><a name="c"></a>Where is it kept?</h2></body>"""
    assert only("page.html", page.encode()).text == (
        "- The wheel\n- and what it drives\n\n1. Mill\n2. Store\n\nHow does it turn?\n\nBy hand.\n\n"
        "Where is it kept?")


def test_a_pdf_keeps_pages_and_bookmarks():
    lines = ["Early years", "She was born in 1815.", "Later years", "She died in 1852."]
    data = pdf_with(pdf(lines, *PAGES), title="A life",
                    bookmarks=[("Early years", 0), ("Later years", 0), ("Babbage", 2)])
    document = only("scan.pdf", data)
    assert (document.kind, document.title) == ("pdf", "A life")
    assert under(document) == [
        (1, "Early years", "Early years\n\nShe was born in 1815."),
        (1, "Later years", "Later years\n\nShe died in 1852."),
        (2, "Later years", "Ada Lovelace wrote the first program."),
        (3, "Babbage", "Charles Babbage designed the engine."),
    ]


@pytest.mark.parametrize(("lines", "large", "title"), [
    (("Oxygen in the", "inner fjord"), 2, "Oxygen in the inner fjord"),
    (("Oxygen in the", "inner fjord"), 1, "Oxygen in the"), (("Oxygen", "inner fjord"), 1, "report"),
    (("Oxygen in the", "inner fjord"), 0, "report"), (("Oxygen in the " * 20,), 1, "report")])
def test_the_largest_words_of_a_page_title_a_pdf_without_another_title(lines, large, title):
    sized = [(17 if place < large else 12, line) for place, line in enumerate(lines)]
    sized += [(12, line) for line in ("Final report of the county on water, which",
                                      "was sampled at nine stations. The oxygen",
                                      "fell from five to two milligrams a litre.")]
    stream = b"".join(b"BT /F1 %d Tf 72 %d Td (%b) Tj ET " % (size, 720 - 20 * place, line.encode())
                      for place, (size, line) in enumerate(sized))
    document = only("report.pdf", pdf_of_streams(stream))
    assert document.title == title
    assert (f"{title}\n\n" in document.text) == (title != "report")
    assert only("report.pdf", pdf_with(pdf_of_streams(stream), title="A life")).title == "A life"


def test_words_of_a_pdf_that_only_space_divides_are_words():
    stream = b"BT /F1 12 Tf 72 720 Td [(Ada)-280(wrote)-310(pro)12(grams.)] TJ ET"
    assert only("set.pdf", pdf_of_streams(stream)).text == "Ada wrote programs."


def test_running_lines_stay_out_and_titles_of_slides_stay():
    heads = ("Early years", "The mill", "The store", "Later years", "Letters")
    body = ("She was born in London, where", "she also learned to reckon. She", "wrote the first",
            "program of an engine that was not built, in notes", "to a translation.")
    pages = [(f"{head} {n}", "", "", *body[n:], *body[:n], "", "", f"- {n} -")
             for n, head in enumerate(heads)]
    text = only("book.pdf", pdf(*pages)).text
    assert not any(head in text for head in heads)
    assert "- 3 -" not in text
    assert text.count("to a translation.") == len(heads)
    slides = [b"BT /F1 30 Tf 72 720 Td (%b) Tj ET BT /F1 12 Tf 14 TL 72 600 Td (%b) Tj T* (%b) Tj T* (%b) "
              b"Tj ET" % (f"{head} {n}".encode(), *(line.encode() for line in body[:3]))
              for n, head in enumerate(heads)]
    assert all(head in only("talk.pdf", pdf_of_streams(*slides)).text for head in heads)


def test_the_contents_of_a_pdf_stay_out_and_its_headings_are_found_by_its_bookmarks():
    contents = ["Contents", "1.1 The mill of the engine . . . . . . . . . 2", "1.2 Store ........ 3"]
    page = ["1.1 The mill of the", "engine", "It turns wheels of brass that are made by hand",
            "in a shop of the same street, or in another work-", "shop."]
    data = pdf_with(pdf(contents, page), bookmarks=[("The mill of the engine", 1)])
    assert under(only("a.pdf", data)) == [
        (2, "The mill of the engine",
         "The mill of the engine\n\nIt turns wheels of brass that are made by hand in a shop of "
         "the same street, or in another workshop.")]


def test_word_headings_tables_and_title():
    data = docx_of(("Ada", 1), ("She wrote.", None), ("Engine", 2),
                   title="A life", table=[["part", "count"], ["wheel", "9"]])
    document = only("a.docx", data)
    assert (document.kind, document.title) == ("docx", "A life")
    assert under(document) == [(None, "Ada", "Ada\n\nShe wrote."),
                               (None, "Engine", "Engine\n\npart: wheel\ncount: 9")]


def test_word_text_that_is_hidden_deleted_or_repeated_stays_out():
    body = ('<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
            'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body><w:p>'
            "<w:r><w:t>seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
            "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p><mc:AlternateContent>"
            "<mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r>"
            "<w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:body></w:document>")
    data = replaced(docx_of(("x", None)), "word/document.xml", body.encode())
    assert only("a.docx", data).text == "seen\n\nbox"


def test_an_epub_is_read_in_the_order_of_its_spine():
    data = epub("<h1>Second</h1><p>Later.</p>", "<h1>First</h1><p>Once upon a time.</p>")
    document = only("book.epub", data)
    assert (document.kind, document.title) == ("epub", "A book")
    assert under(document) == [(None, "First", "First\n\nOnce upon a time."),
                               (None, "Second", "Second\n\nLater.")]


RECORDS = [{"pid": "p1", "title": "Ada", "text": "She wrote."}, {"pid": "p2", "text": " "},
           {"pid": "p1", "title": "Charles", "text": "He built."},
           {"title": "", "text": "No title here at all, only eight words count."}]


@pytest.mark.parametrize(("name", "kind", "data"), [
    ("r.jsonl", "jsonl", "\n".join(map(json.dumps, RECORDS))),
    ("r.json", "json", json.dumps(RECORDS)),
    ("r.json", "json", json.dumps({"version": 1, "data": RECORDS})),
    ("r.csv", "csv", "pid,title,text\n" + "".join(
        f"{r.get('pid', '')},{r.get('title', '')},\"{r['text']}\"\n" for r in RECORDS)),
], ids=["jsonl", "json", "nested json", "csv"])
def test_records_with_a_text_become_one_document_each(name, kind, data):
    parsed = parse_with_notices(name, data.encode(), ask=read_here)
    assert [(d.name, d.title, d.text, d.kind) for d in parsed.documents] == [
        (f"{name}#p1", "Ada", "She wrote.", kind),
        (f"{name}#p1 (2)", "Charles", "He built.", kind),
        (f"{name}#4", "No title here at all, only eight words",
         "No title here at all, only eight words count.", kind)]
    whole = ", 1 field of the whole file" if "version" in data else ""
    assert parsed.notices == (f"Left out: 1 record without text{whole}.",)


def test_json_lines_survive_a_broken_line_and_say_so():
    parsed = parse_with_notices("x.jsonl", b'{"text": "one"}\n{"text": \n{"text": "two"}\n')
    assert [d.text for d in parsed.documents] == ["one", "two"]
    assert parsed.notices == ("1 line is not JSON and left out: 2.",)


@pytest.mark.parametrize(("name", "data", "kind"), [
    ("evil.pdf", HTML.encode(), "html"), ("page.txt", HTML.encode(), "html"),
    ("x.exe", pdf(*PAGES), "pdf"), ("x.pdf", docx_of(("Text", None)), "docx"),
    ("x.docx", epub("<p>Text</p>"), "epub"), ("x.md", b'{"a": "b"}', "json"),
    ("x.txt", b"# heading\n", "txt"), ("x.md", b"a,b\n1,2\n3,4\n", "md"),
    ("x.csv", b"Only a line of prose.", "txt"), ("x.json", b"Just prose.", "txt"),
    ("pasted text", b"# Title\n\nText", "md"), ("pasted", b"a,b,c\n1,2,3\n4,5,6\n", "csv"),
    ("pasted", b"Well, yes.\nOne, two, three.\nNo.\n", "txt"),
    ("notes.txt", b"[1] A reference.\n", "txt"), ("MZ.txt", b"MZ is a river.", "txt"),
    ("x.html", b"Just prose, 1 < 2.", "txt")])
def test_what_the_bytes_are_decides_and_the_name_only_breaks_ties(name, data, kind):
    assert only(name, data).kind == kind


UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank": (b"\xef\xbb\xbf \r\n\t", "is empty"),
    "password pdf": (pdf_with(pdf(*PAGES), password="x"), "protected by a password"),
    "scanned pdf": (pdf([], []), "no text.*OCR"),
    "cut pdf": (b"%PDF-1.7\n1 0 obj\n<<", "damaged"),
    "page tree loop": (page_tree_loop(), "damaged|no text|more than 1,000 pages"),
    "cut docx": (docx_of(("Text", None))[:-300], "damaged"),
    "docx without text part": (
        zipped({"[Content_Types].xml": "", "word/x.xml": ""}), "damaged"),
    "docx of broken xml": (
        replaced(docx_of(("Text", None)), "word/document.xml", b"<w:p"), "damaged"),
    "docx with entities": (
        replaced(docx_of(("Text", None)), "word/document.xml", entity_bomb()), "entities"),
    "docx with utf-16 entities": (
        replaced(docx_of(("Text", None)), "word/styles.xml",
                 entity_bomb().decode().encode("utf-16")), "entities"),
    "zip bomb": (zip_bomb(), "more than is safe"),
    "zip bomb below the total": (zip_bomb(100), "would unpack from"),
    "many entries": (zipped({f"{i}": "" for i in range(1200)}), "more than is safe"),
    "lying zip": (lying_zip(zip_bomb(20), "word/document.xml", 20_000), "damaged|more than"),
    "epub with drm": (
        epub("<p>x</p>", extra={"META-INF/encryption.xml": '<encryption xmlns:e="urn:e">'
             '<e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>'
             "</encryption>"}), "protected against copying"),
    "xml bomb": (entity_bomb(), "entities"),
    "broken json": (b'{"text": "cut', "damaged"),
    "deep json": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "page that nests without end": (b"<body><p>Text</p>" + b"<div>" * 5000 + b"more", "too deeply"),
    "page without text": (b"<html><script>only()</script></html>", "no text"),
    "records without text": (b'[{"text": ""}, {"text": " "}]', "no text"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "a picture.*OCR"),
    "old word file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "old or password-protected"),
    "opendocument": (zipped({"mimetype": "", "content.xml": ""}), "OpenDocument"),
    "zip": (zipped({"a.txt": "text"}), "a zip archive.*unpack"),
    "nested zip": (zipped({"a.zip": zip_bomb(50)}), "a zip archive"),
    "rtf": (rb"{\rtf1\ansi text}", "RTF"),
    "postscript": (b"%!PS-Adobe-3.0", "PostScript"),
    "noise": (random.Random(1).randbytes(5000), "unknown kind"),
}


@pytest.mark.parametrize(("data", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_one_clear_sentence(data, why):
    name = "x.json" if why in ("damaged",) and data.startswith(b"{") else "x"
    with pytest.raises(ParseError, match=why) as caught:
        parse(name, data, Limits(pieces=1000))
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(message) < 260


def test_a_part_that_is_unpacked_again_and_again_counts_every_time():
    chapter = "<p>" + "<b></b>" * 30_000 + "text</p>"
    once = epub(chapter)
    many = replaced(once, "OEBPS/book.opf", b"<package><manifest>"
                    b"<item id='c' href='text/c%200.xhtml'/></manifest><spine>"
                    + b"<itemref idref='c'/>" * 100 + b"</spine></package>")
    assert only("x", once, unpacked_bytes=1_000_000).text == "text"
    with pytest.raises(ParseError, match="unpacks to more than is safe"):
        parse("x", many, Limits(unpacked_bytes=1_000_000))


LIMITS = {
    "txt": (b"word " * 300, {"text_characters": 1000}),
    "html": (b"<html><p>" + b"word " * 300, {"text_characters": 1000}),
    "pdf": (pdf(["word " * 15] * 30), {"text_characters": 1000}),
    "jsonl": (b"\n".join([b'{"text": "word word word word word"}'] * 100), {"text_characters": 1000}),
    "docx": (docx_of(("word " * 300, None)), {"text_characters": 1000}),
    "headings": (b"<html>" + b"".join(b"<h1>%d</h1>" % i for i in range(20)), {"pieces": 10}),
    "records": (b'{"text": "x"}\n' * 20, {"pieces": 10}),
    # putting these marks in order takes quadratic time
    "computing": (("a" + "\u0315\u0300" * 300_000).encode(), {"cpu_seconds": 1}),
    "waiting": (b"text", {"wall_seconds": 0.001})}
TOLD = {"text_characters": "more than 1,000 characters of text; split it", "pieces": "more than 10 ",
        "cpu_seconds": "took more than 1 s of computing time", "wall_seconds": r"more than 0\.001 s;"}


@pytest.mark.parametrize(("data", "limits"), LIMITS.values(), ids=LIMITS)
def test_what_is_beyond_a_limit_is_refused(data, limits):
    with pytest.raises(ParseError, match=TOLD[next(iter(limits))]):
        parse("x", data, Limits(**limits))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the address space")
def test_a_file_that_takes_too_much_memory_is_given_up():
    with pytest.raises(ParseError, match="more than 200 MB of memory"):
        parse("x.html", b"<p>a" * 2_000_000, Limits(memory_bytes=200 << 20))


def test_a_dying_reader_is_a_parse_error(tmp_path, monkeypatch):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(ParseError, match=r"broke down on this file \(exit code -11\)"):
        parse("x.txt", b"text" * 100_000)


def test_the_reader_is_told_no_secret(tmp_path, monkeypatch):
    program, seen = tmp_path / "python", tmp_path / "seen"
    program.write_text(f"#!/bin/sh\nenv > '{seen}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    with pytest.raises(ParseError):
        parse("x.txt", b"text")
    assert "sk-CANARY" in os.environ["OPENAI_API_KEY"]
    assert "CANARY" not in seen.read_text()


@pytest.mark.parametrize("attempt", [
    "open('written', 'w')", "__import__('os').open('written', 65)", "__import__('socket').socket()",
    "__import__('subprocess').run(['true'])", "__import__('os').system('true')",
    "__import__('os').mkdir('made')", "__import__('os').remove('kept')",
    "__import__('os').fork()", "__import__('os').rename('kept', 'moved')"])
def test_a_reader_can_neither_write_nor_connect_nor_start_programs(attempt, tmp_path):
    (tmp_path / "kept").write_text("kept")
    code = ("import sys; sys.path[:] = sys.argv[1:]\n"
            "from qafd.reading.formats.child import confine, Limits\n"
            f"confine(Limits())\nopen(sys.executable, 'rb').close()\n{attempt}")
    run = subprocess.run([sys.executable, "-c", code, os.getcwd(), *sys.path],
                         capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "PermissionError: a parser may not" in run.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def outcome(name, data):
    try:
        return [d.kind for d in parse(name, data, Limits(cpu_seconds=10))]
    except ParseError as error:
        return str(error)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_bombs_do_not_swell_the_calling_process():
    import resource

    bombs = [("x.docx", zip_bomb(100)), ("x.pdf", flate_bomb(60)), ("x.xml", entity_bomb())]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, data in bombs:
        assert isinstance(outcome(name, data), str)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000 * (1024 if sys.platform == "darwin" else 1)


def rows(megabytes):
    line = "{},Town{},{},a note about thing {}: " + "and more " * 20 + "\n"
    lines = (line.format(i, i % 97, 3.5 * i, i) for i in range(megabytes * 4500))
    return ("id,city,amount,comment\n" + "".join(lines)).encode()


@pytest.mark.parametrize(("name", "data"), [
    ("brackets.txt", b"+[" * 1_500_000), ("words.txt", b"word " * 2_000_000),
    ("rows.csv", rows(10))], ids=["brackets", "words", "rows"])
def test_passages_are_cut_within_the_limits_of_reading(name, data):
    parsed = parse_with_notices(name, data, Limits(cpu_seconds=60, wall_seconds=120))
    (document,), (passages,) = parsed.documents, parsed.passages
    assert all(document.text[one.start:one.end] == one.text for one in passages)
    assert sum(len("".join(one.text.split())) for one in passages) == len(
        "".join(document.text.split()))
