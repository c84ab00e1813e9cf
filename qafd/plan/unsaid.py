"""Notices about parts of an English question that conditions cannot express, by its tags.

`qafd.plan.query_graph` reads which names the answer is to be related to. How many, when, the most and
only are no relations, and "or" joins more than names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qafd.plan.subqueries import WH, Name
from qafd.reading.text.bm25 import content_words
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import QueryGraph

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_DEGREES = frozenset(("JJR", "JJS", "RBR", "RBS"))  # longer, longest, earlier, most
_COUNTS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"))
_ONLY = frozenset(("only", "solely", "exclusively", "alone", "twice"))
_OPENS_CHOICE = re.compile(r"[,:]\s*(?:either )?(?:the )?$", re.I)
_JOINS = re.compile(r"\s*(?:,\s*)?(?:or\s+)?(?:the\s+)?", re.I)
_OR = re.compile(r"\bor\b", re.I)


def find_unsaid(doc: "Doc", names: Sequence[Name]) -> tuple[Notice, ...]:
    """List the parts of a question that no condition expresses, or that may be misread.

    Each alternative has a notice of its own; `leave_unsaid` takes out those that a query graph has
    after all.

    Parameters
    ----------
    doc : Doc
        The question, tagged.
    names : sequence of (start, end)
        Where names stand in it, in order and without overlap.
    """
    found = []
    if beyond := tuple(dict.fromkeys(_beyond(doc, names))):
        found.append(notice(NoticeKind.BEYOND_CONDITIONS, words=beyond))
    choice = _find_choice(doc.text, names)
    if choice:
        found.append(notice(NoticeKind.CHOICE, words=choice))
    else:
        found += [notice(NoticeKind.OR_AS_AND, words=words) for words in _alternatives(doc.text, names)]
    return tuple(found)


def leave_unsaid(unsaid: Sequence[Notice], query: QueryGraph, linked: str) -> Iterator[Notice]:
    """Return the notices of `find_unsaid` that remain once a query graph is read.

    Parameters
    ----------
    linked : str
        The names of the entities that the question was found to name.
    """
    known = frozenset(content_words(linked))
    for one in unsaid:
        words = one.values["words"]
        if one.kind is NoticeKind.BEYOND_CONDITIONS:
            assert isinstance(words, tuple)
            left = tuple(f"“{text}”" for text in words if not known.issuperset(content_words(str(text))))
            if left:
                yield replace(one, values={"words": left})
        elif one.kind is NoticeKind.CHOICE or not _has_alternatives(query, str(words)):
            yield one


def _has_alternatives(query: QueryGraph, words: str) -> bool:
    """Return True if names that "or" joins are one condition, or are all refused."""
    refused = 0
    for condition in query.conditions:
        node = query.nodes[condition.target]
        if node.others and (words in node.text or node.text in words):
            return True
        refused += condition.negated and node.text in words
    return refused > 1


def _beyond(doc: "Doc", names: Sequence[Name]) -> Iterator[str]:
    """Comparisons, numbers, dates and "only", where they are in no name."""
    free = [not _is_named(token, names) for token in doc]
    counted = _counted(doc, free)
    taken = -1
    for token in doc:
        if token.i <= taken or not free[token.i]:
            continue
        last = token.i
        if (token.tag_ in _DEGREES or token.lower_ == "how") and _has_tag(doc, last + 1, ("JJ", "RB")):
            last += 1  # "most famous", "how many"
        elif not counted[token.i] and not _is_measure(token):
            continue
        while last + 1 < len(doc) and counted[last + 1]:
            last += 1
        if last + 1 < len(doc) and doc[last + 1].lower_ == "than":
            last += 1
        taken = last
        # With "before" of "before 1950", "at" of "at least".
        opened = token.i > 0 and free[token.i - 1] and doc[token.i - 1].pos_ in ("ADP", "SCONJ")
        yield doc[token.i - opened:last + 1].text


def _counted(doc: "Doc", free: Sequence[bool]) -> list[bool]:
    """Mark the words of a number or date that the question gives outside names."""
    counted = [False] * len(doc)
    for span in doc.ents:
        given = span.label_ in _COUNTS and not any(token.tag_ in WH for token in span)
        for token in span:
            counted[token.i] = given and free[token.i]
    return counted


def _is_measure(token: "Token") -> bool:
    """Return True if a word by itself says how many, how much, or only."""
    return token.tag_ in _DEGREES or token.lower_ in _ONLY or token.like_num


def _has_tag(doc: "Doc", place: int, tags: Sequence[str]) -> bool:
    return place < len(doc) and doc[place].tag_ in tags


def _find_choice(text: str, names: Sequence[Name]) -> str:
    """The names at the end of a question, after a comma, of which one is asked for: "" for none."""
    if len(names) < 2 or any(letter.isalnum() for letter in text[names[-1][1]:]):
        return ""
    first = len(names) - 1
    while first and _JOINS.fullmatch(text[names[first - 1][1]:names[first][0]]):
        first -= 1
    words = text[names[first][0]:names[-1][1]]
    if _OR.search(words) and _OPENS_CHOICE.search(text[:names[first][0]]):
        return words
    return ""


def _alternatives(text: str, names: Sequence[Name]) -> Iterator[str]:
    """Return each text that "or" joins, from the name before it to the name after it."""
    for joined in _OR.finditer(text):
        left = [name for name in names if name[1] <= joined.start()]
        right = [name for name in names if name[0] >= joined.end()]
        if left and right and len(left) + len(right) == len(names):
            yield text[left[-1][0]:right[0][1]]


def _is_named(token: "Token", names: Sequence[Name]) -> bool:
    return any(start <= token.idx < end for start, end in names)
