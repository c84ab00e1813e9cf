"""Chats of Slack, Teams, Telegram, ChatGPT and Claude, and subtitles, as lines of author, time and text."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from qafd.reading.formats.draft import DocumentDraft, Limits
from qafd.reading.formats.page import read_markup
from qafd.reading.text.lines import has_ended
from qafd.reading.text.plaintext import label

_CUE = re.compile(r"^[ \t]*((?:\d{1,3}:)?\d{1,2}:\d{2})[.,]\d{3}[ \t]+-->.*$", re.MULTILINE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s+([^<>]+)>")
_SPEAKER = re.compile(r"(?:[-\u2013] ?)?(?=[^a-z:]+:)([^\W\d_]{2,}(?:[ .'\u2019-]+[^\W\d_]+){0,3}): ")
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_MENTION = re.compile(r"<@(\w+)(?:\|([^<>]*))?>")
_LINK = re.compile(r"<((?:https?|mailto):[^<>|]*)(?:\|([^<>]*))?>")
_WHO = ("displayName", "from", "user", "username", "author", "sender", "role", "name")
_WHEN = ("date", "ts", "timestamp", "create_time", "created_at", "createdDateTime", "originalarrivaltime")
_TEXTS = ("text", "content", "body")
_NAMES = ("name", "displayName", "role", "title")
_MESSAGE_FORMS: tuple[set[str], ...] = ({"ts", "type"}, {"role", "content"}, {"createdDateTime", "body"})
_AROUND = ("chats", "list", "conversations", "value")  # keys of a whole export around its conversations
_LISTS = ("messages", "chat_messages", "MessageList")
_MARKUP = ("<p>", "<p ", "<div")  # how messages of Teams begin
_LONGEST = 400  # characters of subtitles that no sentence ends


@dataclass(frozen=True)
class ChatMessage:
    """A message of a conversation; `when` is empty if unknown."""

    who: str
    when: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """Messages in their order, under a title."""

    title: str
    messages: Sequence[ChatMessage]


def conversations_of(value: Any) -> list[Conversation]:
    """Return the conversations in an export of a chat; none if the JSON is something else."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    for key in _AROUND:
        if isinstance(value, dict) and isinstance(value.get(key), (dict, list)):
            value = value[key]
    rows = value if isinstance(value, list) else [value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return []
    if _all_have(rows, "mapping", dict):
        return [Conversation(_title_of(row), list(_branch(row))) for row in rows]
    for key in _LISTS:
        if _all_have(rows, key, list):
            return [Conversation(_title_of(row), messages_of(row[key])) for row in rows]
    return _read_loose(rows)


def _read_loose(rows: Sequence[dict[str, Any]]) -> list[Conversation]:
    """Return the one conversation of messages without a list around them; none without a text."""
    shared = set(rows[0]).intersection(*rows)  # the fields that all have
    found = messages_of(rows) if any(form <= shared for form in _MESSAGE_FORMS) else []
    return [Conversation("", found)] if any(message.text for message in found) else []


def _title_of(row: dict[str, Any]) -> str:
    """Return the name in a record, which may be in a record of its own."""
    inner = next((value for value in row.values() if isinstance(value, dict)), {})
    return str(_first(row, _NAMES) or _first(inner, _NAMES))


def _first(row: dict[str, Any], names: Sequence[str]) -> Any:
    """Return the first of these fields that has a value, else ""."""
    return next((row[name] for name in names if row.get(name)), "")


def _all_have(rows: Sequence[dict[str, Any]], key: str, kind: type) -> bool:
    return all(isinstance(row.get(key), kind) for row in rows)


def write_conversations(name: str, talks: Sequence[Conversation], limits: Limits) -> list[DocumentDraft]:
    """Write each conversation as a document with a line for each message."""
    drafts = []
    for number, talk in enumerate(talks, 1):
        draft = DocumentDraft("chat", limits, title=talk.title)
        if len(talks) > 1:
            draft.name = f"{label(name)}#{number}"
        for message in talk.messages:
            write_message(message, draft)
        drafts.append(draft)
    return drafts


def write_message(message: ChatMessage, draft: DocumentDraft) -> None:
    """Append a message as "[2024-06-03 09:00] Ida Moe: The pump leaks."; one without text is counted."""
    if not message.text.strip():
        draft.skip("message without text")
        return
    when = f"[{message.when}] " if message.when else ""
    who = f"{message.who}: " if message.who else ""
    draft.add(f"{when}{who}{message.text.strip()}", "\n\n" if "\n\n" in message.text else "\n")


def read_subtitles(text: str, limits: Limits) -> DocumentDraft:
    """Read WebVTT or SRT: cues are joined to sentences, each with its speaker and time."""
    draft = DocumentDraft("vtt", limits)
    cues = list(_CUE.finditer(text))
    who, when, parts = "", "", list[str]()
    last = ""
    for cue, after in zip(cues, [*cues[1:], None], strict=True):
        body = text[cue.end():after.start() if after else len(text)].strip("\n")
        body = body.partition("\n\n")[0]
        voice = _VOICE.search(body)
        lines = [" ".join(html.unescape(_TAG.sub("", line)).split()) for line in body.split("\n")]
        for line in (line for line in lines if line and line != last):  # rolling subtitles repeat a line
            last = line
            named = voice or _SPEAKER.match(line)
            speaker = " ".join(named[1].split()) if named else who
            whole = has_ended(parts[-1]) or sum(map(len, parts)) > _LONGEST if parts else False
            if parts and (speaker != who or whole):
                write_message(ChatMessage(who, when, " ".join(parts)), draft)
                parts = []
            when = when if parts else cue[1]
            who = speaker
            parts.append(line if voice else _SPEAKER.sub("", line, count=1))
    write_message(ChatMessage(who, when, " ".join(parts)), draft)
    return draft


def is_subtitles(text: str) -> bool:
    """Return True if a text begins with the time of a cue or with WEBVTT."""
    start = text[:2000].lstrip()
    first = _CUE.search(start)
    if first is None:
        return start.startswith("WEBVTT")
    return start.startswith("WEBVTT") or not re.search(r"[^\W\d]", start[:first.start()])


def messages_of(rows: Sequence[Any]) -> list[ChatMessage]:
    """Return the messages of a list, as Slack, Telegram and endpoints of language models have them."""
    rows = [row for row in rows if isinstance(row, dict) and row.get("type", "message") == "message"]
    people = {}
    for row in rows:
        profile = row.get("user_profile")
        if isinstance(profile, dict):
            people[str(row.get("user"))] = str(profile.get("real_name") or profile.get("display_name") or "")
    found = []
    for row in rows:
        who = _first(row, _WHO)
        who = _title_of(who) if isinstance(who, dict) else str(who)
        text = _join_parts(_first(row, _TEXTS))
        if text.startswith(_MARKUP):
            page = DocumentDraft("html", Limits())
            read_markup(text, page)
            text = page.text
        text = _MENTION.sub(lambda at: f"@{people.get(at[1]) or at[2] or at[1]}", text)
        text = _LINK.sub(lambda link: link[2] or link[1], text)
        when = _show_time(_first(row, _WHEN))
        found.append(ChatMessage(people.get(who) or who, when, html.unescape(text)))
    return found[::-1] if found and found[0].when > found[-1].when else found


def _branch(talk: dict[str, Any]) -> Iterator[ChatMessage]:
    """Yield the messages of a conversation with ChatGPT from its first to its current one."""
    nodes = talk["mapping"]
    at = talk.get("current_node")
    if at not in nodes:
        parents = {node.get("parent") for node in nodes.values() if isinstance(node, dict)}
        at = next((key for key in reversed(nodes) if key not in parents), None)
    path: list[Any] = []
    seen = set()
    while at in nodes and at not in seen and isinstance(nodes[at], dict):
        seen.add(at)
        path.append(nodes[at].get("message"))
        at = nodes[at].get("parent")
    for row in reversed(path):
        if isinstance(row, dict) and isinstance(row.get("content"), dict):
            text = _join_parts(row["content"].get("parts") or "")
            author = row.get("author")
            who = str(author.get("role", "")) if isinstance(author, dict) else ""
            if who != "system":
                yield ChatMessage(who, _show_time(row.get("create_time")), text)


def _join_parts(text: Any) -> str:
    """Return a text that may come in parts."""
    if isinstance(text, dict):
        text = _first(text, _TEXTS)
    if isinstance(text, list):
        return "".join(_join_parts(part) for part in text)
    return text if isinstance(text, str) else ""


def _show_time(when: Any) -> str:
    """Return a time to the minute: ISO 8601, or seconds since 1970."""
    text = str(when or "")
    if re.fullmatch(r"\d{9,10}(\.\d+)?", text):
        return datetime.fromtimestamp(float(text), UTC).strftime("%Y-%m-%d %H:%M")
    found = re.match(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)", text)
    return f"{found[1]} {found[2]}" if found else text[:30]
