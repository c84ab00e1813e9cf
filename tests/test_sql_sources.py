"""Schemas without rows, from DDL."""

import sqlite3
from contextlib import closing

import pytest

from qafd.errors import SqlError
from qafd.models import Recorded
from qafd.models.embedder import local_embedder
from qafd.resources import assets
from qafd.sql import box
from qafd.sql.database import Database, read_source
from qafd.sql.dialect import check_select
from qafd.sql.write import write_sql

FERRIES = assets() / "samples" / "ferries.sqlite"
PORTS = {("ports", "id"), ("ports", "Name"), ("ferries", "id"), ("ferries", "home_port"),
         ("ferries", "built"), ("sailings", "ferry"), ("sailings", "departed")}
KEYS = {("ports", "id"), ("ferries", "id")}
JOINS = {("ferries.home_port", "ports.id"), ("sailings.ferry", "ferries.id")}
DUMPS = {
    "postgres": """
        CREATE TABLE public.ports (id integer NOT NULL, "Name" character varying(40));
        CREATE TABLE public.ferries (id integer NOT NULL, home_port integer, built date);
        CREATE TABLE public.sailings (ferry integer, departed timestamp without time zone);
COPY public.ports (id, "Name") FROM stdin;
1	O'Hara; CREATE TABLE no (x int);
\\.
        ALTER TABLE ONLY public.ports ADD CONSTRAINT a PRIMARY KEY (id);
        ALTER TABLE ONLY public.ferries ADD CONSTRAINT b PRIMARY KEY (id);
        ALTER TABLE ONLY public.ferries ADD CONSTRAINT c
            FOREIGN KEY (home_port) REFERENCES public.ports(id) ON DELETE CASCADE;
        ALTER TABLE ONLY public.sailings ADD CONSTRAINT d
            FOREIGN KEY (ferry) REFERENCES public.ferries(id);
        GRANT SELECT ON TABLE public.ports TO someone;""",
    "mysql": """
        CREATE TABLE `ports` (`id` int NOT NULL AUTO_INCREMENT, `Name` varchar(40), PRIMARY KEY (`id`)
        ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
        CREATE TABLE `ferries` (`id` int NOT NULL, `home_port` int, `built` date, PRIMARY KEY (`id`),
          KEY `k` (`home_port`), CONSTRAINT `f` FOREIGN KEY (`home_port`) REFERENCES `ports` (`id`));
INSERT INTO `ports` VALUES (1,'it''s'),(2,'b');
        CREATE TABLE `sailings` (`ferry` int, `departed` datetime,
          CONSTRAINT `g` FOREIGN KEY (`ferry`) REFERENCES `ferries` (`id`));""",
    "tsql": """
        CREATE TABLE [dbo].[ports] ([id] INT NOT NULL PRIMARY KEY, [Name] NVARCHAR(40));
GO
        CREATE TABLE [dbo].[ferries] ([id] INT PRIMARY KEY,
            [home_port] INT REFERENCES [dbo].[ports]([id]), [built] DATE);
GO
        CREATE TABLE [dbo].[sailings] ([ferry] INT REFERENCES [dbo].[ferries]([id]),
            [departed] DATETIME2);
GO
"""}


def check_ports(schema):
    """That a schema is that of the three tables, with what is declared of them."""
    assert {(c.table, c.name) for c in schema.columns} == PORTS
    assert {(c.table, c.name) for c in schema.columns if c.key} == KEYS
    assert {pair for join in schema.joins for pair in join.pairs if not join.inferred} == JOINS
    assert not schema.has_rows


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    path = tmp_path_factory.mktemp("ddl") / "ports.sql"
    path.write_text(DUMPS["postgres"])
    return Database.open(path, local_embedder())


@pytest.mark.parametrize("dialect", DUMPS)
def test_a_dump_of_any_server_gives_tables_keys_and_references(dialect, tmp_path):
    path = tmp_path / "dump.sql"
    path.write_text(DUMPS[dialect])
    schema = read_source(path)
    check_ports(schema)
    assert schema.dialect == dialect


SPACES = """
    CREATE SCHEMA sales; CREATE SCHEMA stock;
    CREATE TABLE sales.items (id INTEGER PRIMARY KEY, price INTEGER, boss INTEGER REFERENCES sales.items);
    CREATE TABLE stock.items (id INTEGER PRIMARY KEY, sale INTEGER REFERENCES sales.items, shelf TEXT);
    CREATE VIEW stock.shelves AS SELECT shelf, id AS item FROM stock.items;"""


