"""Suggested questions about a graph."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

import numpy as np

from qafd.curate.entities import Entity, entities
from qafd.graph import Graph, kind_bit
from qafd.reading.names.languages import CHINESE, ENGLISH, JAPANESE, language_of
from qafd.reading.text import canonical
from qafd.records import GUESS, Chunk
from qafd.storage import Workspace

SUGGESTED = 3
LONGEST = 60  # characters of a name in a question
COMMONEST = 50  # names whose relations are looked at
SAMPLED = 20  # passages by which the language of a workspace is recognized

_ABOUT = {ENGLISH: "Who or what is {}?", CHINESE: "关于“{}”说了什么？",
          JAPANESE: "{}について何が書かれていますか。", "de": "Was steht hier über {}?",
          "fr": "Que dit-on de {} ?", "es": "¿Qué se dice de {}?"}
_BETWEEN = {ENGLISH: "How is {} related to {}?", CHINESE: "“{}”和“{}”有什么联系？",
            JAPANESE: "{}と{}はどうつながっていますか。", "de": "Was verbindet {} mit {}?",
            "fr": "Quel est le lien entre {} et {} ?", "es": "¿Qué relación hay entre {} y {}?"}
_HEADED = {ENGLISH: "What does “{}” say about “{}”?", CHINESE: "《{}》关于“{}”说了什么？",
           JAPANESE: "「{}」には{}について何が書かれていますか。", "de": "Was sagt „{}“ zu „{}“?",
           "fr": "Que dit « {} » de « {} » ?", "es": "¿Qué dice «{}» sobre «{}»?"}


def about(name: str) -> str:
    """Return a question about a name, in the language that its letters are of."""
    return _ABOUT.get(language_of(name, 1), _ABOUT[ENGLISH]).format(name)


def questions_of(store: Workspace, graph: Graph) -> tuple[str, ...]:
    """Return questions about a workspace and its graph, see `questions_about`."""
    rows = np.flatnonzero(graph.kinds == "passage")
    sample = rows[::max(1, len(rows) // SAMPLED)].tolist()
    known = entities(store)
    common = [name.id for name in sorted(known, key=lambda name: -name.passages)[:COMMONEST]]
    facts = [(edge.source, edge.label, edge.target) for edge in store.graph.edges(common, "relation")]
    return questions_about(graph, known, tuple(
        store.passages.of_nodes(graph.ids[row] for row in sample).values()), facts)


def questions_about(graph: Graph, known: Sequence[Entity], passages: Sequence[Chunk],
                    facts: Iterable[tuple[str, str, str]] = ()) -> tuple[str, ...]:
    """Return up to three questions, in the language of some of the passages.

    They take turns: who did what of one of the `facts` (node, verb, node) says, in English; how two names
    that a relation joins are related, the pairs first whose names are in the most passages; what a
    document says under a heading. Each name and document is asked about once. Without enough of these they
    ask about single names, the commonest last: it is often a title or the company whose documents these
    are. Names with a type come first, since those without one may be none. There are no questions in a
    language without words for them here.
    """
    language = language_of("\n".join(passage.text[:2000 // SAMPLED] for passage in passages))
    if language not in _ABOUT:
        return ()
    names = [name for name in known if name.id in graph.row and len(name.name) <= LONGEST]
    names.sort(key=lambda name: (name.type.rstrip(GUESS) in ("", "propn"), -name.passages, name.name))
    done = _ask_about_facts(names, facts) if language == ENGLISH else []
    between = [(_BETWEEN[language].format(*pair), pair) for pair in _rank_pairs(graph, names[:COMMONEST])]
    headed = [(heading if heading.endswith("?") else _HEADED[language].format(title, heading), (title,))
              for title, heading in _headings(passages)]
    single = [(_ABOUT[language].format(name.name), (name.name,))
              for name in (*names[1:SUGGESTED + 1], *names[:1])]
    turns = chain.from_iterable(zip_longest(done, between, headed))
    asked: list[str] = []
    taken: set[str] = set()
    for question, subjects in (*filter(None, turns), *single):
        if taken.isdisjoint(subjects):
            asked.append(question)
            taken.update(subjects)
    return tuple(asked[:SUGGESTED])


def _ask_about_facts(names: Sequence[Entity], facts: Iterable[tuple[str, str, str]]
                     ) -> list[tuple[str, tuple[str, str]]]:
    """Return questions as "Who founded Kew?", each with both names, those of the commonest names first."""
    known = {name.id: name for name in names}
    place = {name.id: at for at, name in enumerate(names)}
    questions = []
    for source, verb, target in facts:
        if source in known and target in known and len(verb.split()) == 1:
            word = "Who" if known[source].type.rstrip(GUESS).casefold() == "person" else "Who or what"
            both = (known[source].name, known[target].name)
            questions.append((max(place[source], place[target]), f"{word} {verb} {both[1]}?", both))
    return [(question, both) for _, question, both in sorted(questions)]


def _headings(passages: Iterable[Chunk]) -> Iterator[tuple[str, str]]:
    """Yield titles of documents with headings in them; that of a whole document only repeats its title."""
    for passage in passages:
        heading = passage.heading.rpartition(" / ")[2]
        short = len(heading) <= LONGEST and len(passage.title) <= LONGEST
        if heading and short and heading != passage.title:
            yield passage.title, heading


def _rank_pairs(graph: Graph, names: Sequence[Entity]) -> list[tuple[str, str]]:
    """Return the pairs of names that a relation joins, those first that are in the most passages."""
    place = {graph.row[name.id]: at for at, name in enumerate(names)}
    pairs = set()
    for row, at in place.items():
        edges = graph.expand(np.array([row]))
        related = edges.neighbors[(edges.edge_kinds & kind_bit("relation")) > 0].tolist()
        pairs |= {(at, place[other]) for other in related if place.get(other, -1) > at}
    ranked = sorted(pairs, key=lambda pair: (-min(names[at].passages for at in pair), pair))
    return [(names[a].name, names[b].name) for a, b in ranked]


def rank_names(graph: Graph, most: int) -> tuple[str, ...]:
    """Return the names of the entities with the most neighbors, without titles of documents."""
    titles = {canonical(graph.names[row]) for row in np.flatnonzero(graph.kinds == "passage").tolist()}
    rows = [row for row in np.flatnonzero(graph.kinds == "entity").tolist()
            if canonical(graph.names[row]) not in titles]
    rows.sort(key=lambda row: (-int(graph.degree[row]), graph.names[row]))
    return tuple(graph.names[row] for row in rows[:most])
