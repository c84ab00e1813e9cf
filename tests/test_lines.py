"""Which line breaks a writer made, and what plain text says by them: paragraphs, headings, clauses."""

import textwrap

import pytest
from files import read_here
from hypothesis import given, settings
from hypothesis import strategies as st
from local_models import extractor

from qafd.reading.parsing import parse_with_notices
from qafd.reading.text.lines import fresh_lines, is_field, typed_width, unwrap
from qafd.records import Chunk

words = st.lists(st.from_regex(r"[A-Za-z][a-z]{0,11}[.,;?!]?", fullmatch=True), min_size=1, max_size=80)


def read(text, name="notes.txt"):
    documents = parse_with_notices(name, text.encode(), ask=read_here).documents
    assert len(documents) == 1
    return documents[0]


def headings(text):
    return [mark.heading for mark in read(text).marks]


@given(words, st.integers(40, 120))
def test_what_a_program_wrapped_is_whole_again(some, width):
    text = " ".join(some)
    assert unwrap(textwrap.wrap(text, width), width) == text


@given(words, st.integers(55, 120))
def test_no_sentence_begins_where_a_program_broke_a_line(some, width):
    lines = textwrap.fill(" ".join(some), width)
    if typed_width(lines.split("\n")) <= width:
        assert list(fresh_lines(lines)) == []


@settings(max_examples=8)  # drawing such long sentences is slow
@given(st.lists(st.from_regex(r"[A-Z][a-z]{3,9}( [a-z]{2,9}){60,70}\.", fullmatch=True), min_size=2,
                max_size=9))
def test_lines_that_are_whole_paragraphs_stay_lines(paragraphs):
    text = "\n".join(paragraphs)
    assert read(text).text == text
    assert len(list(fresh_lines(text))) == len(paragraphs) - 1


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_no_letter_or_digit_is_lost_but_the_number_of_quotation(text):
    if any(map(str.isalnum, text)):
        found = read(f"Text {text}").text
        assert sum(map(str.isalnum, found)) >= sum(c.isascii() and c.isalnum() for c in text)


@pytest.mark.parametrize(("text", "found"), [
    ("1. Scope\nThis act is for boats.\n\n2. Fees\nThey are low.", ["1. Scope", "2. Fees"]),
    ("§ 1 Scope\n(1) This act is for boats.\n§ 2 Fees\n(1) They are low.", ["§ 1 Scope", "§ 2 Fees"]),
    ("CHAPTER ONE\n\nIt rained.\n\nCHAPTER TWO\n\nIt snowed.", ["CHAPTER ONE", "CHAPTER TWO"]),
    ("12\n\nThe Storm\n\nIt rained.", ["The Storm"]),
    ("Scope\n=====\nFor boats.\n\nFees\n----\nLow.", ["Scope", "Fees"]),
    ("=====\nScope\n=====\n\nFor boats.", ["Scope"]),
    ("OPENING HOURS\nWe open at nine.", ["OPENING HOURS"]),
    ("OPENING HOURS\nMonday: nine to five\nTuesday: closed", ["OPENING HOURS"]),
    ("1. Hours\nDecided: we open at nine.", ["1. Hours"]),
    ("PHONE: 12\nMAIL: A\nOPEN: DAILY", []),
    ("1. milk\n2. bread\n3. salt\n\nBring a bag.", []),
    ("1. Milk\n2. Bread\n3. Salt\n\nBring a bag.", []),
    ("It costs as much as\n\n20 April 2024", []),
    ("Tom Hale\nLONDON\n\nDear Ann, it rains.", []),
    ("It rains. NO WAY\n\nIt snows.", []),
    ("Name   Age\n----------\nTom    4\nAnn    5", []),
], ids=["numbers", "paragraphs", "capitals", "number above", "underlined", "overlined", "one", "above fields",
        "above a label", "fields in capitals", "small items",
        "items", "last line", "address", "within", "table"])
def test_headings_of_plain_text(text, found):
    assert headings(text) == found


@pytest.mark.parametrize("stamp", [
    "[2025-05-03 11:{:02}]", "(11:{:02})", "2025-05-03 11:{:02}:09", "3.5.2025, 11:{:02} -"])
def test_what_is_said_in_a_chat_or_log_stays_a_line_of_its_own(stamp):
    said = [f"{stamp.format(minute)} {name}: the boat lies at the upper pier and has to be {word}"
            for minute, name, word in ((2, "Ann", "dried"), (5, "Tom", "turned"), (30, "Ann", "tarred"))]
    assert read("\n".join(said)).text.split("\n") == said
    assert sentences("\n".join(said)) == said


def test_a_wrapped_contract_has_a_paragraph_for_each_clause():
    clauses = ["1.1 The owner lends the boat and its oars to the club for the time from May to the "
               "end of September of each year.",
               "1.2 Repairs of more than 200 crowns are paid by the owner, and others by the club, which "
               "has them done within two weeks.",
               "1.3 Oars that are lost are replaced."]
    text = "1. The Boat\n" + "\n".join(textwrap.fill(one, 72) for one in clauses)
    assert read(text).text.split("\n\n") == ["1. The Boat", *clauses]


