"""Questions to a database: its joins, what of the schema is retrieved, and the SQL drafted."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from qafd.cli import main
from qafd.errors import MalformedReplyError
from qafd.flow.verify import sealed, verify
from qafd.models import Recorded
from qafd.models.embedder import local_embedder
from qafd.resources import assets
from qafd.sql.box import Value
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.draft import DoubtKind, draft
from qafd.sql.joins import join_tree
from qafd.sql.link import METHOD
from qafd.sql.schema import Column, Join, Schema, Table, quoted
from qafd.sql.write import read_sql, sql_messages, write_sql

FERRIES = assets() / "samples" / "ferries.sqlite"
# Which tables each question needs, and its answer by SQL written by hand.
QUESTIONS = {
    "How many sailings were cancelled?": (
        {"sailings"}, "SELECT count(*) FROM sailings WHERE status = 'cancelled'"),
    "What is the passenger capacity of the ferry Skarven?": (
        {"ferries"}, "SELECT passenger_capacity FROM ferries WHERE name = 'Skarven'"),
    "Which customers come from Bergvik?": (
        {"customers"}, "SELECT name FROM customers WHERE town = 'Bergvik'"),
    "How many bookings did customers from Bergvik make?": (
        {"customers", "bookings"},
        "SELECT count(*) FROM bookings WHERE customer_id IN "
        "(SELECT id FROM customers WHERE town = 'Bergvik')"),
    "Which ferry has the most sailings?": (
        {"ferries", "sailings"},
        "SELECT name FROM ferries WHERE id = (SELECT ferry_id FROM sailings GROUP BY ferry_id "
        "ORDER BY count(*) DESC LIMIT 1)"),
    "What is the average price of bookings per route?": (
        {"bookings", "routes"},
        "SELECT r.name, (SELECT avg(price_eur) FROM bookings WHERE sailing_id IN "
        "(SELECT id FROM sailings WHERE route_id = r.id)) FROM routes AS r"),
    "Who worked on the sailings of the ferry Skarven?": (
        {"crew", "sailing_crew", "sailings", "ferries"},
        "SELECT name FROM crew WHERE id IN (SELECT crew_id FROM sailing_crew WHERE sailing_id IN "
        "(SELECT id FROM sailings WHERE ferry_id = 1))"),
    "What did maintenance cost in total for each ferry?": (
        {"maintenance", "ferries"},
        "SELECT f.name, (SELECT sum(cost_eur) FROM maintenance WHERE ferry_id = f.id) "
        "FROM ferries AS f WHERE f.id IN (SELECT ferry_id FROM maintenance)"),
    "Which route is the longest?": (
        {"routes"}, "SELECT name FROM routes WHERE distance_km = "
        "(SELECT max(distance_km) FROM routes)"),
    "How many passengers travelled in 2024?": (
        {"sailings"}, "SELECT sum(passengers) FROM sailings WHERE departure >= '2024' "
        "AND departure < '2025'"),
}
DECLARED = {"artists": ["id*", "name"], "albums": ["id*", "artist_id", "title"]}


def schema_of(tables: dict[str, list[str]], *joins: Join) -> Schema:
    """A schema from names, a star behind those of primary keys."""
    return Schema.of([Table(table, tuple(
        Column(table, name.rstrip("*"), "INTEGER" if name.endswith(("*", "_id")) else "TEXT",
               name.endswith("*")) for name in names)) for table, names in tables.items()], joins)


def pairs(schema: Schema) -> set[tuple[str, str, bool]]:
    return {(*join.pairs[0], join.inferred) for join in schema.joins}


@pytest.fixture(scope="module")
def ferries() -> Database:
    return Database.open(FERRIES, local_embedder())


@pytest.fixture(scope="module")
def asked(ferries: Database) -> dict[str, DatabaseQuestion]:
    return {question: ferries.ask(question) for question in QUESTIONS}


def test_right_tables_are_retrieved_for_nine_of_ten_questions_and_eight_drafts_answer(
        asked: dict[str, DatabaseQuestion]) -> None:
    linked, answered = [], []
    with closing(sqlite3.connect(FERRIES)) as database:
        for question, (tables, sql) in QUESTIONS.items():
            if tables <= set(asked[question].linked.tables):
                linked.append(question)
            wanted = sorted(database.execute(sql).fetchall())
            rows = asked[question].database.run(asked[question].draft.sql).rows
            width = len(wanted[0])
            # A superlative also shows what it goes by, after the answer.
            if [(*row[:width],) for row in sorted(rows)] == [pytest.approx(w) if not isinstance(
                    w[-1], str) else w for w in wanted]:
                answered.append(question)
    assert len(linked) >= 9, set(QUESTIONS) - set(linked)
    assert len(answered) >= 8, set(QUESTIONS) - set(answered)


def test_the_sample_is_what_its_script_builds(tmp_path: Path) -> None:
    built = tmp_path / "again.sqlite"
    subprocess.run([sys.executable, assets() / "samples" / "build_ferries.py", built], check=True,
                   capture_output=True)
    with closing(sqlite3.connect(built)) as new, closing(sqlite3.connect(FERRIES)) as old:
        assert list(new.iterdump()) == list(old.iterdump())
    assert FERRIES.stat().st_size < 300_000


@pytest.mark.parametrize(("tables", "expected"), [
    (DECLARED, {("albums.artist_id", "artists.id", True)}),
    ({"Artist": ["ArtistId*", "Name"], "Album": ["AlbumId*", "ArtistId"]},
     {("Album.ArtistId", "Artist.ArtistId", True)}),
    ({"ports": ["id*"], "ferries": ["id*", "home_port_id"]},
     {("ferries.home_port_id", "ports.id", True)}),
    ({"customers": ["customer_id", "name"], "orders": ["order_id", "customer_id"]},
     {("orders.customer_id", "customers.customer_id", True)}),
    ({"a": ["id*"], "b": ["id*", "name"]}, set()),
], ids=["plural", "camel-case", "role", "no-keys-declared", "id-alone"])
def test_references_are_inferred_from_names(
        tables: dict[str, list[str]], expected: set[tuple[str, str, bool]]) -> None:
    assert pairs(schema_of(tables)) == expected


def test_a_name_that_is_a_keyword_of_sqlite_is_read_as_a_name() -> None:
    words_of_sqlite = """autoincrement current_date deferrable from isnull nothing notnull raise
        returning select values"""
    with closing(sqlite3.connect(":memory:")) as database:
        for word in words_of_sqlite.split():
            database.execute(f'CREATE TABLE "{word}" ("{word}" INTEGER)')
            database.execute(f'INSERT INTO "{word}" VALUES (7)')
            assert database.execute(f"SELECT {quoted(word)}.{quoted(word)} FROM {quoted(word)} "
                                    f"WHERE {quoted(word)}.{quoted(word)} = 7").fetchall() == [(7,)]


def test_the_graph_has_each_table_column_and_reference_once(ferries: Database) -> None:
    graph, schema = ferries.graph, ferries.schema
    assert len(graph) == 10 + 50
    assert graph.edge_count == 50 + 12
    made = nx.Graph((graph.ids[u], graph.ids[int(v)]) for u in range(len(graph))
                    for v in graph.around(u))
    assert nx.shortest_path(made, "bookings", "customers") == [
        "bookings", "bookings.customer_id", "customers.id", "customers"]
    assert sum(join.inferred for join in schema.joins) == 5
    assert np.all(graph.capacity("unit") == 1)


def test_every_diffusion_over_the_schema_is_certified(asked: dict[str, DatabaseQuestion]) -> None:
    for one in asked.values():
        result = verify(json.loads(json.dumps(sealed(one.retrieval.to_dict()))))
        assert result.ok, result.findings


def test_a_question_in_parts_unites_their_diffusions(ferries: Database) -> None:
    parts = METHOD.__class__(mass=2.0, seeds=10, rule="source-unit", subqueries="on")
    one = ferries.ask("Which ferry has the most sailings and which customers come from Bergvik?",
                      parts)
    assert len(one.retrieval.parts) == 2
    assert {"ferries", "sailings", "customers"} <= set(one.importance)
    assert "part 2: Which customers come from Bergvik?" in sql_messages(one)[1].content
    town = next(n for n in one.retrieval.nodes if n.name == "customers.town")
    assert town.brought_by == (1,)
    assert [part.number for part in one.explanation.why(town.id).parts if part.full] == [2]


def test_tables_are_joined_by_the_shortest_tree_and_unreachable_ones_are_named() -> None:
    schema = schema_of({
        "crew": ["id*", "name"], "sailing_crew": ["crew_id", "sailing_id"],
        "sailings": ["id*", "ferry_id"], "ferries": ["id*", "name"], "island": ["x"]})
    tree, lost = join_tree(schema, ["crew", "ferries", "island"], {})
    assert {frozenset((j.table, j.target)) for j in tree} == {
        frozenset(edge) for edge in (("crew", "sailing_crew"), ("sailing_crew", "sailings"),
                                     ("sailings", "ferries"))}
    assert lost == ("island",)


def test_hostile_names_and_values_stay_names_and_values(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE "order ""; DROP TABLE x; --" ("select" INTEGER PRIMARY KEY, "na'me" TEXT);
            INSERT INTO "order ""; DROP TABLE x; --" VALUES (1, 'O''Hara; --');
            CREATE TABLE "😀" ("" TEXT);""")
    odd = Database.open(path, local_embedder())
    one = odd.ask("How many orders has O'Hara; --?")
    assert odd.run(one.draft.sql).rows == ((1,),)


