"""A SQLite file: what of its schema a question needs, a draft of the SQL, and its rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from qafd.cli.command import Outcome, command
from qafd.cli.options import question_argument
from qafd.cli.streams import text_of
from qafd.errors import ParameterError
from qafd.flow.verify import sealed
from qafd.knowledge import local_embedder
from qafd.reading.text.plaintext import one_line
from qafd.sql.box import QueryRows
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.link import METHOD
from qafd.wording.databases import describe_draft, word_doubt
from qafd.wording.reasons import word_notice


@command()
@click.argument("file")
@question_argument
@click.option("--run", "running", is_flag=True, help="Also run the draft, read-only.")
@click.option("--mass", type=float, default=2.0,
              help="For each seed; more retrieves more of the schema.")
@click.option("--subqueries", is_flag=True,
              help="Take a complex question apart and unite what each part needs.")
def sql(file: str, question: str, running: bool, mass: float, subqueries: bool) -> Outcome:
    """Draft the SQL of a question to a SQLite FILE, which is only read."""
    path = Path(file)
    if not path.is_file():
        raise ParameterError("there is no file {path}; name a SQLite database", path=path)
    method = replace(METHOD, mass=mass, subqueries="on" if subqueries else "off")
    asked = Database.open(path, local_embedder()).ask(text_of(question), method)
    rows = asked.database.run(asked.draft.sql) if running else None
    schema, draft = asked.database.schema, asked.draft
    doubts = [word_doubt(doubt) for doubt in draft.doubts]
    notes = [*schema.notices, *map(word_notice, asked.retrieval.notices), *doubts]
    if rows is not None and rows.cut:
        notes.append(rows.cut)
    data = {
        "question": asked.plan.question, "tables": asked.tables,
        "columns": [column.label for column in schema.columns if column.label in asked.importance],
        "values": asked.values, "sql": draft.sql, "said": describe_draft(draft), "notices": doubts,
        "rows": rows, "retrieval": sealed(asked.retrieval.to_dict())}
    return Outcome(data, _draft_lines(asked, rows), found=rows is None or bool(rows.rows), notes=notes)


def _draft_lines(asked: DatabaseQuestion, rows: QueryRows | None) -> Iterator[str]:
    for table in asked.tables:
        columns = [column.name for column in asked.database.schema.table[table].columns
                   if column.label in asked.importance]
        yield one_line(f"{table}: {', '.join(columns)}" if columns else table, 400)
    yield f"\n{one_line(describe_draft(asked.draft), 600)}\n\n{asked.draft.sql}"
    if rows is None:
        return
    yield "\n" + "\t".join(one_line(name, 100) for name in rows.columns)
    for row in rows.rows:
        yield "\t".join("" if value is None else one_line(str(value), 200) for value in row)
