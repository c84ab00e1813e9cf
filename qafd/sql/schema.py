"""Tables, columns and joins of a database, and the joins that only names tell of."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from qafd.reading.text.bm25 import stem

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[^\W\d_A-Z]+|[A-Z][^\W\d_A-Z]*|\d+")
_KEYS = ("id", "key", "code", "no", "nr", "num", "number", "ref")
_NUMBERS = ("INT", "REAL", "NUM", "DEC", "DOUB", "FLOA")
_DATES = ("date", "day", "time", "year", "month", "at", "on", "since", "until", "timestamp")
_DATED = re.compile(r"\d{4}(-\d\d(-\d\d|$)|$)")


SQLITE = "sqlite"


@dataclass(frozen=True)
class Column:
    """A column; `type` is as declared, `key` whether it is part of the primary key.

    `values` are up to three of its values, shortened.
    """

    table: str
    name: str
    type: str = ""
    key: bool = False
    values: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return the name as people write it: table.column."""
        return f"{self.table}.{self.name}"

    @property
    def sql(self) -> str:
        """Return the name in SQL, quoted where needed."""
        return f"{quote_name(self.table)}.{quote_name(self.name)}"

    @cached_property
    def numeric(self) -> bool:
        """Return True for amounts: numbers that are neither keys nor dates."""
        return any(part in self.type.upper() for part in _NUMBERS) and not (
            self.reference or self.dated)

    @cached_property
    def dated(self) -> bool:
        """Return True for dates or years, by its values, else by its name and type."""
        if self.values:
            return all(_DATED.match(value) for value in self.values)
        kind = self.type.upper()
        return "DATE" in kind or "TIME" in kind or self._last in _DATES

    @cached_property
    def reference(self) -> bool:
        """Return True for a key, by its name or by declaration."""
        return self.key or self._last in ("id", "key")

    @property
    def _last(self) -> str:
        return next(reversed(words(self.name)), "")

    @cached_property
    def own_stems(self) -> list[str]:
        """Return the stems of its name, without those of its table where others are left."""
        table = stems(self.table.rpartition(".")[2])
        every = stems(self.name)
        return [word for word in every if word not in table] or every

    @property
    def textual(self) -> bool:
        """Return True if it may hold text."""
        return not self.type or any(part in self.type.upper() for part in ("CHAR", "TEXT", "CLOB"))


@dataclass(frozen=True)
class Table:
    """A table; `rows` is None where counting took too long, or there are none to count."""

    name: str
    columns: tuple[Column, ...]
    rows: int | None = None

    @property
    def sql(self) -> str:
        """Its name as SQL has it."""
        return quote_name(self.name)

    @cached_property
    def stems(self) -> list[str]:
        """Return the stems of its name, without those of its schema."""
        return stems(self.name.rpartition(".")[2])

    @property
    def key(self) -> Column | None:
        """The primary key, where it is one column."""
        keys = [column for column in self.columns if column.key]
        return keys[0] if len(keys) == 1 else None

    @cached_property
    def title(self) -> Column | None:
        """The column that names a row to people: the one called name or title, else first text."""
        free = [c for c in self.columns if not c.reference and c.textual]
        called = [c for c in free if {"name", "title", "label"} & set(words(c.name))]
        return next(iter(called or free), None)


