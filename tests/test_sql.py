"""Questions to a database: its joins, what of the schema is retrieved, and the SQL drafted."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import networkx as nx
import numpy as np
import pytest

from qafd.cli import main
from qafd.errors import MalformedReplyError
from qafd.models import Recorded
from qafd.models.embedder import local_embedder
from qafd.reasons import ReasonKind
from qafd.records import Keyword, QueryPlan
from qafd.resources import assets
from qafd.runs.verify import verify
from qafd.sql.box import Value
from qafd.sql.database import Database
from qafd.sql.dialect import check_select
from qafd.sql.diffusion import find_evidence, schema_graph, schema_seeds
from qafd.sql.draft import GapKind, draft
from qafd.sql.linking import LinkedSchema, QuestionWords, join_tables, link_schema
from qafd.sql.schema import Column, Schema, Table, quote_name
from qafd.sql.write import read_sql, write_sql

FERRIES = assets() / "samples" / "ferries.sqlite"
# The tables that each question needs, and its answer by SQL written by hand; None where the rules
# must not draft any.
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
    "What is the average price of bookings?": ({"bookings"}, "SELECT avg(price_eur) FROM bookings"),
    "How many different towns do customers come from?": (
        {"customers"}, "SELECT count(DISTINCT town) FROM customers"),
    "What is the maximum passenger capacity of ferries?": (
        {"ferries"}, "SELECT max(passenger_capacity) FROM ferries"),
    "Which ferry has the most sailings?": ({"ferries", "sailings"}, None),
    "What is the average price of bookings per route?": ({"bookings", "routes"}, None),
    "Who worked on the sailings of the ferry Skarven?": ({"sailings", "ferries"}, None),
    "What did maintenance cost in total for each ferry?": ({"maintenance", "ferries"}, None),
    "Which route is the longest?": ({"routes"}, None),
    "How many passengers travelled in 2024?": ({"sailings"}, None),
    "Which customers do not come from Bergvik?": ({"customers"}, None),
    "How many sailings were not cancelled?": ({"sailings"}, None),
    "Which captains sailed to Lisbon?": (set(), None),
}
DECLARED = {"artists": ["id*", "name"], "albums": ["id*", "artist_id", "title"]}


def schema_of(tables, *joins):
    """A schema from names, a star behind those of primary keys."""
    return Schema.of([Table(table, tuple(
        Column(table, name.rstrip("*"), "INTEGER" if name.endswith(("*", "_id")) else "TEXT",
               name.endswith("*")) for name in names)) for table, names in tables.items()], joins)


def link(question, schema):
    """The schema linked by words alone, without flow."""
    graph = schema_graph(schema, local_embedder())
    return link_schema(question, schema, graph, np.zeros(len(graph)), np.zeros(len(graph)))


def pairs(schema):
    return {(*join.pairs[0], join.inferred) for join in schema.joins}


@pytest.fixture(scope="module")
def ferries():
    return Database.open(FERRIES, local_embedder())


@pytest.fixture(scope="module")
def asked(ferries):
    return {question: ferries.ask(question) for question in QUESTIONS}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_draft_answers_or_is_refused(question, asked):
    tables, sql = QUESTIONS[question]
    result = asked[question]
    assert tables <= set(result.linked.tables)
    assert result.draft.complete == (sql is not None)
    if sql is not None:
        with closing(sqlite3.connect(FERRIES)) as database:
            wanted = sorted(database.execute(sql).fetchall())
        assert sorted(result.database.run(result.draft.sql).rows) == wanted


def test_no_draft_or_start_reads_a_column_of_a_table_that_is_not_joined(asked, ferries):
    names = [*ferries.schema.table, *(column.name for column in ferries.schema.columns)]
    rng = np.random.default_rng(0)
    drafts = [result.draft for result in asked.values()]
    for size in (1, 2, 3, 4) * 6:
        drafts.append(ferries.ask(" ".join(rng.choice(names, size)).replace("_", " ")).draft)
    for each in drafts:
        check_select(each.sql, ferries.schema)


def test_the_sample_is_what_its_script_builds(tmp_path):
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
def test_references_are_inferred_from_names(tables, expected):
    assert pairs(schema_of(tables)) == expected


def test_a_name_that_is_a_keyword_of_sqlite_is_read_as_a_name():
    words_of_sqlite = """autoincrement current_date deferrable from isnull nothing notnull raise
        returning select values"""
    with closing(sqlite3.connect(":memory:")) as database:
        for word in words_of_sqlite.split():
            database.execute(f'CREATE TABLE "{word}" ("{word}" INTEGER)')
            database.execute(f'INSERT INTO "{word}" VALUES (7)')
            assert database.execute(f"SELECT {quote_name(word)}.{quote_name(word)} FROM {quote_name(word)} "
                                    f"WHERE {quote_name(word)}.{quote_name(word)} = 7").fetchall() == [(7,)]


def test_the_graph_has_each_table_column_and_reference_once(ferries):
    graph, schema = ferries.graph, ferries.schema
    assert len(graph) == 10 + 50
    assert graph.edge_count == 50 + 12
    made = nx.Graph((graph.ids[u], graph.ids[int(v)]) for u in range(len(graph))
                    for v in graph.around(u))
    assert nx.shortest_path(made, "bookings", "customers") == [
        "bookings", "bookings.customer_id", "customers.id", "customers"]
    assert sum(join.inferred for join in schema.joins) == 5
    assert np.all(graph.capacity("unit") == 1)


class Directions:
    """An embedder with a vector for each text, and one that nothing is near to for the others."""

    name, dimension = "directions", 4

    def __init__(self, **vectors):
        self.vectors, self.asked = vectors, []

    def embed(self, texts):
        self.asked += texts
        return np.array([self.vectors.get(text, (0, 0, 0, 1)) for text in texts], np.float32)


def test_seeds_are_named_near_or_hold_a_value_and_take_mass_by_their_score():
    """The question points along (1, 0), its keyword along (0, 1)."""
    schema = Schema.of([
        Table("singers", (Column("singers", "name", "TEXT", values=("Ada", "Bo")),
                          Column("singers", "_", "INTEGER"))),
        Table("tunes", (Column("tunes", "title", "TEXT"), Column("tunes", "key", "TEXT")))], [])
    embedder = Directions(**{"tunes with title, key": (0.8, 0.6, 0, 0), "tunes": (0, 1, 0, 0),
                             "name": (0, -1, 0, 0), "singers name text such as Ada, Bo": (0.6, 0, 0.8, 0)})
    graph = schema_graph(schema, embedder)
    assert embedder.asked == [
        "singers with name, ", "tunes with title, key", "singers name text such as Ada, Bo",
        "singers  integer", "tunes title text", "tunes key text",
        "singers", "tunes", "name", "_", "title", "key"]
    plan = QueryPlan("Which name of singers has the title Ada?", (Keyword("songs", "low"),),
                     np.array([1, 0, 0, 0], np.float32), np.array([[0, 1, 0, 0]], np.float32))
    values = (Value("tunes", "title", "ada", "Ada", True), Value("tunes", "key", "bo", "Bo", True))
    assert find_evidence(graph, schema, plan, values).score == pytest.approx(
        [1, 0.5 + 0.8, 1 + 0.6, 0, 0.6 + 1, 0])
    seeds = schema_seeds(graph, schema, plan, values, 10)
    assert [graph.ids[row] for row in seeds.rows] == ["singers.name", "tunes.title", "tunes", "singers"]
    assert seeds.shares == pytest.approx(np.array([1.6, 1.6, 1.3, 1]) / 5.5)
    assert [(why.kind, dict(why.values)) for why in seeds.reasons] == [
        (ReasonKind.NAMED, {}), (ReasonKind.HOLDS_VALUE, {"text": "Ada"}),
        (ReasonKind.NEAR_KEYWORD, {"score": 1.0, "word": "songs"}), (ReasonKind.NAMED, {})]
    assert len(schema_seeds(graph, schema, plan, values, 2).rows) == 2


def test_reachable_tables_are_joined_by_the_shortest_tree():
    schema = schema_of({
        "crew": ["id*", "name"], "sailing_crew": ["crew_id", "sailing_id"],
        "sailings": ["id*", "ferry_id"], "ferries": ["id*", "name"], "island": ["x"]})
    tree, alternatives = join_tables(
        schema, ["crew", "ferries", "island"], QuestionWords.read("crew of ferries"))
    assert [(join.table, join.target) for join in tree] == [
        ("sailing_crew", "crew"), ("sailing_crew", "sailings"), ("sailings", "ferries")]
    assert not alternatives


@pytest.mark.parametrize(("question", "columns"), [
    ("What are the release and the year of the songs?", {"songs.release", "songs.year"}),
    ("What is the chart year of the songs?", {"songs.chart_release_year", "songs.year"}),
    ("Which songs have a chart release year?", {"songs.chart_release_year"})])
def test_a_column_named_in_part_is_left_out_where_others_have_its_words(question, columns):
    schema = schema_of({"songs": ["id*", "release", "year", "chart_release_year"]})
    assert set(link(question, schema).columns) == columns


@pytest.mark.parametrize(("question", "tables"), [
    ("Which sailings have a ferry?", {"sailings"}),
    ("Which sailings have a ferry with a new engine?", {"sailings", "ferries"}),
    ("Please tell us for the report that we print soon, and only if it is known by now, which sailings "
     "have a ferry?", {"sailings", "ferries"})])
def test_a_parent_whose_key_the_child_has_is_left_out_unless_more_may_be_asked_of_it(
        question, tables):
    schema = schema_of({"sailings": ["id*", "ferry_id", "day"], "ferries": ["id*", "name", "engine"]})
    assert set(link(question, schema).tables) == tables


def test_a_table_that_joins_two_others_stays_without_being_asked_for():
    schema = schema_of({"sailings": ["id*", "ferry_id", "day"], "ferries": ["id*", "name"],
                        "repairs": ["id*", "ferry_id", "cost"]})
    linked = link("Which sailings have repairs?", schema)
    assert set(linked.tables) == {"sailings", "ferries", "repairs"}
    assert len(linked.joins) == 2


@pytest.mark.parametrize(("question", "key", "several"), [
    ("Which flights go to the port Lisbon?", "origin_port_id", True),
    ("Which flights have the origin port Lisbon?", "origin_port_id", False),
    ("Which flights have the goal port Lisbon?", "goal_port_id", False)])
def test_one_of_two_keys_to_a_table_is_taken_only_if_it_is_named(question, key, several):
    schema = schema_of({"ports": ["id*", "name"],
                        "flights": ["id*", "code", "origin_port_id", "goal_port_id"]})
    joins, alternatives = join_tables(schema, ["flights", "ports"], QuestionWords.read(question))
    assert [join.columns for join in joins] == [(key,)]
    linked = LinkedSchema(("flights", "ports"), ("ports.name",), joins, alternatives=alternatives,
                          values=(Value("ports", "name", "lisbon", "Lisbon", True),))
    gaps = {gap.kind for gap in draft(question, schema, linked).gaps}
    assert (GapKind.SEVERAL_JOINS in gaps) is several


def test_a_value_of_two_columns_is_ambiguous_until_the_question_names_one(tmp_path):
    path = tmp_path / "towns.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, town TEXT, birthplace TEXT);
            INSERT INTO people VALUES (1, 'Ada', 'Bergvik', 'Oslo'), (2, 'Bo', 'Oslo', 'Bergvik');""")
    towns = Database.open(path, local_embedder())
    gap, = towns.ask("Which people belong to Bergvik?").draft.gaps
    assert gap.kind == GapKind.SEVERAL_COLUMNS
    assert set(gap.columns) == {"people.town", "people.birthplace"}
    asked = towns.ask("Which people have the birthplace Bergvik?").draft
    assert "birthplace = 'Bergvik'" in asked.sql


