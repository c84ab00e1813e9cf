"""Schema linking: the tables, columns and joins that the SQL of a question has to read.

The diffusion retrieves a neighborhood, for the picture and for a model. This is the answer
to "which of them".
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from qafd.graph import Graph
from qafd.reading.text.bm25 import content_words, stem
from qafd.records import Floats
from qafd.sql.box import Value
from qafd.sql.schema import Column, Join, Schema, stems

if TYPE_CHECKING:
    import networkx

# Chosen on the 516 development questions of Spider 1 (benchmarks/schema_linking.py).
FOREMOST, LIKELY, HALF = 0.7, 0.5, 0.5
LONG = 18  # words of a question from which it may ask for more of a table than it names
GROUPING = {"each", "per", "every"}

_POSSESSIVE = re.compile(r"['\u2019]s\b")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


@dataclass(frozen=True)
class QuestionWords:
    """The words of a question in order, lower case, to be compared with names of a schema."""

    words: tuple[str, ...]

    @classmethod
    def read(cls, question: str) -> "QuestionWords":
        """Split a question into its words and numbers, without the "'s" of a possessor."""
        return cls(tuple(word.lower() for word in _WORD.findall(_POSSESSIVE.sub("", question))))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Return the stem of each word."""
        return tuple(map(stem, self.words))

    @cached_property
    def content(self) -> frozenset[str]:
        """Return the stems of the words that carry content."""
        return frozenset(map(stem, content_words(" ".join(self.words))))

    def find(self, name: Sequence[str]) -> range:
        """Return the positions where these stems occur in a row; empty where they do not."""
        for start in range(len(self.stems) - len(name) + 1):
            if name and self.stems[start:start + len(name)] == tuple(name):
                return range(start, start + len(name))
        return range(0)

    def find_phrase(self, phrase: str) -> range:
        """Return the places of the words of a phrase, see `find`."""
        return self.find([stem(word.lower()) for word in _WORD.findall(phrase)])


@dataclass(frozen=True)
class LinkedSchema:
    """The tables and columns that a question needs, by name and label, and how they are joined.

    The tables that match the question best come first. `values` are the phrases of the question
    that are taken for values of a column, and `rivals` the same phrases in columns that do as well.
    `alternatives` are joins that would do as well as those of `joins`.
    """

    tables: tuple[str, ...]
    columns: tuple[str, ...]
    joins: tuple[Join, ...]
    values: tuple[Value, ...] = ()
    rivals: tuple[Value, ...] = ()
    alternatives: tuple[Join, ...] = ()


def link_schema(question: str, schema: Schema, graph: Graph, named: Floats, score: Floats,
                values: Sequence[Value] = ()) -> LinkedSchema:
    """Choose the tables and columns that a question needs, and join them.

    Tables are those that the question names in full or whose values it has, further ones of which
    it has a word and that have at least 0.7 of the best evidence, and one more that is joined to
    these and has a column with words that no other has. Tables in between are added. One at
    the end of a join whose key the other side has is left out where a short question asks for nothing
    else of it.
    In these tables a column is needed when the question has half of its name's words, and no others
    that it names in full have them.

    Parameters
    ----------
    named, score : ndarray, shape (n,)
        See `qafd.sql.diffusion.SchemaEvidence`.
    """
    asked = QuestionWords.read(question)
    evidence = _measure_tables(schema, graph, score)
    chosen = _choose_tables(asked, schema, graph, named, evidence)
    held, rivals = _choose_values(asked, schema, values, chosen)
    chosen |= {value.table for value in held}
    column = _find_missing_column(asked, schema, graph, score, chosen)
    if column is not None:
        chosen.add(column.table)
    ordered = sorted(chosen, key=lambda name: (-evidence[name], name))
    joins, alternatives = join_tables(schema, ordered, asked)
    tables = {*ordered, *(end for join in joins for end in (join.table, join.target))}
    columns = {*_find_columns(asked, schema, tables), *(value.label for value in held)}
    if len(asked.words) <= LONG:
        joins = _drop_parents(asked, schema, tables, joins, columns)
        columns = {label for label in columns if schema.column[label].table in tables}
    for join in schema.joins:
        if {join.table, join.target} <= tables and join.table != join.target:
            for pair in join.pairs:
                columns.update(pair)
    return LinkedSchema(
        tuple(sorted(tables, key=lambda name: (-evidence[name], name))),
        tuple(each.label for each in schema.columns if each.label in columns), joins, held, rivals,
        tuple(join for join in alternatives if {join.table, join.target} <= tables))


