"""Chooser: a logistic model that orders the sentences of a retrieval and rates the first.

`benchmarks/fit_chooser.py` fits it; assets/chooser.json has its coefficients.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from qafd.plan.kinds import Asked, rate_kind
from qafd.plan.question import parse_question
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import stem, stems, words
from qafd.reading.text.lines import ITEM, STAMP, is_row
from qafd.reading.text.scripts import length
from qafd.records import Floats, QueryPlan, Vectors, node_id
from qafd.resources import assets
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.retrieve.seeds import Passages
from qafd.storage import Workspace
from qafd.storage.rows import SentenceName

FEATURES = ("meaning", "words", "around", "rank", "kind", "hop")
"""Names of the columns of `rate_sentences`."""
_QUESTION = re.compile(r"[?？][\s\d.]*$")  # also with the number of the next heading behind it
_STAMP = re.compile(rf"^\s*{STAMP}\s*")  # in front of who says a line of a chat

Names = Mapping[tuple[str, int], Sequence[SentenceName]]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A sentence at `start:end` of the passage of a rank, and its vector, shape (d,).

    `before` is the sentence before it in the passage, None for the first.
    """

    rank: int
    passage: RetrievedPassage
    start: int
    end: int
    vector: Vectors
    heading: str
    before: "Candidate | None" = None

    @property
    def text(self) -> str:
        return self.passage.text[self.start:self.end].strip()

    @property
    def body(self) -> str:
        """The text without the bullet or number of an item, which answers nothing."""
        mark = ITEM.match(self.text)
        return self.text[mark.end():] if mark else self.text

    @property
    def asks(self) -> bool:
        """Return True for a question; the row of a table is none."""
        return _QUESTION.search(self.text) is not None and not is_row(self.text)

    def find_speaker(self, names: Iterable[SentenceName]) -> SentenceName | None:
        """Return the name before a colon at the start of its line; None without one, or if the sentence
        has it."""
        line = self.passage.text[self.passage.text.rfind("\n", 0, self.start) + 1:self.start]
        label, colon, _ = _STAMP.sub("", line).partition(": ")
        return next((name for name in names if colon and name.text == label), None)

    def compare(self, plan: QueryPlan) -> float:
        """Return its cosine with the question, or that of a question of the text that it follows."""
        similarity = float(self.vector @ plan.embedding)
        if self.before and self.before.asks:
            similarity = max(similarity, float(self.before.vector @ plan.embedding))
        return similarity


@dataclass(frozen=True)
class SentenceChoice:
    """The places of the candidates, best first, and the chance that the first answers."""

    order: tuple[int, ...]
    chance: float


@dataclass(frozen=True)
class ChoiceModel:
    """Weights of k features, and those of the chance: an intercept, the first's log-probability, the words
    of the question. Long questions ask for more than one sentence says."""

    weights: Floats
    chance: Floats

    def log_probability(self, table: Floats) -> float:
        """Return the log-probability of the best of some sentences by their features, shape (s, k)."""
        scores = table @ self.weights
        return float(scores.max() - np.logaddexp.reduce(scores))

    def weigh(self, table: Floats, asked: int) -> SentenceChoice:
        """Order sentences by their features, shape (s, k), and rate the first for so many words `asked`."""
        order = np.argsort(-(table @ self.weights), kind="stable")
        odds = float(self.chance @ (1.0, self.log_probability(table), asked))
        return SentenceChoice(tuple(order.tolist()), float(np.exp(-np.logaddexp(0.0, -odds))))


def choose(candidates: Sequence[Candidate], plan: QueryPlan, retrieval: Retrieval, passages: Passages,
           store: Workspace) -> SentenceChoice:
    """Order the candidates by the fitted model."""
    table = rate_sentences(candidates, plan, retrieval, passages, store)
    return _model().weigh(table, length(plan.words))


def rate_sentences(candidates: Sequence[Candidate], plan: QueryPlan, retrieval: Retrieval,
                   passages: Passages, store: Workspace) -> Floats:
    """Return the features of sentences, shape (s, k), one column for each of `FEATURES`.

    The kind of thing asked for is rated in English alone: elsewhere types of names are not known. A hop
    leads from the nearest sentence to the passage of a name in it, as far as the names of the
    question are sure and the nearest sentence lacks its other words.
    """
    asked, named = _weigh_words(plan, passages), stems(" ".join(plan.names))
    # A sentence that answers often has "she" instead of a name.
    unnamed = {word: weight for word, weight in asked.items() if word not in named}
    parse = parse_question(plan.words)
    known, kind = parse.words, parse.asked if parse.is_english else None
    terms = tuple(canonical(keyword.text) for keyword in plan.keywords)
    names = store.passages.names({each.passage.chunk for each in candidates})
    cosines = [each.compare(plan) for each in candidates]
    nearest = int(np.argmax(cosines))
    leads = _find_leads(candidates, names, nearest)
    open_words = (retrieval.named_share or 0.0) * (1 - _share(unnamed, candidates[nearest].text))
    rows = []
    for each, cosine in zip(candidates, cosines, strict=True):
        found = list(names.get((each.passage.chunk, each.end), ()))
        if kind == Asked.PERSON and (speaker := each.find_speaker(names_of_chunk(names, each.passage.chunk))):
            found.append(speaker)
        new = [name for name in found if not known.issuperset(words(name.text))]
        before = each.before
        above = f"{each.passage.title}\n{each.heading}\n{before.text if before else ''}"
        rows.append((
            cosine,
            _share(unnamed, each.text),
            _share(asked, f"{above}\n{each.text}"),
            each.rank,
            float(canonical(each.text).startswith(terms)) if kind == Asked.MEANING else
            rate_kind(kind, each.body, new, known) if kind else 0.0,
            open_words * (each.passage.title in leads)))
    return np.array(rows, float)


def names_of_chunk(names: Names, chunk: str) -> Iterator[SentenceName]:
    """Yield the names of all sentences of a passage."""
    for (place, _), found in names.items():
        if place == chunk:
            yield from found


def _weigh_words(plan: QueryPlan, passages: Passages) -> dict[str, float]:
    """Return how rare the question's words are in all passages, by stem; words that none has weigh 0."""
    asked = parse_question(plan.words).content
    spread = passages.bm25.spread_forms(asked)
    rarity = np.where(spread > 0, np.log1p((len(passages) - spread + 0.5) / (spread + 0.5)), 0.0)
    weights: dict[str, float] = {}
    for word, weight in zip(asked, rarity.tolist(), strict=True):
        weights[stem(word)] = max(weight, weights.get(stem(word), 0.0))
    return weights


def _share(asked: Mapping[str, float], text: str) -> float:
    """Return the share of the weight of some words that a text has, in [0, 1]."""
    found = stems(text)
    return sum(weight for word, weight in asked.items() if word in found) / max(sum(asked.values()), 1e-9)


def _find_leads(candidates: Sequence[Candidate], names: Names, nearest: int) -> set[str]:
    """Return the titles of passages that the nearest sentence, or one next to it, names: the next hop."""
    leads: set[str] = set()
    for each in candidates[max(0, nearest - 1):nearest + 2]:
        if each.rank == candidates[nearest].rank:
            leads.update(name.node for name in names.get((each.passage.chunk, each.end), ()))
    titles = {each.passage.title for each in candidates} - {candidates[nearest].passage.title}
    return {title for title in titles if node_id("entity", canonical(title)) in leads}


@cache
def _model() -> ChoiceModel:
    stored = json.loads((assets() / "chooser.json").read_text("utf-8"))
    return ChoiceModel(*(np.array(stored[name]) for name in ("weights", "chance")))
