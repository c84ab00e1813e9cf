"""JSON, JSON lines and CSV: records with a text become documents with their fields, others lines."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from qafd.errors import ParseError
from qafd.reading.formats.chats import (
    ChatMessage,
    conversations_of,
    messages_of,
    write_conversations,
    write_message,
)
from qafd.reading.formats.draft import DocumentDraft, Limits, too_much
from qafd.reading.formats.graphs import draft_graph
from qafd.reading.formats.graphs.tables import as_node_link, read_node_link
from qafd.reading.formats.grid import TableGrid, names_columns, row_text
from qafd.reading.formats.markdown import read_notebook
from qafd.reading.text import title_of_file
from qafd.reading.text.plaintext import clean, label, one_line

_TEXT_FIELDS = (
    "text", "body", "content", "contents", "page_content", "passage", "passage_text",
    "paragraph", "paragraph_text", "article", "document", "abstract",
)  # fmt: skip
_TITLE_FIELDS = ("title", "name", "headline", "heading", "subject", "label")
_SEPARATOR = re.compile(r"sep=(.)\r?\n")
_TOP = 50  # rows of a table in which its header is looked for
_WORDS = 8  # of a text that are its title
_REMARKS = ("text", "content", "body")  # of a comment or an answer to it
_LINES = 12  # of a nested field; one with more is no property of the record
_ID_FIELDS = ("pid", "id", "_id", "docid", "doc_id", "passage_id", "uid", "uuid", "key")


def read_json(
    name: str, ending: str, text: str, limits: Limits, notices: list[str]
) -> list[DocumentDraft]:
    """Read JSON or JSON lines; no documents when the text is neither."""
    try:
        value = _loads(text)
        lines = ending in ("jsonl", "ndjson") and as_node_link(value) is None  # an import is named so
        if not lines or isinstance(value, list):
            return _from_json(name, value, limits, notices)
        return _from_lines(name, [value], limits)
    except ValueError as error:
        why = str(error)
    except RecursionError:
        raise ParseError("The JSON is nested too deeply to be read; flatten it.") from None
    records, broken = _read_lines(text)
    if len(records) > len(broken) and all(isinstance(r, (dict, list)) for r in records):
        if broken:
            numbers = ", ".join(map(str, broken[:5])) + (", …" if len(broken) > 5 else "")
            what = "line is" if len(broken) == 1 else "lines are"
            notices.append(f"{len(broken)} {what} not JSON and left out: {numbers}.")
        if (linked := as_node_link(records)) is not None:
            return draft_graph(read_node_link(linked), name, limits, notices)
        return _from_lines(name, records, limits)
    if ending in ("json", "jsonl", "ndjson"):
        raise ParseError(f"The {ending.upper()} is damaged ({one_line(why)}); repair it and retry.")
    return []


def _from_lines(name: str, records: list[Any], limits: Limits) -> list[DocumentDraft]:
    """Return the documents of JSON lines: conversations, else records."""
    if talks := conversations_of(records):
        return write_conversations(name, talks, limits)
    return _from_records("jsonl", name, records, limits)


def _read_lines(text: str) -> tuple[list[Any], list[int]]:
    """Return the values of JSON lines, and the numbers of lines that are not JSON, while these are few."""
    records, broken = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append(_loads(line))
            except (ValueError, RecursionError):
                broken.append(number)
        if len(broken) > 20 + len(records):
            break
    return records, broken


def _loads(text: str) -> Any:
    # Numbers stay as written: 1.10 keeps its zero, and a million digits take no quadratic time.
    return json.loads(text, parse_int=str, parse_float=str)


def _from_json(name: str, value: Any, limits: Limits, notices: list[str]) -> list[DocumentDraft]:
    if (linked := as_node_link(value)) is not None:
        return draft_graph(read_node_link(linked), name, limits, notices)
    if isinstance(value, dict) and isinstance(value.get("cells"), list):
        return [read_notebook(value, limits)]
    if talks := conversations_of(value):
        return write_conversations(name, talks, limits)
    if isinstance(value, dict) and not _text_field(value):
        for inner in value.values():
            if isinstance(inner, dict) and _text_field(inner):
                named = [{"id": key, **r} for key, r in value.items() if isinstance(r, dict)]
                return _from_records("json", name, named, limits)
            if isinstance(inner, list) and inner and _text_field(inner[0]):
                drafts = _from_records("json", name, inner, limits)
                drafts[0].skip("field of the whole file", len(value) - 1)
                return drafts
    records = value if isinstance(value, list) else [value]
    return _from_records("json", name, records, limits)


def _text_field(record: Any) -> str:
    """Return the key of a record's text, or ""."""
    if not isinstance(record, dict):
        return ""
    plain = {str(key).strip().lower(): str(key) for key in record}
    return next((plain[f] for f in _TEXT_FIELDS if f in plain and record[plain[f]]), "")