def _choose_values(asked: QuestionWords, schema: Schema, values: Sequence[Value],
                   tables: Collection[str]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Choose one column for each phrase that is a value, and return the columns that do as well.

    Of overlapping phrases the longest counts, and a whole value before a part of one. A column that
    the question names comes before others of a named table, and these before the rest. The name of
    a table is not a value.
    """
    def rank(value: Value) -> tuple[bool, bool, bool]:
        column = schema.column[value.label]
        words = set(column.own_stems) - {stem(word) for word in _WORD.findall(value.phrase)}
        return not value.whole, not words & asked.content, value.table not in tables

    by_phrase: dict[str, list[Value]] = {}
    for value in values:
        by_phrase.setdefault(value.phrase, []).append(value)
    names = [asked.find(table.stems) for table in schema.tables]
    taken: set[int] = set()
    chosen, rivals = [], list[Value]()
    for phrase, found in sorted(by_phrase.items(), key=lambda each: -len(each[0])):
        places = asked.find_phrase(phrase)
        if not places or taken.intersection(places) or places in names:
            continue
        taken.update(places)
        ordered = sorted(found, key=rank)
        first = ordered[0]
        chosen += [value for value in ordered if value.label == first.label]
        rivals += [value for value in ordered
                   if value.label != first.label and rank(value) == rank(first)]
    return tuple(chosen), tuple(rivals)


def _find_columns(asked: QuestionWords, schema: Schema, tables: Collection[str]) -> Iterator[str]:
    """Find the columns of some tables that a question names, by label; of equal words the best.

    One is left out where another named in full has all its words and more, and one named in part where
    several named in full have its words.
    """
    fits: dict[frozenset[str], list[tuple[float, Column]]] = {}
    full: set[frozenset[str]] = set()
    for column in schema.columns:
        words = asked.content.intersection(column.own_stems)
        share = len(words) / max(len(set(column.own_stems)), 1)
        if column.table in tables and share >= HALF:
            fits.setdefault(words, []).append((share, column))
            if share == 1:
                full.add(words)
    explained = frozenset().union(*full)
    for words, alike in fits.items():
        largest = max(share for share, _ in alike)
        if any(words < other for other in full) or largest < 1 and words <= explained:
            continue
        for share, column in alike:
            if share == largest:
                yield column.label


def join_tables(schema: Schema, tables: Sequence[str], asked: QuestionWords
                ) -> tuple[tuple[Join, ...], tuple[Join, ...]]:
    """Connect tables by the shortest joins, each to those before it, where any leads to it.

    Returns
    -------
    joins : tuple of Join
        In an order in which one end of each is there already.
    alternatives : tuple of Join
        Further joins between the same tables, and those of ways that are as short. Of two joins the
        one whose own column the question names is taken, and then the other is no alternative.
    """
    import networkx

    between: dict[frozenset[str], list[Join]] = {}
    for join in schema.joins:
        if join.table != join.target:
            between.setdefault(frozenset((join.table, join.target)), []).append(join)
    graph = networkx.Graph()
    graph.add_nodes_from(table.name for table in schema.tables)
    graph.add_edges_from(tuple(ends) for ends in between)
    reached, joins, alternatives = list(tables[:1]), list[Join](), list[Join]()
    for table in tables[1:]:
        if table in reached:
            continue
        ways = _find_ways(graph, reached, table)
        for way in ways:
            for u, v in zip(way, way[1:], strict=False):
                first, *others = _rank_joins(between[frozenset((u, v))], asked)
                if way is ways[0]:
                    joins.append(first)
                    reached.append(v)
                elif first not in joins:
                    others.append(first)
                alternatives += others
    return tuple(joins), tuple(dict.fromkeys(alternatives))


def _measure_tables(schema: Schema, graph: Graph, score: Floats) -> Mapping[str, float]:
    """Add to the score of each table half of its columns' scores above 0.5."""
    evidence = {}
    for table in schema.tables:
        scores = np.array([score[graph.row[column.sql]] for column in table.columns])
        likely = np.maximum(scores - LIKELY, 0.0).sum()
        evidence[table.name] = float(score[graph.row[table.sql]] + likely / 2)
    return evidence


def _choose_tables(asked: QuestionWords, schema: Schema, graph: Graph, named: Floats,
                   evidence: Mapping[str, float]) -> set[str]:
    """Choose the tables named in full, or the likeliest one, and those with nearly its evidence."""
    places = {table.name: set(asked.find(table.stems)) for table in schema.tables}
    full = [name for name, found in places.items() if found]
    chosen = {name for name in full if not any(places[name] < places[other] for other in full)}
    if not chosen:
        chosen.add(max(evidence, key=evidence.__getitem__))
    least = FOREMOST * max(evidence.values())
    for table in schema.tables:
        if evidence[table.name] >= least and named[graph.row[table.sql]] > 0:
            chosen.add(table.name)
    return _choose_schemas(asked, chosen)


def _choose_schemas(asked: QuestionWords, chosen: set[str]) -> set[str]:
    """Leave out tables for others of the same name whose schema the question names."""
    parts = {name: name.rpartition(".") for name in chosen}
    wanted = {parts[name][2] for name in chosen if asked.find_phrase(parts[name][0])}
    return {name for name in chosen if parts[name][2] not in wanted or asked.find_phrase(parts[name][0])}


def _find_missing_column(asked: QuestionWords, schema: Schema, graph: Graph, score: Floats,
                         chosen: Collection[str]) -> Column | None:
    """Find the likeliest column that is named in full by words that the chosen tables lack.

    Its table is joined to a chosen one.
    """
    covered: set[str] = set()
    for name in chosen:
        covered.update(schema.table[name].stems)
        for column in schema.table[name].columns:
            covered.update(column.own_stems)
    missing = asked.content - covered
    near: set[str] = set()
    for join in schema.joins:
        if join.table in chosen or join.target in chosen:
            near |= {join.table, join.target}
    fits = []
    for column in schema.columns:
        words = set(column.own_stems)
        if column.table in near - set(chosen) and not column.reference and (
                words <= asked.content and words & missing):
            fits.append(column)
    return max(fits, key=lambda column: score[graph.row[column.sql]], default=None)


def _drop_parents(asked: QuestionWords, schema: Schema, tables: set[str], joins: Sequence[Join],
                  columns: Collection[str]) -> tuple[Join, ...]:
    """Take out of `tables` those of which only the key is asked for.

    The first one named stays, and those behind "each" or "per".
    """
    places = {name: asked.find(schema.table[name].stems) for name in tables}
    first = min((name for name in tables if places[name]), key=lambda name: places[name].start, default="")
    grouped = [name for name, found in places.items()
               if found and GROUPING.intersection(asked.words[max(found.start - 1, 0):found.start])]
    asked_of = [schema.column[label] for label in columns if not schema.column[label].key]
    needed = {first, *grouped, *(column.table for column in asked_of)}
    left = list(joins)
    while True:
        ends = Counter(chain.from_iterable((join.table, join.target) for join in left))
        spare = [join for join in left if ends[join.target] == 1 and join.target not in needed]
        if not spare:
            return tuple(left)
        left.remove(spare[0])
        tables.discard(spare[0].target)


def _find_ways(graph: "networkx.Graph", reached: Sequence[str], table: str) -> list[list[str]]:
    """Find the two first of the shortest ways from a reached table to another."""
    import networkx

    distances = networkx.single_source_shortest_path_length(graph, table)
    near = [name for name in reached if name in distances]
    if not near:
        return []
    least = min(distances[name] for name in near)
    ways: list[list[str]] = []
    for name in near:
        if distances[name] == least:
            ways += islice(networkx.all_shortest_paths(graph, name, table), 2)
    return ways[:2]


def _rank_joins(joins: Sequence[Join], asked: QuestionWords) -> list[Join]:
    """Order joins between two tables; one alone if the question names the column of no other."""
    def count_words(join: Join) -> int:
        words = set(chain.from_iterable(map(stems, join.columns)))
        return len((words - set(stems(join.target))) & asked.content)

    ordered = sorted(joins, key=lambda join: (-count_words(join), join.inferred))
    most = count_words(ordered[0])
    return [join for join in ordered if count_words(join) == most]
