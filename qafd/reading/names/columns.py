"""Lines of a text that are no prose: rows of tables, "column: value", items of lists, what opens
and closes a letter."""

import re
from collections import Counter
from collections.abc import Iterator

from qafd.reading.text.plaintext import COLUMN

ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?=\S)")
"""How an item of a list begins."""
_BULLET = re.compile(r"^\s*(?:[-*+\u2022][ \t]+(?=\S))?")
STAMPED = re.compile(r"[ \t>]*(?:\[[^\[\]\n]{4,30}\]|\(?\d{1,2}:\d{2}(?::\d{2})?\)?)[ \t]")
"""How a line of a chat or a log begins."""
_LABEL = re.compile(r"(?m)^[ \t>*-]*([^\W\d_][^:\n]{0,40}?)(?=:(?:[ \t]|$))")
# What a line begins with that is no speaker of a dialogue.
_FIELDS = frozenset(re.findall(r"\S+", """
    from to cc bcc subject re fwd fw date sent reply-to attachment attachments attached importance
    phone tel telephone mobile cell fax email e-mail mail web website address title role position by
    name signature present attendees participants absent apologies regrets chair minutes agenda
    action actions owner due deadline decision decisions note notes todo tip tips hint warning
    example question answer abstract keywords acknowledgements acknowledgments time place venue
    location status priority author version summary background purpose scope result results
    conclusion conclusions references source sources ps p.s update step room"""))
_GREETING = re.compile(
    r"((?:dear|hi|hello|hey|hallo|salut|hola|ciao|bonjour|thank you|cheers|welcome|"
    r"good (?:morning|afternoon|evening))|thx|thanks|congrats|congratulations)"
    r"(?: (?:all|everyone|team|again))?,?\s+", re.IGNORECASE)
_THANKS = frozenset(("thx", "thanks", "congrats", "congratulations"))  # which begin no name
_GREETED = re.compile(r"[ \t]*(?:[,:;\u2013\u2014-]|[!.]?[ \t]*(?:\n|$))")
_CLOSING = re.compile(
    r"(?im)^[ \t>]*(?:(?:with|many|kind|best|warm|warmest|kindest|yours|very|thanks|and|my) )*"
    r"(?:regards|wishes|best|cheers|thanks|thank you|greetings|yours|sincerely|truly|faithfully|"
    r"respectfully|cordially|love)(?: (?:sincerely|truly|faithfully|again|everyone|all))?"
    r"[ \t]*[,.!]?[ \t]*$")


_SIGNED = re.compile(  # a name, and a word below it
    r"\s*\n[ \t>]*([^\W\d_a-z][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3})[ \t]*(?:\n|$)"
    r"(?:[ \t>]*([^\W\d_]+)[ \t]*(?=\n|$))?")


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


def cells(text: str) -> Iterator[tuple[str, int, int]]:
    """The columns of a row of a table, and where their values stand in the text."""
    for line in re.finditer(r"(?m)^([^:\n]+): +(\S.*?)[ \t]*$", text):
        yield line[1], line.start(2), line.end(2)


def label_names(text: str) -> dict[int, tuple[int, int]]:
    """Where the words stand before a colon that opens a line, by each offset in them.

    In a dialogue such words are who speaks and left out, unless they are those of a letter or of
    minutes: a dialogue has two of them that open two lines or more each. Those of a letter are
    at (0, 0), for they are no name in any case.
    """
    found = [label for label in _LABEL.finditer(text) if len(label[1].split()) < 4]
    often = Counter(label[1] for label in found)
    dialogue = sum(count > 1 and label.casefold() not in _FIELDS
                   for label, count in often.items()) > 1
    return {at: (0, 0) if field else label.span(1) for label in found
            if (field := label[1].casefold() in _FIELDS) or not dialogue
            for at in range(*label.span(1))}


def opens_label(text: str, at: int) -> bool:
    """Whether the line that begins at an offset begins with words before a colon."""
    found = _LABEL.match(text, at)
    return found is not None and len(found[1].split()) < 4


def closings(text: str) -> set[int]:
    """Where the lines stand that close a letter: "Best regards,"."""
    return {at for line in _CLOSING.finditer(text) for at in range(*line.span())}


def signatures(text: str) -> tuple[set[int], set[int]]:
    """Where the names stand below "Best regards,", and the single words below them, as roles do.

    As offsets, of the names those where they begin.
    """
    names: set[int] = set()
    roles: set[int] = set()
    for line in _CLOSING.finditer(text):
        if found := _SIGNED.match(text, line.end()):
            names.add(found.start(1))
            roles.update(range(*found.span(2)))
    return names, roles


def greeting(text: str, start: int, end: int) -> int:
    """How many characters of a name at `start:end` but greet: "Dear Tomas," that begins a line.

    "Thanks Tomas" also opens a sentence; "Dear Evan Hansen is" greets nobody.
    """
    found = _GREETING.match(text, start, end)
    before = text[text.rfind("\n", 0, start) + 1:start].strip(" \t>")
    if found is None:
        return 0
    if found[1].casefold() in _THANKS:
        greets = before[-1:] in ("", ":", "]", ".", "!", "?") and not (
            text[end:end + 2].strip(" ").isalnum())
    else:
        greets = before[-1:] in ("", ":", "]") and _GREETED.match(text, end) is not None
    return found.end() - start if greets else 0


def begins_greeting(word: str) -> bool:
    """Whether a word with a capital greets and may begin a title too: "Dear", "Hello"."""
    return word in ("Dear", "Hello", "Bonjour", "Ciao", "Hallo", "Hola", "Salut", "Welcome")


def _has_columns(row: str) -> bool:
    """Whether each line of a paragraph is "column: value", no column twice.

    A table whose first column has no name begins its rows with a value alone.
    """
    first, *rest = row.split("\n")
    lines = [line.partition(": ") for line in (rest if ": " not in first and len(rest) > 1
                                               and 0 < len(first) <= COLUMN else [first, *rest])]
    return len({key for key, _, _ in lines}) == len(lines) and all(
        0 < len(key) <= COLUMN and ":" not in key and value.strip() for key, _, value in lines)
