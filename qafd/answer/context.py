"""The text that a model reads of a retrieval: passages by rank, numbered, within a budget of tokens."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from qafd.explain.chains import Chain
from qafd.explain.conditions import AnswerConditions, ConditionRow
from qafd.explain.paths import ReasoningPath
from qafd.graph import Graph
from qafd.reading.text import count_tokens
from qafd.reading.text.bm25 import words
from qafd.reading.text.markdown import CITED
from qafd.reading.text.plaintext import one_line
from qafd.records import WEIGHT, Edge
from qafd.retrieve import METHODS
from qafd.retrieve.base import (
    Method,
    Retrieval,
    RetrievedNode,
    RetrievedPassage,
    Structure,
    StructureKind,
)
from qafd.retrieve.layers import layers_of, merged_descriptions, states
from qafd.retrieve.layers.communities import Communities
from qafd.storage import Workspace
from qafd.wording.explanations import say_chain, say_path

BUDGET = 1500  # tokens
ROWS, STRUCTURE = 0.15, 0.3  # of it: entities, relations; a structure; passages have the rest
WAYS = 8  # reasoning paths that are shown
RELATIONS = 40  # whose descriptions are looked up
PASSAGE = 8000  # characters of a passage at most
TABLE = 0.6  # of the budget, for the conditions of candidates
SAID = 400  # characters of a relation's description
LEVEL, CLUSTERS = 2, 3  # of communities with a report by a model
COPY = 0.9  # shared words over all words of two passages, from which they count as one

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

    `tokens` are counted here, at most `budget` of them. `left_out` passages did not fit, `copies`
    repeat a passage that is there, and `weak` ones have less than the share of the best score that
    `qafd.retrieve.base.Method.shown` names.
    """

    text: str = field(repr=False)
    sources: tuple[Source, ...]
    tokens: int
    budget: int
    left_out: int
    weak: int = 0
    copies: int = 0


def build_context(retrieval: Retrieval, store: Workspace, ways: Sequence[ReasoningPath | Chain] = (),
                  budget: int = BUDGET) -> Context:
    """Build the passages of a retrieval by rank, then facts that they do not contain.

    After the passages come the structures of the method (paths, reports, summaries). A graph that a
    model read adds entities and relations with its descriptions. A graph that rules read has only
    sentences of passages; of its chains those follow that no shown passage has.

    Parameters
    ----------
    ways : sequence of ReasoningPath or Chain
        The paths that the method found, the most important first; see `qafd.explain`.
    budget : int
        Tokens of all of it, as `count_tokens` counts.
    """
    described = merged_descriptions(store)
    named = [node for node in retrieval.retrieved if node.kind != "passage"]
    by_rules = not described and retrieval.method == "qafd"
    blocks: dict[str, tuple[Iterable[str], float]] = {}
    if described:
        blocks["Entities"] = _entities(named, store, described), ROWS
        blocks["Relations"] = _relations(named, store), ROWS
    if not by_rules:
        blocks["Reasoning paths"] = _paths(retrieval.method, ways), STRUCTURE
    for kind, title in TITLES.items():
        found = [one for one in retrieval.structures if one.kind == kind]
        blocks[title] = [f"{_quote(one.title)}: {_quote(one.text)}" for one in found], STRUCTURE
    lines = _block_lines(blocks, budget)
    shown = _Shown(retrieval, budget - count_tokens("\n".join(["Passages:", *lines])))
    if by_rules:
        unsaid = _unsaid_chains(ways, "\n".join(passage.text for passage in shown.chosen))
        lines += _block_lines({"Reasoning paths": (unsaid, 1.0)}, shown.left)
    return shown.write(budget, after=lines)


