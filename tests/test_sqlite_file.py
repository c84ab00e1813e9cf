"""What only a workspace that is a SQLite file can show; else see test_storage_contract.py."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tiny import save_run, tiny_index

from qafd.errors import BusyError, NewerSchemaError, StoreError
from qafd.installation import check_workspace
from qafd.knowledge import KnowledgeGraph
from qafd.storage import open_workspace, remove_workspace
from qafd.storage.relational.schema import VERSION

ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
CYD = ("cyd.txt", b"Cyd wrote to Ada. Bob never knew Cyd.")


@pytest.fixture(scope="session")
def indexed(tmp_path_factory):
    """A workspace of both files, to be copied and not to be changed."""
    original = tmp_path_factory.mktemp("indexed") / "work.db"
    tiny_index(original, [ADA, CYD])
    return original


@pytest.fixture
def store(path, indexed):
    path.write_bytes(indexed.read_bytes())
    with open_workspace(path) as opened:
        yield opened


def test_a_saved_run_never_changes(store):
    key = save_run(store)
    with pytest.raises(sqlite3.IntegrityError, match="never changes"), \
            store.transaction() as connection:
        connection.execute("UPDATE runs SET body = 'x' WHERE id = ?", (key,))


def test_reading_only_changes_nothing_and_writing_is_refused(store, tmp_path):
    copy = tmp_path / "sample" / "copy.db"
    copy.parent.mkdir()
    store.backup(copy)
    before = copy.read_bytes()
    with open_workspace(copy, read_only=True) as sample:
        assert sample.graph.digest() == store.graph.digest()
        with pytest.raises(StoreError, match="cannot be opened or written"):
            sample.documents.delete("ada.txt")
    assert list(copy.parent.iterdir()) == [copy]
    assert copy.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello " * 1000, b"SQLite format 3\0" + b"x" * 5000])
def test_what_is_no_workspace_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged or no workspace"):
        open_workspace(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("left", ["closed", "open", "killed"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("version", [0, VERSION, VERSION + 1])
def test_another_programs_database_is_left_alone_whatever_its_version(path, version, mode, left):
    folder, live = path.parent / "theirs", path.parent / "live"
    folder.mkdir()
    live.mkdir()
    mine = folder / "places.sqlite"
    with closing(sqlite3.connect(live / mine.name)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("CREATE TABLE places (id INTEGER PRIMARY KEY, url)")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)")
        connection.commit()
        if left != "closed":
            connection.execute("INSERT INTO places (url) VALUES ('x')")
            connection.commit()
        if left == "closed":
            connection.close()
        for file in live.iterdir():
            if left != "killed" or not file.name.endswith("-shm"):
                (folder / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in folder.iterdir()
              if not file.name.endswith("-shm")}
    names = {file.name for file in folder.iterdir()}
    for opened in (lambda: open_workspace(mine), lambda: open_workspace(mine, read_only=True),
                   lambda: remove_workspace(mine)):
        with pytest.raises(StoreError, match="is not a qafd workspace .* left unchanged"):
            opened()
        assert {file.name for file in folder.iterdir()} == names
        assert {name: (folder / name).read_bytes() for name in before} == before
    assert not check_workspace(mine)[-1].ok
    assert {file.name for file in folder.iterdir()} == names


def test_a_workspace_that_was_killed_before_its_first_checkpoint_is_opened(tmp_path):
    made, left = tmp_path / "made.db", tmp_path / "left.db"
    with open_workspace(made) as store:
        store.files.add("ada.txt", b"Ada met Bob.")
        left.write_bytes(made.read_bytes())
        Path(f"{left}-wal").write_bytes(Path(f"{made}-wal").read_bytes())
    with closing(sqlite3.connect(f"{left.as_uri()}?immutable=1", uri=True)) as alone:
        assert alone.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    with open_workspace(left) as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]


def test_a_newer_schema_is_refused_and_left_alone(store, path):
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerSchemaError, match="install that version"):
            open_workspace(path, read_only)
    assert path.read_bytes() == before


def test_an_older_workspace_is_refused_and_left_alone(path):
    with closing(sqlite3.connect(path)) as old:
        for table in ("meta", "chunks", "extractions", "mentions"):
            old.execute(f"CREATE TABLE {table} (id)")
        old.execute("PRAGMA user_version = 17")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="older version of qafd.* index its documents again"):
            open_workspace(path, read_only)
    assert not check_workspace(path)[-1].ok
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_every_file_can_be_opened_by_a_plain_sqlite_tool(indexed):
    with closing(sqlite3.connect(indexed)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert plain.execute("SELECT name FROM entities ORDER BY name").fetchall() == [
            ("Ada",), ("Bob",), ("Cyd",), ("Paris",)]
        assert plain.execute(
            "SELECT source, label, target, count FROM relations WHERE source = 'Bob' "
            "AND target = 'Paris' OR source = 'Paris'").fetchall() == [("Bob", "met", "Paris", 1)]


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be deleted there")
@pytest.mark.parametrize("left", ["nothing", "another file"])
@pytest.mark.parametrize("stage", ["extracting", "assembling"])
def test_indexing_ends_with_a_sentence_when_its_file_is_deleted(path, left, stage):
    def delete(progress):
        if progress.stage == stage:
            path.unlink(missing_ok=True)
            if left == "another file":
                path.write_bytes(b"another")

    with pytest.raises(StoreError, match="was removed or replaced while it was indexed"):
        tiny_index(path, [("a.txt", b"Ann met Bob.")], progress=delete)
    assert (path.read_bytes() if path.exists() else b"") == (
        b"another" if left == "another file" else b"")
    assert path.exists() == (left == "another file")


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be moved there")
def test_a_workspace_that_was_moved_while_in_use_is_gone_and_not_made_again(path):
    knowledge = KnowledgeGraph.open(path)
    with knowledge.store() as store:
        store.files.add("ada.txt", b"Ada met Bob.")
    path.rename(path.with_name("moved.db"))
    for use in (lambda: knowledge.add_text("b.txt", "Bob."), lambda: knowledge.graph,
                lambda: open_workspace(path)):
        with pytest.raises(StoreError, match="is gone: it was moved or deleted while it was in use"):
            use()
    assert not path.exists()
    with open_workspace(path.with_name("moved.db")) as moved:
        assert [file.name for file in moved.files.all()] == ["ada.txt"]


def test_deleting_a_workspace_leaves_nothing_of_it_and_spares_its_neighbors(store, path):
    for name in ("work.db.log", "work.db2", "other.db"):
        (path.parent / name).write_bytes(b"x")
    with store.lease.hold():
        assert (path.parent / "work.db.reserve").exists()
        with pytest.raises(BusyError, match="cancel its jobs"):
            remove_workspace(path)
    assert not (path.parent / "work.db.reserve").exists()
    store.close()
    remove_workspace(path)
    assert {file.name for file in path.parent.iterdir()} == {"work.db2", "other.db"}


def test_blocks_that_share_a_connection_stay_apart_in_transactions(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "w.db")
    with knowledge.store() as outer:
        with knowledge.store() as inner:
            inner.notes.put("one", "1")
        assert outer.notes.get("one") == "1", "the inner block closed the outer one's connection"
        with outer.lease.hold(), knowledge.store() as other:
            other.lease.give_back()
            assert outer.lease.writer == os.getpid(), "another block ended its lease"
        with outer.snapshot(), knowledge.store() as writer:
            assert outer.notes.get("one") == "1"
            writer.notes.put("one", "2")
            assert outer.notes.get("one") == "1", "a snapshot saw what was written after it"
        assert outer.notes.get("one") == "2"


def test_a_file_is_opened_while_others_close_it(tmp_path):
    """Whoever closes it last takes the log beside it away, at any moment of somebody's opening."""
    path = tmp_path / "w.db"
    with open_workspace(path):
        pass

    def open_and_close(number):
        with open_workspace(path, read_only=bool(number % 2)) as store:
            store.listing.size()

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(open_and_close, range(3000)))) == 3000
