"""The box that databases are read in: hostile statements, hostile files, and honest ones."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from qafd.errors import SqlError
from qafd.sql import box, child

SHORT = 0.3  # seconds that a statement may take here
SCHEMA = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, secret BLOB);
INSERT INTO t VALUES (1, 'one', x'0102'), (2, 'two', NULL);
CREATE VIEW v AS SELECT name FROM t;
CREATE VIEW bad AS SELECT load_extension('x');
CREATE VIRTUAL TABLE words USING fts5(body);
CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TRIGGER fire AFTER INSERT ON t BEGIN DELETE FROM counted; END;
"""
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
REFUSED = [
    "INSERT INTO t VALUES (3, 'x', NULL)", "UPDATE t SET name = 'x'", "DELETE FROM t",
    "REPLACE INTO t VALUES (1, 'x', NULL)", "INSERT INTO t DEFAULT VALUES RETURNING *",
    "UPDATE t SET name = 'x' RETURNING *", "WITH a AS (SELECT 1) DELETE FROM t",
    "DROP TABLE t", "DROP VIEW v", "DROP TRIGGER fire", "ALTER TABLE t RENAME TO u",
    "ALTER TABLE t ADD COLUMN u", "CREATE TABLE u (a)", "CREATE TEMP TABLE u (a)",
    "CREATE TABLE u AS SELECT * FROM t", "CREATE INDEX i ON t (name)", "CREATE VIEW w AS SELECT 1",
    "CREATE TRIGGER g AFTER DELETE ON t BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE w USING fts5(a)", "CREATE TEMP VIEW w AS SELECT * FROM sqlite_master",
    "VACUUM", "VACUUM INTO 'copy.db'", "REINDEX", "ANALYZE",
    "ATTACH 'other.db' AS other", "ATTACH ':memory:' AS other", "DETACH main",
    "SELECT load_extension('./evil')", "SELECT readfile('/etc/passwd')",
    "SELECT writefile('out', 'x')", "SELECT edit('x')", "SELECT fts3_tokenizer('simple')",
    "SELECT * FROM fsdir('/')", "SELECT * FROM sqlite_dbpage", "SELECT * FROM dbstat",
    "PRAGMA journal_mode = WAL", "PRAGMA query_only = 0", "PRAGMA writable_schema = 1",
    "PRAGMA user_version = 7", "PRAGMA trusted_schema = 1", "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA database_list", "SELECT * FROM pragma_database_list",
    "SELECT count(*) FROM pragma_database_list", "SELECT * FROM pragma_table_info('t')",
    "BEGIN", "BEGIN EXCLUSIVE", "COMMIT", "ROLLBACK", "SAVEPOINT s", "RELEASE s",
    "SELECT * FROM sqlite_master", "SELECT count(*) FROM sqlite_schema",
    "SELECT * FROM sqlite_temp_master", "SELECT * FROM sqlite_sequence",
    "WITH sqlite_master AS (SELECT * FROM main.sqlite_master) SELECT * FROM sqlite_master",
    "SELECT * FROM words", "SELECT * FROM words_data", "SELECT * FROM bad",
    "SELECT value FROM json_each('[1]')", "SELECT count(*) FROM json_each('[1]')",
    "SELECT count(*) FROM words", "SELECT count(*) FROM words_data",
    "SELECT 1; DROP TABLE t", "SELECT 1; SELECT 2", "SELECT 1 -- ;\n; DELETE FROM t",
    "/* SELECT */ DELETE FROM t", "", " ", "-- nothing", ";",
    "SELECT 1\0; DROP TABLE t", "SELECT \ud800 FROM", "SELEC 1", "SELECT nothing FROM t",
    ENDLESS + "count(*) FROM c", ENDLESS + "max(x) FROM c",
    "SELECT length(zeroblob(2000000000))", "SELECT randomblob(1000)",
    "SELECT printf('%.*c', 2000000000, 'x')", "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT " + "1+" * 5000 + "1", f"SELECT '{'x' * 200_000}'",
    f"SELECT 'a' LIKE '{'%a' * 1000}'",
    "WITH RECURSIVE c(x) AS (SELECT 'aaaaaaaa' UNION ALL SELECT x || x FROM c) "
    "SELECT count(x) FROM c",
    "SELECT count(*) FROM " + ", ".join(f"(SELECT 1 FROM t, t, t) AS a{i}" for i in range(12)),
    "SELECT abs(-9223372036854775807 - 1)",
]
HARMLESS = {
    "SELECT 1": ((1,),), "VALUES (1), (2)": ((1,), (2,)),
    "select NAME from T": (("one",), ("two",)),
    "SELECT * FROM v": (("one",), ("two",)), "SELECT secret FROM t WHERE id = 1": (("(2 bytes)",),),
    "WITH a AS (SELECT * FROM t) SELECT count(*) FROM a": ((2,),),
    "SELECT upper(group_concat(name, '+')) FROM t;": (("ONE+TWO",),),
    "SELECT 9e999, 'a;b' -- DROP TABLE t": (("inf", "a;b"),),
    "SELECT row_number() OVER (ORDER BY id DESC) FROM t": ((1,), (2,)),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("box") / "it's a #file?.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
    return path


def state(path):
    return (hashlib.sha256(path.read_bytes()).hexdigest(),
            sorted(p.name for p in path.parent.iterdir()))


def test_no_attack_is_answered_changes_a_byte_or_makes_a_file(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    before = state(file)
    for sql in REFUSED:
        with pytest.raises(SqlError, match=r"^.{20,500}$"):
            pytest.fail(f"{sql[:80]} gave {box.run(file, sql, SHORT)}")
    assert state(file) == before
    assert len(REFUSED) > 60


def test_without_the_authorizer_nothing_can_be_written_either(file):
    with closing(child.open_read_only(str(file), 5)) as connection:
        for sql in ("CREATE TEMP TABLE u (a)", "DELETE FROM t", "VACUUM INTO 'copy.db'"):
            with pytest.raises(sqlite3.OperationalError):
                connection.execute(sql)
        with pytest.raises(sqlite3.OperationalError, match="too many attached"):
            connection.execute("ATTACH ':memory:' AS other")


def test_honest_statements_are_answered(file):
    assert {sql: box.run(file, sql).rows for sql in HARMLESS} == HARMLESS


def test_a_long_result_is_cut_and_says_so(file):
    many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1001) SELECT "
    rows = box.run(file, many + "x FROM c")
    assert [rows.rows[0], rows.rows[-1], len(rows.rows)] == [(1,), (1000,), 1000]
    assert rows.cut == "only the first 1,000 rows"
    wide = box.run(file, many + "printf('%.*c', 9000, 'x') FROM c")
    assert len(wide.rows) == 4_000_000 // 9000
    assert "4 MB" in wide.cut
    whole = box.run(file, many + "x FROM c LIMIT 1000")
    assert (len(whole.rows), whole.cut) == (1000, "")


@pytest.mark.parametrize("content", [
    pytest.param(b"", id="empty"), pytest.param(b"no database" * 100, id="text"),
    pytest.param(b"SQLite format 3\0" + b"\xff" * 4080, id="header-only")])
def test_what_is_no_database_is_refused_in_a_sentence(content, tmp_path):
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    for read in (box.read_schema, box.copy) if content else (box.read_schema,):
        with pytest.raises(SqlError):
            read(path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.sqlite"]


def test_damage_is_found_before_a_copy_is_made(file, tmp_path):
    broken = bytearray(file.read_bytes())
    broken[4096:4196] = b"\xff" * 100
    path = tmp_path / "broken.sqlite"
    path.write_bytes(broken)
    with pytest.raises(SqlError, match="damaged"):
        box.copy(path)


def test_a_file_too_large_is_refused_unread(tmp_path):
    path = tmp_path / "large.sqlite"
    with path.open("wb") as file:
        file.truncate(box.LARGEST + 1)
    with pytest.raises(SqlError, match="105 MB"):
        box.copy(path)


def test_a_copy_has_all_that_is_committed_and_needs_no_second_file(tmp_path):
    path = tmp_path / "live.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(SCHEMA)
        database.execute("INSERT INTO t VALUES (3, 'in the log', NULL)")
        database.commit()
        assert box.run(path, "SELECT count(*) FROM t").rows == ((3,),)
        content = box.copy(path)
    copy = tmp_path / "copies" / "copy.sqlite"
    copy.parent.mkdir()
    copy.write_bytes(content)
    assert box.run(copy, "SELECT name FROM t WHERE id = 3").rows == (("in the log",),)
    assert [p.name for p in copy.parent.iterdir()] == ["copy.sqlite"]


def test_reading_a_closed_file_in_wal_mode_makes_no_file(tmp_path):
    path = tmp_path / "closed.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(SCHEMA)
    before = state(path)
    assert box.run(path, "SELECT count(*) FROM t").rows == ((2,),)
    assert state(path) == before


def test_values_are_found_whole_before_parts_and_wildcards_mean_themselves(tmp_path):
    path = tmp_path / "songs.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE songs (singer TEXT, title TEXT, \"odd\"\"name\" TEXT)")
        database.executemany("INSERT INTO songs VALUES (?, ?, ?)", [
            ("Adele", "Hello", "100% cotton"), ("Mara Delgado", "Adele, a portrait", "1000 cotton"),
            ("Adeleide", "x", "y")])
        database.commit()
    schema = box.read_schema(path)

    def found(*names):
        return {(v.column, v.value, v.whole)
                for v in box.find_values(path, schema, list(names), list(names))}
    assert found("adele") == {("singer", "Adele", True)}
    assert found("delgado") == {("singer", "Mara Delgado", False)}
    assert found("100% cot") == set()
    assert found("0% cotton") == set()
    assert found("100% cotton") == {('odd"name', "100% cotton", True)}
    assert found("' OR 1=1 --") == set()


def test_a_file_in_use_or_left_unfinished_is_not_blamed_on_the_sql(tmp_path):
    path, left = tmp_path / "used.sqlite", tmp_path / "left.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE t (a)")
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SqlError, match="Another program is writing to used"):
            box.run(path, "SELECT * FROM t", SHORT)
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO t VALUES (1)")
        left.write_bytes(path.read_bytes())
        Path(f"{left}-wal").write_bytes(Path(f"{path}-wal").read_bytes())
    with pytest.raises(SqlError, match="changes beside it that were not finished"):
        box.run(left, "SELECT * FROM t")
