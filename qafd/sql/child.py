"""The child process of the box: the only code that opens a stranger's database.

One request on standard input, one reply on standard output. The file is opened read-only, SQL
runs under an authorizer that denies all it does not know, and the process may write no file.
"""

import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from qafd.sandbox import limit

LATE = 0.3  # seconds after its deadline at which the process is ended
MOST_TABLES, MOST_COLUMNS = 300, 3000
MOST_ROWS, MOST_BYTES, CELL = 1000, 4_000_000, 10_000  # of a result; characters of a cell
SAMPLED, SHORT = 200, 40  # rows that first values are from; characters of one
AT_ONCE = 200  # columns that are sampled together
COUNTED = 1_000_000  # rows from which a table is not counted on
HITS, LONGEST = 20, 80  # values found in a column; characters of one
LENGTHS = {sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
           sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000, sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
           sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500}
FUNCTIONS = frozenset(re.findall(r"\w+", """
    abs acos asin atan atan2 avg ceil ceiling changes char coalesce concat cos count cume_dist date
    datetime degrees dense_rank exp first_value floor format glob group_concat hex ifnull iif instr
    julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value
    ntile nullif percent_rank pi pow power printf quote radians rank replace round row_number rtrim
    sign sin sqrt strftime substr substring sum tan time total trim trunc typeof unicode unixepoch
    upper"""))
_UNREAD = (sqlite3.OperationalError, sqlite3.DataError)  # too late, or values that are too long
_RECURSIVE = 33  # SQLITE_RECURSIVE, which the module does not name


def main() -> None:
    """Answer one JSON line: {"do", "path", ...} by {...} or {"error"}; "copy" adds the bytes."""
    request = json.loads(sys.stdin.buffer.readline())
    confine(request["memory"], request["seconds"] + LATE)
    content = b""
    try:
        if request["do"] == "copy":
            content = copy_database(request["path"], request["seconds"])
            reply: dict[str, Any] = {}
        else:
            with_file = {"schema": schema, "values": values, "run": run}[request["do"]]
            reply = with_file(open_read_only(request["path"], request["seconds"]), request)
    except (sqlite3.Error, sqlite3.Warning) as error:
        reply = {"error": str(error)}
    except UnicodeError:
        reply = {"error": "not UTF-8"}  # a name, or an error of SQLite about one
    except OSError as error:
        reply = {"error": f"unable to open: {error.strerror}"}
    except (MemoryError, OverflowError):
        reply = {"error": "out of memory"}
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n" + content)
    sys.stdout.buffer.flush()
    os._exit(0)


def confine(memory: int, seconds: float) -> None:
    """Let this process write no file, take so much memory, and end after some seconds.

    A statement looks at its deadline between steps; the alarm ends one that is inside of a long
    function of SQLite too.
    """
    limit(memory)
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


def open_read_only(path: str, seconds: float) -> sqlite3.Connection:
    """Return a read-only connection whose statements end after some seconds, all together."""
    # Opening a file in WAL mode makes two more beside it, unless it is said not to change.
    with Path(path).open("rb") as file:
        still = file.read(20)[18:20] == b"\2\2" and not Path(path + "-wal").exists()
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    connection = sqlite3.connect(f"{address}&immutable=1" if still else address, uri=True,
                                 isolation_level=None, timeout=seconds / 2)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for pragma in ("query_only = 1", "trusted_schema = 0", "cell_size_check = 1", "mmap_size = 0",
                   "temp_store = 2"):
        connection.execute(f"PRAGMA {pragma}")
    for length, most in LENGTHS.items():
        connection.setlimit(length, most)
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, 1000)
    return connection


def copy_database(path: str, seconds: float) -> bytes:
    """Return the whole database as it is now, checked first, by the backup interface."""
    connection = open_read_only(path, seconds)
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"quick_check says: {found}")
    copy = sqlite3.connect(":memory:")
    connection.backup(copy)
    return copy.serialize()


def schema(connection: sqlite3.Connection, _: dict[str, Any]) -> dict[str, Any]:
    """Describe tables and views: columns, first values, row counts, declared keys, omissions."""
    listed = [(name, kind) for name, kind in _list_declared(connection) if kind in ("table", "view")]
    views = {name for name, kind in listed if kind == "view"}
    named = [name for name, _ in listed]
    left, notices = MOST_COLUMNS, []
    tables, joins, unread = [], [], list[str]()
    for name in named[:MOST_TABLES]:
        columns = _columns(connection, name)
        if len(columns) > left:
            break
        if not columns or any("\ufffd" in column[0] for column in (*columns, (name,))):
            unread.append(name)
            continue
        left -= len(columns)
        samples = _samples(connection, name, [column[0] for column in columns])
        described = []
        for (column, kind, key, _), values in zip(columns, samples, strict=True):
            described.append({"name": column, "type": kind or "", "key": bool(key),
                              "values": values})
        tables.append({"name": name, "rows": None if name in views else _count(connection, name),
                       "columns": described})
        joins += _references(connection, name)
    if len(tables) + len(unread) < len(named):
        notices.append(f"Only the first {len(tables):,} of {len(named):,} tables and views are read.")
    if unread:
        notices.append(f"Left out, broken views and names that are not UTF-8: {', '.join(unread)[:200]}.")
    return {"tables": tables, "joins": joins, "notices": notices}