def test_a_sum_over_rows_that_a_join_repeats_is_refused(tmp_path):
    path = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE orders (id INTEGER PRIMARY KEY, price REAL);
            CREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, color TEXT);
            INSERT INTO orders VALUES (1, 5.0), (2, 7.0);
            INSERT INTO items VALUES (1, 1, 'crimson'), (2, 1, 'crimson'), (3, 2, 'teal');""")
    shop = Database.open(path, local_embedder())
    asked = shop.ask("What is the total price of orders with crimson items?").draft
    assert [gap.kind for gap in asked.gaps] == [GapKind.REPEATED]
    counted = shop.ask("How many orders have crimson items?").draft
    assert shop.run(counted.sql).rows == ((1,),)
    assert shop.run(shop.ask("What is the maximum price of orders with crimson items?").draft.sql
                    ).rows == ((5.0,),)


def test_hostile_names_and_values_stay_names_and_values(tmp_path):
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE "order ""; DROP TABLE x; --" ("select" INTEGER PRIMARY KEY, "na'me" TEXT);
            INSERT INTO "order ""; DROP TABLE x; --" VALUES (1, 'O''Hara; --');
            CREATE TABLE "😀" ("" TEXT);""")
    odd = Database.open(path, local_embedder())
    one = odd.ask("How many orders has O'Hara; --?")
    assert odd.run(one.draft.sql).rows == ((1, "O'Hara; --"),)


