"""The box that databases are read in: a child process with limits, killed when it is late.

Nothing of a database is opened in this process. A task that the child cannot or may not do is an
`SqlError` here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qafd.errors import SqlError
from qafd.reading.text.plaintext import storable
from qafd.sandbox import ask
from qafd.sql.schema import SQLITE, Column, Join, Schema, Table

SECONDS = 2.0  # that a statement may take
MEMORY, COPYING = 400 << 20, 1 << 30  # bytes of memory, for a query and for a copy
LARGEST, LARGEST_DDL = 100 << 20, 2 << 20  # bytes of a database, and of its statements
_WAIT = 20.0  # seconds until the child is killed, its start included
_REPLY = 128 << 20  # bytes of a reply that are read
_SIGALRM = -14
_SAID = {
    "out of memory": f"The query needs more than {MEMORY >> 20} MB of memory; ask for less.",
    "file is not a database": "The file is not a SQLite database; choose another.",
    "not authorized": "Only reading is allowed here: one SELECT over the tables of this database.",
    "not a SELECT": "This is not a SELECT; write one that returns rows.",
    "You can only execute one statement at a time.":
        "There is more than one statement; keep one SELECT.",
}


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query; `cut` names the missing part, "" for none."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: str = ""
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Value:
    """A phrase of the question found in a column, as `value` or, if not `whole`, inside of it."""

    table: str
    column: str
    phrase: str
    value: str
    whole: bool

    @property
    def label(self) -> str:
        """Return the label of the column: table.column."""
        return f"{self.table}.{self.column}"


def read_schema(path: Path) -> Schema:
    """Return the schema of a SQLite file.

    Raises
    ------
    SqlError
        It cannot be read, or has no table.
    """
    found, _ = _ask(path, "schema", seconds=5.0)
    if not found["tables"]:
        which = " whose names are UTF-8" if found["notices"] else ""
        raise SqlError(f"{path.name} has no table{which}; choose a database that has some.")
    return _schema(found)


def read_ddl(path: Path, dialect: str) -> Schema:
    """Return the schema that CREATE TABLE statements describe.

    Parameters
    ----------
    dialect : str
        Of the statements, as sqlglot calls it; "" lets their words speak.

    Raises
    ------
    SqlError
        The file is too large, or has no such statement.
    """
    size = path.stat().st_size
    if size > LARGEST_DDL:
        raise SqlError(f"{path.name} has {size / 1e6:,.1f} MB, more than "
                       f"{LARGEST_DDL / 1e6:,.1f} MB; export the schema without rows, as "
                       "pg_dump --schema-only does.")
    found, _ = _ask(path, "ddl", "qafd.sql.ddl", seconds=_WAIT / 2, memory=COPYING,
                    dialect=dialect)
    if not found["tables"]:
        raise SqlError(f"{path.name} has no CREATE TABLE statement that can be read; choose a "
                       "SQLite file, or the DDL of a schema.")
    return _schema(found, found["dialect"], has_rows=False)


def _schema(found: dict[str, Any], dialect: str = SQLITE, has_rows: bool = True) -> Schema:
    """Build the schema from a child's reply."""
    tables = []
    for one in found["tables"]:
        name = one["name"]
        columns = [Column(name, c["name"], c["type"], c["key"], tuple(c["values"]))
                   for c in one["columns"]]
        tables.append(Table(name, tuple(columns), one["rows"]))
    return Schema.of(tables, [Join(a, tuple(b), c, tuple(d)) for a, b, c, d in found["joins"]],
                     found["notices"], dialect, has_rows)


def find_values(path: Path, schema: Schema, phrases: list[str],
                names: list[str]) -> tuple[Value, ...]:
    """Find phrases as values of text columns; `names` also as a part of one.

    Columns that cannot be read within the time of a query are left out.
    """
    columns = [[c.table, c.name] for c in schema.columns if c.textual]
    if not phrases or not columns:
        return ()
    found, _ = _ask(path, "values", phrases=phrases, names=names, columns=columns)
    return tuple(Value(*hit) for hit in found["found"])


def run(path: Path, sql: str, seconds: float = SECONDS) -> QueryRows:
    """Return the rows of one SELECT, at most 1,000 of them.

    Raises
    ------
    SqlError
        It is no single SELECT over the tables of the file, is wrong, or takes too much.
    """
    if not sql.strip():
        raise SqlError("There is no SQL to run; write a SELECT.")
    found, _ = _ask(path, "run", seconds=seconds, sql=storable(sql))
    return QueryRows(tuple(found["columns"]), tuple(map(tuple, found["rows"])), found["cut"],
                found["milliseconds"])


def copy(path: Path) -> bytes:
    """Return a checked copy of a whole SQLite file as it is at one moment.

    Raises
    ------
    SqlError
        It is too large, damaged, or no database.
    """
    if path.stat().st_size > LARGEST:
        raise SqlError(f"The database has {path.stat().st_size / 1e6:,.0f} MB, more than "
                       f"{LARGEST / 1e6:,.0f} MB; make a smaller one of the tables you need.")
    return _ask(path, "copy", seconds=_WAIT / 2, memory=COPYING)[1]


def _ask(path: Path, do: str, module: str = "qafd.sql.child", *, seconds: float = SECONDS,
         memory: int = MEMORY, **more: Any) -> tuple[dict[str, Any], bytes]:
    """Return the reply of a fresh child, which dies with this call in any case."""
    request = {"do": do, "path": str(path.absolute()), "seconds": seconds, "memory": memory, **more}
    reply = ask(module, json.dumps(request).encode() + b"\n", _REPLY, _WAIT)
    line, _, content = reply.content.partition(b"\n")
    late = (f"Reading {path.name} took more than {seconds:g} s and was stopped; ask for less, for "
            "example with WHERE or fewer joins.")
    if reply.code == _SIGALRM:
        raise SqlError(late)
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        raise SqlError(f"{path.name} could not be read within {_WAIT:g} s and the limits of "
                       "memory; it may be damaged, or the query too much.") from None
    if "error" in said:
        raise SqlError(late if said["error"] == "interrupted" else
                       _sentence(path, said["error"]))
    return said, content


def _sentence(path: Path, error: str) -> str:
    if error in _SAID:
        return _SAID[error]
    if error.startswith("no DDL: "):
        return (f"{path.name} cannot be read as SQL ({error.removeprefix('no DDL: ')}); name its "
                "dialect, or choose another file.")
    if "prohibited" in error or "not authorized" in error:
        return f"Only reading the tables of this database is allowed here ({error[:200]})."
    if error == "not UTF-8":
        return f"{path.name} is damaged, or names in it are no UTF-8; choose another copy."
    if error == "database is locked":
        return f"Another program is writing to {path.name}; try again when it is done."
    if error in ("disk I/O error", "attempt to write a readonly database"):
        return (f"{path.name} has changes beside it that were not finished (-wal or -journal); "
                "open it in the program that wrote it, close it there, and try again.")
    if error.startswith(("quick_check", "database disk image", "malformed", "unable to open")):
        return f"{path.name} is damaged or cannot be opened ({error[:200]}); choose another copy."
    return f"SQLite says: {error[:300].rstrip('.')}. Change the SQL and run it again."
