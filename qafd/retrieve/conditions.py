"""The conditions of a question, with its names linked to entities, each as sure as its link is."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.plan.linking import Names, names_of
from qafd.plan.query_graph import EXCLUDING, read_query_graph, restate_query_graph, seeks
from qafd.plan.question import parse_question
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import FUNCTION_WORDS, content_words
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import QueryCondition, QueryGraph, QueryNode, QueryPlan

NOT = "not "  # before the name of a condition that must not hold
MOST_CHOICES = 100  # ways to take one entity for each name
SMALL = 0.8  # how much a name in small letters counts, which may be a word like others


@dataclass(frozen=True)
class LinkedNode:
    """The graph row of a known node, the reason for the link, and its certainty in (0, 1].

    `others` are rows of names that do as well, `namesakes` further rows of the same names: a row
    related to any of them meets a condition.
    """

    row: int
    why: Reason
    sure: float = 1.0
    others: tuple[int, ...] = ()
    namesakes: tuple[int, ...] = ()

    @property
    def named(self) -> tuple[int, ...]:
        """A row for each of the names."""
        return (self.row, *self.others)

    @property
    def rows(self) -> tuple[int, ...]:
        """All rows that the names may be."""
        return (*self.named, *self.namesakes)


@dataclass(frozen=True)
class LinkedQuery:
    """A query graph and its known nodes, by their places; `excluded` are rows that are no answer."""

    query: QueryGraph
    known: dict[int, LinkedNode]
    notices: tuple[Notice, ...] = ()
    excluded: tuple[int, ...] = ()

    @property
    def rows(self) -> dict[int, int]:
        """The graph row of each known node."""
        return {place: node.row for place, node in self.known.items()}

    @property
    def named(self) -> frozenset[int]:
        """Every row that a name of the question may be."""
        return frozenset(row for node in self.known.values() for row in node.rows) | set(self.excluded)

    def choices(self) -> Iterator[dict[int, int]]:
        """Yield each way to take one row for every known node, the first `MOST_CHOICES`."""
        places = list(self.known)
        for rows in islice(product(*(self.known[place].rows for place in places)), MOST_CHOICES):
            yield dict(zip(places, rows, strict=True))

    @property
    def all_negated(self) -> bool:
        """Return True if all conditions are negated, and there are some."""
        conditions = self.query.conditions
        return bool(conditions) and all(condition.negated for condition in conditions)

    def contradictions(self) -> tuple[int, ...]:
        """Return the rows of nodes that one condition requires and another excludes, by any name."""
        wanted: list[LinkedNode] = []
        refused: set[int] = set()
        for condition in self.query.conditions:
            node = self.known.get(condition.target)
            if node is None or condition.source:
                continue
            if condition.negated:
                refused.update(node.named)
            else:
                wanted.append(node)
        return tuple(sorted({node.row for node in wanted if refused.issuperset(node.named)}))


def link_conditions(graph: Graph, plan: QueryPlan) -> LinkedQuery:
    """Return the query graph of a plan, and which entities its names are.

    Names are those of the plan and every other name of an entity in the question. A name that the
    question writes in another way is a condition on the answer. Without any name there is no
    condition, and a notice reports it. Conditions that the plan has already are taken as they are.
    """
    names = names_of(graph)
    given = plan.conditions
    query = given or _read(graph, plan)
    known: dict[int, LinkedNode] = {}
    for place, node in enumerate(query.nodes):
        row = names.row(node.key) if node.key else None
        if row is not None:
            sure = SMALL if node.text.islower() and given is None else 1.0
            stands = (node.text, node.key) in plan.written
            known[place] = LinkedNode(row, reason(
                ReasonKind.STANDS_FOR_NAME if stands else ReasonKind.NAMED), sure,
                _rows_of(names, node.others))
    if given is None:
        query, known = _with_more(graph, query, known, _stand_ins(names, plan, query.unread))
    known = {place: replace(node, namesakes=_namesakes(graph, names, node)) for place, node in known.items()}
    linked = LinkedQuery(query, known, excluded=_rows_of(names, query.excluded))
    return replace(linked, notices=tuple(_notices(graph, plan, linked)))


def count_conditions(graph: Graph, plan: QueryPlan) -> int:
    """Count the conditions of a question by its names; two or more make exact retrieval worth it."""
    return len((plan.conditions or _read(graph, plan)).conditions)


def _notices(graph: Graph, plan: QueryPlan, linked: LinkedQuery) -> Iterator[Notice]:
    """Yield notices about faulty conditions, and about parts of the question in no condition."""
    contradictions = linked.contradictions()
    for row in contradictions:
        yield notice(NoticeKind.CONTRADICTION, name=graph.names[row])
    if contradictions:
        return
    if not linked.query.conditions:
        if NoticeKind.NO_NAME_KNOWN not in {one.kind for one in plan.notices}:
            yield notice(NoticeKind.NO_CONDITION)
        return
    if linked.all_negated:
        yield notice(NoticeKind.ALL_NEGATED)
    elif plan.conditions is None and not seeks(plan):
        yield notice(NoticeKind.NOTHING_SOUGHT)
    elif len(linked.query.conditions) == 1:
        yield notice(NoticeKind.ONE_CONDITION, name=linked.query.nodes[-1].text)
    for row in linked.excluded:
        yield notice(NoticeKind.NAME_EXCLUDED, name=graph.names[row])
    if unread := tuple(_unread(plan, linked)):
        yield notice(NoticeKind.UNREAD, words=unread)


def settle_conditions(graph: Graph, plan: QueryPlan) -> QueryPlan:
    """Return the plan with its conditions linked to this graph, so that other graphs can reuse them."""
    linked = link_conditions(graph, plan)
    nodes = list(linked.query.nodes)
    for place, node in linked.known.items():
        key, *others = (canonical(graph.names[row]) for row in node.named)
        nodes[place] = replace(nodes[place], key=key, others=tuple(others))
    return replace(plan, conditions=replace(linked.query, nodes=tuple(nodes)))


def list_conditions(graph: Graph, linked: LinkedQuery) -> tuple[str, ...]:
    """List the conditions of a question as texts: a name, or "not " and a name."""
    negated = {condition.target for condition in linked.query.conditions if condition.negated}
    texts = []
    for place, node in linked.known.items():
        for row in node.named:
            texts.append(f"{NOT}{graph.names[row]}" if place in negated else graph.names[row])
    return tuple(dict.fromkeys(texts))


def restate_conditions(graph: Graph, plan: QueryPlan, texts: Sequence[str]) -> QueryPlan:
    """Return the plan with exactly these conditions, written as `list_conditions` does.

    Raises
    ------
    ParameterError
        No entity has one of the names.
    """
    now = dict(map(_parse, list_conditions(graph, link_conditions(graph, plan))))
    wanted = dict(map(_parse, texts))
    if wanted == now:
        return plan
    settled = settle_conditions(graph, plan)
    assert settled.conditions is not None
    names = names_of(graph)
    keys = {_key_of(names, name): negated for name, negated in wanted.items()}
    return replace(settled, conditions=restate_query_graph(settled.conditions, keys))


def _parse(text: str) -> tuple[str, bool]:
    """Split a condition into its name and True if it must not hold."""
    text = " ".join(text.split())
    negated = text.casefold().startswith(NOT)
    return text[len(NOT):] if negated else text, negated


def _rows_of(names: Names, keys: Sequence[str]) -> tuple[int, ...]:
    rows = map(names.row, keys)
    return tuple(row for row in rows if row is not None)


def _namesakes(graph: Graph, names: Names, node: LinkedNode) -> tuple[int, ...]:
    """Return the further rows of the names of a node."""
    found: list[int] = []
    for row in node.named:
        found += _rows_of(names, names.namesakes(canonical(graph.names[row])))
    return tuple(found)


def _key_of(names: Names, name: str) -> str:
    """Return the canonical key of the entity with a name."""
    key = names.get(canonical(name))
    if key is None:
        raise ParameterError(f"no entity is called {name[:80]!r}; the page Graph and 'qafd "
                             "entities' list them")
    return key


def _unread(plan: QueryPlan, linked: LinkedQuery) -> tuple[str, ...]:
    """Return the parts of the question in no condition.

    If a model read it, these are names that no entity has; if rules did, words.
    """
    if plan.conditions is not None:
        return plan.conditions.unread
    read: set[str] = set()
    for node in linked.query.nodes:
        read.update(content_words(node.text))
    for condition in linked.query.conditions:
        read.update(condition.words)
    for found in linked.known.values():
        read.update(content_words(str(found.why.values.get("word", ""))))
    for key in linked.query.excluded:
        read.update((*content_words(key), *EXCLUDING))
    for one in plan.notices:  # which tell of names that no entity has
        read.update(content_words(str(one.values.get("name", ""))))
    parse = parse_question(plan.words)
    return tuple(word for word in parse.content if word not in read | parse.asking_words)


def _with_more(graph: Graph, query: QueryGraph, known: dict[int, LinkedNode],
               extra: Iterable[LinkedNode]) -> tuple[QueryGraph, dict[int, LinkedNode]]:
    """Return the query with further conditions on the answer, each entity once."""
    nodes, conditions = list(query.nodes), list(query.conditions)
    linked = dict(known)
    taken = {row for node in known.values() for row in node.named}
    for node in extra:
        if node.row in taken:
            continue
        taken.add(node.row)
        linked[len(nodes)] = node
        conditions.append(QueryCondition(0, len(nodes)))
        nodes.append(QueryNode(graph.names[node.row], canonical(graph.names[node.row])))
    return replace(query, nodes=tuple(nodes), conditions=tuple(conditions), unread=()), linked


def _read(graph: Graph, plan: QueryPlan) -> QueryGraph:
    """Return the query graph of the names that the question has."""
    names = names_of(graph)
    written = [*_find_written(names, plan.words), *plan.written]
    seen = {key for _, key in written}
    keys = [names.get(name) or name for name in plan.names]
    return read_query_graph(plan.words, [key for key in keys if key not in seen], written)


def _find_written(names: Names, question: str) -> Iterator[tuple[str, str]]:
    """Yield the names of entities as the question writes them, and their keys."""
    for key, start, end in names.matches(question, plural=True):
        text = question[start:end]
        if text.casefold() not in FUNCTION_WORDS:
            yield text, key


def _stand_ins(names: Names, plan: QueryPlan, unread: Sequence[str]) -> Iterator[LinkedNode]:
    """Yield the names of the plan that the question writes otherwise."""
    for key in unread:
        row = names.row(key)
        if key in plan.names and row is not None:
            yield LinkedNode(row, reason(ReasonKind.STANDS_FOR_NAME))
