"""A database that can be asked: its schema as a graph, a question's part of it, SQL, rows."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Self, cast

from qafd.errors import ParameterError, SqlError
from qafd.explain import Explanation, RunExplanation
from qafd.graph import Graph
from qafd.models.embedder import Embedder
from qafd.plan import Planner
from qafd.reading.text import words_of
from qafd.reading.text.bm25 import FUNCTION_WORDS
from qafd.reading.text.plaintext import storable
from qafd.reasons import NoticeKind, ReasonKind, notice
from qafd.records import Edge, Node, QueryPlan
from qafd.retrieve.base import Corpus, Retrieval
from qafd.sql import box
from qafd.sql.box import QueryRows, Value
from qafd.sql.dialect import check_select
from qafd.sql.diffusion import (
    METHOD,
    SchemaDiffusion,
    find_evidence,
    label_edges,
    links,
    schema_corpus,
    schema_graph,
)
from qafd.sql.draft import SqlDraft, draft
from qafd.sql.linking import LinkedSchema, link_schema
from qafd.sql.schema import Schema
from qafd.sql.tables import holds_tables, write_database
from qafd.storage import Workspace

DDL = (".sql", ".ddl")
PHRASE, MOST_PHRASES = 4, 60  # words of a value that is looked for, and how many are


def read_source(source: str | Path, dialect: str = "") -> Schema:
    """Return the schema of a SQLite file, a table (.csv, .tsv, .xlsx) or DDL (.sql, .ddl).

    Parameters
    ----------
    dialect : str
        Of DDL, as sqlglot calls it; "" lets its words speak.

    Raises
    ------
    ParameterError
        There is no such file.
    SqlError
        It is damaged or without tables.
    """
    path = Path(source)
    if not path.is_file():
        raise ParameterError(f"there is no file {str(path)}; name a SQLite database, a table or the DDL of a "
                             "schema, as pg_dump --schema-only writes it")
    if path.suffix.lower() in DDL:
        return box.read_ddl(path, dialect)
    if holds_tables(path):
        with TemporaryDirectory() as folder:
            return write_database(path, Path(folder))[1]
    return box.read_schema(path)


@dataclass(frozen=True, eq=False)
class Database:
    """A SQLite file, the tables of a CSV file or a workbook, or the schema of another database.

    Parameters
    ----------
    source : str
        Its file.
    graph : Graph
        Of `schema`, see `qafd.sql.diffusion.schema_graph`.
    """

    source: str
    schema: Schema = field(repr=False)
    graph: Graph = field(repr=False)
    embedder: Embedder = field(repr=False)

    @classmethod
    def open(cls, source: str | Path, embedder: Embedder, dialect: str = "") -> Self:
        """Return the database at a path, see `read_source`."""
        if not holds_tables(source):
            schema = read_source(source, dialect)
            return cls(str(source), schema, schema_graph(schema, embedder), embedder)
        folder = mkdtemp(prefix="qafd-tables-")
        file, schema = write_database(Path(source), Path(folder))
        opened = cls(str(file), schema, schema_graph(schema, embedder), embedder)
        weakref.finalize(opened, rmtree, folder)
        return opened

    def ask(self, question: str, method: SchemaDiffusion = METHOD) -> "DatabaseQuestion":
        """Ask a question: find the part of the schema that it needs, and draft its SQL.

        Raises
        ------
        ParameterError
            The question is empty.
        """
        plan = Planner(self.graph, self.embedder).plan(storable(question))
        values: tuple[Value, ...] = ()
        if self.schema.has_rows:
            values = box.find_values(Path(self.source), self.schema, *phrases(plan))
        corpus = schema_corpus(self.graph, self.schema, values)
        retrieval = label_edges(method.retrieve(corpus, plan), self.schema)
        sure = (ReasonKind.NAMED, ReasonKind.HOLDS_VALUE)
        named = any(n.reason.kind in sure for n in retrieval.retrieved)
        lost = () if named else (notice(NoticeKind.NOTHING_NAMED),)
        return DatabaseQuestion(self, plan, values, method, corpus,
                     replace(retrieval, notices=(
                         *plan.notices, *lost, *retrieval.notices)))

    def run(self, sql: str) -> QueryRows:
        """Return the rows of one SELECT, see `qafd.sql.box.run`.

        Raises
        ------
        SqlError
            There are no rows here, or it is no SELECT that can be run.
        """
        if not self.schema.has_rows:
            raise SqlError("Only the schema of this database is known here, not its rows; copy the SQL "
                           "and run it where they are.")
        return box.run(Path(self.source), sql)

    def check(self, sql: str) -> None:
        """Check that SQL can be run; without rows, that it fits the schema.

        Raises
        ------
        SqlError
            It has this fault.
        """
        if self.schema.has_rows:
            self.run(sql)
        else:
            check_select(sql, self.schema)


@dataclass(frozen=True, eq=False)
class DatabaseQuestion:
    """A question, the retrieved part of the schema, and the results from it."""

    database: Database
    plan: QueryPlan
    values: tuple[Value, ...]
    method: SchemaDiffusion
    corpus: Corpus = field(repr=False)
    retrieval: Retrieval = field(repr=False)

    @cached_property
    def importance(self) -> dict[str, float]:
        """Return the importance of each retrieved table by name and column by label."""
        found = {n.name: n.importance for n in self.retrieval.retrieved}
        for column in self.database.schema.columns:
            if column.label in found:
                found.setdefault(column.table, 0.0)
        return found

    @cached_property
    def draft(self) -> SqlDraft:
        """Draft the SQL without a language model."""
        return draft(self.plan.question, self.database.schema, self.linked)

    @cached_property
    def linked(self) -> LinkedSchema:
        """Link the question to the tables and columns that it needs."""
        schema, graph = self.database.schema, self.database.graph
        evidence = find_evidence(graph, schema, self.plan, self.values)
        return link_schema(self.plan.question, schema, graph, evidence.named, evidence.score, self.values)

    @property
    def path(self) -> tuple[str, ...]:
        """A walk over the joins and columns of the draft, as ids of the graph."""
        schema = self.database.schema
        there: list[str] = []
        for join in self.draft.joins:
            own, other = join.pairs[0]
            there += [schema.table[join.table].sql, schema.column[own].sql,
                      schema.column[other].sql, schema.table[join.target].sql]
        for column in (*self.draft.shown, *filter(None, [self.draft.totaled])):
            there += [schema.table[column.table].sql, column.sql]
        return tuple(there)

    @cached_property
    def explanation(self) -> Explanation:
        """Why each table and column is retrieved or not; see `qafd.explain`."""
        graph, retrieval = self.database.graph, self.retrieval
        # It asks a store for texts and relations of nodes only; a schema has the latter.
        opened = cast("Callable[[], Workspace]", lambda: _Relations(links(self.database.schema)))

        problem = self.method.problem(self.corpus, self.plan)
        run = RunExplanation(graph, retrieval, opened, lambda _: (), problem, problem.solve())
        return Explanation(graph, retrieval, self.plan, self.method, (run,))


@dataclass(frozen=True)
class _Relations:
    """The edges of a schema, with the methods of a store that explanations call."""

    all: list[Edge]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    @property
    def graph(self) -> Self:
        """Itself: its nodes and edges."""
        return self

    def nodes(self, _: Iterable[str]) -> dict[str, Node]:
        """Return texts of passages: there are none."""
        return {}

    def edges(self, ids: Iterable[str], _: str) -> list[Edge]:
        """Return the edges at some nodes, with words."""
        wanted = set(ids)
        return [replace(edge, kind="relation") for edge in self.all
                if edge.source in wanted or edge.target in wanted]


def phrases(plan: QueryPlan) -> tuple[list[str], list[str]]:
    """List the phrases of a question that may be values, and the names among them, all casefolded.

    Runs of at most four words that do not begin or end with a function word, also without an s at
    their end; names are the keywords that name things, of four letters or more.
    """
    found = [word.casefold() for word, _, _ in words_of(plan.question)]
    kept = []
    for size in range(PHRASE, 0, -1):
        for start in range(len(found) - size + 1):
            run = found[start:start + size]
            if run[0] not in FUNCTION_WORDS and run[-1] not in FUNCTION_WORDS:
                kept.append(" ".join(run))
    names = [k.text.casefold() for k in plan.keywords if k.level == "low" and len(k.text) > 3]
    kept = list(dict.fromkeys([*names, *kept]))[:MOST_PHRASES]
    return [*kept, *(run[:-1] for run in kept if run.endswith("s") and run[:-1] not in kept)], names