def _from_records(kind: str, name: str, records: list[Any], limits: Limits
                  ) -> list[DocumentDraft]:
    """Return one document per record when records have a text, else one of "column: value" lines."""
    if len(records) > limits.pieces:
        raise too_much(limits.pieces, "records")
    if not any(_text_field(record) for record in records):
        draft = DocumentDraft(kind, limits)
        for record in records:
            for paragraph in _paragraphs(record):
                draft.add(paragraph)
        return [draft]
    drafts: list[DocumentDraft] = []
    names: Counter[str] = Counter()
    length = 0
    for row, record in enumerate(records, 1):
        draft = _read_record(kind, record, limits)
        length += len(draft.text)
        if length > limits.text_characters:
            raise too_much(limits.text_characters, "characters of text")
        if draft.empty:
            continue
        identity = one_line(_field(record, _ID_FIELDS) or str(row), 80)
        names[identity] += 1
        again = f" ({names[identity]})" if names[identity] > 1 else ""
        draft.name = f"{label(name)}#{identity}{again}"
        draft.title = draft.title or f"{title_of_file(label(name))} {identity}{again}"
        drafts.append(draft)
    skipped = len(records) - len(drafts)
    drafts = drafts or [DocumentDraft(kind, limits)]
    drafts[0].skip("record without text", skipped)
    return drafts


def _paragraphs(record: Any) -> Iterator[str]:
    """Yield the lines of a record, and then a paragraph for each record in a list of it."""
    lists = {}
    if isinstance(record, dict):
        lists = {key: value for key, value in record.items() if _is_records(value)}
        record = {key: value for key, value in record.items() if key not in lists}
    yield "\n".join(_flatten(record))
    for key, rows in lists.items():
        for row in rows:
            yield "\n".join(_flatten(row, str(key)))


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _read_record(kind: str, record: Any, limits: Limits) -> DocumentDraft:
    """Read a record with a text: its other fields stand above it."""
    draft = DocumentDraft(kind, limits)
    key = _text_field(record)
    text = clean(_plain(record[key])) if key else ""
    if not text:
        return draft
    draft.title = _title(record, text)
    known_texts = _field(record, _TITLE_FIELDS), _field(record, _ID_FIELDS)
    fields: list[str] = []
    remarks: list[ChatMessage] = []
    for name, value in record.items():
        if name == key or isinstance(value, str) and value in known_texts:
            continue
        if _are_remarks(value):
            remarks += _read_remarks(value)
            continue
        lines = list(_flatten(value, str(name)))
        if isinstance(value, (dict, list)) and (len(lines) > _LINES or any(": " not in x for x in lines)):
            draft.skip("nested field")
        else:
            fields += [" ".join(line.split()) for line in lines]
    draft.add("\n".join(fields))
    draft.add(text)
    for remark in remarks:
        write_message(remark, draft)
    return draft


def _title(record: dict[Any, Any], text: str) -> str:
    """Return the title of a record, else the first words of its text where more follow."""
    title, words = _field(record, _TITLE_FIELDS), text.split()
    if not title and len(words) > _WORDS:
        return " ".join(words[:_WORDS])
    return title if one_line(title) != one_line(text) else ""


def _are_remarks(value: Any) -> bool:
    """Return True for a list of records with texts, as the comments of an issue."""
    return _is_records(value) and all(any(map(row.get, _REMARKS)) for row in value)


def _read_remarks(rows: Sequence[dict[str, Any]]) -> Iterator[ChatMessage]:
    """Yield each comment before the answers to it."""
    for row in rows:
        yield from messages_of([{**row, "type": "message"}])
        for inner in filter(_are_remarks, row.values()):
            yield from _read_remarks(inner)


