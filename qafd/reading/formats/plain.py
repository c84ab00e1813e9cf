"""Plain text and mails: lines become paragraphs, some of them headings; heads of mails are rows."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, cast

from qafd.reading.formats.draft import DocumentDraft, Limits, too_much
from qafd.reading.formats.grid import row_text
from qafd.reading.formats.page import read_markup
from qafd.reading.text.lines import has_columns, has_ended, typed_width, unwrap
from qafd.reading.text.plaintext import clean, decode, label, one_line

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart

LONGEST = 80  # characters of a heading that nothing underlines
_CAPITALS = 4  # letters of a heading in capitals at least
_RULE = re.compile(r"[ \t]*([=\-~*_#^])(?: ?\1){2,}")  # below a heading, or between two parts
_NUMBERED = re.compile(  # "5. Price", "2.3 Scope", "IV. The sea"
    r"(\d{1,3}\.|\d{1,3}(?:\.\d{1,3})+\.?|[IVXLC]{1,7}\.) +[^\W\d_a-zß-öø-ÿ].*[^.,;:\s]")
_PART = re.compile(  # "CHAPTER IV", "Part two: The sea", "§ 4 Notice", "Annex B"
    r"(?:chapter|part|book|section|article|appendix|annex|schedule|act|scene|kapitel|teil|artikel) +"
    r"(?:\d{1,3}|[ivxlc]{1,7}|[a-z](?=\W*$|:)|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b.*|§+ ?\d.*", re.IGNORECASE)
_MARK = re.compile(r"[.!?;…](?:\W|$)|[,:]$")
_ALONE = re.compile(r"(?:[^\W\d_]+ +)?(?:\d{1,3}|[IVXLC]{1,7})\.?")  # "7", "CHAPTER IV": its title follows
_FIELD = re.compile(r"\s*\*?([^\W\d_][\w\-]{0,20})\s?:\*?(?:[ \t]+(.*)|$)")
_OPENER = re.compile(r"\s*-{3,}[^-\n]*-*")  # "-----Original Message-----", or a rule
_QUOTE = re.compile(r"(?:> ?)+")
_GREETING = re.compile(r"[^.:;]{1,40},")  # "Dear Anna,"
_SENDER = ("from", "von", "de", "da")
_SUBJECT = ("subject", "re", "betreff", "objet", "asunto", "oggetto")
_REPLY = re.compile(r"^(?:(?:re|fwd?|aw|wg|sv|vs|tr|rv|antw)(?:\[\d+\])?\s*:\s*)+(?=\S)", re.IGNORECASE)
_SHOWN = frozenset((
    *_SENDER, *_SUBJECT, "to", "an", "à", "para", "a", "cc", "date", "sent", "datum", "gesendet",
    "envoyé", "fecha", "enviado", "data", "inviato",
))  # fmt: skip
_FIELDS = _SHOWN.union(("bcc", "reply-to", "importance", "priority", "attachments"))


Fields = Sequence[tuple[str, str]]
"""Names and values in the head of a mail."""


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph; `apart` if a blank line precedes it in the file, `fields` of a mail's head."""

    text: str
    apart: bool = True
    heading: bool = False
    fields: Fields = ()


def read_plain(text: str, limits: Limits) -> DocumentDraft:
    """Return the document of a text file; its title is a heading or a subject that it begins with."""
    draft = DocumentDraft("txt", limits)
    add_plain(clean(text), draft)
    return draft


def add_plain(text: str, draft: DocumentDraft, mail: bool = False) -> None:
    """Append a canonical text with its headings; in a `mail`, lines can be quoted by ">".

    A heading is underlined, in capitals or numbered, and precedes a paragraph; a title is a short
    line alone that no mark ends. The head of a mail, as those that are answered or forwarded have one,
    is read by `add_fields`.
    """
    mail = mail or any(_head_of(block)[0] for block in _blocks(text, mail=False))
    width = typed_width(text.split("\n"))
    paragraphs = [_Paragraph("", heading=True)]
    for block in _blocks(text, mail):
        paragraphs += _paragraphs_of(block, width)
    paragraphs.append(_Paragraph(""))
    body: list[str] = []
    if draft.empty and not mail and _is_title(paragraphs[1], paragraphs[2:]):
        paragraphs[1] = replace(paragraphs[1], heading=True)
    headed = True
    for before, one, after in zip(paragraphs, paragraphs[1:], paragraphs[2:], strict=False):
        headed = one.heading or _is_heading(before, one, after, headed)
        if not headed and not one.fields:
            body.append(one.text)
            continue
        draft.add("\n\n".join(body))
        body.clear()
        if one.fields:
            add_fields(one.fields, draft)
        else:
            draft.head(one.text, titles=draft.empty and not _level(one.text))
    draft.add("\n\n".join(body))