def test_the_fields_of_a_list_are_one_row_under_the_name_above_them():
    text = "Museum of Glass\nPhone: 402 77\nHead: Bruno Keller\nOpen: Thursday to Sunday, from 11 to 17"
    assert read(text).text == text
    assert sentences(text) == [text]


def test_a_title_comes_from_the_heading_that_a_text_begins_with():
    assert read("LOAN OF A BOAT\n\nThe owner lends it.").title == "LOAN OF A BOAT"
    assert read("The owner lends it.\n\nTHE END\n\nHe did.").title == "notes"


@pytest.mark.parametrize(("text", "title"), [
    ("Loan of a boat\n\nThe owner lends it.", "Loan of a boat"),
    ("Rye bread\n\nFlour\nSalt\n\nMix both.", "Rye bread"),
    ("Milk\n\nBread\n\nSalt", "notes"),
    ("Hello Ann,\n\nIt rains.", "notes"),
    ("Loan of a boat\nThe owner lends it.", "notes"),
    ("It rains. No way\n\nIt snows.", "notes"),
])
def test_a_line_alone_above_sentences_is_the_title_of_a_text(text, title):
    assert read(text).title == title


def test_markdown_keeps_the_lines_of_a_list_of_fields():
    text = "Meeting\n\nDate: 5 March\nPresent: Ann Lee, Tom Hale\n\nIt was long."
    assert read(f"# {text}\n", "m.md").text == text


@pytest.mark.parametrize("rule", ["---", "=" * 70, "* * *", "_____"])
def test_a_rule_parts_what_stands_around_it(rule):
    text = read(f"The first day ends here.\n{rule}\nA2. Bread for the second day\nA. Baker\n\nIt rains.").text
    assert text.split("\n\n")[0] == "The first day ends here."
    assert rule == "* * *" or rule not in text


def test_an_abstract_with_labels_is_sentences_and_a_short_row_is_one():
    labeled = "Methods: Ann rowed for a week. Tom slept.\n\nResults: Ann won by a length. Tom woke up."
    assert len(sentences(labeled)) == 4
    row = "Name: Ada\nWork: Bakes. Sells."
    assert sentences(row) == [row]
    parts = {label: f"We asked {number} bakers. They had much to say about {'bread and ' * 20}salt."
             for number, label in enumerate(("Background", "Methods", "Results"))}
    found = sentences("\n".join(f"{label}: {told}" for label, told in parts.items()))
    assert len(found) == 6


@pytest.mark.parametrize(("line", "labeled"), [
    ("Tel. no.: 12", True), ("Results:", True), ("hospital stay and appears safe. Funding: none", False)])
def test_a_label_goes_over_no_end_of_a_sentence(line, labeled):
    assert is_field(line) == labeled


def sentences(text):
    found = extractor().extract(Chunk("c", "d", "", text, 0, len(text))).sentences
    return [text[start:end] for start, end in found]


@pytest.mark.parametrize("parts", [
    ['"I rowed all night," she said.', '"Did you open the letter?"', "He had not."],
    ["“Burn it.”", "He burned it.", "“Good,” said Mara Delgado."],
    ["The room is Heron in the house of Brindle and Moss.", "It is small."],
    ["Kind regards", "Mara Delgado", "Harbor Office, 3 Mill Row."],
    ["Between Ms. Ann Lee, 3 Mill Row (the Tenant), and Mr. Tom Hale (the Landlord).", "It ends in May."],
], ids=["said", "curly quotes", "names", "lines", "brackets"])
def test_sentences_end_where_marks_and_lines_do(parts):
    gap = "\n" if parts[0] == "Kind regards" else " "
    assert sentences(gap.join(parts)) == parts


@given(st.lists(st.sampled_from(['"', "'", "”", "“", ")", "(", "...", "!", "Ann went", "home.", "-"]),
                min_size=1, max_size=12))
def test_every_sentence_has_a_word_where_the_first_line_has_one(pieces):
    assert all(any(map(str.isalnum, one)) for one in sentences("Mara left. " + " ".join(pieces)))


@pytest.mark.parametrize("head", ["E27 – Pump blocked", "ORA-00942: no table", "F05"])
@pytest.mark.parametrize("below", ["The pump cannot turn.", "Die Pumpe ist blockiert und der Motor steht."])
def test_a_code_as_a_heading_opens_the_sentence_below_it(head, below):
    after = "Clean it." if below.startswith("The") else "Reinigen Sie die Pumpe mit der Bürste."
    assert sentences(f"{head}\n\n{below} {after}\n\nIt runs.")[:2] == [f"{head}\n\n{below}", after]


@pytest.mark.parametrize("text", ["E27\n\nA4: low", "E27 is shown.\n\nIt runs.", "E27\n\n- one\n- two",
                                  "E27\n\npart: pump\ncount: 2", "Pump blocked\n\nIt cannot turn."])
def test_other_lines_open_no_sentence(text):
    assert sentences(text)[0] == text.partition("\n\n")[0]
