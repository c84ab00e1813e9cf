"""Files of every kind by a writer that knows what it wrote: each value comes back under its own name."""

import csv
import io
import json
import re
from datetime import datetime, time, timedelta
from html import escape

import docx
import openpyxl
import pptx
import pytest
from files import pdf_of_objects, pdf_of_streams
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openpyxl.comments import Comment
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from qafd.reading.formats import Limits, read
from qafd.reading.formats.grid import TableCell, TableGrid
from qafd.reading.names.cjk import TERM
from qafd.reading.names.foreign import names_of, sentences
from qafd.reading.names.languages import language_of

LETTERS = st.text("abcdeéßøŁж", min_size=1, max_size=6)
NAMES = st.lists(LETTERS.map(str.capitalize), min_size=3, max_size=5, unique_by=str.casefold)
SIGNS = st.sampled_from(["", "&", " - ", "*", "_", "#", "<b>", "[x]", "1.", "|", "`", ": ", "=", "'", ".."])
VALUES = st.builds(lambda left, sign, right: f"{left}{sign}{right}", LETTERS, SIGNS, LETTERS)


def read_one(name, data):
    (draft,), notices = read(name, data, Limits())
    return draft, notices


def saved(file):
    stream = io.BytesIO()
    file.save(stream)
    return stream.getvalue()


def html(names, rows):
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for row in rows:
        cells = (f'<td colspan="{span}">{escape(value)}</td>' for value, span in row)
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<html><body><table><tr>{head}</tr>{body}</table></body></html>".encode()


def word(names, rows):
    document = docx.Document()
    table = document.add_table(1 + len(rows), len(names))
    for cell, name in zip(table.rows[0].cells, names, strict=True):
        cell.text = name
    for number, row in enumerate(rows, 1):
        column = 0
        for value, span in row:
            cell = table.cell(number, column)
            if span > 1:
                cell = cell.merge(table.cell(number, column + span - 1))
            cell.text = value
            column += span
    return saved(document)


def slides(names, rows):
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    table = slide.shapes.add_table(1 + len(rows), len(names), 0, 0, Inches(5), Inches(5)).table
    for column, name in enumerate(names):
        table.cell(0, column).text = name
    for number, row in enumerate(rows, 1):
        column = 0
        for value, span in row:
            if span > 1:
                table.cell(number, column).merge(table.cell(number, column + span - 1))
            table.cell(number, column).text = value
            column += span
    return saved(show)


def sheet(names, rows):
    book = openpyxl.Workbook()
    page = book.active
    page.append(list(names))
    for number, row in enumerate(rows, 2):
        column = 1
        for value, span in row:
            cell = page.cell(number, column, value)
            cell.data_type = "s"
            if span > 1:
                page.merge_cells(start_row=number, end_row=number, start_column=column,
                                 end_column=column + span - 1)
            column += span
    return saved(book)


def separated(names, rows):
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *map(spread, rows)])
    return stream.getvalue().encode()


def spread(row):
    """The value in each column of a row."""
    return [value for value, span in row for _ in range(span)]


WRITERS = {"html": html, "docx": word, "pptx": slides, "xlsx": sheet, "csv": separated}


@st.composite
def tables(draw):
    names = draw(NAMES)
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        row, left = [], len(names)
        while left:
            span = draw(st.integers(1, left if row else left - 1))  # no cell spans a whole row
            row.append((draw(VALUES), span))
            left -= span
        rows.append(row)
    return names, rows


@pytest.mark.parametrize("kind", ["html", "csv"])
@given(tables())
@settings(max_examples=300, deadline=None)
@example((["Pump", "2022", "2023"], [[("HX40", 1), ("not sold", 2)]]))
def test_a_cell_is_read_under_the_name_of_each_column_it_spans(kind, table):
    check_table(kind, *table)


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])  # which take a hundred times as long to write
@given(tables())
@settings(max_examples=40, deadline=None)
@example((["Pump", "2022", "2023"], [[("HX40", 1), ("not sold", 2)]]))
def test_a_cell_of_an_office_file_is_too(kind, table):
    check_table(kind, *table)


def check_table(kind, names, rows):
    draft, _ = read_one(f"x.{kind}", WRITERS[kind](names, rows))
    read_rows = [dict(line.split(": ", 1) for line in row.split("\n"))
                 for row in draft.text.split("\n\n") if ": " in row]
    expected = []
    for row in rows:
        values = [" ".join(value.split()) for value in spread(row)]
        expected.append(dict(zip(names, values, strict=True)))
    assert read_rows == expected


