"""The names of a graph as columns, for look-ups and for mapping from a file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import itemgetter
from weakref import WeakKeyDictionary

import numpy as np

from qafd.arrays import Array, Arrays, TextBlock, VectorColumn, flatten, pick, take_rows, unflatten
from qafd.graph import Graph
from qafd.reading.text import as_typed, canonical, words_in_tree
from qafd.records import Nodes

_REGION = re.compile(r"(?<=\w)-[A-Z]{2}$")  # of a language tag such as en-GB
_LANGUAGE = " language"  # "English" is the English language
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
    def build(cls, graph: Graph, known: "KnownNames | None" = None) -> "NameColumns":
        """Return the names of a graph; it reuses what `known` has of some."""
        known = known or KnownNames({}, {})
        rows: Nodes = np.flatnonzero(graph.kinds == "entity")
        names = pick(graph.names, rows)
        name_of = {known.keys.get(name) or canonical(name): at for at, name in enumerate(names)}
        keys = sorted(name_of)
        place = {key: at for at, key in enumerate(keys)}
        namesakes = _group_namesakes(keys)
        meant = {as_typed(key[:-3]): place[key] for key, at in name_of.items()
                 if names[at][-3:-2] == "-" and _REGION.search(names[at])}
        languages = [key for key in keys if key.endswith(_LANGUAGE)]
        meant |= {as_typed(key.removesuffix(_LANGUAGE)): place[key] for key in languages}
        meant |= {name: place[some[0]] for name, some in namesakes.items()}
        meant |= {as_typed(key): at for key, at in place.items()}
        typed = sorted(meant)
        marked, sharing = _list_namesakes(namesakes, place)
        openings = _open(typed, known.openings)
        return cls(
            rows, take_rows(graph.name_vectors, rows), TextBlock.of(keys),
            rows[_column(name_of[key] for key in keys)], TextBlock.of(typed),
            _column(meant[name] for name in typed),
            TextBlock.of(marked), _column(sharing),
            TextBlock.of([opening for opening, _ in openings]), _column(at for _, at in openings))

    def names_in(self, graph: Graph) -> "KnownNames":
        """Return the values already computed for the names of the graph of these columns."""
        keys = zip(pick(graph.names, self.shown), self.keys, strict=True)
        return KnownNames(dict(keys), dict(zip(self.typed.pick(self.opened), self.openings, strict=True)))

    def flatten(self) -> dict[str, Array]:
        """Return the columns as arrays."""
        return flatten("names", {spec.name: getattr(self, spec.name) for spec in fields(self)})

    @classmethod
    def unflatten(cls, arrays: Arrays) -> "NameColumns":
        """Return the columns that `flatten` made arrays of."""
        return cls(**{"vectors": None} | unflatten("names", arrays))


@dataclass(frozen=True)
class KnownNames:
    """The keys of names, and the openings of typed names, see `NameColumns`."""

    keys: Mapping[str, str]
    openings: Mapping[str, str]


_COLUMNS: WeakKeyDictionary[Graph, NameColumns] = WeakKeyDictionary()


def columns_of(graph: Graph, known: NameColumns | None = None) -> NameColumns:
    """Return the columns of names of a graph, made once for each graph in memory unless they are known."""
    if graph not in _COLUMNS:
        _COLUMNS[graph] = known or NameColumns.build(graph)
    return _COLUMNS[graph]


def without_mark(key: str) -> str:
    """Return a canonical name as it may be typed, without its distinguishing mark in an imported graph."""
    return as_typed(_MARK.sub("", key))


def _list_namesakes(namesakes: Mapping[str, Sequence[str]], place: Mapping[str, int]
                    ) -> tuple[list[str], list[int]]:
    """Return each name that several entities share, once for each of them, and their places."""
    marked: list[str] = []
    sharing: list[int] = []
    for name, keys in sorted(namesakes.items()):
        marked += [name] * len(keys)
        sharing += [place[key] for key in keys]
    return marked, sharing


def _group_namesakes(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the keys of entities that differ in their marks alone, ascending, by the name without it."""
    marked = {without_mark(key) for key in keys if key.endswith("]") and _MARK.search(key)}
    together: dict[str, list[str]] = {}
    for key in sorted(keys) if marked else ():
        name = without_mark(key)
        if name in marked:
            together.setdefault(name, []).append(key)
    return together


def _open(typed: Sequence[str], known: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the first two words of each name, a line each, with its place; sorted.

    Names that are too short to be searched are left out.
    """
    openings = []
    for at, name in enumerate(typed):
        opening = known.get(name)
        if opening is None:
            words = words_in_tree(name)
            opening = "".join(f"{word}\n" for word in [*words, ""][:2]) if words else ""
        if opening:
            openings.append((opening, at))
    return sorted(openings, key=itemgetter(0))  # of equals the places ascend already


def _column(numbers: Iterable[int]) -> Nodes:
    return np.fromiter(numbers, np.int64)
