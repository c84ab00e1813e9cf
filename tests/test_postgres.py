"""What only workspaces in PostgreSQL promise; what all promise is in test_storage_contract.py."""

import json
import os
import time

import psycopg
import pytest
from servers import postgres_url
from tiny import started, tiny_index, tiny_work

from qafd.errors import BusyError, ForeignFileError, NewerSchemaError, ParameterError, StoreError
from qafd.ingest import jobs
from qafd.knowledge import KnowledgeGraph
from qafd.samples import EXAMPLES, SAMPLES, copy_sample, sample_file
from qafd.storage import (
    copy_workspace,
    examine,
    open_workspace,
    place_of,
    remove_workspace,
    size_of,
)
from qafd.storage.postgres.schema import Address

ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
QUERIES = ["apple", "apple river", '"apple tree"', "the of and", "born founded", "Curie's", "nothingatall",
           "J. J. Thomson", "\N{CJK UNIFIED IDEOGRAPH-4E2D}", "App", "1976", "naïve cafe", "-", "_ apple"]


@pytest.fixture
def url():
    return postgres_url("work")


def run(url, statement):
    """Run a statement as another program would."""
    address = Address.of(url)
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_gives_the_same_digest_and_answers_in_both_backends(sample, url, tmp_path):
    file = copy_sample(sample, tmp_path)
    copy_workspace(file, url)
    assert [found.faults for found in examine(url, deep=True) if found.faults] == []
    here, there = KnowledgeGraph.open(file), KnowledgeGraph.open(url)
    with here.store() as old, there.store() as new:
        assert new.graph.digest() == old.graph.digest()
        assert new.files.all() == old.files.all()
        assert new.files.contents() == old.files.contents()
        assert new.documents.all() == old.documents.all()
        assert new.log.read() == old.log.read()
        graph = old.graph.read()
        assert new.passages.evidence(graph.ids[:50]) == old.passages.evidence(graph.ids[:50])
        assert sorted(new.listing.names(), key=repr) == sorted(old.listing.names(), key=repr)
        assert list(new.listing.nodes()) == list(old.listing.nodes())
    for question in EXAMPLES[sample]:
        for method in ("qafd", "pagerank"):
            one, other = (knowledge.retrieve(question, method) for knowledge in (here, there))
            assert other.passages == one.passages
            assert (other.nodes, other.edges) == (one.nodes, one.edges)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_search_finds_the_same_in_both_backends(sample, url):
    file = sample_file(sample)
    copy_workspace(file, url)
    with open_workspace(file, read_only=True) as old, open_workspace(url) as new:
        document = old.documents.all()[0].name
        titles = old.documents.titles(old.files.all()[0].name, 5).values()
        for query in [*QUERIES, *titles]:
            assert new.passages.search(query) == old.passages.search(query), query
            assert new.passages.search(query, 3, document) == old.passages.search(query, 3, document)


def test_a_backup_is_a_file_that_comes_back_as_the_same_workspace(url, tmp_path):
    digest = tiny_index(url, [ADA])
    with open_workspace(url) as store:
        store.edits.add("hide", "ada")
        store.backup(str(tmp_path / "copy.db"))
        with pytest.raises(StoreError):
            store.backup(str(tmp_path / "copy.db"))
        remove_workspace(url)
    copy_workspace(tmp_path / "copy.db", url)
    with open_workspace(url) as store:
        assert store.graph.digest() == digest
        assert (store.edits.add("hide", "bob"), store.graph.stale) == (2, True)
    with pytest.raises(StoreError):
        copy_workspace(tmp_path / "copy.db", url)


# --- schemas -----------------------------------------------------------------------------------

def test_what_another_program_made_is_left_alone(url):
    run(url, "CREATE SCHEMA work; CREATE TABLE work.t (i integer)")
    for use in (open_workspace, remove_workspace):
        with pytest.raises(ForeignFileError):
            use(url)
    run(url, "SELECT i FROM work.t")


@pytest.mark.parametrize(("mark", "error", "words"), [
    ("a qafd workspace, version 99", NewerSchemaError, "newer version"),
    ("a workspace of qafd, schema 8", StoreError, "older version .* index its documents again")])
def test_a_workspace_of_another_version_is_refused(url, mark, error, words):
    tiny_index(url, [ADA])
    run(url, f"COMMENT ON SCHEMA work IS '{mark}'")
    with pytest.raises(error, match=words):
        open_workspace(url)


@pytest.mark.parametrize("wrong", [
    "postgresql://host", "postgresql://host/db/public", "postgresql://host/db/pg_x",
    f"postgresql://host/db/{'x' * 64}", "mysql://host/db/x"])
def test_a_url_that_cannot_be_a_workspace_is_refused(wrong):
    with pytest.raises(ParameterError):
        place_of(wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks there")
def test_a_fork_has_connections_of_its_own_and_leaves_those_of_its_parent(url):
    def look():
        with open_workspace(url, shared=True) as own, own.snapshot() as connection:
            (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        with pytest.raises(StoreError, match="before this process was forked"):
            store.notes.put("a", "2")
        return [pid, os.getpid()]

    with open_workspace(url, shared=True) as store:
        store.notes.put("a", "1")
        with store.snapshot() as connection:
            (parent,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writing, json.dumps(look()).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        pid, process = json.loads(os.read(reading, 1000) or b"[null, null]")
        os.close(reading)
        assert (pid not in (None, parent), process) == (True, child)
        assert store.notes.get("a") == "1"


def test_an_error_of_the_database_is_one_sentence(url):
    with open_workspace(url) as store, pytest.raises(StoreError, match="refused a statement"), \
            store.transaction() as connection:
        connection.execute("SELECT 1 / 0")


def test_a_server_that_is_not_there_is_one_sentence():
    with pytest.raises(StoreError):
        open_workspace("postgresql://127.0.0.1:1/db/work")


def test_a_password_is_in_no_text_that_is_shown():
    place = place_of("postgresql://ann:secret@host/db/work?password=secret&sslmode=require")
    assert "secret" not in place.written
    assert place.id == place_of("postgresql://bob:other@host/db/work?password=x&sslmode=require").id


def test_connections_that_were_kept_survive_a_restart_of_the_server(url):
    tiny_index(url, [ADA])
    run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
             "WHERE pid <> pg_backend_pid() AND application_name = 'qafd'")
    with open_workspace(url) as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]


# --- several processes -------------------------------------------------------------------------

def work_or_leave(url):
    try:
        tiny_work(url)
    except BusyError:
        time.sleep(0.2)
        work_or_leave(url)


def test_two_workers_read_one_queue_and_nothing_twice(url, tmp_path):
    files = [(f"{i}.txt", f"Ada met Person{i}. Bob left Town{i}.".encode()) for i in range(5)]
    with open_workspace(url) as store:
        for file in files:
            jobs.enqueue(store, [file])
        workers = [started(work_or_leave, url) for _ in range(2)]
        for worker in workers:
            worker.join()
        assert {job.state for job in store.queue.latest()} == {"done"}
        assert {file.status for file in store.files.all()} == {"done"}
        assert (store.log.count(), store.log.count_assembled()) == (5, 5)
        assert store.graph.digest() == tiny_index(tmp_path / "other.db", files)


def test_a_workspace_is_gone_when_it_was_removed(url):
    tiny_index(url, [ADA])
    with open_workspace(url) as store:
        remove_workspace(url)
        with pytest.raises(StoreError):
            store.files.all()
    assert size_of(url) is None
