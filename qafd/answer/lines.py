"""Which stretches of a passage read as sentences: header lines and headings do not."""

import re
from dataclasses import dataclass

from qafd.answer.expected import ASKING, FOUND, GENERIC, TIME, asked_for
from qafd.answer.forms import PREFIX, families
from qafd.reading.text.bm25 import FUNCTION_WORDS, words
from qafd.reading.text.table_rows import is_row, is_table
from qafd.records import Vectors
from qafd.retrieve.base import RetrievedPassage

LONG = 8  # words from which a line that no sentence mark ends may be a sentence
VALUE = 7  # words up to which the value of a label may be no statement although a period ends it
HEAD = 400  # characters of a document in which its head stands

_ENDED = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_CUT = re.compile(r"\b(the|an?|of|at|in|on|to|and|or|for|with|by|from|as|is|was)$", re.IGNORECASE)
_HEADER = re.compile(r"\s*([^\W\d]\w*(?:[ -]\w+){0,2}): ([^\n]*)$")  # "Author: Ada Lovelace"
_ASKS = re.compile(r"[?？][\"'”’»)\]]*$")
_BRACKETS = re.compile(r"\([^()]*\)")
# Words between names that make no statement of them.
_BETWEEN = frozenset(re.findall(r"\w+", """
    a also an and as at by de del der des di die du e el en et for from im in la le les of on or per
    the to u und van via vom von y zu zum zur"""))
_DATED = frozenset(("date", "dated", "datum", "fecha", "sent", "time", "when"))


@dataclass(frozen=True, eq=False)
class Span:
    """A sentence of the passage of a rank, and its vector, shape (d,).

    `stop` is where the stored sentence ends that it is, or is a line of.
    """

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    stop: int
    vector: Vectors

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()


def is_whole(span: Span) -> bool:
    """Whether a text reads as a sentence that states something: no question, heading, header line,
    cut line or piped row, and not names and dates only.

    Rows of "column: value" lines do, unless they open a document as the lines of a letter's head,
    and so does an edge of an imported graph, "Insulin — activates — kinase".
    """
    passage, text = span.passage, span.text
    if text.count(" — ") == 2:
        return True
    if is_table(passage.text) or is_row(text) and not _opens(passage, span.start, span.end):
        return True
    if " | " in text or text.startswith("|") or text in (passage.title, passage.heading):
        return False
    if is_row(text) or _is_header(text) or _is_nominal(text) or _ASKS.search(text):
        return False
    if _ENDED.search(text):
        return True
    said = text.split()
    return (len(said) >= LONG and any(word.islower() for word in said[1:])
            and not _CUT.search(text))


def parted(passage: RetrievedPassage, start: int, end: int) -> list[tuple[int, int]]:
    """Where a stored sentence is in its passage, after header lines that were read into it.

    Each of these is one of its own, and the line of a title above them and a table's are none.
    """
    text = passage.text
    if is_table(text) or is_row(text[start:end]) and not _opens(passage, start, end):
        return [(start, end)]
    parts = []
    while (stop := text.find("\n", start, end)) >= 0:
        line, below = text[start:stop], text[stop + 1:end].split("\n", 1)[0]
        if _is_header(line):
            parts.append((start, stop))
        elif "|" not in line and (_ENDED.search(line) or not _is_header(below)):
            break
        start = stop + 1
    return [*parts, (start, end)]


def _opens(passage: RetrievedPassage, start: int, end: int) -> bool:
    """Whether "column: value" lines are the head of a document: near its start, with no other
    row of such columns in the passage."""
    text = passage.text
    first = text[start:end].strip().partition(":")[0]
    return passage.start + start < HEAD and not any(
        f"\n{first}:" in f"\n{part}" for part in (text[:start], text[end:]))


def _is_header(line: str) -> bool:
    """Whether a line is "Author: Ada Lovelace": a label before what is no sentence."""
    found = _HEADER.match(line)
    return found is not None and (not re.search("[.!?:]", found[2])
                                  or _is_nominal(_BRACKETS.sub("", found[2]))
                                  or _is_mostly_names(found[2]))


def _is_mostly_names(text: str) -> bool:
    """Whether a value that a period ends is "Heron Vase, inventory HM-0412." rather than a
    statement: few words, and more than half of them with a capital or a digit."""
    said = [word for word in text.rstrip(" .").split() if word not in _BETWEEN]
    return len(said) <= VALUE and not re.search("[.!?:]\\s", text.strip()) and 2 * sum(
        word[:1].isupper() or any(c.isdigit() for c in word) for word in said) > len(said)


def _is_nominal(text: str) -> bool:
    """Whether a text has names and numbers only, and what stands between them: no statement."""
    said = re.findall(r"[^\W\d_]+", text)
    return not text.isupper() and all(
        word in _BETWEEN or word[0].isupper() or word.upper() == word.lower() != word
        for word in said) and not any(c.isalpha() and c.lower() == c.upper() for c in text)


def asks_for_line(question: str, text: str) -> bool:
    """Whether a line that makes no statement has what a question asks for, by its label or words.

    The question's names do not tell: much has them.
    """
    if not (_is_header(text) or _is_nominal(text)):
        return False
    label = _HEADER.match(text)
    if not label and not FOUND[TIME].search(text):
        return False
    small = families(
        word for word in re.findall(r"[^\W\d_]+", question) if word.islower()
        and len(word) >= PREFIX and word not in FUNCTION_WORDS | ASKING | GENERIC)
    told = words(label[1] if label else text)
    return not small.isdisjoint(families(told)) or (
        asked_for(question) == TIME and not _DATED.isdisjoint(told))
