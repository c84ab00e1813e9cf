"""Vectors computed anew, as a job that is cut off, cancelled and taken up again."""

import pytest
from tiny import TinyEmbedder, TinyExtractor

from qafd import ingest as index
from qafd.ingest.jobs import cancel, enqueue, resume, work
from qafd.storage import open_workspace

PASSAGES, BATCH = 20, 4


class Killed(BaseException):
    """What ends a process without giving it time."""


class Counting(TinyEmbedder):
    """Counts the vectors that it computes; `before` is called ahead of each one."""

    def __init__(self, before=lambda _: None):
        super().__init__()
        self.count, self.before = 0, before

    def _draw(self, text):
        self.before(self.count)
        self.count += 1
        return super()._draw(text)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr("qafd.ingest.update.VECTORS", BATCH)
    place = tmp_path / "anew.db"
    index.index(place, [(f"{i}.txt", f"Ada{i} met Bob{i} in Rome{i}.".encode())
                        for i in range(PASSAGES)],
                extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)
    return place


def forget(path):
    with open_workspace(path) as store, store.transaction():
        store.vectors.forget()
        store.assembly.drop()
        return enqueue(store)


def run(path, embedder):
    work(path, extractor=TinyExtractor, embedder=lambda: embedder, processes=1)


@pytest.fixture
def vectors(path):
    """How many an undisturbed job computes."""
    forget(path)
    embedder = Counting()
    run(path, embedder)
    return embedder.count


@pytest.mark.parametrize("at", [0, 3, 9, 25, 60])
def test_a_kill_repeats_at_most_one_batch(at, path, vectors):
    def die(count):
        if count == at:
            raise Killed

    with open_workspace(path) as store:
        before = store.graph.digest()
    forget(path)
    first, second = Counting(die), Counting()
    with pytest.raises(Killed):
        run(path, first)
    run(path, second)
    # a passage of one sentence has two vectors
    assert 0 <= first.count + second.count - vectors <= 2 * BATCH
    with open_workspace(path) as store:
        assert store.graph.digest() == before


def test_a_cancelled_job_keeps_its_vectors_and_goes_on(path, vectors):
    job = forget(path)

    def stop(count):
        if count == 9:
            with open_workspace(path) as other:
                cancel(other, job)

    first, second = Counting(stop), Counting()
    run(path, first)
    with open_workspace(path) as store:
        assert store.queue.latest()[0].state == "cancelled"
        assert store.graph.stale
        assert store.graph.read().ids == ()
        resume(store, job)
    assert first.count == 4 * BATCH  # the second batch of passages was under way
    run(path, second)
    assert first.count + second.count == vectors
    with open_workspace(path) as store:
        assert [job.state for job in store.queue.latest()[:2]] == ["done", "cancelled"]
        assert not store.graph.stale
