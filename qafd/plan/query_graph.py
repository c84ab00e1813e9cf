"""A question as a graph: the thing asked for, the names, and the relations between them.

The conditions of SG-RAG (paper 002), by rules instead of its Table 12's prompt: each name of the
question is related to the thing asked for, by the words before it. Words that the rules could not read are
kept, so that they can be shown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from qafd.plan.question import parse_question
from qafd.reading.text.bm25 import FUNCTION_WORDS, content_words
from qafd.records import QueryCondition, QueryGraph, QueryNode, QueryPlan
from qafd.resources import lexicon

_TOKEN = re.compile(r"[\w'\u2019-]+|[^\w\s]")
_LEAVING = lexicon("english", "leaving")  # negate what they are put before
_BESIDES = ("besides", "other than", "apart from", "aside from", "except", "except for", "excluding",
            "if not")
EXCLUDING = frozenset(" ".join(_BESIDES).split()) - FUNCTION_WORDS  # take out the name itself
_ENDING = (";", ":", "?", "but", "while")  # of a clause
_UNKNOWN = r"(?:the|an?|some) (?P<{}>[\w-]+(?: (?!of\b)[\w-]+)?) "
_CHAIN = re.compile("|".join((
    r"\b(?!(?:is|are|was|were|be)\b)[\w-]+ " + _UNKNOWN.format("that")
    + r"(?:that|which|who|whose|where|of which|of whom)\b",
    r"\bof " + _UNKNOWN.format("of") + r"of\b",
    r"\b(?!(?:is|are|was|were|be)\b)[\w-]+ " + _UNKNOWN.format("by") + r"[\w-]+(?:ed|[dnt]) by\b",
    r"^\W*(?:(?:where|when) (?:is|are|was|were|did|does|do)|"
    r"(?:\w+ )?(?:what|which|whom?)(?: [\w-]+){0,2} (?:did|does|do)) "
    + _UNKNOWN.format("first") + r"(?:of|that|which|who|whose|where)\b")), re.I)
_OF_THEM = re.compile(r"^\W*(?:which|who|what|any|all|one) of$", re.I)


def read_query_graph(question: str, names: Sequence[str],
                     written: Iterable[tuple[str, str]] = ()) -> QueryGraph:
    """Return the graph of a question whose names are linked.

    A name is a condition on the answer. After "founded the company that", "of the founder of", "owns the
    firm founded by" or "Where was the singer of" it is one on the company, founder, firm or singer, and
    that one on the answer, until the clause ends or ", and" goes back. "not" and the like negate the
    conditions that follow until the clause ends or "and" starts another verb, "without" those up to the
    next verb. Of names that "or" joins one is enough. A name after "besides" or "other than" is no
    answer itself.

    Parameters
    ----------
    names : sequence of str
        Canonical keys of the names of the question, as `QueryPlan.names`.
    written : iterable of (str, str), optional
        The words of the question for names that it writes in another way, with their keys.
    """
    reader = _QuestionReader(question)
    for begin, end, key in _find_places(question, names, written):
        reader.take(begin, end, key)
    found = {key for node in reader.nodes for key in node.keys}
    left = [name for name in names if name not in found and name not in reader.excluded]
    return QueryGraph(tuple(reader.nodes), tuple(reader.conditions), tuple(left), tuple(reader.excluded))


class _QuestionReader:
    """Reader of a question from one name to the next, with the subject of the words before a name."""

    def __init__(self, question: str) -> None:
        self.nodes = [QueryNode("")]
        self.conditions: list[QueryCondition] = []
        self.excluded: list[str] = []
        self._question = question
        self._words: tuple[str, ...] = ()
        self._about, self._negated, self._leaving = 0, False, False
        self._before = 0  # where the last name ended
        self._row: list[int] = []  # places of the names that only commas part from the last
        self._begins: dict[int, int] = {}

    def take(self, begin: int, end: int, key: str) -> None:
        """Read on to a name, and make it a condition."""
        between = self._question[self._before:begin]
        self._before = end
        words = _split(between)
        if " ".join(words).removesuffix(" the").endswith(_BESIDES):
            self.excluded.append(key)
            return
        if not set(words).isdisjoint(_ENDING):
            self._negated, self._about = False, 0
        if _goes_back(words):
            self._about = 0
        between = self._follow(between)
        if self._row and self.conditions[-1].source != self._about:
            self._row = []
        self._negate(between)
        how = _say_how(between)
        self._words = how or self._words  # "released in Chile and Peru" says it once
        words = _split(between)
        if words[words[:1] == [","]:][:1] == ["or"] and self._row and not self._negated:
            self._join(end, key)
        else:
            listed = not how and "," in words and "and" not in words
            self._add(begin, end, key, listed)

    def _follow(self, between: str) -> str:
        """Move to another unknown if one is described; return the rest of the words before the name."""
        chain = _CHAIN.search(between)
        group = chain.lastgroup if chain else None
        if chain is None or group is None or not chain[group].islower():
            return between  # "the United States that" names something
        start, end = chain.span(group)
        if not _OF_THEM.match(between[:between.rfind(" ", 0, start - 1)].strip()):
            self.nodes.append(QueryNode(chain[group]))
            self._about = len(self.nodes) - 1
            self.conditions.append(QueryCondition(0, self._about, _say_how(between[:start])))
        return between[end if group == "by" else chain.end():]

    def _negate(self, between: str) -> None:
        """Note whether the next condition must not hold."""
        words = _split(between)
        if self._negated and _say_how(between) and (self._leaving or "and" in words):
            self._negated = False  # "not born in Peru and lives in Chile"
        for word in words:
            if word in lexicon("english", "negating") or word.endswith(("n't", "n\u2019t")):
                self._negated, self._leaving = True, word in _LEAVING
                return

    def _add(self, begin: int, end: int, key: str, listed: bool) -> None:
        """Add a condition on the subject of the words, once; `listed` continues a list of names."""
        for one in self.conditions:
            same = (one.source, one.negated) == (self._about, self._negated)
            if same and self.nodes[one.target].key == key:
                return
        place = len(self.nodes)
        self.nodes.append(QueryNode(self._question[begin:end], key))
        self.conditions.append(QueryCondition(self._about, place, self._words, self._negated))
        self._begins[place] = begin
        self._row = [*self._row, place] if listed else [place]
        if self._negated:
            self._row = []

    def _join(self, end: int, key: str) -> None:
        """Make the row of names before "or" and the name after it one condition."""
        first = self._row[0]
        keys = dict.fromkeys(one for place in self._row for one in self.nodes[place].keys)
        keys[key] = None
        main, *others = keys
        text = self._question[self._begins[first]:end]
        self.nodes[first] = QueryNode(text, main, tuple(others))
        del self.nodes[first + 1:]
        self.conditions = [one for one in self.conditions if one.target <= first]
        self._row = [first]


def _find_places(question: str, names: Sequence[str],
                 written: Iterable[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Return begin, end and key of each name in the question; the longer where two overlap."""
    places = []
    for text, key in dict.fromkeys([*((key, key) for key in names), *written]):
        places += [(start, end, key) for start, end in _find_text(question, text)]
    places.sort(key=lambda place: (place[0], -place[1]))
    kept: list[tuple[int, int, str]] = []
    for place in places:
        if not kept or place[0] >= kept[-1][1]:
            kept.append(place)
    return kept


