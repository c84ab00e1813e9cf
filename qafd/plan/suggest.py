"""Suggested questions about a graph."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np

from qafd.curate.entities import Entity, entities
from qafd.graph import Graph
from qafd.reading.names.languages import CHINESE, ENGLISH, JAPANESE, language_of
from qafd.reading.text import canonical
from qafd.records import GUESS, Chunk, Edge
from qafd.storage import Workspace

SUGGESTED = 3
LONGEST = 60  # characters of a name in a question
COMMONEST = 50  # names whose relations are looked at
SAMPLED = 20  # passages by which the language of a workspace is recognized

_WORDS = {
    ENGLISH: ("Who or what is {}?", "How is {} related to {}?", "What does “{}” say about “{}”?"),
    CHINESE: ("关于“{}”说了什么？", "“{}”和“{}”有什么联系？", "《{}》关于“{}”说了什么？"),
    JAPANESE: ("{}について何が書かれていますか。", "{}と{}はどうつながっていますか。",
               "「{}」には{}について何が書かれていますか。"),
    "de": ("Was steht hier über {}?", "Was verbindet {} mit {}?", "Was sagt „{}“ zu „{}“?"),
    "fr": ("Que dit-on de {} ?", "Quel est le lien entre {} et {} ?", "Que dit « {} » de « {} » ?"),
    "es": ("¿Qué se dice de {}?", "¿Qué relación hay entre {} y {}?", "¿Qué dice «{}» sobre «{}»?")}
"""Questions about a name, about two, and about what a document says under a heading."""

Asking = tuple[str, tuple[str, ...]]
"""A question, and the names and documents that it is about."""


def about(name: str) -> str:
    """Return a question about a name, in the language that its letters are of."""
    return _WORDS.get(language_of(name, 1), _WORDS[ENGLISH])[0].format(name)


def questions_of(store: Workspace, graph: Graph) -> tuple[str, ...]:
    """Return questions about a workspace and its graph, see `questions_about`."""
    rows = np.flatnonzero(graph.kinds == "passage")
    sample = graph.ids_of(rows[::max(1, len(rows) // SAMPLED)].tolist())
    names = [name for name in entities(store) if name.id in graph.row and len(name.name) <= LONGEST]
    names.sort(key=lambda name: (name.type.rstrip(GUESS) in ("", "propn"), -name.passages, name.name))
    return questions_about(names, tuple(store.passages.of_nodes(sample).values()),
                           store.graph.edges([name.id for name in names[:COMMONEST]], "relation"))


def questions_about(names: Sequence[Entity], passages: Sequence[Chunk], relations: Iterable[Edge] = ()
                    ) -> tuple[str, ...]:
    """Return up to three questions, in the language of some of the passages.

    They take turns: who did what that a relation says, in English; how two names that a relation joins
    are related; what a document says under a heading. Each name and document is asked about once.
    Without enough of these they ask about single names, the first last: it is often a title or the
    company whose documents these are. There are no questions in a language without words for them here.

    Parameters
    ----------
    names : sequence of Entity
        Those with a type before those without one, which may be none, the commonest first.
    """
    language = language_of("\n".join(passage.text[:2000 // SAMPLED] for passage in passages))
    if language not in _WORDS:
        return ()
    single, joint, under = _WORDS[language]
    done, related = _ask_about_relations(names, relations, joint)
    headed = [(heading if heading.endswith("?") else under.format(title, heading), (title,))
              for title, heading in _headings(passages)]
    turns = chain.from_iterable(zip_longest(done if language == ENGLISH else (), related, headed))
    alone = [(single.format(name.name), (name.name,)) for name in (*names[1:SUGGESTED + 1], *names[:1])]
    asked: list[str] = []
    taken: set[str] = set()
    for question, subjects in (*filter(None, turns), *alone):
        if taken.isdisjoint(subjects):
            asked.append(question)
            taken.update(subjects)
    return tuple(asked[:SUGGESTED])


def _ask_about_relations(names: Sequence[Entity], relations: Iterable[Edge], joint: str
                         ) -> tuple[list[Asking], list[Asking]]:
    """Return questions as "Who founded Kew?" and "How is Kew related to Ada?", of the first names first."""
    place = {name.id: at for at, name in enumerate(names[:COMMONEST])}
    known = [edge for edge in relations if edge.source in place and edge.target in place]
    done: list[Asking] = []
    related: list[Asking] = []
    for edge in sorted(known, key=lambda edge: max(place[edge.source], place[edge.target])):
        source, target = names[place[edge.source]], names[place[edge.target]]
        both = source.name, target.name
        if len(edge.label.split()) == 1:
            word = "Who" if source.type.rstrip(GUESS).casefold() == "person" else "Who or what"
            done.append((f"{word} {edge.label} {target.name}?", both))
        related.append((joint.format(*both), both))
    return done, related


def _headings(passages: Iterable[Chunk]) -> Iterator[tuple[str, str]]:
    """Yield titles of documents with headings in them; that of a whole document only repeats its title."""
    for passage in passages:
        heading = passage.heading.rpartition(" / ")[2]
        short = len(heading) <= LONGEST and len(passage.title) <= LONGEST
        if heading and short and heading != passage.title:
            yield passage.title, heading


def rank_names(graph: Graph, most: int) -> tuple[str, ...]:
    """Return the names of the entities with the most neighbors, without titles of documents."""
    titles = {canonical(graph.names[row]) for row in np.flatnonzero(graph.kinds == "passage").tolist()}
    rows = [row for row in np.flatnonzero(graph.kinds == "entity").tolist()
            if canonical(graph.names[row]) not in titles]
    rows.sort(key=lambda row: (-int(graph.degree[row]), graph.names[row]))
    return tuple(graph.names[row] for row in rows[:most])