SENTENCES = st.lists(LETTERS, min_size=2, max_size=6).map(lambda words: " ".join(words).capitalize() + ".")


@given(st.lists(st.tuples(LETTERS, SENTENCES, VALUES), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_a_record_keeps_its_fields_above_its_text(kind, records):
    rows = [{"author": who, "rating": rating, "text": text} for who, text, rating in records]
    if kind == "csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, ["author", "rating", "text"])
        writer.writeheader()
        writer.writerows(rows)
        data = stream.getvalue()
    else:
        data = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
    drafts, notices = read(f"x.{kind}", data.encode(), Limits())
    assert [draft.text for draft in drafts] == [
        f"author: {who}\nrating: {rating.strip()}\n\n{text}" for who, text, rating in records]
    assert not any(draft.title == draft.text for draft in drafts)
    assert notices == []


def slack(talk):
    return [{"type": "message", "user": f"U{who}", "text": text, "ts": f"{1717400000 + 60 * at}.0001",
             "user_profile": {"real_name": who}} for at, (who, text) in enumerate(talk)]


def telegram(talk):
    rows = [{"id": at, "type": "message", "date": "2024-06-03T07:33:20", "from": who,
             "text": [text[:3], {"type": "bold", "text": text[3:]}]} for at, (who, text) in enumerate(talk)]
    return {"name": "Foundry", "type": "private_group", "messages": rows}


def claude(talk):
    return [{"uuid": "1", "name": "Foundry", "chat_messages": [
        {"sender": who, "text": text, "created_at": f"2024-06-03T07:{at:02}:00Z"}
        for at, (who, text) in enumerate(talk)]}]


def teams(talk):
    rows = [{"messageType": "message", "createdDateTime": f"2024-06-03T07:{at:02}:00.5Z",
             "from": {"user": {"displayName": who}}, "body": {"content": f"<p>{text}</p>"}}
            for at, (who, text) in enumerate(talk)]
    return {"value": rows[::-1]}  # the last one first


def teams_export(talk):
    rows = [{"displayName": who, "from": "8:live:1", "originalarrivaltime": f"2024-06-03T07:{at:02}:00.5Z",
             "content": text} for at, (who, text) in enumerate(talk)]
    return {"conversations": [{"displayName": "Foundry", "MessageList": rows}]}


def endpoint(talk):
    return {"messages": [{"role": who, "content": text, "timestamp": 1717400000} for who, text in talk]}


def chatgpt(talk):
    nodes = {"root": {"parent": None, "message": None}}
    parent = "root"
    for at, (who, text) in enumerate(talk):
        message = {"author": {"role": who}, "content": {"parts": [text]}, "create_time": 1717400000.5}
        nodes[f"n{at}"] = {"parent": parent, "message": message}
        nodes[f"other{at}"] = {"parent": parent, "message": None}  # an answer that was replaced
        parent = f"n{at}"
    return [{"title": "Foundry", "mapping": nodes, "current_node": parent}]


@pytest.mark.parametrize("export", [slack, teams, teams_export, telegram, chatgpt, claude, endpoint])
@given(st.sampled_from(["json", "jsonl"]), st.lists(st.tuples(LETTERS, SENTENCES), min_size=1, max_size=4))
@settings(max_examples=90, deadline=None)
def test_a_conversation_is_one_document_of_who_when_and_what(export, ending, talk):
    draft, notices = read_one(f"x.{ending}", json.dumps(export(talk)).encode())
    lines = draft.text.split("\n")
    assert [line[19:] for line in lines] == [f"{who}: {text}" for who, text in talk]
    assert all(line.startswith("[2024-06-03 07:") for line in lines)
    assert notices == []


@given(st.lists(st.tuples(LETTERS, SENTENCES), min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_subtitles_are_sentences_with_their_speaker_and_first_time(talk):
    cues = []
    for at, (who, text) in enumerate(talk):
        first, _, rest = text.partition(" ")
        cues.append(f"{2 * at + 1}\n00:00:{2 * at:02}.000 --> 00:00:{2 * at:02}.900\n<v {who}>{first}</v>")
        later = 2 * at + 1
        cues.append(f"{later + 1}\n00:00:{later:02}.000 --> 00:00:{later:02}.900\n<v {who}>{rest}</v>")
    draft, _ = read_one("x.vtt", ("WEBVTT\n\n" + "\n\n".join(cues)).encode())
    assert draft.text.split("\n") == [
        f"[00:00:{2 * at:02}] {who}: {text}" for at, (who, text) in enumerate(talk)]


def test_a_label_in_capitals_names_the_speaker_until_the_next_one():
    cues = ("It begins: now.", "IDA MOE: It leaks.\n- LARS: Where?", "At the gasket.")
    shown = "\n\n".join(f"00:00:0{at},000 --> 00:00:0{at},900\n{cue}" for at, cue in enumerate(cues))
    draft, _ = read_one("x.srt", shown.encode())
    assert draft.text.split("\n") == [
        "[00:00:00] It begins: now.", "[00:00:01] IDA MOE: It leaks.", "[00:00:01] LARS: Where?",
        "[00:00:02] LARS: At the gasket."]


@given(st.lists(SENTENCES, min_size=1, max_size=4), st.lists(SENTENCES, max_size=2),
       st.lists(st.tuples(LETTERS, SENTENCES), max_size=2))
@settings(max_examples=30, deadline=None)
def test_paragraphs_items_and_comments_of_word_are_read_and_its_headers_counted(
        body, items, comments):
    document = docx.Document()
    for text in body:
        document.add_paragraph(text)
    for text in items:
        document.add_paragraph(text, style="List Number")
    run = document.paragraphs[0].runs[0]
    for author, text in comments:
        document.add_comment(run, text, author=author)
    document.sections[0].header.paragraphs[0].text = "Foundry"
    draft, notices = read_one("x.docx", saved(document))
    numbered = [f"{number}. {text}" for number, text in enumerate(items, 1)]
    remarks = [f"Comment by {author}: {text}" for author, text in comments]
    assert draft.text.replace("\n\n", "\n").split("\n") == body + numbered + remarks
    assert notices == ["Left out: 1 header."]


@given(st.lists(st.tuples(LETTERS, VALUES.map(str.strip)), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_each_record_of_a_nested_list_is_a_paragraph(rows):
    value = {"count": 7, "staff": [{"name": name, "at": {"town": town}} for name, town in rows]}
    draft, _ = read_one("x.json", json.dumps(value).encode())
    assert draft.text.split("\n\n") == [
        "count: 7", *(f"staff name: {name}\nstaff at town: {town}" for name, town in rows)]


def test_comments_of_a_record_and_the_answers_to_them_follow_its_text():
    replies = [{"user": "Una", "body": "Where?"}]
    comments = [{"user": {"name": "Ida"}, "body": "It leaks.", "replies": replies}]
    comments += [{"user": "Lars", "type": "comment", "body": f"See {at}.", "replies": []} for at in range(9)]
    issue = {"title": "Pump", "state": "open", "labels": [], "body": "It stops.", "comments": comments}
    draft, notices = read_one("x.json", json.dumps({"project": "Mill", "issues": [issue]}).encode())
    assert draft.text.split("\n") == [
        "state: open", "", "It stops.", "Ida: It leaks.", "Una: Where?",
        *(f"Lars: See {at}." for at in range(9))]
    assert notices == ["Left out: 1 field of the whole file."]


def test_lines_of_a_log_are_no_chat():
    rows = [{"ts": "2024-06-03T07:33:20", "type": "start", "pump": "HX40"}] * 2
    draft, notices = read_one("x.json", json.dumps(rows).encode())
    assert (draft.text.count("pump: HX40"), notices) == (2, [])


@pytest.mark.parametrize("title", [[], ["Sales of 2024"]])
def test_a_sheet_has_its_title_joined_headers_footer_and_second_table(title):
    book = openpyxl.Workbook()
    page = book.active
    beside = [] if title else ["From the register."]
    for row in ([title] if title else []) + [["Region", "Q1", None, "Q2", None, None, *beside],
                                             [None, "Plan", "Paid", "Plan", "Paid"]]:
        page.append(row)
    top = page.max_row - 1
    for columns in (("B", "C"), ("D", "E"), ("A", "E"))[:2 + bool(title)]:
        number = 1 if columns == ("A", "E") else top
        page.merge_cells(f"{columns[0]}{number}:{columns[1]}{number}")
    for row in (["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8], ["Counted by Ida Moe."], [], ["Crew"],
                ["Boat", "Captain", "Built"], ["Una", "Per Lund", 1998]):
        page.append(row)
    draft, notices = read_one("x.xlsx", saved(book))
    assert draft.text.split("\n\n")[1:] == [
        *title, *beside, "Region: North\nQ1 Plan: 1\nQ1 Paid: 2\nQ2 Plan: 3\nQ2 Paid: 4",
        "Region: South\nQ1 Plan: 5\nQ1 Paid: 6\nQ2 Plan: 7\nQ2 Paid: 8", "Counted by Ida Moe.",
        "Crew", "Boat: Una\nCaptain: Per Lund\nBuilt: 1998"]
    assert notices == []


SHOWN = [  # values of cells with number formats, and how a sheet shows them
    (0.25, "0%", "25%"), (0.125, "0.0%", "12.5%"), (datetime(2024, 6, 1), "yyyy-mm-dd", "2024-06-01"),
    (datetime(2024, 6, 1, 7, 45), "yyyy-mm-dd hh:mm", "2024-06-01 07:45"),
    (time(7, 45), "hh:mm", "07:45"), (1234.5, "#,##0.00", "1,234.50"), (3, "General", "3"),
    (0.1, "General", "0.1"), (timedelta(hours=30), "[h]:mm", "30:00"), (True, "General", "true")]


@pytest.mark.parametrize("since", [CALENDAR_WINDOWS_1900, CALENDAR_MAC_1904])
def test_a_sheet_is_read_as_it_is_shown(since):
    book = openpyxl.Workbook()
    book.epoch = since
    page = book.active
    page.append([f"Name{at}" for at in range(len(SHOWN))])
    for column, (value, form, _) in enumerate(SHOWN, 1):
        page.cell(2, column, value).number_format = form
    book.create_sheet("Old").sheet_state = "hidden"
    page["A4"] = "=A2+1"
    page["A2"].comment = Comment("Lowered.", "Ida")
    draft, notices = read_one("x.xlsx", saved(book))
    assert draft.text.split("\n\n")[1].split("\n") == [
        f"Name{at}: {shown}" for at, (_, _, shown) in enumerate(SHOWN)]
    assert notices == ["Left out: 1 formula without a value, 1 hidden sheet, 1 comment."]


def test_slides_have_titles_line_breaks_notes_and_chart_data():
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Sales"
    slide.placeholders[1].text = "Head\vMona Lie"
    slide.notes_slide.notes_text_frame.text = "Per Dahl joins."
    data = CategoryChartData()
    data.categories = ["Bodo", "Asker"]
    data.add_series("2024", (12, 3.5))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(3), Inches(3), data)
    hidden = show.slides.add_slide(show.slide_layouts[5])
    hidden.element.set("show", "0")
    draft, notices = read_one("x.pptx", saved(show))
    assert draft.text == ("Sales\n\nHead\nMona Lie\n\nBodo (2024): 12\n\nAsker (2024): 3.5\n\n"
                          "Per Dahl joins.")
    assert (draft.title, draft.marks) == ("Sales", [(0, 1, "Sales")])
    assert notices == ["Left out: 1 hidden slide."]


def test_header_rows_are_joined_groups_filled_and_lines_above_kept():
    rows = [[TableCell("Sales of 2024", columns=4)],
            [TableCell("Town", rows=2), TableCell("North", columns=2), TableCell("Head", rows=2)],
            ["Q1", "Q2"], [TableCell("Bodo", rows=2), "1", "2", "Ida Moe"], ["3", "4", "Per Lund"]]
    assert list(TableGrid(rows, 3).paragraphs()) == [
        "Sales of 2024", "Town: Bodo\nNorth Q1: 1\nNorth Q2: 2\nHead: Ida Moe",
        "Town: Bodo\nNorth Q1: 3\nNorth Q2: 4\nHead: Per Lund"]


def test_a_row_across_all_columns_names_its_group_and_is_text_at_the_end():
    rows = [["Town", "Head", "Pumps"], [TableCell("North", columns=3)], ["Bodo", "Per Lund", "12"],
            [TableCell("South", columns=3)], [TableCell("Coast", columns=3)], ["Mandal", "Una Berg", "7"],
            [TableCell("Counted in May.", columns=3)]]
    assert list(TableGrid(rows, 1).paragraphs()) == [
        "North\nTown: Bodo\nHead: Per Lund\nPumps: 12",
        "South: Coast\nTown: Mandal\nHead: Una Berg\nPumps: 7", "Counted in May."]


@pytest.mark.parametrize(("last", "below"), [
    (["Sealing ring", ""], ""), (["Prices in crowns.", ""], "Prices in crowns."),
    (["Prices in crowns.", "4"], "")])
def test_words_in_the_first_cell_alone_of_the_last_row_are_text(last, below):
    grid = TableGrid([["Item", "Price"], ["Seal", "40"], last], 1)
    assert (grid.below, len(grid.body)) == (below, 1 + (not below))


@pytest.mark.parametrize(("header", "names"), [
    (["Town", "Head", ""], ["Town", "Head", "column 3"]),
    (["Town", "Head", "Head"], ["Town", "Head", "Head 2"]),
    (["", "2023", "2024"], ["", "2023", "2024"])])
def test_an_empty_or_repeated_header_costs_no_other(header, names):
    assert TableGrid([header, ["Bodo", "7", "8"], ["Asker", "5", "6"]]).names == names


def test_a_column_of_formulas_without_values_has_a_name():
    assert TableGrid([["Town", "Total"], ["Bodo"], ["Asker"]]).names == ["Town", "Total"]
    assert TableGrid([["Town", "Bodo"], ["Head", "Per Lund"]]).names == []


def test_a_list_is_in_one_paragraph_with_the_line_that_opens_it():
    draft, _ = read_one("x.html", b"<p>The crew:</p><ul><li>Ida</li><li>Per</li></ul><p>They sail.</p>")
    assert draft.text == "The crew:\n- Ida\n- Per\n\nThey sail."


def test_a_menu_of_a_saved_page_is_counted_and_its_feed_read_by_item():
    links = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "News", "Shop", "Jobs"))
    page = f"<html><body><ul>{links}</ul><p>Per runs it.</p></body></html>"
    draft, notices = read_one("x.html", page.encode())
    assert (draft.text, notices) == ("Per runs it.", ["Left out: 1 menu."])
    feed = ("<rss><channel><item><title>Bodo</title>"
            "<description>&lt;p&gt;It &lt;b&gt;rains&lt;/b&gt;.&lt;/p&gt;</description>"
            "<pubDate>Mon, 03 Jun 2024</pubDate></item></channel></rss>")
    draft, _ = read_one("x.xml", feed.encode())
    assert (draft.name, draft.title, draft.text) == ("x.xml#1", "Bodo", "Date: Mon, 03 Jun 2024\n\nIt rains.")


def test_a_notebook_is_its_text_code_and_output():
    cells = [{"cell_type": "markdown", "source": ["# Study\n", "\n", "It *rains*."]},
             {"cell_type": "code", "source": "print(1)", "outputs": [
                 {"text": ["1\n"]}, {"data": {"image/png": "x", "text/plain": "<Figure>"}}]}]
    draft, notices = read_one("x.ipynb", json.dumps({"cells": cells}).encode())
    assert (draft.title, draft.text) == ("Study", "Study\n\nIt rains.\n\nprint(1)\n\n1\n\n<Figure>")
    assert notices == ["Left out: 1 picture."]


def test_columns_of_prose_are_parted_and_cells_of_a_ruled_table_stay_rows():
    left = ["The ferry to Karlsoy leaves the harbor", "of Bodo at noon and takes two hours. The",
            "captain is Una Berg who has sailed this", "line since the spring of the year 2011."]
    right = [line.replace("ferry", "wagon").replace("Una", "Ola") for line in left]
    rows = b"".join(b"BT /F1 10 Tf 60 %d Td (%s) Tj ET BT /F1 10 Tf 320 %d Td (%s) Tj ET\n" % (
        700 - 14 * at, one.encode(), 700 - 14 * at, two.encode())
        for at, (one, two) in enumerate(zip(left, right, strict=True)))
    draft, _ = read_one("x.pdf", pdf_of_streams(rows))
    assert draft.text == f"{' '.join(left)} {' '.join(right)}"
    lines = b"".join(b"%d %d m %d %d l S\n" % at for at in (
        (50, 720, 350, 720), (50, 700, 350, 700), (50, 660, 350, 660), (50, 660, 50, 720),
        (200, 660, 200, 720), (350, 660, 350, 720)))
    texts = ((60, 706, b"Task"), (210, 706, b"Who 2024"), (60, 686, b"Clean the fil-"), (60, 672, b"ter MV-"),
             (60, 661, b"007"),
             (210, 686, b"Ida Moe"))
    shown = b"".join(b"BT /F1 10 Tf %d %d Td (%s) Tj ET\n" % at for at in texts)
    draft, _ = read_one("x.pdf", pdf_of_streams(lines + shown))
    assert draft.text == "Task: Clean the filter MV-007\nWho 2024: Ida Moe"


def ruled_page(*rows):
    """A page with a table of three ruled columns, whose words are drawn as kerned pairs: "T" and "able"."""
    bottom = 700 - 20 * len(rows)
    lines = b"".join(b"50 %d m 350 %d l S\n" % (y, y) for y in range(bottom, 701, 20))
    lines += b"".join(b"%d %d m %d 700 l S\n" % (x, bottom, x) for x in (50, 150, 250, 350))
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            x, y, (first, rest) = 55 + 100 * column, 686 - 20 * at, (cell[:1], cell[1:])
            lines += b"BT /F1 10 Tf %d %d Td (%s) Tj 5.3 0 Td (%s) Tj ET\n" % (
                x, y, first.encode("cp1252"), rest.encode("cp1252"))
    return lines


def test_a_table_on_each_page_is_no_running_line_and_its_kerned_words_are_whole():
    head = ("Task", "Value", "Vat")
    pages = [[head, (f"V{n}a", "4 °C", "Yes"), (f"V{n}b", "“9”", "Two—one")] for n in range(4)]
    draft, _ = read_one("x.pdf", pdf_of_streams(*(ruled_page(*rows) for rows in pages)))
    rows = draft.text.split("\n\n")
    assert rows[0] == "Task: V0a\nValue: 4 °C\nVat: Yes"
    assert rows[7] == "Task: V3b\nValue: “9”\nVat: Two—one"
    assert len(rows) == 8


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("between", ["2", "Of 1958"])
def test_a_table_that_goes_on_on_the_next_page_has_its_columns_there(repeated, between):
    head = ("Task", "Who", "Days")
    foot = f"BT /F1 10 Tf 300 40 Td ({between}) Tj ET\n".encode()
    pages = [ruled_page(head, ("Sail", "Eva", "7")) + foot,
             ruled_page(*[head] * repeated, ("Mast", "Una", "9"), ("Keel", "Vera", "4"))]
    draft, _ = read_one("x.pdf", pdf_of_streams(*pages))
    rows = [row for row in draft.text.split("\n\n") if row != between]
    assert rows[0] == "Task: Sail\nWho: Eva\nDays: 7"
    if between == "2" or repeated:
        assert rows[1:] == ["Task: Mast\nWho: Una\nDays: 9", "Task: Keel\nWho: Vera\nDays: 4"]
    else:
        assert rows[1:] == ["Mast | Una | 9\nKeel | Vera | 4"]


def test_a_box_to_check_is_labeled_by_the_nearest_text_and_empty_fields_are_counted():
    shown = b"".join(b"BT /F1 10 Tf %d %d Td (%s) Tj ET\n" % at for at in (
        (60, 700, b"Name"), (60, 680, b"IBAN"), (60, 660, b"Damaged:"), (160, 660, b"Floor"),
        (260, 660, b"Walls")))
    fields = b"".join(
        b"<< /Type /Annot /Subtype /Widget /FT /%s /T (f%d) /Rect [%d %d %d %d] %s >> " % field
        for field in ((b"Tx", 1, 120, 698, 300, 712, b"/V (Una Berg)"), (b"Tx", 2, 120, 678, 300, 692, b""),
                      (b"Btn", 3, 140, 658, 154, 672, b"/V /Yes /AS /Yes"),
                      (b"Btn", 4, 240, 658, 254, 672, b"/V /Off /AS /Off")))
    data = pdf_of_streams(shown).replace(b"/Contents", b"/Annots [" + fields + b"] /Contents", 1)
    catalog = b"/Type /Catalog /AcroForm << /Fields [] >>"
    draft, notices = read_one("x.pdf", data.replace(b"/Type /Catalog", catalog, 1))
    assert draft.text == "Name: Una Berg\nDamaged: Floor Walls\nFloor: yes"
    assert notices == ["Left out: 1 empty form field."]


def test_the_notes_of_a_reader_are_read_with_their_page():
    data = pdf_of_streams(b"BT /F1 10 Tf 60 700 Td (The price is 500 crowns.) Tj ET")
    note = (b"/Annots [<< /Type /Annot /Subtype /Text /Rect [90 700 99 710] /Contents (Now 450 crowns.) >>"
            b" << /Type /Annot /Subtype /Highlight /Rect [60 700 90 710] >>] /Contents")
    draft, _ = read_one("x.pdf", data.replace(b"/Contents", note, 1))
    assert draft.text == "The price is 500 crowns.\nNote: Now 450 crowns."


def pdf_from_right(*lines, rules=b""):
    """A PDF with texts in letters from right to left, each at its right end, the last letter drawn first."""
    turned = [(x, y, text.translate(str.maketrans("()", ")("))) for x, y, text in lines]
    turned = [(x, y, re.sub(r"[0-9.,]*[0-9]", lambda number: number[0][::-1], text))
              for x, y, text in turned]
    letters = sorted({*"".join(text for _, _, text in turned)} - {" "})
    codes = {letter: 0x41 + at for at, letter in enumerate(letters)}
    shown = b"".join(
        b"BT /F1 10 Tf %d %d Td <%02x> Tj ET\n" % (x - 6 * at, y, codes[letter])
        for x, y, text in turned for at, letter in reversed(list(enumerate(text))) if letter != " ")
    pairs = "\n".join(f"<{code:02x}> <{ord(letter):04x}>" for letter, code in codes.items())
    names = (f"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> "
             f"endcodespacerange {len(codes)} beginbfchar\n{pairs}\nendbfchar endcmap end end").encode()
    streams = [b"<< /Length %d >>\nstream\n%s\nendstream" % (len(one), one)
               for one in (names, rules + shown)]
    return pdf_of_objects([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 5 0 R >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 6 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>", *streams])


def test_letters_from_right_to_left_are_read_in_their_order_however_they_are_drawn():
    text = "ليلى حداد (منذ 1982) لها 12,5."
    draft, _ = read_one("x.pdf", pdf_from_right((500, 700, text)))
    assert draft.text == text


def test_columns_and_tables_from_right_to_left_begin_on_the_right():
    right = ["كانت ليلى حداد تعمل في", "مصنع المراكب قرب البحر", "وكان اخوها ربان سفينة",
             "كبيرة تبحر كل صباح هنا"]
    left = [line.replace("ليلى حداد", "سلمى مراد").replace("اخوها", "ابوها") for line in right]
    lines = [place for at, (one, two) in enumerate(zip(right, left, strict=True))
             for place in ((250, 700 - 14 * at, two), (560, 700 - 14 * at, one))]
    draft, _ = read_one("x.pdf", pdf_from_right(*lines))
    assert draft.text.split() == " ".join(right + left).split()
    rules = b"".join(b"%d %d m %d %d l S\n" % at for at in (
        (50, 720, 350, 720), (50, 700, 350, 700), (50, 680, 350, 680), (50, 680, 50, 720),
        (200, 680, 200, 720), (350, 680, 350, 720)))
    draft, _ = read_one("x.pdf", pdf_from_right(
        (340, 706, "المدينة"), (190, 706, "المدير"), (340, 686, "بيروت"), (190, 686, "ليلى حداد"),
        rules=rules))
    assert draft.text == "المدينة: المدير\nبيروت: ليلى حداد"


@pytest.mark.parametrize(("text", "names"), [
    ("李丽出生于苏州。她在清华大学读书。", ["李丽", "苏州", "清华大学"]),
    ("İsmail Işık 1982'de İzmir'de Mavi Göl Şirketi'ni kurdu. Şirket daha sonra su için de çalışır, ama "
     "çok değil.", ["İsmail Işık", "İzmir", "Mavi Göl Şirketi"]),
    ("Ayşe Çelik 1982'de İzmir'de doğdu ve çok çalıştı.", ["Ayşe Çelik", "İzmir"]),
    ("Компания «Голубое озеро» была основана Иваном.", ["Голубое озеро"])])
def test_names_end_where_a_case_or_the_next_word_begins(text, names):
    found, _ = names_of(text, sentences(text), language_of(text))
    assert [text[start:end] for start, end, kind in found if kind != TERM][:len(names)] == names
