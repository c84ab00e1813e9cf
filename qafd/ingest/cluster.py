"""Passages read by the workers of a Dask cluster, on this machine or on others."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qafd.errors import ModelError, ParameterError
from qafd.ingest.engine import BatchExtractor, Models, Workers, models_of, work_with
from qafd.models.embedder import PassageEmbedder

if TYPE_CHECKING:
    from distributed import Client

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
    raise ParameterError(f"{text} is no engine; say serial, how many processes (1 to "
                         f"{MOST_PROCESSES}), or the address of a Dask scheduler as "
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
