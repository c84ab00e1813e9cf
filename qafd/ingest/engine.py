"""Engines that read passages: this process, several with models of their own, or a Dask cluster."""

import multiprocessing
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, cast

import numpy as np

from qafd.assemble.entities import read
from qafd.errors import ModelError, ParameterError
from qafd.models.embedder import Embedder, PassageEmbedder
from qafd.records import Chunk, Extraction, Vectors
from qafd.sandbox import deaf_to_interrupts

if TYPE_CHECKING:
    from distributed import Client

Batch = tuple[str, Sequence[Chunk]]
"""A file's name and some of its passages."""


class BatchExtractor(Protocol):
    """Chunks to extractions, in order; `name` is written into the log."""

    name: str

    def extract_all(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        """One extraction per chunk."""
        ...


Makers = tuple[Callable[[], BatchExtractor], Callable[[], PassageEmbedder]]
_one_at_a_time = threading.Lock()  # of a worker: the models are made once and belong to one thread


class Models(NamedTuple):
    """Names of the models, stamped into the workspace."""

    extractor: str
    embedder: str
    dimension: int


class Readings(NamedTuple):
    """Results of a batch: extractions and their vectors.

    `vectors[i]` is (1 + s, d): the passage of `extractions[i]` and its s sentences. From a language
    model also `doubts[i]`, "" or why an extraction is not what it should be, and why each of the
    passages `failed` that are missing.
    """

    extractions: tuple[Extraction, ...]
    vectors: tuple[Vectors, ...]
    doubts: tuple[str, ...] = ()
    failed: tuple[ModelError, ...] = ()


class Engine(Protocol):
    """Reads passages and embeds names; `models` says with what."""

    models: Models

    def read_all(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Readings]]:
        """Every batch with its readings, in order; takes batches when it has room for them."""
        ...

    def reread(self, pairs: Sequence[tuple[Chunk, Extraction]]) -> list[Vectors]:
        """The vectors of passages whose extraction is known, each (1 + s, d)."""
        ...

    def embed(self, names: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d)."""
        ...


class Here:
    """Reads in this process; names get their vectors when the graph is assembled."""

    def __init__(self, extractor: BatchExtractor, embedder: Embedder) -> None:
        self.models = Models(extractor.name, embedder.name, embedder.dimension)
        self._extractor, self._embedder = extractor, embedder

    def read_all(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Readings]]:
        """Every batch with its readings, in order."""
        return ((batch, self.read(batch[1])) for batch in batches)

    def read(self, chunks: Sequence[Chunk]) -> Readings:
        """The readings of a batch."""
        extractions = tuple(self._extractor.extract_all(chunks))
        return Readings(extractions, tuple(self.reread(list(zip(chunks, extractions, strict=True)))))

    def reread(self, pairs: Sequence[tuple[Chunk, Extraction]]) -> list[Vectors]:
        """The vectors of passages whose extraction is known, each (1 + s, d)."""
        embedder = cast("PassageEmbedder", self._embedder)
        readings = [read(chunk, extraction, embedder) for chunk, extraction in pairs]
        return [np.concatenate([r.vector[None, :], r.sentences]) for r in readings]

    def embed(self, names: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d)."""
        return self._embedder.embed(names)


class _Process(SpawnProcess):
    """A child that does not run the script again that was started, so none needs a guard."""

    @staticmethod
    def _Popen(process: Any) -> Any:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            with deaf_to_interrupts():
                return SpawnProcess._Popen(process)
        finally:
            sys.modules["__main__"] = script


class _Context(SpawnContext):
    Process = _Process


