"""A complex question as simpler ones (Section 2.2, Eq. 6-7), by rules on its parse.

Three forms are taken apart: two questions joined by "and", one predicate about several names, and
a question about something that is itself only described ("the singer of Paper Lanterns"). All
other questions stay whole. A language model does this better, see `qafd.plan.Planner.refine`.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

MOST = 4  # subqueries of one question

_WH = frozenset(("WDT", "WP", "WP$", "WRB"))
_JOINT = re.compile(r"\s*(?:,\s*(?:and|or)?|and|or|&)\s+(?:the\s+)?", re.I)
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them|his|its|their)\b", re.I)
_OWNED = frozenset(("his", "its", "their"))

Name = tuple[int, int]
"""First and last + 1 character of a name in the question."""


def decompose(doc: "Doc", names: Sequence[Name]) -> tuple[str, ...]:
    """The subqueries of a question, at most four; none when it is a simple one.

    Parameters
    ----------
    doc : Doc
        The question, tagged and parsed.
    names : sequence of (start, end)
        Where names stand in it, in order and without overlap.
    """
    found = _clauses(doc, names) or _predicates(doc) or _choices(doc.text, names) or _bridge(
        doc, names)
    distinct = tuple(dict.fromkeys(found))
    return distinct[:MOST] if len(distinct) > 1 else ()


def _clauses(doc: "Doc", names: Sequence[Name]) -> list[str]:
    """Questions joined by "and"; a pronoun in a later one becomes the first name before it."""
    starts = [0]
    for token in doc[1:-1]:
        asks = doc[token.i + 1].tag_ in _WH or (
            doc[token.i + 1].pos_ == "ADP" and token.i + 2 < len(doc)
            and doc[token.i + 2].tag_ in _WH)
        opens = token.lower_ == "and" or token.text in ("?", ";")
        if opens and asks and _has_verb(doc[starts[-1]:token.i]) and _has_verb(doc[token.i + 1:]):
            starts.append(token.i + 1)
    if len(starts) == 1:
        return []
    ends = [*(start - 1 for start in starts[1:]), len(doc)]
    clauses = [doc[a:b] for a, b in zip(starts, ends, strict=True)]
    first = next((doc.text[a:b] for a, b in names if a < clauses[0].end_char), "")
    return [_question(clauses[0].text),
            *(_question(_resolved(clause, first, names)) for clause in clauses[1:])]


def _resolved(clause: "Span", name: str, names: Sequence[Name]) -> str:
    if not name or any(clause.start_char <= a < clause.end_char for a, _ in names):
        return clause.text
    return _PRONOUN.sub(
        lambda found: name + "'s" * (found.group().lower() in _OWNED), clause.text, count=1)


def _predicates(doc: "Doc") -> list[str]:
    """Two predicates of one asked thing: "Who wrote A and directed B?"."""
    for token in doc:
        verb = token.head
        if (token.dep_ == "conj" and token.pos_ == verb.pos_ == "VERB" and doc[0].tag_ in _WH
                and token.tag_ == verb.tag_ and _opened(doc, verb, token)):
            asked = " ".join(t.text for t in doc[:verb.i] if t.dep_ not in ("aux", "auxpass"))
            cut = next((t.i for t in doc[verb.i:token.i] if t.dep_ == "cc"), token.i)
            return [_question(doc[:cut].text),
                    _question(f"{asked} {doc[token.i:].text}")]
    return []


def _opened(doc: "Doc", verb: "Token", token: "Token") -> bool:
    """Whether the asked thing is the subject of both verbs and each says something of its own."""
    subject = [child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")]
    return (bool(subject) and any(t.tag_ in _WH for t in subject[0].subtree)
            and not any(child.dep_.startswith("nsubj") for child in token.children)
            and token.i - verb.i > 1 and any(t.is_alpha for t in doc[token.i + 1:]))


def _choices(text: str, names: Sequence[Name]) -> list[str]:
    """The question asked of each of several names that stand side by side."""
    for i, (start, end) in enumerate(names):
        row = [(start, end)]
        for after in names[i + 1:]:
            if not _JOINT.fullmatch(text[row[-1][1]:after[0]]):
                break
            row.append(after)
        if len(row) > 1 and re.search(r"\b(?:and|or)\b|&", text[end:row[-1][0]], re.I):
            before = re.sub(r"\bboth ", "", text[:start])
            return [_question(before + text[a:b] + text[row[-1][1]:]) for a, b in row]
    return []


def _bridge(doc: "Doc", names: Sequence[Name]) -> list[str]:
    """The innermost description that holds a name, and the whole question."""
    if not any(token.tag_ in _WH for token in doc):
        return []
    for noun in sorted((t for t in doc if t.pos_ == "NOUN"),
                       key=lambda t: sum(1 for _ in t.subtree)):
        # "that" of "the prize that Salt Road won" asks nothing
        end = noun.right_edge.i + 1
        # spaCy hangs the question's own verb on the noun: "was the singer of X born"
        part = doc[noun.left_edge.i:end - (doc[end - 1].dep_ == "acl")]
        asks = any(t.tag_ in _WH and t.head.dep_ != "relcl" for t in part)
        named = any(part.start_char <= a and b <= part.end_char for a, b in names)
        rest = [t for t in doc if not part.start <= t.i < part.end]
        if named and not asks and any(
                t.is_alpha and not t.is_stop for t in rest):
            return [part.text, _question(doc.text)]
    return []


def _has_verb(span: "Span") -> bool:
    return any(token.pos_ in ("VERB", "AUX") for token in span)


def _question(text: str) -> str:
    """A clause as a sentence of its own."""
    bare = " ".join(text.split()).strip(" ,;?.")
    return f"{bare[:1].upper()}{bare[1:]}?"
