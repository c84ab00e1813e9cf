"""Whatever kills the indexing, and wherever, the graph is that of an undisturbed run."""

import json
import random
import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tiny import TinyEmbedder, TinyExtractor, killed, started, tiny_engine, tiny_index

from qafd.ingest import extend, index
from qafd.reading.text import chunk
from qafd.records import Document
from qafd.storage import Workspace, open_workspace
from qafd.storage.sqlite import opening, schema, tables

NAMES = ("Ada", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal")


def story(seed: int, passages: int) -> bytes:
    """A text of some passages, about 200 words each."""
    rng = random.Random(seed)
    return "\n\n".join(
        " ".join(f"{rng.choice(NAMES)} met {rng.choice(NAMES)} in {rng.choice(NAMES)}{i}."
                 for _ in range(40)) for i in range(passages)).encode()


def sound(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as plain:
        return (plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                and plain.execute("PRAGMA foreign_key_check").fetchall() == [])


def log_of(path: Path) -> list[tuple[str, ...]]:
    with open_workspace(path) as store:
        log = store.log.read()
    return [(c.id, c.text, repr(e)) for c, e in zip(log.chunks, log.extractions, strict=True)]


@pytest.mark.chaos
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
    # two points for each commit: every passage, and the file's four steps
    assert k > 2 * (passages + 4)


def slow_index(path: Path, files: list[tuple[str, bytes]]) -> None:
    class Slow(TinyExtractor):
        def extract_all(self, chunks):
            for found in super().extract_all(chunks):
                time.sleep(0.002)
                yield found

    index(path, files, extractor=Slow, embedder=TinyEmbedder, processes=1)


@pytest.mark.chaos
def test_killed_at_random_moments_the_indexing_resumes_to_the_same_graph(tmp_path):
    records = [{"id": str(i), "title": name, "text": story(i, 5).decode()}
               for i, name in enumerate(NAMES)]
    files = [("eight.jsonl", "\n".join(map(json.dumps, records)).encode()), ("a.txt", story(9, 4))]
    started(slow_index, tmp_path / "first.db", files).join()  # loads what all the others share
    begin = time.monotonic()
    started(slow_index, tmp_path / "second.db", files).join()
    whole = time.monotonic() - begin
    expected = tiny_index(tmp_path / "undisturbed.db", files)
    expected_log = log_of(tmp_path / "undisturbed.db")
    rng = random.Random(20)
    kills = runs = 0
    while kills < 20:
        runs += 1
        path = tmp_path / f"{runs}.db"
        while True:
            process = started(slow_index, path, files)
            process.join(rng.uniform(0.1, 1) * whole)
            if process.exitcode == 0:
                break
            killed(process)
            kills += 1
            if path.exists():
                assert sound(path)
        with open_workspace(path) as store:
            assert store.graph.digest() == expected
            assert [file.status for file in store.files.all()] == ["done"] * 2
        assert log_of(path) == expected_log


def passages_of(name: str, content: int) -> tuple[Document, bytes]:
    data = story(content, 1 + content % 2)
    return Document(name, f"Title {content % 2}", "txt", data.decode()), data


def put(store: Workspace, name: str, content: int) -> None:
    """What indexing does with a text file, without the child process that parses it."""
    document, data = passages_of(name, content)
    store.files.add(name, data)
    if store.files.begin(name) is not None:
        store.documents.put(name, [(document, chunk(document))])


@cache
def digest_of(documents: frozenset[tuple[str, int]], folder: Path) -> tuple[object, ...]:
    path = folder / f"{abs(hash(documents))}.db"
    with open_workspace(path) as store:
        for name, content in sorted(documents):
            put(store, name, content)
        extend(store, [name for name, _ in sorted(documents)], tiny_engine())
        return seen(store)


def seen(store: Workspace) -> tuple[object, ...]:
    return (store.graph.digest(), store.passages.search("Ada Bob0 Title", 50), store.log.read().chunks)


class Workspace(RuleBasedStateMachine):
    """Adds, replaces, deletes, restores and purges; the graph forgets how it came about."""

    folder: Path
    name = st.sampled_from(["a.txt", "b.txt", "c.txt"])
    count = 0

    @initialize()
    def new(self) -> None:
        Workspace.count += 1
        self.store = open_workspace(self.folder / f"machine{Workspace.count}.db")
        self.engine = tiny_engine()
        self.live: dict[str, int] = {}
        self.deleted: dict[str, int] = {}

    @rule(name=name, content=st.integers(0, 3))
    def add(self, name: str, content: int) -> None:
        put(self.store, name, content)
        self.deleted.pop(name, None)
        self.live[name] = content

    @rule(name=name)
    def delete(self, name: str) -> None:
        if name in self.live:
            self.store.documents.delete(name)
            self.deleted[name] = self.live.pop(name)

    @rule(name=name)
    def undo(self, name: str) -> None:
        if name in self.deleted:
            self.store.documents.undo(name)
            self.live[name] = self.deleted.pop(name)

    @rule(name=name)
    def purge(self, name: str) -> None:
        if name in self.live or name in self.deleted:
            self.store.documents.purge(name)
            self.live.pop(name, None)
            self.deleted.pop(name, None)

    @rule(some=st.integers(0, 3))
    def read(self, some: int) -> None:
        """Index only the first few files; the others wait."""
        extend(self.store, sorted(self.live)[:some], self.engine)

    @rule()
    def assemble(self) -> None:
        extend(self.store, sorted(self.live), self.engine)
        assert seen(self.store) == digest_of(frozenset(self.live.items()), self.folder)

    @invariant()
    def the_file_is_sound(self) -> None:
        with self.store.snapshot() as connection:
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []

    def teardown(self) -> None:
        self.assemble()
        self.store.close()


@pytest.mark.chaos
def test_any_history_of_documents_gives_the_graph_of_those_that_are_left(tmp_path):
    Workspace.folder = tmp_path
    Workspace.TestCase.settings = settings(
        max_examples=300, stateful_step_count=8, deadline=None, derandomize=True)
    Workspace.TestCase("runTest").runTest()
    assert Workspace.count >= 300  # each ended in `assemble`, which asserts that it is as if new


def write_much(path: Path, rounds: int) -> None:
    with open_workspace(path) as store:
        engine = tiny_engine()
        for i in range(rounds):
            put(store, f"{i % 7}.txt", i)
            extend(store, [f"{i % 7}.txt"], engine)


@pytest.mark.chaos
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
                        extend(copy, [], tiny_engine())
                        assert copy.graph.digest() == copied
                assert sound(tmp_path / f"copy{i}.db")
    finally:
        killed(writer)
    assert sorted(set(revisions)) == revisions


@pytest.mark.chaos
def test_every_read_during_indexing_sees_one_version_of_the_graph(tmp_path):
    path = tmp_path / "busy.db"
    write_much(path, 7)
    writer = started(write_much, path, 100_000)
    versions: dict[int, tuple[object, ...]] = {}
    try:
        with open_workspace(path) as store:
            while len(versions) < 8:
                assert writer.is_alive()
                with store.snapshot():
                    graph = store.graph.read()
                    keys = [node.key for node in store.graph.nodes(graph.ids).values()
                            if node.kind == "passage"]
                    found = set(store.passages.get(keys))
                    hits = {hit.chunk.id for name in NAMES
                            for hit in store.passages.search(name, 1000).hits}
                assert found == set(keys)
                assert hits == found
                same = (graph.ids, graph.neighbors.tobytes(), graph.vectors.tobytes())
                assert versions.setdefault(graph.revision, same) == same
    finally:
        killed(writer)


def add_color(db) -> None:
    db.execute("ALTER TABLE files ADD COLUMN color TEXT")
    db.execute("UPDATE files SET color = 'red'")


def add_shape(db) -> None:
    db.execute("CREATE TABLE shapes (name TEXT)")
    db.execute("INSERT INTO shapes SELECT name FROM files")


def upgrade(path: Path) -> None:
    with closing(opening.connect(path)) as connection:
        schema.migrate(connection, path, (*tables.STEPS, add_color, add_shape))


@pytest.mark.chaos
def test_a_migration_killed_at_any_moment_is_whole_or_has_not_begun(tmp_path):
    original = tmp_path / "old.db"
    digest = tiny_index(original, [("a.txt", story(1, 40))])
    rng = random.Random(10)
    outcomes = []
    for i in range(20):
        path = tmp_path / f"{i}.db"
        path.write_bytes(original.read_bytes())
        process = started(upgrade, path, crash_at=i + 1 if i < 2 else 0)
        process.join(None if i < 2 else rng.uniform(0, 0.15))
        killed(process)
        assert sound(path)
        with closing(sqlite3.connect(path)) as plain:
            (version,) = plain.execute("PRAGMA user_version").fetchone()
            there = {row[0] for row in plain.execute("SELECT name FROM sqlite_master")}
        outcomes.append(version)
        assert version - len(tables.STEPS) in (0, 2)
        assert ("shapes" in there) == (version > len(tables.STEPS))
        upgrade(path)
        with closing(sqlite3.connect(path)) as plain:
            assert plain.execute("SELECT name, color FROM files").fetchall() == [("a.txt", "red")]
        backup = path.with_name(f"{path.name}.schema{len(tables.STEPS)}.backup")
        with open_workspace(backup) as kept:
            assert kept.graph.digest() == digest
    assert len(set(outcomes)) == 2
