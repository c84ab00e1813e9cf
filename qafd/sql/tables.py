"""Tables of CSV files and workbooks as a SQLite database, so that sums and counts have a true answer."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from qafd.errors import SqlError
from qafd.reading.parsing import parse_tables
from qafd.reading.text.plaintext import amount
from qafd.sql import box
from qafd.sql.schema import Schema

TABLES = (".csv", ".tsv", ".xlsx", ".xlsm")
TOTALED = 4  # rows of a table at least whose last one can be its total

_ENGLISH = re.compile(r"[-+]?[$\u20ac\u00a3]? ?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_GERMAN = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?: ?\u20ac)?|[-+]?\d{1,3}(?:\.\d{3})+")
_CODE = re.compile(r"0\d+")  # a post code or the number of an article


@dataclass(frozen=True)
class TableFile:
    """A SQLite database of the tables of a file, and a sentence for each thing that is not in it."""

    content: bytes
    notices: tuple[str, ...] = ()


def make_database(name: str, data: bytes) -> TableFile:
    """Return the tables of a CSV file or a workbook as a database.

    A column of numbers is one of INTEGER or REAL; all others are TEXT as shown. A last row that has the
    sums of the rows above is left out.

    Raises
    ------
    ParseError
        The file cannot be read.
    SqlError
        It has no table.
    """
    left_out = 0
    tables = parse_tables(name, data)
    titles = _distinct([title for title, _, _ in tables])
    with closing(sqlite3.connect(":memory:")) as database:
        for title, (_, columns, rows) in zip(titles, tables, strict=True):
            values, types = list[list[object]](), list[str]()
            for column in zip(*rows, strict=True):
                kind, number = _type_of([cell for cell in column if cell])
                types.append(kind)
                values.append([(number(cell) if cell else None) for cell in column])
            records = list(zip(*values, strict=True))
            if _ends_in_total(values, types):
                records.pop()
                left_out += 1
            if records:
                _write_table(database, title, [*zip(_distinct(columns), types, strict=True)], records)
        if not database.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise SqlError(f"{name} has no table with rows; choose a file that has one.")
        content = database.serialize()
    said = amount(left_out, "row of totals")
    return TableFile(content, (f"Left out: {said}, so that sums count nothing twice.",) if left_out else ())


def holds_tables(source: str | Path) -> bool:
    """Return True for a CSV file or a workbook that is there."""
    return Path(source).suffix.lower() in TABLES and Path(source).is_file()


def write_database(path: Path, folder: Path) -> tuple[Path, Schema]:
    """Write the database of a file into a folder; return its place and its schema with all notices."""
    made = make_database(path.name, path.read_bytes())
    file = folder / f"{path.stem}.sqlite"
    file.write_bytes(made.content)
    schema = box.read_schema(file)
    return file, replace(schema, notices=(*schema.notices, *made.notices))


def _type_of(cells: Sequence[str]) -> tuple[str, Callable[[str], object]]:
    """Return the type of a column by its cells, and the function that reads one of them."""
    if not cells or any(map(_CODE.fullmatch, cells)):
        return "TEXT", str
    for form, point in ((_ENGLISH, "."), (_GERMAN, ",")):
        if all(map(form.fullmatch, cells)):
            if any(point in cell for cell in cells):
                return "REAL", partial(_read_number, point, float)
            return "INTEGER", partial(_read_number, point, int)
    return "TEXT", str


def _read_number(point: str, number: Callable[[str], object], cell: str) -> object:
    """Return the number in a cell without the marks of thousands and money."""
    return number(re.sub(f"[^-+0-9{point}]", "", cell).replace(",", "."))


def _ends_in_total(columns: Sequence[Sequence[object]], types: Sequence[str]) -> bool:
    """Return True if each number in the last row is the sum of its column above."""
    numbers = [column for column, kind in zip(columns, types, strict=True)
               if kind != "TEXT" and column[-1] is not None]
    if not numbers or len(numbers[0]) < TOTALED:
        return False
    for *above, last in numbers:
        total = sum(float(str(value)) for value in above if value is not None)
        if abs(total - float(str(last))) > 1e-6 * max(1.0, abs(total)):
            return False
    return True


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ without their case, as those of SQLite must."""
    seen: set[str] = set()
    distinct = []
    for name in names:
        while name.casefold() in seen:
            name += " 2"
        seen.add(name.casefold())
        distinct.append(name)
    return distinct


def _write_table(database: sqlite3.Connection, title: str, columns: Sequence[tuple[str, str]],
                 records: Sequence[Sequence[object]]) -> None:
    table = _quote(title)
    declared = ", ".join(f"{_quote(name)} {kind}" for name, kind in columns)
    database.execute(f"CREATE TABLE {table} ({declared})")
    marks = ", ".join("?" * len(columns))
    database.executemany(f"INSERT INTO {table} VALUES ({marks})", records)  # noqa: S608 names are quoted


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
