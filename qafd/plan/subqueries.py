"""A complex question as simpler ones (Section 2.2, Eq. 6-7), by rules on its parse.

Questions that "and" or a mark joins are split; all others stay whole. A language model splits
more, see `qafd.plan.Planner.refine`.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

MOST = 4  # subqueries of one question

WH = frozenset(("WDT", "WP", "WP$", "WRB"))
"""Tags of words that ask."""
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|its|their)\b", re.I)
_OWNED = frozenset(("his", "its", "their"))

Name = tuple[int, int]
"""First and last + 1 character of a name in the question."""


def decompose(doc: "Doc", names: Sequence[Name]) -> tuple[str, ...]:
    """Return the subqueries of a question, at most four; none when it is a simple one.

    Parameters
    ----------
    doc : Doc
        The question, tagged and parsed.
    names : sequence of (start, end)
        The places of names in it, in order and without overlap.
    """
    distinct = tuple(dict.fromkeys(_clauses(doc, names)))
    return distinct[:MOST] if len(distinct) > 1 else ()


def _clauses(doc: "Doc", names: Sequence[Name]) -> list[str]:
    """Return questions joined by "and"; a pronoun in a later one becomes the first name before it."""
    starts = [0]
    for token in doc[1:-1]:
        asks = doc[token.i + 1].tag_ in WH or (
            doc[token.i + 1].pos_ == "ADP" and token.i + 2 < len(doc)
            and doc[token.i + 2].tag_ in WH)
        opens = token.lower_ == "and" or token.text in ("?", ";")
        if opens and asks and _has_verb(doc[starts[-1]:token.i]) and _has_verb(doc[token.i + 1:]):
            starts.append(token.i + 1)
    if len(starts) == 1:
        return []
    ends = [*(start - 1 for start in starts[1:]), len(doc)]
    clauses = [doc[a:b] for a, b in zip(starts, ends, strict=True)]
    first = next((doc.text[a:b] for a, b in names if a < clauses[0].end_char), "")
    return [_question(clauses[0].text),
            *(_question(_resolve(clause, first, names)) for clause in clauses[1:])]


def _resolve(clause: "Span", name: str, names: Sequence[Name]) -> str:
    if not name or any(clause.start_char <= a < clause.end_char for a, _ in names):
        return clause.text
    return _PRONOUN.sub(
        lambda found: name + "'s" * (found.group().lower() in _OWNED), clause.text, count=1)


def _has_verb(span: "Span") -> bool:
    return any(token.pos_ in ("VERB", "AUX") for token in span)


def _question(text: str) -> str:
    """Return a clause as a sentence of its own."""
    bare = " ".join(text.split()).strip(" ,;?.")
    return f"{bare[:1].upper()}{bare[1:]}?"
