"""A Dask cluster reads what one process reads, whatever happens to its workers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import TinyEmbedder, TinyExtractor, tiny_index

from qafd.errors import ParameterError
from qafd.ingest import index
from qafd.ingest.engine import parse_engine
from qafd.storage import open_workspace

MANY = [(f"{i}.txt", f"Name{i} met Name{i + 1}. Name{i} met Bob.".encode()) for i in range(60)]
ROOT = Path(__file__).parents[1]


def start(kind, *arguments):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments],
                            env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE,
                            text=True)


@pytest.fixture
def address():
    """A scheduler on a free port, without workers."""
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    assert scheduler.stderr is not None
    with scheduler:
        for line in scheduler.stderr:
            if "Scheduler at:" in line:
                yield "dask://" + line.split("tcp://")[1].strip()
                break
        scheduler.kill()


@pytest.fixture
def workers(address):
    found = [start("worker", address.replace("dask", "tcp"), "--nthreads", "1", "--no-nanny",
                   "--no-dashboard") for _ in range(2)]
    yield found
    for worker in found:
        worker.kill()
        worker.communicate()


def read(path, address, extractor=TinyExtractor):
    index(path, MANY, extractor=extractor, embedder=TinyEmbedder, processes=address)
    with open_workspace(path) as store:
        return store.graph.digest()


class Fatal(TinyExtractor):
    """Kills the first worker that comes to a certain passage, and no other."""

    def extract_all(self, chunks):
        if any("Name30" in chunk.text for chunk in chunks):
            mark = Path(os.environ["QAFD_TEST_MARK"])
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().extract_all(chunks)


def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path, monkeypatch, request):
    monkeypatch.setenv("QAFD_TEST_MARK", str(tmp_path / "mark"))
    address = request.getfixturevalue("address")
    workers = request.getfixturevalue("workers")
    digest = read(tmp_path / "a.db", address, Fatal)
    assert (tmp_path / "mark").exists()
    assert [worker.poll() for worker in workers].count(-signal.SIGKILL) == 1
    assert digest == tiny_index(tmp_path / "b.db", MANY)


def test_an_address_without_a_scheduler_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("qafd.ingest.engine.CONNECT_SECONDS", 1)
    with pytest.raises(ParameterError):
        read(tmp_path / "a.db", "dask://127.0.0.1:1")


@pytest.mark.parametrize("text", ["", "0", "65", "-1", "http://a", "two"])
def test_what_is_no_engine_is_refused(text):
    with pytest.raises(ParameterError):
        parse_engine(text)
