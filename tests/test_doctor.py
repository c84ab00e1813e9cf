import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tiny import save_run, started, tiny_index

from qafd.errors import StoreError
from qafd.ingest import jobs
from qafd.installation import check_workspace
from qafd.storage import open_workspace

FILES = [("ada.txt", b"Ada met Bob in Paris. Bob left."), ("cyd.txt", b"Cyd wrote to Ada."),
         ("dan.txt", b"Dan never met Cyd.")]


@pytest.fixture(scope="session")
def healthy(tmp_path_factory):
    """A workspace with live, deleted and failed files, a retrieval and a finished job."""
    path = tmp_path_factory.mktemp("healthy") / "work.db"
    with open_workspace(path) as store:
        jobs.enqueue(store)
        save_run(store)
        tiny_index(path, [*FILES, ("empty.txt", b"")])
        store.documents.delete("dan.txt")
        tiny_index(path)
        with store.transaction() as connection:
            connection.execute("UPDATE jobs SET state = 'done'")
    return path


@pytest.fixture
def path(healthy, tmp_path):
    copy = tmp_path / "work.db"
    copy.write_bytes(healthy.read_bytes())
    return copy


def complaints(path, deep=True):
    return {check.name for check in check_workspace(path, deep) if not check.ok}


DEFECTS = {
    "a passage without its document":
        ("pages", "DELETE FROM documents WHERE name = 'cyd.txt'"),
    "a passage whose text was changed":
        ("texts", "UPDATE chunks SET text = replace(text, 'Cyd', 'Eve')"),
    "a document whose text was changed":
        ("texts", "UPDATE documents SET text = ' ' || text WHERE name = 'ada.txt'"),
    "a name outside its passage":
        ("log", "UPDATE mentions SET \"end\" = 1000 WHERE key = 'paris'"),
    "a passage of a deleted document in the graph":
        ("passages", "UPDATE documents SET deleted_at = 'now' WHERE name = 'cyd.txt'"),
    "a passage that the graph forgot":
        ("passages", "DELETE FROM passages WHERE document = 'ada.txt'"),
    "an edge to a node that is gone":
        ("graph anew", "DELETE FROM nodes WHERE name = 'Paris'"),
    "a passage that the search index forgot":
        ("search", "INSERT INTO passages_fts (passages_fts, rowid, title, text) "
                   "SELECT 'delete', rowid, title, text FROM passages LIMIT 1"),
    "a vector that is another one":
        ("vectors", "UPDATE embeddings SET vectors = (SELECT vectors FROM embeddings WHERE id = 2) "
                    "WHERE id = 1"),
    "a vector of another length":
        ("vectors", "UPDATE embeddings SET vectors = zeroblob(7) WHERE id = 1"),
    "a node without a vector":
        ("vectors", "UPDATE nodes SET vectors = 1000 WHERE name = 'Bob'"),
    "a job that nobody does":
        ("jobs", "UPDATE jobs SET state = 'running'"),
    "a file that waits for no job":
        ("jobs", "UPDATE files SET status = 'queued' WHERE name = 'ada.txt'"),
    "a saved run that was changed":
        ("runs", "DROP TRIGGER runs_never_change", "UPDATE runs SET sha256 = 'x'"),
    "an edge with another weight":
        ("graph anew", "UPDATE edges SET similarity = similarity * 1.001 WHERE kind = 3"),
    "a node with another name":
        ("graph anew", "UPDATE nodes SET name = 'Rob' WHERE name = 'Bob'"),
    "a word that the search index has wrong":
        ("search anew", "INSERT INTO passages_fts (rowid, title, text) VALUES (1, 'x', 'zebra')"),
    "a log entry that was changed without any effect on the graph":
        ("log", "UPDATE mentions SET kind = 'GPE' WHERE key = 'paris'"),
    "a trigger that was dropped":
        ("tables", "DROP TRIGGER passages_insert"),
    "a vector that is missing in a graph that nothing makes anew":
        ("vectors", "DELETE FROM embeddings WHERE id = 1"),
    "a node with the vector of another one":
        ("graph anew", "UPDATE nodes SET vectors = (SELECT vectors FROM nodes WHERE name = 'Ada') "
                  "WHERE name = 'Cyd'"),
    "a passage that is no longer shown as it was":
        ("graph anew", "UPDATE passages SET heading = 'x'"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_doctor_finds(defect, path):
    name, *statements = DEFECTS[defect]
    with closing(sqlite3.connect(path)) as plain:
        for statement in statements:
            plain.execute(statement)
        plain.commit()
    assert name in complaints(path, deep="anew" in name)


def test_the_doctor_finds_nothing_in_a_healthy_workspace(healthy):
    assert complaints(healthy) == set()


def test_a_workspace_that_is_being_indexed_is_no_fault(path):
    with open_workspace(path) as store, store.lease.hold():
        jobs.enqueue(store, [("new.txt", b"Eve met Ada.")])
        with store.transaction() as connection:
            connection.execute("UPDATE jobs SET state = 'running'")
        assert complaints(path) == set()


def test_a_process_that_died_leaves_a_stuck_job_and_nothing_else(path):
    with open_workspace(path) as store:
        jobs.enqueue(store, [("new.txt", b"Eve met Ada.")])
    crashed = started(tiny_index, path, crash_at=7)
    crashed.join()
    with open_workspace(path) as store, store.transaction() as connection:
        connection.execute("UPDATE jobs SET state = 'running'")
    assert complaints(path) == {"jobs"}


def test_the_doctor_changes_nothing(healthy):
    def content():
        # SQLite's index of the log, and a log without entries, come and go with connections.
        return {file.name: file.read_bytes() for file in healthy.parent.iterdir()
                if not file.name.endswith("-shm") and file.stat().st_size}

    before = content()
    check_workspace(healthy, deep=True)
    assert content() == before


def test_a_rebuilt_graph_is_the_graph_of_the_log_again(path):
    with open_workspace(path) as store:
        before = store.graph.digest()
        with store.transaction() as connection:
            connection.execute("DELETE FROM edges")
            connection.execute("UPDATE nodes SET vectors = 1, name = 'x'")
            connection.execute("DELETE FROM passages WHERE document = 'ada.txt'")
        store.assembly.drop()
    assert tiny_index(path) == before
    assert complaints(path) == set()


def read_all(path):
    with open_workspace(path) as store:
        return (store.graph.digest(), store.log.read().chunks, store.log.read().extractions,
                [store.documents.get(row.name) for row in store.documents.all()],
                store.passages.search("ada bob cyd paris", 9))


@pytest.mark.chaos
def test_damage_anywhere_in_the_file_is_found_or_changes_no_answer(healthy, tmp_path):
    with open_workspace(healthy) as store:
        expected = read_all(healthy)
        assert store.graph.stale is False
    whole = healthy.read_bytes()
    used = [at for at, byte in enumerate(whole) if byte]
    rng = random.Random(200)
    found = 0
    for i in range(200):
        path = tmp_path / f"{i}.db"
        if i % 5:
            at = rng.choice(used)
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)])
                             + whole[at + 1:])
        else:
            path.write_bytes(whole[:rng.randrange(1, len(whole) // 4096) * 4096])
        if complaints(path):
            found += 1
            continue
        assert read_all(path) == expected
    assert found > 100


def test_a_damaged_file_never_answers_with_a_traceback_of_sqlite(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + np.random.default_rng(1).bytes(len(whole) - 4096))
    with pytest.raises(StoreError, match="damaged"), open_workspace(path) as store:
        store.graph.digest()
    assert "pages" in complaints(path) or "file" in complaints(path)
