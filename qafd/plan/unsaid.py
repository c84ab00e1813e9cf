"""What an English question says that conditions do not: by its parse, each a notice.

`qafd.plan.query_graph` reads which names the answer is to be related to. How many, when, the most and
only are no relations, and of a description between a name and the answer it knows a few forms.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qafd.plan.subqueries import Name
from qafd.reading.text.bm25 import content_words
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import QueryGraph

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_ASKING = frozenset(("WDT", "WP", "WP$", "WRB"))
_DEGREES = frozenset(("JJR", "JJS", "RBR", "RBS"))  # longer, longest, earlier, most
_COUNTS = frozenset(("DATE", "TIME", "CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"))
_ONLY = frozenset(("only", "solely", "exclusively", "alone", "twice"))
_BE = frozenset(("is", "are", "was", "were", "be", "been", "'s"))
_CLAUSES = frozenset(("acl", "relcl"))
_OPENS_CHOICE = re.compile(r"[,:]\s*(?:either )?(?:the )?$", re.I)
_JOINS = re.compile(r"\s*(?:,\s*)?(?:or\s+)?(?:the\s+)?", re.I)

def find_unsaid(doc: "Doc", names: Sequence[Name]) -> tuple[Notice, ...]:
    """What of a question no condition says, or may be read otherwise than it is meant.

    Each alternative and each description has a notice of its own; `leave_unsaid` takes out those that
    a query graph has after all.

    Parameters
    ----------
    doc : Doc
        The question, tagged and parsed.
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
        found += _alternatives(doc, names)
    found += _descriptions(doc, names)
    return tuple(found)


def leave_unsaid(unsaid: Sequence[Notice], query: QueryGraph, linked: str) -> Iterator[Notice]:
    """What is left of `find_unsaid` when a query graph is read; descriptions are told together.

    Parameters
    ----------
    linked : str
        The names of the entities that the question was found to name.
    """
    known = frozenset(content_words(linked))
    described: list[str] = []
    for one in unsaid:
        words = one.values["words"]
        if one.kind is NoticeKind.BEYOND_CONDITIONS:
            assert isinstance(words, tuple)
            left = tuple(f"“{text}”" for text in words if not known.issuperset(content_words(str(text))))
            if left:
                yield replace(one, values={"words": left})
        elif one.kind is NoticeKind.DESCRIBED:
            if _is_misplaced(query, str(words), str(one.values["noun"])):
                described.append(f"“{words}”")
        elif one.kind is NoticeKind.CHOICE or _has_alternatives(query, str(words)) == (
                one.kind is NoticeKind.AND_WITH_OR):
            yield one
    if described:
        yield notice(NoticeKind.DESCRIBED, words=tuple(described))


def _has_alternatives(query: QueryGraph, words: str) -> bool:
    """Whether names that "or" joins are one condition, or are all refused."""
    refused = 0
    for condition in query.conditions:
        node = query.nodes[condition.target]
        if node.others and (words in node.text or node.text in words):
            return True
        refused += condition.negated and node.text in words
    return refused > 1


def _is_misplaced(query: QueryGraph, words: str, noun: str) -> bool:
    """Whether what is in a description became a condition on something else than it describes."""
    if any(node.unknown and noun in node.text.split() for node in query.nodes[1:]):
        return False
    return any(query.nodes[one.target].text in words for one in query.conditions)


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
    """Which words are of a number or date that the question gives, and of no name."""
    counted = [False] * len(doc)
    for span in doc.ents:
        given = span.label_ in _COUNTS and not any(token.tag_ in _ASKING for token in span)
        for token in span:
            counted[token.i] = given and free[token.i]
    return counted


def _is_measure(token: "Token") -> bool:
    """Whether a word by itself says how many, how much, or only."""
    return (token.tag_ in _DEGREES or token.lower_ in _ONLY or token.like_num
            or _is_not_both(token))


def _has_tag(doc: "Doc", place: int, tags: Sequence[str]) -> bool:
    return place < len(doc) and doc[place].tag_ in tags


def _is_not_both(token: "Token") -> bool:
    """Whether "both" or "all" is refused, so that one of them may hold."""
    if token.lower_ not in ("both", "all"):
        return False
    return any(child.dep_ == "neg" for one in (token, *token.ancestors) for child in one.children)


def _find_choice(text: str, names: Sequence[Name]) -> str:
    """The names at the end of a question, after a comma, of which one is asked for: "" for none."""
    if len(names) < 2 or any(letter.isalnum() for letter in text[names[-1][1]:]):
        return ""
    first = len(names) - 1
    while first and _JOINS.fullmatch(text[names[first - 1][1]:names[first][0]]):
        first -= 1
    words = text[names[first][0]:names[-1][1]]
    if re.search(r"\bor\b", words) and _OPENS_CHOICE.search(text[:names[first][0]]):
        return words
    return ""