def _columns(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """Return name, type, key and kind of the columns of a table or view; none of a broken view."""
    try:
        rows = connection.execute(
            "SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.OperationalError:  # a view of what is no longer there
        return []
    return [row for row in rows if row[3] != 1]


def _list_declared(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return names and kinds of the tables and views of the file, without SQLite's own tables."""
    return [(name, kind) for name, kind in connection.execute(
        "SELECT t.name, t.type FROM pragma_table_list AS t LEFT JOIN sqlite_schema AS s "
        "ON s.name = t.name AND s.type IN ('table', 'view') WHERE t.schema = 'main' "
        "ORDER BY s.rowid") if not name.lower().startswith("sqlite_")]


def _count(connection: sqlite3.Connection, table: str) -> int | None:
    try:
        rows: int = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {_quote(table)} LIMIT {COUNTED})").fetchone()[0]
    except _UNREAD:
        return None
    return rows if rows < COUNTED else None


def _samples(connection: sqlite3.Connection, table: str, columns: Sequence[str],
             ) -> list[list[str]]:
    """Return up to three different values of each column from the first rows."""
    if len(columns) > AT_ONCE:
        return [*_samples(connection, table, columns[:AT_ONCE]),
                *_samples(connection, table, columns[AT_ONCE:])]
    listed = ", ".join(
        f"CASE typeof({c}) WHEN 'blob' THEN NULL ELSE substr({c}, 1, {SHORT}) END"
        for c in map(_quote, columns))
    try:
        rows = connection.execute(
            f"SELECT {listed} FROM {_quote(table)} LIMIT {SAMPLED}").fetchall()
    except _UNREAD:
        rows = []
    found = []
    for i in range(len(columns)):
        values = dict.fromkeys(str(row[i]) for row in rows if row[i] not in (None, ""))
        found.append(list(values)[:3])
    return found


def _references(connection: sqlite3.Connection, table: str) -> list[list[Any]]:
    """Return declared foreign keys as [table, columns, target, target columns]."""
    found: dict[int, list[Any]] = {}
    for key, _, target, column, to, *_ in connection.execute(
            "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq", (table,)):
        join = found.setdefault(key, [table, [], target, []])
        join[1].append(column)
        join[3].append(to)
    for join in found.values():
        if None in join[3]:  # the primary key is meant
            join[3] = [row[0] for row in connection.execute(
                "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (join[2],))]
    return [join for join in found.values() if len(join[1]) == len(join[3])]


def values(connection: sqlite3.Connection, request: dict[str, Any]) -> dict[str, Any]:
    """Find phrases as values of text columns: [table, column, phrase, value, whole].

    `names` that no column holds as a whole are looked for inside of values.
    """
    phrases = {p.casefold(): p for p in request["phrases"]}
    found = list[list[Any]]()
    for table, column in request["columns"]:
        with contextlib.suppress(*_UNREAD):
            found += _hits(connection, table, column, phrases, request["names"])
    held = {phrase for *_, phrase, _, whole in found if whole}
    return {"found": [hit for hit in found if hit[4] or hit[2] not in held]}


def _hits(connection: sqlite3.Connection, table: str, column: str, phrases: dict[str, str],
          names: Sequence[str]) -> Iterator[list[Any]]:
    place = f"FROM {_quote(table)} WHERE typeof({_quote(column)}) = 'text' AND {_quote(column)}"
    select = f"SELECT DISTINCT substr({_quote(column)}, 1, {LONGEST}) {place}"
    marks = ", ".join("?" * len(phrases))
    for (value,) in connection.execute(
            f"{select} COLLATE NOCASE IN ({marks}) LIMIT {HITS}", list(phrases.values())):
        if value.casefold() in phrases:
            yield [table, column, phrases[value.casefold()], value, True]
    for name in names:
        pattern = "%" + re.sub(r"([\\%_])", r"\\\1", name) + "%"
        for (value,) in connection.execute(
                f"{select} LIKE ? ESCAPE '\\' LIMIT 3", (pattern,)):
            if re.search(rf"\b{re.escape(name)}\b", value, re.I) and (
                    value.casefold() not in phrases):
                yield [table, column, name, value, False]
                break


def run(connection: sqlite3.Connection, request: dict[str, Any]) -> dict[str, Any]:
    """Return columns and rows of one statement; `cut` names the missing part, "" for none."""
    allowed = {name.lower() for name, kind in _list_declared(connection) if kind in ("table", "view")}
    hidden = {name.lower() for name, _ in _list_declared(connection)} - allowed
    hidden |= {name for (name,) in connection.execute("SELECT name FROM pragma_module_list")}
    connection.set_authorizer(_authorizer(allowed, hidden))
    began = time.monotonic()
    cursor = connection.execute(request["sql"])
    if cursor.description is None:
        raise sqlite3.ProgrammingError("not a SELECT")
    rows, size, cut = list[list[Any]](), 0, ""
    for row in cursor:
        if len(rows) == MOST_ROWS:
            cut = f"only the first {MOST_ROWS:,} rows"
            break
        shown = [_cell(value) for value in row]
        size += sum(len(value) if isinstance(value, str) else 8 for value in shown)
        if size > MOST_BYTES:
            cut = f"only the first {len(rows):,} rows, {MOST_BYTES // 10**6} MB"
            break
        rows.append(shown)
    return {"columns": [column[0] for column in cursor.description], "rows": rows, "cut": cut,
            "milliseconds": 1000 * (time.monotonic() - began)}


def _authorizer(allowed: set[str], hidden: set[str]) -> Callable[..., int]:
    def decide(action: int, first: str | None, second: str | None, place: str | None,
               _: str | None) -> int:
        name = (first or "").lower()
        fine = (
            action in (sqlite3.SQLITE_SELECT, _RECURSIVE)
            or action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS
            or action == sqlite3.SQLITE_READ and place in (None, "main") and (
                name in allowed
                # A common table expression is named where no column of it is read.
                or not second and name not in hidden
                and not name.startswith(("sqlite_", "pragma_"))))
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY
    return decide


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value[:CELL] if isinstance(value, str) else value


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
