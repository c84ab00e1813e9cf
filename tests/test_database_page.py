"""The Database page, without a browser, with and without a model on a loopback endpoint."""

import sqlite3
from contextlib import closing

import pytest
from clicks import page, press, shown

from qafd.preferences import Preferences, amend

KEY = "sk-CANARY-0123456789"
WRITTEN = "```sql\nSELECT name, distance_km FROM routes ORDER BY 2 DESC LIMIT 2;\n```"
pytestmark = pytest.mark.replies(reply=lambda _: WRITTEN)


@pytest.fixture
def modeled(home, server):
    amend(home / "settings.json", Preferences(), Preferences("custom", server.url, "tiny"))
    return server


@pytest.fixture
def own(home):
    path = home / "databases" / "songs.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE singers (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT, singer_id INTEGER);"
            "INSERT INTO singers VALUES (1, 'Adele'), (2, '=HYPERLINK(1)');"
            "INSERT INTO songs VALUES (1, '<b>Hello</b>', 1), (2, 'Skyfall', 1);")
    return path


@pytest.mark.parametrize(("sql", "said"), [
    ("DELETE FROM routes", "Only reading is allowed"), ("SELECT x FROM routes", "no such column"),
    ("", "There is no SQL to run")])
def test_sql_that_is_not_allowed_or_wrong_is_one_sentence(sql, said, home):
    app = page("database")
    app.text_area(key="sql").set_value(sql).run()
    press(app, "Run")
    assert said in app.error[0].value.replace("\\", "")


def test_a_database_of_ones_own_is_asked_and_removed(own):
    app = page("database", database="songs", dbq="How many songs has Adele?", tab="SQL")
    assert app.dataframe[0].value["count"].tolist() == [2]
    assert "apple" not in app.selectbox(key="database").options
    press(app, "Remove this database")
    assert not own.exists()
    assert app.selectbox(key="database").value == "ferries"


def test_an_uploaded_file_is_checked_and_copied(home, own):
    content = own.read_bytes()
    app = page("database")
    app.file_uploader[0].upload("My songs (1).db", content).run()
    assert not app.exception
    assert app.selectbox(key="database").value == "My-songs-1"
    assert (home / "databases" / "My-songs-1.sqlite").exists()
    app.file_uploader[0].upload("bad.db", b"no database at all" * 99).run()
    assert "not a SQLite database" in app.warning[0].value
    assert sorted(p.name for p in (home / "databases").iterdir()) == [
        "My-songs-1.sqlite", "songs.sqlite"]


def test_a_model_writes_the_sql_from_the_retrieved_schema_and_is_paid_for_once(modeled):
    app = page("database", dbq="Which route is the longest?")
    assert modeled.bodies == []
    press(app, "Let tiny write it")
    assert app.text_area(key="sql").value == (
        "SELECT name, distance_km FROM routes ORDER BY 2 DESC LIMIT 2")
    assert "A model can be wrong" in shown(app)
    press(app, "Run")
    assert len(app.dataframe[-1].value) == 2
    press(app, "Let tiny write it")
    assert len(modeled.bodies) == 1
    sent = str(modeled.bodies[0])
    assert "distance_km" in sent
    assert "workshops" not in sent
    assert "101.3" not in sent  # a value of the result
    assert KEY not in sent


@pytest.mark.parametrize("fault", ["500", "empty"])
def test_a_failing_endpoint_leaves_the_draft(fault, modeled, monkeypatch):
    modeled.fault = lambda *_: fault
    monkeypatch.setattr("time.sleep", lambda _: None)
    app = page("database", dbq="Which route is the longest?")
    draft = app.text_area(key="sql").value
    press(app, "Let tiny write it")
    assert "The draft needs no model." in app.error[0].value.replace("\\", "")
    assert app.text_area(key="sql").value == draft
