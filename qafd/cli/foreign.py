"""Other people's databases: the part of a schema that a question needs, a draft of the SQL, its rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from qafd.cli.command import Outcome, open_graph
from qafd.cli.models import ModelRequest
from qafd.cli.streams import text_of
from qafd.errors import ModelError, ParameterError
from qafd.models.cost import Metered
from qafd.models.embedder import local_embedder
from qafd.reading.text.plaintext import one_line
from qafd.runs.verify import seal
from qafd.sql.box import QueryRows
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.diffusion import METHOD
from qafd.sql.write import has_sql, write_sql
from qafd.storage import Location
from qafd.wording.databases import describe_draft, word_gap
from qafd.wording.reasons import word_notice


def sql(source: str, question: str, running: bool, dialect: str, db: Location | None,
        asked: ModelRequest, **parameters: Any) -> Outcome:
    text = text_of(question)
    client = model_for_sql(asked, db, text)
    database = Database.open(source, local_embedder(), dialect)
    found = database.ask(text, replace(METHOD, **parameters))
    draft = found.draft
    start = "The draft" if draft.complete else "Complete this start: it"
    written, summary = draft.sql, f"{start} {describe_draft(draft)}."
    notes = [*database.schema.notices, *map(word_notice, found.retrieval.notices)]
    gaps = [word_gap(gap) for gap in draft.gaps]
    if client is None:
        notes += gaps
    else:
        try:
            written = write_sql(found, replace(client, accepts=has_sql))
            summary = f"Written by {client.name}."
        except ModelError as error:
            notes += [f"{one_line(str(error), 600)} This is the draft.", *gaps]
    rows = database.run(written) if running else None
    if rows is not None and rows.cut:
        notes.append(rows.cut)
    data = {
        "question": found.plan.question, "tables": found.linked.tables,
        "columns": found.linked.columns, "values": found.values, "sql": written,
        "complete": draft.complete, "summary": summary,
        "dialect": database.schema.dialect, "notices": gaps, "rows": rows,
        "retrieval": seal(found.retrieval.to_dict())}
    lines = _lines(found, summary, written, rows)
    return Outcome(data, lines, found=rows is None or bool(rows.rows), notes=notes)


def model_for_sql(asked: ModelRequest, db: Location | None, question: str) -> Metered | None:
    """Return the named model, its calls noted in a workspace; None where none is named."""
    if not asked.model:
        return None
    if db is None:
        raise ParameterError("calls of the model are recorded in a workspace, and none is named; add --db "
                             "FILE or set QAFD_DB")
    return asked.client(open_graph(db), "sql", question)


def _lines(asked: DatabaseQuestion, summary: str, sql: str, rows: QueryRows | None) -> Iterator[str]:
    for table in asked.linked.tables:
        columns = [column.name for column in asked.database.schema.table[table].columns
                   if column.label in asked.linked.columns]
        yield one_line(f"{table}: {', '.join(columns)}" if columns else table, 400)
    yield f"\n{one_line(summary, 600)}\n\n{sql}"
    if rows is None:
        return
    yield "\n" + "\t".join(one_line(name, 100) for name in rows.columns)
    for row in rows.rows:
        yield "\t".join("" if value is None else one_line(str(value), 200) for value in row)