def _field(record: dict[Any, Any], names: Sequence[str]) -> str:
    """Return the text in the first of some fields that has one, or ""."""
    fields = {str(k).strip().lower(): v for k, v in record.items() if isinstance(v, str)}
    return next((fields[name] for name in names if fields.get(name)), "")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_plain(item) for item in value)
    return value if isinstance(value, str) else "\n".join(_flatten(value))


def _flatten(value: Any, path: str = "") -> Iterator[str]:
    """Yield nested values as "column: value" lines; a path of keys names the column."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{path} {key}".strip())
    elif isinstance(value, list) and value:
        if all(isinstance(item, str) for item in value):
            value = ", ".join(value) if path else "\n".join(value)
            yield f"{path}: {value}" if path and value else value
        else:
            for inner in value:
                yield from _flatten(inner, path)
    elif value not in (None, "", []):
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        yield f"{path}: {shown}" if path else shown


def delimiter_of(text: str, certain: bool) -> str:
    """Return the delimiter of a CSV text, or "" when lines do not split evenly.

    Prose has commas too, so a table without such an ending needs three even rows.
    """
    declared = _SEPARATOR.match(text)
    if declared:
        return declared[1]
    head = text[:20000]
    sample = head if len(head) == len(text) else head[: head.rfind("\n") + 1]
    even: dict[str, int] = {}
    for delimiter in ",\t;|":
        widths = [len(row) for row in _rows(sample, delimiter) if row]
        if widths and widths[0] > 1 and len(set(widths)) == 1 and len(widths) >= 3:
            return delimiter
        usual, count = next(iter(Counter(width for width in widths if width > 1).most_common(1)), (0, 0))
        even[delimiter] = count * usual
    best = max(even, key=lambda delimiter: even[delimiter])
    return "" if certain or not even[best] else best


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:
        yield []


def read_csv(
    name: str, text: str, delimiter: str, limits: Limits, notices: list[str]
) -> list[DocumentDraft]:
    """Read each row of a table as a record, and the lines above its header as text."""
    above, header, grid = _parse_rows(text, delimiter, limits)
    if {"source", "target"} <= {cell.lower() for cell in header}:
        notices.append("The columns source and target look like edges of a graph; this was read as "
                       "a table, 'Graph file' or 'qafd import' reads it as a graph.")
    drafts = _read_rows(name, grid, limits)
    if above or grid.below:
        drafts.insert(0, _text_around([*above, grid.below], drafts, limits))
    return drafts


def csv_grid(text: str, limits: Limits) -> TableGrid:
    """Return the table in a CSV text."""
    return _parse_rows(text, delimiter_of(text, certain=False) or ",", limits)[2]


def _parse_rows(text: str, delimiter: str, limits: Limits) -> tuple[list[str], list[str], TableGrid]:
    """Return the lines above the header of a table, the header, and the table itself."""
    csv.field_size_limit(limits.text_characters)
    text = _SEPARATOR.sub("", text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    rows = [[cell.strip() for cell in row] for row in _rows(text, delimiter)]
    rows = [row for row in rows if any(row)]
    if not rows:
        return [], [], TableGrid([])
    above = TableGrid(rows[:_TOP]).above
    header, below = rows[len(above)], rows[len(above) + 1:]
    return above, header, TableGrid(rows[len(above):], int(names_columns(header, below)))


def _read_rows(name: str, grid: TableGrid, limits: Limits) -> list[DocumentDraft]:
    """Return a document for each row that has a text, else one of all rows."""
    if len(grid.body) > limits.pieces:
        raise too_much(limits.pieces, "records")
    columns = list(zip(*grid.body, strict=True))
    names = grid.names or [f"column {number}" for number in range(1, len(columns) + 1)]
    filled = [title.lower() for title, column in zip(names, columns, strict=True) if any(column)]
    if not set(filled).isdisjoint(_TEXT_FIELDS):
        return _from_records("csv", name, [dict(zip(names, row, strict=True)) for row in grid.body], limits)
    draft = DocumentDraft("csv", limits)
    for row in grid.body:
        draft.add(row_text(names, row))
    return [draft]


def _text_around(lines: Sequence[str], drafts: list[DocumentDraft], limits: Limits) -> DocumentDraft:
    """Return the lines above and below a table as a document, with the rows that are in one document."""
    draft = DocumentDraft("csv", limits)
    draft.add("\n".join(lines))
    if len(drafts) == 1 and not drafts[0].name:
        draft.add(drafts.pop().text)
    return draft
