"""Questions about a graph that nobody has asked yet, to begin with."""

import numpy as np

from qafd.assemble import node_id
from qafd.extract.languages import CHINESE, ENGLISH, JAPANESE, language_of
from qafd.graph import Graph, kind_bit
from qafd.text import canonical

LONGEST = 60  # characters of a name in a question

_ABOUT = {ENGLISH: "What is said about {}?", CHINESE: "关于“{}”说了什么？",
          JAPANESE: "{}について何が書かれていますか。"}
_BETWEEN = {ENGLISH: "How are {} and {} connected?", CHINESE: "“{}”和“{}”有什么联系？",
            JAPANESE: "{}と{}はどうつながっていますか。"}


def about(name: str) -> str:
    """A question about a name, in the language that its letters are of."""
    return _ABOUT.get(language_of(name, 1), _ABOUT[ENGLISH]).format(name)


def questions(graph: Graph) -> tuple[str, ...]:
    """Up to three questions about names of a graph: two of one name, one of two.

    Names that are titles of passages come first, then those of two words or more; of each kind the
    best connected ones. "How are X and Y connected?" is asked where a sentence has both. Chinese or
    Japanese names are asked about in their language.
    """
    titles = {graph.row[key] for row in np.flatnonzero(graph.kinds == "passage").tolist()
              if (key := node_id("entity", canonical(graph.names[row]))) in graph.row}
    entities = [row for row in np.flatnonzero(graph.kinds == "entity").tolist()
                if len(graph.names[row]) <= LONGEST]
    place = {row: at for at, row in enumerate(sorted(entities, key=lambda row: (
        row not in titles, " " not in graph.names[row], -int(graph.degree[row]), row)))}
    order = list(place)
    language = language_of("\n".join(graph.names[row] for row in order[:200]))
    language = language if language in _ABOUT else ENGLISH
    asked = [_ABOUT[language].format(graph.names[row]) for row in order[:2]]
    for row in order[:2]:
        edges = graph.expand(np.array([row]))
        related = edges.neighbors[(edges.edge_kinds & kind_bit("relation")) > 0].tolist()
        other = min((place[end] for end in related if end in place), default=None)
        if other is not None:
            asked.insert(1, _BETWEEN[language].format(
                graph.names[row], graph.names[order[other]]))
            break
    return tuple(asked)
