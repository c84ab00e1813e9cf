"""Sources of a schema: a SQLite file, tables, DDL, a DuckDB file, or a server's catalog.

Only a SQLite file, a CSV file and a workbook can be asked for rows. Of all others names, types and
references are read, never a row.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qafd.errors import ParameterError, SqlError
from qafd.sql import box
from qafd.sql.schema import SQLITE, Column, Join, Schema, Table
from qafd.sql.tables import holds_tables, write_database

DDL, DUCKDB = (".sql", ".ddl"), (".duckdb", ".ddb")
SECONDS = 15  # until a server that does not answer is given up
_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}
_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql", "sqlite": SQLITE,
             "mssql": "tsql", "oracle": "oracle"}


def schema_from(source: str | Path, dialect: str = "") -> Schema:
    """Return the schema of a file, by the ending of its name, or of a server by its address.

    Parameters
    ----------
    source : str or Path
        A SQLite file, .csv, .tsv or .xlsx, .sql or .ddl, .duckdb, or an address that
        SQLAlchemy knows, as postgresql://user@host/name.
    dialect : str
        Of DDL that does not say it, as sqlglot calls it.

    Raises
    ------
    ParameterError
        There is no such file.
    SqlError
        There is no schema to be read.
    """
    if isinstance(source, str) and "://" in source:
        return inspect_server(source)
    path = Path(source)
    if not path.is_file():
        raise ParameterError(f"there is no file {str(path)}; name a SQLite database, a table, the DDL "
                             "of a schema, or the address of a server")
    ending = path.suffix.lower()
    if ending in DDL:
        return box.read_ddl(path, dialect)
    if holds_tables(path):
        with TemporaryDirectory() as folder:
            return write_database(path, Path(folder))[1]
    if ending in DUCKDB:
        return inspect_duckdb(path)
    return box.read_schema(path)


def write_ddl(schema: Schema) -> str:
    """Return a schema as CREATE TABLE statements, which `schema_from` reads back, without rows."""
    from sqlglot import exp

    def quote(names: Sequence[str]) -> str:
        return ", ".join(exp.to_identifier(name, quoted=True).sql(schema.dialect) for name in names)

    def place(name: str) -> str:
        space, _, own = name.rpartition(".")
        return exp.table_(own, db=space or None, quoted=True).sql(schema.dialect)

    lines = [f"-- dialect: {schema.dialect}"]
    for table in schema.tables:
        parts = [f"{quote([column.name])} {column.type}".strip() for column in table.columns]
        key = [column.name for column in table.columns if column.key]
        if key:
            parts.append(f"PRIMARY KEY ({quote(key)})")
        for join in schema.joins:
            if join.table == table.name and not join.inferred:
                parts.append(f"FOREIGN KEY ({quote(join.columns)}) REFERENCES {place(join.target)} "
                             f"({quote(join.target_columns)})")
        lines.append(f"CREATE TABLE {place(table.name)} (\n  " + ",\n  ".join(parts) + "\n);")
    return "\n".join(lines)


def inspect_duckdb(path: Path) -> Schema:
    """Return the schema of a DuckDB file, by the statements that it keeps of its tables.

    Raises
    ------
    SqlError
        DuckDB is not installed, or cannot read the file.
    """
    try:
        import duckdb
    except ImportError:
        raise SqlError(f"{path.name} needs DuckDB; install it with pip install "
                       "'qafd[databases]', or export its DDL.") from None
    try:
        with duckdb.connect(path, read_only=True) as database:
            rows = database.execute("SELECT sql FROM duckdb_tables() WHERE NOT internal").fetchall()
    except duckdb.Error as error:
        raise SqlError(f"{path.name} cannot be read by DuckDB "
                       f"({str(error).splitlines()[0][:200]}); choose another copy.") from error
    with TemporaryDirectory() as folder:
        statements = Path(folder) / f"{path.stem}.sql"
        statements.write_text("\n".join(sql for (sql,) in rows), "utf-8")
        return box.read_ddl(statements, "duckdb")


def inspect_server(address: str) -> Schema:
    """Return the schema of a database, from the catalog of its server; nothing is written.

    Raises
    ------
    SqlError
        SQLAlchemy or a driver is missing, the server cannot be reached, or there is no table.
    """
    try:
        import sqlalchemy
        from sqlalchemy.engine.reflection import ObjectKind
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    except ImportError:
        raise SqlError("The address of a server needs SQLAlchemy; install it with pip install "
                       "'qafd[databases]', or export the DDL of the database.") from None
    try:
        url = sqlalchemy.make_url(address.replace("postgres://", "postgresql://", 1))
        kind = url.get_backend_name()
        if url.drivername in _DRIVERS:
            url = url.set(drivername=f"{kind}+{_DRIVERS[kind]}")
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool,
                                          connect_args=_limits(kind))
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as error:
        raise SqlError("The address of the database cannot be used "
                       f"({str(error).splitlines()[0][:200]}); it is as "
                       "postgresql://user@host/name, and needs pip install "
                       "'qafd[databases]'.") from None
    if kind == SQLITE:  # the driver would make a file that is missing
        raise SqlError("A SQLite database is read from its file; give the path of the file, not a URL.")
    try:
        with engine.connect() as connection:
            found = sqlalchemy.inspect(connection)
            columns: dict[Any, Any] = {}
            keys: dict[Any, Any] = {}
            references: dict[Any, Any] = {}
            for space in _spaces(found, kind):
                columns |= found.get_multi_columns(space, kind=ObjectKind.ANY)
                keys |= found.get_multi_pk_constraint(space)
                references |= found.get_multi_foreign_keys(space)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise SqlError(f"{url.render_as_string(hide_password=True)} cannot be read "
                       f"({reason.splitlines()[0][:200] if reason else ''}); check the address, the user and "
                       "that the server runs.") from None
    tables, joins = [], []
    for at, described in columns.items():
        name = _name_table(*at)
        primary = keys[at]["constrained_columns"] if at in keys else ()
        tables.append(Table(name, tuple(
            Column(name, column["name"], str(column["type"]), column["name"] in primary)
            for column in described)))
        for reference in references.get(at, ()):
            joins.append(Join(name, tuple(reference["constrained_columns"]),
                              _name_table(reference["referred_schema"], reference["referred_table"]),
                              tuple(reference["referred_columns"])))
    tables = [table for table in tables if table.columns]
    if not tables:
        raise SqlError(f"{url.render_as_string(hide_password=True)} has no table that this "
                       "user may see; choose another database or user.")
    return Schema.of(tables, joins, dialect=_DIALECTS.get(kind, kind), has_rows=False)


def _spaces(inspector: Any, kind: str) -> list[str | None]:
    """List the schemas to read: None for the one that the server assumes, then those of the user."""
    if kind != "postgresql":
        return [None]
    names = inspector.get_schema_names()
    others = [name for name in names if name not in (inspector.default_schema_name, "information_schema")]
    return [None, *others]


def _name_table(space: str | None, name: str) -> str:
    return f"{space}.{name}" if space else name


def _limits(kind: str) -> dict[str, Any]:
    """Return arguments of a connection that only reads and stops waiting."""
    if kind == "postgresql":
        return {"connect_timeout": SECONDS, "options": "-c default_transaction_read_only=on"}
    if kind in ("mysql", "mariadb"):
        return {"connect_timeout": SECONDS, "read_timeout": SECONDS}
    return {}