def _find_text(question: str, text: str) -> list[tuple[int, int]]:
    wanted = re.escape(text).replace(r"\ ", r"\W+")
    found = re.finditer(rf"(?<!\w){wanted}(?!\w)", question, re.IGNORECASE)
    return [match.span() for match in found]


def seeks(plan: QueryPlan) -> bool:
    """Return True if a question states its aim: by a question word, or by words that are no name.

    A question of yes or no does not. One in another language than English does.
    """
    parse = parse_question(plan.words)
    if not parse.is_english or not parse.words.isdisjoint(lexicon("english", "questioning")):
        return True
    return not parse.is_closed and any(keyword.level == "high" for keyword in plan.keywords)


def restate_query_graph(query: QueryGraph, wanted: Mapping[str, bool]) -> QueryGraph:
    """Return the graph with conditions on exactly these names, by canonical key; True for one negated.

    A name that the graph has stays a condition on the same node, a new one is a condition on the
    answer. Of names of which one is enough, those stay that are wanted as they are.
    """
    nodes, conditions = list(query.nodes), []
    placed: set[str] = set()
    for condition in query.conditions:
        node = nodes[condition.target]
        keys = [key for key in node.keys if wanted.get(key) == condition.negated]
        if not keys and not node.others and node.key in wanted:
            keys, condition = [node.key], replace(condition, negated=not condition.negated)
        if keys or not node.key:
            conditions.append(condition)
        if keys and len(keys) < len(node.keys):
            nodes[condition.target] = QueryNode(" / ".join(keys), keys[0], tuple(keys[1:]))
        placed.update(keys)
    for key, negated in wanted.items():
        if key not in placed:
            conditions.append(QueryCondition(0, len(nodes), negated=negated))
            nodes.append(QueryNode(key, key))
    return _without_loose(replace(query, nodes=tuple(nodes), conditions=tuple(conditions)))


def _without_loose(query: QueryGraph) -> QueryGraph:
    """Return the graph without nodes that no condition has, but for the answer."""
    ends = {one.source for one in query.conditions} | {one.target for one in query.conditions}
    kept = [place for place in range(len(query.nodes)) if place == 0 or place in ends]
    at = {place: number for number, place in enumerate(kept)}
    conditions = [replace(one, source=at[one.source], target=at[one.target])
                  for one in query.conditions]
    return replace(query, nodes=tuple(query.nodes[place] for place in kept), conditions=tuple(conditions))


def _split(text: str) -> list[str]:
    """Return the words and marks of a text in small letters, without the ending of a genitive before them."""
    words = [word.casefold() for word in _TOKEN.findall(text)]
    return words[1:] if text[:1] in ("'", "\u2019") else words


def _goes_back(words: Sequence[str]) -> bool:
    """Return True if words continue after a comma what came before "that": ", and lives in", ", was in"."""
    for mark, verb, after in zip(words, words[1:], [*words[2:], ""], strict=False):
        goes_on = verb == "and" and after not in ("", *lexicon("english", "articles"))
        if mark == "," and (goes_on or verb in lexicon("english", "auxiliary")):
            return True
    return False


def _say_how(text: str) -> tuple[str, ...]:
    return tuple(word for word in content_words(" ".join(_split(text))) if word not in FUNCTION_WORDS)
