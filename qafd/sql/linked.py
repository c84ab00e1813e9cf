"""Schema linking: the tables and columns that the SQL of a question has to read.

What is retrieved is a neighborhood, for the picture and for a model; this is the answer to "which
of them": what the draft reads, the tables that the question says most of, and in all of these the
columns that it names.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from qafd.graph import Graph
from qafd.reading.text.bm25 import content_words
from qafd.records import Floats
from qafd.sql.draft import SqlDraft
from qafd.sql.link import SchemaEvidence
from qafd.sql.schema import Column, Schema, stem

# Chosen on the 516 development questions of Spider 1, see docs/research.md.
FOREMOST, LIKELY, HALF = 0.8, 0.5, 0.5


@dataclass(frozen=True)
class LinkedSchema:
    """Names of tables, those that the question says most of first, and labels of columns."""

    tables: tuple[str, ...]
    columns: tuple[str, ...]


def link_schema(question: str, schema: Schema, graph: Graph, evidence: SchemaEvidence,
                retrieved: Collection[str], draft: SqlDraft) -> LinkedSchema:
    """The tables and columns that a question needs.

    Tables are those of the draft and, of the retrieved ones, those with at least 0.8 of the best
    evidence: a table's own score and half of what its columns have above 0.5. In these tables a
    retrieved column is needed when the question has half of its name's words and no other column
    with the same words fits better; so are the columns that the draft reads and joins by.

    Parameters
    ----------
    retrieved : collection of str
        Tables by name, columns by label.
    """
    said = _evidence_of_tables(schema, graph, evidence.score)
    best = max(said.values())
    tables = set(draft.tables) | {
        name for name, much in said.items() if name in retrieved and much >= FOREMOST * best}
    columns = {*draft.columns, *_joining(draft), *_named(question, schema, tables, retrieved)}
    return LinkedSchema(tuple(sorted(tables, key=lambda name: (-said[name], name))),
                        tuple(c.label for c in schema.columns if c.label in columns))


def _evidence_of_tables(schema: Schema, graph: Graph, score: Floats) -> Mapping[str, float]:
    said = {}
    for table in schema.tables:
        own = np.array([score[graph.row[column.sql]] for column in table.columns])
        likely = np.maximum(own - LIKELY, 0.0).sum()
        said[table.name] = float(score[graph.row[table.sql]] + likely / 2)
    return said


def _joining(draft: SqlDraft) -> Iterator[str]:
    """Labels of the columns that the draft joins its tables by."""
    for join in draft.joins:
        for pair in join.pairs:
            yield from pair


def _named(question: str, schema: Schema, tables: Collection[str],
           retrieved: Collection[str]) -> Iterator[str]:
    """Labels of the columns whose names the question has, of equal words the best fits."""
    asked = {stem(word) for word in content_words(question)}
    fits: dict[tuple[str, ...], list[tuple[float, Column]]] = {}
    for column in schema.columns:
        said = tuple(word for word in column.own_stems if word in asked)
        share = len(said) / max(len(column.own_stems), 1)
        if column.table in tables and column.label in retrieved and share >= HALF:
            fits.setdefault(said, []).append((share, column))
    for alike in fits.values():
        largest = max(share for share, _ in alike)
        for share, column in alike:
            if share == largest:
                yield column.label
