"""SQL in the dialect of a database, and the check that it reads only a schema, by sqlglot."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from qafd.errors import SqlError
from qafd.sql.schema import SQLITE, Schema

if TYPE_CHECKING:
    import sqlglot

NAMES = {SQLITE: "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "duckdb": "DuckDB",
         "tsql": "SQL Server", "oracle": "Oracle"}


def dialect_name(dialect: str) -> str:
    """Return the common name of a dialect."""
    return NAMES.get(dialect, dialect)


def write_dialect(sql: str, dialect: str) -> str:
    """Write SQL of SQLite in another dialect, with all names quoted; that of SQLite stays as it is.

    A table called "sales.orders" is the table orders of the schema sales.

    Raises
    ------
    SqlError
        There is no such dialect.
    """
    if dialect == SQLITE:
        return sql
    import sqlglot  # takes a third of a second, which a SQLite file does not need

    try:
        statement = sqlglot.parse_one(sql, read=SQLITE)
        for node in statement.find_all(sqlglot.exp.Table, sqlglot.exp.Column):
            part = "this" if isinstance(node, sqlglot.exp.Table) else "table"
            space, dot, name = node.text(part).rpartition(".")
            if dot:
                node.set(part, sqlglot.exp.to_identifier(name))
                node.set("db", sqlglot.exp.to_identifier(space))
        return statement.sql(dialect=dialect, identify=True, pretty=True)
    except ValueError as error:
        raise SqlError(f"There is no dialect {dialect!r}; choose one of sqlglot, such as postgres, mysql, "
                       "duckdb or tsql.") from error


def check_select(sql: str, schema: Schema) -> None:
    """Check without running it that SQL is one SELECT over tables and columns of a schema.

    Names are compared in whatever case they are spelled.

    Raises
    ------
    SqlError
        It is not, or cannot be read.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify

    known: dict[str, object] = {
        table.name.lower(): {column.name.lower(): column.type or "TEXT" for column in table.columns}
        for table in schema.tables}
    try:
        statements = sqlglot.parse(sql, read=schema.dialect)
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            raise SqlError("This is not a single SELECT; write one that returns rows.")
        for name in statements[0].find_all(exp.Identifier):
            name.set("this", name.name.lower())
        made = {cte.alias for cte in statements[0].find_all(exp.CTE)}
        _join_spaces(statements[0], known)
        for table in statements[0].find_all(exp.Table):
            if table.name not in known and table.name not in made:
                raise SqlError(f"There is no table {table.name} here; use one of "
                               f"{', '.join(list(known)[:12])}.")
        qualify(statements[0], schema=known, dialect=schema.dialect)
    except sqlglot.errors.SqlglotError as error:
        raise SqlError(f"The SQL cannot be read as {dialect_name(schema.dialect)} "
                       f"({str(error).splitlines()[0][:200]}). Change it.") from error


def _join_spaces(statement: "sqlglot.Expr", known: Collection[str]) -> None:
    """Make the table orders of the schema sales one called "sales.orders", if there is such a table."""
    from sqlglot import exp

    for node in statement.find_all(exp.Table, exp.Column):
        part = "this" if isinstance(node, exp.Table) else "table"
        name = f"{node.text('db')}.{node.text(part)}"
        if name in known:
            node.set(part, exp.to_identifier(name))
        node.set("db", None)
