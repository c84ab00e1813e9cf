"""Retrieval to context: what a model is shown of it, numbered, in flow order, within a budget."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qafd.explain.chains import Chain
from qafd.explain.conditions import AnswerConditions, ConditionRow
from qafd.explain.paths import ReasoningPath
from qafd.reading.text import count_tokens
from qafd.reading.text.markdown import CITED
from qafd.reading.text.plaintext import one_line
from qafd.records import WEIGHT, Edge
from qafd.retrieve import METHODS
from qafd.retrieve.base import (
    SATURATED,
    Method,
    Retrieval,
    RetrievedPassage,
    Structure,
    StructureKind,
)
from qafd.retrieve.layers import merged_descriptions
from qafd.storage import Workspace
from qafd.wording.explanations import say_chain, say_path

BUDGET = 3000  # tokens
ROWS, STRUCTURE = 0.15, 0.3  # of it: entities, relations; a structure; passages have the rest
WAYS = 8  # reasoning paths that are shown
RELATIONS = 40  # whose descriptions are looked up
PASSAGE = 8000  # characters of a passage at most
TABLE = 0.6  # of the budget, for the conditions of candidates
SAID = 400  # characters of a relation's description

MEASURES = {"path": "reliability", "flow_path": "mean energy"}
TITLES = {StructureKind.REPORT: "Community reports", StructureKind.SUMMARY: "Summaries"}


@dataclass(frozen=True)
class Source:
    """A numbered passage of a context."""

    number: int
    passage: RetrievedPassage


@dataclass(frozen=True)
class Context:
    """The data a model answers from.

    `tokens` are counted here, at most `budget` of them; `left_out` passages did not fit, and `weak`
    ones have less than the share of the best score that `qafd.retrieve.base.Method.shown` names.
    """

    text: str = field(repr=False)
    sources: tuple[Source, ...]
    tokens: int
    budget: int
    left_out: int
    weak: int = 0


def build_context(retrieval: Retrieval, store: Workspace, ways: Sequence[ReasoningPath | Chain] = (),
                  budget: int = BUDGET) -> Context:
    """Entities, relations, the method's own structures, and passages of a retrieval.

    The best passages that fit are taken, then put in flow order: by falling importance x, which is
    the direction in which mass runs. An entity comes with what models said of it, else with the
    first sentence that speaks of it, a relation with what models said of it.

    Parameters
    ----------
    ways : sequence of ReasoningPath or Chain
        The paths that the method found, the most important first; see `qafd.explain`.
    budget : int
        Tokens of all of it, as `count_tokens` counts.
    """
    x = {n.id: n.importance for n in retrieval.nodes if n.state == SATURATED}
    blocks = {"Entities": (_entities(retrieval, store), ROWS),
              "Relations": (_relations(retrieval, store, x), ROWS),
              "Reasoning paths": (_paths(retrieval.method, ways), STRUCTURE)}
    for kind, title in TITLES.items():
        blocks[title] = _reports(retrieval.structures, kind), STRUCTURE
    lines: list[str] = []
    for title, (rows, share) in blocks.items():
        fitting = list(_fitting(rows, int(budget * share) - count_tokens(f"{title}:")))
        if fitting:
            lines += [f"{title}:", *fitting, ""]
    chosen = _passages_within(retrieval, budget - count_tokens("\n".join([*lines, "Passages:"])))
    chosen.sort(key=lambda passage: -x.get(passage.id, 0.0))
    return _with_passages(lines, chosen, retrieval, budget)


def build_table_context(retrieval: Retrieval, answers: Sequence[AnswerConditions],
                        budget: int = BUDGET) -> Context:
    """Candidates with the conditions that they meet, and the passages that show it.

    A condition has the number of its passage, if that one fits. `budget` is as of `build_context`.
    """
    room = int(budget * TABLE)
    chosen = _passages_within(retrieval, budget - room - count_tokens("Passages:"))
    numbers = {passage.id: number for number, passage in enumerate(chosen, 1)}
    rows = []
    for answer in answers:
        said = [_condition(row, numbers) for row in answer.rows]
        rows.append(f"{_quoted(answer.name)} surely meets {answer.met} of {answer.wanted} conditions: "
                    + "; ".join(said))
    fitting = list(_fitting(iter(rows), room - count_tokens("Candidates:")))
    lines = ["Candidates:", *fitting, ""] if fitting else []
    return _with_passages(lines, chosen, retrieval, budget)


def _condition(row: ConditionRow, numbers: Mapping[str, int]) -> str:
    """A condition of a candidate, with the number of the passage that shows it."""
    name = _quoted(row.name)
    if row.negated:
        return f"not related to {name}, as asked"
    if not row.met:
        return f"{name}: not met"
    cited = f" [{numbers[row.passage]}]" if row.passage in numbers else ""
    if row.level == "sentence":
        return f"{name}: perhaps, both are named in “{_quoted(row.sentence)}”{cited}"
    if row.level == "relation" and row.sentence:
        return f"{name}: met, “{_quoted(row.sentence)}”{cited}"
    return f"{name}: {'met' if row.level == 'relation' else 'perhaps, both are named in one passage'}{cited}"


def _passages_within(retrieval: Retrieval, left: int) -> list[RetrievedPassage]:
    """The best of the strong passages that fit into so many tokens."""
    strong = _strong(retrieval)
    chosen = []
    for passage in strong:
        cost = count_tokens(_shown(len(strong), passage))
        if cost <= left:
            chosen.append(passage)
            left -= cost
    return chosen


def _with_passages(lines: list[str], chosen: Sequence[RetrievedPassage], retrieval: Retrieval,
                   budget: int) -> Context:
    """A context of lines and numbered passages."""
    strong = len(_strong(retrieval))
    sources = tuple(Source(number, passage) for number, passage in enumerate(chosen, 1))
    if sources:
        lines += ["Passages:", *(_shown(source.number, source.passage) for source in sources)]
    text = "\n".join(lines)
    return Context(text, sources, count_tokens(text), budget, strong - len(sources),
                   len(retrieval.passages) - strong)


def _strong(retrieval: Retrieval) -> list[RetrievedPassage]:
    """The passages with a share of the best score; all where no score is above 0."""
    best = max((passage.score for passage in retrieval.passages), default=0.0)
    least = best * getattr(METHODS.get(retrieval.method), "shown", Method.shown)
    return [passage for passage in retrieval.passages if least <= 0 or passage.score >= least]


def _entities(retrieval: Retrieval, store: Workspace) -> Iterator[str]:
    named = {n.id: n.name for n in retrieval.nodes if n.state == SATURATED and n.kind != "passage"}
    described = store.graph.nodes(named)
    merged = merged_descriptions(store)
    for key, name in named.items():
        if key in described:
            yield f"{_quoted(name)}: {_quoted(merged.get(key, described[key].text))}"


def _relations(retrieval: Retrieval, store: Workspace, x: Mapping[str, float]) -> Iterator[str]:
    """Labeled relations between entities that are retrieved, those of the most important first."""
    names = {n.id: n.name for n in retrieval.nodes if n.state == SATURATED and n.kind != "passage"}
    labeled = []
    for edge in store.graph.edges(names, "relation"):
        if edge.label and {edge.source, edge.target} <= names.keys():
            labeled.append(edge)
    labeled.sort(key=lambda e: -min(x[e.source], x[e.target]))
    said = _said_of_relations(store, labeled[:RELATIONS])
    for edge in labeled:
        row = f"{_quoted(names[edge.source])} - {_quoted(edge.label)} - {_quoted(names[edge.target])}"
        told = said.get(frozenset((edge.source, edge.target)))
        yield f"{row}: {told}" if told else row


def _said_of_relations(store: Workspace, edges: Sequence[Edge]) -> dict[frozenset[str], str]:
    """What models said of some relations, by their two ends; the strongest description of each."""
    nodes = store.graph.nodes({end for edge in edges for end in (edge.source, edge.target)})
    ids = {node.key: id for id, node in nodes.items()}
    merged = store.edits.map_merged()
    strongest: dict[frozenset[str], float] = defaultdict(float)
    said: dict[frozenset[str], str] = {}
    for one in store.passages.said_of(*ids, *(key for key, own in merged.items() if own in ids)):
        about = one.description
        ends = [ids.get(merged.get(key, key), "") for key in (about.source, about.target) if key]
        pair = frozenset(ends)
        strength = 0.0 if about.kind == WEIGHT else about.strength
        known = len(pair) == 2 and "" not in pair and bool(about.text)
        if known and (pair not in said or strength > strongest[pair]):
            strongest[pair] = strength
            said[pair] = _quoted(about.text, SAID)
    return said


def _paths(method: str, ways: Sequence[ReasoningPath | Chain]) -> Iterator[str]:
    """Each path with its measure; of a chain, with the sentence of each hop."""
    for way in ways:
        if isinstance(way, Chain):
            sentences = " ".join(f'"{_quoted(hop.sentence, SAID)}"' for hop in way.hops)
            yield f"{_quoted(say_chain(way))}: {sentences}"
        else:
            yield f"{_quoted(say_path(way))} ({MEASURES.get(method, 'score')} {way.mass:.3g})"


def _reports(structures: Sequence[Structure], kind: StructureKind) -> Iterator[str]:
    for one in structures:
        if one.kind == kind:
            yield f"{_quoted(one.title)}: {_quoted(one.text)}"


def _fitting(rows: Iterator[str], budget: int) -> Iterator[str]:
    for row in rows:
        budget -= count_tokens(row)
        if budget < 0:
            return
        yield row


def _shown(number: int, passage: RetrievedPassage) -> str:
    title = _quoted(passage.title)
    page = f", page {passage.page}" if passage.page is not None else ""
    return f"[{number}] {title}{page}: {_quoted(passage.text)}"


def _quoted(text: str, most: int = PASSAGE) -> str:
    """One line of a document's text; numbers in brackets are no citations of ours."""
    return CITED.sub(r"(\1)", one_line(text, most).translate({ord("【"): "(", ord("】"): ")"}))
