"""A question as a graph: what it asks for, what it names, and how they are to be related.

The conditions of SG-RAG (paper 002), by rules instead of its Table 12's prompt: each name of the
question is related to what is asked for, by the words before it. What the rules could not read is
kept, so that it can be shown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text import canonical, singular
from qafd.reading.text.bm25 import FUNCTION_WORDS, content_words
from qafd.records import QueryCondition, QueryGraph, QueryNode, QueryPlan

_NEGATIONS = re.compile(r"\b(?:not|never|neither|nor|without|except|excluding|\w+n['’]t)\b", re.I)
_QUESTION = re.compile(r"\b(?:wh(?:o(?:m|se)?|at|ich|ere|en|y)|how)\b", re.I)
_OF_NOUNS = ("which", "what", "whose")
SOUGHT = 3  # words that say what is sought
_CLAUSE = re.compile(r"[;:?]|,?\s\b(?:but|while)\b")
_LEAVING = re.compile(r"\b(?:without|except|excluding)\b", re.I)  # negates what it is put before
_POSSESSIVE = re.compile(r"^['’]s?\b")
_AND = re.compile(r"\b(?:and|or)\b", re.I)
# after a comma what came before "that" goes on: ", and lives in", ", was released in"
_BACK = re.compile(r",\s+(?:and\s+(?!(?:the|an?)\b)\w|(?:is|are|was|were|has|have|had|do|does|did)\b)", re.I)
_UNKNOWN = r"(?:the|an?|some) (?P<{}>[\w-]+(?: (?!of\b)[\w-]+)?) "
_CHAIN = re.compile("|".join((
    r"\b(?!(?:is|are|was|were|be)\b)[\w-]+ " + _UNKNOWN.format("that")
    + r"(?:that|which|who|whose|where|of which|of whom)\b",
    r"\bof " + _UNKNOWN.format("of") + r"of\b",
    r"^\W*(?:(?:where|when) (?:is|are|was|were|did|does|do)|(?:what|whom?) (?:did|does|do)) "
    + _UNKNOWN.format("first") + r"(?:of|that|which|who|whose|where)\b")), re.I)


def read_query_graph(question: str, names: Sequence[str],
                     written: Iterable[tuple[str, str]] = ()) -> QueryGraph:
    """The graph of a question whose names are linked.

    A name is a condition on the answer. After "founded the company that", "of the founder of" or "Where
    was the singer of" it is one on the company, founder or singer, and that one on the answer, until
    the clause ends or ", and" goes back. "not" and the like negate the conditions that follow
    until the clause ends or "and" brings another verb, "without" those up to the next verb.

    Parameters
    ----------
    names : sequence of str
        Canonical keys of the names of the question, as `QueryPlan.names`.
    written : iterable of (str, str), optional
        What the question writes for names that it writes in another way, with their keys.
    """
    nodes = [QueryNode(_say_sought(question))]
    conditions: list[QueryCondition] = []
    words: tuple[str, ...] = ()
    seen: set[tuple[str, int, bool]] = set()
    about, negated, leaving, before = 0, False, False, 0
    for begin, end, key in _find_places(question, names, written):
        between = question[before:begin]
        if _CLAUSE.search(between):
            negated, about = False, 0
        if _BACK.search(between):
            about = 0
        chain = _CHAIN.search(between)
        if chain and chain[chain.lastgroup or 0].islower():  # "the United States that" names something
            start = chain.start(chain.lastgroup or 0)
            nodes.append(QueryNode(between[start:chain.end(chain.lastgroup or 0)]))
            conditions.append(QueryCondition(0, len(nodes) - 1, _say_how(between[:start])))
            about = len(nodes) - 1
            between = between[chain.end():]
        if negated and _say_how(between) and (leaving or _AND.search(between)):
            negated = False  # "not born in Peru and lives in Chile"
        if refused := _NEGATIONS.search(between):
            negated, leaving = True, bool(_LEAVING.fullmatch(refused.group()))
        words = _say_how(between) or words  # "released in Chile and Peru" says it once
        before = end
        if (key, about, negated) in seen:
            continue
        seen.add((key, about, negated))
        nodes.append(QueryNode(question[begin:end], key))
        conditions.append(QueryCondition(about, len(nodes) - 1, words, negated))
    found = {node.key for node in nodes}
    return QueryGraph(tuple(nodes), tuple(conditions),
                      tuple(name for name in names if name not in found))


def _find_places(question: str, names: Sequence[str],
                 written: Iterable[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Begin, end and key of each name in the question, in its order; the longer where two overlap."""
    places = [(start, end, key) for key in names for start, end in find_name(question, key)]
    for text, key in dict.fromkeys(written):
        places += [(start, end, key) for start, end in _find_text(question, text)]
    places.sort(key=lambda place: (place[0], -place[1]))
    kept: list[tuple[int, int, str]] = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def _say_sought(question: str) -> str:
    """What a question seeks in its own words: "Who", "Which village"."""
    words = question.split()
    found = _QUESTION.search(question)
    if not found:
        return " ".join(words[:SOUGHT])
    said: list[str] = []
    for word in question[found.start():].split()[:SOUGHT]:
        ends = word.casefold() in FUNCTION_WORDS or _NEGATIONS.fullmatch(word)
        if said and (ends or said[0].casefold() not in _OF_NOUNS):
            break
        said.append(word.strip(".,;:?!"))
        if said[-1] != word:
            break
    return " ".join(said)