def _alternatives(doc: "Doc", names: Sequence[Name]) -> Iterator[Notice]:
    """What "or" joins, where there are names on both sides."""
    for token in doc:
        if token.lower_ != "or" or _is_named(token, names):
            continue
        top = token.head
        while top.dep_ == "conj":
            top = top.head
        inside = _within(doc[top.left_edge.i:top.right_edge.i + 1], names)
        left = [name for name in inside if name[1] <= token.idx]
        right = [name for name in inside if name[0] > token.idx]
        if not left:
            continue
        if not right:
            if token.nbor().lower_ == "both":  # "Ada, Ben, or both"
                yield notice(NoticeKind.OR_AS_AND, words=doc[top.left_edge.i:token.i + 2].text)
            continue
        if _has_several(top, names):
            yield notice(NoticeKind.AND_WITH_OR, words=doc.text[inside[0][0]:inside[-1][1]])
        yield notice(NoticeKind.OR_AS_AND, words=doc.text[left[-1][0]:right[0][1]])


def _has_several(top: "Token", names: Sequence[Name]) -> bool:
    """Whether "and" is among what "or" joins, or one of the things that are joined has two names."""
    joined: list[Token] = []
    waiting = [top]
    while waiting:
        joined.append(waiting.pop())
        waiting += [child for child in joined[-1].children if child.dep_ == "conj"]
    for one in joined:
        if any(child.dep_ == "cc" and child.lower_ == "and" for child in one.children):
            return True
        inner = {token.i for child in one.children if child.dep_ == "conj" for token in child.subtree}
        own = [token for token in one.subtree if token.i not in inner]
        if len({name for token in own for name in names if name[0] <= token.idx < name[1]}) > 1:
            return True
    return False


def _descriptions(doc: "Doc", names: Sequence[Name]) -> Iterator[Notice]:
    """Nouns that are neither the answer nor a name, and that a name says something of: "the sister of
    Ada", "the firm that Ada left", "whose sister met Ada"."""
    for noun in doc:
        if noun.tag_ not in ("NN", "NNS") or _is_named(noun, names):
            continue
        if any(child.tag_ == "WP$" for child in noun.children):
            said = noun.head if noun.dep_ in ("nsubj", "nsubjpass") and noun.head.lower_ not in _BE else noun
        elif not _is_answer(noun) and _is_described(noun, names):
            said = noun
        else:
            continue
        phrase = doc[noun.left_edge.i:said.right_edge.i + 1]
        if inside := _within(phrase, names):
            end = max(inside[-1][1], noun.idx + len(noun))
            yield notice(NoticeKind.DESCRIBED, words=doc.text[phrase.start_char:end], noun=noun.text)


def _is_described(noun: "Token", names: Sequence[Name]) -> bool:
    """Whether a clause with a name hangs on a noun, or a name on one that the question takes as known."""
    kinds = set()
    for child in noun.children:
        if _within(noun.doc[child.left_edge.i:child.right_edge.i + 1], names):
            kinds.add(child.dep_)
    # "its seat in Ghent" is the answer's
    definite = any(child.dep_ == "poss" and child.tag_ != "PRP$" or child.lower_ == "the"
                   for child in noun.children)
    return bool(kinds & _CLAUSES) or definite and bool(kinds & {"poss", "prep"})


def _is_answer(noun: "Token") -> bool:
    """Whether a noun says what is asked for: "which city", "who is the mother", "which of the people",
    "all members", "how many students"."""
    if noun.dep_ in ("conj", "appos"):
        return _is_answer(noun.head)
    for child in noun.subtree:
        if child.tag_ in _ASKING and child.i < noun.i and _is_direct(child, noun):
            return True
    head = noun.head
    if noun.dep_ == "pobj" and head.lower_ in ("of", "among"):
        return head.head.tag_ in _ASKING or head.head.dep_ == "nummod"
    if noun.dep_ in ("attr", "nsubj", "dobj", "ROOT") and not any(map(_asks, noun.doc)):
        return bool(head.dep_ == "ROOT")
    if noun.dep_ in ("attr", "nsubj") and head.lower_ in _BE and head.dep_ == "ROOT":
        return any(one.tag_ in _ASKING or one.i != noun.i and _has_asking(one) for one in head.children)
    return False


def _is_direct(child: "Token", noun: "Token") -> bool:
    """Whether no noun or verb stands between a question word and the noun that it asks for."""
    while child.i != noun.i:
        child = child.head
        if child.i != noun.i and child.pos_ in ("VERB", "AUX", "NOUN"):
            return False
    return True


def _asks(token: "Token") -> bool:
    """Whether a question word asks, and does not open a relative clause."""
    return token.tag_ in _ASKING and not any(one.dep_ == "relcl" for one in (token, *token.ancestors))


def _has_asking(token: "Token") -> bool:
    return any(child.tag_ in _ASKING for child in token.children)


def _within(span: "Span", names: Sequence[Name]) -> list[Name]:
    return [name for name in names if span.start_char <= name[0] and name[1] <= span.end_char]


def _is_named(token: "Token", names: Sequence[Name]) -> bool:
    return any(start <= token.idx < end for start, end in names)