class Workers(ABC):
    """Reads at several places at once, each with models of its own; use in a `with` block."""

    batch = 32  # passages or names that one of them embeds at a time
    models: Models

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """End the workers; the batches that they were reading are dropped."""

    @abstractmethod
    def _room(self) -> int:
        """Return the number of batches in progress that keeps all busy while the caller assembles."""

    @abstractmethod
    def _submit(self, verb: str, argument: Sequence[Any]) -> Any:
        """Let a worker do a method of its `Here`; the future of what that returns."""

    @abstractmethod
    def _result(self, future: Any) -> Any:
        """Return the result of a future; raises ModelError if its worker died."""

    def read_all(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Readings]]:
        """Every batch with its readings, in order."""
        waiting: deque[tuple[Batch, Any]] = deque()
        try:
            while True:
                for batch in islice(batches, max(0, self._room() - len(waiting))):
                    waiting.append((batch, self._submit("read", batch[1])))
                if not waiting:
                    return
                batch, future = waiting.popleft()
                yield batch, self._result(future)
        finally:
            for _, future in waiting:
                future.cancel()

    def reread(self, pairs: Sequence[tuple[Chunk, Extraction]]) -> list[Vectors]:
        """The vectors of passages whose extraction is known, each (1 + s, d)."""
        found: list[Vectors] = []
        for vectors in self._map("reread", pairs):
            found.extend(vectors)
        return found

    def embed(self, names: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d)."""
        none = np.zeros((0, self.models.dimension), np.float32)
        return np.concatenate([none, *self._map("embed", names)])

    def _map(self, verb: str, items: Sequence[Any]) -> list[Any]:
        futures = [self._submit(verb, items[start:start + self.batch])
                   for start in range(0, len(items), self.batch)]
        return [self._result(future) for future in futures]


class Pool(Workers):
    """Reads in `processes` children.

    Parameters
    ----------
    extractor, embedder : callable
        Make the models, in each child: functions or classes of a module (not of the script that
        is run) without arguments.

    Raises
    ------
    ModelError
        A child cannot make its models, or died; what was logged before stays.
    """

    def __init__(self, extractor: Callable[[], BatchExtractor],
                 embedder: Callable[[], PassageEmbedder], processes: int = 2) -> None:
        self._makers, self._processes = (extractor, embedder), processes
        # Forking a process that runs threads (the lease's pulse, a server) can deadlock.
        self._pool = ProcessPoolExecutor(processes, _Context(), _watch_parent)
        try:
            answers = [self._pool.submit(models_of, self._makers) for _ in range(processes)]
            self.models = self._result(answers[0])
        except BaseException:  # Ctrl-C too: the children would outlive it
            self.close()
            raise

    def close(self) -> None:
        """End the children; what they were reading is dropped."""
        self._pool.shutdown(cancel_futures=True)

    def _room(self) -> int:
        return 5 * self._processes  # four wait for each child

    def _submit(self, verb: str, argument: Sequence[Any]) -> Any:
        with _told_of_deaths():
            return self._pool.submit(work_with, self._makers, verb, argument)

    def _result(self, future: Any) -> Any:
        with _told_of_deaths():
            return future.result()


@contextmanager
def _told_of_deaths() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool:
        raise ModelError(
            "A process that reads passages has died, most likely for want of memory; what "
            "was read before is kept. Free some memory and resume.") from None


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    # A parent that was killed cannot end its children; they would wait for work for good.
    wait([sentinel])
    os._exit(1)


@cache
def _make(makers: Makers) -> Here:
    extractor, embedder = makers
    return Here(extractor(), embedder())


def models_of(makers: Makers) -> Models:
    """Make the models of a worker and return their names."""
    with _one_at_a_time:
        return _make(makers).models


def work_with(makers: Makers, verb: str, argument: Sequence[Any]) -> Any:
    """Do a method of `Here` in a worker."""
    with _one_at_a_time:
        return getattr(_make(makers), verb)(argument)


@dataclass(frozen=True)
class Progress:
    """Progress of indexing.

    `stage` is "parsing" (of `total` files), "extracting" (of `total` passages known so far),
    "assembling", "embedding" (of `total` vectors that were missing) or "comparing names" (of
    `total`); `current` names the file or kind of text at work.
    """

    stage: str
    done: int
    total: int
    current: str = ""


def never() -> bool:
    """Do not stop."""
    return False


SCHEME = "dask://"
MOST_PROCESSES = 64  # that one machine starts by itself
CONNECT_SECONDS = 20
RETRIES = 3  # of a batch whose worker raised; one whose worker died is read again anyway
WAITING = 4  # batches that wait for each worker, so that none is idle while the graph is assembled


def parse_engine(text: str) -> int | str:
    """Parse the engine that reads passages: "serial", a number of processes, or dask://host:port.

    Raises
    ------
    ParameterError
        The text is none of these.
    """
    if text == "serial":
        return 1
    if text.startswith(SCHEME):
        return text
    if text.isdecimal() and 1 <= int(text) <= MOST_PROCESSES:
        return int(text)
    raise ParameterError(f"{text} is an unknown engine; use serial, a number of processes (1 to "
                         f"{MOST_PROCESSES}), or the address of a Dask scheduler such as "
                         "dask://host:8786")


class Cluster(Workers):
    """Reads passages on the workers of a Dask cluster.

    Only this process writes to the workspace, batch after batch in the order of the documents. A
    worker that dies therefore loses nothing and doubles nothing: what it held is read again by
    another, and the graph is the one that a single process makes.

    Parameters
    ----------
    extractor, embedder : callable
        Make the models, once in each worker: functions or classes of a module that the workers
        can import, without arguments.
    address : str
        Of the scheduler, as dask://host:8786. Workers need one thread each
        (`dask worker --nthreads 1`): more would wait for one another's models.

    Raises
    ------
    ParameterError
        distributed is not installed, or no scheduler answers at the address.
    ModelError
        There is no worker, or the models cannot be made there; what was logged before stays.
    """

    def __init__(self, extractor: Callable[[], BatchExtractor],
                 embedder: Callable[[], PassageEmbedder], address: str) -> None:
        self._makers = (extractor, embedder)
        self._client = _connect(address)
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            self.models: Models = self._result(self._client.submit(models_of, self._makers, pure=False))
        except TimeoutError:
            self.close()
            raise ModelError(f"The scheduler at {address} has no worker; start one with 'dask "
                             f"worker {address.removeprefix(SCHEME)} --nthreads 1' and "
                             "resume.") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster; what its workers were reading for this process is dropped."""
        self._client.close()

    def _room(self) -> int:
        # asked each time, so workers may come and go
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return WAITING * max(1, len(workers))

    def _submit(self, verb: str, argument: Sequence[Any]) -> Any:
        return self._client.submit(work_with, self._makers, verb, argument, pure=False, retries=RETRIES)

    def _result(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return future.result()
        except KilledWorker:
            raise ModelError(
                "Several workers of the cluster died over the same passages, most likely for want "
                "of memory; what was read before is kept. Give them more and resume.") from None
        except (CancelledError, CommClosedError, OSError):
            raise ModelError("The scheduler of the cluster is gone; what was read before is kept. "
                             "Start it again and resume.") from None


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(f"{address} is a Dask cluster, for which distributed is not "
                             "installed; install it with pip install 'qafd[dask]'") from None
    try:
        return Client(f"tcp://{address.removeprefix(SCHEME)}", timeout=CONNECT_SECONDS,
                      set_as_default=False)
    except (OSError, ValueError) as error:
        raise ParameterError(f"no Dask scheduler answers at {address} ({str(error)}); start "
                             "one with 'dask scheduler', or name another") from None
