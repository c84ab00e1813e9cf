"""Load the compiled solver without letting a request wait for it.

numba is optional. Sweeps and evaluations call `warm`: it compiles in a process of its own and then
loads the result from numba's cache on disk. Until then, and where numba is missing, diffusions run
on numpy and scipy. `python -m qafd.flow.kernel` fills the cache at install time.
"""

import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from qafd.flow.certificate import Flaw
from qafd.flow.sources import Sources
from qafd.flow.weights import Gates
from qafd.graph import Graph, Scratch
from qafd.records import Floats, Nodes


@dataclass(frozen=True)
class Budget:
    """Limits at which a solve that has not converged stops."""

    rounds: int = 400
    touched: int = 5_000_000


@dataclass(frozen=True, eq=False)
class CompiledSolution:
    """The result of the compiled solver: the arrays of a Diffusion from `rows` to `flow`."""

    arrays: tuple[Nodes, Floats, Floats, Floats, Floats, Floats, Nodes, Nodes, Floats, Floats]
    rounds: int
    expansions: int
    stopped: Flaw | None


class Compiled(Protocol):
    """The module `qafd.flow.compiled`, as the solver uses it."""

    def spread(self, graph: Graph, gates: Gates, workspace: Scratch, sources: Sources,
               sink: Floats, rtol: float, budget: Budget) -> CompiledSolution | None: ...


_loaded: list[Compiled] = []
_one_at_a_time, _one_warms = threading.Lock(), threading.Lock()


def ready() -> Compiled | None:
    """Return the compiled solver if it is loaded; never load it."""
    return _loaded[0] if _loaded else None


def available() -> bool:
    """Return True if numba is installed."""
    return find_spec("numba") is not None


def load() -> bool:
    """Load the compiled solver in this thread, compiling if its cache is empty (about 10 s of CPU).

    Return False where numba is missing.
    """
    if not available():
        return False
    with _one_at_a_time:
        if not _loaded:
            _loaded.append(import_module("qafd.flow.compiled"))
    return True


def unload() -> None:
    """Go back to numpy and scipy, to measure or test them."""
    _loaded.clear()


def warm() -> threading.Thread:
    """Load the compiled solver in the background; return the thread, already started.

    The cache is filled by a process of its own, so that compiling does not slow the caller.
    """
    def work() -> None:
        with _one_warms:
            if available() and not _loaded:
                subprocess.run([sys.executable, "-m", "qafd.flow.kernel"], check=True)
                load()

    thread = threading.Thread(target=work, name="qafd-kernel", daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    load()