@dataclass(frozen=True)
class Join:
    """`table.columns` refer to `target.target_columns`; `inferred` from names, else declared."""

    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    inferred: bool = False

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Labels of the columns that are equal."""
        return tuple((f"{self.table}.{a}", f"{self.target}.{b}")
                     for a, b in zip(self.columns, self.target_columns, strict=True))

    @property
    def sql(self) -> str:
        """The condition."""
        return " AND ".join(
            f"{quote_name(self.table)}.{quote_name(a)} = {quote_name(self.target)}.{quote_name(b)}"
            for a, b in zip(self.columns, self.target_columns, strict=True))


@dataclass(frozen=True)
class Schema:
    """All tables, in the order of the file, and all joins; `notices` list omissions.

    `dialect` is the SQL of the database, as sqlglot calls it; `has_rows` whether there are rows
    here, which a description of a schema has not.
    """

    tables: tuple[Table, ...]
    joins: tuple[Join, ...]
    notices: tuple[str, ...] = ()
    dialect: str = SQLITE
    has_rows: bool = True

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of all tables."""
        return tuple(chain.from_iterable(table.columns for table in self.tables))

    @cached_property
    def table(self) -> dict[str, Table]:
        """Each table by its name."""
        return {table.name: table for table in self.tables}

    @cached_property
    def column(self) -> dict[str, Column]:
        """Each column by its label."""
        return {column.label: column for column in self.columns}

    @classmethod
    def of(cls, tables: Sequence[Table], declared: Iterable[Join], notices: Sequence[str] = (),
           dialect: str = SQLITE, has_rows: bool = True) -> "Schema":
        """Return the schema with the joins that are declared and those that names tell of."""
        columns = list(chain.from_iterable(table.columns for table in tables))
        known = {column.label.lower(): column for column in columns}
        joins = []
        joined: set[Column] = set()
        for join in declared:
            # A reference may be spelled otherwise than the table that it means.
            own, other = [], []
            for label, target_label in join.pairs:
                if label.lower() in known and target_label.lower() in known:
                    own.append(known[label.lower()])
                    other.append(known[target_label.lower()])
            if own and len(own) == len(join.columns):
                joins.append(Join(own[0].table, tuple(column.name for column in own),
                                  other[0].table, tuple(column.name for column in other)))
                joined.update(own)
        for column in columns:
            target = None if column in joined else _find_referred(column, tables)
            if target is not None:
                joins.append(Join(column.table, (column.name,), target.table, (target.name,), True))
        return cls(tuple(tables), tuple(joins), tuple(notices), dialect, has_rows)


def quote_name(name: str) -> str:
    """Return a name as SQL can read it."""
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name, re.I) and name.upper() not in RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def words(name: str) -> list[str]:
    """Return the words of a name in snake_case or camelCase, lower case."""
    return [piece.lower() for piece in _PIECE.findall(name)]


def stems(name: str) -> list[str]:
    """Return the words of a name without plural endings."""
    return [stem(word) for word in words(name)]


def _find_referred(column: Column, tables: Sequence[Table]) -> Column | None:
    """Return the key of another table that a column refers to by its name.

    "artist_id" is the key of artists, "home_port_id" that of ports, and "customer_id" any key
    of that name.
    """
    own = stems(column.name)
    if len(own) < 2 or not {own[-1], own[0]} & set(_KEYS):
        return None
    about = own[:-1] if own[-1] in _KEYS else own[1:]
    best: tuple[int, Column] | None = None
    for table in tables:
        if table.name == column.table:
            continue
        called = table.stems
        key = table.key or next((c for c in table.columns[:1] if c.reference), None)
        if key is None:
            continue
        same = key.name.lower() == column.name.lower()
        length = 2 * len(called) if about[-len(called):] == called else 0
        fit = length + same
        if fit and not (same and not length and column.key) and (best is None or fit > best[0]):
            best = fit, key
    return best[1] if best else None


RESERVED = frozenset(re.findall(r"\w+", """
    ADD ALL ALTER AND AS ASC AUTOINCREMENT BETWEEN BY CASE CAST CHECK COLLATE COLUMN COMMIT
    CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DEFERRABLE
    DELETE DESC DISTINCT DROP ELSE END ESCAPE EXCEPT EXISTS FOR FOREIGN FROM FULL GROUP HAVING IF IN
    INDEX INNER INSERT INTERSECT INTO IS ISNULL JOIN KEY LEFT LIKE LIMIT NATURAL NOT NOTHING NOTNULL
    NULL OF OFFSET ON OR ORDER OUTER OVER PRIMARY RAISE REFERENCES RETURNING RIGHT ROW ROWS SELECT
    SET TABLE THEN TO TRANSACTION TRIGGER UNION UNIQUE UPDATE USING VALUES VIEW WHEN WHERE WINDOW
    WITH"""))