def check_spaces(database):
    schema = database.schema
    assert {table.name for table in schema.tables} >= {"sales.items", "stock.items", "stock.shelves"}
    declared = {pair for join in schema.joins for pair in join.pairs if not join.inferred}
    assert declared == {("stock.items.sale", "sales.items.id"), ("sales.items.boss", "sales.items.id")}
    assert [column.name for column in schema.table["stock.shelves"].columns] == ["shelf", "item"]
    sql = database.ask("How many shelves are there?").draft.sql
    assert " ".join(sql.split()) == 'SELECT COUNT(*) AS "count" FROM "stock"."shelves"'
    sql = database.ask("How many stock items are there?").draft.sql
    assert " ".join(sql.split()) == 'SELECT COUNT(*) AS "count" FROM "stock"."items"'
    check_select(sql, schema)
    check_select("SELECT i.shelf, sales.items.price FROM stock.items AS i JOIN sales.items "
                 "ON i.sale = sales.items.id", schema)
    with pytest.raises(SqlError, match="items"):
        check_select("SELECT id FROM shop.items", schema)


def test_names_keep_their_schema_and_views_are_tables(tmp_path):
    path = tmp_path / "spaces.sql"
    path.write_text(SPACES)
    check_spaces(Database.open(path, local_embedder(), "postgres"))


def test_views_of_a_sqlite_file_are_asked_and_broken_ones_are_said(tmp_path):
    path = tmp_path / "views.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES boats);
            INSERT INTO boats VALUES (1, 'Tern', NULL), (2, 'Gull', 1);
            CREATE VIEW vessels AS SELECT name, id AS number FROM boats;
            CREATE TABLE gone (x); CREATE VIEW lost AS SELECT x FROM gone; DROP TABLE gone;""")
    boats = Database.open(path, local_embedder())
    assert set(boats.schema.table) == {"boats", "vessels"}
    assert any("lost" in notice for notice in boats.schema.notices)
    assert boats.run(boats.ask("How many vessels are there?").draft.sql).rows == ((2,),)
    assert [join.pairs for join in boats.schema.joins] == [(("boats.owner_id", "boats.id"),)]


def test_statements_give_what_sqlite_makes_of_them(tmp_path):
    with closing(sqlite3.connect(FERRIES)) as sample:
        statements = ";\n".join(sql for (sql,) in sample.execute(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"))
    path = tmp_path / "ferries.ddl"
    path.write_text(statements)
    read, made = read_source(path, "sqlite"), box.read_schema(FERRIES)
    assert [(c.label, c.key) for c in read.columns] == [(c.label, c.key) for c in made.columns]
    assert {join.pairs for join in read.joins} == {join.pairs for join in made.joins}


@pytest.mark.parametrize(("name", "content"), [
    ("a.sql", ""), ("a.sql", "Dear all, CREATE TABLE is a nice statement."), ("a.sql", "SELECT 1;"),
    ("a.sql", "CREATE TABLE t ('"), ("a.sql", "(" * 50_000), ("a.sql", "\x00\x01"),
    ("a.sql", "-- " + "x" * (3 << 20))],
    ids=lambda value: str(value)[:20])
def test_what_is_no_schema_is_an_error_in_a_sentence(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(SqlError, match=r"a\.sql"):
        read_source(path)


@pytest.mark.parametrize("sql", [
    'SELECT "Name" FROM ports', "SELECT count(*) FROM ferries AS f JOIN ports AS p ON f.home_port = p.id",
    "WITH old AS (SELECT id FROM ferries) SELECT id FROM old",
    "SELECT id FROM ports UNION SELECT id FROM ferries"])
def test_sql_over_what_the_schema_has_is_taken(sql, ports):
    check_select(sql, ports.schema)


@pytest.mark.parametrize("sql", [
    "SELECT nothing FROM ports", "SELECT id FROM harbours", "DROP TABLE ports",
    "SELECT id FROM ports; SELECT id FROM ferries", "SELECT FROM WHERE (", ""])
def test_sql_over_something_else_is_refused(sql, ports):
    with pytest.raises(SqlError):
        check_select(sql, ports.schema)


def test_sql_that_cannot_be_run_is_sent_back_once_with_the_error():
    ferries = Database.open(FERRIES, local_embedder())
    asked = ferries.ask("How many bookings did customers from Bergvik make?")
    model = Recorded(["```sql\nSELECT count(*) FROM booking\n```",
                      "```sql\nSELECT count(*) FROM bookings\n```"])
    assert write_sql(asked, model) == "SELECT count(*) FROM bookings"
    assert len(model.asked) == 2
    assert "no such table: booking" in model.asked[1].messages[-1].content
    stubborn = Recorded(["SELECT x FROM booking", "SELECT y FROM booking"])
    assert write_sql(asked, stubborn) == "SELECT y FROM booking"
    assert len(stubborn.asked) == 2
