"""Lines of a text that are no prose: rows of tables, "column: value", and items of lists."""

import re

from qafd.text.plaintext import COLUMN

ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?=\S)")
"""How an item of a list begins."""
_BULLET = re.compile(r"^\s*(?:[-*+\u2022][ \t]+(?=\S))?")


def without_bullet(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a sentence stands without the blanks around it and the bullet before it."""
    body = _BULLET.sub("", text[start:end])
    return end - len(body), end - len(body) + len(body.rstrip())


def is_table(text: str) -> bool:
    """Whether a text is rows of "column: value" lines, with a blank line between two rows."""
    rows = re.split(r"\n{2,}", text.strip())
    return len(rows) > 1 and all(map(_has_columns, rows)) or is_row(text)


def is_row(text: str) -> bool:
    """Whether a paragraph is the row of a table: two "column: value" lines or more."""
    return "\n" in text.strip() and _has_columns(text.strip())


def column_names(text: str) -> set[int]:
    """Where the names of columns stand in a row of a table, as offsets in the text."""
    if not is_row(text):
        return set()
    return {at for name in re.finditer(r"(?m)^[^:\n]+(?=: )", text) for at in range(*name.span())}


def _has_columns(row: str) -> bool:
    """Whether each line of a paragraph is "column: value", no column twice."""
    lines = [line.partition(": ") for line in row.split("\n")]
    return len({key for key, _, _ in lines}) == len(lines) and all(
        0 < len(key) <= COLUMN and ":" not in key and value.strip() for key, _, value in lines)
