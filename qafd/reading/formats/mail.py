"""Mails: the fields of the head that one asks for, and the text, under the subject."""

import re
from typing import TYPE_CHECKING, cast

from qafd.reading.formats.draft import DocumentDraft, Limits, too_much
from qafd.reading.formats.page import read_markup
from qafd.reading.formats.plain import add_fields, add_plain
from qafd.reading.text.plaintext import clean, decode, label, one_line

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart

_FIELDS = ("From", "To", "Cc", "Date", "Subject")
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
    add_fields([(name, _field(mail, name)) for name in _FIELDS], draft)
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