def find_name(question: str, key: str) -> list[tuple[int, int]]:
    """Where a name stands in the question, in any writing of its canonical key."""
    if spans := _find_text(question, key):
        return spans
    words = [match.span() for match in re.finditer(r"\S+", question)]
    for first, (start, _) in enumerate(words):
        for _, end in words[first:first + 6]:
            written = canonical(question[start:end].strip(".,;:?!()\"'"))
            if key in (written, singular(written)):
                return [(start, end)]
    return []


def _find_text(question: str, text: str) -> list[tuple[int, int]]:
    wanted = re.escape(text).replace(r"\ ", r"\W+")
    found = re.finditer(rf"(?<!\w){wanted}(?!\w)", question, re.IGNORECASE)
    return [match.span() for match in found]


def count_conditions(plan: QueryPlan) -> int:
    """How many conditions a question has by its names; from two on exact retrieval is worth it."""
    return len((plan.conditions or read_query_graph(plan.words, plan.names, plan.written)
                ).conditions)


def seeks(plan: QueryPlan) -> bool:
    """Whether a question says what it seeks: by a question word, or by what is no name.

    One in another language than English counts as one that does.
    """
    return (language_of(plan.words, least=1) != ENGLISH or bool(_QUESTION.search(plan.words))
            or any(keyword.level == "high" for keyword in plan.keywords))


def edit_query_graph(query: QueryGraph, *, add: Sequence[str] = (), remove: Sequence[str] = (),
                     negate: Sequence[str] = ()) -> QueryGraph:
    """The graph with other conditions, given by canonical keys of names.

    What is added is a condition on the answer; of what is negated, conditions that were negated
    hold again, and a name that has none gets a negated one.
    """
    at = {node.key: place for place, node in enumerate(query.nodes) if node.key}
    nodes = list(query.nodes)
    for key in (*add, *negate):
        if key not in at:
            at[key] = len(nodes)
            nodes.append(QueryNode(key, key))
    conditions = []
    for condition in query.conditions:
        key = nodes[condition.target].key
        if key in remove:
            continue
        turned = condition.negated != (key in negate)
        conditions.append(replace(condition, negated=turned))
    targets = {condition.target for condition in conditions}
    for key in (*add, *negate):
        if at[key] not in targets:
            targets.add(at[key])
            conditions.append(QueryCondition(0, at[key], negated=key in negate))
    return _without_loose(QueryGraph(tuple(nodes), tuple(conditions), query.unread))


def names_linked(query: QueryGraph, keys: Mapping[str, str]) -> QueryGraph:
    """The graph with the keys of entities in the place of canonical names, each entity once.

    A name without an entity is left out with its conditions, and `unread`.
    """
    nodes: list[QueryNode] = []
    places: dict[int, int] = {}
    at: dict[str, int] = {}
    left = []
    for place, node in enumerate(query.nodes):
        key = keys.get(node.key, "")
        if node.key and not key:
            left.append(node.text)
            continue
        if not node.key or key not in at:
            at[key or f" {place}"] = len(nodes)
            nodes.append(replace(node, key=key))
        places[place] = at[key or f" {place}"]
    conditions = []
    for one in query.conditions:
        if one.source in places and one.target in places:
            conditions.append(replace(one, source=places[one.source], target=places[one.target]))
    return _without_loose(QueryGraph(
        tuple(nodes), tuple(dict.fromkeys(conditions)), (*query.unread, *left)))


def _without_loose(query: QueryGraph) -> QueryGraph:
    """The graph without nodes that no condition has, but for the answer."""
    ends = {one.source for one in query.conditions} | {one.target for one in query.conditions}
    kept = [place for place in range(len(query.nodes)) if place == 0 or place in ends]
    at = {place: number for number, place in enumerate(kept)}
    conditions = [replace(one, source=at[one.source], target=at[one.target])
                  for one in query.conditions]
    return QueryGraph(tuple(query.nodes[place] for place in kept), tuple(conditions), query.unread)


def _say_how(text: str) -> tuple[str, ...]:
    return tuple(word for word in content_words(_POSSESSIVE.sub(" ", text)) if word not in FUNCTION_WORDS)
