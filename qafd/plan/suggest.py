"""Questions about a graph that nobody has asked yet, to begin with."""

from collections.abc import Mapping, Sequence

import numpy as np

from qafd.curate.entities import Entity, entities
from qafd.graph import Graph, kind_bit
from qafd.reading.names.languages import CHINESE, ENGLISH, JAPANESE, language_of
from qafd.reading.text import canonical
from qafd.records import GUESS, node_id
from qafd.storage import Workspace

LONGEST = 60  # characters of a name in a question
SAMPLED = 20  # passages by which the language of a workspace is told

# Beside the names they have no word that could be missing in the documents, which would be told.
_ABOUT = {ENGLISH: "Who or what is {}?", CHINESE: "关于“{}”说了什么？",
          JAPANESE: "{}について何が書かれていますか。", "de": "Was steht hier über {}?",
          "fr": "Que dit-on de {} ?", "es": "¿Qué se dice de {}?"}
_BETWEEN = {ENGLISH: "What do {} and {} have to do with each other?",
            CHINESE: "“{}”和“{}”有什么联系？",
            JAPANESE: "{}と{}はどうつながっていますか。",
            "de": "Was verbindet {} mit {}?", "fr": "Quel est le lien entre {} et {} ?",
            "es": "¿Qué relación hay entre {} y {}?"}
# Names of these types are persons, organizations, places and works.
_TELLING = frozenset(("person", "org", "organization", "organisation", "company", "gpe", "loc",
                      "fac", "place", "location", "city", "country", "work_of_art", "work",
                      "product", "event"))
_UNTYPED = "propn"  # a name that the tagger missed
_UNTYPED_SHARE = 0.5  # of the passages of such a name count


def about(name: str) -> str:
    """A question about a name, in the language that its letters are of."""
    return _ABOUT.get(language_of(name, 1), _ABOUT[ENGLISH]).format(name)


def questions_of(store: Workspace, graph: Graph) -> tuple[str, ...]:
    """Questions about a workspace and its graph, see `questions_about`."""
    rows = np.flatnonzero(graph.kinds == "passage")
    some = rows[::max(1, len(rows) // SAMPLED)].tolist()
    nodes = store.graph.nodes(graph.ids[row] for row in some)
    return questions_about(graph, entities(store), "\n".join(
        node.text[:2000 // SAMPLED] for node in nodes.values()))


def questions_about(graph: Graph, known: Sequence[Entity], text: str) -> tuple[str, ...]:
    """Up to three questions about the persons, organizations, places and works in most passages.

    A name without a type counts as in half of its passages: it may be no name at all. Two questions
    are of one name, between them one of two names that a sentence joins by a verb. They are in the
    language of `text`, some of the passages; none where that is a language without such questions.
    Where all names are of other types, as in graphs without a tagger, those of `questions`.
    """
    language = language_of(text)
    if language not in _ABOUT:
        return ()
    weights = {_UNTYPED: _UNTYPED_SHARE} | dict.fromkeys(_TELLING, 1.0)
    found = sorted((one for one in known if _kind(one) in weights and one.id in graph.row
                    and len(one.name) <= LONGEST),
                   key=lambda one: (-one.passages * weights[_kind(one)], -one.relations, one.name))
    if not found:
        return questions(graph)
    return _ask(graph, {graph.row[one.id]: one.name for one in found}, language)


def _ask(graph: Graph, names: Mapping[int, str], language: str) -> tuple[str, ...]:
    """Questions about the first two names, and between them one of the first names that a relation
    joins; `names` are by row of the graph, the best first."""
    first = list(names)[:2]
    asked = [_ABOUT[language].format(names[row]) for row in first]
    for row in first:
        related = set(_related(graph, row))
        other = next((one for one in names if one in related), None)
        if other is not None:
            asked.insert(1, _BETWEEN[language].format(names[row], names[other]))
            break
    return tuple(asked)


def _kind(one: Entity) -> str:
    return one.type.rstrip(GUESS).casefold()


def _related(graph: Graph, row: int) -> list[int]:
    """The rows that a relation joins to one."""
    edges = graph.expand(np.array([row]))
    found: list[int] = edges.neighbors[(edges.edge_kinds & kind_bit("relation")) > 0].tolist()
    return found


def questions(graph: Graph) -> tuple[str, ...]:
    """Up to three questions about names of a graph: two of one name, one of two.

    Names that are titles of passages come first, then those of two words or more; of each kind the
    best connected ones. A question about both is asked where a sentence has both. Chinese or
    Japanese names are asked about in their language.
    """
    titles = {graph.row[key] for row in np.flatnonzero(graph.kinds == "passage").tolist()
              if (key := node_id("entity", canonical(graph.names[row]))) in graph.row}
    entities = [row for row in np.flatnonzero(graph.kinds == "entity").tolist()
                if len(graph.names[row]) <= LONGEST]
    entities.sort(key=lambda row: (row not in titles, " " not in graph.names[row],
                                   -int(graph.degree[row]), row))
    language = language_of("\n".join(graph.names[row] for row in entities[:200]))
    return _ask(graph, {row: graph.names[row] for row in entities},
                language if language in _ABOUT else ENGLISH)


def rank_names(graph: Graph, most: int) -> tuple[str, ...]:
    """Return the names of the entities with the most neighbors, without titles of documents."""
    titles = {canonical(graph.names[row]) for row in np.flatnonzero(graph.kinds == "passage").tolist()}
    rows = [row for row in np.flatnonzero(graph.kinds == "entity").tolist()
            if canonical(graph.names[row]) not in titles]
    rows.sort(key=lambda row: (-int(graph.degree[row]), graph.names[row]))
    return tuple(graph.names[row] for row in rows[:most])