def add_reports(retrieval: Retrieval, graph: Graph, store: Workspace) -> Retrieval:
    """Return a diffusion with the reports of a model on the communities that it fills most, QS-Step 3."""
    written = any(layer.name == "communities" and layer.written for layer in states(store))
    if not written or retrieval.method != "qafd" or retrieval.revision != graph.revision:
        return retrieval
    layer = layers_of(graph, store, ("communities",)).get("communities")
    if not isinstance(layer, Communities):
        return retrieval
    home, filled = layer.cut(LEVEL, len(graph)), np.zeros(len(layer))
    for node in retrieval.retrieved:
        if home[graph.row[node.id]] >= 0:
            filled[home[graph.row[node.id]]] += node.importance
    best = np.argsort(-filled, kind="stable")[:CLUSTERS]
    return replace(retrieval, structures=tuple(
        Structure(StructureKind.REPORT, float(filled[at]), (), layer.titles[at], layer.texts[at])
        for at in best.tolist() if filled[at] > 0))


def _block_lines(blocks: Mapping[str, tuple[Iterable[str], float]], budget: int) -> list[str]:
    """Return the rows of titled blocks, each within its share of a budget, after an empty line."""
    lines: list[str] = []
    for title, (rows, share) in blocks.items():
        fitting = list(_fitting(rows, int(budget * share) - count_tokens(f"\n{title}:")))
        if fitting:
            lines += ["", f"{title}:", *fitting]
    return lines


def build_table_context(retrieval: Retrieval, answers: Sequence[AnswerConditions],
                        budget: int = BUDGET) -> Context:
    """Return candidates with the conditions that they meet, and the passages that show it.

    A condition has the number of its passage, if that one fits. `budget` is as of `build_context`.
    """
    room = int(budget * TABLE)
    shown = _Shown(retrieval, budget - room - count_tokens("Passages:"))
    numbers = {passage.id: number for number, passage in enumerate(shown.chosen, 1)}
    rows = []
    for answer in answers:
        said = [_condition(row, numbers) for row in answer.rows]
        rows.append(f"{_quote(answer.name)} surely meets {answer.met} of {answer.wanted} conditions: "
                    + "; ".join(said))
    fitting = list(_fitting(rows, room - count_tokens("Candidates:")))
    lines = ["Candidates:", *fitting, ""] if fitting else []
    return shown.write(budget, before=lines)


def _condition(row: ConditionRow, numbers: Mapping[str, int]) -> str:
    """Return a condition of a candidate, with the number of the passage that shows it."""
    name = _quote(row.name)
    if row.negated:
        return f"not related to {name}, as asked"
    if not row.met:
        return f"{name}: not met"
    cited = f" [{numbers[row.passage]}]" if row.passage in numbers else ""
    if row.level == "sentence":
        return f"{name}: perhaps, both are named in “{_quote(row.sentence)}”{cited}"
    if row.level == "relation" and row.sentence:
        return f"{name}: met, “{_quote(row.sentence)}”{cited}"
    return f"{name}: {'met' if row.level == 'relation' else 'perhaps, both are named in one passage'}{cited}"


class _Shown:
    """The best of the strong passages that fit into so many tokens, near copies once.

    Strong are those with a share of the best score, all where no score is above 0. `left` are the tokens
    that they leave.
    """

    def __init__(self, retrieval: Retrieval, room: int) -> None:
        found = retrieval.passages
        best = max((passage.score for passage in found), default=0.0)
        least = best * getattr(METHODS.get(retrieval.method), "shown", Method.shown)
        strong = [passage for passage in found if least <= 0 or passage.score >= least]
        self.chosen: list[RetrievedPassage] = []
        self.left = room
        different = _without_copies(strong)
        for passage in different:
            cost = count_tokens(_write_passage(len(strong), passage))
            if cost <= self.left:
                self.chosen.append(passage)
                self.left -= cost
        self._left_out = len(different) - len(self.chosen)
        self._weak, self._copies = len(found) - len(strong), len(strong) - len(different)

    def write(self, budget: int, before: Sequence[str] = (), after: Sequence[str] = ()) -> Context:
        """Return them as a context, numbered, with lines before and after them."""
        numbered = list(enumerate(self.chosen, 1))
        head = ["Passages:"] if numbered else []
        passages = [_write_passage(number, passage) for number, passage in numbered]
        text = "\n".join([*before, *head, *passages, *after]).lstrip("\n")
        sources = tuple(Source(number, passage) for number, passage in numbered)
        return Context(text, sources, count_tokens(text), budget, self._left_out, self._weak, self._copies)