def test_a_percent_sign_of_the_question_is_looked_for_as_itself() -> None:
    schema = Schema.of([Table("notes", (Column("notes", "body", "TEXT"),))], [])
    made = draft("Which notes say 5%_off?", schema, {"notes": 1.0, "notes.body": 1.0},
                 [Value("notes", "body", "5%_off", "now 5%_off", whole=False)])
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE notes (body TEXT)")
        database.executemany("INSERT INTO notes VALUES (?)", [("now 5%_off",), ("5 miles off",)])
        assert database.execute(made.sql).fetchall() == [("now 5%_off",)]


def test_a_model_sees_the_retrieved_schema_only_and_no_row(ferries: Database) -> None:
    one = ferries.ask("How many bookings did customers from Bergvik make?")
    model = Recorded(["Sure:\n```sql\nSELECT count(*) FROM bookings;\n```\nDone."])
    assert write_sql(one, model) == "SELECT count(*) FROM bookings"
    sent = "\n".join(message.content for message in model.asked[0].messages)
    assert "join bookings.customer_id = customers.id (by its name only)" in sent
    assert "customers.town has the value 'Bergvik'" in sent
    assert "path customers.town" in sent
    for absent in ("workshops", "cost_eur", "distance_km", "mail.example", "Fjellby", "145"):
        assert absent not in sent


