"""The child process that reads CREATE TABLE statements, in whatever dialect sqlglot knows.

One request on standard input, {"path", "dialect", "memory", "seconds"}, one reply on standard
output, of the form that `qafd.sql.child` gives for a SQLite file: tables, joins and notices.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from qafd.sql.child import MOST_COLUMNS, MOST_TABLES, confine

# What only one dialect writes; the first that is found decides, else it is that of PostgreSQL.
SIGNS = (("mysql", r"`\w+`|\bENGINE\s*=|\bAUTO_INCREMENT\b"),
         ("tsql", r"\[\w+\]|\bNVARCHAR\b|^GO\s*$"),
         ("oracle", r"\bVARCHAR2\b|\bNUMBER\s*\("),
         ("sqlite", r"\bAUTOINCREMENT\b|\bWITHOUT\s+ROWID\b"),
         ("duckdb", r"\bHUGEINT\b|\bUBIGINT\b"))
USUAL = "postgres"
ASSUMED = ("public", "dbo", "main")  # schemas that a name without one means
_COPY = re.compile(r"COPY .* FROM stdin;", re.I)
# A dump has commands of its program between the statements: \connect, \restrict, GO.
_COMMANDS = re.compile(r"^(?:\\.*|GO\s*)$", re.M | re.I)


def main() -> None:
    """Answer one JSON line by {"tables", "joins", "notices", "dialect"} or {"error"}."""
    request = json.loads(sys.stdin.buffer.readline())
    confine(request["memory"], request["seconds"])
    try:
        text = Path(request["path"]).read_text("utf-8", errors="replace")
        reply = describe(text, request["dialect"])
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError) as error:
        reply = {"error": f"no DDL: {str(error).splitlines()[0][:200]}"}
    except OSError as error:
        reply = {"error": f"unable to open: {error.strerror}"}
    except (MemoryError, OverflowError):
        reply = {"error": "out of memory"}
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)


def describe(text: str, dialect: str = "") -> dict[str, Any]:
    """Return the tables and references that statements create or add.

    Raises
    ------
    sqlglot.errors.SqlglotError
        They cannot be taken apart.
    """
    text = _COMMANDS.sub("", _drop_rows(text))
    dialect = dialect or _guess(text)
    tables: dict[str, dict[str, Any]] = {}
    joins: list[list[Any]] = []
    unread = 0
    for statement in sqlglot.parse(text, read=dialect, error_level=sqlglot.ErrorLevel.IGNORE):
        creates = isinstance(statement, exp.Create) and statement.args.get("kind") in ("TABLE", "VIEW")
        if isinstance(statement, exp.Alter) or isinstance(statement, exp.Create) and creates:
            about = statement.find(exp.Table)
            if about is not None:
                _read(statement, name_table(about), tables, joins, creates)
        elif isinstance(statement, exp.Command) and "TABLE" in statement.sql().upper()[:40]:
            unread += 1
    notices = []
    if unread:
        notices.append(f"{unread} statements about tables could not be read as {dialect}; name the "
                       "dialect if it is another.")
    kept = _first(tables)
    if len(kept) < len(tables):
        notices.append(f"Only the first {len(kept):,} of {len(tables):,} tables are read.")
    return {"tables": list(kept.values()), "notices": notices, "dialect": dialect,
            "joins": [_with_target(join, kept) for join in joins if join[0] in kept]}


def _drop_rows(text: str) -> str:
    """Drop the rows of a dump, which no parser of statements reads: of COPY and of INSERT."""
    kept = []
    end = ""  # of the rows that the loop is in
    for line in text.split("\n"):
        if not end and _COPY.fullmatch(line):
            end = "\\."
        elif not end and line[:12].upper() == "INSERT INTO ":
            end = ";"
        elif not end:
            kept.append(line)
        if end == ";" and line.endswith(";") or end == line == "\\.":
            end = ""
    return "\n".join(kept)


def name_table(table: exp.Table) -> str:
    """Return the name of a table with its schema, unless that is the one that a server assumes."""
    return table.name if not table.db or table.db.lower() in ASSUMED else f"{table.db}.{table.name}"


def _first(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the first tables, up to `MOST_TABLES` and `MOST_COLUMNS`."""
    kept, left = {}, MOST_COLUMNS
    for name, table in list(tables.items())[:MOST_TABLES]:
        left -= len(table["columns"])
        if left < 0:
            break
        kept[name] = table
    return kept


def _with_target(join: list[Any], tables: dict[str, dict[str, Any]]) -> list[Any]:
    """Return the reference with the key of its table where it names no columns."""
    table, own, target, others = join
    if others[0] is None:
        columns = tables[target]["columns"] if target in tables else []
        others = [column["name"] for column in columns if column["key"]]
    return [table, own, target, others] if len(others) == len(own) else [table, [], target, []]


def _guess(text: str) -> str:
    """Return the dialect that the words of the statements speak for."""
    for dialect, sign in SIGNS:
        if re.search(sign, text, re.I | re.M):
            return dialect
    return USUAL


def _read(statement: exp.Expr, name: str, tables: dict[str, dict[str, Any]],
          joins: list[list[Any]], creates: bool) -> None:
    """Add the columns, keys and references of a statement about one table."""
    table = tables.get(name)
    if table is None:
        if not creates:
            return
        table = tables[name] = {"name": name, "rows": None, "columns": []}
    columns = {column["name"]: column for column in table["columns"]}
    for defined in statement.find_all(exp.ColumnDef):
        columns.setdefault(defined.name, {
            "name": defined.name, "type": _type_of(defined), "values": [],
            "key": defined.find(exp.PrimaryKeyColumnConstraint) is not None})
        for reference in defined.find_all(exp.Reference):
            joins.append([name, [defined.name], *_target(reference, 1)])
    if isinstance(statement.expression, exp.Query):
        for selected in statement.expression.named_selects:
            if selected != "*":
                columns.setdefault(selected, {"name": selected, "type": "", "values": [], "key": False})
    table["columns"] = list(columns.values())
    for key in statement.find_all(exp.PrimaryKey):
        for part in _names(key.expressions):
            if part in columns:
                columns[part]["key"] = True
    for foreign in statement.find_all(exp.ForeignKey):
        referred = foreign.args.get("reference")
        own = _names(foreign.expressions)
        if referred is not None and own:
            joins.append([name, own, *_target(referred, len(own))])


def _type_of(column: exp.ColumnDef) -> str:
    return column.args["kind"].sql() if column.args.get("kind") else ""


def _target(reference: exp.Expr, count: int) -> tuple[str, list[str | None]]:
    """Return the table that is referred to and its columns; None where its key is meant."""
    table = reference.find(exp.Table)
    names = _names(reference.this.expressions) if reference.this is not None else []
    return (name_table(table) if table is not None else ""), list(names) or [None] * count


def _names(expressions: Sequence[exp.Expr]) -> list[str]:
    return list(_each_name(expressions))


def _each_name(expressions: Sequence[exp.Expr]) -> Iterator[str]:
    for expression in expressions:
        found = expression if isinstance(expression, exp.Identifier) else expression.find(
            exp.Identifier)
        if found is not None:
            yield found.name


if __name__ == "__main__":
    main()