def _without_copies(passages: Sequence[RetrievedPassage]) -> list[RetrievedPassage]:
    """Return the passages whose words are not nearly those of one before."""
    kept: list[tuple[RetrievedPassage, set[str]]] = []
    for passage in passages:
        own = set(words(passage.text))
        if not any(len(own & other) > COPY * len(own | other) for _, other in kept):
            kept.append((passage, own))
    return [passage for passage, _ in kept]


def _entities(named: Sequence[RetrievedNode], store: Workspace, merged: Mapping[str, str]) -> Iterator[str]:
    described = store.graph.nodes([node.id for node in named])
    for node in named:
        if node.id in described:
            yield f"{_quote(node.name)}: {_quote(merged.get(node.id, described[node.id].text))}"


def _relations(named: Sequence[RetrievedNode], store: Workspace) -> Iterator[str]:
    """Yield labeled relations between entities that are retrieved, those of the most important first."""
    known = {node.id: node for node in named}
    labeled = [edge for edge in store.graph.edges(list(known), "relation")
               if edge.label and edge.source in known and edge.target in known]
    labeled.sort(key=lambda edge: -min(known[edge.source].importance, known[edge.target].importance))
    said = _said_of_relations(store, labeled[:RELATIONS])
    for edge in labeled:
        fact = known[edge.source].name, edge.label, known[edge.target].name
        told = said.get(frozenset((edge.source, edge.target)))
        yield " - ".join(map(_quote, fact)) + (f": {told}" if told else "")


def _said_of_relations(store: Workspace, edges: Sequence[Edge]) -> dict[frozenset[str], str]:
    """Return the strongest description that models wrote of some relations, by their two ends."""
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
            said[pair] = _quote(about.text, SAID)
    return said


def _paths(method: str, ways: Sequence[ReasoningPath | Chain]) -> Iterator[str]:
    """Yield each path with its measure; of a chain, with the sentence of each hop."""
    for way in ways:
        if isinstance(way, Chain):
            sentences = " ".join(f'"{_quote(hop.sentence, SAID)}"' for hop in way.hops)
            yield f"{_quote(say_chain(way))}: {sentences}"
        else:
            yield f"{_quote(say_path(way))} ({MEASURES.get(method, 'score')} {way.mass:.3g})"


def _fitting(rows: Iterable[str], budget: int) -> Iterator[str]:
    for row in rows:
        budget -= count_tokens(row)
        if budget < 0:
            return
        yield row


def _unsaid_chains(ways: Sequence[ReasoningPath | Chain], shown: str) -> Iterator[str]:
    """Yield the sentences of chains that no shown passage has, each once, after its chain."""
    known = one_line(shown, len(shown) + 1)
    for way in ways:
        if not isinstance(way, Chain):
            continue
        unsaid = [hop.sentence for hop in way.hops if one_line(hop.sentence, PASSAGE) not in known]
        if unsaid:
            known += " " + " ".join(one_line(sentence, PASSAGE) for sentence in unsaid)
            quotes = " ".join(f'"{_quote(sentence, SAID)}"' for sentence in unsaid)
            yield f"{_quote(say_chain(way))}: {quotes}"


def _write_passage(number: int, passage: RetrievedPassage) -> str:
    """Return a numbered passage with its line breaks, below its title, page and heading.

    The file is named where it has no other title: of a hundred files of one passage each, their names
    took a tenth of the budget.
    """
    page = "" if passage.page is None else f"page {passage.page}"
    untitled = passage.document.rpartition(".")[0] == passage.title
    places = dict.fromkeys([passage.document if untitled else passage.title, page, passage.heading])
    head = ", ".join(_quote(place) for place in places if place)
    text = "\n".join(_quote(line) for line in passage.text[:PASSAGE].splitlines() if line.strip())
    return f"[{number}] {head}\n{text}"


def _quote(text: str, most: int = PASSAGE) -> str:
    """Return one line of a document's text; numbers in brackets are no citations of ours."""
    return CITED.sub(r"(\1)", one_line(text, most).translate({ord("【"): "(", ord("】"): ")"}))
