"""A question as a graph: what it asks for, what it names, and how they are to be related.

The conditions of SG-RAG (paper 002), by rules instead of its Table 12's prompt: each name of the
question is related to what is asked for, by the words before it. What the rules could not read is
kept, so that it can be shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qafd.reading.text import canonical
from qafd.reading.text.bm25 import FUNCTION_WORDS, content_words

_NEGATIONS = re.compile(r"\b(?:not|never|neither|nor|without|except|excluding|\w+n['’]t)\b", re.I)
_CLAUSE = re.compile(r"[;:?]|,?\s\b(?:but|while)\b")
_CHAIN = re.compile(r"\b(?:of|by|with|from|for|in|to|at) (?:the|a|an|some) (?P<unknown>[\w-]+(?: [\w-]+)?) "
                    r"(?:that|which|who|whose|where)\b", re.I)


@dataclass(frozen=True)
class QueryNode:
    """Something that the question speaks of; `key` is the name's in the graph, "" for an unknown."""

    text: str
    key: str = ""

    @property
    def unknown(self) -> bool:
        """Whether it is to be found."""
        return not self.key


@dataclass(frozen=True)
class QueryCondition:
    """Two nodes, by their places, that are to be related, or not to be when `negated`.

    `words` are the content words that say how.
    """

    source: int
    target: int
    words: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class QueryGraph:
    """What a question asks for: node 0 is the answer.

    `unread` are the names of the plan that stand nowhere in the question as it is written.
    """

    nodes: tuple[QueryNode, ...]
    conditions: tuple[QueryCondition, ...]
    unread: tuple[str, ...] = ()


def read_query_graph(question: str, names: Sequence[str]) -> QueryGraph:
    """The graph of a question whose names are linked.

    A name is a condition on the answer. After "of the company that" it is one on the company, and
    the company one on the answer, until the clause ends. "not", "without" and the like negate the
    conditions of their clause that follow them.

    Parameters
    ----------
    names : sequence of str
        Canonical keys of the names of the question, as `QueryPlan.names`.
    """
    nodes = [QueryNode(" ".join(question.split()[:3]))]
    conditions: list[QueryCondition] = []
    places = [(start, end, key) for key in names for start, end in _find(question, key)]
    places.sort(key=lambda place: (place[0], -place[1]))
    words: tuple[str, ...] = ()
    about, negated, before = 0, False, 0
    for start, end, key in places:
        if start < before:  # inside a longer name
            continue
        between = question[before:start]
        if _CLAUSE.search(between):
            negated, about = False, 0
        chain = _CHAIN.search(between)
        if chain:
            nodes.append(QueryNode(chain["unknown"]))
            conditions.append(QueryCondition(0, len(nodes) - 1, _say_how(between[:chain.start()])))
            about = len(nodes) - 1
            between = between[chain.end():]
        negated = negated or bool(_NEGATIONS.search(between))
        words = _say_how(between) or words  # "released in Chile and Peru" says it once
        nodes.append(QueryNode(question[start:end], key))
        conditions.append(QueryCondition(about, len(nodes) - 1, words, negated))
        before = end
    found = {node.key for node in nodes}
    return QueryGraph(tuple(nodes), tuple(conditions),
                      tuple(name for name in names if name not in found))


def _find(question: str, key: str) -> list[tuple[int, int]]:
    """Where a name first stands in the question, in any writing of its canonical key."""
    wanted = re.escape(key).replace(r"\ ", r"\W+")
    found = re.search(rf"(?<!\w){wanted}(?!\w)", question, re.IGNORECASE)
    if found:
        return [found.span()]
    words = [match.span() for match in re.finditer(r"\S+", question)]
    for first, (start, _) in enumerate(words):
        for _, end in words[first:first + 6]:
            if canonical(question[start:end].strip(".,;:?!()\"'")) == key:
                return [(start, end)]
    return []


def _say_how(text: str) -> tuple[str, ...]:
    return tuple(word for word in content_words(text) if word not in FUNCTION_WORDS)
