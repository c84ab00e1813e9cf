"""Schema linking by flow diffusion: tables and columns as a graph, and those a question needs.

Section 4.2 and A2.2 of the paper: tables and columns are nodes, a column is joined to its table
and to the columns that it refers to, T = 1. Seeds are the names in the question, by words, by
vectors, and by values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qafd.flow.weights import Gates, Similarity, Weights, clip
from qafd.graph import Graph
from qafd.models.embedder import Embedder
from qafd.reading.text import as_typed
from qafd.reading.text.bm25 import FUNCTION_WORDS, content_words, stem
from qafd.reasons import ReasonKind, reason
from qafd.records import Edge, Floats, QueryPlan, Vectors
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.qafd import FlowDiffusion, Problem
from qafd.retrieve.seeds import Passages, Seeds, match, near_keyword
from qafd.sql.box import Value
from qafd.sql.schema import Column, Schema, Table, words

# Chosen on the 516 development questions of Spider 1, see docs/research.md.
COSINE, LONE, NEAR_BEST = 0.5, 0.6, 0.55


def schema_graph(schema: Schema, embedder: Embedder) -> Graph:
    """Return tables and columns as nodes; ids are their names in SQL, edges carry the likeness of texts.

    A text is the name in words, and for a column its table, type and first values.
    """
    nodes: list[Table | Column] = [*schema.tables, *schema.columns]
    row = {node.sql: i for i, node in enumerate(nodes)}
    vectors = embedder.embed([_text(node) for node in nodes])
    edges = links(schema)
    u = np.array([row[edge.source] for edge in edges], np.int64)
    v = np.array([row[edge.target] for edge in edges], np.int64)
    names = [table.name for table in schema.tables] + [column.label for column in schema.columns]
    kinds = ["table"] * len(schema.tables) + ["column"] * len(schema.columns)
    return Graph.build(
        list(row), u, v, clip(np.einsum("ij,ij->i", vectors[u], vectors[v]).astype(np.float64)),
        [edge.kind for edge in edges], names=names, kinds=kinds, vectors=vectors,
        name_vectors=embedder.embed([" ".join(words(node.name)) or node.name for node in nodes]))


def links(schema: Schema) -> list[Edge]:
    """Return the edges of the graph, with words for their meaning."""
    edges = []
    for table in schema.tables:
        for column in table.columns:
            edges.append(Edge(table.sql, column.sql, "part_of", 1.0, "has the column"))
    for join in schema.joins:
        refers = "refers, by its name, to" if join.inferred else "refers to"
        edges += [Edge(schema.column[a].sql, schema.column[b].sql, "foreign_key", 1.0, refers)
                 for a, b in join.pairs]
    return edges


def _text(node: Table | Column) -> str:
    name = " ".join(words(node.name))
    if isinstance(node, Table):
        columns = [" ".join(words(column.name)) for column in node.columns]
        return f"{name} with {', '.join(columns)}"
    few = f" such as {', '.join(node.values)}" if node.values else ""
    return f"{' '.join(words(node.table))} {name} {node.type.lower()}{few}"


class SchemaDiffusion(FlowDiffusion):
    """Query-aware flow diffusion over a schema.

    Its corpus has the layers "schema", and "values", the words of the question found in columns.
    The paper pours 10 units for each node on the path from source to target, which fills a whole
    schema of some dozen columns; here it is `mass` for each seed.
    """

    label: ClassVar[str] = "QAFD over a schema"

    def problem(self, corpus: Corpus, plan: QueryPlan) -> Problem:
        """Build the problem of a question."""
        graph = corpus.graph
        seeds = schema_seeds(graph, corpus.layer("schema"), plan, corpus.layer("values"), self.seeds)
        gates = Gates(Weights.of_variant(self.variant, self.a, self.b), plan.embedding,
                      similarity=Similarity(self.similarity, gamma=self.gamma))
        return Problem(self, corpus, plan, match(corpus.passages, plan), seeds, graph, gates,
                       self._pour(graph, seeds, self.mass))


METHOD = SchemaDiffusion(mass=2.0, seeds=10, rule="source-unit")


def schema_corpus(graph: Graph, schema: Schema, values: Sequence[Value]) -> Corpus:
    """Build the corpus that `SchemaDiffusion` retrieves from, for one question."""
    layers = {"schema": schema, "values": values}
    return Corpus(graph, Passages.build(graph, lambda _: []), layers)


def schema_seeds(graph: Graph, schema: Schema, plan: QueryPlan, values: Sequence[Value],
                 most: int) -> Seeds:
    """Return the tables and columns that a question names, by words, meaning and values.

    A node's score is the share of its name's words that the question has (a column of a table that
    is not named counts 0.6 of it), plus half the largest cosine of its name and a keyword, plus the
    cosine of its text and the question; a column in which a value of the question was found gets
    1 more. Seeds are the `most` best ones with at least 0.55 of the best score, and take mass in
    proportion to it.
    """
    evidence = find_evidence(graph, schema, plan, values)
    score = evidence.score
    order = np.lexsort((np.arange(len(score)), -score))[:most]
    rows = order[score[order] >= NEAR_BEST * score[order[:1]]]
    asked = _asked_vectors(plan)
    assert graph.name_vectors is not None
    reasons = []
    for row in rows.tolist():
        held = evidence.held.get(graph.ids[row])
        if held is not None:
            reasons.append(reason(ReasonKind.HOLDS_VALUE, text=held.value))
        elif evidence.named[row] > 0:
            reasons.append(reason(ReasonKind.NAMED))
        else:
            best = int((asked @ graph.name_vectors[row]).argmax())
            reasons.append(near_keyword(plan, best, float(evidence.near[row])))
    return Seeds(rows.astype(np.int64), score[rows] / score[rows].sum(), tuple(reasons))


@dataclass(frozen=True)
class SchemaEvidence:
    """The evidence of a question for each node of a schema, in the order of its graph.

    `named` are shares of names, `near` cosines of names and keywords, `held` the values that were
    found, by the node that holds them, and `schema_seeds` chooses by `score`.
    """

    named: Floats
    near: Floats
    held: Mapping[str, Value]
    score: Floats


def find_evidence(graph: Graph, schema: Schema, plan: QueryPlan, values: Sequence[Value]) -> SchemaEvidence:
    """Return the evidence of a question, see `schema_seeds`."""
    assert graph.name_vectors is not None
    assert graph.vectors is not None
    named = _measure_names(schema, plan.question)
    near = (graph.name_vectors @ _asked_vectors(plan).T).max(axis=1).astype(np.float64)
    text = plan.question.casefold()
    held = {schema.column[v.label].sql: v for v in reversed(values) if v.phrase in text}
    score = (named + np.array([node in held for node in graph.ids], np.float64)
             + COSINE * np.maximum(near, 0)
             + np.maximum(graph.vectors @ plan.embedding, 0).astype(np.float64))
    return SchemaEvidence(named, near, held, score)


def _asked_vectors(plan: QueryPlan) -> Vectors:
    """Return the vectors of the keywords and, last, of the whole question."""
    return np.vstack([plan.keyword_embeddings, plan.embedding[None, :]])


def _measure_names(schema: Schema, question: str) -> Floats:
    """Return the share of its name's words that the question has, for each table and column."""
    asked = {stem(word) for word in content_words(question)} - FUNCTION_WORDS
    table = {t.name: _share(t.stems, asked) for t in schema.tables}
    shares = list(table.values())
    for column in schema.columns:
        share = _share(column.own_stems, asked)
        shares.append(share if table[column.table] else LONE * share)
    return np.array(shares)


def _share(name: Sequence[str], asked: set[str]) -> float:
    return sum(as_typed(word) in asked for word in name) / max(len(name), 1)


def label_edges(retrieval: Retrieval, schema: Schema) -> Retrieval:
    """Return the retrieval with words on its edges."""
    labels = {frozenset((edge.source, edge.target)): edge.label for edge in links(schema)}
    return replace(retrieval, edges=tuple(
        replace(edge, label=labels[frozenset((edge.source, edge.target))])
        for edge in retrieval.edges))
