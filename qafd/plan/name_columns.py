"""The names of a graph as columns, for look-ups and for mapping from a file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from weakref import WeakKeyDictionary

import numpy as np

from qafd.arrays import Array, Arrays, TextBlock, VectorColumn, flatten, take_rows, unflatten
from qafd.graph import Graph
from qafd.reading.text import as_typed, canonical, words_in_tree
from qafd.records import Nodes

_REGION = re.compile(r"(?<=\w)-[A-Z]{2}$")  # of a language tag such as en-GB
_MARK = re.compile(r"(?<=\S) \[[^\[\]]+\]$")  # by which an imported graph tells nodes of one name apart


@dataclass(frozen=True, eq=False)
class NameColumns:
    """The names of the entities of a graph, column by column.

    Parameters
    ----------
    rows : ndarray, shape (e,)
        Of the entities in the graph, ascending.
    vectors : ndarray of float32, shape (e, d), or None
        Of their names.
    keys : TextBlock, length k
        Their canonical names, sorted.
    shown : ndarray, shape (k,)
        The row of each.
    typed : TextBlock, length t
        The names as they may be typed, sorted; one typed like several means the last of them.
    meant : ndarray, shape (t,)
        The place in `keys` of the meaning of each.
    marked, sharing : TextBlock and ndarray, length m
        The names that an imported graph gives several nodes, without their distinguishing marks, sorted,
        and the places in `keys` of each.
    openings, opened : TextBlock and ndarray, length o
        The first two words of typed names on lines of their own, sorted, and their places in `typed`.
    """

    rows: Nodes = field(repr=False)
    vectors: VectorColumn | None = field(repr=False)
    keys: TextBlock = field(repr=False)
    shown: Nodes = field(repr=False)
    typed: TextBlock = field(repr=False)
    meant: Nodes = field(repr=False)
    marked: TextBlock = field(repr=False)
    sharing: Nodes = field(repr=False)
    openings: TextBlock = field(repr=False)
    opened: Nodes = field(repr=False)

    @classmethod
    def build(cls, graph: Graph) -> "NameColumns":
        """Return the names of a graph."""
        rows: Nodes = np.flatnonzero(graph.kinds == "entity")
        shown = {canonical(graph.names[row]): row for row in rows.tolist()}
        keys = sorted(shown)
        place = {key: at for at, key in enumerate(keys)}
        namesakes = _group_namesakes(keys)
        meant = _leave_regions_out(shown, graph.names, place)
        meant |= {name: place[some[0]] for name, some in namesakes.items()}
        meant |= {as_typed(key): at for key, at in place.items()}
        typed = sorted(meant)
        marked: list[str] = []
        sharing: list[int] = []
        for name, some in sorted(namesakes.items()):
            marked += [name] * len(some)
            sharing += [place[key] for key in some]
        openings = _open(typed)
        return cls(
            rows, take_rows(graph.name_vectors, rows), TextBlock.of(keys),
            _column(shown[key] for key in keys), TextBlock.of(typed),
            _column(meant[name] for name in typed),
            TextBlock.of(marked), _column(sharing),
            TextBlock.of([opening for opening, _ in openings]), _column(at for _, at in openings))

    def flatten(self) -> dict[str, Array]:
        """Return the columns as arrays."""
        return flatten("names", {spec.name: getattr(self, spec.name) for spec in fields(self)})

    @classmethod
    def unflatten(cls, arrays: Arrays) -> "NameColumns":
        """Return the columns that `flatten` made arrays of."""
        return cls(**{"vectors": None} | unflatten("names", arrays))


_COLUMNS: WeakKeyDictionary[Graph, NameColumns] = WeakKeyDictionary()


def columns_of(graph: Graph, known: NameColumns | None = None) -> NameColumns:
    """Return the columns of names of a graph, made once for each graph in memory unless they are known."""
    if graph not in _COLUMNS:
        _COLUMNS[graph] = known or NameColumns.build(graph)
    return _COLUMNS[graph]


def without_mark(key: str) -> str:
    """Return a canonical name as it may be typed, without its distinguishing mark in an imported graph."""
    return as_typed(_MARK.sub("", key))


def _group_namesakes(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the keys of entities that differ in their marks alone, ascending, by the name without it."""
    marked = {without_mark(key) for key in keys if _MARK.search(key)}
    together: dict[str, list[str]] = {}
    for key in sorted(keys):
        name = without_mark(key)
        if name in marked:
            together.setdefault(name, []).append(key)
    return together


def _leave_regions_out(shown: Mapping[str, int], names: Sequence[str], place: Mapping[str, int]
                       ) -> dict[str, int]:
    """Return the places of names by the name without the tag of a region: "actor" for "Actor-GB"."""
    return {as_typed(key[:-3]): place[key] for key, row in shown.items() if _REGION.search(names[row])}


def _open(typed: Sequence[str]) -> list[tuple[str, int]]:
    """Return the first two words of each name, each with the end of a line, and its place, sorted; without
    names that are too short to be looked for."""
    openings = []
    for at, name in enumerate(typed):
        words = words_in_tree(name)
        if words:
            openings.append(("".join(f"{word}\n" for word in [*words, ""][:2]), at))
    return sorted(openings)


def _column(numbers: Iterable[int]) -> Nodes:
    return np.fromiter(numbers, np.int64)
