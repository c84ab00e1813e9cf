import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from tiny import TinyEmbedder, TinyExtractor, started, tiny_index, tiny_work

from qafd.errors import BusyError
from qafd.ingest import jobs
from qafd.ingest.reader import ModelChoice, choose
from qafd.retrieve.layers import states
from qafd.storage import open_workspace

FILES = [("ada.txt", b"Ada met Bob."), ("bob.txt", b"Bob met Cyd."), ("cyd.txt", b"Cyd met Ada.")]


@pytest.fixture
def store(path):
    with open_workspace(path) as opened:
        yield opened


def until(true, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def test_a_worker_does_all_waiting_jobs_and_returns(store, path, tmp_path):
    jobs.enqueue(store, FILES[:2])
    jobs.enqueue(store, FILES[2:])
    tiny_work(path)
    assert [job.state for job in store.queue.latest()] == ["done", "done"]
    assert store.graph.digest() == tiny_index(tmp_path / "other.db", FILES)
    assert not store.graph.stale
    assert store.lease.writer is None


def test_layers_that_will_be_asked_for_are_built_in_a_job_of_their_own(store, path):
    jobs.enqueue(store, FILES)
    jobs.work(path, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1, ahead=["sentences"])
    built, read = store.queue.latest()
    assert (store.queue.layers(read.id), store.queue.layers(built.id)) == (set(), {"sentences"})
    assert [job.state for job in (read, built)] == ["done", "done"]
    assert {layer.name for layer in states(store) if layer.state == "built"} == {"sentences"}
    jobs.work(path, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1, ahead=["sentences"])
    assert len(store.queue.latest()) == 2


def test_nothing_is_built_ahead_with_an_embedding_model_that_may_cost_money(store, path):
    jobs.enqueue(store, FILES)
    tiny_work(path)
    choose(store, ModelChoice(embedder="priced", embedder_url="http://127.0.0.1:9/v1"))
    jobs.work(path, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1, ahead=["sentences"])
    assert len(store.queue.latest()) == 1


def test_one_waiting_job_brings_the_graph_up_to_date_after_several_deletions(store, path):
    jobs.enqueue(store, FILES)
    tiny_work(path)
    for name, _ in FILES[:2]:
        store.documents.delete(name)
        jobs.enqueue(store)
    (update,) = store.queue.open()
    assert jobs.enqueue(store, [("new.txt", b"Ada wrote.")]) != update.id
    assert jobs.enqueue(store, layers=["sentences"]) != update.id
    tiny_work(path)
    assert not store.graph.stale


def test_an_upload_is_stored_whole_or_not_at_all(store):
    with pytest.raises(ValueError, match="cannot be the name of a file"):
        jobs.enqueue(store, [*FILES, ("\0", b"x")])
    assert store.files.all() == ()
    assert store.queue.latest() == ()


def test_a_file_that_cannot_be_read_harms_no_other(store, path):
    jobs.enqueue(store, [FILES[0], ("empty.txt", b""), ("broken.pdf", b"%PDF-1.4 broken"),
                         ("blank.txt", b" \n "), FILES[1]])
    tiny_work(path)
    assert [file.status for file in store.files.all()] == [
        "done", "failed", "failed", "failed", "done"]
    assert all(file.error.endswith(".") for file in store.files.all() if file.status == "failed")
    (job,) = store.queue.latest()
    assert (job.state, job.error) == ("done", "3 of its files could not be read.")


def test_a_job_that_has_not_begun_is_cancelled_at_once(store, path):
    job = jobs.enqueue(store, FILES)
    jobs.cancel(store, job)
    assert [file.status for file in store.files.all()] == ["cancelled"] * 3
    tiny_work(path)
    assert store.queue.latest()[0].state == "cancelled"
    assert len(store.graph.read()) == 0


def test_a_running_job_stops_between_passages_and_can_go_on_later(store, path, tmp_path):
    class Cancelling(TinyExtractor):
        """Has the job cancelled while the second file is read."""

        def extract_all(self, chunks):
            if "Cyd" in chunks[0].text:
                with open_workspace(path) as page:
                    jobs.cancel(page, 1)
            return super().extract_all(chunks)

    jobs.enqueue(store, FILES)
    jobs.work(path, extractor=Cancelling, embedder=TinyEmbedder, processes=1)
    assert [file.status for file in store.files.all()] == ["done", "cancelled", "cancelled"]
    assert store.queue.latest()[0].state == "cancelled"
    # what was read before is in the graph already
    assert store.graph.digest() == tiny_index(tmp_path / "one.db", FILES[:1])
    jobs.retry(store, [file.name for file in store.files.all()])
    tiny_work(path)
    assert store.graph.digest() == tiny_index(tmp_path / "all.db", FILES)


def test_a_second_worker_leaves_the_work_to_the_first(store, path):
    with open_workspace(path) as first, first.lease.hold():
        jobs.enqueue(store, FILES)
        assert not jobs.needs_worker(store)
        with pytest.raises(BusyError, match="is indexing this workspace"):
            tiny_work(path)
    assert jobs.needs_worker(store)


def test_another_embedding_model_fails_the_job_with_the_remedy(store, path):
    tiny_index(path, FILES[:1])
    jobs.enqueue(store, FILES[1:])
    jobs.work(path, extractor=TinyExtractor, embedder=lambda: TinyEmbedder("other"), processes=1)
    assert store.queue.latest()[0].state == "failed"
    assert "indexed with tiny" in store.queue.latest()[0].error


def small_work(path, pages):
    """Work on a disk that is full after so many pages."""
    connect = sqlite3.connect

    class Small(sqlite3.Connection):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.execute(f"PRAGMA max_page_count = {pages}")

    sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": Small})  # type: ignore
    tiny_work(path)


@pytest.mark.parametrize("more", [1, 4, 9, 15, 24])
def test_a_full_disk_pauses_the_job_and_space_lets_it_go_on(store, path, tmp_path, more):
    tiny_index(path, FILES[:1])
    text = " ".join(f"Name{i} met Name{i + 1}." for i in range(300)).encode()
    job = jobs.enqueue(store, [*FILES[1:], ("long.txt", text)])
    with store.snapshot() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    worker = started(small_work, path, pages + more)
    worker.join()
    assert worker.exitcode == 0
    (paused,) = (each for each in store.queue.latest() if each.id == job)
    assert paused.state == "paused"
    assert "disk is full" in paused.error
    assert not jobs.needs_worker(store)
    assert {"Ada", "Bob"} <= set(store.graph.read().names)
    with store.snapshot() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    tiny_work(path)
    assert store.queue.latest()[0].state == "done"
    assert store.graph.digest() == tiny_index(tmp_path / "other.db", [*FILES, ("long.txt", text)])


def test_a_job_that_kills_its_worker_again_and_again_is_given_up(store, path):
    jobs.enqueue(store, FILES)
    for _ in range(jobs.STARTS):
        worker = started(tiny_work, path, crash_at=4)
        worker.join()
        assert jobs.needs_worker(store)
    tiny_work(path)
    (job,) = store.queue.latest()
    assert job.state == "failed"
    assert "died 5 times" in job.error
    assert f"{path}.log" in job.error


def test_no_error_that_ends_a_worker_has_a_key_in_it():
    code = ("import threading\nfrom qafd.ingest import jobs\n"
            "jobs.hide(['sk-CANARY', ''])\n"
            "def fail(): raise ValueError('asked with sk-CANARY')\n"
            "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
            "fail()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("ValueError: asked with ***") == 2
    assert "CANARY" not in done.stderr


def test_a_worker_that_dies_often_but_gets_further_each_time_is_not_given_up(store, path):
    jobs.enqueue(store, [(f"{i}.txt", f"Ada met Bob{i}.".encode()) for i in range(12)])
    deaths = 0
    while jobs.needs_worker(store):
        worker = started(tiny_work, path, crash_at=20)
        worker.join()
        deaths += worker.exitcode == 70
    assert deaths > jobs.STARTS
    assert store.queue.latest()[0].state == "done"
    assert [file.status for file in store.files.all()] == ["done"] * 12


@pytest.mark.chaos
def test_a_disk_without_a_byte_left_pauses_the_job_and_can_be_read(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True)
    if not made or made.returncode:
        pytest.skip("only root can make a small disk")
    path = disk / "work.db"
    text = " ".join(f"Name{i} met Name{i + 1}." for i in range(900)).encode()
    try:
        tiny_index(path, FILES)
        with open_workspace(path) as store:
            jobs.enqueue(store, [("long.txt", text)])
        pauses = 0
        for left in range(100_000, 8_000_000, 37_000):
            free = shutil.disk_usage(disk).free
            (disk / "ballast").write_bytes(bytes(max(0, free - left)))
            worker = started(tiny_work, path)
            worker.join()
            assert worker.exitcode == 0
            with open_workspace(path, read_only=True) as store:
                (state,) = {job.state for job in store.queue.latest()}
                assert "Ada" in store.graph.read().names
            (disk / "ballast").unlink()
            if state == "done":
                break
            assert state == "paused"
            pauses += 1
        assert pauses > 5
        with open_workspace(path) as store:
            assert store.graph.digest() == tiny_index(tmp_path / "o.db", [*FILES, ("long.txt", text)])
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.chaos
def test_the_real_worker_survives_its_starter_and_resumes_after_being_killed(path, tmp_path):
    files = [(f"{i}.txt", f"Ada Lovelace met Charles Babbage in London in 18{i}. The Analytical "
              f"Engine of {i} wheels was built by Joseph Clement.".encode()) for i in range(30, 60)]
    with open_workspace(path) as store:
        jobs.enqueue(store, files)
        # the starter, like a server, is gone at once
        subprocess.run([sys.executable, "-c", "import sys; from qafd.ingest.jobs import start_worker; "
                        "start_worker(sys.argv[1])", str(path)], check=True)
        until(lambda: any(file.extracted for file in store.files.all()))
        worker = store.lease.writer
        assert worker is not None
        os.kill(worker, signal.SIGKILL)
        until(lambda: jobs.needs_worker(store))
        jobs.start_worker(path)
        until(lambda: store.queue.latest()[0].state == "done", 60)
        until(lambda: store.lease.writer is None)
        resumed = store.graph.digest()
    with open_workspace(tmp_path / "other.db") as other:
        jobs.enqueue(other, files)
        jobs.work(tmp_path / "other.db", processes=1)
        assert other.graph.digest() == resumed
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