def add_fields(fields: Fields, draft: DocumentDraft) -> None:
    """Append the head of a mail as a row; its subject is the heading of the text that follows."""
    shown = [(name, value) for name, value in fields if value and name.lower() in _SHOWN]
    for name, value in shown:
        if name.lower() in _SUBJECT:
            subject = _REPLY.sub("", value)
            draft.title = draft.title or (subject if draft.empty else "")
            draft.turn(None, subject)
    draft.add(row_text([name for name, _ in shown], [value for _, value in shown]))


def _blocks(text: str, mail: bool) -> Iterator[list[str]]:
    """Yield the runs of lines between blank ones; in mails also by depth of ">" and after a greeting."""
    block: list[str] = []
    depth = 0
    for line in text.split("\n"):
        mark = _QUOTE.match(line) if mail else None
        deep = mark[0].count(">") if mark else 0
        body = line[mark.end():] if mark else line
        greeted = mail and len(block) == 1 and _GREETING.fullmatch(block[0])
        if block and (not body.strip() or deep != depth or greeted):
            yield block
            block = []
        if body.strip():
            block.append(body)
        depth = deep
    if block:
        yield block


def _paragraphs_of(block: Sequence[str], width: float) -> Iterator[_Paragraph]:
    """Yield the paragraphs of lines without a blank one between them."""
    fields, block = _head_of(block)
    if fields:
        yield _Paragraph("", fields=fields)
    start = 0
    for at, (line, below) in enumerate(pairwise(block)):
        if at >= start and _is_underlined(line, below):
            above = at - 1 if at > start and _RULE.fullmatch(block[at - 1]) else at
            yield from _unwrap_lines(block[start:above], width, not start)
            yield _Paragraph(line.strip(), heading=True)
            start = at + 2
    yield from _unwrap_lines(block[start:], width, not start)


def _unwrap_lines(lines: Sequence[str], width: float, apart: bool) -> Iterator[_Paragraph]:
    """Yield the paragraphs of lines; a rule parts two of them."""
    for parted, group in groupby(lines, key=lambda line: _RULE.fullmatch(line) is not None):
        if parted:
            apart = True
            continue
        for text in unwrap(list(group), width).split("\n\n"):
            yield _Paragraph(text, apart)
            apart = False


def _head_of(block: Sequence[str]) -> tuple[list[tuple[str, str]], Sequence[str]]:
    """Return the fields of the head of a mail that a block begins with, if any, and the lines below it."""
    first = int(len(block) > 2 and _OPENER.fullmatch(block[0]) is not None)
    fields: list[tuple[str, str]] = []
    end = first
    for line in block[first:]:
        field = _FIELD.match(line)
        if field and field[1].lower() in _FIELDS:
            fields.append((field[1], (field[2] or "").strip()))
        elif fields and line[:1] in " \t":
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
        else:
            break
        end += 1
    names = {name.lower() for name, value in fields if value}
    if names.isdisjoint(_SENDER) or not names.difference(_SENDER):
        return [], block
    return fields, block[end:]


def _is_underlined(line: str, below: str) -> bool:
    rule = _RULE.fullmatch(below)
    if not rule or not line.strip() or _RULE.fullmatch(line) or has_columns(line):
        return False
    return len(below.strip()) >= 0.8 * len(line.strip())


