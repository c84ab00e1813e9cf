"""Mails as the standard library writes them, mailboxes, and mails that were copied into a text."""

import mailbox
from email.message import EmailMessage

import pytest
from files import read_here
from hypothesis import given
from hypothesis import strategies as st

from qafd.errors import ParseError
from qafd.reading.parsing import parse, parse_with_notices
from qafd.reading.text.lines import is_row
from qafd.records import mark_at

letters = st.text(st.characters(categories=["L", "Nd"], max_codepoint=0x17f), min_size=1, max_size=30)


def mail(
        subject="The boat", text="Dear Tom,\n\nthe boat leaks.\n",
        sender="Ann Lee <ann@club.example>"):
    written = EmailMessage()
    written["From"], written["To"], written["Subject"] = sender, "tom@club.example", subject
    written["Date"] = "Mon, 04 Mar 2024 09:11:54 +0100"
    written["Message-ID"] = "<1@club.example>"
    written.set_content(text)
    return written


def read(name, data):
    documents = parse_with_notices(name, data, ask=read_here).documents
    assert len(documents) == 1
    return documents[0]


@given(letters, letters, letters)
def test_subject_sender_and_text_are_read_as_they_were_written(subject, name, body):
    document = read("x.eml", mail(subject, f"Text {body}.", f'"{name}" <a@b.example>').as_bytes())
    head, _, text = document.text.partition("\n\n")
    assert document.title == subject
    assert is_row(head)
    fields = dict(line.split(": ", 1) for line in head.split("\n"))
    assert fields.keys() == {"From", "To", "Date", "Subject"}
    assert (fields["Subject"], fields["From"].replace('"', "")) == (subject, f"{name} <a@b.example>")
    assert text == f"Text {body}."


@pytest.mark.parametrize("name", ["x.eml", "x.txt", "x", "x.md"])
def test_a_mail_is_one_under_any_name(name):
    assert read(name, mail().as_bytes()).kind == "eml"


def test_a_page_is_read_where_there_is_no_plain_text_and_attachments_are_told():
    written = mail()
    written.set_content("<p>The <b>boat</b> leaks.</p>", subtype="html")
    written.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="a.pdf")
    found = parse_with_notices("x.eml", written.as_bytes())
    assert found.documents[0].text.endswith("The boat leaks.")
    assert found.notices == ("Left out: 1 attachment.",)


def test_a_greeting_a_quotation_and_the_line_above_it_are_paragraphs():
    text = ("Dear Tom,\nthe boat leaks.\n\nBest\nAnn\n\nOn Monday Tom Hale wrote:\n> Hello Ann,\n"
            "> is the boat dry?\n>> It is new.\n")
    document = read("x.eml", mail(text=text).as_bytes())
    assert document.text.split("\n\n")[1:] == [
        "Dear Tom,", "the boat leaks.", "Best", "Ann", "On Monday Tom Hale wrote:", "Hello Ann,",
        "is the boat dry?", "It is new."]


@pytest.mark.parametrize(("subject", "title"), [
    ("Re: Re: The boat", "The boat"), ("AW: Fwd: [crew] The boat", "[crew] The boat"),
    ("RE[2]:The boat", "The boat"), ("Reef: The boat", "Reef: The boat"), ("Re:", "Re:")])
def test_a_mail_is_titled_without_the_marks_of_a_reply(subject, title):
    document = read("x.eml", mail(subject).as_bytes())
    assert (document.title, document.marks[0].heading) == (title, title)
    assert f"Subject: {subject}" in document.text


def test_the_mails_of_a_mailbox_are_documents(tmp_path):
    box = mailbox.mbox(tmp_path / "box")
    texts = ["The boat leaks.\nFrom May on it is dry.", "It is dry.", "Good."]
    for number, text in enumerate(texts, 1):
        box.add(mail(f"Subject {number}", text))
    box.close()
    documents = parse("box.mbox", (tmp_path / "box").read_bytes())
    assert [(d.name, d.title) for d in documents] == [
        (f"box.mbox#{number}", f"Subject {number}") for number in (1, 2, 3)]
    assert [d.text.split("\n\n", 1)[1] for d in documents] == texts


@pytest.mark.parametrize("heads", [
    ("From: Ann Lee\nTo: Tom Hale\nDate: 4 March 2024\nSubject: {}", "---\n"),
    ("From: Ann Lee\nSent: Monday, 4 March 2024 09:11\nTo: Tom Hale\nSubject: {}",
     "-----Original Message-----\n"),
    ("Von: Ann Lee\nGesendet: Montag, 4. März 2024\nAn: Tom Hale\nBetreff: {}", ""),
    ("TO: All staff\nFROM: Ann Lee\nDATE: 4 March 2024\nRE: {}", ""),
], ids=["thread", "forwarded", "German", "memo"])
def test_a_copied_mail_stands_under_its_subject(heads):
    head, rule = heads
    text = f"{head.format('The boat')}\n\nIt leaks.\n\n{rule}{head.format('The oars')}\n\nThey broke."
    document = read("thread.txt", text.encode())
    assert document.title == "The boat"
    assert [mark.heading for mark in document.marks] == ["The boat", "The oars"]
    assert mark_at(document.marks, document.text.index("They broke")).heading == "The oars"
    assert list(map(is_row, document.text.split("\n\n"))) == [True, False, True, False]


@pytest.mark.parametrize("head", [
    b"Subject: =?utf-8?b?////?=\n", b"From: <<<>>>@@\n", b"Date: yesterday\n", b"To: a: b: ;\n",
    b"Content-Type: text/plain; charset=nonsense\n", b"Content-Type: multipart/mixed\n",
    b"Content-Transfer-Encoding: base64\n", b"Subject: " + b"x" * 100_000 + b"\n",
], ids=["subject", "sender", "date", "to", "charset", "parts", "base64", "endless"])
def test_a_broken_field_costs_the_field_alone(head):
    data = b"From: ann@club.example\nMessage-ID: <1@x>\nX-Kind: a\n" + head + b"\nThe boat leaks in March.\n"
    try:
        documents = parse_with_notices("x.eml", data, ask=read_here).documents
    except ParseError as error:
        pytest.fail(str(error))
    assert "From: ann@club.example" in documents[0].text or head.startswith(b"From")


def test_a_mail_without_a_sender_has_its_text():
    assert read("x.eml", b"Message-ID: <1@x>\n\nThe boat leaks.\n").text == "The boat leaks."
