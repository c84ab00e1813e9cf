"""Question to query plan: keywords of both levels, embedding, names in the graph, subqueries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from qafd.assemble import node_id
from qafd.errors import ModelError, ParameterError
from qafd.extract import TYPES, proper_runs, tagger
from qafd.graph import Graph
from qafd.llm import LLM
from qafd.models import Embedder
from qafd.prompts_answer import PLAN_SCHEMA, PLAN_TOKENS, plan_messages, read_plan
from qafd.records import Keyword, Nodes, QueryPlan, Vectors
from qafd.subqueries import decompose
from qafd.text import NameIndex, as_typed, canonical, words_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

READ = 1500  # characters of a question that are read
SOUGHT = TYPES - {"NORP", "LANGUAGE"}  # single words of these types ought to be names
NEAREST = 0.5  # cosine from which the nearest name stands in for one the graph does not know
TOLD = 4  # unknown names of a question that are told one by one
SAME = 0.95  # and from which it is that name, spelled otherwise

_READING = Lock()  # spaCy's pipelines add words to a shared vocabulary as they read

Found = tuple[str, int, int]
"""A key of the graph and where the question has it."""


class Planner:
    """Reads questions against one graph, with spaCy's small English model.

    Parameters
    ----------
    graph : Graph
        Whose entities' names are looked for.
    embedder : Embedder
        The model the graph was indexed with.
    merged : mapping of str to str, optional
        Keys of names that are another entity's by an edit, to the key of that entity.
    """

    def __init__(self, graph: Graph, embedder: Embedder,
                 merged: Mapping[str, str] | None = None) -> None:
        self._graph = graph
        self._embedder = embedder
        self._names = _Names(graph, merged) if merged else _names_of(graph)

    def plan(self, question: str, *, subqueries: bool = False) -> QueryPlan:
        """The question, read; with `subqueries`, also each of the parts it consists of.

        `names` are the names of the graph in the question by longest match (lower-case terms
        only when there is no other), then the nearest name of each named entity of two words or
        more that the graph does not know, if their cosine is >= 0.5. Low-level keywords name
        things, high-level ones are the other noun phrases.

        Raises
        ------
        ParameterError
            When the question has no letter or digit.
        """
        asked = " ".join(question.split())
        if not any(character.isalnum() for character in asked):
            raise ParameterError(
                "The question is empty; type a question about your documents." if not asked else
                f"“{asked[:40]}” has no letter or digit; ask in words.")
        notices = []
        if len(asked) > READ:
            notices.append(f"The question has {len(asked):,} characters; only the first {READ:,} "
                           "are read, so put what you ask first.")
            asked = asked[:READ]
        nlp, _ = tagger()
        with _READING:
            doc = nlp(asked)
        common = nlp.Defaults.stop_words
        found = self._find(asked, common)
        named = list(_named(doc))
        parts = decompose(doc, _spans(doc, found)) if subqueries else ()
        low = _distinct([*(asked[start:end] for _, start, end in found),
                         *(span.text for span in named)])
        taken = {canonical(text) for text in low}
        high = [text for text in _distinct(_themes(doc)) if canonical(text) not in taken]
        keywords = (*(Keyword(text, "low") for text in low),
                    *(Keyword(text, "high") for text in high))
        vectors = self._embedder.embed([asked, *(keyword.text for keyword in keywords)])
        keys = dict.fromkeys(key for key, _, _ in found)
        covered = {place for _, start, end in found for place in range(start, end)}
        places = {canonical(text): place for place, text in enumerate(low, 1)}
        unknown = {key: _said(span) for span in named if (key := canonical(span.text))
                   and (" " in key or (span.label_ in SOUGHT and len(key) > 2))
                   and not covered.intersection(range(span.start_char, span.end_char))}
        near = {text: self._nearest(key, vectors[places[key]]) for key, text in unknown.items()}
        keys |= dict.fromkeys(canonical(name) for name, _ in near.values() if name)
        if len(self._names.rows) and not keys:
            notices.append("No name in the question is known to this graph, so the passages "
                           "nearest in words and meaning are the only seeds.")
        elif keys:
            said = [*_missing(near), *_partial(asked, named, found)]
            notices += said[:TOLD]
            if len(said) > TOLD:
                notices.append(f"{len(said) - TOLD} more names of the question are none in these "
                               "documents.")
        if not _looks_english(asked, common):
            notices.append("The question does not look English; the bundled models know English "
                           "only, so the result may be poor.")
        return QueryPlan(question, keywords, vectors[0], vectors[1:], tuple(keys), tuple(notices),
                         tuple(self.plan(part) for part in parts))

    def refine(self, plan: QueryPlan, keywords: Sequence[Keyword], subqueries: Sequence[str],
               planner: str) -> QueryPlan:
        """A local plan with the keywords and subqueries that a language model named.

        Its low-level keywords are looked for in the graph like the names of the question, which
        stay; the embedding stays that of the question.
        """
        levels = {keyword.text: keyword for keyword in reversed(keywords)}
        kept = tuple(levels[text] for text in _distinct(keyword.text for keyword in keywords))
        vectors = self._embedder.embed([keyword.text for keyword in kept])
        named = [(canonical(keyword.text), vector) for keyword, vector in zip(
            kept, vectors, strict=True) if keyword.level == "low"]
        names = dict.fromkeys([
            *plan.names, *(self._names.get(key) or canonical(self._nearest(key, vector)[0])
                           for key, vector in named)])
        names.pop("", None)
        return replace(
            plan, keywords=kept, keyword_embeddings=vectors, names=tuple(names), planner=planner,
            subqueries=tuple(self.plan(part) for part in subqueries))

    def _find(self, asked: str, common: set[str]) -> list[Found]:
        """Names of the graph in the question; terms only when there is nothing else.

        In a question typed without capitals, single words count as well.
        """
        capitals = any(letter.isupper() for letter in asked[1:])
        found = [
            (key, start, end) for key, start, end in self._names.find(asked)
            if " " in key or (key not in common and (
                not capitals or any(letter.isupper() for letter in asked[start:end])))]
        proper = [match for match in found if match[0] not in self._names.terms]
        return proper or found

    def _nearest(self, key: str, vector: Vectors) -> tuple[str, float]:
        """The name that stands for an unknown one of two words or more, "" for none; the cosine."""
        graph, rows = self._graph, self._names.rows
        if " " not in key or graph.name_vectors is None or not len(rows):
            return "", 0.0
        cosines = graph.name_vectors[rows] @ vector
        best = int(cosines.argmax())
        return graph.names[rows[best]] if cosines[best] >= NEAREST else "", float(cosines[best])


def _said(span: "Span") -> str:
    """A name of the question as it is shown."""
    return span.text.removesuffix("'s").removesuffix("\u2019s")


def _missing(near: Mapping[str, tuple[str, float]]) -> Iterator[str]:
    """What became of the names that the graph does not have, given the nearest one of each."""
    for text, (name, cosine) in near.items():
        if cosine < SAME:
            yield f"\u201c{text}\u201d is no name in these documents" + (
                f"; the nearest one, {name} (similarity {cosine:.2f}), stands for it." if name
                else ".")


def _partial(asked: str, named: Sequence["Span"], found: Sequence[Found]) -> Iterator[str]:
    """Persons of the question of whom the graph has only a part of the name."""
    for span in named:
        parts = [asked[start:end] for _, start, end in found
                 if span.start_char <= start and end <= span.end_char]
        if span.label_ == "PERSON" and parts and canonical(parts[0]) != canonical(span.text):
            yield f"\u201c{_said(span)}\u201d is no name in these documents, only {parts[0]} is."


def plan_by(client: LLM, planner: Planner, plan: QueryPlan, *,
            subqueries: bool = False) -> QueryPlan:
    """A local plan with the keywords, and the subqueries if asked for, of a language model.

    When the model fails or names no keyword, the local plan stays and a notice says why.
    """
    try:
        reply = client.complete(plan_messages(plan.question), schema=PLAN_SCHEMA,
                                max_tokens=PLAN_TOKENS)
        keywords, parts = read_plan(reply.text)
    except ModelError as error:
        return replace(plan, notices=(
            *plan.notices, f"The question was read without {client.name}: {error}"))
    return planner.refine(plan, keywords, parts if subqueries else (), client.name)


def entities_named(graph: Graph, names: Iterable[str],
                   merged: Mapping[str, str] | None = None) -> dict[str, str]:
    """The id of the entity that each name means in a graph; without those it does not know.

    A name means what it does in a question: whatever has its canonical form, or what an edit says
    (`merged` as for `Planner`). The nearest name does not stand in for one that is not there.
    """
    known = _Names(graph, merged) if merged else _names_of(graph)
    ids = {name: node_id("entity", key) for name in names if (key := known.get(canonical(name)))}
    return {name: key for name, key in ids.items() if key in graph.row}


class _Names:
    """The entities of a graph by name: index, rows, and which keys are lower-case terms."""

    def __init__(self, graph: Graph, merged: Mapping[str, str] | None = None) -> None:
        self.rows: Nodes = np.flatnonzero(graph.kinds == "entity")
        keys = {canonical(graph.names[row]): graph.names[row] for row in self.rows.tolist()}
        self._exact = {name: key for name, key in (merged or {}).items() if key in keys}
        self._exact |= {key: key for key in keys}
        # Of names that are typed alike, the last one in the order of the alphabet.
        self._typed = {as_typed(name): self._exact[name] for name in sorted(self._exact)}
        self._index = NameIndex(self._typed)
        self.terms = {key for key, name in keys.items() if name == name.lower()}

    def get(self, name: str) -> str | None:
        """The key of the entity that a canonical name means, with other accents and dashes too."""
        return self._exact.get(name) or self._typed.get(as_typed(name))

    def find(self, text: str) -> Iterator[Found]:
        """The names in a text by longest match, whatever its accents, dashes and capitals."""
        for typed, start, end in self._index.find(as_typed(text), anyhow=True):
            yield self.get(canonical(text[start:end])) or self._typed[typed], start, end


_NAMES: WeakKeyDictionary[Graph, _Names] = WeakKeyDictionary()


def _names_of(graph: Graph) -> _Names:
    if graph not in _NAMES:
        _NAMES[graph] = _Names(graph)
    return _NAMES[graph]


def _named(doc: "Doc") -> Iterator["Span"]:
    """Named entities, and proper nouns that are none; without numbers and dates."""
    blocked = {token.i for entity in doc.ents for token in entity}
    yield from (entity for entity in doc.ents if entity.label_ in TYPES and canonical(entity.text))
    for sentence in doc.sents:
        yield from (run for run in proper_runs(sentence, blocked) if canonical(run.text))


def _spans(doc: "Doc", found: Sequence[Found]) -> list[tuple[int, int]]:
    """Where names stand in the question, in order, the longer of two that overlap."""
    spans = {(start, end) for _, start, end in found} | {
        (span.start_char, span.end_char) for span in _named(doc) if span.label_ != "NORP"}
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
        if all(end <= a or b <= start for a, b in kept):
            kept.append((start, end))
    return sorted(kept)


def _themes(doc: "Doc") -> Iterator[str]:
    """Noun phrases without their leading function words."""
    for phrase in doc.noun_chunks:
        tokens = list(phrase)
        while tokens and (tokens[0].is_stop or not tokens[0].is_alpha):
            tokens = tokens[1:]
        if tokens:
            yield doc.text[tokens[0].idx:tokens[-1].idx + len(tokens[-1])]


def _distinct(texts: Iterable[str]) -> list[str]:
    """The texts with different canonical forms, the first of each."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(canonical(text), text)
    kept.pop("", None)
    return list(kept.values())


def _looks_english(asked: str, common: set[str]) -> bool:
    """Whether letters and function words could be English; short questions always could."""
    letters = [letter for letter in asked if letter.isalpha()]
    if sum(letter.isascii() for letter in letters) < 0.7 * len(letters):
        return False
    typed = [word for word, _, _ in words_of(asked)]
    return len(typed) < 6 or any(word in common for word in typed)
