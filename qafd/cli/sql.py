"""A SQLite file: what of its schema a question needs, a draft of the SQL, and its rows."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import DONE, NOTHING_FOUND, Commands, command, print_json, text_of
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.sql.box import QueryRows
    from qafd.sql.database import DatabaseQuestion


def add(commands: Commands) -> None:
    """Add the command of this file."""
    sql = command(commands, "sql", _sql, "draft the SQL of a question to a SQLite file", db=False)
    sql.add_argument("file", help="the SQLite file; it is only read")
    sql.add_argument("question", help="the question; '-' reads it from stdin")
    sql.add_argument("--run", dest="rows", action="store_true",
                     help="also run the draft, read-only")
    sql.add_argument("--mass", type=float, default=2.0,
                     help="for each seed; more retrieves more of the schema (default: %(default)s)")
    sql.add_argument("--subqueries", action="store_true",
                     help="take a complex question apart and unite what each part needs")


def _sql(arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from qafd.knowledge import local_embedder
    from qafd.sql.database import Database
    from qafd.sql.link import METHOD

    path = Path(arguments.file)
    if not path.is_file():
        raise ParameterError(f"there is no file {path}; name a SQLite database")
    method = replace(METHOD, mass=arguments.mass,
                     subqueries="on" if arguments.subqueries else "off")
    asked = Database.open(path, local_embedder()).ask(text_of(arguments.question), method)
    rows = asked.database.run(asked.draft.sql) if arguments.rows else None
    if arguments.json:
        _print_json(asked, rows)
    else:
        _print(asked, rows)
    return NOTHING_FOUND if rows is not None and not rows.rows else DONE


def _print_json(asked: "DatabaseQuestion", rows: "QueryRows | None") -> None:
    from qafd.flow.verify import sealed
    from qafd.wording.databases import describe_draft, word_doubt

    print_json({
        "question": asked.plan.question, "tables": asked.tables,
        "columns": [c.label for c in asked.database.schema.columns if c.label in asked.importance],
        "values": [asdict(value) for value in asked.values], "sql": asked.draft.sql,
        "said": describe_draft(asked.draft),
        "notices": [word_doubt(doubt) for doubt in asked.draft.doubts],
        "rows": None if rows is None else asdict(rows),
        "retrieval": sealed(asked.retrieval.to_dict())})


def _print(asked: "DatabaseQuestion", rows: "QueryRows | None") -> None:
    from qafd.wording.databases import describe_draft, word_doubt

    for table in asked.tables:
        columns = [c.name for c in asked.database.schema.table[table].columns
                   if c.label in asked.importance]
        print(one_line(f"{table}: {', '.join(columns)}" if columns else table, 400))
    draft = asked.draft
    print(f"\n{one_line(describe_draft(draft), 600)}\n\n{draft.sql}")
    doubts = [word_doubt(doubt) for doubt in draft.doubts]
    for notice in (*asked.database.schema.notices, *asked.retrieval.notices, *doubts):
        print(f"qafd: {one_line(notice, 400)}", file=sys.stderr)
    if rows is None:
        return
    print("\n" + "\t".join(one_line(name, 100) for name in rows.columns))
    for row in rows.rows:
        print("\t".join("" if value is None else one_line(str(value), 200) for value in row))
    if rows.cut:
        print(f"qafd: {rows.cut}", file=sys.stderr)