def _is_heading(before: _Paragraph, one: _Paragraph, after: _Paragraph, headed: bool) -> bool:
    """Return True if a paragraph is a heading by its form; `headed` where the one before it is one."""
    text = one.text
    if not after.text or "\n" in text or len(text) > LONGEST or text.endswith((".", ",", ";")):
        return False
    if not (one.apart or headed or has_ended(before.text)):
        return False
    if text.isupper() and sum(map(str.isalpha, text)) >= _CAPITALS:
        return True
    if _ALONE.fullmatch(before.text) and not text[:1].islower() and not has_ended(text):
        return True
    level = _level(text)
    return level != "" and level not in ("" if headed else _level(before.text), _level(after.text))


def _is_title(first: _Paragraph, below: Sequence[_Paragraph]) -> bool:
    """Return True if the first paragraph of a text is its title.

    It is a short line without a mark that ends one, above a blank line and a text that has sentences.
    """
    text = first.text
    if "\n" in text or len(text) > LONGEST or text[:1].islower() or has_columns(text):
        return False
    written = any(map(str.isalpha, text)) and not _MARK.search(text)
    return written and below[0].apart and any(has_ended(one.text) for one in below)


def _level(text: str) -> str:
    """Return the depth of a heading by its number; "" if it can be none."""
    if "\n" in text or len(text) > LONGEST:
        return ""
    if _PART.fullmatch(text):
        return "part"
    numbered = _NUMBERED.fullmatch(text)
    return re.sub(r"\w+", "1", numbered[1].rstrip(".")) if numbered else ""


_MAIL_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_BETWEEN = re.compile(  # before each mail of a mailbox: a sender and a date, below an empty line
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From \S+ [^\n]{0,40}\d:\d\d[^\n]{0,40}\n(?=[!-9;-~]+:)")
_ESCAPED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_HEAD = re.compile(rb"(?:[!-9;-~]+:.*\r?\n(?:[ \t].*\r?\n)*)+")
_SENT = re.compile(  # fields that a program writes, and nobody who copies a mail
    rb"^(?:message-id|mime-version|received|return-path|delivered-to|x-mailer):", re.I | re.MULTILINE)


def is_mail(name: str, data: bytes) -> bool:
    """Return True if a file is a mail as it was sent, or a mailbox of some."""
    start = data[:65536].lstrip()
    if _BETWEEN.match(start):
        return True
    head = _HEAD.match(start)
    return head is not None and (name.lower().endswith(".eml") or _SENT.search(head[0]) is not None)


def read_mails(name: str, data: bytes, limits: Limits) -> list[DocumentDraft]:
    """Read one document for each mail; those of a mailbox are named by their place in it, from 1."""
    mails = [part for part in _BETWEEN.split(data) if part.strip()]
    if len(mails) > limits.pieces:
        raise too_much(limits.pieces, "mails")
    boxed = _BETWEEN.match(data.lstrip()) is not None
    drafts = []
    for number, mail in enumerate(mails, 1):
        draft = DocumentDraft("mbox" if boxed else "eml", limits)
        if boxed:
            draft.name = f"{label(name)}#{number}"
            mail = _ESCAPED.sub(b"", mail)
        _read_mail(mail, draft)
        drafts.append(draft)
    return drafts


def _read_mail(data: bytes, draft: DocumentDraft) -> None:
    """Append a mail to its document, and count its attachments."""
    from email import message_from_bytes, policy

    mail = message_from_bytes(data, policy=policy.default)
    add_fields([(name, _field(mail, name)) for name in _MAIL_FIELDS], draft)
    body = mail.get_body(("plain", "html"))
    if body is not None:
        text = _text_of(body)
        if body.get_content_type() == "text/html":
            read_markup(text, draft)
        else:
            add_plain(clean(text), draft, mail=True)
    draft.skip("attachment", sum(1 for _ in mail.iter_attachments()))


def _field(mail: "EmailMessage", name: str) -> str:
    """Return a field of the head in letters, "" where it lacks or cannot be read."""
    try:
        return one_line(str(mail[name] or ""))
    except (ValueError, LookupError, AttributeError, TypeError):  # the parser's own on broken fields
        return ""


def _text_of(part: "MIMEPart") -> str:
    """Return the text of a part in the character set that it names, or another one that fits."""
    content = part.get_payload(decode=True)
    try:
        return decode(cast(bytes, content), part.get_content_charset())[0]
    except ValueError:
        return ""