def test_a_percent_sign_of_the_question_is_looked_for_as_itself():
    schema = Schema.of([Table("notes", (Column("notes", "body", "TEXT"),))], [])
    linked = LinkedSchema(("notes",), ("notes.body",), (), (
        Value("notes", "body", "5%_off", "now 5%_off", whole=False),))
    made = draft("Which notes have 5%_off?", schema, linked)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE notes (body TEXT)")
        database.executemany("INSERT INTO notes VALUES (?)", [("now 5%_off",), ("5 miles off",)])
        assert database.execute(made.sql).fetchall() == [("now 5%_off",)]


def test_a_model_sees_the_retrieved_schema_only_and_no_row(ferries):
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
def test_a_reply_without_a_select_is_an_error_in_a_sentence(reply):
    with pytest.raises(MalformedReplyError, match="wrote no SELECT"):
        read_sql(reply)


def test_the_command_prints_tables_draft_and_rows(capsys):
    assert main(["sql", str(FERRIES), "How many sailings were cancelled?", "--run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "sailings" in printed["tables"]
    assert printed["rows"]["rows"] == [[29]]
    assert verify(printed["retrieval"]).ok
    assert main(["sql", str(FERRIES), "How many sailings were cancelled?", "--run"]) == 0
    assert "WHERE sailings.status = 'cancelled'\n\ncount\n29\n" in capsys.readouterr().out


@pytest.mark.parametrize(("question", "unused"), [
    ("How many sailings were cancelled?", ""),
    ("Which ferry has the most sailings?", "most"),
    ("Which route earns the least?", "earns, least")])
def test_a_start_names_the_words_that_the_rules_do_not_understand(ferries, question, unused):
    gaps = ferries.ask(question).draft.gaps
    assert [gap.name for gap in gaps if gap.kind == GapKind.UNUSED] == [unused] * bool(unused)