@pytest.mark.parametrize("reply", [
    "", "DROP TABLE t", "I would select the rows with a join.", "```sql\nDELETE FROM t\n```",
    "These tables cannot answer it, with or without a join."])
def test_a_reply_without_a_select_is_an_error_in_a_sentence(reply: str) -> None:
    with pytest.raises(MalformedReplyError, match="wrote no SELECT"):
        read_sql(reply)


def test_the_command_prints_tables_draft_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(FERRIES), "How many sailings were cancelled?", "--run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "sailings" in printed["tables"]
    assert printed["rows"]["rows"] == [[29]]
    assert verify(printed["retrieval"]).ok
    assert main(["sql", str(FERRIES), "How many sailings were cancelled?", "--run"]) == 0
    assert "WHERE sailings.status = 'cancelled'\n\ncount\n29\n" in capsys.readouterr().out


@pytest.mark.parametrize(("question", "unused"), [
    ("How many sailings were cancelled?", ""),
    ("Which ferry has the most sailings?", ""),
    ("Which route earns the least?", "earns"),
    ("How many bookings did customers from Bergvik make?", ""),
])
def test_a_draft_tells_the_words_that_it_makes_no_use_of(
        ferries: Database, question: str, unused: str) -> None:
    doubts = ferries.ask(question).draft.doubts
    assert [doubt.name for doubt in doubts if doubt.kind == DoubtKind.UNUSED] == [unused] * bool(unused)
