"""Retrieval to context: what a model is shown of it, numbered, in flow order, within a budget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qafd.reading.text import count_tokens
from qafd.reading.text.markdown import CITED
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedPassage
from qafd.storage import Workspace

BUDGET = 3000  # tokens
SHARES = {"Entities": 0.15, "Relations": 0.15, "Reasoning paths": 0.1}  # passages have the rest
WAYS = 8  # reasoning paths that are shown
MOST = 20  # paths that they are chosen from
PASSAGE = 8000  # characters of a passage at most


@dataclass(frozen=True)
class Source:
    """A numbered passage of a context."""

    number: int
    passage: RetrievedPassage


@dataclass(frozen=True)
class Context:
    """The data a model answers from.

    `tokens` are counted here and about right; `left_out` passages were retrieved and did not fit.
    """

    text: str = field(repr=False)
    sources: tuple[Source, ...]
    tokens: int
    budget: int
    left_out: int


def build_context(retrieval: Retrieval, store: Workspace, ways: Sequence[str] = (),
                  budget: int = BUDGET) -> Context:
    """Entities, relations, reasoning paths and passages of a retrieval.

    The best passages that fit are taken, then everything is put in flow order: by falling
    importance x, which is the direction in which mass runs. An entity comes with the first
    sentence that speaks of it.

    Parameters
    ----------
    ways : sequence of str
        Reasoning paths in words, the most important first; see `qafd.explain`.
    budget : int
        Tokens, about, of all of it.
    """
    full = [n for n in retrieval.nodes if n.state == SATURATED]
    entities = {n.id: n.name for n in full if n.kind != "passage"}
    x = {n.id: n.importance for n in full}
    described = store.graph.nodes(entities)
    sections = {
        "Entities": [f"{_quoted(name)}: {_quoted(described[key].text)}"
                     for key, name in entities.items() if key in described],
        "Relations": [
            f"{_quoted(entities[e.source])} - {_quoted(e.label)} - {_quoted(entities[e.target])}"
            for e in sorted(store.graph.edges(entities), key=lambda e: -min(
                x.get(e.source, 0.0), x.get(e.target, 0.0)))
            if e.kind == "relation" and e.label and {e.source, e.target} <= entities.keys()],
        "Reasoning paths": [_quoted(way) for way in ways],
    }
    lines: list[str] = []
    for title, rows in sections.items():
        fitting = list(_fitting(rows, int(budget * SHARES[title])))
        lines += [f"{title}:", *fitting, ""] if fitting else []
    left = budget - count_tokens("\n".join(lines))
    chosen = []
    for passage in retrieval.passages:
        cost = count_tokens(_shown(0, passage))
        if cost <= left:
            chosen.append(passage)
            left -= cost
    chosen.sort(key=lambda passage: -x.get(passage.id, 0.0))
    sources = tuple(Source(number, passage) for number, passage in enumerate(chosen, 1))
    lines += ["Passages:", *(_shown(source.number, source.passage) for source in sources)]
    text = "\n".join(lines)
    return Context(text, sources, count_tokens(text), budget,
                   len(retrieval.passages) - len(sources))


def _fitting(rows: Sequence[str], budget: int) -> Iterator[str]:
    for row in rows:
        budget -= count_tokens(row) + 1
        if budget < 0:
            return
        yield row


def _shown(number: int, passage: RetrievedPassage) -> str:
    title = _quoted(passage.title)
    page = f", page {passage.page}" if passage.page is not None else ""
    return f"[{number}] {title}{page}: {_quoted(passage.text)}"


def _quoted(text: str) -> str:
    """One line of a document's text; numbers in brackets are no citations of ours."""
    return CITED.sub(r"(\1)", one_line(text, PASSAGE))
