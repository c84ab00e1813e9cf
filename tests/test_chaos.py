"""Whatever kills the indexing, and wherever, the graph is that of an undisturbed run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from kills import kill_often, log_of, sound, story
from servers import postgres_url
from tiny import TinyEmbedder, TinyExtractor, killed, started, tiny_engine, tiny_index

from qafd.errors import BusyError
from qafd.ingest import extend, jobs
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import chunk
from qafd.records import Document
from qafd.retrieve.base import Work
from qafd.storage import open_workspace, place_of

pytestmark = pytest.mark.chaos


def test_a_crash_before_or_after_any_commit_leaves_no_trace(tmp_path):
    records = [{"id": str(i), "title": name, "text": story(i, 4).decode()}
               for i, name in enumerate(("Ada", "Bob", "Cyd"))]
    files = [("three.jsonl", "\n".join(map(json.dumps, records)).encode())]
    expected = tiny_index(tmp_path / "undisturbed.db", files)
    expected_log = log_of(tmp_path / "undisturbed.db")
    passages = len(expected_log)
    assert passages >= 12
    for k in range(1, 1000):
        path = tmp_path / f"{k}.db"
        crashing = started(tiny_index, path, files, crash_at=k)
        crashing.join()
        if crashing.exitcode == 0:
            break
        assert crashing.exitcode == 70
        assert sound(path)
        assert tiny_index(path, files) == expected
        assert log_of(path) == expected_log
        path.unlink()
    # two points for each commit: passages of every document, and the file's four steps
    assert k > 2 * (len(records) + 4)


@pytest.mark.parametrize(("backend", "kills"), [("sqlite", 20), ("postgresql", 5)])
def test_killed_at_random_moments_the_indexing_resumes_to_the_same_graph(tmp_path, backend, kills):
    url_of = postgres_url if backend == "postgresql" else lambda name: place_of(tmp_path / f"{name}.db").url
    found = kill_often(kills, url_of)
    assert found.kills >= kills
    assert (found.damaged, found.wrong_digests, found.wrong_logs, found.unfinished) == (0, 0, 0, 0)


def passages_of(name, content):
    data = story(content, 1 + content % 2)
    return Document(name, f"Title {content % 2}", "txt", data.decode()), data


def put(store, name, content):
    """What indexing does with a text file, without the child process that parses it."""
    document, data = passages_of(name, content)
    store.files.add(name, data)
    if store.files.claim(name) is not None:
        store.documents.put(name, [(document, chunk(document))])


@cache
def digest_of(documents, folder):
    path = folder / f"{abs(hash(documents))}.db"
    with open_workspace(path) as store:
        for name, content in sorted(documents):
            put(store, name, content)
        extend(store, [name for name, _ in sorted(documents)], tiny_engine())
        return seen(store)


def seen(store):
    return (store.graph.digest(), store.passages.search("Ada Bob0 Title", 50), store.log.read().chunks)


class Workspace(RuleBasedStateMachine):
    """Adds, replaces, deletes, restores and purges; the graph forgets how it came about."""

    folder: Path
    name = st.sampled_from(["a.txt", "b.txt", "c.txt"])
    count = 0

    @initialize()
    def new(self):
        Workspace.count += 1
        self.store = open_workspace(self.folder / f"machine{Workspace.count}.db")
        self.engine = tiny_engine()
        self.live: dict[str, int] = {}
        self.deleted: dict[str, int] = {}

    @rule(name=name, content=st.integers(0, 3))
    def add(self, name, content):
        put(self.store, name, content)
        self.deleted.pop(name, None)
        self.live[name] = content

    @rule(name=name)
    def delete(self, name):
        if name in self.live:
            self.store.documents.delete(name)
            self.deleted[name] = self.live.pop(name)

    @rule(name=name)
    def undo(self, name):
        if name in self.deleted:
            self.store.documents.undo(name)
            self.live[name] = self.deleted.pop(name)

    @rule(name=name)
    def purge(self, name):
        if name in self.live or name in self.deleted:
            self.store.documents.purge(name)
            self.live.pop(name, None)
            self.deleted.pop(name, None)

    @rule(some=st.integers(0, 3))
    def read(self, some):
        """Index only the first few files; the others wait."""
        extend(self.store, sorted(self.live)[:some], self.engine)

    @rule()
    def assemble(self):
        extend(self.store, sorted(self.live), self.engine)
        assert seen(self.store) == digest_of(frozenset(self.live.items()), self.folder)

    @invariant()
    def the_file_is_sound(self):
        with self.store.snapshot() as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []

    def teardown(self):
        self.assemble()
        self.store.close()


def test_any_history_of_documents_gives_the_graph_of_those_that_are_left(tmp_path):
    Workspace.folder = tmp_path
    Workspace.TestCase.settings = settings(
        max_examples=300, stateful_step_count=8, deadline=None, derandomize=True)
    Workspace.TestCase("runTest").runTest()
    assert Workspace.count >= 300  # each ended in `assemble`, which asserts that it is as if new


def write_much(path, rounds, whole=False):
    """Write file after file; `whole` has the log and the graph of each version in one commit."""
    with open_workspace(path) as store:
        engine = tiny_engine()
        for i in range(rounds):
            with store.transaction() if whole else nullcontext():
                put(store, f"{i % 7}.txt", i)
                extend(store, [f"{i % 7}.txt"], engine)


def test_every_backup_taken_while_another_process_writes_is_whole(tmp_path):
    path = tmp_path / "busy.db"
    write_much(path, 7)
    writer = started(write_much, path, 100_000)
    try:
        with open_workspace(path) as store:
            revisions = []
            for i in range(10):
                before = store.graph.revision
                while store.graph.revision == before:
                    assert writer.is_alive()
                store.backup(tmp_path / f"copy{i}.db")
                with open_workspace(tmp_path / f"copy{i}.db") as copy:
                    revisions.append(copy.graph.revision)
                    assert revisions[-1] > before
                    if not copy.graph.stale:
                        copied = copy.graph.digest()
                        copy.assembly.drop()
                        extend(copy, [], tiny_engine())
                        assert copy.graph.digest() == copied
                assert sound(tmp_path / f"copy{i}.db")
    finally:
        killed(writer)
    assert sorted(set(revisions)) == revisions


def ask(path, times, found):
    """Ask the same again and again; writes down what was seen of which version of the graph."""
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    with found.open("w", encoding="utf-8") as lines:
        for _ in range(times):
            seen = knowledge.retrieve("Whom did Ada meet?", "qafd", mass=5)
            assert len(seen.passages) == len(seen.ranking)
            timeless = replace(seen, work=Work())
            lines.write(json.dumps([seen.made_by.workspace, repr(timeless)]) + "\n")


def test_a_thousand_questions_beside_a_writer_each_see_one_version(tmp_path):
    path = tmp_path / "busy.db"
    write_much(path, 7, whole=True)
    writer = started(write_much, path, 100_000, True)
    try:
        readers = [started(ask, path, 250, tmp_path / f"{i}.jsonl") for i in range(4)]
        for reader in readers:
            reader.join()
            assert reader.exitcode == 0
        assert writer.is_alive()
    finally:
        killed(writer)
    seen = {}
    reads = 0
    for file in sorted(tmp_path.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            version, body = json.loads(line)
            assert seen.setdefault(version, body) == body
            reads += 1
    assert reads == 1000
    assert len(seen) > 20


class Tallying(TinyExtractor):
    """Writes down each passage that it reads; where, the environment says."""

    def extract_all(self, chunks):
        for found in super().extract_all(chunks):
            with Path(os.environ["QAFD_TALLY"]).open("a", encoding="utf-8") as tally:
                tally.write(f"{found.chunk}\n")
            yield found


def visit(path, tally, first, sessions):
    """What so many sessions of the Documents page do at once: upload, look, start a worker."""
    os.environ["QAFD_TALLY"] = str(tally)

    def upload(session):
        with open_workspace(path) as store:
            jobs.enqueue(store, [(f"{session}.txt", f"Ada{session} met Bob{session}.".encode())])
        for _ in range(3):  # the page looks again and again
            with open_workspace(path) as store:
                asked = jobs.needs_worker(store)
            if asked:
                with suppress(BusyError):  # as a second worker process ends by itself
                    jobs.work(path, extractor=Tallying, embedder=TinyEmbedder, processes=1)

    with ThreadPoolExecutor(sessions) as pool:
        list(pool.map(upload, range(first, first + sessions)))


def test_of_what_fifty_sessions_start_at_once_nothing_is_done_twice_or_left(tmp_path):
    path, tally = tmp_path / "shared.db", tmp_path / "tally"
    visitors = [started(visit, path, tally, first, 5) for first in range(0, 50, 5)]
    for visitor in visitors:
        visitor.join()
        assert visitor.exitcode == 0
    with open_workspace(path) as store:
        assert not jobs.needs_worker(store)
        assert [file.status for file in store.files.all()] == ["done"] * 50
        done = store.queue.latest(100)
        assert [job.state for job in done] == ["done"] * len(done)
        digest = store.graph.digest()
        passages = sorted(chunk.id for chunk in store.log.read().chunks)
    assert sorted(tally.read_text("utf-8").split()) == passages
    assert digest == tiny_index(tmp_path / "alone.db", [
        (f"{session}.txt", f"Ada{session} met Bob{session}.".encode()) for session in range(50)])


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_ctrl_c_in_a_terminal_at_any_moment_blames_no_file_and_ends_as_interrupted(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.md").write_bytes(story(i, 30))
    command = [sys.executable, "-m", "qafd", "index", "--db"]
    files = [str(tmp_path / f"{i}.md") for i in range(3)]
    disturbed, rng = tmp_path / "disturbed.db", random.Random(7)
    for _ in range(3):
        run = subprocess.Popen([*command, str(disturbed), *files], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True, start_new_session=True)
        time.sleep(rng.uniform(2, 8))
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGINT)
        said = run.communicate(timeout=100)[1]
        assert run.returncode in (0, 130), said
        assert "Traceback" not in said
        if disturbed.exists():
            with open_workspace(disturbed) as store:
                assert not [file.error for file in store.files.all() if file.error]
    for path in (disturbed, tmp_path / "calm.db"):
        subprocess.run([*command, str(path), *files], check=True, capture_output=True)
    with open_workspace(disturbed) as one, open_workspace(tmp_path / "calm.db") as other:
        assert one.graph.digest() == other.graph.digest()
